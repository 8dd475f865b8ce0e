/* test_readers.c - what lies under the file formats: JSON, inflate, CRC-32, zip64 records, registered
 * formats. OX_QEMU OX_O0: tests internals, and is short. */
#include <stdio.h>
#define OX_IMPLEMENTATION
#define OX_STATIC
#define OX_NO_SIMD            /* no kernels are tested here: compile less */
#define OXI_ZIP_WIDE_FROM 600 /* zip64 from 600 bytes on, so that its records can be tested */
#include "oxtorch.h"

#include "check.h"

/* ---- JSON -------------------------------------------------------------------------------------------- */

/* The tokens of a text, written out: {k"a"i1} and the like; "!cause" at an error. */
static void tokens_of(const char *text, size_t length, char *out, size_t room) {
    oxi_json_reader reader;
    size_t used = 0;
    oxi_json_start(&reader, text, length);
    for (;;) {
        char string[64];
        oxi_json_type type = oxi_json_next(&reader);
        out[used] = 0;
        if (type == OXI_JSON_END) return;
        if (room - used < 100) {
            snprintf(out, room, "too long");
            return;
        }
        string[0] = 0;
        if ((type == OXI_JSON_KEY || type == OXI_JSON_STRING) && reader.raw_length < sizeof string)
            string[oxi_json_decode(&reader, string)] = 0;
        char *to = out + used;
        size_t left = room - used;
        switch (type) {
        case OXI_JSON_ERROR: snprintf(to, left, "!%s", reader.error); return;
        case OXI_JSON_NULL: snprintf(to, left, "n"); break;
        case OXI_JSON_BOOL: snprintf(to, left, reader.i ? "t" : "f"); break;
        case OXI_JSON_INT: snprintf(to, left, "i%lld", (long long)reader.i); break;
        case OXI_JSON_FLOAT: snprintf(to, left, "d%.17g", reader.f); break;
        case OXI_JSON_STRING: snprintf(to, left, "\"%s\"", string); break;
        case OXI_JSON_KEY: snprintf(to, left, "k\"%s\"", string); break;
        case OXI_JSON_ARRAY: snprintf(to, left, "["); break;
        case OXI_JSON_ARRAY_END: snprintf(to, left, "]"); break;
        case OXI_JSON_OBJECT: snprintf(to, left, "{"); break;
        default: snprintf(to, left, "}"); break;
        }
        used += strlen(to);
    }
}

static void test_json_tokens(void) {
    static const char *const cases[][2] = {
        {"null", "n"},
        {" [ true , false , null ] ", "[tfn]"},
        {"{}", "{}"},
        {"[[],{},[{}]]", "[[]{}[{}]]"},
        {"{\"a\":1,\"b\":[2]}", "{k\"a\"i1k\"b\"[i2]}"},
        {"[0,-0,1,-1,10]", "[i0i0i1i-1i10]"},
        {"9223372036854775807", "i9223372036854775807"},
        {"-9223372036854775808", "i-9223372036854775808"},
        {"9223372036854775808", "d9.2233720368547758e+18"},
        {"-9223372036854775809", "d-9.2233720368547758e+18"},
        {"18446744073709551616", "d1.8446744073709552e+19"},
        {"0.5", "d0.5"},
        {"-0.0", "d-0"},
        {"1e2", "d100"},
        {"1E+2", "d100"},
        {"2.5e-1", "d0.25"},
        {"0.000000000000000000000000000000001e33", "d1"},
        {"1e-400", "d0"},
        {"4.9406564584124654e-324", "d4.9406564584124654e-324"},
        {"1.7976931348623157e308", "d1.7976931348623157e+308"},
        {"\"\"", "\"\""},
        {"\"a\\n\\t\\\"\\\\\\/\\b\\f\\r\"", "\"a\n\t\"\\/\b\f\r\""},
        {"\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", "\"A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\"\x7F\"", "\"\x7F\""},
    };
    static const char *const bad[] = {"",
                                      " ",
                                      "[",
                                      "]",
                                      "{",
                                      "}",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "[1}",
                                      "{]",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":}",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "{\"a\":1,}",
                                      "{\"a\" 1}",
                                      "{1:2}",
                                      "{a:1}",
                                      "{,}",
                                      "[1]]",
                                      "1 2",
                                      "nul",
                                      "nulls",
                                      "True",
                                      "NaN",
                                      "Infinity",
                                      "-Infinity",
                                      "'a'",
                                      "01",
                                      "-01",
                                      "+1",
                                      "-",
                                      "--1",
                                      ".5",
                                      "1.",
                                      "1.e1",
                                      "1e",
                                      "1e+",
                                      "0x10",
                                      "1e999",
                                      "-1e999",
                                      "1.2.3",
                                      "\"",
                                      "\"a",
                                      "\"\\",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\ud800\"",
                                      "\"\\udc00\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\\ud800\\ud800\"",
                                      "\"\n\"",
                                      "\"\t\"",
                                      "\"\x80\"",
                                      "\"\xC3\"",
                                      "\"\xC0\x80\"",
                                      "\"\xED\xA0\x80\"",
                                      "\"\xF4\x90\x80\x80\"",
                                      "\"\xE0\x80\x80\"",
                                      "\"\xF0\x80\x80\x80\"",
                                      "\"\xF5\x80\x80\x80\"",
                                      "\xEF\xBB\xBF{}",
                                      "[1]//",
                                      "/* */1",
                                      "\v1"};
    char out[1024];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tokens_of(cases[i][0], strlen(cases[i][0]), out, sizeof out);
        CHECK_MSG(strcmp(out, cases[i][1]) == 0, "%s gives %s", cases[i][0], out);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tokens_of(bad[i], strlen(bad[i]), out, sizeof out);
        CHECK_MSG(strchr(out, '!') != NULL, "%s gives %s", bad[i], out);
    }
    tokens_of("\"a\0b\"", 5, out, sizeof out);
    CHECK(out[0] == '!');
    for (size_t length = 0; length < 20; length++) { /* no cut of a list is a whole text */
        tokens_of("{\"a\":[1.5e2,\"\\u0041\"]}", length, out, sizeof out);
        CHECK(strchr(out, '!') != NULL);
    }
}

static void test_json_depth(void) {
    char text[200], out[400];
    memset(text, '[', 100);
    memset(text + 100, ']', 100);
    tokens_of(text + 36, 128, out, sizeof out);
    CHECK(strlen(out) == 128 && !strchr(out, '!'));
    tokens_of(text + 35, 130, out, sizeof out);
    CHECK(strstr(out, "!nested") != NULL);
}

/* Numbers are read as strtod reads them, whatever they look like. */
static void test_json_numbers(void) {
    uint64_t state = 1;
    char text[1200], out[256];
    for (int i = 0; i < 20000; i++) {
        uint32_t words[4];
        oxi_philox(7, 0, state++, words);
        double value;
        uint64_t bits = words[0] | (uint64_t)words[1] << 32;
        memcpy(&value, &bits, 8);
        if (!isfinite(value)) continue;
        snprintf(text, sizeof text, "%.*e", (int)(words[2] % 25), value);
        oxi_json_reader reader;
        oxi_json_start(&reader, text, strlen(text));
        oxi_json_type type = oxi_json_next(&reader);
        double expected = strtod(text, NULL);
        if (type == OXI_JSON_INT || type == OXI_JSON_FLOAT)
            CHECK_MSG(reader.f == expected, "%s", text);
        else
            CHECK_MSG(!isfinite(expected), "%s", text);
    }
    /* 1000 digits: more than are kept */
    text[0] = '1';
    memset(text + 1, '0', 999);
    strcpy(text + 1000, "e-1000");
    tokens_of(text, strlen(text), out, sizeof out);
    CHECK_MSG(strcmp(out, "d0.10000000000000001") == 0, "%s", out);
    memset(text, '3', 1000);
    text[1] = '.';
    text[1000] = 0;
    oxi_json_reader reader;
    oxi_json_start(&reader, text, 1000);
    CHECK(oxi_json_next(&reader) == OXI_JSON_FLOAT && reader.f == strtod(text, NULL));
}

static void test_json_document(void) {
    static const char text[] =
        "{\"list\":[1,[2,3],{\"x\":null}],\"s\":\"a\\u0000b\",\"f\":1.5,\"t\":true,\"list\":0}";
    oxi_json json;
    ox_status status;
    CHECK(oxi_json_parse("test", text, sizeof text - 1, &json) == OX_OK);
    const oxi_json_node *nodes = json.nodes;
    CHECK(nodes[0].type == OXI_JSON_OBJECT && nodes[0].length == 5 && nodes[0].next == json.count);
    uint32_t list = oxi_json_find(&json, 0, "list"), s = oxi_json_find(&json, 0, "s");
    CHECK(list && nodes[list].type == OXI_JSON_ARRAY && nodes[list].length == 3);
    uint32_t second = nodes[list + 1].next, third = nodes[second].next;
    CHECK(nodes[list + 1].value.i == 1 && nodes[second].type == OXI_JSON_ARRAY && nodes[second].length == 2);
    CHECK(nodes[third].type == OXI_JSON_OBJECT && nodes[third].next == nodes[list].next);
    CHECK(nodes[oxi_json_find(&json, third, "x")].type == OXI_JSON_NULL);
    CHECK(nodes[s].length == 3 && memcmp(nodes[s].value.text, "a\0b", 4) == 0);
    CHECK(nodes[oxi_json_find(&json, 0, "f")].value.f == 1.5);
    CHECK(nodes[oxi_json_find(&json, 0, "t")].value.i == 1);
    CHECK(oxi_json_find(&json, 0, "none") == 0 && oxi_json_find(&json, list, "x") == 0);
    uint32_t twice = oxi_json_duplicate(&json, 0, &status);
    CHECK(status == OX_OK && twice && nodes[twice].type == OXI_JSON_KEY &&
          nodes[twice + 1].type == OXI_JSON_INT);
    CHECK(oxi_json_duplicate(&json, third, &status) == 0);
    oxi_json_free(&json);
    ox_error_clear();
    CHECK(oxi_json_parse("some.json", "[1,\n2,x]", 8, &json) == OX_ERR_FORMAT);
    CHECK_MSG(strcmp(ox_error_text(), "some.json: offset 6: JSON: not a value") == 0, "%s", ox_error_text());
    ox_error_clear();
    CHECK(ox_memory_get_stats().bytes_in_use == 0);
}

/* ---- inflate and CRC-32 (streams made by zlib 1.2) --------------------------------------------------- */

static const unsigned char fixed[14] = {
    203, 72, 205, 201, 201, 87, 200, 64, 39, 117, 20, 242, 43, 0,
};
static const unsigned char stored[17] = {
    1, 12, 0, 243, 255, 115, 116, 111, 114, 101, 100, 32, 119, 111, 114, 100, 115,
};
static const unsigned char dynamic[144] = {
    37,  143, 139, 13,  0,   33,  12,  66,  103, 163, 252, 246, 223, 232, 48,  167, 137, 218, 88,  202, 67,
    10,  92,  37,  189, 221, 38,  169, 214, 39,  64,  43,  236, 158, 219, 30,  129, 16,  141, 216, 245, 139,
    186, 253, 155, 2,   115, 188, 148, 62,  220, 25,  88,  65,  68,  191, 192, 104, 115, 71,  151, 183, 166,
    41,  223, 73,  76,  118, 44,  67,  205, 50,  51,  75,  80,  219, 136, 177, 217, 28,  147, 206, 44,  214,
    211, 106, 187, 19,  141, 209, 90,  195, 115, 223, 99,  190, 214, 128, 242, 228, 124, 43,  197, 205, 122,
    248, 22,  198, 51,  5,   179, 44,  187, 179, 32,  143, 249, 30,  100, 38,  208, 0,   189, 74,  179, 156,
    205, 139, 245, 24,  131, 129, 97,  201, 56,  249, 11,  231, 55,  110, 227, 133, 222, 7,
};
static const unsigned char zeros[85] = {
    237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 109, 9, 79, 160, 0, 0,   0,   0, 0, 0, 0,
    0,   0,   0,  0, 0, 0, 0, 0,   0,   0,   0,  0,   0, 0,  0,   0, 0,   0,   0, 0, 0, 0,
    0,   0,   0,  0, 0, 0, 0, 0,   0,   0,   0,  0,   0, 0,  0,   0, 0,   0,   0, 0, 0, 0,
    0,   0,   0,  0, 0, 0, 0, 0,   0,   0,   0,  0,   0, 0,  0,   0, 128, 183, 1,
};
static const unsigned char far[92] = {
    237, 221, 177, 13,  64,  64,  0,   0,   64,  38,  176, 128, 37,  76,  161, 208, 202, 47, 161,
    83,  139, 68,  101, 170, 143, 238, 199, 120, 97,  8,   205, 55,  26,  173, 13,  238, 22, 185,
    180, 110, 211, 80,  238, 50,  62,  241, 92,  218, 107, 175, 143, 46,  135, 185, 233, 43, 0,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,  0,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128, 79,  250, 121, 209, 95,
};
static const unsigned char blocks[32] = {
    74,  203, 44, 42, 46, 81, 0, 0,   0,   0,  255, 255, 42, 78, 77, 206,
    207, 75,  81, 0,  0,  0,  0, 255, 255, 43, 201, 200, 44, 74, 1,  0,
};

/* The generator of the plain texts that were packed. */
static unsigned char next_byte(uint32_t *state, uint32_t modulus) {
    *state = (*state * 1103515245u + 12345u) & 0x7FFFFFFFu;
    return (unsigned char)((*state >> 16) % modulus);
}

static void check_inflate(const char *name, const unsigned char *in, size_t in_bytes,
                          const unsigned char *expected, size_t bytes) {
    unsigned char *out = (unsigned char *)malloc(bytes + 1);
    size_t made = 0;
    bool finished = false;
    if (!out) return;
    const char *cause = oxi_inflate(in, in_bytes, out, bytes, &made, &finished);
    CHECK_MSG(!cause && made == bytes && finished && memcmp(out, expected, bytes) == 0, "%s: %s", name,
              cause ? cause : "wrong bytes");
    /* room for one more byte, and for less: a prefix */
    cause = oxi_inflate(in, in_bytes, out, bytes + 1, &made, &finished);
    CHECK_MSG(!cause && made == bytes && finished, "%s with more room", name);
    for (size_t part = 0; part < bytes; part += bytes < 400 ? 1 : bytes / 37) {
        memset(out, 0xEE, bytes + 1);
        cause = oxi_inflate(in, in_bytes, out, part, &made, &finished);
        CHECK_MSG(!cause && made == part && !finished && memcmp(out, expected, part) == 0 &&
                      out[part] == 0xEE,
                  "%s, %d bytes", name, (int)part);
    }
    for (size_t cut = 0; cut < in_bytes; cut++) {
        unsigned char *copy =
            (unsigned char *)malloc(cut ? cut : 1); /* exactly that long, for the sanitizer */
        if (!copy) break;
        memcpy(copy, in, cut);
        cause = oxi_inflate(copy, cut, out, bytes, &made, &finished);
        CHECK_MSG(!finished && (cause || made < bytes), "%s cut to %d bytes", name, (int)cut);
        free(copy);
    }
    free(out);
}

static void test_inflate(void) {
    static unsigned char plain[70000];
    uint32_t state = 1;
    check_inflate("fixed", fixed, sizeof fixed, (const unsigned char *)"hello hello hello hello, ox", 27);
    check_inflate("stored", stored, sizeof stored, (const unsigned char *)"stored words", 12);
    check_inflate("blocks", blocks, sizeof blocks, (const unsigned char *)"first second third", 18);
    check_inflate("zeros", zeros, sizeof zeros, plain, sizeof plain);
    for (int i = 0; i < 300; i++) plain[i] = (unsigned char)(65 + next_byte(&state, 40) % 7);
    check_inflate("dynamic", dynamic, sizeof dynamic, plain, 300);
    memset(plain, 0, sizeof plain);
    state = 1;
    for (int i = 0; i < 24; i++) plain[i] = plain[32024 + i] = next_byte(&state, 256);
    check_inflate("far", far, sizeof far, plain, 32048);
}

static void test_inflate_refuses(void) {
    static const struct {
        const char *what;
        unsigned char in[24];
        int bytes;
    } cases[] = {
        {"kind of block 3", {7}, 1},
        {"stored length without its complement", {1, 3, 0, 0xFC, 0xFE, 1, 2, 3}, 8},
        {"fixed: distance before the start", {0x03, 0x02, 0x00}, 3},
        {"fixed: length code 286", {0x1B, 0x03, 0x00, 0x00}, 4},
        {"dynamic: 287 literals", {0xF5, 0xFF, 0xFF, 0xFF}, 4},
        {"dynamic: all lengths 7: over-subscribed",
         {0x05, 0xE0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
         10},
        {"dynamic: no lengths at all", {0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}, 7},
    };
    unsigned char out[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t made;
        bool finished;
        const char *cause =
            oxi_inflate(cases[i].in, (size_t)cases[i].bytes, out, sizeof out, &made, &finished);
        CHECK_MSG(cause && !finished, "%s", cases[i].what);
    }
    /* a changed bit never writes beyond the room, wherever it is */
    for (int bit = 0; bit < (int)sizeof dynamic * 8; bit++) {
        unsigned char copy[sizeof dynamic];
        unsigned char room[301];
        size_t made;
        bool finished;
        memcpy(copy, dynamic, sizeof dynamic);
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
        room[300] = 0xEE;
        (void)oxi_inflate(copy, sizeof copy, room, 300, &made, &finished);
        CHECK(made <= 300 && room[300] == 0xEE);
    }
}

static void test_crc(void) {
    const char *text = "123456789";
    CHECK(oxi_crc32(0, text, 9) == 0xCBF43926u);
    CHECK(oxi_crc32(0, text, 0) == 0);
    for (size_t cut = 0; cut <= 9; cut++)
        CHECK(oxi_crc32(oxi_crc32(0, text, cut), text + cut, 9 - cut) == 0xCBF43926u);
}

/* ---- zip64 ------------------------------------------------------------------------------------------- */

static const char *temporary_path(const char *name) {
    static char paths[4][1024];
    static int next;
    const char *folder = getenv("OX_TEST_TMP");
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder ? folder : "/tmp", name);
    return path;
}

/* Members beyond OXI_ZIP_WIDE_FROM bytes are written with zip64 records and read back. */
static void test_zip64(void) {
    const char *names[3] = {"small", "wide", "after"};
    const char *path = temporary_path("readers-zip64.npz");
    ox_tensor *tensors[3];
    tensors[0] = ox_arange(0, 5, 1, OX_F32);
    tensors[1] = ox_arange(0, 300, 1, OX_I64);
    tensors[2] = ox_arange(0, 3, 1, OX_U8);
    CHECK(ox_save_npz(path, names, tensors, 3) == OX_OK);
    oxi_mapping mapping;
    memset(&mapping, 0, sizeof mapping);
    CHECK(oxi_map_file(path, false, &mapping) == OX_OK);
    CHECK(mapping.bytes > 98 && oxi_read_u32(mapping.data + mapping.bytes - 22 - 20) == 0x07064B50u);
    unsigned char *copy = (unsigned char *)malloc(mapping.bytes);
    size_t bytes = mapping.bytes;
    if (copy) memcpy(copy, mapping.data, bytes);
    oxi_unmap_file(&mapping);
    ox_file *file = ox_file_open(path, NULL);
    CHECK_MSG(file && ox_file_count(file) == 3, "%s", ox_error_text());
    for (int i = 0; i < 3; i++) {
        ox_tensor *t = ox_file_tensor(file, names[i]);
        CHECK_MSG(t && t->dtype == tensors[i]->dtype && ox_nbytes(t) == ox_nbytes(tensors[i]) &&
                      memcmp(ox_data(t), ox_data(tensors[i]), ox_nbytes(t)) == 0,
                  "%s", ox_error_text());
        bool as_it_lies = !oxi_big_endian_host() || t->dtype == OX_U8;
        CHECK(t && t->storage->borrowed == as_it_lies); /* aligned in the file */
        ox_release(t);
        ox_release(tensors[i]);
    }
    ox_file_close(file);
    /* each bit of the records at the end and in the directory changed: opens or not, but nothing worse */
    for (size_t at = bytes > 400 ? bytes - 400 : 0; copy && at < bytes; at++)
        for (int bit = 0; bit < 8; bit++) {
            copy[at] ^= (unsigned char)(1 << bit);
            ox_file_close(oxi_open_memory("zip64.npz", copy, bytes, NULL));
            copy[at] ^= (unsigned char)(1 << bit);
        }
    ox_error_clear();
    free(copy);
    remove(path);
}

/* ---- formats and devices of other rooms -------------------------------------------------------------- */

static bool seven_probe(const unsigned char *data, size_t bytes) {
    return bytes >= 5 && memcmp(data, "SEVEN", 5) == 0;
}

/* A format of one tensor, the bytes behind the magic. */
static ox_status seven_open(ox_file *file) {
    oxi_file_item *item = oxi_file_add_item(file);
    int64_t *shape = (int64_t *)oxi_file_take(file, sizeof *shape);
    if (!item || !shape) return OX_ERR_NOMEM;
    item->name = "seven";
    item->offset = 5;
    shape[0] = (int64_t)file->parts[0].mapping.bytes - 5;
    return oxi_item_shape(item, OX_U8, 1, shape, &item->bytes) ? OX_OK : OX_ERR_FORMAT;
}

static const oxi_format format_seven = {"seven", ".seven", seven_probe, seven_open, NULL, NULL, NULL};
static int regions_asked, regions_known;
static size_t region_offset;

static ox_status count_region(ox_device *device, const char *path, const oxi_file_id *id, size_t offset,
                              size_t bytes, ox_storage **out) {
    (void)path;
    regions_asked++;
    regions_known += id != NULL;
    region_offset = offset;
    if (strcmp(device->name, "full") == 0) return oxi_fail(OX_ERR_DEVICE, "the device is full");
    *out = oxi_storage_new(ox_cpu(), bytes);
    if (!*out) return OX_ERR_NOMEM;
    (*out)->device = device;
    memset((*out)->data, 9, bytes);
    return OX_OK;
}

static void test_registering(void) {
    const char *path = temporary_path("readers.seven");
    CHECK(oxi_file_register(&format_seven) && oxi_file_register(&format_seven));
    ox_file *file = oxi_open_memory("x", "SEVENabc", 8, NULL);
    CHECK(file && strcmp(ox_file_format(file), "seven") == 0);
    ox_tensor *t = ox_file_tensor(file, "seven");
    CHECK(t && ox_numel(t) == 3 && memcmp(ox_data(t), "abc", 3) == 0 && regions_asked == 0);
    ox_file_close(file);
    CHECK(t && memcmp(ox_data(t), "abc", 3) == 0); /* outlives the file */
    ox_release(t);
    FILE *stream = fopen(path, "wb");
    if (stream) {
        fputs("SEVENabc", stream);
        fclose(stream);
    }
    ox_device device = *ox_cpu();
    device.name = "files";
    device.region = count_region;
    file = ox_file_open(path, &device);
    t = ox_file_tensor(file, "seven");
    CHECK_MSG(t && regions_asked == 1 && regions_known == 1 && region_offset == 5 &&
                  ((unsigned char *)ox_data(t))[2] == 9,
              "%s", ox_error_text());
    ox_release(t);
    device.name = "full";
    CHECK(!ox_file_tensor(file, "seven") && ox_error() == OX_ERR_DEVICE);
    ox_error_clear();
    ox_file_close(file);
    remove(path);
    file = oxi_open_memory("y", "EIGHTabc", 8, NULL);
    CHECK(!file && ox_error() == OX_ERR_FORMAT);
    ox_error_clear();
    file = oxi_open_memory("y.seven", "", 0, NULL); /* by its extension: the format complains itself */
    CHECK(!file);
    ox_error_clear();
}

/* ---- sorting ----------------------------------------------------------------------------------------- */

static int compare_tens(const void *user, uint32_t a, uint32_t b) {
    const int *values = (const int *)user;
    return values[a] / 10 - values[b] / 10;
}

static void test_sort(void) {
    int values[100];
    uint32_t order[100], scratch[100];
    for (uint32_t count = 0; count <= 100; count++) {
        for (uint32_t i = 0; i < count; i++) values[i] = (int)(i * 37 % 101);
        oxi_sort_indexes(order, scratch, count, compare_tens, values);
        bool sorted = true;
        for (uint32_t i = 1; i < count; i++) {
            int step = compare_tens(values, order[i - 1], order[i]);
            sorted = sorted && (step < 0 || (step == 0 && order[i - 1] < order[i]));
        }
        CHECK(sorted);
    }
}

int main(void) {
    test_json_tokens();
    test_json_depth();
    test_json_numbers();
    test_json_document();
    test_inflate();
    test_inflate_refuses();
    test_crc();
    test_sort();
    test_zip64();
    test_registering();
    CHECK(ox_set_allocator(NULL) == OX_OK); /* also gives headers of tensors back */
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bytes_in_use == 0);
    return check_done("readers");
}
