/* The vocabulary under every tokenizer: token texts, types and scores by id, and ids by text.
 * Filled by the readers (sources/); hash tables find texts. */

static size_t oxi_vocabulary_length(const oxi_vocabulary *v, int32_t token) {
    return v->start[token + 1] - v->start[token];
}

static const char *oxi_vocabulary_text(const oxi_vocabulary *v, int32_t token) {
    return v->texts + v->start[token];
}

static int32_t oxi_vocabulary_id(const oxi_vocabulary *v, int32_t entry) {
    return entry < v->count ? entry : v->covered[entry - v->count];
}

static ox_status oxi_vocabulary_make(oxi_vocabulary *v, int64_t count, int64_t more, size_t bytes) {
    const size_t entries = (size_t)(count + more);
    v->start = (size_t *)oxi_calloc(entries + 1, sizeof *v->start);
    if (!v->start) return OX_ERR_NOMEM;
    v->count = count;
    v->entries = count + more;
    v->start[entries] = bytes;
    v->texts = (char *)oxi_alloc(bytes);
    v->type = (uint8_t *)oxi_calloc(entries, sizeof *v->type);
    for (int b = 0; b < 256; b++) v->byte_token[b] = -1;
    if (more > 0) v->covered = (int32_t *)oxi_calloc((size_t)more, sizeof *v->covered);
    return v->texts && v->type && (more == 0 || v->covered) ? OX_OK : OX_ERR_NOMEM;
}

static int oxi_byte_of_text(const char *text, size_t length) {
    if (length != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
    const int high = oxi_hex_digit(text[3]), low = oxi_hex_digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* ---- ids by text --------------------------------------------------------------------------------------- */

/* The text of a token in an index: as the file has it, or its piece. */
static const char *oxi_indexed_text(const oxi_vocabulary *v, bool pieces, int32_t token, size_t *length) {
    *length = pieces ? v->piece_length[token] : oxi_vocabulary_length(v, token);
    return pieces ? v->pieces + v->piece_start[token] : oxi_vocabulary_text(v, token);
}

/* The slot that holds a text, or the free one where it would go. */
static size_t oxi_text_slot(const oxi_vocabulary *v, bool pieces, const char *text, size_t length) {
    const oxi_text_index *index = pieces ? &v->by_bytes : &v->by_text;
    size_t slot = (size_t)oxi_keyed_hash(index->key, text, length) & (index->count - 1);
    while (index->slots[slot]) {
        size_t other;
        const char *there = oxi_indexed_text(v, pieces, index->slots[slot] - 1, &other);
        if (other == length && memcmp(there, text, length) == 0) break;
        slot = (slot + 1) & (index->count - 1);
    }
    return slot;
}

static int32_t oxi_vocabulary_find(const oxi_vocabulary *v, const char *text, size_t length) {
    return length && length <= v->longest ? v->by_text.slots[oxi_text_slot(v, false, text, length)] - 1 : -1;
}

static int32_t oxi_vocabulary_find_known(const oxi_vocabulary *v, const char *text, size_t length) {
    const int32_t id = oxi_vocabulary_find(v, text, length);
    return id >= 0 && v->outside && v->outside[id] ? -1 : id;
}

static int32_t oxi_vocabulary_find_bytes(const oxi_vocabulary *v, const char *bytes, size_t length) {
    return length && length <= v->longest ? v->by_bytes.slots[oxi_text_slot(v, true, bytes, length)] - 1 : -1;
}

static ox_status oxi_text_index_make(const oxi_vocabulary *v, oxi_text_index *index) {
    index->count = 16;
    index->key[0] = oxi_unpredictable();
    index->key[1] = oxi_unpredictable();
    while (index->count < (size_t)v->entries * 2) index->count *= 2;
    index->slots = (int32_t *)oxi_calloc(index->count, sizeof *index->slots);
    return index->slots ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_vocabulary_index(oxi_vocabulary *v) {
    const ox_status status = oxi_text_index_make(v, &v->by_text);
    if (status) return status;
    for (int32_t i = 0; i < v->entries; i++) {
        const size_t length = oxi_vocabulary_length(v, i);
        if (length > v->longest) v->longest = length;
    }
    for (int32_t i = 0; i < v->entries; i++) {
        const size_t length = oxi_vocabulary_length(v, i);
        if (length) v->by_text.slots[oxi_text_slot(v, false, oxi_vocabulary_text(v, i), length)] = i + 1;
    }
    return OX_OK;
}

/* Only texts that are made of byte characters stand for bytes. */
static bool oxi_is_byte_text(const char *text, size_t length) {
    for (size_t at = 0; at < length;)
        if (oxi_char_byte(oxi_utf8_code(text, length, &at)) < 0) return false;
    return length > 0;
}

static ox_status oxi_vocabulary_index_bytes(oxi_vocabulary *v) {
    const ox_status status = oxi_text_index_make(v, &v->by_bytes);
    if (status) return status;
    for (int32_t i = 0; i < v->entries; i++) {
        const size_t length = oxi_vocabulary_length(v, i);
        if (!oxi_is_byte_text(oxi_vocabulary_text(v, i), length) || (v->outside && v->outside[i])) continue;
        if (oxi_vocabulary_find(v, oxi_vocabulary_text(v, i), length) != i) continue;
        v->by_bytes.slots[oxi_text_slot(v, true, v->pieces + v->piece_start[i], v->piece_length[i])] = i + 1;
    }
    return OX_OK;
}

static void oxi_vocabulary_free(oxi_vocabulary *v) {
    const size_t count = (size_t)v->entries;
    oxi_free(v->covered, (count - (size_t)v->count) * sizeof *v->covered);
    oxi_free(v->by_bytes.slots, v->by_bytes.count * sizeof *v->by_bytes.slots);
    oxi_free(v->by_text.slots, v->by_text.count * sizeof *v->by_text.slots);
    oxi_free(v->outside, v->outside ? count : 0);
    oxi_free(v->piece_cut, count);
    oxi_free(v->piece_length, count * sizeof *v->piece_length);
    oxi_free(v->piece_start, count * sizeof *v->piece_start);
    oxi_free(v->pieces, v->piece_bytes);
    oxi_free(v->score, count * sizeof *v->score);
    oxi_free(v->type, count * sizeof *v->type);
    oxi_free(v->texts, v->start ? v->start[count] + v->spare : 0);
    oxi_free(v->start, (count + 1) * sizeof *v->start);
}
