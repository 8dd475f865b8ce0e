/* PLaMo 2: of all ways to make a text of tokens the cheapest one, from its end to its start; scores in steps
 * of 1/10000, so that sums are exact. Of equal ways the one that begins with the longest token. A character
 * that is no token costs 1000, and becomes its bytes. source llama.cpp, src/llama-vocab.cpp (plamo2) */

enum { OXI_PLAMO_UNKNOWN = 10000000, OXI_PLAMO_NEVER = 20000000 };

typedef struct oxi_way {
    int64_t cost;
    uint32_t length; /* bytes of the first token */
    int32_t id;      /* -1 = bytes */
} oxi_way;

/* Scores as whole numbers; false: one that is none, or so low that it is never taken. */
static bool oxi_plamo_cost(double score, int64_t *cost) {
    const double scaled = round(score * 1e4);
    if (!(scaled > -OXI_PLAMO_NEVER) || scaled > INT32_MAX) return false;
    *cost = -(int64_t)scaled;
    return true;
}

static void oxi_plamo_search(const oxi_model *m, const char *text, size_t length, oxi_way *ways) {
    const oxi_way none = {INT64_MAX / 2, 1, -1}, end = {0, 0, -1};
    ways[length] = end;
    for (size_t at = length; at-- > 0;) {
        oxi_way best = none;
        size_t next = at;
        ways[at] = none;
        if (((unsigned char)text[at] & 0xC0) == 0x80) continue;
        (void)oxi_utf8_code(text, length, &next);
        best.cost = ways[next].cost + OXI_PLAMO_UNKNOWN;
        best.length = (uint32_t)(next - at);
        int32_t node = 0;
        for (size_t i = at; i < length && m->trie.nodes; i++) {
            int64_t cost;
            node = oxi_trie_child(&m->trie, node, (uint8_t)text[i]);
            if (node < 0) break;
            const int32_t id = m->trie.nodes[node].value;
            if (id < 0 || !oxi_plamo_cost(m->scores[id], &cost) || ways[i + 1].cost + cost > best.cost)
                continue;
            best.cost = ways[i + 1].cost + cost;
            best.length = (uint32_t)(i + 1 - at);
            best.id = id;
        }
        ways[at] = best;
    }
}

/* A byte order mark at the start is left out. */
static ox_status oxi_plamo_encode(oxi_flow *work, size_t start, size_t end) {
    const oxi_model *m = &work->tokenizer->model;
    const char *text = work->text.bytes;
    size_t room = 0;
    if (end - start >= 3 && memcmp(text + start, "\xef\xbb\xbf", 3) == 0) start += 3;
    if (!oxi_mul_size(end - start + 1, sizeof(oxi_way), &room)) return OX_ERR_NOMEM;
    oxi_way *ways = (oxi_way *)oxi_work_scratch(work, room);
    if (!ways) return OX_ERR_NOMEM;
    oxi_plamo_search(m, text + start, end - start, ways);
    ox_status status = OX_OK;
    for (size_t at = start; at < end && !status;) {
        const oxi_way way = ways[at - start];
        for (uint32_t i = 0; way.id < 0 && i < way.length && !status; i++) {
            const int32_t byte = work->tokenizer->vocabulary.byte_token[(uint8_t)text[at + i]];
            status = oxi_token_push(work, byte, at, at + way.length);
        }
        if (way.id >= 0) status = oxi_token_push(work, way.id, at, at + way.length);
        at += way.length;
    }
    return status;
}
