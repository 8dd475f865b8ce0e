/* The vocabulary under every tokenizer: token texts, types and scores by id, and ids by text.
 * Copied out of the file's metadata, every array checked; a hash table finds texts, an automaton markers.
 * Used by tokenizer.c and the kinds of tokenizers (sentencepiece.c). */

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* An array under `key` of one of two element types with `count` elements (-1 = any number of them). */
static ox_status oxi_vocabulary_array(const ox_file *file, const char *key, ox_file_meta_type a,
                                      ox_file_meta_type b, int64_t count, ox_file_meta *out) {
    *out = ox_file_meta_find(file, key);
    if (out->type == OX_FILE_META_NONE)
        return oxi_fail(OX_ERR_NOT_FOUND, "tokenizer: metadata key %s is missing", key);
    if (out->type != OX_FILE_META_ARRAY || (out->element != a && out->element != b)) {
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: metadata key %s has a wrong type", key);
    }
    if (count >= 0 && out->count != count) {
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: metadata key %s has %lld elements for %lld tokens", key,
                        (long long)out->count, (long long)count);
    }
    return OX_OK;
}

/* ---- texts by id --------------------------------------------------------------------------------------- */

static size_t oxi_vocabulary_length(const oxi_vocabulary *v, int32_t token) {
    return v->start[token + 1] - v->start[token];
}

static ox_status oxi_vocabulary_read_texts(oxi_vocabulary *v, const ox_file *file) {
    ox_file_meta tokens;
    const ox_status status = oxi_vocabulary_array(file, "tokenizer.ggml.tokens", OX_FILE_META_STRING,
                                                  OX_FILE_META_STRING, -1, &tokens);
    if (status) return status;
    if (tokens.count < 1 || tokens.count > INT32_MAX / 4) {
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: a vocabulary of %lld tokens", (long long)tokens.count);
    }
    v->start = (size_t *)oxi_calloc((size_t)tokens.count + 1, sizeof *v->start);
    if (!v->start) return OX_ERR_NOMEM;
    v->count = tokens.count;
    for (int64_t i = 0; i < v->count; i++) {
        const ox_string text = ox_file_meta_element(file, &tokens, i).text;
        if (text.length < 0 || !oxi_add_size(v->start[i], (size_t)text.length, &v->start[i + 1])) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: the texts of all tokens are too long");
        }
        if ((size_t)text.length > v->longest) v->longest = (size_t)text.length;
    }
    v->texts = (char *)oxi_alloc(v->start[v->count]);
    if (!v->texts) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < v->count; i++) {
        const size_t length = v->start[i + 1] - v->start[i];
        if (length) memcpy(v->texts + v->start[i], ox_file_meta_element(file, &tokens, i).text.data, length);
    }
    return OX_OK;
}

/* Types are optional: without them all tokens are normal ones, and bytes are told by their texts. */
static ox_status oxi_vocabulary_read_types(oxi_vocabulary *v, const ox_file *file) {
    const char *key = "tokenizer.ggml.token_type";
    v->type = (uint8_t *)oxi_calloc((size_t)v->count, sizeof *v->type);
    if (!v->type) return OX_ERR_NOMEM;
    if (ox_file_meta_find(file, key).type == OX_FILE_META_NONE) return OX_OK;
    ox_file_meta types;
    const ox_status status =
        oxi_vocabulary_array(file, key, OX_FILE_META_INT, OX_FILE_META_UINT, v->count, &types);
    if (status) return status;
    for (int64_t i = 0; i < v->count; i++) {
        const int64_t type = ox_file_meta_element(file, &types, i).i;
        if (type < 0 || type >= OX_TOKEN_TYPE_COUNT) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: token %lld is of the unknown type %lld", (long long)i,
                            (long long)type);
        }
        v->type[i] = (uint8_t)type;
    }
    return OX_OK;
}

static ox_status oxi_vocabulary_read_scores(oxi_vocabulary *v, const ox_file *file) {
    ox_file_meta scores;
    const ox_status status = oxi_vocabulary_array(file, "tokenizer.ggml.scores", OX_FILE_META_FLOAT,
                                                  OX_FILE_META_FLOAT, v->count, &scores);
    if (status) return status;
    v->score = (float *)oxi_alloc((size_t)v->count * sizeof *v->score);
    if (!v->score) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < v->count; i++) {
        v->score[i] = (float)ox_file_meta_element(file, &scores, i).f;
        if (isnan(v->score[i])) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: the score of token %lld is NaN", (long long)i);
        }
    }
    return OX_OK;
}

/* "<0x0A>" -> 10; -1 for anything else. */
static int oxi_byte_of_text(const char *text, size_t length) {
    if (length != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
    const int high = oxi_hex_digit(text[3]), low = oxi_hex_digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* What a token adds to the text: a byte, nothing, or its own text with U+2581 (E2 96 81) as a space. */
static size_t oxi_vocabulary_piece(ox_token_type type, int byte, const char *text, size_t length, char *out) {
    if (type == OX_TOKEN_CONTROL || type == OX_TOKEN_UNKNOWN) return 0;
    if (byte >= 0) {
        out[0] = (char)byte;
        return 1;
    }
    if (type == OX_TOKEN_USER_DEFINED) {
        if (length) memcpy(out, text, length);
        return length;
    }
    size_t written = 0;
    for (size_t i = 0; i < length; i++) {
        if (length - i >= 3 && memcmp(text + i, "\xe2\x96\x81", 3) == 0) {
            out[written++] = ' ';
            i += 2;
        } else {
            out[written++] = text[i];
        }
    }
    return written;
}

static ox_status oxi_vocabulary_make_pieces(oxi_vocabulary *v, bool typed) {
    v->pieces = (char *)oxi_alloc(v->start[v->count]);
    v->piece_length = (size_t *)oxi_alloc((size_t)v->count * sizeof *v->piece_length);
    if (!v->pieces || !v->piece_length) return OX_ERR_NOMEM;
    for (int b = 0; b < 256; b++) v->byte_token[b] = -1;
    for (int32_t i = 0; i < v->count; i++) {
        const char *text = v->texts + v->start[i];
        const size_t length = oxi_vocabulary_length(v, i);
        const bool may_be_byte = !typed || v->type[i] == OX_TOKEN_BYTE;
        const int byte = may_be_byte ? oxi_byte_of_text(text, length) : -1;
        if (typed && may_be_byte && byte < 0) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: token %d is a byte token, but its text is not <0x..>",
                            (int)i);
        }
        if (byte >= 0) v->byte_token[byte] = i;
        v->piece_length[i] =
            oxi_vocabulary_piece((ox_token_type)v->type[i], byte, text, length, v->pieces + v->start[i]);
    }
    return OX_OK;
}

/* ---- ids by text --------------------------------------------------------------------------------------- */

/* The slot that holds a text, or the free one where it would go. */
static size_t oxi_vocabulary_slot(const oxi_vocabulary *v, const char *text, size_t length) {
    size_t slot = (size_t)oxi_keyed_hash(v->key, text, length) & (v->slot_count - 1);
    while (v->slots[slot]) {
        const int32_t token = v->slots[slot] - 1;
        if (oxi_vocabulary_length(v, token) == length &&
            memcmp(v->texts + v->start[token], text, length) == 0) {
            break;
        }
        slot = (slot + 1) & (v->slot_count - 1);
    }
    return slot;
}

static int32_t oxi_vocabulary_find(const oxi_vocabulary *v, const char *text, size_t length) {
    return length && length <= v->longest ? v->slots[oxi_vocabulary_slot(v, text, length)] - 1 : -1;
}

/* Of equal texts the last one is found. */
static ox_status oxi_vocabulary_index(oxi_vocabulary *v) {
    v->slot_count = 16;
    v->key[0] = oxi_unpredictable();
    v->key[1] = oxi_unpredictable();
    while (v->slot_count < (size_t)v->count * 2) v->slot_count *= 2;
    v->slots = (int32_t *)oxi_calloc(v->slot_count, sizeof *v->slots);
    if (!v->slots) return OX_ERR_NOMEM;
    for (int32_t i = 0; i < v->count; i++) {
        const size_t length = oxi_vocabulary_length(v, i);
        if (length) v->slots[oxi_vocabulary_slot(v, v->texts + v->start[i], length)] = i + 1;
    }
    return OX_OK;
}

/* ---- markers ------------------------------------------------------------------------------------------- */

/* Of equal texts only the one that oxi_vocabulary_find gives. */
static bool oxi_is_marker(const oxi_vocabulary *v, int32_t token) {
    const uint8_t type = v->type[token];
    if (type != OX_TOKEN_CONTROL && type != OX_TOKEN_UNKNOWN && type != OX_TOKEN_USER_DEFINED) return false;
    return oxi_vocabulary_find(v, v->texts + v->start[token], oxi_vocabulary_length(v, token)) == token;
}

/* While the automaton is made. */
typedef struct oxi_marker_build {
    oxi_vocabulary *v;
    uint32_t *tokens, *order, *scratch; /* [count]: markers; their places in tokens, by text read backwards */
    uint32_t count;
    uint32_t *low, *high; /* [nodes]: the markers in order[low, high) end as a node says */
} oxi_marker_build;

static int32_t oxi_build_token(const oxi_marker_build *build, uint32_t place) {
    return (int32_t)build->tokens[build->order[place]];
}

/* The byte of a token's text that has `depth` bytes behind it; -1: the text is no longer than that. */
static int oxi_byte_from_end(const oxi_vocabulary *v, int32_t token, size_t depth) {
    const size_t length = oxi_vocabulary_length(v, token);
    return depth < length ? (unsigned char)v->texts[v->start[token + 1] - 1 - depth] : -1;
}

/* Bytes at the ends of two texts that are the same. */
static size_t oxi_same_end(const oxi_vocabulary *v, int32_t a, int32_t b) {
    size_t depth = 0;
    while (oxi_byte_from_end(v, a, depth) >= 0 &&
           oxi_byte_from_end(v, a, depth) == oxi_byte_from_end(v, b, depth))
        depth++;
    return depth;
}

static int oxi_compare_ends(const void *user, uint32_t a, uint32_t b) {
    const oxi_marker_build *build = (const oxi_marker_build *)user;
    const int32_t x = (int32_t)build->tokens[a], y = (int32_t)build->tokens[b];
    const size_t depth = oxi_same_end(build->v, x, y);
    return oxi_byte_from_end(build->v, x, depth) - oxi_byte_from_end(build->v, y, depth);
}

/* The first marker of order[low, high), all of which agree in `depth` bytes, whose next one is another. */
static uint32_t oxi_build_bound(const oxi_marker_build *build, uint32_t low, uint32_t high, size_t depth) {
    const int byte = oxi_byte_from_end(build->v, oxi_build_token(build, low), depth);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (oxi_byte_from_end(build->v, oxi_build_token(build, middle), depth) > byte)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The child of a node, which has all of them, with a byte; -1 = none. */
static int32_t oxi_marker_child(const oxi_vocabulary *v, int32_t node, uint8_t byte) {
    int32_t low = v->nodes[node].child, high = v->nodes[node + 1].child;
    const int32_t end = high;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (v->nodes[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && v->nodes[low].byte == byte ? low : -1;
}

/* Where a byte in front of a node's text leads: what is no start of a node is cut at its end. */
static int32_t oxi_marker_step(const oxi_vocabulary *v, int32_t node, uint8_t byte) {
    for (;;) {
        const int32_t child = oxi_marker_child(v, node, byte);
        if (child >= 0) return child;
        if (node == 0) return 0;
        node = v->nodes[node].shorter;
    }
}

/* Adds a child of `parent`, which has `depth` bytes, for the markers of order[low, high). */
static void oxi_build_child(oxi_marker_build *build, int32_t parent, size_t depth, uint32_t low,
                            uint32_t high) {
    oxi_vocabulary *v = build->v;
    const int32_t token = oxi_build_token(build, low), index = v->node_count++;
    oxi_marker_node *node = &v->nodes[index];
    build->low[index] = low;
    build->high[index] = high;
    node->byte = (uint8_t)oxi_byte_from_end(v, token, depth);
    node->shorter = parent == 0 ? 0 : oxi_marker_step(v, v->nodes[parent].shorter, node->byte);
    const oxi_marker_node *shorter = &v->nodes[node->shorter];
    const bool whole = oxi_vocabulary_length(v, token) == depth + 1;
    node->any = whole ? token : shorter->any;
    node->user = whole && v->type[token] == OX_TOKEN_USER_DEFINED ? token : shorter->user;
}

/* Nodes by depth, so that the shorter ones are there. */
static void oxi_build_nodes(oxi_marker_build *build) {
    oxi_vocabulary *v = build->v;
    size_t depth = 0;
    int32_t level_end = 1;
    v->node_count = 1;
    v->nodes[0].any = v->nodes[0].user = -1;
    build->low[0] = 0;
    build->high[0] = build->count;
    for (int32_t i = 0; i < v->node_count; i++) {
        if (i == level_end) {
            level_end = v->node_count;
            depth++;
        }
        v->nodes[i].child = v->node_count;
        uint32_t at = build->low[i];
        if (oxi_byte_from_end(v, oxi_build_token(build, at), depth) < 0) at++; /* it ends here */
        while (at < build->high[i]) {
            const uint32_t end = oxi_build_bound(build, at, build->high[i], depth);
            oxi_build_child(build, i, depth, at, end);
            at = end;
        }
    }
    v->nodes[v->node_count].child = v->node_count;
}

/* One for the root, and one for each byte that a marker has beyond what it shares with the one before. */
static uint64_t oxi_build_count(const oxi_marker_build *build) {
    uint64_t nodes = 1;
    for (uint32_t i = 0; i < build->count; i++) {
        const int32_t token = oxi_build_token(build, i);
        nodes += oxi_vocabulary_length(build->v, token);
        if (i > 0) nodes -= oxi_same_end(build->v, oxi_build_token(build, i - 1), token);
    }
    return nodes;
}

static ox_status oxi_build_markers(oxi_marker_build *build) {
    oxi_vocabulary *v = build->v;
    uint32_t count = 0;
    for (int32_t i = 0; i < v->count; i++)
        if (oxi_is_marker(v, i)) build->tokens[count++] = (uint32_t)i;
    oxi_sort_indexes(build->order, build->scratch, build->count, oxi_compare_ends, build);
    const uint64_t nodes = oxi_build_count(build);
    if (nodes >= INT32_MAX) return oxi_fail(OX_ERR_FORMAT, "tokenizer: the texts of all tokens are too long");
    v->nodes = (oxi_marker_node *)oxi_calloc((size_t)nodes + 1, sizeof *v->nodes);
    build->low = (uint32_t *)oxi_calloc((size_t)nodes, 2 * sizeof *build->low);
    const bool made = v->nodes && build->low;
    if (v->nodes) v->node_count = (int32_t)nodes;
    if (made) {
        build->high = build->low + nodes;
        oxi_build_nodes(build);
    }
    oxi_free(build->low, (size_t)nodes * 2 * sizeof *build->low);
    return made ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_vocabulary_find_markers(oxi_vocabulary *v) {
    oxi_marker_build build;
    memset(&build, 0, sizeof build);
    build.v = v;
    for (int32_t i = 0; i < v->count; i++) build.count += oxi_is_marker(v, i);
    if (build.count == 0) return OX_OK;
    build.tokens = (uint32_t *)oxi_calloc(build.count, 3 * sizeof *build.tokens);
    if (!build.tokens) return OX_ERR_NOMEM;
    build.order = build.tokens + build.count;
    build.scratch = build.order + build.count;
    const ox_status status = oxi_build_markers(&build);
    oxi_free(build.tokens, build.count * 3 * sizeof *build.tokens);
    return status;
}

static void oxi_vocabulary_markers(const oxi_vocabulary *v, const char *text, size_t length, bool control,
                                   int32_t *out) {
    int32_t node = 0;
    for (size_t at = length; at-- > 0;) {
        node = oxi_marker_step(v, node, (uint8_t)text[at]);
        out[at] = control ? v->nodes[node].any : v->nodes[node].user;
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static ox_status oxi_vocabulary_read(oxi_vocabulary *v, const ox_file *file, bool needs_scores) {
    const bool typed = ox_file_meta_find(file, "tokenizer.ggml.token_type").type != OX_FILE_META_NONE;
    ox_status status = oxi_vocabulary_read_texts(v, file);
    if (!status) status = oxi_vocabulary_read_types(v, file);
    if (!status && needs_scores) status = oxi_vocabulary_read_scores(v, file);
    if (!status) status = oxi_vocabulary_make_pieces(v, typed);
    if (!status) status = oxi_vocabulary_index(v);
    if (!status) status = oxi_vocabulary_find_markers(v);
    return status;
}

static void oxi_vocabulary_free(oxi_vocabulary *v) {
    const size_t count = (size_t)v->count, text_bytes = v->start ? v->start[count] : 0;
    oxi_free(v->nodes, ((size_t)v->node_count + 1) * sizeof *v->nodes);
    oxi_free(v->slots, v->slot_count * sizeof *v->slots);
    oxi_free(v->piece_length, count * sizeof *v->piece_length);
    oxi_free(v->pieces, text_bytes);
    oxi_free(v->score, count * sizeof *v->score);
    oxi_free(v->type, count * sizeof *v->type);
    oxi_free(v->texts, text_bytes);
    oxi_free(v->start, (count + 1) * sizeof *v->start);
}
