/* test_safetensors.c - safetensors: the reference writer's bytes, every dtype, shards, what must be refused.
 * OX_QEMU: short enough to be emulated. */
#define _GNU_SOURCE 1
#include "oxtorch.h"

#include "check.h"
#include "file_walk.h"
#include "gguf_make.h"

#ifdef _WIN32
#include <direct.h>
#define make_folder(path) _mkdir(path)
#define remove_folder(path) _rmdir(path)
#else
#include <sys/stat.h>
#include <unistd.h>
#define make_folder(path) mkdir(path, 0777)
#define remove_folder(path) rmdir(path)
#endif

static char said[600];

/* Status of opening a file of this header and `bytes` bytes of data, all 1. */
static ox_status header_status(const char *header, size_t bytes) {
    gguf_bytes b = {NULL, 0, 0};
    const unsigned char one = 1;
    ox_error_clear();
    gguf_string(&b, header, strlen(header));
    while (bytes--) gguf_put(&b, &one, 1);
    size_t before = ox_memory_get_stats().bytes_in_use;
    ox_memory_reset_peak();
    ox_file *file = open_bytes(b.data, b.count);
    size_t peak = ox_memory_get_stats().bytes_peak - before;
    ox_status status = ox_error();
    snprintf(said, sizeof said, "%s", ox_error_text());
    CHECK_MSG((file != NULL) == (status == OX_OK), "status %d: %s", (int)status, said);
    CHECK_MSG(peak <= 16 * b.count + 16384, "%d bytes took %d of memory", (int)b.count, (int)peak);
    if (file) (void)walk_file(file);
    ox_file_close(file);
    free(b.data);
    ox_error_clear();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    return status;
}

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    CHECK_MSG(file && fwrite(data, 1, bytes, file) == bytes, "%s", path);
    if (file) fclose(file);
}

static size_t read_file(const char *path, void *data, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t bytes = file ? fread(data, 1, room, file) : 0;
    if (file) fclose(file);
    return bytes;
}

static int same_tensor(ox_tensor *t, ox_tensor *expected) {
    int same = t && expected && t->dtype == expected->dtype && t->ndim == expected->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = t->shape[d] == expected->shape[d];
    size_t bytes = ox_nbytes(expected);
    unsigned char *a = (unsigned char *)malloc(bytes + 1), *b = (unsigned char *)malloc(bytes + 1);
    same = same && a && b && ox_to_data(t, a, bytes) == OX_OK && ox_to_data(expected, b, bytes) == OX_OK &&
           memcmp(a, b, bytes) == 0;
    free(a);
    free(b);
    return same;
}

/* ---- writing ----------------------------------------------------------------------------------------- */

/* The same tensors saved by safetensors 0.8 (Python) give these bytes. */
static void test_reference_bytes(void) {
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"U\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[0,8]}"
        ","
        "\"a\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[8,32]},"
        "\"e\":{\"dtype\":\"F64\",\"shape\":[2,0],\"data_offsets\":[32,32]},"
        "\"c\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[32,40]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[40,56]},"
        "\"u\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[56,60]},"
        "\"i\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[60,64]},"
        "\"h\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[64,66]},"
        "\"k\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[66,68]},"
        "\"q\\\"\\n\\u0001\xC3\xA9\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[68,70]},"
        "\"s\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[70,71]},"
        "\"z\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[71,73]},"
        "\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[73,75]}}  ";
    static const unsigned char data[75] = {
        5, 0,    0, 0,    0,    0,    0,    0, 0,    0,    0, 0, 0, 0,    0, 0,    1,    0,    0,
        0, 0,    0, 0,    0,    2,    0,    0, 0,    0,    0, 0, 0, 0,    0, 0x80, 0x3F, 0,    0,
        0, 0x40, 0, 0,    0,    0,    0,    0, 0x80, 0x3F, 0, 0, 0, 0x40, 0, 0,    0x40, 0x40, 5,
        0, 0,    0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0x3E, 9,    0, 7, 0, 0xFF, 1, 2,    1,    0};
    static const char *const names[] = {"w", "a", "z", "b", "h", "e", "q\"\n\x01\xC3\xA9",
                                        "c", "u", "U", "i", "s", "k"};
    static const char *const metadata[] = {"format", "pt"};
    const float complex_number[2] = {1, 2};
    const unsigned char bools[2] = {1, 0};
    const char *path = gguf_path("reference.safetensors");
    unsigned char read[2000];
    OX_SCOPE {
        ox_tensor *t[13];
        t[0] = ox_reshape(ox_arange(0, 4, 1, OX_F32), OX_SHAPE(2, 2));
        t[1] = ox_arange(0, 3, 1, OX_I64);
        t[2] = ox_arange(1, 3, 1, OX_U8);
        t[3] = ox_from_data(bools, OX_SHAPE(2), OX_BOOL);
        t[4] = ox_full(OX_SCALAR_SHAPE, 1.5, OX_F16);
        t[5] = ox_zeros(OX_SHAPE(2, 0), OX_F64);
        t[6] = ox_full(OX_SHAPE(1), 7, OX_I16);
        t[7] = ox_from_data(complex_number, OX_SHAPE(1), OX_C64);
        t[8] = ox_full(OX_SHAPE(1), 5, OX_U32);
        t[9] = ox_full(OX_SHAPE(1), 5, OX_U64);
        t[10] = ox_full(OX_SHAPE(1), -1, OX_I32);
        t[11] = ox_full(OX_SHAPE(1), -1, OX_I8);
        t[12] = ox_full(OX_SHAPE(1), 9, OX_U16);
        CHECK_MSG(ox_save_safetensors(path, names, t, 13, metadata, 1, 0) == OX_OK, "%s", ox_error_text());
        size_t bytes = read_file(path, read, sizeof read);
        CHECK_MSG(bytes == 843, "%d bytes", (int)bytes);
        CHECK(read[0] == 0xF8 && read[1] == 2 && sizeof header - 1 == 760 &&
              memcmp(read + 8, header, 760) == 0);
        CHECK(memcmp(read + 768, data, 75) == 0);
        ox_file *file = ox_file_open(path, NULL);
        CHECK_MSG(file && ox_file_count(file) == 13 && strcmp(ox_file_format(file), "safetensors") == 0, "%s",
                  ox_error_text());
        for (int i = 0; i < 13; i++)
            CHECK_MSG(same_tensor(ox_file_tensor(file, names[i]), t[i]), "%s: %s", names[i], ox_error_text());
        CHECK(strcmp(ox_file_name(file, 0), "U") == 0 && strcmp(ox_file_name(file, 12), "b") == 0);
        ox_file_meta meta = ox_file_meta_find(file, "format");
        CHECK(ox_file_meta_count(file) == 1 && meta.type == OX_FILE_META_STRING && meta.text.length == 2 &&
              memcmp(meta.text.data, "pt", 2) == 0);
        ox_file_close(file);
    }
    remove(path);
}

static void test_every_dtype(void) {
    unsigned char data[6 * 8];
    const char *path = gguf_path("dtypes.safetensors"), *names[OX_DTYPE_COUNT];
    ox_tensor *t[OX_DTYPE_COUNT];
    int count = 0;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 11);
    OX_SCOPE {
        for (int d = 1; d < OX_DTYPE_COUNT; d++) {
            const ox_dtype_info *info = ox_dtype_get_info((ox_dtype)d);
            const char *name = info->name;
            if (info->safetensors[0]) {
                if (d == OX_BOOL) memset(data, 1, 6);
                names[count] = name;
                t[count++] = ox_transpose(ox_from_data(data, OX_SHAPE(2, 3), (ox_dtype)d), 0, 1);
                continue;
            }
            ox_tensor *block = ox_empty(OX_SHAPE(info->block_elements), (ox_dtype)d);
            CHECK(ox_save_safetensors(path, &name, &block, 1, NULL, 0, 0) == OX_ERR_UNSUPPORTED);
            CHECK_MSG(strstr(ox_error_text(), name), "%s", ox_error_text());
            ox_error_clear();
        }
        CHECK_MSG(ox_save_safetensors(path, names, t, count, NULL, 0, 0) == OX_OK, "%s", ox_error_text());
        ox_file *file = ox_file_open(path, NULL);
        CHECK(ox_file_count(file) == count && count == 16);
        for (int i = 0; i < count; i++)
            CHECK_MSG(same_tensor(ox_file_tensor(file, names[i]), t[i]), "%s", names[i]);
        ox_file_close(file);
    }
    remove(path);
}

static void test_refused_saves(void) {
    static const char *const twice[] = {"a", "a"}, *const bad_utf8[] = {"\xC3"},
                             *const reserved[] = {"__metadata__"};
    static const char *const empty[] = {""}, *const good[] = {"a", "b"}, *const half[] = {"k", NULL};
    const char *path = gguf_path("refused.safetensors");
    ox_tensor *t[2] = {ox_ones(OX_SHAPE(2), OX_F32), NULL};
    CHECK(ox_save_safetensors(path, twice, t, 2, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, bad_utf8, t, 1, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, reserved, t, 1, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, empty, t, 1, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, good, t, 2, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, good, NULL, 1, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, NULL, t, 1, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, good, t, -1, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, good, t, 1, half, 1, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, good, t, 1, NULL, 1, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(path, good, t, 1, NULL, 0, -1) == OX_ERR_ARG);
    CHECK(ox_save_safetensors("", good, t, 1, NULL, 0, 0) == OX_ERR_ARG);
    CHECK(ox_save_safetensors(gguf_path("no/folder/x.safetensors"), good, t, 1, NULL, 0, 0) == OX_ERR_IO);
    CHECK(read_file(path, said, 1) == 0);
    ox_error_clear();
    CHECK(ox_save_safetensors(path, NULL, NULL, 0, NULL, 0, 0) == OX_OK);
    ox_file *file = ox_file_open(path, NULL);
    CHECK(file && ox_file_count(file) == 0 && ox_file_meta_count(file) == 0);
    ox_file_close(file);
    remove(path);
    ox_release(t[0]);
}

/* ---- reading ----------------------------------------------------------------------------------------- */

#define ENTRY(name, dtype, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static void test_headers(void) {
    static const struct {
        const char *header;
        int bytes;
        ox_status status;
        const char *words;
    } cases[] = {
        {"{}", 0, OX_OK, ""},
        {"{}   ", 0, OX_OK, ""},
        {"{" ENTRY("a", "F32", "[2]", "0", "8") "}", 8, OX_OK, ""},
        {"{" ENTRY("a", "F32", "[]", "0", "4") "}", 4, OX_OK, ""},
        {"{" ENTRY("a", "F32", "[0,5]", "0", "0") "}", 0, OX_OK, ""},
        {"{" ENTRY("a", "U8", "[3]", "1", "4") "," ENTRY("b", "U8", "[1]", "0", "1") "}", 4, OX_OK, ""},
        {"{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("b", "U8", "[0]", "1", "1") "}", 1, OX_OK, ""},
        {"{" ENTRY("a", "U8", "[0]", "1", "1") "," ENTRY("b", "U8", "[1]", "0", "1") "}", 1, OX_OK, ""},
        {"{\"a\":{\"x\":[{}],\"shape\":[1],\"data_offsets\":[0,1],\"dtype\":\"U8\"}}", 1, OX_OK, ""},
        {"{\"__metadata__\":{},\"\\u0061\":{\"\\u0064type\":\"U\\u0038\",\"shape\":[1],\"data_offsets\":[0,1]"
         "}}",
         1, OX_OK, ""},
        {"[]", 0, OX_ERR_FORMAT, ""},
        {" {}", 0, OX_ERR_FORMAT, ""},
        {"{", 0, OX_ERR_FORMAT, "JSON: text ends early"},
        {"{}}", 0, OX_ERR_FORMAT, "JSON"},
        {"{}x", 0, OX_ERR_FORMAT, "JSON"},
        {"{\"a\":1}", 0, OX_ERR_FORMAT, "tensor 'a': is no object"},
        {"{\"a\":null}", 0, OX_ERR_FORMAT, "is no object"},
        {"{\"a\":{}}", 0, OX_ERR_FORMAT, "dtype is missing"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, OX_ERR_FORMAT, "data_offsets is missing"},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, OX_ERR_FORMAT, "shape is missing"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, OX_ERR_FORMAT, "dtype is missing"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 1, OX_ERR_FORMAT, "dtype occurs twice"},
        {"{\"a\":{\"shape\":[],\"shape\":[]}}", 1, OX_ERR_FORMAT, "shape occurs twice"},
        {"{\"a\":{\"data_offsets\":[0,1],\"data_offsets\":[0,1]}}", 1, OX_ERR_FORMAT,
         "data_offsets occurs twice"},
        {"{" ENTRY("a", "F31", "[2]", "0", "8") "}", 8, OX_ERR_FORMAT, "dtype 'F31' is not known"},
        {"{" ENTRY("a", "f32", "[2]", "0", "8") "}", 8, OX_ERR_FORMAT, "dtype 'f32' is not known"},
        {"{\"a\":{\"dtype\":32}}", 8, OX_ERR_FORMAT, "dtype is no string"},
        {"{" ENTRY("a", "F32", "2", "0", "8") "}", 8, OX_ERR_FORMAT, "shape is no list"},
        {"{" ENTRY("a", "F32", "[-2]", "0", "8") "}", 8, OX_ERR_FORMAT, "shape holds something other"},
        {"{" ENTRY("a", "F32", "[2.0]", "0", "8") "}", 8, OX_ERR_FORMAT, "shape holds something other"},
        {"{" ENTRY("a", "F32", "[\"2\"]", "0", "8") "}", 8, OX_ERR_FORMAT, "shape holds something other"},
        {"{" ENTRY("a", "F32", "[9223372036854775808]", "0", "8") "}", 8, OX_ERR_FORMAT,
         "shape holds something other"},
        {"{" ENTRY("a", "F32", "[4611686018427387904,4]", "0", "0") "}", 0, OX_ERR_FORMAT,
         "shape has a product that overflows"},
        {"{" ENTRY("a", "F32", "[4611686018427387904]", "0", "0") "}", 0, OX_ERR_FORMAT,
         "elements of F32 are not"},
        {"{" ENTRY("a", "U8", "[0,4611686018427387904,4]", "0", "0") "}", 0, OX_ERR_FORMAT,
         "more elements than memory"},
        {"{" ENTRY("a", "F32", "[2]", "0", "7") "}", 7, OX_ERR_FORMAT,
         "2 elements of F32 are not the 7 bytes"},
        {"{" ENTRY("a", "F32", "[2]", "0", "9") "}", 9, OX_ERR_FORMAT, "are not the 9 bytes"},
        {"{" ENTRY("a", "F4", "[3]", "0", "1") "}", 1, OX_ERR_FORMAT, "3 elements of F4"},
        {"{" ENTRY("a", "F32", "[2]", "8", "0") "}", 8, OX_ERR_FORMAT, "run backwards"},
        {"{" ENTRY("a", "F32", "[2]", "-8", "0") "}", 8, OX_ERR_FORMAT, "data_offsets holds something other"},
        {"{" ENTRY("a", "F32", "[2]", "0", "8,9") "}", 8, OX_ERR_FORMAT, "data_offsets is not a pair"},
        {"{\"a\":{\"data_offsets\":[0]}}", 8, OX_ERR_FORMAT, "data_offsets is not a pair"},
        {"{" ENTRY("a", "F32", "[2]", "0", "8") "}", 7, OX_ERR_FORMAT,
         "tensor 'a': data_offsets [0,8] reach beyond the 7 bytes"},
        {"{" ENTRY("a", "F32", "[2]", "9223372036854775799", "9223372036854775807") "}", 8, OX_ERR_FORMAT,
         "reach beyond"},
        {"{" ENTRY("a", "F32", "[2]", "1", "18446744073709551615") "}", 8, OX_ERR_FORMAT,
         "data_offsets holds"},
        {"{" ENTRY("a", "F32", "[2]", "0", "8") "}", 9, OX_ERR_FORMAT, "1 bytes follow the last tensor"},
        {"{}", 1, OX_ERR_FORMAT, "1 bytes follow"},
        {"{" ENTRY("a", "U8", "[1]", "1", "2") "}", 2, OX_ERR_FORMAT, "behind a hole"},
        {"{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("b", "U8", "[1]", "2", "3") "}", 3, OX_ERR_FORMAT,
         "tensor 'b': data starts at 2"},
        {"{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "1", "3") "}", 3, OX_ERR_FORMAT,
         "inside the one before"},
        {"{" ENTRY("a", "U8", "[2]", "0", "2") "," ENTRY("b", "U8", "[2]", "0", "2") "}", 2, OX_ERR_FORMAT,
         "inside the one before"},
        {"{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("a", "U8", "[1]", "1", "2") "}", 2, OX_ERR_FORMAT,
         "'a' occurs twice"},
        {"{" ENTRY("a", "U8", "[1]", "0", "1") "," ENTRY("\\u0061", "U8", "[1]", "1", "2") "}", 2,
         OX_ERR_FORMAT, "'a' occurs twice"},
        {"{" ENTRY("a\\u0000b", "U8", "[1]", "0", "1") "}", 1, OX_ERR_FORMAT, "zero byte"},
        {"{\"__metadata__\":1}", 0, OX_ERR_FORMAT, "__metadata__ is no object"},
        {"{\"__metadata__\":{\"a\":1}}", 0, OX_ERR_FORMAT, "value is no string"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, OX_ERR_FORMAT, "metadata key 'a' occurs twice"},
        {"{" ENTRY("a", "F4", "[4]", "0", "2") "}", 2, OX_ERR_UNSUPPORTED,
         "array 'a': dtype F4 is not supported"},
        {"{" ENTRY("a", "F8_E8M0", "[2]", "0", "2") "}", 2, OX_ERR_UNSUPPORTED,
         "dtype F8_E8M0 is not supported"},
        {"{" ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,1]", "0", "1") "}", 1, OX_ERR_UNSUPPORTED, "it has 9 dims"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ox_status status = header_status(cases[i].header, (size_t)cases[i].bytes);
        CHECK_MSG(status == cases[i].status && strstr(said, cases[i].words), "%s: %d %s", cases[i].header,
                  (int)status, said);
    }
}

static void test_lengths(void) {
    static const uint64_t lengths[] = {0,
                                       1,
                                       7,
                                       8,
                                       59,
                                       61,
                                       69,
                                       70,
                                       100000000,
                                       100000001,
                                       0x7FFFFFFF,
                                       0x80000000u,
                                       0xFFFFFFFFu,
                                       0x100000000u,
                                       0x7FFFFFFFFFFFFFFFu,
                                       0x8000000000000000u,
                                       UINT64_MAX - 8,
                                       UINT64_MAX};
    static const char header[] = "{" ENTRY("a", "F32", "[2]", "0", "8") "}  ";
    gguf_bytes b = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        b.count = 0;
        gguf_number(&b, lengths[i], 8);
        gguf_put(&b, header, sizeof header - 1);
        gguf_number(&b, 0, 8);
        ox_file *file = open_bytes(b.data, b.count);
        CHECK_MSG(!file && ox_error() == OX_ERR_FORMAT, "length %llu: %s", (unsigned long long)lengths[i],
                  ox_error_text());
        ox_file_close(file);
        ox_error_clear();
    }
    b.count = 0;
    gguf_string(&b, header, sizeof header - 1);
    gguf_number(&b, 0, 8);
    for (size_t cut = 0; cut <= b.count; cut++) {
        ox_file *file = open_bytes(b.data, cut);
        CHECK_MSG((file != NULL) == (cut == b.count) && (file || ox_error() == OX_ERR_FORMAT),
                  "cut to %d: %s", (int)cut, ox_error_text());
        ox_file_close(file);
        ox_error_clear();
    }
    free(b.data);
}

/* Numbers at an address that is not a multiple of their size are copied, others are not. */
static void test_places(void) {
    for (int blanks = 0; blanks < 8; blanks++) {
        gguf_bytes b = {NULL, 0, 0};
        char header[200];
        snprintf(header, sizeof header,
                 "{" ENTRY("n", "F4", "[2]", "4", "5") "," ENTRY("a", "F32", "[1]", "0", "4") "}%*s", blanks,
                 "");
        gguf_string(&b, header, strlen(header));
        gguf_number(&b, gguf_float_bits(2.5f), 4);
        gguf_number(&b, 0, 1);
        ox_file *file = open_bytes(b.data, b.count);
        ox_tensor *t = ox_file_tensor(file, "a"), *again = ox_file_tensor_at(file, 0);
        CHECK_MSG(t && *(const float *)ox_data(t) == 2.5f, "%s", ox_error_text());
        int shared = little_endian() && (8 + strlen(header)) % 4 == 0;
        CHECK((ox_data(t) == ox_data(again)) == shared);
        ox_file_entry entry;
        CHECK(ox_file_get_entry(file, 1, &entry) == OX_OK && entry.dtype == OX_DTYPE_NONE &&
              entry.bytes == 1);
        CHECK(!ox_file_tensor(file, "n") && ox_error() == OX_ERR_UNSUPPORTED &&
              strstr(ox_error_text(), "tensor 'n': dtype F4"));
        ox_error_clear();
        ox_file_close(file);
        CHECK(t && *(const float *)ox_data(t) == 2.5f);
        ox_release(t);
        ox_release(again);
        free(b.data);
    }
}

/* ---- shards ------------------------------------------------------------------------------------------ */

static char folder[600];

static const char *in_folder(const char *name) {
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* An index with this weight_map; the status of opening it. */
static ox_status index_status(const char *weight_map) {
    char text[1000];
    ox_error_clear();
    snprintf(text, sizeof text, "{\"weight_map\": %s}", weight_map);
    write_file(in_folder("x.safetensors.index.json"), text, strlen(text));
    ox_file *file = ox_file_open(in_folder("x.safetensors.index.json"), NULL);
    ox_status status = ox_error();
    snprintf(said, sizeof said, "%s", ox_error_text());
    if (file) (void)walk_file(file);
    ox_file_close(file);
    ox_error_clear();
    return status;
}

static void check_index(const char *weight_map, ox_status status, const char *words) {
    ox_status got = index_status(weight_map);
    CHECK_MSG(got == status && strstr(said, words), "%s: %d %s", weight_map, (int)got, said);
}

#define SHARD(n) "model-0000" n "-of-00003.safetensors"

static void test_hostile_indexes(void) {
    check_index("{}", OX_OK, "");
    check_index("{\"w0\":\"" SHARD("1") "\",\"w4\":\"" SHARD("3") "\"}", OX_OK,
                ""); /* a part of what is there */
    check_index("[]", OX_ERR_FORMAT, "weight_map is no object");
    check_index("{\"w0\":1}", OX_ERR_FORMAT, "tensor 'w0': its shard is no string");
    check_index("{\"w0\":\"\"}", OX_ERR_FORMAT, "no plain file name");
    check_index("{\"w0\":\"../x.safetensors\"}", OX_ERR_FORMAT, "no plain file name");
    check_index("{\"w0\":\"..\"}", OX_ERR_FORMAT, "no plain file name");
    check_index("{\"w0\":\"/etc/passwd\"}", OX_ERR_FORMAT, "no plain file name");
    check_index("{\"w0\":\"a\\\\b\"}", OX_ERR_FORMAT, "no plain file name");
    check_index("{\"w0\":\"a\\u0000b\"}", OX_ERR_FORMAT, "no plain file name");
    check_index("{\"w0\":\"missing.safetensors\"}", OX_ERR_IO, "missing.safetensors");
    check_index("{\"w0\":\"x.safetensors.index.json\"}", OX_ERR_FORMAT, "x.safetensors.index.json");
    check_index("{\"w0\":\"" SHARD("2") "\"}", OX_ERR_FORMAT, "tensor 'w0' is not in its shard 'model-00002");
    check_index("{\"none\":\"" SHARD("1") "\"}", OX_ERR_FORMAT, "tensor 'none' is not in its shard");
    check_index("{\"w0\":\"" SHARD("1") "\",\"w0\":\"" SHARD("1") "\"}", OX_ERR_FORMAT,
                "weight_map names tensor 'w0' twice");
    check_index("{}, \"weight_map\": {}", OX_ERR_FORMAT, "weight_map occurs twice");
    check_index("{}, \"metadata\": []", OX_ERR_FORMAT, "metadata is no object");
    check_index("{}, \"other\": [{}]", OX_OK, "");
    check_index("{}} x", OX_ERR_FORMAT, "JSON");
    write_file(in_folder("x.safetensors.index.json"), "{\"other\": 1}", 12);
    CHECK(!ox_file_open(in_folder("x.safetensors.index.json"), NULL) &&
          strstr(ox_error_text(), "without a weight_map"));
    ox_error_clear();
    remove(in_folder("x.safetensors.index.json"));
}

static void test_shards(void) {
    static const char *const metadata[] = {"format", "pt"};
    static const char *const names[] = {"w0", "w1", "w2", "w3", "w4"};
    char text[2000];
    ox_tensor *t[5];
    snprintf(folder, sizeof folder, "%s", gguf_path("shards"));
    (void)make_folder(folder);
    OX_SCOPE {
        for (int i = 0; i < 5; i++) t[i] = ox_full(OX_SHAPE(10), i, OX_F32);
        CHECK_MSG(ox_save_safetensors(in_folder("model.safetensors"), names, t, 5, metadata, 1, 100) == OX_OK,
                  "%s", ox_error_text());
        CHECK(read_file(in_folder("model.safetensors"), text, 1) == 0 &&
              read_file(in_folder(SHARD("3")), text, 1) == 1);
        text[read_file(in_folder("model.safetensors.index.json"), text, sizeof text - 1)] = 0;
        CHECK_MSG(
            strcmp(text,
                   "{\n  \"metadata\": {\n    \"total_size\": 200\n  },\n  \"weight_map\": {\n    \"w0\": "
                   "\"" SHARD("1") "\",\n"
                                   "    \"w1\": \"" SHARD("1") "\",\n    \"w2\": \"" SHARD(
                                       "2") "\",\n    \"w3\": \"" SHARD("2") "\",\n"
                                                                             "    \"w4\": \"" SHARD(
                                                                                 "3") "\"\n  }\n}\n") == 0,
            "%s", text);
        for (int way = 0; way < 6; way++) { /* by the index, by the folder, by the folder with a slash */
            const char *path = way % 3 == 0   ? in_folder("model.safetensors.index.json")
                               : way % 3 == 1 ? folder
                                              : in_folder("");
            ox_file *file = way < 3 ? ox_file_open(path, NULL) : ox_file_open_copy(path, NULL);
            CHECK_MSG(file && ox_file_count(file) == 5 && strcmp(ox_file_format(file), "safetensors") == 0,
                      "%s", ox_error_text());
            for (int i = 0; i < 5; i++) {
                CHECK_MSG(same_tensor(ox_file_tensor(file, names[i]), t[i]), "%s", names[i]);
                CHECK(strcmp(ox_file_name(file, i), names[i]) == 0);
            }
            CHECK(ox_file_meta_int(file, "total_size", 0) == 200 &&
                  ox_file_meta_find(file, "format").type == OX_FILE_META_STRING);
            ox_file_close(file);
        }
        test_hostile_indexes();
        remove(in_folder(SHARD("2")));
        CHECK(!ox_file_open(folder, NULL) && ox_error() == OX_ERR_IO && strstr(ox_error_text(), SHARD("2")));
        ox_error_clear();
        remove(in_folder("model.safetensors.index.json"));
        ox_file *file = ox_file_open(folder, NULL);
        int listed = ox_error() == OX_ERR_NOT_FOUND;
        CHECK(!file && (!listed || strstr(ox_error_text(), "2 safetensors files and 0 indexes")));
        if (!listed) check_skip("folders without an index", ox_error_text()); /* 32-bit readdir under qemu */
        ox_error_clear();
        remove(in_folder(SHARD("3")));
        file = ox_file_open(folder, NULL); /* the one file that is left */
        CHECK(!listed || (file && ox_file_count(file) == 2));
        ox_file_close(file);
        CHECK(rename(in_folder(SHARD("1")), in_folder("model.safetensors")) == 0);
        file = ox_file_open(folder, NULL);
        CHECK(file && ox_file_count(file) == 2);
        ox_file_close(file);
        remove(in_folder("model.safetensors"));
        CHECK(!ox_file_open(folder, NULL) && (!listed || ox_error() == OX_ERR_NOT_FOUND));
        ox_error_clear();
    }
    CHECK(remove_folder(folder) == 0); /* no temporary file is left */
}

int main(void) {
    test_reference_bytes();
    test_every_dtype();
    test_refused_saves();
    test_headers();
    test_lengths();
    test_places();
    test_shards();
    CHECK(ox_set_allocator(NULL) == OX_OK); /* also gives headers of tensors back */
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bytes_in_use == 0);
    return check_done("safetensors");
}
