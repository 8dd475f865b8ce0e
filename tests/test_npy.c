/* test_npy.c - .npy and .npz: every dtype, byte orders, strides, NumPy's own files, truncation, hostile
 * headers. OX_QEMU: short enough to be emulated. */
#define _GNU_SOURCE 1
#include "oxtorch.h"

#include "check.h"
#include "file_walk.h"
#include "gguf_make.h"

#if defined(__unix__)
#include <sys/stat.h>
#include <unistd.h>
#endif

/* ---- made by numpy 2.4: np.savez(a=arange(2, float32), b=int64(7)); np.savez_compressed(x=arange(24, int16)
 * as [4,6], y=zeros(300)) ------------------------------------------------------------------------------- */

static const unsigned char stored_npz[506] = {
    80,  75,  3,   4,   45,  0,   0,   0,   0,   0,   0,   0,   33,  0,   243, 5,   83,  33,  255, 255, 255,
    255, 255, 255, 255, 255, 5,   0,   20,  0,   97,  46,  110, 112, 121, 1,   0,   16,  0,   136, 0,   0,
    0,   0,   0,   0,   0,   136, 0,   0,   0,   0,   0,   0,   0,   147, 78,  85,  77,  80,  89,  1,   0,
    118, 0,   123, 39,  100, 101, 115, 99,  114, 39,  58,  32,  39,  60,  102, 52,  39,  44,  32,  39,  102,
    111, 114, 116, 114, 97,  110, 95,  111, 114, 100, 101, 114, 39,  58,  32,  70,  97,  108, 115, 101, 44,
    32,  39,  115, 104, 97,  112, 101, 39,  58,  32,  40,  50,  44,  41,  44,  32,  125, 32,  32,  32,  32,
    32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,
    32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,
    32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  10,  0,   0,   0,   0,   0,   0,
    128, 63,  80,  75,  3,   4,   45,  0,   0,   0,   0,   0,   0,   0,   33,  0,   35,  184, 240, 108, 255,
    255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,   98,  46,  110, 112, 121, 1,   0,   16,  0,   136,
    0,   0,   0,   0,   0,   0,   0,   136, 0,   0,   0,   0,   0,   0,   0,   147, 78,  85,  77,  80,  89,
    1,   0,   118, 0,   123, 39,  100, 101, 115, 99,  114, 39,  58,  32,  39,  60,  105, 56,  39,  44,  32,
    39,  102, 111, 114, 116, 114, 97,  110, 95,  111, 114, 100, 101, 114, 39,  58,  32,  70,  97,  108, 115,
    101, 44,  32,  39,  115, 104, 97,  112, 101, 39,  58,  32,  40,  41,  44,  32,  125, 32,  32,  32,  32,
    32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,
    32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,
    32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  10,  7,   0,   0,   0,
    0,   0,   0,   0,   80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   0,   0,   0,   0,   33,  0,   243,
    5,   83,  33,  136, 0,   0,   0,   136, 0,   0,   0,   5,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,   0,   128, 1,   0,   0,   0,   0,   97,  46,  110, 112, 121, 80,  75,  1,   2,   45,  3,   45,  0,
    0,   0,   0,   0,   0,   0,   33,  0,   35,  184, 240, 108, 136, 0,   0,   0,   136, 0,   0,   0,   5,
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128, 1,   191, 0,   0,   0,   98,  46,  110, 112,
    121, 80,  75,  5,   6,   0,   0,   0,   0,   2,   0,   2,   0,   102, 0,   0,   0,   126, 1,   0,   0,
    0,   0,
};
static const unsigned char deflated_npz[440] = {
    80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   77,  98,  98,  237, 255, 255, 255,
    255, 255, 255, 255, 255, 5,   0,   20,  0,   120, 46,  110, 112, 121, 1,   0,   16,  0,   176, 0,   0,
    0,   0,   0,   0,   0,   118, 0,   0,   0,   0,   0,   0,   0,   155, 236, 23,  234, 27,  16,  201, 200,
    80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160, 110, 147, 105, 164, 174, 163, 160, 158,
    150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,  18,  119, 75,  204, 41,  78,  5,   138, 23,
    103, 36,  22,  164, 2,   249, 26,  38,  58,  10,  102, 154, 58,  10,  181, 10,  100, 3,   46,  6,   6,
    70,  6,   38,  6,   102, 6,   22,  6,   86,  6,   54,  6,   118, 6,   14,  6,   78,  6,   46,  6,   110,
    6,   30,  6,   94,  6,   62,  6,   126, 6,   1,   6,   65,  6,   33,  6,   97,  6,   17,  6,   81,  6,
    49,  6,   113, 6,   0,   80,  75,  3,   4,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   116, 168,
    152, 129, 255, 255, 255, 255, 255, 255, 255, 255, 5,   0,   20,  0,   121, 46,  110, 112, 121, 1,   0,
    16,  0,   224, 9,   0,   0,   0,   0,   0,   0,   88,  0,   0,   0,   0,   0,   0,   0,   155, 236, 23,
    234, 27,  16,  201, 200, 80,  198, 80,  173, 158, 146, 90,  156, 92,  164, 110, 165, 160, 110, 147, 102,
    161, 174, 163, 160, 158, 150, 95,  84,  82,  148, 152, 23,  159, 95,  148, 146, 10,  18,  119, 75,  204,
    41,  78,  5,   138, 23,  103, 36,  22,  164, 2,   249, 26,  198, 6,   6,   58,  154, 58,  10,  181, 10,
    100, 3,   46,  134, 81,  48,  10,  70,  193, 40,  24,  5,   163, 96,  20,  140, 130, 81,  64,  85,  0,
    0,   80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,   0,   0,   0,   33,  0,   77,  98,  98,  237,
    118, 0,   0,   0,   176, 0,   0,   0,   5,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128,
    1,   0,   0,   0,   0,   120, 46,  110, 112, 121, 80,  75,  1,   2,   45,  3,   45,  0,   0,   0,   8,
    0,   0,   0,   33,  0,   116, 168, 152, 129, 88,  0,   0,   0,   224, 9,   0,   0,   5,   0,   0,   0,
    0,   0,   0,   0,   0,   0,   0,   0,   128, 1,   173, 0,   0,   0,   121, 46,  110, 112, 121, 80,  75,
    5,   6,   0,   0,   0,   0,   2,   0,   2,   0,   102, 0,   0,   0,   60,  1,   0,   0,   0,   0,
};

static char said[600];
static ox_status open_status(const void *data, size_t bytes) {
    ox_error_clear();
    size_t before = ox_memory_get_stats().bytes_in_use;
    ox_file *file = open_bytes(data, bytes);
    ox_status status = ox_error();
    snprintf(said, sizeof said, "%s", ox_error_text());
    CHECK_MSG((file != NULL) == (status == OX_OK), "status %d: %s", (int)status, said);
    if (file) (void)walk_file(file);
    ox_file_close(file);
    ox_error_clear();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    return status;
}

static const char *scratch_path(const char *name) { return gguf_path(name); }

static int file_exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

/* An .npy file: version, header as it is, numbers. */
static void make_npy(gguf_bytes *b, int version, const char *header, const void *data, size_t bytes) {
    const unsigned char lead[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    b->count = 0;
    gguf_put(b, lead, 8);
    gguf_number(b, strlen(header), version == 1 ? 2 : 4);
    gguf_put(b, header, strlen(header));
    gguf_put(b, data, bytes);
}

/* ---- written and read -------------------------------------------------------------------------------- */

static void check_same(ox_tensor *t, ox_tensor *expected, const char *what) {
    int same = t && expected && t->dtype == expected->dtype && t->ndim == expected->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = t->shape[d] == expected->shape[d];
    size_t bytes = ox_nbytes(expected);
    unsigned char *a = (unsigned char *)malloc(bytes + 1), *b = (unsigned char *)malloc(bytes + 1);
    same = same && a && b && ox_to_data(t, a, bytes) == OX_OK && ox_to_data(expected, b, bytes) == OX_OK &&
           memcmp(a, b, bytes) == 0;
    CHECK_MSG(same, "%s: %s", what, ox_error_text());
    free(a);
    free(b);
}

static void check_round_trip(ox_tensor *t, const char *what) {
    const char *path = scratch_path("round.npy");
    CHECK_MSG(ox_save_npy(path, t) == OX_OK, "%s: %s", what, ox_error_text());
    ox_tensor *read = ox_load_file(path);
    check_same(read, t, what);
    ox_release(read);
    remove(path);
}

static void test_every_dtype(void) {
    unsigned char data[3 * 5 * 8];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 11);
    for (int d = 1; d < OX_DTYPE_COUNT; d++) {
        const ox_dtype_info *info = ox_dtype_get_info((ox_dtype)d);
        if (info->block_elements != 1) continue;
        if (d == OX_BOOL) memset(data, 1, 8);
        OX_SCOPE {
            ox_tensor *t = ox_from_data(data, OX_SHAPE(3, 5), (ox_dtype)d);
            if (info->npy[0]) {
                check_round_trip(t, info->name);
                check_round_trip(ox_transpose(t, 0, 1), info->name);
                check_round_trip(ox_narrow(t, 1, 1, 3), info->name);
                check_round_trip(ox_expand(ox_narrow(t, 0, 1, 1), OX_SHAPE(4, 5)), info->name);
                check_round_trip(ox_select(ox_select(t, 0, 2), 0, 1), info->name);
            } else {
                CHECK(ox_save_npy(scratch_path("none.npy"), t) == OX_ERR_UNSUPPORTED);
                CHECK_MSG(strstr(ox_error_text(), info->name), "%s", ox_error_text());
                CHECK(!file_exists(scratch_path("none.npy")));
                ox_error_clear();
            }
        }
    }
    OX_SCOPE {
        CHECK(ox_save_npy(scratch_path("none.npy"), ox_empty(OX_SHAPE(32), OX_Q4_0)) == OX_ERR_UNSUPPORTED);
        ox_error_clear();
        check_round_trip(ox_zeros(OX_SHAPE(0), OX_F32), "[0]");
        check_round_trip(ox_zeros(OX_SHAPE(3, 0, 2), OX_I64), "[3,0,2]");
        check_round_trip(ox_ones(OX_SHAPE(1, 2, 1, 2, 1, 2, 1, 2), OX_F64), "8 dims");
    }
}

/* The bytes of a small file, so that NumPy's reader is satisfied too. */
static void test_written_bytes(void) {
    static const char expected[] =
        "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    const char *path = scratch_path("bytes.npy");
    unsigned char data[200];
    ox_tensor *t = ox_arange(0, 6, 1, OX_F32), *shaped = ox_reshape(t, OX_SHAPE(2, 3));
    CHECK(ox_save_npy(path, shaped) == OX_OK);
    FILE *file = fopen(path, "rb");
    size_t bytes = file ? fread(data, 1, sizeof data, file) : 0;
    if (file) fclose(file);
    CHECK(bytes == 128 + 24 && memcmp(data, expected, sizeof expected - 1) == 0 && data[127] == '\n' &&
          data[126] == ' ');
    ox_release(shaped);
    ox_release(t);
    remove(path);
}

/* A file is replaced whole or not at all. */
static void test_failed_write(void) {
    const char *path = scratch_path("kept.npy");
    ox_tensor *t = ox_ones(OX_SHAPE(4), OX_F32), *bad = ox_ones(OX_SHAPE(4), OX_BF16);
    CHECK(ox_save_npy(path, t) == OX_OK);
    CHECK(ox_save_npy(path, bad) == OX_ERR_UNSUPPORTED);
    ox_error_clear();
    ox_tensor *read = ox_load_file(path);
    check_same(read, t, "the file that was there");
    ox_release(read);
    remove(path);
    CHECK(ox_save_npy(scratch_path("no/such/folder/x.npy"), t) == OX_ERR_IO);
    CHECK_MSG(strstr(ox_error_text(), "x.npy: cannot be created"), "%s", ox_error_text());
    ox_error_clear();
    CHECK(ox_save_npy(NULL, t) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_save_npy(path, NULL) == OX_ERR_ARG && !file_exists(path));
    ox_error_clear();
    ox_release(t);
    ox_release(bad);
}

/* The folder is flushed as well: one that may not be read, and the current one, which a bare name is in. */
static void test_folders(void) {
#if defined(__unix__)
    char folder[600], path[700], before[1024];
    ox_tensor *t = ox_ones(OX_SHAPE(4), OX_F32);
    snprintf(folder, sizeof folder, "%s", scratch_path("dark"));
    snprintf(path, sizeof path, "%s/x.npy", folder);
    CHECK(mkdir(folder, 0300) == 0);
    CHECK_MSG(ox_save_npy(path, t) == OX_OK && file_exists(path), "%s", ox_error_text());
    if (getcwd(before, sizeof before) && chdir(folder) == 0) {
        CHECK_MSG(ox_save_npy("bare.npy", t) == OX_OK && file_exists("bare.npy"), "%s", ox_error_text());
        remove("bare.npy");
        CHECK(chdir(before) == 0);
    }
    remove(path);
    CHECK(rmdir(folder) == 0); /* no temporary file is left */
    ox_error_clear();
    ox_release(t);
#endif
}

/* ---- headers ----------------------------------------------------------------------------------------- */

#define DICT(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

static void test_headers(void) {
    static const struct {
        int version;
        const char *header;
        int bytes;
        ox_status status;
        const char *words;
    } cases[] = {
        {1, DICT("'<f4'", "False", "(2,)"), 8, OX_OK, ""},
        {2, DICT("'<f4'", "False", "(2,)"), 8, OX_OK, ""},
        {3, DICT("'<f4'", "False", "(2,)"), 8, OX_OK, ""},
        {1, DICT("'|i1'", "True", "()"), 1, OX_OK, ""},
        {1, DICT("'<i1'", "True", "()"), 1, OX_OK, ""},
        {1, DICT("\"<u2\"", "False", "( 1 , 2 , )"), 4, OX_OK, ""},
        {1, "{'shape':(2L,),'fortran_order':False,'descr':'<f4'}", 8, OX_OK, ""},
        {1, "  { 'shape' : (2,3) , 'descr' : '>i8' , 'fortran_order' : True }   \n\n", 48, OX_OK, ""},
        {1, DICT("'=f4'", "False", "(2,)"), 8, OX_OK, ""},
        {0, DICT("'<f4'", "False", "(2,)"), 8, OX_ERR_FORMAT, "version 0.0"},
        {4, DICT("'<f4'", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "version 4.0"},
        {1, DICT("'|O'", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "dtype '|O' holds pickled Python objects"},
        {1, DICT("'|O8'", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "pickled"},
        {1, DICT("[('a', '<i4')]", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "structured"},
        {1, DICT("('<i4', (2,))", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "structured"},
        {1, DICT("'<c16'", "False", "(2,)"), 32, OX_ERR_UNSUPPORTED, "dtype '<c16' is not supported"},
        {1, DICT("'<f16'", "False", "(2,)"), 32, OX_ERR_UNSUPPORTED, "'<f16'"},
        {1, DICT("'<U5'", "False", "(2,)"), 40, OX_ERR_UNSUPPORTED, "'<U5'"},
        {1, DICT("'|S5'", "False", "(2,)"), 10, OX_ERR_UNSUPPORTED, "'|S5'"},
        {1, DICT("'|V2'", "False", "(2,)"), 4, OX_ERR_UNSUPPORTED, "'|V2'"},
        {1, DICT("'<M8[ns]'", "False", "(2,)"), 16, OX_ERR_UNSUPPORTED, "'<M8[ns]'"},
        {1, DICT("'|f4'", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "'|f4'"},
        {1, DICT("'f4'", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "'f4'"},
        {1, DICT("''", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "''"},
        {1, DICT("'<'", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "'<'"},
        {1, DICT("4", "False", "(2,)"), 8, OX_ERR_FORMAT, "descr is no short string"},
        {1, DICT("'<f4", "False", "(2,)"), 8, OX_ERR_UNSUPPORTED, "dtype '<f4, '"},
        {1, DICT("'<f4'", "0", "(2,)"), 8, OX_ERR_FORMAT, "neither True nor False"},
        {1, DICT("'<f4'", "true", "(2,)"), 8, OX_ERR_FORMAT, "neither True nor False"},
        {1, DICT("'<f4'", "False", "(2)"), 8, OX_ERR_FORMAT, "shape is no tuple"},
        {1, DICT("'<f4'", "False", "2"), 8, OX_ERR_FORMAT, "shape is no tuple"},
        {1, DICT("'<f4'", "False", "[2]"), 8, OX_ERR_FORMAT, "shape is no tuple"},
        {1, DICT("'<f4'", "False", "(-2,)"), 8, OX_ERR_FORMAT, "not negative"},
        {1, DICT("'<f4'", "False", "(2.0,)"), 8, OX_ERR_FORMAT, "expected ',' or ')'"},
        {1, DICT("'<f4'", "False", "(,)"), 8, OX_ERR_FORMAT, "shape"},
        {1, DICT("'<f4'", "False", "(2,,)"), 8, OX_ERR_FORMAT, "shape"},
        {1, DICT("'<f4'", "False", "(2 3)"), 24, OX_ERR_FORMAT, "shape"},
        {1, DICT("'<f4'", "False", "(2,"), 8, OX_ERR_FORMAT, "shape"},
        {1, DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,2)"), 8, OX_ERR_UNSUPPORTED, "more than 8 dims"},
        {1, DICT("'<f4'", "False", "(9223372036854775808,)"), 8, OX_ERR_FORMAT, "too large"},
        {1, DICT("'<f4'", "False", "(9223372036854775807,)"), 8, OX_ERR_FORMAT, "more elements than memory"},
        {1, DICT("'<f4'", "False", "(4294967296, 4294967296)"), 8, OX_ERR_FORMAT,
         "more elements than memory"},
        {1, DICT("'<f4'", "False", "(0, 9223372036854775807, 3)"), 0, OX_ERR_FORMAT,
         "more elements than memory"},
        {1, DICT("'<f4'", "False", "(3,)"), 8, OX_ERR_FORMAT, "f32[3] has 12 bytes, but 8 follow"},
        {1, DICT("'<f4'", "False", "(2,)"), 9, OX_ERR_FORMAT, "f32[2] has 8 bytes, but 9 follow"},
        {1, DICT("'<f4'", "False", "(200000000,)"), 8, OX_ERR_FORMAT, "follow the header"},
        {1, "{'descr': '<f4', 'fortran_order': False}", 8, OX_ERR_FORMAT, "missing"},
        {1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8, OX_ERR_FORMAT,
         "key occurs twice"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", 8, OX_ERR_FORMAT,
         "unknown key"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", 8, OX_ERR_FORMAT,
         "text after the dict"},
        {1, "{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", 8, OX_ERR_FORMAT,
         "expected ',' or '}'"},
        {1, "{'descr' '<f4', 'fortran_order': False, 'shape': (2,)}", 8, OX_ERR_FORMAT, "expected ':'"},
        {1, "{descr: '<f4'}", 8, OX_ERR_FORMAT, "expected a key"},
        {1, "{", 8, OX_ERR_FORMAT, "expected a key"},
        {1, "", 8, OX_ERR_FORMAT, "no dict"},
        {1, "__import__('os').system('true')", 8, OX_ERR_FORMAT, "no dict"},
    };
    unsigned char data[64] = {0};
    gguf_bytes b = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_npy(&b, cases[i].version, cases[i].header, data, (size_t)cases[i].bytes);
        ox_status status = open_status(b.data, b.count);
        CHECK_MSG(status == cases[i].status && strstr(said, cases[i].words), "%s: %d %s", cases[i].header,
                  (int)status, said);
    }
    for (int version = 1; version <= 3; version++) { /* lengths of the header that lie */
        static const uint64_t lengths[] = {0,     1,          9999,        10000,      10001,
                                           65535, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu};
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            make_npy(&b, version, DICT("'<f4'", "False", "(2,)"), data, 8);
            for (int k = 0; k < (version == 1 ? 2 : 4); k++)
                b.data[8 + k] = (unsigned char)(lengths[i] >> (8 * k));
            CHECK_MSG(open_status(b.data, b.count) == OX_ERR_FORMAT, "header length %llu",
                      (unsigned long long)lengths[i]);
        }
        make_npy(&b, version, DICT("'<f4'", "False", "(2,)"), data, 8);
        for (size_t cut = 0; cut < b.count; cut++)
            CHECK_MSG(open_status(b.data, cut) == OX_ERR_FORMAT, "cut to %d", (int)cut);
    }
    free(b.data);
}

/* [[0,1,2],[3,4,5]] in both byte orders and both orders of elements, as every type of number. */
static void test_orders(void) {
    static const ox_dtype types[] = {OX_U8,  OX_I8,  OX_U16, OX_I16, OX_U32,
                                     OX_I32, OX_U64, OX_I64, OX_F32, OX_F64};
    gguf_bytes b = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (int kind = 0; kind < 4; kind++) {
            const ox_dtype_info *info = ox_dtype_get_info(types[i]);
            int big = kind & 1, fortran = kind >> 1, size = info->block_bytes;
            char header[128];
            unsigned char data[48];
            for (int k = 0; k < 6; k++) {
                int value = fortran ? k % 2 * 3 + k / 2 : k;
                float narrow = (float)value;
                double wide = value;
                uint64_t bits = (uint64_t)value;
                if (types[i] == OX_F32) bits = gguf_float_bits(narrow);
                if (types[i] == OX_F64) memcpy(&bits, &wide, 8);
                for (int byte = 0; byte < size; byte++)
                    data[k * size + (big ? size - 1 - byte : byte)] = (unsigned char)(bits >> (8 * byte));
            }
            snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (2, 3)}",
                     big ? '>' : '<', info->npy + 1, fortran ? "True" : "False");
            make_npy(&b, 1, header, data, 6 * (size_t)size);
            ox_file *file = open_bytes(b.data, b.count);
            ox_tensor *t = ox_file_tensor(file, "arr_0");
            double out[6] = {9, 9, 9, 9, 9, 9};
            CHECK_MSG(t && t->dtype == types[i] && t->shape[0] == 2 && t->shape[1] == 3, "%s: %s", header,
                      ox_error_text());
            CHECK_MSG(t && t->stride[0] == (fortran ? 1 : 3) && t->stride[1] == (fortran ? 2 : 1), "%s",
                      header);
            CHECK(ox_to_doubles(t, out, 6) == OX_OK);
            for (int k = 0; k < 6; k++) CHECK_MSG(out[k] == k, "%s: [%d] is %g", header, k, out[k]);
            ox_release(t);
            ox_file_close(file);
        }
    /* a complex number turns round in halves */
    const unsigned char number[8] = {0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0};
    make_npy(&b, 1, "{'descr': '>c8', 'fortran_order': False, 'shape': ()}", number, 8);
    ox_file *file = open_bytes(b.data, b.count);
    ox_tensor *t = ox_file_tensor_at(file, 0);
    CHECK(t && ((float *)ox_data(t))[0] == 1.0f && ((float *)ox_data(t))[1] == -2.0f);
    ox_release(t);
    ox_file_close(file);
    free(b.data);
}

/* ---- .npz -------------------------------------------------------------------------------------------- */

static void test_numpy_archives(void) {
    ox_file *file = open_bytes(stored_npz, sizeof stored_npz);
    CHECK_MSG(file && strcmp(ox_file_format(file), "npz") == 0 && ox_file_count(file) == 2, "%s",
              ox_error_text());
    ox_tensor *a = ox_file_tensor(file, "a"), *b = ox_file_tensor(file, "b");
    CHECK(a && a->dtype == OX_F32 && a->ndim == 1 && a->shape[0] == 2 && ((float *)ox_data(a))[1] == 1.0f);
    CHECK(b && b->dtype == OX_I64 && b->ndim == 0 && *(int64_t *)ox_data(b) == 7);
    CHECK(!ox_file_tensor(file, "a.npy") && ox_error() == OX_ERR_NOT_FOUND);
    ox_error_clear();
    ox_file_close(file);
    ox_release(a);
    ox_release(b);
    file = open_bytes(deflated_npz, sizeof deflated_npz);
    ox_tensor *x = ox_file_tensor(file, "x"), *y = ox_file_tensor(file, "y");
    CHECK_MSG(x && x->dtype == OX_I16 && x->shape[0] == 4 && x->shape[1] == 6, "%s", ox_error_text());
    for (int i = 0; x && i < 24; i++) CHECK(((int16_t *)ox_data(x))[i] == i);
    CHECK(y && y->dtype == OX_F64 && y->shape[0] == 300 && ((double *)ox_data(y))[299] == 0);
    ox_file_close(file);
    ox_release(x);
    ox_release(y);
}

/* Cut anywhere, an archive is refused; with a changed byte, numbers are right or refused. */
static void check_damaged(const unsigned char *good, size_t bytes, const char *name) {
    unsigned char *copy = (unsigned char *)malloc(bytes);
    ox_file *whole = open_bytes(good, bytes);
    ox_tensor *expected = ox_file_tensor(whole, name);
    unsigned char numbers[64];
    size_t number_bytes = ox_nbytes(expected);
    CHECK(copy && number_bytes > 0 && ox_to_data(expected, numbers, number_bytes) == OX_OK);
    ox_release(expected);
    ox_file_close(whole);
    if (!copy) return;
    memcpy(copy, good, bytes);
    for (size_t cut = 0; cut < bytes; cut++)
        CHECK_MSG(open_status(copy, cut) != OX_OK, "cut to %d", (int)cut);
    for (size_t at = 0; at < bytes; at++) {
        static const unsigned char flips[] = {1, 0x80, 0xFF, 0x08};
        for (size_t i = 0; i < sizeof flips; i++) {
            copy[at] ^= flips[i];
            ox_error_clear();
            ox_file *file = open_bytes(copy, bytes);
            ox_tensor *t = ox_file_has(file, name) ? ox_file_tensor(file, name) : NULL;
            CHECK_MSG(!t || (ox_nbytes(t) == number_bytes && memcmp(ox_data(t), numbers, number_bytes) == 0),
                      "byte %d changed by %02x goes unseen", (int)at, flips[i]);
            ox_release(t);
            ox_file_close(file);
            copy[at] ^= flips[i];
        }
    }
    ox_error_clear();
    free(copy);
}

static void patch(unsigned char *p, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(value >> (8 * i));
}

/* Place of the n-th record with this signature, from the front. */
static size_t find_record(const unsigned char *data, size_t bytes, const char *signature, int n) {
    for (size_t at = 0; at + 4 <= bytes; at++)
        if (memcmp(data + at, signature, 4) == 0 && n-- == 0) return at;
    return 0;
}

static void check_archive(const char *what, const unsigned char *data, size_t bytes, ox_status status,
                          const char *words) {
    ox_status got = open_status(data, bytes);
    CHECK_MSG(got == status && strstr(said, words), "%s: %d %s", what, (int)got, said);
}

/* What torch.save writes: names, a pickle in place of an array. Made with zipfile. */
static const unsigned char torch_file[] = {
    0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x3d, 0xb7, 0xde,
    0x89, 0x04, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x61, 0x72, 0x63, 0x68,
    0x69, 0x76, 0x65, 0x2f, 0x64, 0x61, 0x74, 0x61, 0x2e, 0x70, 0x6b, 0x6c, 0x80, 0x02, 0x7d, 0x2e, 0x50,
    0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0xd1, 0x9e, 0x67, 0x55,
    0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x0f, 0x00, 0x00, 0x00, 0x61, 0x72, 0x63, 0x68, 0x69,
    0x76, 0x65, 0x2f, 0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x33, 0x0a, 0x50, 0x4b, 0x01, 0x02, 0x14,
    0x03, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x3d, 0xb7, 0xde, 0x89, 0x04, 0x00,
    0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x61, 0x72, 0x63, 0x68, 0x69, 0x76, 0x65, 0x2f, 0x64, 0x61,
    0x74, 0x61, 0x2e, 0x70, 0x6b, 0x6c, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x21, 0x00, 0xd1, 0x9e, 0x67, 0x55, 0x02, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
    0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x32, 0x00, 0x00,
    0x00, 0x61, 0x72, 0x63, 0x68, 0x69, 0x76, 0x65, 0x2f, 0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x50,
    0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x02, 0x00, 0x7b, 0x00, 0x00, 0x00, 0x61, 0x00,
    0x00, 0x00, 0x00, 0x00,
};

static void test_hostile_archives(void) {
    check_archive("torch.save", torch_file, sizeof torch_file, OX_ERR_UNSUPPORTED,
                  "a PyTorch file (torch.save): its pickle is a program, which is not run");
    unsigned char d[sizeof deflated_npz];
    size_t n = sizeof d;
    memcpy(d, deflated_npz, n);
    size_t local = find_record(d, n, "PK\3\4", 0), entry = find_record(d, n, "PK\1\2", 0),
           next = find_record(d, n, "PK\1\2", 1);
    size_t end = find_record(d, n, "PK\5\6", 0);
    CHECK(local == 0 && entry > 0 && next > entry && end == n - 22);
    patch(d + entry + 24, 200000000, 4);
    check_archive("a bomb", d, n, OX_ERR_FORMAT, "cannot unpack to 200000000");
    patch(d + entry + 24, 177, 4);
    check_archive("one byte more than there is", d, n, OX_ERR_FORMAT, "i16[4,6] has 48 bytes, but 49 follow");
    memcpy(d, deflated_npz, n);
    patch(d + entry + 8, 1, 2);
    check_archive("encrypted", d, n, OX_ERR_UNSUPPORTED, "'x.npy' is encrypted");
    memcpy(d, deflated_npz, n);
    patch(d + entry + 10, 12, 2);
    patch(d + local + 8, 12, 2);
    check_archive("bzip2", d, n, OX_ERR_UNSUPPORTED, "packing method 12");
    memcpy(d, deflated_npz, n);
    patch(d + entry + 10, 0, 2);
    patch(d + local + 8, 0, 2);
    check_archive("stored with two sizes", d, n, OX_ERR_FORMAT, "two sizes differ");
    memcpy(d, deflated_npz, n);
    patch(d + entry + 10, 0, 2);
    check_archive("method differs", d, n, OX_ERR_FORMAT, "local header differs");
    memcpy(d, deflated_npz, n);
    d[local + 30] = 'z';
    check_archive("name differs", d, n, OX_ERR_FORMAT, "local header differs");
    memcpy(d, deflated_npz, n);
    patch(d + next + 42, 0, 4);
    patch(d + next + 46, 'x', 1);
    check_archive("two entries for one member", d, n, OX_ERR_FORMAT, "lies inside another");
    memcpy(d, deflated_npz, n);
    patch(d + entry + 42, UINT32_MAX - 1, 4);
    check_archive("member beyond the file", d, n, OX_ERR_FORMAT, "beyond the file");
    memcpy(d, deflated_npz, n);
    patch(d + entry + 20, (uint64_t)entry, 4);
    check_archive("member reaches into the directory", d, n, OX_ERR_FORMAT, "reach into the directory");
    memcpy(d, deflated_npz, n);
    patch(d + end + 8, 0x00030003, 4);
    check_archive("a member too many", d, n, OX_ERR_FORMAT, "zip");
    patch(d + end + 8, 0x00010001, 4);
    check_archive("a member too few", d, n, OX_ERR_FORMAT, "more than its members");
    patch(d + end + 8, 0xFFFEFFFEu, 4);
    check_archive("65534 members", d, n, OX_ERR_FORMAT, "cannot hold 65534 members");
    memcpy(d, deflated_npz, n);
    patch(d + end + 4, 1, 2);
    check_archive("second of two pieces", d, n, OX_ERR_UNSUPPORTED, "several pieces");
    memcpy(d, deflated_npz, n);
    patch(d + end + 16, 0xFFFFFFFFu, 4);
    check_archive("directory beyond the file", d, n, OX_ERR_FORMAT, "zip directory");
    memcpy(d, deflated_npz, n);
    patch(d + end + 20, 1, 2);
    check_archive("comment too long", d, n, OX_ERR_FORMAT, "cut short");
    check_damaged(stored_npz, sizeof stored_npz, "b");
    check_damaged(deflated_npz, n, "x");
}

static void test_save_archive(void) {
    const char *names[4] = {"layer/weight", "\xC3\xA9", "empty", "flags"}, *twice[2] = {"a", "a"},
               *empty[1] = {""};
    const char *path = scratch_path("saved.npz");
    ox_tensor *tensors[4];
    OX_SCOPE {
        tensors[0] = ox_transpose(ox_reshape(ox_arange(0, 12, 1, OX_F32), OX_SHAPE(3, 4)), 0, 1);
        tensors[1] = ox_arange(0, 5, 1, OX_I64);
        tensors[2] = ox_zeros(OX_SHAPE(2, 0), OX_U8);
        tensors[3] = ox_ones(OX_SHAPE(3), OX_BOOL);
        CHECK_MSG(ox_save_npz(path, names, tensors, 4) == OX_OK, "%s", ox_error_text());
        ox_file *file = ox_file_open(path, NULL);
        CHECK_MSG(file && ox_file_count(file) == 4, "%s", ox_error_text());
        for (int i = 0; i < 4; i++) {
            ox_tensor *t = ox_file_tensor(file, names[i]);
            check_same(t, tensors[i], names[i]);
            CHECK(t && (size_t)(uintptr_t)ox_data(t) % 64 == 0);
        }
        CHECK(!ox_load_file(path) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        ox_file_close(file);
        CHECK(ox_save_npz(path, twice, tensors, 2) == OX_ERR_ARG &&
              strstr(ox_error_text(), "'a' is given twice"));
        ox_error_clear();
        CHECK(ox_save_npz(path, empty, tensors, 1) == OX_ERR_ARG);
        ox_error_clear();
        tensors[1] = NULL;
        CHECK(ox_save_npz(path, names, tensors, 4) == OX_ERR_ARG);
        ox_error_clear();
        tensors[1] = ox_ones(OX_SHAPE(3), OX_F8_E4M3);
        CHECK(ox_save_npz(path, names, tensors, 4) == OX_ERR_UNSUPPORTED);
        ox_error_clear();
        file = ox_file_open(path, NULL); /* failures left the first file alone */
        CHECK(file && ox_file_count(file) == 4);
        ox_file_close(file);
        CHECK(ox_save_npz(path, NULL, NULL, 0) == OX_OK);
        file = ox_file_open(path, NULL);
        CHECK(file && ox_file_count(file) == 0);
        ox_file_close(file);
        CHECK(ox_save_npz(path, NULL, NULL, 1) == OX_ERR_ARG &&
              ox_save_npz(path, names, NULL, -1) == OX_ERR_ARG);
        ox_error_clear();
    }
    remove(path);
}

int main(void) {
    test_every_dtype();
    test_written_bytes();
    test_failed_write();
    test_folders();
    test_headers();
    test_orders();
    test_numpy_archives();
    test_hostile_archives();
    test_save_archive();
    CHECK(ox_set_allocator(NULL) == OX_OK); /* also gives headers of tensors back */
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bytes_in_use == 0);
    return check_done("npy");
}
