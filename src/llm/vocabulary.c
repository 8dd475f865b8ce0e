/* The vocabulary under every tokenizer: token texts, types and scores by id, and ids by text.
 * Copied out of the file's metadata, every array checked; a hash table finds texts, a sorted list markers.
 * Used by tokenizer.c and the kinds of tokenizers (spm.c). */

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* An array under `key` of one of two element types with `count` elements (-1 = any number of them). */
static ox_status oxi_vocabulary_array(const ox_file *file, const char *key, ox_meta_type a, ox_meta_type b,
                                      int64_t count, ox_meta *out) {
    *out = ox_meta_find(file, key);
    if (out->type == OX_META_NONE)
        return oxi_fail(OX_ERR_NOT_FOUND, "tokenizer: metadata key %s is missing", key);
    if (out->type != OX_META_ARRAY || (out->element != a && out->element != b)) {
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
    ox_meta tokens;
    const ox_status status =
        oxi_vocabulary_array(file, "tokenizer.ggml.tokens", OX_META_STRING, OX_META_STRING, -1, &tokens);
    if (status) return status;
    if (tokens.count < 1 || tokens.count > INT32_MAX / 4) {
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: a vocabulary of %lld tokens", (long long)tokens.count);
    }
    v->start = (size_t *)oxi_calloc((size_t)tokens.count + 1, sizeof *v->start);
    if (!v->start) return OX_ERR_NOMEM;
    v->count = tokens.count;
    for (int64_t i = 0; i < v->count; i++) {
        const ox_text text = ox_meta_at(file, &tokens, i).text;
        if (text.length < 0 || !oxi_add_size(v->start[i], (size_t)text.length, &v->start[i + 1])) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: the texts of all tokens are too long");
        }
    }
    v->texts = (char *)oxi_alloc(v->start[v->count]);
    if (!v->texts) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < v->count; i++) {
        const size_t length = v->start[i + 1] - v->start[i];
        if (length) memcpy(v->texts + v->start[i], ox_meta_at(file, &tokens, i).text.data, length);
    }
    return OX_OK;
}

/* Types are optional: without them all tokens are normal ones, and bytes are told by their texts. */
static ox_status oxi_vocabulary_read_types(oxi_vocabulary *v, const ox_file *file) {
    const char *key = "tokenizer.ggml.token_type";
    v->type = (uint8_t *)oxi_calloc((size_t)v->count, sizeof *v->type);
    if (!v->type) return OX_ERR_NOMEM;
    if (ox_meta_find(file, key).type == OX_META_NONE) return OX_OK;
    ox_meta types;
    const ox_status status = oxi_vocabulary_array(file, key, OX_META_INT, OX_META_UINT, v->count, &types);
    if (status) return status;
    for (int64_t i = 0; i < v->count; i++) {
        const int64_t type = ox_meta_at(file, &types, i).i;
        if (type < 0 || type >= OX_TOKEN_TYPE_COUNT) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: token %lld is of the unknown type %lld", (long long)i,
                            (long long)type);
        }
        v->type[i] = (uint8_t)type;
    }
    return OX_OK;
}

static ox_status oxi_vocabulary_read_scores(oxi_vocabulary *v, const ox_file *file) {
    ox_meta scores;
    const ox_status status =
        oxi_vocabulary_array(file, "tokenizer.ggml.scores", OX_META_FLOAT, OX_META_FLOAT, v->count, &scores);
    if (status) return status;
    v->score = (float *)oxi_alloc((size_t)v->count * sizeof *v->score);
    if (!v->score) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < v->count; i++) {
        v->score[i] = (float)ox_meta_at(file, &scores, i).f;
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

/* FNV-1a, its high bits folded in. */
static size_t oxi_text_hash(const char *text, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (size_t)(hash ^ (hash >> 32));
}

/* The slot that holds a text, or the free one where it would go. */
static size_t oxi_vocabulary_slot(const oxi_vocabulary *v, const char *text, size_t length) {
    size_t slot = oxi_text_hash(text, length) & (v->slot_count - 1);
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
    return length ? v->slots[oxi_vocabulary_slot(v, text, length)] - 1 : -1;
}

/* Of equal texts the last one is found. */
static ox_status oxi_vocabulary_index(oxi_vocabulary *v) {
    v->slot_count = 16;
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

static int oxi_marker_compare(const void *left, const void *right) {
    const oxi_marker *a = (const oxi_marker *)left, *b = (const oxi_marker *)right;
    const int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    if (order) return order;
    return a->length < b->length ? -1 : a->length > b->length;
}

/* Of equal texts only the one that oxi_vocabulary_find gives. */
static bool oxi_is_marker(const oxi_vocabulary *v, int32_t token) {
    const uint8_t type = v->type[token];
    if (type != OX_TOKEN_CONTROL && type != OX_TOKEN_UNKNOWN && type != OX_TOKEN_USER_DEFINED) return false;
    return oxi_vocabulary_find(v, v->texts + v->start[token], oxi_vocabulary_length(v, token)) == token;
}

static ox_status oxi_vocabulary_sort_markers(oxi_vocabulary *v) {
    for (int32_t i = 0; i < v->count; i++) v->marker_count += oxi_is_marker(v, i);
    v->markers = (oxi_marker *)oxi_alloc((size_t)v->marker_count * sizeof *v->markers);
    if (!v->markers) return OX_ERR_NOMEM;
    oxi_marker *marker = v->markers;
    for (int32_t i = 0; i < v->count; i++) {
        if (!oxi_is_marker(v, i)) continue;
        marker->text = v->texts + v->start[i];
        marker->length = oxi_vocabulary_length(v, i);
        marker->token = i;
        marker++;
    }
    qsort(v->markers, (size_t)v->marker_count, sizeof *v->markers, oxi_marker_compare);
    return OX_OK;
}

/* The first marker in [low, high), all of which agree up to `depth`, whose byte there is at least `byte`. */
static int64_t oxi_marker_bound(const oxi_vocabulary *v, int64_t low, int64_t high, size_t depth, int byte) {
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const oxi_marker *marker = &v->markers[middle];
        if (marker->length > depth && (unsigned char)marker->text[depth] >= byte) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Narrows the sorted list byte by byte, so the cost follows the text, not the number of markers. */
static int32_t oxi_vocabulary_marker(const oxi_vocabulary *v, const char *text, size_t length, bool control) {
    int64_t low = 0, high = v->marker_count;
    int32_t found = -1;
    for (size_t depth = 0; depth < length && low < high; depth++) {
        const int byte = (unsigned char)text[depth];
        low = oxi_marker_bound(v, low, high, depth, byte);
        high = oxi_marker_bound(v, low, high, depth, byte + 1);
        if (low == high || v->markers[low].length != depth + 1) continue;
        const int32_t token = v->markers[low].token;
        if (control || v->type[token] == OX_TOKEN_USER_DEFINED) found = token;
    }
    return found;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static ox_status oxi_vocabulary_read(oxi_vocabulary *v, const ox_file *file, bool needs_scores) {
    const bool typed = ox_meta_find(file, "tokenizer.ggml.token_type").type != OX_META_NONE;
    ox_status status = oxi_vocabulary_read_texts(v, file);
    if (!status) status = oxi_vocabulary_read_types(v, file);
    if (!status && needs_scores) status = oxi_vocabulary_read_scores(v, file);
    if (!status) status = oxi_vocabulary_make_pieces(v, typed);
    if (!status) status = oxi_vocabulary_index(v);
    if (!status) status = oxi_vocabulary_sort_markers(v);
    return status;
}

static void oxi_vocabulary_free(oxi_vocabulary *v) {
    const size_t count = (size_t)v->count, text_bytes = v->start ? v->start[count] : 0;
    oxi_free(v->markers, (size_t)v->marker_count * sizeof *v->markers);
    oxi_free(v->slots, v->slot_count * sizeof *v->slots);
    oxi_free(v->piece_length, count * sizeof *v->piece_length);
    oxi_free(v->pieces, text_bytes);
    oxi_free(v->score, count * sizeof *v->score);
    oxi_free(v->type, count * sizeof *v->type);
    oxi_free(v->texts, text_bytes);
    oxi_free(v->start, (count + 1) * sizeof *v->start);
}
