/* test_gguf_writer.c - GGUF written: every type of metadata and of tensors, from any strides and devices;
 * the bytes are those of gguf_make.h and of real files that are copied; what is refused, and memory that runs
 * out.
 * OX_QEMU: short enough to be emulated. */
#include "oxtorch_llm.h"
#include "oxtorch_stream.h"

#include "check.h"
#include "gguf_make.h"
#include "hook_alloc.h"
#include "read_file.h"

#ifndef _WIN32
#include <sys/stat.h>
#endif

static bool exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

/* `padding`: that many zeros may follow. */
static void check_same(const char *path, const char *other, size_t padding) {
    size_t bytes[2];
    char *data[2] = {read_file(path, &bytes[0]), read_file(other, &bytes[1])};
    size_t at = 0;
    while (data[0] && data[1] && at < bytes[0] && at < bytes[1] && data[0][at] == data[1][at]) at++;
    size_t more = at;
    while (data[1] && at == bytes[0] && more < bytes[1] && more < at + padding && data[1][more] == 0) more++;
    CHECK_MSG(data[0] && data[1] && at == bytes[0] && more == bytes[1], "%s: %d and %d bytes, %d alike",
              other,
              (int)bytes[0], (int)bytes[1], (int)at);
    free(data[0]);
    free(data[1]);
}

static ox_file_entry entry_of(const char *name, const ox_tensor *t) {
    ox_file_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.name = name;
    entry.dtype = t->dtype;
    entry.ndim = t->ndim;
    for (int d = 0; d < t->ndim; d++) entry.shape[d] = t->shape[d];
    return entry;
}

/* ---- metadata ------------------------------------------------------------------------------------------ */

static ox_gguf_pair scalar(const char *key, ox_gguf_type type, const void *value) {
    ox_gguf_pair pair = {key, type, OX_GGUF_U8, 0, value};
    return pair;
}
static ox_gguf_pair array(const char *key, ox_gguf_type element, int64_t count, const void *value) {
    ox_gguf_pair pair = {key, OX_GGUF_ARRAY, element, count, value};
    return pair;
}
static ox_gguf_pair text(const char *key, const char *value, int64_t bytes) {
    ox_gguf_pair pair = {key, OX_GGUF_STRING, OX_GGUF_U8, bytes, value};
    return pair;
}

/* One of each type, arrays of each, texts with zeros and without bytes, arrays in arrays. */
static void test_metadata(void) {
    static const uint8_t u8[3] = {1, 200, 255};
    static const int8_t i8[3] = {-1, 5, -128};
    static const uint16_t u16[3] = {1, 40000, 65535};
    static const int16_t i16[3] = {-1, 300, -32768};
    static const uint32_t u32[3] = {7, 3000000000u, 0};
    static const int32_t i32[3] = {-7, 2000000000, INT32_MIN};
    static const float f32[3] = {1.5f, -3e38f, 1e-40f};
    static const bool yes[3] = {true, false, true};
    static const uint64_t u64[3] = {1, 1ull << 63, UINT64_MAX};
    static const int64_t i64[3] = {-1, INT64_MIN, INT64_MAX};
    static const double f64[3] = {0.1, -1e300, 5e-324};
    static const void *const numbers[13] = {u8, i8, u16, i16, u32, i32, f32, yes, NULL, NULL, u64, i64, f64};
    static const int sizes[13] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    static const ox_string texts[3] = {{"a", 1}, {"", 0}, {"x\0y\xc3\xa9", 5}};
    const ox_gguf_pair deep[2] = {array(NULL, OX_GGUF_I8, 2, i8), array(NULL, OX_GGUF_STRING, 3, texts)};
    const ox_gguf_pair nested[2] = {array(NULL, OX_GGUF_ARRAY, 2, deep), array(NULL, OX_GGUF_F64, 0, NULL)};
    static char keys[2][13][24];
    ox_gguf_pair pairs[40];
    int count = 0;
    gguf_make made;
    memset(&made, 0, sizeof made);
    for (int type = 0; type < 13; type++) {
        if (!numbers[type]) continue;
        snprintf(keys[0][type], sizeof keys[0][type], "one.%d", type);
        snprintf(keys[1][type], sizeof keys[1][type], "three.%d", type);
        pairs[count++] = scalar(keys[0][type], (ox_gguf_type)type, numbers[type]);
        pairs[count++] = array(keys[1][type], (ox_gguf_type)type, 3, numbers[type]);
        for (int which = 0; which < 2; which++) {
            if (which) gguf_array(&made, keys[1][type], type, 3);
            else gguf_key(&made, keys[0][type], type);
            for (int i = 0; i < (which ? 3 : 1); i++) {
                uint64_t bits = 0; /* as the host has it, whichever end comes first */
                const unsigned char *from = (const unsigned char *)numbers[type] + i * sizes[type];
                const uint16_t one = 1;
                for (int b = 0; b < sizes[type]; b++)
                    bits |= (uint64_t)from[*(const unsigned char *)&one ? b : sizes[type] - 1 - b] << (8 * b);
                gguf_number(&made.keys, bits, sizes[type]);
            }
        }
    }
    pairs[count++] = text("text", "plain \xe2\x82\xac", -1);
    gguf_text(&made, "text", "plain \xe2\x82\xac");
    pairs[count++] = text("text.cut", "plain", 2);
    gguf_text(&made, "text.cut", "pl");
    pairs[count++] = text("text.none", NULL, 0);
    gguf_text(&made, "text.none", "");
    pairs[count++] = array("texts", OX_GGUF_STRING, 3, texts);
    gguf_array(&made, "texts", GGUF_TEXT, 3);
    for (int i = 0; i < 3; i++) gguf_string(&made.keys, texts[i].data, (size_t)texts[i].length);
    pairs[count++] = array("nested", OX_GGUF_ARRAY, 2, nested);
    gguf_array(&made, "nested", GGUF_ARRAY, 2);
    gguf_number(&made.keys, GGUF_ARRAY, 4);
    gguf_number(&made.keys, 2, 8);
    gguf_number(&made.keys, 1, 4);
    gguf_number(&made.keys, 2, 8);
    for (int i = 0; i < 2; i++) gguf_number(&made.keys, (uint8_t)i8[i], 1);
    gguf_number(&made.keys, GGUF_TEXT, 4);
    gguf_number(&made.keys, 3, 8);
    for (int i = 0; i < 3; i++) gguf_string(&made.keys, texts[i].data, (size_t)texts[i].length);
    gguf_number(&made.keys, 12, 4);
    gguf_number(&made.keys, 0, 8);
    const char *path = gguf_path("metadata.gguf"), *other = gguf_path("made.gguf");
    CHECK(gguf_write(&made, other) == 0);
    ox_gguf_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.pairs = pairs;
    desc.pair_count = count;
    CHECK_MSG(ox_gguf_writer_close(ox_gguf_writer_open(path, &desc)) == OX_OK && ox_error() == OX_OK, "%s",
              ox_error_text());
    check_same(path, other, 0);
    /* A copy of it all; then one with keys that are given anew, which stand behind the others. */
    const char *copy = gguf_path("copy.gguf");
    ox_file *file = ox_file_open(path, NULL);
    memset(&desc, 0, sizeof desc);
    desc.like = file;
    CHECK(ox_gguf_writer_close(ox_gguf_writer_open(copy, &desc)) == OX_OK);
    check_same(path, copy, 0);
    const ox_gguf_pair instead[2] = {text("texts", "one", -1), scalar("new", OX_GGUF_F64, f64)};
    desc.pairs = instead;
    desc.pair_count = 2;
    CHECK(ox_gguf_writer_close(ox_gguf_writer_open(copy, &desc)) == OX_OK);
    ox_file *changed = ox_file_open(copy, NULL);
    CHECK_MSG(changed && ox_file_meta_count(changed) == count + 1, "%s", ox_error_text());
    ox_file_meta last = ox_file_meta_at(changed, count), before = ox_file_meta_at(changed, count - 1);
    CHECK(last.key.length == 3 && last.type == OX_FILE_META_FLOAT && last.f == 0.1);
    CHECK(before.key.length == 5 && before.type == OX_FILE_META_STRING && before.text.length == 3);
    CHECK(ox_file_meta_find(changed, "one.10").i == 1 && ox_file_meta_find(changed, "nested").count == 2);
    ox_file_close(changed);
    ox_file_close(file);
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

enum { TENSORS = 80 };

/* All dtypes of the format, views of all kinds, alignments from 1 to 4096. */
static void test_tensors(uint32_t align) {
    static char names[TENSORS][40];
    static ox_file_entry entries[TENSORS];
    static ox_tensor *tensors[TENSORS];
    const char *path = gguf_path("tensors.gguf");
    int count = 0;
    OX_SCOPE {
        ox_tensor *square = ox_randn(OX_SHAPE(64, 512), OX_F32);
        for (int d = 1; d < OX_DTYPE_COUNT; d++) {
            const ox_dtype_info *info = ox_dtype_get_info((ox_dtype)d);
            if (!info || info->gguf_id < 0) continue;
            ox_tensor *t = ox_empty(OX_SHAPE(3, 5, 512), (ox_dtype)d);
            for (size_t i = 0; t && i < ox_nbytes(t); i++) ((uint8_t *)ox_data(t))[i] = (uint8_t)(i * 37 + d);
            snprintf(names[count], sizeof names[count], "type.%s", ox_dtype_name((ox_dtype)d));
            tensors[count++] = t;
        }
        ox_tensor *views[] = {ox_t(square),
                              ox_slice(square, 1, 3, 400, 7),
                              ox_flip(square, OX_DIMS(0)),
                              ox_expand(ox_narrow(square, 0, 2, 1), OX_SHAPE(9, 512)),
                              ox_zeros(OX_SHAPE(4, 0, 8), OX_F32),
                              ox_select(ox_select(square, 0, 1), 0, 5),
                              ox_permute(ox_view(square, OX_SHAPE(4, 16, 8, 64)), OX_DIMS(2, 0, 3, 1))};
        for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
            snprintf(names[count], sizeof names[count], "view.%d", (int)i);
            tensors[count++] = views[i];
        }
        for (int i = 0; i < count; i++) entries[i] = entry_of(names[i], tensors[i]);
        const ox_gguf_pair pair = scalar("general.alignment", OX_GGUF_U32, &align);
        ox_gguf_desc desc = {NULL, &pair, 1, entries, count};
        ox_gguf_writer *writer = ox_gguf_writer_open(path, &desc);
        CHECK_MSG(writer != NULL, "%s", ox_error_text());
        for (int i = 0; i < count; i++)
            CHECK_MSG(ox_gguf_writer_put(writer, tensors[i]) == OX_OK, "%s: %s", names[i], ox_error_text());
        CHECK_MSG(ox_gguf_writer_close(writer) == OX_OK, "%s", ox_error_text());
        ox_file *file = ox_file_open(path, NULL);
        CHECK_MSG(file && ox_file_count(file) == count, "%s", ox_error_text());
        for (int i = 0; file && i < count; i++) {
            ox_tensor *back = ox_file_tensor(file, names[i]), *want = ox_contiguous(tensors[i]);
            bool same = back && back->dtype == want->dtype && ox_nbytes(back) == ox_nbytes(want) &&
                        (want->ndim == 0 || back->ndim == want->ndim) &&
                        (ox_nbytes(want) == 0 || !memcmp(ox_data(back), ox_data(want), ox_nbytes(want)));
            for (int d = 0; same && d < want->ndim; d++) same = back->shape[d] == want->shape[d];
            CHECK_MSG(same, "%s at alignment %u: %s", names[i], (unsigned)align, ox_error_text());
        }
        ox_file_close(file);
    }
    ox_error_clear();
}

/* A file of the test's own, and all that a folder has, copied tensor by tensor: the same bytes. */
static void check_copy(const char *path, ox_device *device) {
    const char *copy = gguf_path("whole.gguf");
    ox_file *file = ox_file_open(path, device);
    CHECK_MSG(file != NULL, "%s", ox_error_text());
    int64_t count = ox_file_count(file);
    ox_file_entry *entries = (ox_file_entry *)calloc((size_t)count + 1, sizeof *entries);
    for (int64_t i = 0; i < count; i++) CHECK(ox_file_get_entry(file, i, &entries[i]) == OX_OK);
    ox_gguf_desc desc = {file, NULL, 0, entries, count};
    ox_gguf_writer *writer = ox_gguf_writer_open(copy, &desc);
    CHECK_MSG(writer != NULL, "%s", ox_error_text());
    for (int64_t i = 0; i < count; i++) OX_SCOPE {
            CHECK_MSG(ox_gguf_writer_put(writer, ox_file_tensor_at(file, i)) == OX_OK, "%s", ox_error_text());
        }
    CHECK_MSG(ox_gguf_writer_close(writer) == OX_OK, "%s", ox_error_text());
    check_same(path, copy, count ? 0 : 31); /* not all writers pad where no tensor follows */
    free(entries);
    ox_file_close(file);
}

static void test_real_files(void) {
    static const char *const files[] = {"models/stories260K/stories260K.gguf", "vocab/ggml-vocab-gpt-2.gguf",
                                        "vocab/ggml-vocab-bert-bge.gguf"};
    const char *folder = getenv("OX_TEST_DATA");
    if (!folder || !*folder) folder = "../shared/data";
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1200];
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (exists(path)) check_copy(path, NULL);
        else check_skip(files[i], "not in OX_TEST_DATA or ../shared/data");
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void check_refused(const char *what, const ox_gguf_desc *desc, ox_status status) {
    const char *path = gguf_path("refused.gguf");
    ox_gguf_writer *writer = ox_gguf_writer_open(path, desc);
    CHECK_MSG(!writer && ox_error() == status && ox_error_text()[0] && !exists(path), "%s: status %d, %s",
              what, (int)ox_error(), ox_error_text());
    ox_error_clear();
    ox_gguf_writer_close(writer);
}

static void check_pair_refused(const char *what, ox_gguf_pair pair) {
    ox_gguf_desc desc = {NULL, &pair, 1, NULL, 0};
    check_refused(what, &desc, OX_ERR_ARG);
}

static void check_entry_refused(const char *what, const char *name, ox_dtype dtype, int ndim, int64_t last,
                                ox_status status) {
    ox_file_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.name = name;
    entry.dtype = dtype;
    entry.ndim = ndim;
    for (int d = 0; d < OX_MAX_DIMS; d++) entry.shape[d] = d == ndim - 1 ? last : 1ll << 31;
    ox_gguf_desc desc = {NULL, NULL, 0, &entry, 1};
    check_refused(what, &desc, status);
}

static void test_refused(void) {
    static const uint32_t seven = 7, huge = 1u << 21, zero = 0;
    static const ox_string bad_text[1] = {{NULL, 4}};
    static const char long_name[65] = "0123456789012345678901234567890123456789012345678901234567890123";
    ox_gguf_pair inner[9], twice[2] = {text("a", "b", -1), text("a", "c", -1)};
    ox_gguf_desc desc;
    for (int i = 0; i < 9; i++) inner[i] = array(NULL, OX_GGUF_ARRAY, 1, i < 8 ? &inner[i + 1] : NULL);
    check_pair_refused("no key", text(NULL, "a", -1));
    check_pair_refused("an empty key", text("", "a", -1));
    check_pair_refused("a key that is not UTF-8", text("\xff", "a", -1));
    check_pair_refused("no value", scalar("a", OX_GGUF_U32, NULL));
    check_pair_refused("no type", scalar("a", (ox_gguf_type)13, &seven));
    check_pair_refused("a type below 0", scalar("a", (ox_gguf_type)-1, &seven));
    check_pair_refused("an array of no type", array("a", (ox_gguf_type)99, 1, &seven));
    check_pair_refused("an array of -1", array("a", OX_GGUF_U32, -1, &seven));
    check_pair_refused("an array without elements", array("a", OX_GGUF_U32, 1, NULL));
    check_pair_refused("a text without bytes", array("a", OX_GGUF_STRING, 1, bad_text));
    check_pair_refused("a string without bytes", text("a", NULL, 3));
    check_pair_refused("arrays nine deep", array("a", OX_GGUF_ARRAY, 1, inner));
    check_pair_refused("alignment 7", scalar("general.alignment", OX_GGUF_U32, &seven));
    check_pair_refused("alignment 0", scalar("general.alignment", OX_GGUF_U32, &zero));
    check_pair_refused("alignment 2^21", scalar("general.alignment", OX_GGUF_U32, &huge));
    check_pair_refused("alignment of another type", scalar("general.alignment", OX_GGUF_I32, &huge));
    check_entry_refused("no name", NULL, OX_F32, 1, 4, OX_ERR_ARG);
    check_entry_refused("a name of 64 bytes", long_name, OX_F32, 1, 4, OX_ERR_ARG);
    check_entry_refused("a dtype of no format", "a", OX_C64, 1, 4, OX_ERR_UNSUPPORTED);
    check_entry_refused("no dtype", "a", (ox_dtype)250, 1, 4, OX_ERR_DTYPE);
    check_entry_refused("half a block", "a", OX_Q4_0, 1, 40, OX_ERR_SHAPE);
    check_entry_refused("five dims", "a", OX_F32, 5, 0, OX_ERR_SHAPE);
    check_entry_refused("more than there can be", "a", OX_F32, 4, 4, OX_ERR_SHAPE);
    check_entry_refused("a dim below 0", "a", OX_F32, 1, -1, OX_ERR_SHAPE);
    memset(&desc, 0, sizeof desc);
    desc.pairs = twice;
    desc.pair_count = 2;
    check_refused("a key twice", &desc, OX_ERR_ARG);
    desc.pairs = NULL;
    check_refused("pairs that are not there", &desc, OX_ERR_ARG);
    desc.pair_count = 0;
    desc.count = -1;
    check_refused("-1 tensors", &desc, OX_ERR_ARG);
    desc.count = 3;
    check_refused("tensors that are not there", &desc, OX_ERR_ARG);
    check_refused("nothing", NULL, OX_ERR_ARG);
    desc.count = 0;
    CHECK(!ox_gguf_writer_open("", &desc) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    CHECK(!ox_gguf_writer_open("/no such folder/a.gguf", &desc) && ox_error() == OX_ERR_IO);
    ox_error_clear();
    CHECK(ox_gguf_writer_close(NULL) == OX_OK && ox_gguf_writer_put(NULL, NULL) == OX_ERR_ARG);
    ox_error_clear();
}

/* The wrong tensor, then the right one; one too many; a file that is not whole replaces nothing. */
static void test_steps(void) {
    const char *path = gguf_path("steps.gguf");
    OX_SCOPE {
        ox_tensor *a = ox_randn(OX_SHAPE(2, 3), OX_F32), *b = ox_randn(OX_SHAPE(3, 2), OX_F32);
        ox_file_entry entries[2] = {entry_of("a", a), entry_of("b", b)};
        ox_gguf_desc desc = {NULL, NULL, 0, entries, 2};
        for (int whole = 1; whole >= 0; whole--) {
            ox_gguf_writer *writer = ox_gguf_writer_open(path, &desc);
            CHECK(ox_gguf_writer_put(writer, b) == OX_ERR_SHAPE);
            ox_error_clear();
            CHECK(ox_gguf_writer_put(writer, ox_cast(a, OX_F16)) == OX_ERR_DTYPE);
            ox_error_clear();
            CHECK(ox_gguf_writer_put(writer, NULL) == OX_ERR_ARG);
            ox_error_clear();
            CHECK(ox_gguf_writer_put(writer, whole ? a : ox_zeros_like(a)) == OX_OK);
            if (whole) {
                CHECK(ox_gguf_writer_put(writer, b) == OX_OK && ox_gguf_writer_put(writer, b) == OX_ERR_ARG);
                ox_error_clear();
            }
            CHECK(ox_gguf_writer_close(writer) == (whole ? OX_OK : OX_ERR_ARG));
            ox_error_clear();
        }
        ox_file *file = ox_file_open(path, NULL);
        CHECK(file && ox_equal(ox_file_tensor(file, "a"), a) && ox_equal(ox_file_tensor(file, "b"), b));
        ox_file_close(file);
    }
}

/* A file takes the place of a file alone: not of a folder, not of a pipe. */
static void test_targets(void) {
#ifndef _WIN32
    static const char *const names[] = {".", "pipe"};
    ox_gguf_desc desc;
    struct stat info;
    memset(&desc, 0, sizeof desc);
    (void)remove(gguf_path("pipe"));
    CHECK(mkfifo(gguf_path("pipe"), 0600) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(!ox_gguf_writer_open(gguf_path(names[i]), &desc) && ox_error() == OX_ERR_IO);
        CHECK_MSG(strstr(ox_error_text(), "cannot be created") != NULL, "%s", ox_error_text());
        ox_error_clear();
    }
    CHECK(stat(gguf_path("pipe"), &info) == 0 && S_ISFIFO(info.st_mode));
    (void)remove(gguf_path("pipe"));
#endif
}

/* ---- memory that runs out ------------------------------------------------------------------------------ */

static void test_no_memory(void) {
    const char *path = gguf_path("memory.gguf");
    hook h = {0, INT64_MAX, 0, 0, 0, 0};
    ox_allocator allocator = {hook_alloc, hook_free, &h};
    ox_shutdown();
    CHECK(ox_set_allocator(&allocator) == OX_OK);
    bool worked = false;
    for (int64_t n = 1; n < 300 && !worked; n++) {
        ox_tensor *t = ox_ones(OX_SHAPE(4, 6), OX_F32);
        ox_tensor *turned = ox_t(t);
        ox_file_entry entry = entry_of("t", turned);
        ox_gguf_pair pair = text("key", "value", -1);
        ox_gguf_desc desc = {NULL, &pair, 1, &entry, 1};
        remove(path);
        hook_allow(&h, n - 1);
        ox_gguf_writer *writer = ox_gguf_writer_open(path, &desc);
        if (writer) (void)ox_gguf_writer_put(writer, turned);
        ox_status status = writer ? ox_gguf_writer_close(writer) : ox_error();
        worked = h.requests < n;
        hook_allow(&h, INT64_MAX);
        CHECK_MSG(status == OX_OK ? exists(path) : ox_error() == OX_ERR_NOMEM && !exists(path),
                  "allocation %d: status %d, %s", (int)n, (int)status, ox_error_text());
        ox_error_clear();
        ox_release(turned);
        ox_release(t);
        CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    }
    CHECK(worked);
    ox_shutdown();
    CHECK(ox_memory_get_stats().bytes_in_use == 0 && ox_set_allocator(NULL) == OX_OK);
}

int main(void) {
    test_metadata();
    test_tensors(1);
    test_tensors(32);
    test_tensors(4096);
    check_copy(gguf_path("tensors.gguf"), NULL);
    ox_stream *stream = ox_stream_open(NULL);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    if (stream) {
        check_copy(gguf_path("tensors.gguf"), ox_stream_device(stream));
        CHECK_MSG(ox_device_close(ox_stream_device(stream)) == OX_OK, "%s", ox_error_text());
    }
    test_real_files();
    test_refused();
    test_steps();
    test_targets();
    test_no_memory();
    return check_done("gguf_writer");
}
