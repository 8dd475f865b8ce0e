/* SentencePiece encoding by scores: neighbors that make a vocabulary text are merged, the best score first.
 * A heap holds the pairs that could be merged; pairs whose sides have changed since are skipped: n log n.
 * Spaces are U+2581 by now. source: Kudo & Richardson 2018, SentencePiece (bpe_model). */

/* A run of bytes; merged into its left neighbor it has length 0. */
typedef struct oxi_spm_symbol {
    int32_t previous, next; /* -1 = none */
    int32_t start, length;
} oxi_spm_symbol;

typedef struct oxi_spm_pair {
    float score;
    int32_t left, right; /* symbols */
    int32_t length;      /* of both together when the pair was found */
} oxi_spm_pair;

typedef struct oxi_spm {
    const oxi_vocabulary *vocabulary;
    const char *text;
    oxi_spm_symbol *symbols; /* [symbol_count] */
    int32_t symbol_count;
    oxi_spm_pair *heap; /* [heap_count], the best one first */
    size_t heap_count;
} oxi_spm;

/* ---- the heap ------------------------------------------------------------------------------------------ */

/* The higher score goes first, of equal ones the left one. */
static bool oxi_spm_before(const oxi_spm_pair *a, const oxi_spm_pair *b) {
    return a->score > b->score || (!(a->score < b->score) && a->left < b->left);
}

static void oxi_spm_heap_push(oxi_spm *spm, oxi_spm_pair pair) {
    size_t at = spm->heap_count++;
    while (at > 0 && oxi_spm_before(&pair, &spm->heap[(at - 1) / 2])) {
        spm->heap[at] = spm->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    spm->heap[at] = pair;
}

static oxi_spm_pair oxi_spm_heap_pop(oxi_spm *spm) {
    const oxi_spm_pair best = spm->heap[0], last = spm->heap[--spm->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= spm->heap_count) break;
        if (child + 1 < spm->heap_count && oxi_spm_before(&spm->heap[child + 1], &spm->heap[child])) child++;
        if (!oxi_spm_before(&spm->heap[child], &last)) break;
        spm->heap[at] = spm->heap[child];
        at = child;
    }
    spm->heap[at] = last;
    return best;
}

/* ---- merging ------------------------------------------------------------------------------------------- */

/* Plain text becomes pieces only: a control token cannot be spelled in it. */
static int32_t oxi_spm_find(const oxi_vocabulary *v, const char *text, size_t length) {
    const int32_t token = oxi_vocabulary_find(v, text, length);
    if (token < 0) return -1;
    const uint8_t type = v->type[token];
    return type == OX_TOKEN_CONTROL || type == OX_TOKEN_UNKNOWN || type == OX_TOKEN_BYTE ? -1 : token;
}

static void oxi_spm_offer(oxi_spm *spm, int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const oxi_spm_symbol *a = &spm->symbols[left];
    oxi_spm_pair pair;
    pair.left = left;
    pair.right = right;
    pair.length = a->length + spm->symbols[right].length;
    const int32_t token = oxi_spm_find(spm->vocabulary, spm->text + a->start, (size_t)pair.length);
    if (token < 0) return;
    pair.score = spm->vocabulary->score[token];
    oxi_spm_heap_push(spm, pair);
}

/* Each merge leaves one symbol less and offers two pairs, so fewer than 3 pairs a symbol are ever pushed. */
static void oxi_spm_merge(oxi_spm *spm) {
    for (int32_t i = 1; i < spm->symbol_count; i++) oxi_spm_offer(spm, i - 1, i);
    while (spm->heap_count > 0) {
        const oxi_spm_pair pair = oxi_spm_heap_pop(spm);
        oxi_spm_symbol *left = &spm->symbols[pair.left], *right = &spm->symbols[pair.right];
        if (left->length == 0 || right->length == 0 || left->length + right->length != pair.length) continue;
        left->length = pair.length;
        left->next = right->next;
        right->length = 0;
        if (left->next >= 0) spm->symbols[left->next].previous = pair.left;
        oxi_spm_offer(spm, left->previous, pair.left);
        oxi_spm_offer(spm, pair.left, left->next);
    }
}

/* ---- from text to symbols, from symbols to ids --------------------------------------------------------- */

/* One symbol a character, as long as its first byte says: what is not UTF-8 takes what follows with it.
 * source llama.cpp, src/llama-vocab.cpp */
static void oxi_spm_split(oxi_spm *spm, size_t length) {
    size_t at = 0;
    while (at < length) {
        oxi_spm_symbol *symbol = &spm->symbols[spm->symbol_count];
        symbol->start = (int32_t)at;
        const unsigned char first = (unsigned char)spm->text[at];
        const size_t bytes = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        symbol->length = (int32_t)(bytes < length - at ? bytes : length - at);
        symbol->previous = spm->symbol_count - 1;
        symbol->next = spm->symbol_count + 1;
        at += (size_t)symbol->length;
        spm->symbol_count++;
    }
    if (spm->symbol_count) spm->symbols[spm->symbol_count - 1].next = -1;
}

/* A symbol that is no token falls back to the tokens of its bytes, then to the unknown token. */
static ox_status oxi_spm_emit(const oxi_spm *spm, oxi_flow *work, size_t from) {
    const oxi_vocabulary *v = spm->vocabulary;
    const int32_t unknown = work->tokenizer->model.unknown;
    ox_status status = OX_OK;
    for (int32_t i = spm->symbol_count ? 0 : -1; i >= 0 && !status; i = spm->symbols[i].next) {
        const char *text = spm->text + spm->symbols[i].start;
        const int32_t length = spm->symbols[i].length;
        const size_t start = from + (size_t)spm->symbols[i].start, end = start + (size_t)length;
        const int32_t token = oxi_spm_find(v, text, (size_t)length);
        if (token >= 0) {
            status = oxi_token_push(work, token, start, end);
            continue;
        }
        bool bytes_known = true;
        for (int32_t b = 0; b < length; b++) bytes_known &= v->byte_token[(unsigned char)text[b]] >= 0;
        if (bytes_known) {
            for (int32_t b = 0; b < length && !status; b++)
                status = oxi_token_push(work, v->byte_token[(unsigned char)text[b]], start, end);
        } else if (unknown >= 0) {
            status = oxi_token_push(work, unknown, start, end);
        } else {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: no token for byte 0x%02x, and no unknown token",
                            (unsigned)(unsigned char)text[0]);
        }
    }
    return status;
}

static ox_status oxi_spm_encode(oxi_flow *work, size_t start, size_t end) {
    const size_t length = end - start;
    oxi_spm spm;
    memset(&spm, 0, sizeof spm);
    spm.vocabulary = &work->tokenizer->vocabulary;
    spm.text = work->text.bytes + start;
    /* at most a symbol for each byte */
    const size_t symbol_bytes = (length + 1) * sizeof *spm.symbols;
    spm.symbols =
        (oxi_spm_symbol *)oxi_work_scratch(work, symbol_bytes + (length + 1) * 3 * sizeof *spm.heap);
    if (!spm.symbols) return OX_ERR_NOMEM;
    spm.heap = (oxi_spm_pair *)(spm.symbols + length + 1);
    oxi_spm_split(&spm, length);
    oxi_spm_merge(&spm);
    return oxi_spm_emit(&spm, work, start);
}
