/* Models that look words up: WordLevel (the whole word), WordPiece (the longest token again and again), and
 * RWKV's (the same without words). source huggingface/tokenizers, models/wordpiece, models/wordlevel */

static ox_status oxi_push_unknown(oxi_flow *work, size_t start, size_t end) {
    const int32_t unknown = work->tokenizer->model.unknown;
    if (unknown >= 0) return oxi_token_push(work, unknown, start, end);
    if (work->tokenizer->model.drop_unknown) return OX_OK;
    return oxi_fail(OX_ERR_FORMAT, "tokenizer: no token for a part of the text, and no unknown token");
}

static ox_status oxi_word_level_encode(oxi_flow *work, size_t start, size_t end) {
    const int32_t id =
        oxi_vocabulary_find_known(&work->tokenizer->vocabulary, work->text.bytes + start, end - start);
    return id >= 0 ? oxi_token_push(work, id, start, end) : oxi_push_unknown(work, start, end);
}

/* The node that a text leads to from another one, -1 = none. */
static int32_t oxi_trie_walk(const oxi_trie *trie, int32_t node, const char *text, size_t length) {
    for (size_t i = 0; i < length && node >= 0; i++) node = oxi_trie_child(trie, node, (uint8_t)text[i]);
    return node;
}

/* The longest token from `node` on in text[start, end): its id, and where it ends; -1 = none. */
static int32_t oxi_trie_longest(const oxi_trie *trie, int32_t node, const char *text, size_t start,
                                size_t end, size_t *stop) {
    int32_t id = -1;
    for (size_t at = start; at < end && node >= 0;) {
        node = oxi_trie_child(trie, node, (uint8_t)text[at++]);
        if (node < 0 || trie->nodes[node].value < 0) continue;
        id = trie->nodes[node].value;
        *stop = at;
    }
    return id;
}

/* `prefix` before parts that do not begin a word, `lead` before those that do. */
static ox_status oxi_word_pieces(oxi_flow *work, size_t start, size_t end, const char *lead,
                                 size_t lead_length) {
    const oxi_model *m = &work->tokenizer->model;
    const char *text = work->text.bytes;
    const size_t before = work->tokens.count;
    if (m->longest_word > 0) {
        int64_t characters = 0;
        for (size_t at = start; at < end && characters <= m->longest_word; characters++)
            (void)oxi_utf8_code(text, end, &at);
        if (characters > m->longest_word) return oxi_push_unknown(work, start, end);
    }
    if (!m->trie.nodes) return oxi_push_unknown(work, start, end);
    const int32_t first = oxi_trie_walk(&m->trie, 0, lead, lead_length);
    const int32_t later = oxi_trie_walk(&m->trie, 0, m->prefix, m->prefix_length);
    for (size_t at = start; at < end;) {
        size_t stop = at;
        const int32_t node = at == start ? first : later;
        const int32_t id = node < 0 ? -1 : oxi_trie_longest(&m->trie, node, text, at, end, &stop);
        if (id < 0) {
            work->tokens.count = before;
            return oxi_push_unknown(work, start, end);
        }
        const ox_status status = oxi_token_push(work, id, at, stop);
        if (status) return status;
        at = stop;
    }
    return OX_OK;
}

static ox_status oxi_word_piece_encode(oxi_flow *work, size_t start, size_t end) {
    return oxi_word_pieces(work, start, end, "", 0);
}

/* GGUF's way to store them: words begin with U+2581, later parts with nothing. The lead may be a token by
 * itself, and tokens may end inside it. */
static ox_status oxi_word_piece_gguf_encode(oxi_flow *work, size_t start, size_t end) {
    static const char lead[] = "\xe2\x96\x81";
    const oxi_trie *trie = &work->tokenizer->model.trie;
    const size_t before = work->tokens.count;
    size_t stop = start;
    const int32_t node = trie->nodes ? oxi_trie_walk(trie, 0, lead, 3) : -1;
    int32_t id = node < 0 ? -1 : oxi_trie_longest(trie, node, work->text.bytes, start, end, &stop);
    if (id < 0 && node >= 0) id = trie->nodes[node].value; /* the lead alone */
    if (id < 0) return oxi_push_unknown(work, start, end);
    ox_status status = oxi_token_push(work, id, start, stop);
    while (!status && stop < end) {
        const size_t at = stop;
        id = oxi_trie_longest(trie, 0, work->text.bytes, at, end, &stop);
        if (id < 0) {
            work->tokens.count = before;
            return oxi_push_unknown(work, start, end);
        }
        status = oxi_token_push(work, id, at, stop);
    }
    return status;
}

static ox_status oxi_greedy_encode(oxi_flow *work, size_t start, size_t end) {
    const oxi_trie *trie = &work->tokenizer->model.trie;
    ox_status status = OX_OK;
    for (size_t at = start; at < end && !status;) {
        size_t stop = at + 1;
        const int32_t id = trie->nodes ? oxi_trie_longest(trie, 0, work->text.bytes, at, end, &stop) : -1;
        status = id >= 0 ? oxi_token_push(work, id, at, stop) : oxi_push_unknown(work, at, at + 1);
        at = stop;
    }
    return status;
}
