/* Importance matrices: read from both of llama-imatrix's formats, written as its newer one, and made by
 * listening to the products of a model. The driver (quantize.c) asks for them by the names of weights. */

/* A weight's. */
typedef struct oxi_importance_entry {
    char *name;
    size_t name_bytes;
    const ox_tensor *weight; /* whose products are heard; else NULL */
    const ox_storage *copy;  /* the weight's numbers as floats, from a cast until their product */
    int64_t columns, matrices;
    float *sum;   /* [matrices, columns] of squares; counts [matrices] behind it */
    size_t bytes; /* of both */
} oxi_importance_entry;

struct ox_llm_importance {
    oxi_importance_entry *entries;
    size_t count, room;
    uint32_t *order; /* [2 * count]: by name; scratch behind it */
    char *dataset;
    size_t dataset_bytes;
    int64_t chunks;
    const char *path;               /* of the file, while it is read */
    ox_llm *model;                  /* that is listened to */
    struct ox_llm_importance *next; /* of those that listen */
    ox_status status;
};

/* What is wrong with a weight's numbers. */
static ox_status oxi_importance_bad(const ox_llm_importance *m, const char *name, const char *what) {
    return oxi_fail(OX_ERR_FORMAT, "%s: %s %s", m->path ? oxi_path_text(m->path) : "llm_importance",
                    OXI_QUOTE(name), what);
}

/* A float that may be added to others: not negative, finite. */
static bool oxi_is_sum(float v) {
    return v >= 0 && v <= FLT_MAX;
}

/* A new entry of zeros, or NULL. */
static oxi_importance_entry *oxi_importance_add(ox_llm_importance *m, const char *name, size_t length,
                                                int64_t columns, int64_t matrices) {
    size_t numbers, bytes;
    const bool fits = columns > 0 && matrices > 0 && m->count < UINT32_MAX / 4 &&
                      oxi_mul_size((size_t)columns + 1, (size_t)matrices, &numbers) &&
                      oxi_mul_size(numbers, sizeof(float), &bytes);
    if (!fits) {
        (void)oxi_fail(OX_ERR_FORMAT, "llm_importance: %s has %lld columns of %lld matrices",
                       oxi_quote(name, length).text, (long long)columns, (long long)matrices);
        return NULL;
    }
    oxi_importance_entry *grown =
        (oxi_importance_entry *)oxi_grow(m->entries, &m->room, m->count + 1, sizeof *grown, false);
    if (!grown) return NULL;
    m->entries = grown;
    oxi_importance_entry *e = &m->entries[m->count];
    memset(e, 0, sizeof *e);
    e->columns = columns;
    e->matrices = matrices;
    e->bytes = bytes;
    e->name_bytes = length + 1;
    e->sum = (float *)oxi_calloc(1, bytes);
    e->name = (char *)oxi_alloc(e->name_bytes);
    m->count++; /* freed with the others from here on */
    if (!e->sum || !e->name) return NULL;
    memcpy(e->name, name, length);
    e->name[length] = 0;
    return e;
}

static float *oxi_importance_counts(const oxi_importance_entry *e) {
    return e->sum + e->columns * e->matrices;
}

static int oxi_importance_compare(const void *user, uint32_t a, uint32_t b) {
    const ox_llm_importance *m = (const ox_llm_importance *)user;
    return strcmp(m->entries[a].name, m->entries[b].name);
}

/* Sorts what is there by name. */
static ox_status oxi_importance_sort(ox_llm_importance *m) {
    m->order = (uint32_t *)oxi_alloc(2 * m->count * sizeof *m->order);
    if (!m->order) return OX_ERR_NOMEM;
    for (size_t i = 0; i < m->count; i++) m->order[i] = (uint32_t)i;
    oxi_sort_indexes(m->order, m->order + m->count, (uint32_t)m->count, oxi_importance_compare, m);
    for (size_t i = 1; i < m->count; i++)
        if (oxi_importance_compare(m, m->order[i - 1], m->order[i]) == 0)
            return oxi_importance_bad(m, m->entries[m->order[i]].name, "is there twice");
    return OX_OK;
}

/* NULL: it has none. */
static const oxi_importance_entry *oxi_importance_find(const ox_llm_importance *m, const char *name) {
    size_t low = 0, high = m ? m->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(m->entries[m->order[middle]].name, name);
        if (order == 0) return &m->entries[m->order[middle]];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Means of squares into out [matrices, columns]; ones for experts that no token went to. */
static void oxi_importance_means(const oxi_importance_entry *e, float *out) {
    for (int64_t j = 0; j < e->matrices; j++) {
        const float count = oxi_importance_counts(e)[j];
        for (int64_t i = j * e->columns; i < (j + 1) * e->columns; i++)
            out[i] = count > 0 ? e->sum[i] / count : 1;
    }
}

/* ---- GGUF: NAME.in_sum2 [matrices, columns], NAME.counts [matrices, 1] --------------------------------- */

static bool oxi_ends_in(const char *name, const char *end, size_t *length) {
    const size_t all = strlen(name), tail = strlen(end);
    *length = all > tail ? all - tail : 0;
    return all > tail && strcmp(name + *length, end) == 0;
}

static ox_status oxi_importance_copy(const ox_llm_importance *m, ox_tensor *t, const char *name, float *out) {
    const int64_t count = ox_numel(t);
    ox_status status = ox_to_floats(t, out, count);
    for (int64_t i = 0; status == OX_OK && i < count; i++)
        if (!oxi_is_sum(out[i]))
            status = oxi_importance_bad(m, name, "has a sum that is negative or not finite");
    return status;
}

static ox_status oxi_importance_read_pair(ox_llm_importance *m, const char *name, size_t length,
                                          ox_tensor *sums, ox_tensor *counts) {
    const int64_t numbers = ox_numel(sums), matrices = ox_numel(counts);
    if (sums->dtype != OX_F32 || counts->dtype != OX_F32 || numbers < 1 || matrices < 1 ||
        numbers % matrices != 0)
        return oxi_importance_bad(m, name, "does not fit its counts");
    oxi_importance_entry *e = oxi_importance_add(m, name, length, numbers / matrices, matrices);
    if (!e) return ox_error();
    const ox_status status = oxi_importance_copy(m, sums, name, e->sum);
    return status == OX_OK ? oxi_importance_copy(m, counts, name, oxi_importance_counts(e)) : status;
}

static ox_status oxi_importance_read_entry(ox_llm_importance *m, ox_file *file, int64_t index) {
    const char *sums = ox_file_name(file, index);
    size_t length;
    char counts[256];
    ox_status status = OX_OK;
    if (!oxi_ends_in(sums, ".in_sum2", &length)) return OX_OK;
    if (length + sizeof ".counts" > sizeof counts) return oxi_importance_bad(m, sums, "is too long a name");
    memcpy(counts, sums, length);
    memcpy(counts + length, ".counts", sizeof ".counts");
    OX_SCOPE {
        ox_tensor *a = ox_file_tensor_at(file, index), *b = a ? ox_file_tensor(file, counts) : NULL;
        status = b ? oxi_importance_read_pair(m, sums, length, a, b) : ox_error();
    }
    return status;
}

static ox_status oxi_importance_set_dataset(ox_llm_importance *m, const char *text, size_t length) {
    oxi_free(m->dataset, m->dataset_bytes);
    m->dataset_bytes = length + 1;
    m->dataset = (char *)oxi_alloc(m->dataset_bytes);
    if (!m->dataset) return OX_ERR_NOMEM;
    for (size_t i = 0; i < length; i++) m->dataset[i] = text[i] ? text[i] : '?';
    m->dataset[length] = 0;
    return OX_OK;
}

static ox_status oxi_importance_read_gguf(ox_llm_importance *m, ox_file *file) {
    const ox_file_meta datasets = ox_file_meta_find(file, "imatrix.datasets");
    const ox_file_meta first = ox_file_meta_element(file, &datasets, 0);
    ox_status status = OX_OK;
    m->chunks = ox_file_meta_int(file, "imatrix.chunk_count", 0);
    if (first.type == OX_FILE_META_STRING)
        status = oxi_importance_set_dataset(m, first.text.data, (size_t)first.text.length);
    for (int64_t i = 0; status == OX_OK && i < ox_file_count(file); i++)
        status = oxi_importance_read_entry(m, file, i);
    return status;
}

/* ---- the older format ---------------------------------------------------------------------------------- */

/* Count of entries; of each the length of its name, name, calls, count of numbers, numbers (means times
 * calls); then the number of chunks and the dataset's name, which may be missing. */

typedef struct oxi_importance_bytes {
    const unsigned char *data;
    size_t bytes, at;
    bool ends; /* before something that was asked for */
} oxi_importance_bytes;

static const unsigned char *oxi_importance_take(oxi_importance_bytes *b, size_t bytes) {
    if (b->ends || bytes > b->bytes - b->at) {
        b->ends = true;
        return NULL;
    }
    b->at += bytes;
    return b->data + (b->at - bytes);
}

/* -1: negative, or the end. */
static int64_t oxi_importance_number(oxi_importance_bytes *b) {
    const unsigned char *p = oxi_importance_take(b, 4);
    const uint32_t value = p ? oxi_read_u32(p) : UINT32_MAX;
    return value <= INT32_MAX ? (int64_t)value : -1;
}

static ox_status oxi_importance_read_old_entry(ox_llm_importance *m, oxi_importance_bytes *b) {
    const size_t start = b->at;
    const int64_t length = oxi_importance_number(b);
    const unsigned char *name = length > 0 ? oxi_importance_take(b, (size_t)length) : NULL;
    const int64_t calls = oxi_importance_number(b), count = oxi_importance_number(b);
    const unsigned char *numbers = count > 0 ? oxi_importance_take(b, 4 * (size_t)count) : NULL;
    if (!name || !numbers || calls < 0 || memchr(name, 0, (size_t)length))
        return oxi_fail(OX_ERR_FORMAT, "%s: offset %lld: no importance matrix, or one that ends",
                        oxi_path_text(m->path), (long long)start);
    oxi_importance_entry *e = oxi_importance_add(m, (const char *)name, (size_t)length, count, 1);
    if (!e) return ox_error();
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = oxi_read_u32(numbers + 4 * i);
        memcpy(&e->sum[i], &bits, 4);
        if (!oxi_is_sum(e->sum[i]))
            return oxi_importance_bad(m, e->name, "has a sum that is negative or not finite");
    }
    oxi_importance_counts(e)[0] = calls > 0 ? (float)calls : 1;
    return OX_OK;
}

static ox_status oxi_importance_read_old(ox_llm_importance *m, const unsigned char *data, size_t bytes) {
    oxi_importance_bytes b = {data, bytes, 0, false};
    const int64_t count = oxi_importance_number(&b);
    ox_status status = OX_OK;
    if (count < 1)
        return oxi_fail(OX_ERR_FORMAT, "%s: offset 0: no importance matrix", oxi_path_text(m->path));
    for (int64_t i = 0; status == OX_OK && i < count; i++) status = oxi_importance_read_old_entry(m, &b);
    if (status != OX_OK) return status;
    const int64_t chunks = oxi_importance_number(&b), length = oxi_importance_number(&b);
    const unsigned char *name = length > 0 ? oxi_importance_take(&b, (size_t)length) : NULL;
    m->chunks = chunks > 0 ? chunks : 0;
    return name ? oxi_importance_set_dataset(m, (const char *)name, (size_t)length) : OX_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static ox_status oxi_importance_read(ox_llm_importance *m, const char *path) {
    oxi_mapping mapping;
    ox_status status = oxi_map_file(path, true, &mapping);
    if (status != OX_OK) return status;
    m->path = path;
    if (mapping.bytes < 4 || memcmp(mapping.data, "GGUF", 4) != 0) {
        status = oxi_importance_read_old(m, mapping.data, mapping.bytes);
    } else {
        ox_file *file = oxi_open_memory(path, mapping.data, mapping.bytes, ox_cpu());
        status = file ? oxi_importance_read_gguf(m, file) : ox_error();
        ox_file_close(file);
    }
    oxi_unmap_file(&mapping);
    if (status == OX_OK && m->count == 0)
        status =
            oxi_fail(OX_ERR_FORMAT, "%s: no importance matrix: no tensor NAME.in_sum2", oxi_path_text(path));
    if (status == OX_OK) status = oxi_importance_sort(m);
    m->path = NULL;
    return status;
}

OX_API ox_llm_importance *ox_llm_importance_open(const char *path) {
    if (!path) {
        (void)oxi_fail_missing("llm_importance_open: the path");
        return NULL;
    }
    ox_llm_importance *m = (ox_llm_importance *)oxi_calloc(1, sizeof *m);
    if (!m) return NULL;
    if (oxi_importance_read(m, path) == OX_OK) return m;
    ox_llm_importance_close(m);
    return NULL;
}
