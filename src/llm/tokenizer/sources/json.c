/* A tokenizer.json: vocabulary, merges, added tokens, and the steps of the pipeline. */

static const oxi_json_node *oxi_json_text_at(const oxi_json *json, uint32_t object, const char *key) {
    const uint32_t at = oxi_json_find(json, object, key);
    return at && json->nodes[at].type == OXI_JSON_STRING ? &json->nodes[at] : NULL;
}

static bool oxi_json_flag(const oxi_json *json, uint32_t object, const char *key, bool otherwise) {
    const uint32_t at = oxi_json_find(json, object, key);
    return at && json->nodes[at].type == OXI_JSON_BOOL ? json->nodes[at].value.i != 0 : otherwise;
}

/* ---- vocabulary ---------------------------------------------------------------------------------------- */

/* A token before the vocabulary is made. */
typedef struct oxi_json_token {
    const char *text;
    size_t length;
    double score;
    int32_t id;
    bool outside; /* an added token that the model does not know */
} oxi_json_token;

typedef struct oxi_json_vocabulary {
    oxi_json_token *list; /* as the file has them: two may have one id */
    size_t count, room;
    int64_t ids; /* the largest and 1 */
} oxi_json_vocabulary;

static ox_status oxi_json_token_put(oxi_json_vocabulary *v, int64_t id, const oxi_json_node *text,
                                    double score) {
    if (id < 0 || id > (int64_t)1 << 26) return oxi_json_wrong("a token whose id is out of range");
    void *grown = oxi_grow(v->list, &v->room, v->count + 1, sizeof *v->list, false);
    if (!grown) return OX_ERR_NOMEM;
    v->list = (oxi_json_token *)grown;
    oxi_json_token *token = &v->list[v->count++];
    token->text = text->value.text;
    token->length = text->length;
    token->score = score;
    token->id = (int32_t)id;
    token->outside = false;
    if (id >= v->ids) v->ids = id + 1;
    return OX_OK;
}

static bool oxi_text_digit(const char *text, size_t length, size_t at) {
    return at < length && oxi_is_digit(text[at]);
}

/* A score as the reference reads it: its digits as a whole number, then one product with, or quotient by, a
 * power of ten. That is often not the nearest number, and sums of scores that are equal decide between ways.
 * source serde_json, de.rs */
static double oxi_json_score(const char *text, size_t length, size_t at) {
    const bool negative = at < length && text[at] == '-';
    uint64_t digits = 0;
    int64_t exponent = 0, power = 0;
    bool full = false, fraction = false;
    for (at += negative; oxi_text_digit(text, length, at) || (at < length && text[at] == '.'); at++) {
        const uint64_t digit = (uint64_t)(text[at] - '0');
        if (text[at] == '.') {
            fraction = true;
            continue;
        }
        full |= digits > (UINT64_MAX - digit) / 10;
        if (!full) digits = digits * 10 + digit;
        exponent += full ? !fraction : -(int64_t)fraction;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        const bool below = ++at < length && text[at] == '-';
        at += at < length && (text[at] == '-' || text[at] == '+');
        for (; oxi_text_digit(text, length, at) && power < 100000; at++)
            power = power * 10 + (text[at] - '0');
        exponent += below ? -power : power;
    }
    double value = (double)digits;
    for (; exponent < -308 && value != 0; exponent += 308) value /= 1e308;
    if (exponent > 308) exponent = 308;
    if (exponent < -308) exponent = 0;
    const int places = (int)(exponent < 0 ? -exponent : exponent);
    double ten = 1; /* exact up to 1e22 */
    for (int i = 0; i < places && i < 22; i++) ten *= 10;
    if (places > 22) {
        char name[16];
        snprintf(name, sizeof name, "1e%d", places);
        ten = strtod(name, NULL);
    }
    value = exponent < 0 ? value / ten : value * ten;
    return negative ? -value : value;
}

/* {"text": id, ..}, or [["text", score], ..] of Unigram. Ids leave few holes. */
static ox_status oxi_json_read_vocabulary(const oxi_json *json, const char *text, size_t length, uint32_t at,
                                          oxi_json_vocabulary *v) {
    const oxi_json_node *node = &json->nodes[at];
    const size_t most = 16 * (size_t)node->length + (1 << 16);
    ox_status status = OX_OK;
    if (!at || (node->type != OXI_JSON_OBJECT && node->type != OXI_JSON_ARRAY))
        return oxi_json_wrong("a model without a vocabulary");
    for (uint32_t i = at + 1; i < node->next && !status; i = json->nodes[i].next) {
        const oxi_json_node *item = &json->nodes[i], *value = item + (node->type == OXI_JSON_OBJECT ? 1 : 2);
        if (node->type == OXI_JSON_OBJECT) {
            if (value->type != OXI_JSON_INT || value->value.i < 0 || (size_t)value->value.i >= most)
                return oxi_json_wrong("a token whose id is no number, or far from the others");
            status = oxi_json_token_put(v, value->value.i, item, 0);
        } else {
            if (item->type != OXI_JSON_ARRAY || item->length != 2 || item[1].type != OXI_JSON_STRING ||
                (value->type != OXI_JSON_FLOAT && value->type != OXI_JSON_INT))
                return oxi_json_wrong("a token that is not [text, score]");
            status =
                oxi_json_token_put(v, (int64_t)v->count, item + 1,
                                   value->type == OXI_JSON_INT ? (double)value->value.i
                                                               : oxi_json_score(text, length, value->at));
        }
    }
    return status;
}

/* The number of a text among tokens, by a table of its own: the last of equals. */
typedef struct oxi_json_index {
    int32_t *slots;
    size_t count;
    uint64_t key[2];
} oxi_json_index;

static int32_t *oxi_json_index_slot(const oxi_json_index *index, const oxi_json_vocabulary *v,
                                    const char *text, size_t length) {
    size_t slot = (size_t)oxi_keyed_hash(index->key, text, length) & (index->count - 1);
    for (; index->slots[slot]; slot = (slot + 1) & (index->count - 1)) {
        const oxi_json_token *token = &v->list[index->slots[slot] - 1];
        if (token->length == length && memcmp(token->text, text, length) == 0) break;
    }
    return &index->slots[slot];
}

static ox_status oxi_json_index_make(oxi_json_index *index, const oxi_json_vocabulary *v, size_t more) {
    index->count = 16;
    index->key[0] = oxi_unpredictable();
    index->key[1] = oxi_unpredictable();
    while (index->count < 2 * (v->count + more)) index->count *= 2;
    index->slots = (int32_t *)oxi_calloc(index->count, sizeof *index->slots);
    if (!index->slots) return OX_ERR_NOMEM;
    for (size_t i = 0; i < v->count; i++)
        *oxi_json_index_slot(index, v, v->list[i].text, v->list[i].length) = (int32_t)i + 1;
    return OX_OK;
}

/* Added tokens in the order of their ids in the file: those that the model has keep its id, others follow its
 * tokens in number, though its ids may be larger than that. An added one's id is its number in the list. */
static ox_status oxi_json_read_added(ox_tokenizer *t, const oxi_json *json, oxi_json_vocabulary *v,
                                     oxi_json_index *index) {
    const uint32_t list = oxi_json_find(json, 0, "added_tokens");
    const size_t model_count = v->count;
    int64_t most = -1;
    if (!list || json->nodes[list].type != OXI_JSON_ARRAY) return OX_OK;
    for (uint32_t i = list + 1; i < json->nodes[list].next; i = json->nodes[i].next) {
        const oxi_json_node *text = oxi_json_text_at(json, i, "content");
        oxi_added added;
        if (!text) return oxi_json_wrong("an added token without content");
        if (text->length == 0) continue;
        int32_t *slot = oxi_json_index_slot(index, v, text->value.text, text->length);
        added.special = oxi_json_flag(json, i, "special", false);
        added.lstrip = oxi_json_flag(json, i, "lstrip", false);
        added.rstrip = oxi_json_flag(json, i, "rstrip", false);
        added.single_word = oxi_json_flag(json, i, "single_word", false);
        added.normalized = oxi_json_flag(json, i, "normalized", !added.special);
        added.id = *slot - 1;
        if (added.id < 0) {
            const int64_t id = most >= (int64_t)model_count || (model_count == 0 && most >= 0)
                                   ? most + 1
                                   : (int64_t)model_count;
            const ox_status status = oxi_json_token_put(v, id, text, 0);
            if (status) return status;
            added.id = (int32_t)v->count - 1;
            v->list[added.id].outside = true;
            *slot = added.id + 1;
        }
        if (v->list[added.id].id > most) most = v->list[added.id].id;
        const ox_status status = oxi_added_push(t, added);
        if (status) return status;
    }
    return OX_OK;
}

/* For each entry of a vocabulary the number of its token in the list and 1, 0: none. Of tokens with one id
 * the added one that came last has its entry, or else the model's last one; others are behind all ids. */
static uint32_t *oxi_json_place(const ox_tokenizer *t, const oxi_json_vocabulary *from, size_t *entries) {
    uint32_t *held = (uint32_t *)oxi_calloc((size_t)from->ids + from->count, sizeof *held);
    *entries = (size_t)from->ids;
    for (size_t i = 0; held && i < from->count; i++) held[from->list[i].id] = (uint32_t)i + 1;
    for (size_t i = 0; held && i < t->added_count; i++)
        held[from->list[t->added[i].id].id] = (uint32_t)t->added[i].id + 1;
    for (size_t i = 0; held && i < from->count; i++)
        if (held[from->list[i].id] != i + 1) held[(*entries)++] = (uint32_t)i + 1;
    return held;
}

/* Fills the entries of a vocabulary; tokens and added ones have those instead of ids and numbers then. */
static void oxi_json_fill_vocabulary(ox_tokenizer *t, oxi_json_vocabulary *from, const uint32_t *held) {
    oxi_vocabulary *v = &t->vocabulary;
    size_t bytes = 0;
    for (int32_t i = 0; i < v->entries; i++) {
        oxi_json_token *token = held[i] ? &from->list[held[i] - 1] : NULL;
        v->start[i] = bytes;
        v->type[i] = token ? OX_TOKEN_NORMAL : OX_TOKEN_UNUSED;
        if (!token) continue;
        if (token->length) memcpy(v->texts + bytes, token->text, token->length);
        bytes += token->length;
        v->score[i] = (float)token->score;
        v->outside[i] = token->outside;
        if (i >= v->count) v->covered[i - v->count] = token->id;
        token->id = i;
    }
    for (size_t i = 0; i < t->added_count; i++) {
        t->added[i].id = from->list[t->added[i].id].id;
        v->type[t->added[i].id] = t->added[i].special ? OX_TOKEN_CONTROL : OX_TOKEN_USER_DEFINED;
    }
}

static ox_status oxi_json_make_vocabulary(ox_tokenizer *t, oxi_json_vocabulary *from) {
    oxi_vocabulary *v = &t->vocabulary;
    size_t bytes = 0, entries = 0;
    for (size_t i = 0; i < from->count; i++) bytes += from->list[i].length;
    if (from->count == 0) return oxi_json_wrong("a vocabulary without tokens");
    uint32_t *held = oxi_json_place(t, from, &entries);
    ox_status status =
        held ? oxi_vocabulary_make(v, from->ids, (int64_t)entries - from->ids, bytes) : OX_ERR_NOMEM;
    if (!status) v->score = (float *)oxi_calloc(entries, sizeof *v->score);
    if (!status) v->outside = (uint8_t *)oxi_calloc(entries, 1);
    if (!status && (!v->score || !v->outside)) status = OX_ERR_NOMEM;
    if (!status) oxi_json_fill_vocabulary(t, from, held);
    oxi_free(held, ((size_t)from->ids + from->count) * sizeof *held);
    return status ? status : oxi_vocabulary_index(v);
}

/* ---- models -------------------------------------------------------------------------------------------- */

/* "a b", or ["a", "b"]. */
static bool oxi_json_merge_parts(const oxi_json *json, uint32_t at, const char *part[2], size_t length[2]) {
    const oxi_json_node *node = &json->nodes[at];
    if (node->type == OXI_JSON_ARRAY && node->length == 2 && node[1].type == OXI_JSON_STRING &&
        node[2].type == OXI_JSON_STRING) {
        for (int i = 0; i < 2; i++) {
            part[i] = node[1 + i].value.text;
            length[i] = node[1 + i].length;
        }
        return true;
    }
    const char *space =
        node->type == OXI_JSON_STRING ? (const char *)memchr(node->value.text, ' ', node->length) : NULL;
    if (!space) return false;
    part[0] = node->value.text;
    length[0] = (size_t)(space - part[0]);
    part[1] = space + 1;
    length[1] = node->length - length[0] - 1;
    return memchr(part[1], ' ', length[1]) == NULL;
}

/* The id that two texts make, the second without the prefix of later parts. */
static int32_t oxi_made_id(const ox_tokenizer *t, const char *const part[2], const size_t length[2]) {
    const size_t cut = t->model.prefix_length <= length[1] ? t->model.prefix_length : length[1];
    const size_t bytes = length[0] + length[1] - cut;
    char few[256], *joined = bytes <= sizeof few ? few : (char *)oxi_alloc(bytes);
    if (!joined) return -1;
    memcpy(joined, part[0], length[0]);
    memcpy(joined + length[0], part[1] + cut, length[1] - cut);
    const int32_t id = oxi_vocabulary_find_known(&t->vocabulary, joined, bytes);
    if (joined != few) oxi_free(joined, bytes);
    return id;
}

static ox_status oxi_json_read_merges(ox_tokenizer *t, const oxi_json *json, uint32_t model) {
    const uint32_t list = oxi_json_find(json, model, "merges");
    if (!list || json->nodes[list].type != OXI_JSON_ARRAY)
        return oxi_json_wrong("a BPE model without merges");
    ox_status status = oxi_model_make_merges(&t->model, json->nodes[list].length);
    uint32_t rank = 0;
    for (uint32_t i = list + 1; i < json->nodes[list].next && !status; i = json->nodes[i].next, rank++) {
        const char *part[2];
        size_t length[2];
        int32_t id[2];
        if (!oxi_json_merge_parts(json, i, part, length))
            return oxi_json_wrong("a merge that is not two texts");
        for (int k = 0; k < 2; k++) id[k] = oxi_vocabulary_find_known(&t->vocabulary, part[k], length[k]);
        const int32_t made = oxi_made_id(t, part, length);
        if (id[0] < 0 || id[1] < 0 || made < 0) return oxi_json_wrong("a merge of texts that are no tokens");
        oxi_merge *merge = &t->model.merges[oxi_merge_slot(&t->model, id[0], id[1])];
        if (merge->left >= 0) { /* the last of equals counts */
            merge->rank = rank;
            merge->made = made;
        } else {
            (void)oxi_model_add_merge(&t->model, id[0], id[1], made, rank);
        }
    }
    return status;
}

static ox_status oxi_json_model_text(const oxi_json *json, uint32_t model, const char *key, char **out,
                                     size_t *length) {
    const oxi_json_node *text = oxi_json_text_at(json, model, key);
    return text ? oxi_step_set(out, length, text->value.text, text->length) : OX_OK;
}

/* All texts of the model (added ones are not of it) as a trie. */
static ox_status oxi_tokenizer_make_trie(ox_tokenizer *t, uint32_t types) {
    const oxi_vocabulary *v = &t->vocabulary;
    const size_t count = (size_t)v->entries;
    oxi_trie_text *texts = (oxi_trie_text *)oxi_calloc(count + 1, sizeof *texts);
    uint32_t used = 0;
    if (!texts) return OX_ERR_NOMEM;
    for (int32_t i = 0; i < (int32_t)count; i++) {
        if (!(types >> v->type[i] & 1)) continue;
        if ((v->outside && v->outside[i]) || oxi_vocabulary_length(v, i) == 0) continue;
        texts[used].text = oxi_vocabulary_text(v, i);
        texts[used].length = oxi_vocabulary_length(v, i);
        texts[used++].value = i;
    }
    const ox_status status = oxi_trie_make(&t->model.trie, texts, used, false);
    oxi_free(texts, (count + 1) * sizeof *texts);
    return status;
}

static ox_status oxi_json_read_unigram(ox_tokenizer *t, const oxi_json *json, uint32_t model,
                                       const oxi_json_vocabulary *v, size_t model_count) {
    const uint32_t unknown = oxi_json_find(json, model, "unk_id");
    oxi_model *m = &t->model;
    double least = INFINITY;
    m->scores = (double *)oxi_calloc((size_t)t->vocabulary.entries, sizeof *m->scores);
    if (!m->scores) return OX_ERR_NOMEM;
    for (size_t i = 0; i < model_count; i++) {
        m->scores[i] = v->list[i].score;
        if (m->scores[i] < least) least = m->scores[i];
    }
    m->unknown_score = least - 10;
    if (unknown && json->nodes[unknown].type == OXI_JSON_INT) {
        if (json->nodes[unknown].value.i < 0 || (size_t)json->nodes[unknown].value.i >= model_count)
            return oxi_json_wrong("an unk_id out of range");
        m->unknown = (int32_t)json->nodes[unknown].value.i;
    }
    return oxi_tokenizer_make_trie(t, UINT32_MAX);
}

static ox_status oxi_json_read_model(ox_tokenizer *t, const oxi_json *json, uint32_t model, const char *type,
                                     const oxi_json_vocabulary *v, size_t model_count) {
    oxi_model *m = &t->model;
    const oxi_json_node *unknown = oxi_json_text_at(json, model, "unk_token");
    const uint32_t dropout = oxi_json_find(json, model, "dropout"),
                   longest = oxi_json_find(json, model, "max_input_chars_per_word");
    if (unknown) m->unknown = oxi_vocabulary_find_known(&t->vocabulary, unknown->value.text, unknown->length);
    m->fuse_unknown = oxi_json_flag(json, model, "fuse_unk", false);
    m->byte_fallback = oxi_json_flag(json, model, "byte_fallback", false);
    m->ignore_merges = oxi_json_flag(json, model, "ignore_merges", false);
    ox_status status =
        oxi_json_model_text(json, model, "continuing_subword_prefix", &m->prefix, &m->prefix_length);
    if (!status)
        status = oxi_json_model_text(json, model, "end_of_word_suffix", &m->suffix, &m->suffix_length);
    if (status) return status;
    if (m->prefix_length + m->suffix_length > OXI_BPE_AFFIXES)
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: a prefix or a suffix of words is too long");
    if (dropout && json->nodes[dropout].type == OXI_JSON_FLOAT && json->nodes[dropout].value.f > 0)
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: a BPE model with dropout");
    for (int32_t i = 0; i < t->vocabulary.entries; i++) {
        const int byte = oxi_byte_of_text(oxi_vocabulary_text(&t->vocabulary, i),
                                          oxi_vocabulary_length(&t->vocabulary, i));
        if (byte < 0 || !m->byte_fallback || t->vocabulary.outside[i]) continue;
        t->vocabulary.byte_token[byte] = i;
        if (t->vocabulary.type[i] == OX_TOKEN_NORMAL) t->vocabulary.type[i] = OX_TOKEN_BYTE;
    }
    if (strcmp(type, "BPE") == 0) status = oxi_json_read_merges(t, json, model);
    if (strcmp(type, "Unigram") == 0) status = oxi_json_read_unigram(t, json, model, v, model_count);
    if (strcmp(type, "WordPiece") == 0) {
        m->longest_word =
            longest && json->nodes[longest].type == OXI_JSON_INT ? json->nodes[longest].value.i : 100;
        if (m->longest_word <= 0) m->longest_word = 1;
        status = oxi_tokenizer_make_trie(t, UINT32_MAX);
    }
    if (!status && m->unknown >= 0 && t->vocabulary.type[m->unknown] == OX_TOKEN_NORMAL)
        t->vocabulary.type[m->unknown] = OX_TOKEN_UNKNOWN;
    return status;
}

/* Files of old versions have no type: what the model has says it. */
static const char *oxi_json_model_type(const oxi_json *json, uint32_t model) {
    const oxi_json_node *type = oxi_json_text_at(json, model, "type");
    if (type) return type->value.text;
    if (oxi_json_find(json, model, "merges")) return "BPE";
    if (oxi_json_find(json, model, "unk_id")) return "Unigram";
    return oxi_json_find(json, model, "max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

static ox_status oxi_json_read_all(ox_tokenizer *t, const oxi_json *json, const char *text, size_t length,
                                   oxi_json_vocabulary *v, oxi_json_index *index) {
    const uint32_t model = oxi_json_find(json, 0, "model");
    if (!model || json->nodes[model].type != OXI_JSON_OBJECT) return oxi_json_wrong("it has no model");
    const char *type = oxi_json_model_type(json, model);
    t->model.row = oxi_model_row_of(type);
    if (!t->model.row || type[0] < 'A' || type[0] > 'Z')
        return oxi_fail(OX_ERR_UNSUPPORTED,
                        "tokenizer: a model that is not BPE, WordPiece, WordLevel or Unigram");
    snprintf(t->kind, sizeof t->kind, "%s", type);
    ox_status status = oxi_json_read_vocabulary(json, text, length, oxi_json_find(json, model, "vocab"), v);
    const size_t model_count = v->count;
    const uint32_t added = oxi_json_find(json, 0, "added_tokens");
    if (!status) status = oxi_json_index_make(index, v, added ? json->nodes[added].length : 0);
    if (!status) status = oxi_json_read_added(t, json, v, index);
    if (!status) status = oxi_json_make_vocabulary(t, v);
    if (!status) status = oxi_json_read_model(t, json, model, type, v, model_count);
    if (!status) {
        status = oxi_read_steps(t, &t->normalizers, oxi_normalizer_row, "normalizers", json,
                                oxi_json_find(json, 0, "normalizer"), 0);
    }
    if (!status) {
        status = oxi_read_steps(t, &t->pre_tokenizers, oxi_pre_tokenizer_row, "pretokenizers", json,
                                oxi_json_find(json, 0, "pre_tokenizer"), 0);
    }
    if (!status) status = oxi_read_post_processors(t, json, oxi_json_find(json, 0, "post_processor"), 0);
    const uint32_t decoder = oxi_json_find(json, 0, "decoder");
    t->decodes_whole = decoder && json->nodes[decoder].type != OXI_JSON_NULL;
    if (!status) status = oxi_read_steps(t, &t->decoders, oxi_decoder_row, "decoders", json, decoder, 0);
    return status;
}

/* ---- special tokens ------------------------------------------------------------------------------------ */

typedef struct oxi_role_key {
    const char *key;
    ox_token_role role;
} oxi_role_key;

static const oxi_role_key oxi_role_keys[] = {
    {"bos_token", OX_TOKEN_ROLE_BOS},     {"eos_token", OX_TOKEN_ROLE_EOS},
    {"unk_token", OX_TOKEN_ROLE_UNKNOWN}, {"sep_token", OX_TOKEN_ROLE_SEP},
    {"pad_token", OX_TOKEN_ROLE_PAD},     {"cls_token", OX_TOKEN_ROLE_CLS},
    {"mask_token", OX_TOKEN_ROLE_MASK},   {"eot_token", OX_TOKEN_ROLE_EOT},
};

/* tokenizer_config.json: names of special tokens, each a string or an object with its content. */
static ox_status oxi_json_read_config(ox_tokenizer *t, const char *text, size_t length) {
    oxi_json json;
    const ox_status status = oxi_json_parse("tokenizer: tokenizer_config.json", text, length, &json);
    if (status) return status;
    for (size_t i = 0; i < sizeof oxi_role_keys / sizeof *oxi_role_keys; i++) {
        const uint32_t at = oxi_json_find(&json, 0, oxi_role_keys[i].key);
        const oxi_json_node *name = oxi_json_text_at(&json, 0, oxi_role_keys[i].key);
        if (!name && at) name = oxi_json_text_at(&json, at, "content");
        if (!name) continue;
        t->special[oxi_role_keys[i].role] =
            oxi_vocabulary_id(&t->vocabulary,
                              oxi_vocabulary_find(&t->vocabulary, name->value.text, name->length));
    }
    t->add_bos = oxi_json_flag(&json, 0, "add_bos_token", t->add_bos);
    t->add_eos = oxi_json_flag(&json, 0, "add_eos_token", t->add_eos);
    oxi_json_free(&json);
    return OX_OK;
}

/* What a template says about the first and the last token of a text. */
static void oxi_json_template_roles(ox_tokenizer *t) {
    const oxi_pipe_step *step = oxi_template_of(t);
    t->special[OX_TOKEN_ROLE_UNKNOWN] = oxi_vocabulary_id(&t->vocabulary, t->model.unknown);
    if (!step) return;
    t->add_bos = step->ids[0] >= 0;
    t->add_eos = step->ids[step->single - 1] >= 0;
    if (t->add_bos) t->special[OX_TOKEN_ROLE_BOS] = step->ids[0];
    if (t->add_eos) t->special[OX_TOKEN_ROLE_EOS] = step->ids[step->single - 1];
}

static ox_status oxi_tokenizer_read_json(ox_tokenizer *t, const char *text, size_t length, const char *config,
                                         size_t config_length) {
    oxi_json json;
    oxi_json_vocabulary v;
    oxi_json_index index;
    memset(&v, 0, sizeof v);
    memset(&index, 0, sizeof index);
    t->from_json = t->has_decoders = true;
    ox_status status = oxi_json_parse("tokenizer: tokenizer.json", text, length, &json);
    if (status) return status;
    status = json.nodes[0].type == OXI_JSON_OBJECT ? oxi_json_read_all(t, &json, text, length, &v, &index)
                                                   : oxi_json_wrong("it is not an object");
    oxi_free(v.list, v.room * sizeof *v.list);
    oxi_free(index.slots, index.count * sizeof *index.slots);
    oxi_json_free(&json);
    if (!status) oxi_json_template_roles(t);
    if (!status && config && config_length) status = oxi_json_read_config(t, config, config_length);
    return status ? status : oxi_tokenizer_finish(t);
}
