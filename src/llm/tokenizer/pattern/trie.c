/* Making and walking a tree of bytes. Texts are sorted, and nodes are made by depth. */

/* While it is made. */
typedef struct oxi_trie_build {
    oxi_trie *trie;
    const oxi_trie_text *texts;
    bool backwards;
    uint32_t *order, *scratch; /* [count]: texts in their order */
    uint32_t count;
    uint32_t *low, *high; /* [nodes]: the texts order[low, high) begin as a node says */
} oxi_trie_build;

/* The byte of a text that has `depth` bytes before it in the direction of reading; -1: it ends there. */
static int oxi_trie_byte(const oxi_trie_build *build, uint32_t text, size_t depth) {
    const oxi_trie_text *t = &build->texts[text];
    if (depth >= t->length) return -1;
    return (unsigned char)t->text[build->backwards ? t->length - 1 - depth : depth];
}

/* Bytes in which two texts agree. */
static size_t oxi_trie_same(const oxi_trie_build *build, uint32_t a, uint32_t b) {
    size_t depth = 0;
    while (oxi_trie_byte(build, a, depth) >= 0 &&
           oxi_trie_byte(build, a, depth) == oxi_trie_byte(build, b, depth))
        depth++;
    return depth;
}

static int oxi_trie_compare(const void *user, uint32_t a, uint32_t b) {
    const oxi_trie_build *build = (const oxi_trie_build *)user;
    const size_t depth = oxi_trie_same(build, a, b);
    return oxi_trie_byte(build, a, depth) - oxi_trie_byte(build, b, depth);
}

/* The first text of order[low, high), all of which agree in `depth` bytes, whose next one is another. */
static uint32_t oxi_trie_bound(const oxi_trie_build *build, uint32_t low, uint32_t high, size_t depth) {
    const int byte = oxi_trie_byte(build, build->order[low], depth);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (oxi_trie_byte(build, build->order[middle], depth) > byte)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int32_t oxi_trie_child(const oxi_trie *trie, int32_t node, uint8_t byte) {
    if (node == 0) return trie->root[byte];
    int32_t low = trie->nodes[node].child, high = trie->nodes[node + 1].child;
    const int32_t end = high;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (trie->nodes[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && trie->nodes[low].byte == byte ? low : -1;
}

/* Where a further byte leads: what is no start of a node is cut at its far end. */
static int32_t oxi_trie_step(const oxi_trie *trie, int32_t node, uint8_t byte) {
    for (;;) {
        const int32_t child = oxi_trie_child(trie, node, byte);
        if (child >= 0) return child;
        if (node == 0) return 0;
        node = trie->nodes[node].shorter;
    }
}

/* Adds a child of `parent`, which has `depth` bytes, for the texts of order[low, high). */
static void oxi_trie_add(oxi_trie_build *build, int32_t parent, size_t depth, uint32_t low, uint32_t high) {
    oxi_trie *trie = build->trie;
    const int32_t index = trie->count++;
    oxi_trie_node *node = &trie->nodes[index];
    build->low[index] = low;
    build->high[index] = high;
    node->byte = (uint8_t)oxi_trie_byte(build, build->order[low], depth);
    node->value = node->user = -1;
    if (build->backwards && parent != 0) {
        node->shorter = oxi_trie_step(trie, trie->nodes[parent].shorter, node->byte);
        node->value = trie->nodes[node->shorter].value;
        node->user = trie->nodes[node->shorter].user;
    }
    for (; low < high && build->texts[build->order[low]].length == depth + 1; low++) {
        const oxi_trie_text *text = &build->texts[build->order[low]];
        node->value = text->value;
        if (text->user) node->user = text->value;
    }
    if (parent == 0) trie->root[node->byte] = index;
}

static void oxi_trie_add_all(oxi_trie_build *build) {
    oxi_trie *trie = build->trie;
    size_t depth = 0;
    int32_t level_end = 1;
    trie->count = 1;
    trie->nodes[0].value = trie->nodes[0].user = -1;
    build->low[0] = 0;
    build->high[0] = build->count;
    for (int32_t i = 0; i < trie->count; i++) {
        if (i == level_end) {
            level_end = trie->count;
            depth++;
        }
        trie->nodes[i].child = trie->count;
        uint32_t at = build->low[i];
        while (at < build->high[i] && oxi_trie_byte(build, build->order[at], depth) < 0) at++; /* end here */
        while (at < build->high[i]) {
            const uint32_t end = oxi_trie_bound(build, at, build->high[i], depth);
            oxi_trie_add(build, i, depth, at, end);
            at = end;
        }
    }
    trie->nodes[trie->count].child = trie->count;
}

/* One for the root, and one for each byte that a text has beyond what it shares with the one before. */
static uint64_t oxi_trie_count_nodes(const oxi_trie_build *build) {
    uint64_t nodes = 1;
    for (uint32_t i = 0; i < build->count; i++) {
        nodes += build->texts[build->order[i]].length;
        if (i > 0) nodes -= oxi_trie_same(build, build->order[i - 1], build->order[i]);
    }
    return nodes;
}

static ox_status oxi_trie_build_nodes(oxi_trie_build *build) {
    oxi_trie *trie = build->trie;
    const uint64_t nodes = oxi_trie_count_nodes(build);
    if (nodes >= INT32_MAX) return oxi_fail(OX_ERR_FORMAT, "tokenizer: the texts of all tokens are too long");
    trie->nodes = (oxi_trie_node *)oxi_calloc((size_t)nodes + 1, sizeof *trie->nodes);
    build->low = (uint32_t *)oxi_calloc((size_t)nodes, 2 * sizeof *build->low);
    const bool made = trie->nodes && build->low;
    if (trie->nodes) trie->count = (int32_t)nodes;
    if (made) {
        build->high = build->low + nodes;
        oxi_trie_add_all(build);
    }
    oxi_free(build->low, (size_t)nodes * 2 * sizeof *build->low);
    return made ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_trie_make(oxi_trie *trie, const oxi_trie_text *texts, uint32_t count, bool backwards) {
    oxi_trie_build build;
    memset(&build, 0, sizeof build);
    build.trie = trie;
    build.texts = texts;
    build.backwards = backwards;
    for (int i = 0; i < 256; i++) trie->root[i] = -1;
    if (count == 0) return OX_OK;
    build.order = (uint32_t *)oxi_calloc(count, 2 * sizeof *build.order);
    if (!build.order) return OX_ERR_NOMEM;
    build.scratch = build.order + count;
    build.count = count;
    oxi_sort_indexes(build.order, build.scratch, count, oxi_trie_compare, &build);
    const ox_status status = oxi_trie_build_nodes(&build);
    oxi_free(build.order, count * 2 * sizeof *build.order);
    return status;
}

static void oxi_trie_free(oxi_trie *trie) {
    oxi_free(trie->nodes, ((size_t)trie->count + 1) * sizeof *trie->nodes);
}

static ox_status oxi_markers_push(oxi_markers *out, size_t at, int32_t value) {
    void *grown = oxi_grow(out->list, &out->room, out->count + 1, sizeof *out->list, false);
    if (!grown) return OX_ERR_NOMEM;
    out->list = (oxi_marker *)grown;
    out->list[out->count].at = at;
    out->list[out->count++].value = value;
    return OX_OK;
}

static ox_status oxi_trie_find_markers(const oxi_trie *trie, const char *text, size_t length, bool user_only,
                                       int32_t nothing, oxi_markers *out) {
    int32_t node = 0;
    out->count = 0;
    ox_status status = nothing >= 0 ? oxi_markers_push(out, length, nothing) : OX_OK;
    for (size_t at = trie->nodes || nothing >= 0 ? length : 0; at-- > 0 && !status;) {
        int32_t value = ((unsigned char)text[at] & 0xC0) == 0x80 ? -1 : nothing;
        if (node != 0 || trie->root[(uint8_t)text[at]] >= 0) {
            node = oxi_trie_step(trie, node, (uint8_t)text[at]);
            const int32_t found = user_only ? trie->nodes[node].user : trie->nodes[node].value;
            if (found >= 0) value = found;
        }
        if (value >= 0) status = oxi_markers_push(out, at, value);
    }
    return status;
}

static void oxi_markers_free(oxi_markers *markers) {
    oxi_free(markers->list, markers->room * sizeof *markers->list);
}
