/* Byte-pair encoding: of all neighbors that make a token, those of the lowest rank merge first, of equal ones
 * the left ones. Ids are merged, not texts. Short words look at all pairs, long ones keep a heap: n log n.
 * Words of a long text are remembered. source: Sennrich et al. 2016; huggingface/tokenizers, models/bpe */

/* ---- byte-level texts ---------------------------------------------------------------------------------- */

/* Printable Latin-1 stands for itself, the other bytes for U+0100 and so on. source: GPT-2, encoder.py */
static uint32_t oxi_byte_char(uint8_t byte) {
    if ((byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173)) return byte;
    return byte <= 32 ? 256u + byte : byte <= 160 ? 256u + 33 + byte - 127u : 256u + 33 + 34;
}

static int oxi_char_byte(uint32_t code) {
    if (code < 256) return (code >= 33 && code <= 126) || (code >= 161 && code != 173) ? (int)code : -1;
    if (code < 256 + 33) return (int)code - 256;
    return code < 256 + 67 ? (int)code - 256 - 33 + 127 : code == 256 + 67 ? 173 : -1;
}

/* ---- merges -------------------------------------------------------------------------------------------- */

static ox_status oxi_model_make_merges(oxi_model *model, size_t count) {
    model->merge_count = 16;
    while (model->merge_count < 2 * count) model->merge_count *= 2;
    model->merges = (oxi_merge *)oxi_calloc(model->merge_count, sizeof *model->merges);
    if (!model->merges) return OX_ERR_NOMEM;
    for (size_t i = 0; i < model->merge_count; i++) model->merges[i].left = -1;
    return OX_OK;
}

static size_t oxi_merge_slot(const oxi_model *model, int32_t left, int32_t right) {
    uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    size_t slot = (size_t)(hash * 0xD6E8FEB86659FD93u >> 20) & (model->merge_count - 1);
    while (model->merges[slot].left >= 0 &&
           (model->merges[slot].left != left || model->merges[slot].right != right))
        slot = (slot + 1) & (model->merge_count - 1);
    return slot;
}

static const oxi_merge *oxi_merge_find(const oxi_model *model, int32_t left, int32_t right) {
    const oxi_merge *merge = &model->merges[oxi_merge_slot(model, left, right)];
    return merge->left < 0 ? NULL : merge;
}

/* False if there is such a pair already; it stands. */
static bool oxi_model_add_merge(oxi_model *model, int32_t left, int32_t right, int32_t made, uint32_t rank) {
    oxi_merge *merge = &model->merges[oxi_merge_slot(model, left, right)];
    if (merge->left >= 0) return false;
    merge->left = left;
    merge->right = right;
    merge->made = made;
    merge->rank = rank;
    return true;
}

/* ---- words --------------------------------------------------------------------------------------------- */

/* A part of a word: an id for [start, end) of the text. */
typedef struct oxi_symbol {
    int32_t id;
    uint32_t start, end;
    int32_t previous, next; /* -1 = none; of those merged away id is -2 */
} oxi_symbol;

typedef struct oxi_bpe_pair {
    uint32_t rank;
    int32_t left, made; /* left: a symbol */
} oxi_bpe_pair;

static bool oxi_bpe_before(const oxi_bpe_pair *a, const oxi_bpe_pair *b) {
    return a->rank < b->rank || (a->rank == b->rank && a->left < b->left);
}

static void oxi_bpe_heap_push(oxi_bpe_pair *heap, size_t *count, oxi_bpe_pair pair) {
    size_t at = (*count)++;
    while (at > 0 && oxi_bpe_before(&pair, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = pair;
}

static oxi_bpe_pair oxi_bpe_heap_pop(oxi_bpe_pair *heap, size_t *count) {
    const oxi_bpe_pair best = heap[0], last = heap[--*count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= *count) break;
        if (child + 1 < *count && oxi_bpe_before(&heap[child + 1], &heap[child])) child++;
        if (!oxi_bpe_before(&heap[child], &last)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return best;
}

static void oxi_bpe_offer(const oxi_model *model, const oxi_symbol *symbols, int32_t left, int32_t right,
                          oxi_bpe_pair *heap, size_t *count) {
    if (left < 0 || right < 0) return;
    const oxi_merge *merge = oxi_merge_find(model, symbols[left].id, symbols[right].id);
    if (!merge) return;
    const oxi_bpe_pair pair = {merge->rank, left, merge->made};
    oxi_bpe_heap_push(heap, count, pair);
}

/* Each merge leaves one symbol less and offers two pairs: fewer than 3 pairs a symbol are ever pushed. */
static size_t oxi_bpe_merge_long(const oxi_model *model, oxi_symbol *symbols, size_t count,
                                 oxi_bpe_pair *heap) {
    size_t pairs = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        symbols[i].previous = (int32_t)i - 1;
        symbols[i].next = i + 1 < count ? (int32_t)i + 1 : -1;
    }
    for (size_t i = 1; i < count; i++)
        oxi_bpe_offer(model, symbols, (int32_t)i - 1, (int32_t)i, heap, &pairs);
    while (pairs > 0) {
        const oxi_bpe_pair pair = oxi_bpe_heap_pop(heap, &pairs);
        oxi_symbol *left = &symbols[pair.left];
        if (left->id == -2 || left->next < 0) continue;
        oxi_symbol *right = &symbols[left->next];
        const oxi_merge *merge = oxi_merge_find(model, left->id, right->id);
        if (!merge || merge->made != pair.made) continue; /* one of them has changed since */
        left->id = pair.made;
        left->end = right->end;
        left->next = right->next;
        right->id = -2;
        if (left->next >= 0) symbols[left->next].previous = pair.left;
        oxi_bpe_offer(model, symbols, left->previous, pair.left, heap, &pairs);
        oxi_bpe_offer(model, symbols, pair.left, left->next, heap, &pairs);
    }
    for (size_t i = 0; i < count; i++)
        if (symbols[i].id != -2) symbols[kept++] = symbols[i];
    return kept;
}

enum { OXI_BPE_SHORT = 48 };

static size_t oxi_bpe_merge_short(const oxi_model *model, oxi_symbol *symbols, size_t count) {
    const oxi_merge *merge[OXI_BPE_SHORT];
    for (size_t i = 0; i + 1 < count; i++) merge[i] = oxi_merge_find(model, symbols[i].id, symbols[i + 1].id);
    while (count > 1) {
        size_t best = SIZE_MAX;
        uint32_t rank = UINT32_MAX;
        for (size_t i = 0; i + 1 < count; i++) {
            if (!merge[i] || (best != SIZE_MAX && merge[i]->rank >= rank)) continue;
            best = i;
            rank = merge[i]->rank;
        }
        if (best == SIZE_MAX) break;
        symbols[best].id = merge[best]->made;
        symbols[best].end = symbols[best + 1].end;
        count--;
        for (size_t i = best + 1; i < count; i++) symbols[i] = symbols[i + 1];
        for (size_t i = best + 1; i + 1 < count; i++) merge[i] = merge[i + 1];
        if (best > 0) merge[best - 1] = oxi_merge_find(model, symbols[best - 1].id, symbols[best].id);
        if (best + 1 < count) merge[best] = oxi_merge_find(model, symbols[best].id, symbols[best + 1].id);
    }
    return count;
}

/* ---- symbols of a word --------------------------------------------------------------------------------- */

enum { OXI_BPE_AFFIXES = 240 }; /* bytes that a prefix and a suffix have at most */

/* A character with the prefix and suffix of its place. */
static const char *oxi_bpe_char(const oxi_model *m, const char *text, size_t *length, bool first, bool last,
                                char joined[OXI_BPE_AFFIXES + 4]) {
    const size_t prefix = first ? 0 : m->prefix_length, suffix = last ? m->suffix_length : 0;
    if (prefix + suffix == 0) return text;
    if (prefix) memcpy(joined, m->prefix, prefix);
    memcpy(joined + prefix, text, *length);
    if (suffix) memcpy(joined + prefix + *length, m->suffix, suffix);
    *length += prefix + suffix;
    return joined;
}

/* The id of a symbol that is no token, and yet stands between those beside it. */
enum { OXI_BPE_NOTHING = INT32_MAX };

/* Places are sums of lengths, as the reference has them: what is left out moves all that follows it. */
static void oxi_bpe_add(oxi_symbol *symbols, size_t *count, size_t start, int32_t id, size_t length) {
    oxi_symbol *symbol = &symbols[*count];
    symbol->id = id;
    symbol->start = *count ? symbol[-1].end : (uint32_t)start;
    symbol->end = symbol->start + (uint32_t)length;
    *count += 1;
}

/* The tokens of bytes, if there is one for each. */
static bool oxi_bpe_add_bytes(const oxi_vocabulary *v, oxi_symbol *symbols, size_t *count, size_t start,
                              const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (v->byte_token[(uint8_t)text[i]] < 0) return false;
    for (size_t i = 0; i < length; i++)
        oxi_bpe_add(symbols, count, start, v->byte_token[(uint8_t)text[i]], 1);
    return true;
}

static ox_status oxi_bpe_symbols(const oxi_flow *work, size_t start, size_t end, oxi_symbol *symbols,
                                 size_t *out) {
    const ox_tokenizer *t = work->tokenizer;
    const oxi_model *m = &t->model;
    const char *text = work->text.bytes;
    size_t count = 0;
    if (m->whole_word) {
        for (size_t at = start; at < end; at++) {
            const int32_t id = m->byte_symbol[(uint8_t)text[at]];
            oxi_bpe_add(symbols, &count, start, id >= 0 ? id : OXI_BPE_NOTHING, 1);
        }
        *out = count;
        return OX_OK;
    }
    bool waits = false; /* an unknown symbol is put in where the next known one comes: bytes go before it */
    size_t waiting = 0; /* bytes of it */
    for (size_t at = start, next = start; at < end; at = next) {
        char joined[OXI_BPE_AFFIXES + 4];
        (void)oxi_utf8_code(text, end, &next);
        size_t length = next - at;
        const char *sought = oxi_bpe_char(m, text + at, &length, at == start, next == end, joined);
        const int32_t id = oxi_vocabulary_find_known(&t->vocabulary, sought, length);
        if (id >= 0) {
            if (waits) oxi_bpe_add(symbols, &count, start, m->unknown, waiting);
            waits = false;
            oxi_bpe_add(symbols, &count, start, id, next - at);
            continue;
        }
        if (m->byte_fallback && oxi_bpe_add_bytes(&t->vocabulary, symbols, &count, start, sought, length))
            continue;
        if (m->drop_unknown) oxi_bpe_add(symbols, &count, start, OXI_BPE_NOTHING, next - at);
        if (m->unknown < 0) continue;
        if (waits && !m->fuse_unknown) oxi_bpe_add(symbols, &count, start, m->unknown, waiting);
        if (!waits || !m->fuse_unknown) waiting = 0;
        waits = true;
        waiting += next - at;
    }
    if (waits) oxi_bpe_add(symbols, &count, start, m->unknown, waiting);
    *out = count;
    return OX_OK;
}

/* Bytes of a prefix may lead beyond the end of the word. The reference takes such a place, which counts from
 * the word's start, for one in the whole text: from the character that it is in to the start of that of its
 * end, to the end of the text if there is none, and two characters if it is farther than that. */
static ox_status oxi_bpe_push_beyond(oxi_flow *work, int32_t id, size_t start, size_t end) {
    const oxi_text *text = &work->whole;
    const uint32_t last = text->length ? oxi_text_to(text, text->length) : 0;
    if (!work->places || start >= text->length) return oxi_token_push_place(work, id, last, last);
    while (start > 0 && ((unsigned char)text->bytes[start] & 0xC0) == 0x80) start--;
    if (end > text->length) {
        end = start;
        for (int i = 0; i < 2 && end < text->length; i++)
            (void)oxi_utf8_code(text->bytes, text->length, &end);
    }
    while (end < text->length && ((unsigned char)text->bytes[end] & 0xC0) == 0x80) end--;
    return oxi_token_push_place(work, id, oxi_text_from(text, start),
                                end < text->length ? oxi_text_from(text, end) : last);
}

static ox_status oxi_bpe_push(oxi_flow *work, const oxi_symbol *symbols, size_t count, size_t start,
                              size_t end) {
    const int64_t known = work->tokenizer->vocabulary.entries;
    ox_status status = OX_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const oxi_symbol *symbol = &symbols[i];
        if (symbol->id >= known) continue;
        status = symbol->end <= end
                     ? oxi_token_push(work, symbol->id, symbol->start, symbol->end)
                     : oxi_bpe_push_beyond(work, symbol->id, symbol->start - start, symbol->end - start);
    }
    return status;
}

/* ---- words seen before --------------------------------------------------------------------------------- */

enum { OXI_CACHED_BYTES = 15, OXI_CACHED_TOKENS = 7 };

typedef struct oxi_word_cache {
    char word[OXI_CACHED_BYTES + 1]; /* the last byte: how long it is, 0 = free */
    uint8_t count, end[OXI_CACHED_TOKENS];
    int32_t id[OXI_CACHED_TOKENS];
} oxi_word_cache;

static oxi_word_cache *oxi_cache_slot(const oxi_flow *work, const char *word, size_t length, char key[16]) {
    uint64_t low, high;
    memset(key, 0, 16);
    memcpy(key, word, length);
    key[15] = (char)length;
    memcpy(&low, key, 8);
    memcpy(&high, key + 8, 8);
    const uint64_t hash = (low ^ high * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    return &work->cache[(hash >> 32 ^ hash >> 47) & (work->cache_count - 1)];
}

static ox_status oxi_bpe_encode_new(oxi_flow *work, size_t start, size_t end, oxi_word_cache *entry) {
    const oxi_model *model = &work->tokenizer->model;
    oxi_symbol few[OXI_BPE_SHORT], *symbols = few;
    oxi_bpe_pair *heap = NULL;
    size_t count = 0;
    size_t most = end - start;
    if (model->byte_fallback && !oxi_mul_size(most, 1 + model->prefix_length + model->suffix_length, &most))
        return OX_ERR_NOMEM;
    if (++most > OXI_BPE_SHORT) {
        if (most >= INT32_MAX / 4) return oxi_fail(OX_ERR_ARG, "tokenizer: a word of %zu bytes", most - 1);
        symbols = (oxi_symbol *)oxi_work_scratch(work, most * (sizeof *symbols + 3 * sizeof *heap));
        if (!symbols) return OX_ERR_NOMEM;
        heap = (oxi_bpe_pair *)(symbols + most);
    }
    const ox_status status = oxi_bpe_symbols(work, start, end, symbols, &count);
    if (status) return status;
    count = count <= OXI_BPE_SHORT ? oxi_bpe_merge_short(model, symbols, count)
                                   : oxi_bpe_merge_long(model, symbols, count, heap);
    if (entry && count <= OXI_CACHED_TOKENS && (count == 0 || symbols[count - 1].end <= end)) {
        entry->count = (uint8_t)count;
        for (size_t i = 0; i < count; i++) {
            entry->id[i] = symbols[i].id;
            entry->end[i] = (uint8_t)(symbols[i].end - start);
        }
    } else if (entry) {
        entry->word[15] = 0;
    }
    return oxi_bpe_push(work, symbols, count, start, end);
}

static ox_status oxi_bpe_encode(oxi_flow *work, size_t start, size_t end) {
    const ox_tokenizer *t = work->tokenizer;
    const char *word = work->text.bytes + start;
    const size_t length = end - start;
    oxi_word_cache *entry = NULL;
    if (work->cache && length <= OXI_CACHED_BYTES) {
        char key[16];
        entry = oxi_cache_slot(work, word, length, key);
        if (memcmp(entry->word, key, 16) == 0) {
            const int64_t known = t->vocabulary.entries;
            ox_status status = OX_OK;
            size_t from = start;
            for (int i = 0; i < entry->count && !status; i++) {
                if (entry->id[i] < known)
                    status = oxi_token_push(work, entry->id[i], from, start + entry->end[i]);
                from = start + entry->end[i];
            }
            return status;
        }
        memcpy(entry->word, key, 16);
    }
    if (t->model.ignore_merges || (t->model.whole_newlines && word[0] == '\n')) {
        const int32_t id = t->model.whole_word ? oxi_vocabulary_find_bytes(&t->vocabulary, word, length)
                                               : oxi_vocabulary_find_known(&t->vocabulary, word, length);
        if (id >= 0) {
            if (entry) {
                entry->count = 1;
                entry->id[0] = id;
                entry->end[0] = (uint8_t)length;
            }
            return oxi_token_push(work, id, start, end);
        }
    }
    return oxi_bpe_encode_new(work, start, end, entry);
}
