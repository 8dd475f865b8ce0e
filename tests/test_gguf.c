/* test_gguf.c - GGUF: values, every tensor type, truncation, hostile fields.
 * OX_QEMU: short enough to be emulated. */
#define _GNU_SOURCE 1
#include "oxtorch.h"

#include "check.h"
#include "file_walk.h"
#include "gguf_make.h"

/* Opens bytes, keeps the error's text in `said`, closes. Returns the status. */
static char said[600];
static ox_status open_status(const gguf_bytes *b) {
    ox_error_clear();
    size_t before = ox_memory_get_stats().bytes_in_use;
    ox_memory_reset_peak();
    ox_file *file = open_bytes(b->data, b->count);
    size_t peak = ox_memory_get_stats().bytes_peak - before;
    ox_status status = ox_error();
    snprintf(said, sizeof said, "%s", ox_error_text());
    CHECK_MSG((file != NULL) == (status == OX_OK), "status %d: %s", (int)status, said);
    CHECK_MSG(peak <= 16 * b->count + 16384, "%d bytes took %d of memory", (int)b->count, (int)peak);
    if (file) (void)walk_file(file);
    ox_file_close(file);
    ox_error_clear();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    return status;
}

static void check_refused(const char *what, const gguf_bytes *b, ox_status status, const char *words) {
    ox_status got = open_status(b);
    CHECK_MSG(got == status && strstr(said, words), "%s: status %d, \"%s\" lacks \"%s\"", what, (int)got,
              said, words);
}

static int same_text(ox_string text, const char *expected, size_t length) {
    return text.length == (int64_t)length && (length == 0 || memcmp(text.data, expected, length) == 0);
}

/* ---- a file with a note of where each field is ------------------------------------------------------- */

typedef struct field {
    const char *name;
    size_t at;
    int bytes;
} field;

static field fields[64];
static int field_count;

static void note(gguf_bytes *b, const char *name, uint64_t value, int bytes) {
    fields[field_count].name = name;
    fields[field_count].at = b->count;
    fields[field_count++].bytes = bytes;
    gguf_number(b, value, bytes);
}

static void note_string(gguf_bytes *b, const char *name, const char *text) {
    note(b, name, strlen(text), 8);
    gguf_put(b, text, strlen(text));
}

/* The header, four keys, two tensors: w f32 [2,3], q q8_0 [1,32]; data 24 and 34 bytes, padded to 32. */
static void base_file(gguf_bytes *b) {
    field_count = 0;
    b->count = 0;
    note(b, "magic", 0x46554747, 4);
    note(b, "version", 3, 4);
    note(b, "tensor count", 2, 8);
    note(b, "key count", 4, 8);
    note_string(b, "key 0 length", "name");
    note(b, "key 0 type", GGUF_TEXT, 4);
    note_string(b, "key 0 string length", "base");
    note_string(b, "key 1 length", "general.alignment");
    note(b, "key 1 type", GGUF_U32, 4);
    note(b, "alignment", 32, 4);
    note_string(b, "key 2 length", "tokens");
    note(b, "key 2 type", GGUF_ARRAY, 4);
    note(b, "element type", GGUF_TEXT, 4);
    note(b, "element count", 2, 8);
    note_string(b, "element 0 length", "ab");
    note_string(b, "element 1 length", "cde");
    note_string(b, "key 3 length", "nested");
    note(b, "key 3 type", GGUF_ARRAY, 4);
    note(b, "nested type", GGUF_ARRAY, 4);
    note(b, "nested count", 1, 8);
    note(b, "inner type", GGUF_U32, 4);
    note(b, "inner count", 1, 8);
    note(b, "inner value", 5, 4);
    note_string(b, "tensor 0 name length", "w");
    note(b, "tensor 0 dims", 2, 4);
    note(b, "tensor 0 dim 0", 3, 8);
    note(b, "tensor 0 dim 1", 2, 8);
    note(b, "tensor 0 type", 0, 4);
    note(b, "tensor 0 offset", 0, 8);
    note_string(b, "tensor 1 name length", "q");
    note(b, "tensor 1 dims", 2, 4);
    note(b, "tensor 1 dim 0", 32, 8);
    note(b, "tensor 1 dim 1", 1, 8);
    note(b, "tensor 1 type", 8, 4);
    note(b, "tensor 1 offset", 32, 8);
    while (b->count % 32) gguf_number(b, 0, 1);
    for (int i = 0; i < 64 + 2; i++) gguf_number(b, (uint64_t)i, 1);
}

/* The base file with one field changed. */
static void patched_file(gguf_bytes *b, const char *name, uint64_t value) {
    base_file(b);
    for (int i = 0; i < field_count; i++)
        for (int k = 0; strcmp(fields[i].name, name) == 0 && k < fields[i].bytes; k++)
            b->data[fields[i].at + (size_t)k] = (unsigned char)(value >> (8 * k));
}

/* ---- what must be read ------------------------------------------------------------------------------- */

static void check_number(const ox_file *file, const char *key, ox_file_meta_type type, int64_t i, double f) {
    ox_file_meta meta = ox_file_meta_find(file, key);
    CHECK_MSG(meta.type == type && meta.f == f && (type == OX_FILE_META_FLOAT || meta.i == i) &&
                  same_text(meta.key, key, strlen(key)),
              "%s: type %d, %lld, %g", key, (int)meta.type, (long long)meta.i, meta.f);
}

static void put_pair(gguf_bytes *b, const char *key, int type, uint64_t value, int bytes) {
    gguf_string(b, key, strlen(key));
    gguf_number(b, (uint64_t)type, 4);
    gguf_number(b, value, bytes);
}

static void put_header(gguf_bytes *b, uint32_t version, uint64_t tensors, uint64_t keys) {
    b->count = 0;
    gguf_put(b, "GGUF", 4);
    gguf_number(b, version, 4);
    gguf_number(b, tensors, 8);
    gguf_number(b, keys, 8);
}

static void test_values(uint32_t version) {
    gguf_bytes b = {NULL, 0, 0};
    put_header(&b, version, 0, 15);
    put_pair(&b, "u8", 0, 200, 1);
    put_pair(&b, "i8", 1, (uint64_t)-100, 1);
    put_pair(&b, "u16", 2, 60000, 2);
    put_pair(&b, "i16", 3, (uint64_t)-30000, 2);
    put_pair(&b, "u32", 4, 4000000000u, 4);
    put_pair(&b, "i32", 5, (uint64_t)-2000000000, 4);
    put_pair(&b, "f32", 6, gguf_float_bits(0.1f), 4);
    put_pair(&b, "bool", 7, 1, 1);
    put_pair(&b, "u64", 10, UINT64_MAX, 8);
    put_pair(&b, "i64", 11, (uint64_t)INT64_MIN, 8);
    put_pair(&b, "f64", 12, 0xC004000000000000u, 8);
    gguf_string(&b, "string", 6);
    gguf_number(&b, GGUF_TEXT, 4);
    gguf_string(&b, "zero\0inside", 11);
    gguf_string(&b, "strings", 7);
    gguf_number(&b, GGUF_ARRAY, 4);
    gguf_number(&b, GGUF_TEXT, 4);
    gguf_number(&b, 3, 8);
    gguf_string(&b, "a", 1);
    gguf_string(&b, "", 0);
    gguf_string(&b, "\xE2\x96\x81", 3);
    gguf_string(&b, "shorts", 6);
    gguf_number(&b, GGUF_ARRAY, 4);
    gguf_number(&b, 3, 4);
    gguf_number(&b, 2, 8);
    gguf_number(&b, 0xFFFE0001u, 4);
    gguf_string(&b, "nested", 6);
    gguf_number(&b, GGUF_ARRAY, 4);
    gguf_number(&b, GGUF_ARRAY, 4);
    gguf_number(&b, 2, 8);
    gguf_number(&b, GGUF_TEXT, 4);
    gguf_number(&b, 1, 8);
    gguf_string(&b, "deep", 4);
    gguf_number(&b, GGUF_F32, 4);
    gguf_number(&b, 0, 8);
    ox_file *file = open_bytes(b.data, b.count);
    CHECK_MSG(file && strcmp(ox_file_format(file), "gguf") == 0 && ox_file_meta_count(file) == 15, "%s",
              ox_error_text());
    CHECK(ox_file_count(file) == 0 && !ox_file_name(file, 0) && !ox_file_tensor(file, "x") &&
          ox_error() == OX_ERR_NOT_FOUND);
    ox_error_clear();
    check_number(file, "u8", OX_FILE_META_UINT, 200, 200);
    check_number(file, "i8", OX_FILE_META_INT, -100, -100);
    check_number(file, "u16", OX_FILE_META_UINT, 60000, 60000);
    check_number(file, "i16", OX_FILE_META_INT, -30000, -30000);
    check_number(file, "u32", OX_FILE_META_UINT, 4000000000, 4000000000.0);
    check_number(file, "i32", OX_FILE_META_INT, -2000000000, -2000000000.0);
    check_number(file, "f32", OX_FILE_META_FLOAT, 0, (double)0.1f);
    check_number(file, "bool", OX_FILE_META_BOOL, 1, 1);
    check_number(file, "u64", OX_FILE_META_UINT, -1, 18446744073709551616.0);
    check_number(file, "i64", OX_FILE_META_INT, INT64_MIN, -9223372036854775808.0);
    check_number(file, "f64", OX_FILE_META_FLOAT, 0, -2.5);
    CHECK(same_text(ox_file_meta_find(file, "string").text, "zero\0inside", 11));
    ox_file_meta array = ox_file_meta_find(file, "strings");
    CHECK(array.type == OX_FILE_META_ARRAY && array.element == OX_FILE_META_STRING && array.count == 3);
    CHECK(same_text(ox_file_meta_element(file, &array, 0).text, "a", 1) &&
          same_text(ox_file_meta_element(file, &array, 1).text, "", 0));
    CHECK(same_text(ox_file_meta_element(file, &array, 2).text, "\xE2\x96\x81", 3));
    CHECK(ox_file_meta_element(file, &array, 3).type == OX_FILE_META_NONE &&
          ox_file_meta_element(file, &array, -1).type == OX_FILE_META_NONE);
    array = ox_file_meta_find(file, "shorts");
    CHECK(array.element == OX_FILE_META_INT && ox_file_meta_element(file, &array, 0).i == 1 &&
          ox_file_meta_element(file, &array, 1).i == -2);
    array = ox_file_meta_find(file, "nested");
    CHECK(array.element == OX_FILE_META_ARRAY && array.count == 2);
    ox_file_meta inner = ox_file_meta_element(file, &array, 0), none = ox_file_meta_element(file, &array, 1);
    CHECK(inner.type == OX_FILE_META_ARRAY && inner.count == 1 &&
          same_text(ox_file_meta_element(file, &inner, 0).text, "deep", 4));
    CHECK(none.type == OX_FILE_META_ARRAY && none.element == OX_FILE_META_FLOAT && none.count == 0);
    CHECK(ox_file_meta_element(file, &none, 0).type == OX_FILE_META_NONE);
    CHECK(same_text(ox_file_meta_at(file, 0).key, "u8", 2) &&
          same_text(ox_file_meta_at(file, 14).key, "nested", 6));
    CHECK(ox_file_meta_at(file, 15).type == OX_FILE_META_NONE &&
          ox_file_meta_at(file, -1).type == OX_FILE_META_NONE);
    CHECK(ox_file_meta_find(file, "u").type == OX_FILE_META_NONE &&
          ox_file_meta_find(file, "u88").type == OX_FILE_META_NONE);
    CHECK(ox_file_meta_int(file, "i32", 7) == -2000000000 && ox_file_meta_int(file, "bool", 7) == 1 &&
          ox_file_meta_int(file, "none", 7) == 7);
    CHECK(ox_file_meta_int(file, "u64", 7) == 7 && ox_file_meta_int(file, "f32", 7) == 7 &&
          ox_file_meta_int(file, "string", 7) == 7);
    CHECK(ox_file_meta_float(file, "f64", 1) == -2.5 && ox_file_meta_float(file, "u8", 1) == 200 &&
          ox_file_meta_float(file, "string", 1) == 1);
    ox_file_close(file);
    free(b.data);
}

/* Two rows of two blocks of every type that GGUF has. */
static void test_types(void) {
    unsigned char data[4 * 292];
    gguf_make make;
    const char *path = gguf_path("types.gguf");
    memset(&make, 0, sizeof make);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7 + 1);
    int made = 0;
    for (int d = 1; d < OX_DTYPE_COUNT; d++) {
        const ox_dtype_info *info = ox_dtype_get_info((ox_dtype)d);
        const int64_t shape[2] = {2, 2 * info->block_elements};
        if (info->gguf_id < 0) continue;
        gguf_tensor(&make, info->name, info->gguf_id, 2, shape, data, 4 * (size_t)info->block_bytes);
        made++;
    }
    CHECK(gguf_write(&make, path) == 0);
    ox_file *file = ox_file_open(path, NULL);
    CHECK_MSG(file && ox_file_count(file) == made, "%s", ox_error_text());
    for (int64_t i = 0; i < ox_file_count(file); i++) {
        ox_file_entry entry;
        CHECK(ox_file_get_entry(file, i, &entry) == OX_OK);
        const ox_dtype_info *info = ox_dtype_get_info(entry.dtype);
        ox_tensor *t = ox_file_tensor_at(file, i);
        CHECK_MSG(t && strcmp(entry.name, info->name) == 0 && entry.ndim == 2 && entry.shape[0] == 2 &&
                      entry.shape[1] == 2 * info->block_elements && entry.bytes == 4 * info->block_bytes,
                  "%s", entry.name);
        CHECK_MSG(t && t->dtype == entry.dtype && t->shape[1] == entry.shape[1] && t->stride[1] == 1 &&
                      t->stride[0] == entry.shape[1] && ox_nbytes(t) == (size_t)entry.bytes,
                  "%s", entry.name);
        int as_it_lies = little_endian() || info->block_elements > 1 || info->block_bytes == 1;
        CHECK_MSG(t && (!as_it_lies || memcmp(ox_data(t), data, (size_t)entry.bytes) == 0), "%s", entry.name);
        ox_release(t);
    }
    CHECK(ox_file_get_entry(file, made, NULL) == OX_ERR_ARG);
    ox_error_clear();
    ox_file_close(file);
    remove(path);
}

static void test_shapes(void) {
    gguf_make make;
    const char *path = gguf_path("shapes.gguf");
    const float numbers[24] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                               12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
    const int64_t four[4] = {2, 1, 3, 4}, none[2] = {3, 0};
    memset(&make, 0, sizeof make);
    for (int i = 0; i < 24; i++) { /* little-endian */
        uint32_t bits = gguf_float_bits((float)i);
        for (int k = 0; k < 4; k++) ((unsigned char *)&numbers[i])[k] = (unsigned char)(bits >> (8 * k));
    }
    gguf_text(&make, "general.architecture", "test");
    gguf_tensor(&make, "four", 0, 4, four, numbers, sizeof numbers);
    gguf_tensor(&make, "none", 0, 2, none, NULL, 0);
    gguf_tensor(&make, "scalar", 0, 0, NULL, numbers + 5, 4);
    CHECK(gguf_write(&make, path) == 0);
    ox_file *file = ox_file_open(path, NULL);
    ox_tensor *t = ox_file_tensor(file, "four"), *empty = ox_file_tensor(file, "none"),
              *scalar = ox_file_tensor(file, "scalar");
    CHECK_MSG(t && t->ndim == 4 && t->shape[0] == 2 && t->shape[3] == 4 && t->stride[0] == 12, "%s",
              ox_error_text());
    CHECK(empty && empty->ndim == 2 && empty->shape[0] == 3 && empty->shape[1] == 0 && ox_nbytes(empty) == 0);
    ox_file_close(file); /* the tensors live on */
    CHECK(t && ((const float *)ox_data(t))[23] == 23 && scalar && scalar->ndim == 0 &&
          *(const float *)ox_data(scalar) == 5);
    ox_release(t);
    ox_release(empty);
    ox_release(scalar);
    CHECK(ox_memory_get_stats().storages == 0);
    remove(path);
}

/* ---- what must be refused ---------------------------------------------------------------------------- */

static void test_truncation(void) {
    gguf_bytes b = {NULL, 0, 0};
    base_file(&b);
    CHECK_MSG(open_status(&b) == OX_OK, "%s", said);
    for (size_t cut = 0; cut < b.count; cut++) {
        gguf_bytes part = {b.data, cut, 0};
        ox_status status = open_status(&part);
        CHECK_MSG(status == OX_ERR_FORMAT, "cut to %d bytes: %d %s", (int)cut, (int)status, said);
        CHECK_MSG(cut < 8 || strstr(said, "offset"), "%s", said);
    }
    b.count--;
    check_refused("last byte of the data", &b, OX_ERR_FORMAT, "tensor 'q'");
    free(b.data);
}

/* Every field, hostile values: refused or read, never worse. */
static void test_every_field(void) {
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      7,
                                      8,
                                      31,
                                      33,
                                      255,
                                      1023,
                                      1025,
                                      65535,
                                      65536,
                                      0x7FFFFFFF,
                                      0x80000000u,
                                      0xFFFFFFFFu,
                                      0x100000000u,
                                      0x0AAAAAAAAAAAAAABu,
                                      0x0FFFFFFFFFFFFFFFu,
                                      0x1000000000000000u,
                                      0x2000000000000001u,
                                      0x3FFFFFFFFFFFFFFFu,
                                      0x4000000000000000u,
                                      0x7FFFFFFFFFFFFFFFu,
                                      0x8000000000000000u,
                                      0xFFFFFFFFFFFFFFF7u,
                                      UINT64_MAX - 1,
                                      UINT64_MAX};
    gguf_bytes b = {NULL, 0, 0};
    base_file(&b);
    for (int i = 0; i < field_count; i++) {
        const field f = fields[i];
        uint64_t good = 0;
        for (int k = f.bytes - 1; k >= 0; k--) good = good << 8 | b.data[f.at + (size_t)k];
        for (size_t v = 0; v < sizeof values / sizeof values[0] + 2; v++) {
            uint64_t value = v < sizeof values / sizeof values[0] ? values[v] : v & 1 ? good + 1 : good - 1;
            patched_file(&b, f.name, value);
            ox_status status = open_status(&b);
            CHECK_MSG(status == OX_OK || status == OX_ERR_FORMAT || status == OX_ERR_UNSUPPORTED,
                      "%s = %llu: %d %s", f.name, (unsigned long long)value, (int)status, said);
        }
        base_file(&b);
    }
    free(b.data);
}

static void test_refused_fields(void) {
    static const struct {
        const char *field;
        uint64_t value;
        ox_status status;
        const char *words;
    } cases[] = {
        {"magic", 0x46554746, OX_ERR_FORMAT, "known format"},
        {"version", 0, OX_ERR_FORMAT, "version 0"},
        {"version", 1, OX_ERR_UNSUPPORTED, "version 1"},
        {"version", 4, OX_ERR_UNSUPPORTED, "version 4"},
        {"version", 0x03000000, OX_ERR_UNSUPPORTED, "big-endian"},
        {"version", 0x02000000, OX_ERR_UNSUPPORTED, "big-endian"},
        {"tensor count", 3, OX_ERR_FORMAT, "tensor"},
        {"tensor count", 1000000, OX_ERR_FORMAT, "offset 8: header: 1000000 tensors"},
        {"tensor count", 0x0AAAAAAAAAAAAAABu, OX_ERR_FORMAT, "offset 8"},
        {"tensor count", UINT64_MAX, OX_ERR_FORMAT, "offset 8"},
        {"key count", 5, OX_ERR_FORMAT, "tensor 0: name has length"},
        {"key count", 0x2000000000000001u, OX_ERR_FORMAT, "offset 16"},
        {"key count", UINT64_MAX, OX_ERR_FORMAT, "offset 16"},
        {"key 0 length", 0, OX_ERR_FORMAT, "empty"},
        {"key 0 length", 65536, OX_ERR_FORMAT, "metadata key 0: name has length 65536"},
        {"key 0 length", UINT64_MAX, OX_ERR_FORMAT, "length 18446744073709551615"},
        {"key 0 type", 13, OX_ERR_FORMAT, "'name': value type is 13"},
        {"key 0 type", UINT32_MAX, OX_ERR_FORMAT, "value type is 4294967295"},
        {"key 0 string length", 1u << 30, OX_ERR_FORMAT, "length 1073741824, but"},
        {"key 0 string length", UINT64_MAX, OX_ERR_FORMAT, "'name': string"},
        {"key 1 type", GGUF_I32, OX_ERR_FORMAT, "is of type i32"},
        {"key 1 type", GGUF_F32, OX_ERR_FORMAT, "is of type f32"},
        {"alignment", 0, OX_ERR_FORMAT, "general.alignment': is 0"},
        {"alignment", 3, OX_ERR_FORMAT, "is 3"},
        {"alignment", 48, OX_ERR_FORMAT, "is 48"},
        {"alignment", 1u << 30, OX_ERR_FORMAT, "power of 2, at most"},
        {"alignment", 1u << 31, OX_ERR_FORMAT, "power of 2, at most"},
        {"alignment", 64, OX_ERR_FORMAT, "offset is 32, but its data must start at 64"},
        {"element type", 13, OX_ERR_FORMAT, "'tokens': array type is 13"},
        {"element count", 1u << 28, OX_ERR_FORMAT, "268435456 elements of type string"},
        {"element count", UINT64_MAX, OX_ERR_FORMAT, "'tokens'"},
        {"element count", 0x2000000000000000u, OX_ERR_FORMAT, "'tokens'"},
        {"element 1 length", UINT64_MAX, OX_ERR_FORMAT, "array element has length"},
        {"nested count", 0x1555555555555556u, OX_ERR_FORMAT, "'nested'"},
        {"inner type", GGUF_ARRAY, OX_ERR_FORMAT, "offset"},
        {"inner count", 0x4000000000000001u, OX_ERR_FORMAT, "'nested'"},
        {"tensor 0 name length", 0, OX_ERR_FORMAT, "empty"},
        {"tensor 0 name length", 1025, OX_ERR_FORMAT, "tensor 0: name has length 1025"},
        {"tensor 0 name length", UINT64_MAX, OX_ERR_FORMAT, "tensor 0: name"},
        {"tensor 0 dims", 5, OX_ERR_FORMAT, "tensor 'w': 5 dimensions"},
        {"tensor 0 dims", UINT32_MAX, OX_ERR_FORMAT, "4294967295 dimensions"},
        {"tensor 0 dim 0", 9, OX_ERR_FORMAT, "tensor 'q': offset is 32, but its data must start at 96"},
        {"tensor 0 dim 0", 0, OX_ERR_FORMAT,
         "tensor 'q': offset is 32, but its data must start at 0: "
         "tensor 'w' before it has a dim of size 0"},
        {"tensor 0 dim 0", (1ull << 42) + 1, OX_ERR_FORMAT, "tensor 'w'"},
        {"tensor 0 dim 0", 1ull << 61, OX_ERR_FORMAT, "more bytes than"},
        {"tensor 0 dim 0", 1ull << 62, OX_ERR_FORMAT, "more bytes than"},
        {"tensor 0 dim 0", 1ull << 63, OX_ERR_FORMAT, "dimension 0 is 0x8000000000000000"},
        {"tensor 0 dim 0", UINT64_MAX, OX_ERR_FORMAT, "dimension 0 is 0xffffffffffffffff"},
        {"tensor 0 dim 1", 0x1FFFFFFFFFFFFFFFu, OX_ERR_FORMAT, "more bytes than"},
        {"tensor 0 type", 4, OX_ERR_UNSUPPORTED, "type 4 is Q4_2"},
        {"tensor 0 type", 5, OX_ERR_UNSUPPORTED, "type 5 is Q4_3"},
        {"tensor 0 type", 31, OX_ERR_UNSUPPORTED, "type 31 is Q4_0_4_4"},
        {"tensor 0 type", 33, OX_ERR_UNSUPPORTED, "type 33 is Q4_0_8_8"},
        {"tensor 0 type", 36, OX_ERR_UNSUPPORTED, "type 36 is IQ4_NL_4_4"},
        {"tensor 0 type", 38, OX_ERR_UNSUPPORTED, "type 38 is IQ4_NL_8_8"},
        {"tensor 0 type", 43, OX_ERR_UNSUPPORTED, "type 43 is no known type"},
        {"tensor 0 type", UINT32_MAX, OX_ERR_UNSUPPORTED, "tensor 'w': type 4294967295"},
        {"tensor 0 type", 8, OX_ERR_FORMAT, "rows of 3 elements are not whole q8_0 blocks of 32"},
        {"tensor 0 type", 12, OX_ERR_FORMAT, "q4_k blocks of 256"},
        {"tensor 0 offset", 1, OX_ERR_FORMAT, "offset is 1, but its data must start at 0"},
        {"tensor 0 offset", UINT64_MAX, OX_ERR_FORMAT, "tensor 'w': offset is"},
        {"tensor 1 offset", 0, OX_ERR_FORMAT, "tensor 'q': offset is 0"},
        {"tensor 1 offset", 64, OX_ERR_FORMAT, "tensor 'q': offset is 64"},
        {"tensor 1 dim 0", 64, OX_ERR_FORMAT, "tensor 'q'"},
        {"tensor 1 dim 0", 33, OX_ERR_FORMAT, "rows of 33"},
        {"tensor 1 dim 1", 1ull << 59, OX_ERR_FORMAT, "tensor 'q'"},
    };
    gguf_bytes b = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        patched_file(&b, cases[i].field, cases[i].value);
        check_refused(cases[i].field, &b, cases[i].status, cases[i].words);
    }
    free(b.data);
}

static void put_tensor(gguf_bytes *b, const char *name, uint32_t ndim, uint64_t d0, uint64_t d1, uint64_t d2,
                       uint64_t d3, uint32_t type, uint64_t offset) {
    const uint64_t dims[4] = {d0, d1, d2, d3};
    gguf_string(b, name, strlen(name));
    gguf_number(b, ndim, 4);
    for (uint32_t d = 0; d < ndim && d < 4; d++) gguf_number(b, dims[d], 8);
    gguf_number(b, type, 4);
    gguf_number(b, offset, 8);
}

static void test_refused_wholes(void) {
    gguf_bytes b = {NULL, 0, 0};
    b.count = 0;
    gguf_put(&b, "GGU", 3);
    check_refused("3 bytes", &b, OX_ERR_FORMAT, "known format");
    gguf_put(&b, "F", 1);
    check_refused("4 bytes", &b, OX_ERR_FORMAT, "offset 4: header: file ends in its version");
    put_header(&b, 3, 1, 0);
    check_refused("24 bytes", &b, OX_ERR_FORMAT, "1 tensors in the 0 bytes");
    put_header(&b, 3, 0, 2);
    put_pair(&b, "twice", GGUF_U32, 1, 4);
    put_pair(&b, "twice", GGUF_U32, 2, 4);
    check_refused("a key twice", &b, OX_ERR_FORMAT, "metadata key 'twice' occurs twice");
    put_header(&b, 3, 2, 0);
    put_tensor(&b, "same", 1, 0, 0, 0, 0, 0, 0);
    put_tensor(&b, "same", 1, 0, 0, 0, 0, 0, 0);
    check_refused("a tensor name twice", &b, OX_ERR_FORMAT, "offset 60: tensor name 'same' occurs twice");
    put_header(&b, 3, 0, 1);
    gguf_string(&b, "a\0b", 3);
    gguf_number(&b, 0, 4 + 1);
    check_refused("a key with a zero byte", &b, OX_ERR_FORMAT, "zero byte");
    put_header(&b, 3, 1, 0);
    gguf_string(&b, "a\0b", 3);
    gguf_number(&b, 0, 8);
    gguf_number(&b, 0, 8);
    check_refused("a tensor name with a zero byte", &b, OX_ERR_FORMAT, "zero byte");
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "wraps", 4, 1ull << 33, 1ull << 33, 1ull << 33, 1ull << 33, 24, 0);
    check_refused("a product that wraps", &b, OX_ERR_FORMAT, "'wraps'");
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "pads", 1, (UINT64_MAX >> 1) / 4, 0, 0, 0, 0, 0);
    check_refused("bytes that wrap when they are padded", &b, OX_ERR_FORMAT, "'pads'");
    put_header(&b, 3, 3, 0);
    put_tensor(&b, "a", 1, 0x1FFFFFFFFFFFFFF0u / 4, 0, 0, 0, 0, 0);
    put_tensor(&b, "b", 1, 0x1FFFFFFFFFFFFFF0u / 4, 0, 0, 0, 0, 0x2000000000000000u);
    put_tensor(&b, "c", 1, 1, 0, 0, 0, 0, 0x4000000000000000u);
    check_refused("sizes whose sum wraps", &b, OX_ERR_FORMAT, "tensor 'a'");
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "z", 3, 0, INT64_MAX, INT64_MAX, 0, 0, 0);
    check_refused("a zero dim beside huge ones", &b, OX_ERR_FORMAT, "'z'");
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "far", 1, 8, 0, 0, 0, 0, 0);
    check_refused("no data at all", &b, OX_ERR_FORMAT,
                  "tensor 'far': its 32 bytes of data start at 64, but the file ends");
    for (int depth = 1; depth < 12; depth++) { /* arrays of arrays: 8 levels are read */
        put_header(&b, 3, 0, 1);
        gguf_string(&b, "deep", 4);
        gguf_number(&b, GGUF_ARRAY, 4);
        for (int level = 1; level < depth; level++) {
            gguf_number(&b, GGUF_ARRAY, 4);
            gguf_number(&b, 1, 8);
        }
        gguf_number(&b, GGUF_U8, 4);
        gguf_number(&b, 0, 8);
        if (depth <= 8)
            CHECK_MSG(open_status(&b) == OX_OK, "%d levels: %s", depth, said);
        else
            check_refused("deep arrays", &b, OX_ERR_FORMAT, "nested deeper than 8");
    }
    free(b.data);
}

static void test_accepted_oddities(void) {
    gguf_bytes b = {NULL, 0, 0};
    put_header(&b, 3, 0, 0);
    CHECK_MSG(open_status(&b) == OX_OK, "an empty file: %s", said);
    put_header(&b, 2, 1, 0);
    put_tensor(&b, "zero", 2, 0, 7, 0, 0, 0, 0);
    CHECK_MSG(open_status(&b) == OX_OK, "a zero dim: %s", said);
    for (int count = 1; count < 300; count++) { /* no count makes it a file of another format */
        put_header(&b, 3, (uint64_t)count, 0);
        for (int i = 0; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "t%d", i);
            put_tensor(&b, name, 1, 0, 0, 0, 0, 0, 0);
        }
        CHECK_MSG(open_status(&b) == OX_OK, "%d tensors: %s", count, said);
    }
    for (uint32_t align = 1; align <= 1024;
         align *= 2) { /* data starts at multiples of align, also unaligned ones */
        put_header(&b, 3, 2, 1);
        put_pair(&b, "general.alignment", GGUF_U32, align, 4);
        put_tensor(&b, "a", 1, 3, 0, 0, 0, 24, 0);
        put_tensor(&b, "b", 1, 2, 0, 0, 0, 0, (3 + align - 1) / align * align);
        while (b.count % align) gguf_number(&b, 0, 1);
        gguf_number(&b, 0x030201, 3);
        for (uint32_t i = 3; i % align; i++) gguf_number(&b, 0, 1);
        gguf_number(&b, gguf_float_bits(1.5f), 4);
        gguf_number(&b, gguf_float_bits(-2.0f), 4);
        ox_file *file = open_bytes(b.data, b.count);
        ox_tensor *t = ox_file_tensor(file, "b");
        CHECK_MSG(t && ((float *)ox_data(t))[0] == 1.5f && ((float *)ox_data(t))[1] == -2.0f,
                  "alignment %u: %s", (unsigned)align, ox_error_text());
        ox_release(t);
        ox_file_close(file);
    }
    free(b.data);
}

int main(void) {
    test_values(2);
    test_values(3);
    test_types();
    test_shapes();
    test_truncation();
    test_every_field();
    test_refused_fields();
    test_refused_wholes();
    test_accepted_oddities();
    CHECK(ox_set_allocator(NULL) == OX_OK); /* also gives headers of tensors back */
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bytes_in_use == 0);
    return check_done("gguf");
}
