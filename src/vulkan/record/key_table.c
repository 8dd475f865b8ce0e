/* Driver objects that are made once and found again by what they were made from: pipelines, descriptor sets.
 * An open table of keys of one size, never more than half full. Used by record.c. */

/* FNV-1a over words, and what is left over bytes (Fowler, Noll, Vo). */
static uint64_t oxi_vk_hash(const void *key, size_t bytes) {
    uint64_t hash = 14695981039346656037u;
    const unsigned char *p = (const unsigned char *)key;
    size_t i = 0;
    for (; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, p + i, 4);
        hash = (hash ^ word) * 1099511628211u;
    }
    for (; i < bytes; i++) hash = (hash ^ p[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

/* Where the key is, or may be put. */
static size_t oxi_vk_table_place(const oxi_vk_table *t, const void *key) {
    size_t at = (size_t)oxi_vk_hash(key, t->key_bytes) & (t->places - 1);
    while (t->values[at] && memcmp(t->keys + at * t->key_bytes, key, t->key_bytes) != 0)
        at = (at + 1) & (t->places - 1);
    return at;
}

/* The key's object; 0 = it has none. */
static uint64_t oxi_vk_table_get(const oxi_vk_table *t, const void *key) {
    return t->places ? t->values[oxi_vk_table_place(t, key)] : 0;
}

static void oxi_vk_table_drop(oxi_vk_table *t) {
    oxi_free(t->keys, t->places * t->key_bytes);
    oxi_free(t->values, t->places * sizeof *t->values);
    memset(t, 0, sizeof *t);
}

static void oxi_vk_table_set(oxi_vk_table *t, const void *key, uint64_t value) {
    size_t at = oxi_vk_table_place(t, key);
    memcpy(t->keys + at * t->key_bytes, key, t->key_bytes);
    t->values[at] = value;
    t->count++;
}

/* Makes sure that another key finds room. */
static ox_status oxi_vk_table_reserve(oxi_vk_table *t, size_t key_bytes) {
    oxi_vk_table grown;
    if (t->places && 2 * (t->count + 1) <= t->places) return OX_OK;
    grown.key_bytes = key_bytes;
    grown.count = 0;
    grown.places = t->places ? 2 * t->places : 64;
    grown.keys = (unsigned char *)oxi_alloc(grown.places * key_bytes);
    grown.values = (uint64_t *)oxi_calloc(grown.places, sizeof *grown.values);
    if (!grown.keys || !grown.values) {
        oxi_vk_table_drop(&grown);
        return OX_ERR_NOMEM;
    }
    for (size_t i = 0; i < t->places; i++)
        if (t->values[i]) oxi_vk_table_set(&grown, t->keys + i * key_bytes, t->values[i]);
    oxi_vk_table_drop(t);
    *t = grown;
    return OX_OK;
}
