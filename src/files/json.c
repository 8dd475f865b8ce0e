/* JSON, strictly after RFC 8259: a token reader without memory or recursion, and a node array built on it.
 * Texts are hostile: depth, UTF-8, escapes and number ranges are checked while reading.
 * Called by the safetensors reader (tokens) and by everything that wants a whole document (nodes). */

#define OXI_JSON_MAX_DEPTH 64

/* What may come next. */
enum {
    OXI_JSON_WANT_VALUE,
    OXI_JSON_WANT_VALUE_OR_END,
    OXI_JSON_WANT_KEY,
    OXI_JSON_WANT_KEY_OR_END,
    OXI_JSON_WANT_COMMA,
    OXI_JSON_WANT_NOTHING
};

static OXI_UNUSED void oxi_json_start(oxi_json_reader *reader, const char *text, size_t length) {
    memset(reader, 0, sizeof *reader);
    reader->text = text;
    reader->length = length;
    reader->expect = OXI_JSON_WANT_VALUE;
}

static oxi_json_type oxi_json_error(oxi_json_reader *reader, size_t at, const char *cause) {
    if (!reader->error) {
        reader->error = cause;
        reader->start = at;
    }
    return OXI_JSON_ERROR;
}

/* ---- strings ----------------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence at p, which has `left` bytes; 0 = not well-formed (Unicode 15, table 3-7). */
static size_t oxi_utf8_length(const unsigned char *p, size_t left) {
    unsigned char lead = p[0], low = 0x80, high = 0xBF;
    size_t more;
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        more = 1;
    else if (lead >= 0xE0 && lead <= 0xEF) {
        more = 2;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        more = 3;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    } else
        return 0;
    if (left <= more || p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i <= more; i++)
        if (p[i] < 0x80 || p[i] > 0xBF) return 0;
    return more + 1;
}

static bool oxi_utf8_is_valid(const char *text, size_t left) {
    for (size_t used; left > 0; text += used, left -= used)
        if ((used = oxi_utf8_length((const unsigned char *)text, left)) == 0) return false;
    return true;
}

static int oxi_hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Four hexadecimal digits at p, or -1. */
static int32_t oxi_json_hex4(const char *p, const char *end) {
    int32_t value = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = oxi_hex_digit(p[i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Code point of the escape at p, which points at the backslash; *used bytes. -1 = not an escape. */
static int32_t oxi_json_escape(const char *p, const char *end, size_t *used) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (end - p < 2) return -1;
    *used = 2;
    const char *letter = p[1] ? strchr(letters, p[1]) : NULL;
    if (letter) return meanings[letter - letters];
    if (p[1] != 'u') return -1;
    int32_t code = oxi_json_hex4(p + 2, end);
    *used = 6;
    if (code < 0xD800 || code > 0xDFFF) return code;
    if (code > 0xDBFF || end - p < 12 || p[6] != '\\' || p[7] != 'u') return -1; /* half of a pair */
    int32_t low = oxi_json_hex4(p + 8, end);
    *used = 12;
    return low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00);
}

static size_t oxi_utf8_write(int32_t code, char *out) {
    unsigned char b[4];
    size_t count;
    if (code < 0x80) {
        b[0] = (unsigned char)code;
        count = 1;
    } else if (code < 0x800) {
        b[0] = (unsigned char)(0xC0 | code >> 6);
        count = 2;
    } else if (code < 0x10000) {
        b[0] = (unsigned char)(0xE0 | code >> 12);
        count = 3;
    } else {
        b[0] = (unsigned char)(0xF0 | code >> 18);
        count = 4;
    }
    for (size_t i = count - 1, shift = 0; i > 0; i--, shift += 6)
        b[i] = (unsigned char)(0x80 | ((code >> shift) & 0x3F));
    memcpy(out, b, count);
    return count;
}

/* The string whose opening quote is at reader->at. */
static bool oxi_json_string(oxi_json_reader *reader) {
    const char *end = reader->text + reader->length, *p = reader->text + reader->at + 1;
    reader->raw = p;
    while (p < end && *p != '"') {
        size_t used = 1;
        if (*p == '\\') {
            if (oxi_json_escape(p, end, &used) < 0) break;
        } else if ((unsigned char)*p < 0x20) {
            oxi_json_error(reader, (size_t)(p - reader->text), "control character in a string");
            return false;
        } else if ((unsigned char)*p >= 0x80) {
            used = oxi_utf8_length((const unsigned char *)p, (size_t)(end - p));
            if (!used) {
                oxi_json_error(reader, (size_t)(p - reader->text), "string is not UTF-8");
                return false;
            }
        }
        p += used;
    }
    if (p >= end) {
        oxi_json_error(reader, reader->at, "string does not end");
        return false;
    }
    if (*p != '"') {
        oxi_json_error(reader, (size_t)(p - reader->text), "bad escape in a string");
        return false;
    }
    reader->raw_length = (size_t)(p - reader->raw);
    reader->at = (size_t)(p + 1 - reader->text);
    return true;
}

static OXI_UNUSED size_t oxi_json_decode(const oxi_json_reader *reader, char *out) {
    const char *p = reader->raw, *end = p + reader->raw_length;
    char *start = out;
    while (p < end) {
        if (*p != '\\') {
            *out++ = *p++;
            continue;
        }
        size_t used = 0;
        out += oxi_utf8_write(oxi_json_escape(p, end, &used), out);
        p += used;
    }
    return (size_t)(out - start);
}

static OXI_UNUSED bool oxi_json_is(const oxi_json_reader *reader, const char *text) {
    const char *p = reader->raw, *end = p + reader->raw_length;
    while (p < end) {
        char bytes[4];
        size_t used = 1, count = 1;
        if (*p == '\\')
            count = oxi_utf8_write(oxi_json_escape(p, end, &used), bytes);
        else
            bytes[0] = *p;
        for (size_t i = 0; i < count; i++, text++)
            if (*text == 0 || *text != bytes[i]) return false;
        p += used;
    }
    return *text == 0;
}

/* ---- numbers ----------------------------------------------------------------------------------------- */

#define OXI_JSON_DIGITS 800 /* more significant digits than a double needs to be rounded correctly (767) */

/* Value of the digits [p, end), which hold at most one '.', times 10^exponent: strtod on digits without a
 * point, which every locale reads alike. */
static double oxi_json_double(const char *p, const char *end, int64_t exponent) {
    char buffer[OXI_JSON_DIGITS + 32];
    size_t count = 0;
    bool point = false;
    for (; p < end; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        bool kept = (count > 0 || *p != '0') && count < OXI_JSON_DIGITS;
        if (kept) buffer[count++] = *p;
        if (point && (kept || count == 0)) exponent--;
        if (!point && !kept && count > 0) exponent++;
    }
    if (count == 0) return 0.0;
    if (exponent > 100000) exponent = 100000;
    if (exponent < -100000) exponent = -100000;
    snprintf(buffer + count, 32, "e%ld", (long)exponent);
    return strtod(buffer, NULL);
}

static bool oxi_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Digits [p, end) as an int64, or false when they do not fit. */
static bool oxi_json_int(const char *p, const char *end, bool negative, int64_t *out) {
    uint64_t value = 0, most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    for (; p < end; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = negative ? (value == 0 ? 0 : -(int64_t)(value - 1) - 1) : (int64_t)value;
    return true;
}

static oxi_json_type oxi_json_number(oxi_json_reader *reader) {
    const char *end = reader->text + reader->length, *p = reader->text + reader->at, *digits, *whole_end;
    bool negative = *p == '-', whole = true;
    int64_t exponent = 0;
    if (negative) p++;
    digits = p;
    if (p >= end || !oxi_is_digit(*p)) return oxi_json_error(reader, reader->at, "number without digits");
    if (*p == '0')
        p++;
    else
        while (p < end && oxi_is_digit(*p)) p++;
    if (p < end && *p == '.') {
        whole = false;
        if (++p >= end || !oxi_is_digit(*p))
            return oxi_json_error(reader, reader->at, "number without digits after its point");
        while (p < end && oxi_is_digit(*p)) p++;
    }
    whole_end = p;
    if (p < end && (*p == 'e' || *p == 'E')) {
        whole = false;
        bool minus = ++p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (p >= end || !oxi_is_digit(*p))
            return oxi_json_error(reader, reader->at, "number without digits in its exponent");
        for (; p < end && oxi_is_digit(*p); p++)
            if (exponent < 1000000000) exponent = exponent * 10 + (*p - '0');
        if (minus) exponent = -exponent;
    }
    if (p < end && (oxi_is_digit(*p) || *p == '.'))
        return oxi_json_error(reader, reader->at, "number starts with 0");
    reader->at = (size_t)(p - reader->text);
    if (whole && oxi_json_int(digits, p, negative, &reader->i)) {
        reader->f = (double)reader->i;
        return OXI_JSON_INT;
    }
    reader->f = oxi_json_double(digits, whole_end, exponent);
    if (!(reader->f <= DBL_MAX)) return oxi_json_error(reader, reader->start, "number is out of range");
    if (negative) reader->f = -reader->f;
    return OXI_JSON_FLOAT;
}

/* ---- tokens ------------------------------------------------------------------------------------------ */

static bool oxi_json_word(oxi_json_reader *reader, const char *word) {
    size_t length = strlen(word);
    if (reader->length - reader->at < length || memcmp(reader->text + reader->at, word, length)) return false;
    reader->at += length;
    return true;
}

static bool oxi_json_in_object(const oxi_json_reader *reader) {
    return reader->depth > 0 && (reader->objects >> (reader->depth - 1) & 1);
}

static oxi_json_type oxi_json_open(oxi_json_reader *reader, bool object) {
    if (reader->depth == OXI_JSON_MAX_DEPTH)
        return oxi_json_error(reader, reader->at, "nested deeper than 64 levels");
    uint64_t bit = (uint64_t)1 << reader->depth++;
    reader->objects = object ? reader->objects | bit : reader->objects & ~bit;
    reader->expect = object ? OXI_JSON_WANT_KEY_OR_END : OXI_JSON_WANT_VALUE_OR_END;
    reader->at++;
    return object ? OXI_JSON_OBJECT : OXI_JSON_ARRAY;
}

static oxi_json_type oxi_json_shut(oxi_json_reader *reader) {
    bool object = oxi_json_in_object(reader);
    reader->at++;
    reader->depth--;
    reader->expect = reader->depth ? OXI_JSON_WANT_COMMA : OXI_JSON_WANT_NOTHING;
    return object ? OXI_JSON_OBJECT_END : OXI_JSON_ARRAY_END;
}

static void oxi_json_blanks(oxi_json_reader *reader) {
    while (reader->at < reader->length) {
        char c = reader->text[reader->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
        reader->at++;
    }
}

static oxi_json_type oxi_json_value(oxi_json_reader *reader, char c) {
    if (c == '{' || c == '[') return oxi_json_open(reader, c == '{');
    reader->expect = reader->depth ? OXI_JSON_WANT_COMMA : OXI_JSON_WANT_NOTHING;
    reader->start = reader->at;
    if (c == '"') return oxi_json_string(reader) ? OXI_JSON_STRING : OXI_JSON_ERROR;
    if (c == '-' || oxi_is_digit(c)) return oxi_json_number(reader);
    if (oxi_json_word(reader, "null")) return OXI_JSON_NULL;
    reader->i = c == 't';
    if (oxi_json_word(reader, "true") || oxi_json_word(reader, "false")) return OXI_JSON_BOOL;
    return oxi_json_error(reader, reader->at, "not a value");
}

static oxi_json_type oxi_json_key(oxi_json_reader *reader, char c) {
    if (c != '"') return oxi_json_error(reader, reader->at, "expected a key in quotes");
    if (!oxi_json_string(reader)) return OXI_JSON_ERROR;
    oxi_json_blanks(reader);
    if (reader->at >= reader->length || reader->text[reader->at] != ':')
        return oxi_json_error(reader, reader->at, "expected ':' after a key");
    reader->at++;
    reader->expect = OXI_JSON_WANT_VALUE;
    return OXI_JSON_KEY;
}

static oxi_json_type oxi_json_next(oxi_json_reader *reader) {
    if (reader->error) return OXI_JSON_ERROR;
    oxi_json_blanks(reader);
    reader->start = reader->at;
    if (reader->at >= reader->length) {
        if (reader->expect == OXI_JSON_WANT_NOTHING) return OXI_JSON_END;
        return oxi_json_error(reader, reader->at, "text ends early");
    }
    char c = reader->text[reader->at];
    if (reader->expect == OXI_JSON_WANT_NOTHING)
        return oxi_json_error(reader, reader->at, "text after the end");
    if (reader->expect != OXI_JSON_WANT_KEY && reader->expect != OXI_JSON_WANT_VALUE &&
        c == (oxi_json_in_object(reader) ? '}' : ']'))
        return oxi_json_shut(reader);
    if (reader->expect == OXI_JSON_WANT_COMMA) {
        if (c != ',') return oxi_json_error(reader, reader->at, "expected ',' or the end of the list");
        reader->at++;
        reader->expect = oxi_json_in_object(reader) ? OXI_JSON_WANT_KEY : OXI_JSON_WANT_VALUE;
        return oxi_json_next(reader);
    }
    if (reader->expect == OXI_JSON_WANT_KEY || reader->expect == OXI_JSON_WANT_KEY_OR_END)
        return oxi_json_key(reader, c);
    return oxi_json_value(reader, c);
}

static OXI_UNUSED bool oxi_json_skip(oxi_json_reader *reader) {
    int depth = reader->depth - 1;
    while (reader->depth > depth) {
        oxi_json_type type = oxi_json_next(reader);
        if (type == OXI_JSON_ERROR || type == OXI_JSON_END) return false;
    }
    return true;
}

/* ---- documents --------------------------------------------------------------------------------------- */

static OXI_UNUSED void oxi_json_free(oxi_json *json) {
    oxi_free(json->nodes, json->room * sizeof *json->nodes);
    oxi_free(json->strings, json->strings_bytes);
    memset(json, 0, sizeof *json);
}

/* Reads all tokens of `reader` into nodes. OX_ERR_FORMAT is left to the caller to put into words. */
static ox_status oxi_json_build(oxi_json_reader *reader, oxi_json *json) {
    uint32_t stack[OXI_JSON_MAX_DEPTH]; /* open arrays and objects */
    size_t used = 0;
    for (;;) {
        oxi_json_type type = oxi_json_next(reader);
        if (type == OXI_JSON_END) return OX_OK;
        if (type == OXI_JSON_ERROR) return OX_ERR_FORMAT;
        if (type == OXI_JSON_ARRAY_END || type == OXI_JSON_OBJECT_END) {
            uint32_t opened = stack[reader->depth];
            json->nodes[opened].next = (uint32_t)json->count;
            if (opened > 0 && json->nodes[opened - 1].type == OXI_JSON_KEY)
                json->nodes[opened - 1].next = (uint32_t)json->count;
            continue;
        }
        void *grown = oxi_grow(json->nodes, &json->room, json->count + 1, sizeof *json->nodes, false);
        if (!grown) return OX_ERR_NOMEM;
        json->nodes = (oxi_json_node *)grown;
        uint32_t index = (uint32_t)json->count++;
        oxi_json_node *node = &json->nodes[index];
        bool opens = type == OXI_JSON_ARRAY || type == OXI_JSON_OBJECT;
        int level = reader->depth - (opens ? 1 : 0); /* how many lists it lies in */
        memset(node, 0, sizeof *node);
        node->type = (uint32_t)type;
        node->at = (uint32_t)reader->start;
        node->next = type == OXI_JSON_KEY ? 0 : index + 1; /* a key's is set by its value */
        if (type == OXI_JSON_STRING || type == OXI_JSON_KEY) {
            node->value.text = json->strings + used;
            node->length = (uint32_t)oxi_json_decode(reader, json->strings + used);
            used += node->length;
            json->strings[used++] = 0;
        } else if (type == OXI_JSON_FLOAT)
            node->value.f = reader->f;
        else if (type == OXI_JSON_INT || type == OXI_JSON_BOOL)
            node->value.i = reader->i;
        if (opens)
            stack[reader->depth - 1] = index;
        else if (index > 0 && node[-1].type == OXI_JSON_KEY && type != OXI_JSON_KEY)
            node[-1].next = index + 1;
        if (level > 0 && type != OXI_JSON_KEY) json->nodes[stack[level - 1]].length++;
    }
}

static OXI_UNUSED ox_status oxi_json_parse(const char *label, const char *text, size_t length,
                                           oxi_json *out) {
    oxi_json_reader reader;
    memset(out, 0, sizeof *out);
    if (length >= UINT32_MAX / 2) return oxi_fail(OX_ERR_FORMAT, "%s: JSON of more than 2 GiB", label);
    out->strings_bytes = length ? length : 1; /* quotes make room for the final zeros */
    out->strings = (char *)oxi_alloc(out->strings_bytes);
    if (!out->strings) {
        memset(out, 0, sizeof *out);
        return OX_ERR_NOMEM;
    }
    oxi_json_start(&reader, text, length);
    ox_status status = oxi_json_build(&reader, out);
    if (status != OX_OK) oxi_json_free(out);
    if (status == OX_ERR_FORMAT)
        (void)oxi_fail(status, "%s: offset %lld: JSON: %s", label, (long long)reader.start, reader.error);
    return status;
}

static OXI_UNUSED uint32_t oxi_json_find(const oxi_json *json, uint32_t object, const char *key) {
    if (object >= json->count || json->nodes[object].type != OXI_JSON_OBJECT) return 0;
    size_t length = strlen(key);
    for (uint32_t i = object + 1; i < json->nodes[object].next; i = json->nodes[i].next)
        if (json->nodes[i].length == length && memcmp(json->nodes[i].value.text, key, length) == 0)
            return i + 1;
    return 0;
}

typedef struct oxi_json_keys {
    const oxi_json *json;
    const uint32_t *keys;
} oxi_json_keys;

static int oxi_json_compare_keys(const void *user, uint32_t a, uint32_t b) {
    const oxi_json_keys *keys = (const oxi_json_keys *)user;
    const oxi_json_node *x = &keys->json->nodes[keys->keys[a]], *y = &keys->json->nodes[keys->keys[b]];
    return oxi_compare_text(x->value.text, x->length, y->value.text, y->length);
}

static OXI_UNUSED uint32_t oxi_json_duplicate(const oxi_json *json, uint32_t object, ox_status *status) {
    uint32_t count = 0, found = 0, members = json->nodes[object].length;
    *status = OX_OK;
    if (members < 2) return 0;
    uint32_t *keys = (uint32_t *)oxi_calloc(members, 3 * sizeof *keys);
    if (!keys) {
        *status = OX_ERR_NOMEM;
        return 0;
    }
    uint32_t *order = keys + members;
    for (uint32_t i = object + 1; i < json->nodes[object].next && count < members; i = json->nodes[i].next)
        keys[count++] = i;
    oxi_json_keys user = {json, keys};
    oxi_sort_indexes(order, order + members, count, oxi_json_compare_keys, &user);
    for (uint32_t i = 1; i < count && !found; i++)
        if (oxi_json_compare_keys(&user, order[i - 1], order[i]) == 0) found = keys[order[i]];
    oxi_free(keys, members * 3 * sizeof *keys);
    return found;
}
