/* Unigram: of all ways to make a word of tokens the one with the best sum of scores (Viterbi over the trie of
 * texts). What no token begins with costs more than the worst one, and neighbors of that kind are one.
 * source: Kudo 2018; huggingface/tokenizers, models/unigram */

typedef struct oxi_best {
    double score;
    uint32_t start;
    int32_t id; /* -1 = not reached yet, -2 = unknown */
} oxi_best;

static void oxi_unigram_offer(oxi_best *best, double score, uint32_t start, int32_t id) {
    if (best->id != -1 && !(score > best->score)) return;
    best->score = score;
    best->start = start;
    best->id = id;
}

/* best[i]: the way to the first i bytes. */
static void oxi_unigram_search(const oxi_model *m, const char *text, size_t length, oxi_best *best) {
    for (size_t i = 0; i <= length; i++) {
        best[i].score = 0;
        best[i].start = 0;
        best[i].id = -1;
    }
    for (size_t at = 0, next = 0; at < length; at = next) {
        bool single = false;
        int32_t node = 0;
        const double score = best[at].score;
        (void)oxi_utf8_code(text, length, &next);
        for (size_t i = at; i < length && m->trie.nodes; i++) {
            node = oxi_trie_child(&m->trie, node, (uint8_t)text[i]);
            if (node < 0) break;
            const int32_t id = m->trie.nodes[node].value;
            if (id < 0) continue;
            single |= i + 1 == next;
            oxi_unigram_offer(&best[i + 1], score + m->scores[id], (uint32_t)at, id);
        }
        if (!single) oxi_unigram_offer(&best[next], score + m->unknown_score, (uint32_t)at, -2);
    }
}

static ox_status oxi_unigram_push_unknown(oxi_flow *work, size_t start, size_t end) {
    const oxi_model *m = &work->tokenizer->model;
    const oxi_vocabulary *v = &work->tokenizer->vocabulary;
    bool bytes = m->byte_fallback;
    ox_status status = OX_OK;
    const int32_t whole = work->tokenizer->from_json && m->byte_fallback
                              ? oxi_vocabulary_find_known(v, work->text.bytes + start, end - start)
                              : -1;
    if (whole >= 0) return oxi_token_push(work, whole, start, end);
    for (size_t i = start; i < end && bytes; i++) bytes = v->byte_token[(uint8_t)work->text.bytes[i]] >= 0;
    if (!bytes && m->unknown >= 0) return oxi_token_push_own(work, m->unknown, start, end);
    if (!bytes) return oxi_push_unknown(work, start, end);
    for (size_t i = start; i < end && !status; i++) {
        status = oxi_token_push(work, v->byte_token[(uint8_t)work->text.bytes[i]], start, end);
    }
    return status;
}

/* The way back, as a list from the first part on: best[i].start becomes the end of the part from i on. */
static ox_status oxi_unigram_encode(oxi_flow *work, size_t start, size_t end) {
    const oxi_model *m = &work->tokenizer->model;
    const size_t length = end - start;
    size_t room = 0;
    if (!oxi_mul_size(length + 1, sizeof(oxi_best), &room)) return OX_ERR_NOMEM;
    oxi_best *best = (oxi_best *)oxi_work_scratch(work, room);
    if (!best) return OX_ERR_NOMEM;
    oxi_unigram_search(m, work->text.bytes + start, length, best);
    uint32_t stop = (uint32_t)length;
    int32_t id = best[length].id;
    uint32_t from = best[length].start;
    while (stop > 0) {
        const uint32_t at = from;
        const int32_t here = id;
        id = best[at].id;
        from = best[at].start;
        best[at].id = here;
        best[at].start = stop;
        stop = at;
    }
    ox_status status = OX_OK;
    for (size_t at = 0; at < length && !status;) {
        size_t next = best[at].start;
        const int32_t token = best[at].id;
        const bool unknown = token == -2 || token == m->unknown;
        while (unknown && next < length && (best[next].id == -2 || best[next].id == m->unknown))
            next = best[next].start;
        status = unknown ? oxi_unigram_push_unknown(work, start + at, start + next)
                         : oxi_token_push(work, token, start + at, start + next);
        at = next;
    }
    return status;
}
