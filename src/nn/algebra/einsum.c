/* ox_einsum: sums of products by index letters.
 * Each operand becomes a tensor with one dim a label (repeated labels: the diagonal; "...": labels of its
 * own). Operands are contracted from left to right: labels that occur nowhere else are summed away, then one
 * batched matmul joins the pair.
 * source: torch.einsum */

#define OXI_MAX_LABELS 64 /* 52 letters, then the dims of "..." */

typedef struct oxi_einsum_term {
    ox_tensor *t;
    const ox_tensor *given; /* the operand, for messages, */
    int operand;            /* and which, from 1 */
    int count;
    int label[OX_MAX_DIMS];
} oxi_einsum_term;
typedef struct oxi_einsum {
    const char *equation;
    int64_t size[OXI_MAX_LABELS]; /* 0 = not seen yet; broadcast dims of "..." may grow from 1 */
    int seen[OXI_MAX_LABELS];     /* the operand that size is from, 0 = none */
    int ellipsis; /* the most dims any "..." stands for */
    int out_count;
    int out[OX_MAX_DIMS];
} oxi_einsum;

static int oxi_letter_label(char c) {
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1;
}

/* ---- words --------------------------------------------------------------------------------------------- */

#define OXI_EINSUM_SHOWN "einsum: '%.120s': " /* the equation, for messages */

/* "letter 'i'", or which dim of "..." it is. */
static const char *oxi_label_text(int label) {
    char *out = oxi_text_buffer();
    if (label >= 52)
        snprintf(out, OXI_TEXT_ROOM, "dim %d of \"...\"", 51 - label);
    else
        snprintf(out, OXI_TEXT_ROOM, "letter '%c'", label < 26 ? 'a' + label : 'A' + label - 26);
    return out;
}

/* "operand 2 (f32[3,4])", or "the result". */
static const char *oxi_term_text(int operand, const ox_tensor *t) {
    char *out = oxi_text_buffer();
    if (operand == 0)
        snprintf(out, OXI_TEXT_ROOM, "the result");
    else
        snprintf(out, OXI_TEXT_ROOM, "operand %d (%s)", operand, oxi_tensor_text(t));
    return out;
}

/* ---- labels -------------------------------------------------------------------------------------------- */

static bool oxi_einsum_too_long(const oxi_einsum *e, int operand, const ox_tensor *t) {
    (void)oxi_fail(OX_ERR_ARG, OXI_EINSUM_SHOWN "%s: at most %d dims", e->equation, oxi_term_text(operand, t),
                   OX_MAX_DIMS);
    return false;
}

/* The labels of an operand (from 1) or the result (0), from its text up to `end`; dots become labels 52..
 * counted from the right. False, and an error, when it is not well-formed. */
static bool oxi_einsum_labels(const oxi_einsum *e, int operand, const ox_tensor *t, const char *text,
                              const char *end, int ellipsis_dims, int *label, int *count) {
    bool dots = false;
    *count = 0;
    for (const char *p = text; p < end; p++) {
        if (*p == ' ') continue;
        if (*p == '.') {
            if (dots || end - p < 3 || p[1] != '.' || p[2] != '.') {
                (void)oxi_fail(OX_ERR_ARG, OXI_EINSUM_SHOWN "%s: dots are \"...\", once", e->equation,
                               oxi_term_text(operand, t));
                return false;
            }
            dots = true;
            p += 2;
            for (int i = 0; i < ellipsis_dims; i++) {
                if (*count == OX_MAX_DIMS) return oxi_einsum_too_long(e, operand, t);
                label[(*count)++] = 52 + (ellipsis_dims - 1 - i);
            }
            continue;
        }
        if (oxi_letter_label(*p) < 0) {
            (void)oxi_fail(OX_ERR_ARG, OXI_EINSUM_SHOWN "%s: byte %d, '%c', is no letter", e->equation,
                           oxi_term_text(operand, t), (int)(p - e->equation) + 1,
                           *p > ' ' && *p <= '~' ? *p : '?');
            return false;
        }
        if (*count == OX_MAX_DIMS) return oxi_einsum_too_long(e, operand, t);
        label[(*count)++] = oxi_letter_label(*p);
    }
    return true;
}

static int oxi_count_letters(const char *text, const char *end, bool *dots) {
    int letters = 0;
    *dots = false;
    for (const char *p = text; p < end; p++) {
        if (*p == '.') *dots = true;
        letters += oxi_letter_label(*p) >= 0;
    }
    return letters;
}

/* Joins dims that carry the same label into their diagonal. */
static bool oxi_einsum_diagonals(const oxi_einsum *e, oxi_einsum_term *term) {
    for (int i = 0; i < term->count; i++) {
        for (int j = i + 1; j < term->count; j++) {
            if (term->label[i] != term->label[j]) continue;
            if (term->t->shape[i] != term->t->shape[j]) {
                (void)oxi_fail(OX_ERR_SHAPE, OXI_EINSUM_SHOWN "%s has sizes %lld and %lld in %s", e->equation,
                               oxi_label_text(term->label[i]), (long long)term->t->shape[i],
                               (long long)term->t->shape[j], oxi_term_text(term->operand, term->given));
                return false;
            }
            int label = term->label[i];
            term->t = ox_diagonal(term->t, 0, i, j);
            if (!term->t) return false;
            int kept = 0;
            for (int d = 0; d < term->count; d++)
                if (d != i && d != j) term->label[kept++] = term->label[d];
            term->label[kept++] = label;
            term->count = kept;
            i = -1;
            break;
        }
    }
    return true;
}

static bool oxi_einsum_sizes(oxi_einsum *e, const oxi_einsum_term *term) {
    for (int d = 0; d < term->count; d++) {
        int label = term->label[d];
        int64_t size = term->t->shape[d];
        if (!e->seen[label] || e->size[label] == 1) {
            e->size[label] = size;
            e->seen[label] = term->operand;
        } else if (size != e->size[label] && size != 1) {
            (void)oxi_fail(OX_ERR_SHAPE, OXI_EINSUM_SHOWN "%s has size %lld in operand %d, but %lld in %s",
                           e->equation, oxi_label_text(label), (long long)e->size[label], e->seen[label],
                           (long long)size, oxi_term_text(term->operand, term->given));
            return false;
        }
    }
    return true;
}

static bool oxi_has_label(const int *label, int count, int wanted) {
    for (int i = 0; i < count; i++)
        if (label[i] == wanted) return true;
    return false;
}

/* Sums away labels of a term that neither the result nor a later term has. */
static bool oxi_einsum_sum_lonely(const oxi_einsum *e, oxi_einsum_term *term, const oxi_einsum_term *rest,
                                  int rest_count) {
    ox_shape dims = ox_shape_from(0, NULL);
    int kept = 0, label[OX_MAX_DIMS];
    for (int d = 0; d < term->count; d++) {
        bool needed = oxi_has_label(e->out, e->out_count, term->label[d]);
        for (int r = 0; r < rest_count && !needed; r++)
            needed = oxi_has_label(rest[r].label, rest[r].count, term->label[d]);
        if (needed)
            label[kept++] = term->label[d];
        else
            dims.dim[dims.ndim++] = d;
    }
    if (dims.ndim == 0) return true;
    term->t = ox_sum(term->t, dims, false);
    memcpy(term->label, label, sizeof label);
    term->count = kept;
    return term->t != NULL;
}

/* The term's dims in the order of list[], whose labels it all has. */
static ox_tensor *oxi_einsum_ordered(const oxi_einsum_term *term, const int *list, int count) {
    ox_shape order = ox_shape_from(0, NULL);
    for (int i = 0; i < count; i++)
        for (int d = 0; d < term->count; d++)
            if (term->label[d] == list[i]) order.dim[order.ndim++] = d;
    return ox_permute(term->t, order);
}

/* Labels of a pair, sorted by what they do in the product. */
typedef struct oxi_einsum_roles {
    int batch[OX_MAX_DIMS], rows[OX_MAX_DIMS], columns[OX_MAX_DIMS], summed[OX_MAX_DIMS];
    int batches, row_count, column_count, summed_count;
} oxi_einsum_roles;

static void oxi_einsum_sort_roles(const oxi_einsum *e, const oxi_einsum_term *a, const oxi_einsum_term *b,
                                  const oxi_einsum_term *rest, int rest_count, oxi_einsum_roles *roles) {
    memset(roles, 0, sizeof *roles);
    for (int d = 0; d < a->count; d++) {
        int label = a->label[d];
        bool needed = oxi_has_label(e->out, e->out_count, label);
        for (int r = 0; r < rest_count && !needed; r++)
            needed = oxi_has_label(rest[r].label, rest[r].count, label);
        if (!oxi_has_label(b->label, b->count, label))
            roles->rows[roles->row_count++] = label;
        else if (needed)
            roles->batch[roles->batches++] = label;
        else
            roles->summed[roles->summed_count++] = label;
    }
    for (int d = 0; d < b->count; d++)
        if (!oxi_has_label(a->label, a->count, b->label[d]))
            roles->columns[roles->column_count++] = b->label[d];
}

static int64_t oxi_einsum_join(const oxi_einsum *e, int *list, int *count, const int *more, int more_count) {
    int64_t size = 1;
    for (int i = 0; i < more_count; i++) {
        if (*count < OX_MAX_DIMS) list[(*count)++] = more[i];
        size *= e->size[more[i]];
    }
    return size;
}

/* x [batch, rows, summed] times y [batch, summed, columns], in their dtype. Integers of which one was summed
 * over alone meet in i64. */
static ox_tensor *oxi_einsum_product(ox_tensor *x, ox_tensor *y, bool sums) {
    if (!x || !y) return NULL;
    if (x->dtype != y->dtype && oxi_is_int(x->dtype) && oxi_is_int(y->dtype)) {
        x = ox_cast(x, OX_I64);
        y = ox_cast(y, OX_I64);
    }
    ox_tensor *product = sums ? ox_matmul(x, y) : ox_mul(x, y);
    return product && x && product->dtype != x->dtype ? ox_cast(product, x->dtype) : product;
}

/* a [batch, rows, summed] x b [batch, summed, columns] -> a's term becomes [batch, rows, columns]. */
static bool oxi_einsum_contract(const oxi_einsum *e, oxi_einsum_term *a, const oxi_einsum_term *b,
                                const oxi_einsum_term *rest, int rest_count) {
    oxi_einsum_roles r;
    oxi_einsum_sort_roles(e, a, b, rest, rest_count, &r);
    if (r.batches + r.row_count + r.column_count > OX_MAX_DIMS) {
        (void)oxi_fail(OX_ERR_SHAPE,
                       OXI_EINSUM_SHOWN "operands up to %d, multiplied, have %d dims; %d are the most",
                       e->equation, b->operand, r.batches + r.row_count + r.column_count, OX_MAX_DIMS);
        return false;
    }
    int left[OX_MAX_DIMS], right[OX_MAX_DIMS], result[OX_MAX_DIMS], left_count = 0, right_count = 0,
                                                                    result_count = 0;
    int64_t batch = oxi_einsum_join(e, left, &left_count, r.batch, r.batches);
    int64_t rows = oxi_einsum_join(e, left, &left_count, r.rows, r.row_count);
    int64_t summed = oxi_einsum_join(e, left, &left_count, r.summed, r.summed_count);
    oxi_einsum_join(e, right, &right_count, r.batch, r.batches);
    oxi_einsum_join(e, right, &right_count, r.summed, r.summed_count);
    int64_t columns = oxi_einsum_join(e, right, &right_count, r.columns, r.column_count);
    ox_tensor *x = ox_reshape(oxi_einsum_ordered(a, left, left_count), OX_SHAPE(batch, rows, summed));
    ox_tensor *y = ox_reshape(oxi_einsum_ordered(b, right, right_count), OX_SHAPE(batch, summed, columns));
    ox_tensor *product = oxi_einsum_product(x, y, r.summed_count > 0);
    oxi_einsum_join(e, result, &result_count, r.batch, r.batches);
    oxi_einsum_join(e, result, &result_count, r.rows, r.row_count);
    oxi_einsum_join(e, result, &result_count, r.columns, r.column_count);
    ox_shape shape = ox_shape_from(0, NULL);
    for (int i = 0; i < result_count; i++) shape.dim[shape.ndim++] = e->size[result[i]];
    a->t = product ? ox_view(product, shape) : NULL;
    memcpy(a->label, result, sizeof result);
    a->count = result_count;
    return a->t != NULL;
}

/* ---- reading the equation ------------------------------------------------------------------------------ */

/* The end of the term that starts at p: a comma, the arrow or the end of the text. */
static const char *oxi_einsum_term_end(const char *p) {
    while (*p && *p != ',' && !(p[0] == '-' && p[1] == '>')) p++;
    return p;
}

/* How many operands the left side has. */
static int oxi_einsum_terms(const char *text) {
    int terms = 1;
    while (*(text = oxi_einsum_term_end(text)) == ',') {
        terms++;
        text++;
    }
    return terms;
}

/* Fills terms[] from the left side; returns what follows it, NULL and an error on a mismatch. */
static const char *oxi_einsum_read(oxi_einsum *e, const char *text, ox_tensor *const *list, int count,
                                   oxi_einsum_term *terms) {
    for (int i = 0; i < count; i++) {
        const char *end = oxi_einsum_term_end(text);
        bool dots;
        int letters = oxi_count_letters(text, end, &dots), extra = list[i]->ndim - letters;
        terms[i].t = list[i];
        terms[i].given = list[i];
        terms[i].operand = i + 1;
        if (!oxi_einsum_labels(e, i + 1, list[i], text, end, extra, terms[i].label, &terms[i].count))
            return NULL;
        if (extra < 0 || (!dots && extra > 0))
            return (const char *)OXI_FAIL_NULL(OX_ERR_ARG, OXI_EINSUM_SHOWN "%s has %d dims for %d letters",
                                               e->equation, oxi_term_text(i + 1, list[i]), list[i]->ndim,
                                               letters);
        if (extra > e->ellipsis) e->ellipsis = extra;
        text = *end == ',' ? end + 1 : end;
    }
    return text;
}

/* Labels of the result: as written after "->", or letters that occur once, in order, after the dims of
 * "...". */
static bool oxi_einsum_result(oxi_einsum *e, const char *text, const char *left_start, const char *left_end) {
    if (text[0] == '-')
        return oxi_einsum_labels(e, 0, NULL, text + 2, text + strlen(text), e->ellipsis, e->out,
                                 &e->out_count);
    int times[52] = {0};
    for (const char *p = left_start; p < left_end; p++)
        if (oxi_letter_label(*p) >= 0) times[oxi_letter_label(*p)]++;
    for (int i = e->ellipsis - 1; i >= 0; i--) e->out[e->out_count++] = 52 + i;
    for (int turn = 0; turn < 52; turn++) {
        int label = turn < 26 ? 26 + turn : turn - 26; /* torch sorts by character: A-Z before a-z */
        if (times[label] != 1) continue;
        if (e->out_count == OX_MAX_DIMS) return oxi_einsum_too_long(e, 0, NULL);
        e->out[e->out_count++] = label;
    }
    return true;
}

static bool oxi_einsum_check_result(const oxi_einsum *e) {
    for (int i = 0; i < e->out_count; i++) {
        bool known = e->seen[e->out[i]] || e->out[i] >= 52;
        if (known && !oxi_has_label(e->out, i, e->out[i])) continue;
        (void)oxi_fail(OX_ERR_ARG, OXI_EINSUM_SHOWN "the result has %s, which %s", e->equation,
                       oxi_label_text(e->out[i]), known ? "it has before" : "no operand has");
        return false;
    }
    return true;
}

/* Every dim at its full size, so that products see no broadcasting. */
static bool oxi_einsum_grow(const oxi_einsum *e, oxi_einsum_term *term) {
    ox_shape shape = ox_shape_from(0, NULL);
    for (int d = 0; d < term->count; d++) shape.dim[shape.ndim++] = e->size[term->label[d]];
    term->t = ox_expand(term->t, shape);
    return term->t != NULL;
}

static ox_tensor *oxi_einsum_run(const char *equation, ox_tensor *const *list, int count,
                                 oxi_einsum_term *terms) {
    oxi_einsum e;
    memset(&e, 0, sizeof e);
    e.equation = equation;
    if (oxi_einsum_terms(equation) != count)
        return OXI_FAIL_NULL(OX_ERR_ARG, OXI_EINSUM_SHOWN "it has %d operands, %d are given", equation,
                             oxi_einsum_terms(equation), count);
    const char *after = oxi_einsum_read(&e, equation, list, count, terms);
    if (!after || !oxi_einsum_result(&e, after, equation, after)) return NULL;
    for (int i = 0; i < count; i++)
        if (!oxi_einsum_diagonals(&e, &terms[i]) || !oxi_einsum_sizes(&e, &terms[i])) return NULL;
    if (!oxi_einsum_check_result(&e)) return NULL;
    for (int i = 0; i < count; i++)
        if (!oxi_einsum_grow(&e, &terms[i])) return NULL;
    oxi_einsum_term *sum = &terms[0];
    if (!oxi_einsum_sum_lonely(&e, sum, terms + 1, count - 1)) return NULL;
    for (int i = 1; i < count; i++) {
        oxi_einsum_term *rest = terms + i + 1;
        if (!oxi_einsum_contract(&e, sum, &terms[i], rest, count - i - 1)) return NULL;
        if (!oxi_einsum_sum_lonely(&e, sum, rest, count - i - 1)) return NULL;
    }
    ox_tensor *result = oxi_einsum_ordered(sum, e.out, e.out_count);
    return result && result->storage == list[0]->storage ? ox_clone(result) : result;
}

OX_API ox_tensor *ox_einsum(const char *equation, ox_tensor *const *list, int count) {
    if (!equation) return OXI_FAIL_NULL(OX_ERR_ARG, "einsum: no equation");
    if (count < 1 || !list) return OXI_FAIL_NULL(OX_ERR_ARG, "einsum: no operands");
    if (oxi_any_null("einsum", list, count)) return NULL;
    size_t bytes;
    if (!oxi_mul_size((size_t)count, sizeof(oxi_einsum_term), &bytes))
        return OXI_FAIL_NULL(OX_ERR_ARG, "einsum: %d operands are more than memory can hold", count);
    oxi_einsum_term *terms = (oxi_einsum_term *)oxi_alloc(bytes);
    if (!terms) return NULL;
    oxi_work work = oxi_work_begin("einsum");
    ox_tensor *result = oxi_work_end(&work, oxi_einsum_run(equation, list, count, terms));
    oxi_free(terms, bytes);
    return result;
}
