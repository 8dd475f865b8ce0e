/* test_stream_files.c - tensors of GGUF, safetensors and npy files on a stream, a language model over one,
 * and what is kept of a file between passes. OX_TSAN */
#include "gguf_make.h"
#include "oxtorch_llm.h"
#include "stream_check.h"

#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- formats ------------------------------------------------------------------------------------------ */

/* Every tensor of a file, over the mapped file and over the stream. */
static void compare_file(const stream_case *c, const char *path) {
    ox_stream *stream = case_open(c);
    ox_file *near = ox_file_open(path, NULL), *far = ox_file_open(path, ox_stream_device(stream));
    CHECK_MSG(near && far && ox_file_count(near) > 0, "%s", ox_error_text());
    for (int64_t i = 0; i < ox_file_count(near); i++)
        OX_SCOPE {
            ox_tensor *a = ox_file_tensor_at(near, i), *b = ox_file_tensor_at(far, i);
            CHECK_MSG(a && b && ox_device_of(b) == ox_stream_device(stream), "%s", ox_error_text());
            CHECK_MSG(same_bits(a, b), "%s: %s", path, ox_file_name(near, i));
            if (ox_dtype_get_info(a->dtype)->cls == OX_CLASS_FLOAT) CHECK(same_bits(ox_exp(a), ox_exp(b)));
            CHECK(!ox_neg_(b) && ox_error() != OX_OK); /* files are for reading */
            ox_error_clear();
        }
    ox_file_close(near);
    ox_file_close(far);
    ox_device_close(ox_stream_device(stream));
}

static void test_formats(const stream_case *c) {
    char path[320], index[340];
    const char *names[3] = {"a", "b", "c"};
    OX_SCOPE {
        ox_tensor *t[3] = {numbers(OX_SHAPE(70, 300), OX_F32, 1), numbers(OX_SHAPE(5001), OX_F16, 2),
                           ox_cast(numbers(OX_SHAPE(33), OX_F64, 3), OX_U8)};
        snprintf(path, sizeof path, "%s/oxtorch-stream.safetensors", c->folder);
        CHECK(ox_save_safetensors(path, names, t, 3, NULL, 0, 0) == OX_OK);
        compare_file(c, path);
        remove(path);
        CHECK(ox_save_safetensors(path, names, t, 3, NULL, 0, 40000) == OX_OK);
        snprintf(index, sizeof index, "%s.index.json", path);
        compare_file(c, index);
        remove(index);
        for (int i = 1; i < 4; i++) {
            snprintf(index, sizeof index, "%s/oxtorch-stream-%05d-of-%05d.safetensors", c->folder, i, 3);
            remove(index);
            snprintf(index, sizeof index, "%s/oxtorch-stream-%05d-of-%05d.safetensors", c->folder, i, 2);
            remove(index);
        }
        snprintf(path, sizeof path, "%s/oxtorch-stream.npy", c->folder);
        CHECK(ox_save_npy(path, t[0]) == OX_OK);
        compare_file(c, path);
        remove(path);
    }
    ox_error_clear();
}

/* Numbers that lie at odd bytes of a file: legal in safetensors, whose own writers align them. */
static void test_unaligned(const stream_case *c) {
    static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[33],\"data_offsets\":[0,33]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[40,50],\"data_offsets\":[33,8033]},"
                                 "\"c\":{\"dtype\":\"F16\",\"shape\":[3001],\"data_offsets\":[8033,14035]},"
                                 "\"d\":{\"dtype\":\"F64\",\"shape\":[777],\"data_offsets\":[14035,20251]}}";
    const char length[8] = {(char)(sizeof header - 1), (char)((sizeof header - 1) >> 8), 0, 0, 0, 0, 0, 0};
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-unaligned.safetensors", c->folder);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(length, 8, 1, file) == 1 && fwrite(header, sizeof header - 1, 1, file) == 1);
    OX_SCOPE {
        ox_tensor *t[4] = {ox_cast(ox_arange(0, 33, 1, OX_I64), OX_U8), numbers(OX_SHAPE(40, 50), OX_F32, 1),
                           numbers(OX_SHAPE(3001), OX_F16, 2), numbers(OX_SHAPE(777), OX_F64, 3)};
        for (int i = 0; i < 4; i++) {
            size_t bytes;
            char *data = bytes_of(t[i], &bytes);
            CHECK(fwrite(data, bytes, 1, file) == 1);
            free(data);
        }
        CHECK(fclose(file) == 0);
        compare_file(c, path);
        ox_stream *stream = case_open(c);
        file = NULL;
        ox_file *far = ox_file_open(path, ox_stream_device(stream));
        for (int i = 0; i < 4; i++) CHECK(far && same_bits(ox_file_tensor_at(far, i), t[i]));
        ox_file_close(far);
        ox_device_close(ox_stream_device(stream));
    }
    remove(path);
}

/* Results on the disk become files of a name, a piece at a time. */
static void test_save(const stream_case *small) {
    char path[320];
    stream_case c = *small;
    c.result_bytes = 1;
    ox_stream *stream = case_open(&c);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(900, 700), OX_F32, 1), *far = ox_to(x, ox_stream_device(stream));
        ox_tensor *t[2] = {ox_relu(far), ox_t(ox_neg(far))}, *right[2] = {ox_relu(x), ox_t(ox_neg(x))};
        const char *names[2] = {"relu", "neg"};
        snprintf(path, sizeof path, "%s/oxtorch-saved.safetensors", c.folder);
        CHECK(ox_save_safetensors(path, names, t, 2, NULL, 0, 0) == OX_OK);
        ox_file *file = ox_file_open(path, NULL);
        for (int i = 0; i < 2; i++) CHECK(same_bits(ox_file_tensor(file, names[i]), ox_contiguous(right[i])));
        ox_file_close(file);
        CHECK(ox_save_npz(path, names, t, 2) == OX_OK);
        file = ox_file_open(path, NULL);
        for (int i = 0; i < 2; i++) CHECK(same_bits(ox_file_tensor(file, names[i]), ox_contiguous(right[i])));
        ox_file_close(file);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
    ox_device_close(ox_stream_device(stream));
    remove(path);
}

/* Tensors in files of their own: zeros, written to in place and by copies, there when the stream is gone. */
static void test_named(const stream_case *c) {
    const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_U8};
    char path[340];
    ox_stream *stream = case_open(c);
    for (int i = 0; i < 3; i++)
        OX_SCOPE {
            char name[32];
            snprintf(name, sizeof name, "oxtorch named %d", i);
            snprintf(path, sizeof path, "%s/%s.safetensors", c->folder, name);
            remove(path);
            ox_tensor *x = ox_cast(ox_abs(numbers(OX_SHAPE(70, 301), OX_F32, 1)), dtypes[i]);
            ox_tensor *t = ox_stream_named(stream, name, dtypes[i], OX_SHAPE(70, 301));
            CHECK_MSG(t && ox_device_of(t) == ox_stream_device(stream), "%s", ox_error_text());
            CHECK(same_bits(t, ox_zeros(OX_SHAPE(70, 301), dtypes[i])));
            CHECK(ox_copy_(t, ox_to(x, ox_stream_device(stream))) && same_bits(t, x));
            CHECK(ox_add_(t, x) && same_bits(t, ox_add(x, x)));
            CHECK(ox_copy_(ox_narrow(t, 1, 7, 100), ox_narrow(x, 1, 7, 100)));
            CHECK(ox_error() == OX_OK);
            CHECK(!ox_stream_named(stream, name, OX_F32, OX_SHAPE(1)) && ox_error() == OX_ERR_IO);
            ox_error_clear();
            ox_file *file = ox_file_open(path, NULL);
            CHECK_MSG(file && ox_file_count(file) == 1 && same_bits(ox_file_tensor(file, name), t), "%s",
                      ox_error_text());
            ox_file_close(file);
            compare_file(c, path);
        }
    static const char *const wrong[] = {"", ".", "..", ".hidden", "a/b", "a\\b", "__metadata__", "\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!ox_stream_named(stream, wrong[i], OX_F32, OX_SHAPE(1)) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
    CHECK(!ox_stream_named(stream, "blocks", OX_Q4_0, OX_SHAPE(32)) && ox_error() == OX_ERR_UNSUPPORTED);
    ox_error_clear();
    CHECK(!ox_stream_named(NULL, "none", OX_F32, OX_SHAPE(1)) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    ox_device_close(ox_stream_device(stream));
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/oxtorch named %d.safetensors", c->folder, i);
        CHECK(remove(path) == 0);
    }
}

/* ---- a language model --------------------------------------------------------------------------------- */

static void add_weight(gguf_make *g, const char *name, int64_t rows, int64_t columns, ox_dtype dtype) {
    static uint64_t seed;
    OX_SCOPE {
        ox_shape shape = rows ? OX_SHAPE(rows, columns) : OX_SHAPE(columns);
        ox_tensor *t = ox_mul_number(numbers(shape, OX_F32, ++seed), rows ? 0.05 : 1);
        t = ox_cast(t, rows ? dtype : OX_F32);
        size_t bytes;
        char *data = bytes_of(t, &bytes);
        gguf_tensor(g, name, ox_dtype_get_info(t->dtype)->gguf_id, t->ndim, t->shape, data, bytes);
        free(data);
    }
}

enum { LAYERS = 3, WIDTH = 256, HIDDEN = 512, WORDS = 301 };

static void write_model(const char *path, ox_dtype dtype) {
    static const struct {
        const char *name;
        int64_t rows, columns;
    } weights[] = {{"attn_norm", 0, WIDTH},      {"attn_q", WIDTH, WIDTH},      {"attn_k", WIDTH / 2, WIDTH},
                   {"attn_v", WIDTH / 2, WIDTH}, {"attn_output", WIDTH, WIDTH}, {"ffn_norm", 0, WIDTH},
                   {"ffn_gate", HIDDEN, WIDTH},  {"ffn_up", HIDDEN, WIDTH},     {"ffn_down", WIDTH, HIDDEN}};
    gguf_make g;
    char name[64];
    memset(&g, 0, sizeof g);
    gguf_text(&g, "general.architecture", "llama");
    gguf_u32(&g, "llama.block_count", LAYERS);
    gguf_u32(&g, "llama.embedding_length", WIDTH);
    gguf_u32(&g, "llama.feed_forward_length", HIDDEN);
    gguf_u32(&g, "llama.context_length", 128);
    gguf_u32(&g, "llama.attention.head_count", 4);
    gguf_u32(&g, "llama.attention.head_count_kv", 2);
    gguf_f32(&g, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    add_weight(&g, "token_embd.weight", WORDS, WIDTH, dtype);
    for (int i = 0; i < LAYERS; i++)
        for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
            snprintf(name, sizeof name, "blk.%d.%s.weight", i, weights[w].name);
            add_weight(&g, name, weights[w].rows, weights[w].columns, dtype);
        }
    add_weight(&g, "output_norm.weight", 0, WIDTH, dtype);
    CHECK(gguf_write(&g, path) == 0);
}

enum { TEXT = 40, PROMPT = 21 };

/* Logits of a prompt in two batches and of every token after it. */
static bool run_model(const char *path, ox_device *device, float *logits) {
    int32_t text[TEXT];
    for (int i = 0; i < TEXT; i++) text[i] = (i * 97 + 11) % WORDS;
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.batch = 16;
    ox_llm *model = ox_llm_open(path, device);
    ox_llm_context *context = model ? ox_llm_context_open(model, &desc) : NULL;
    bool done = context && ox_llm_decode(context, text, PROMPT, logits) == OX_OK;
    for (int i = PROMPT; done && i < TEXT; i++)
        done = ox_llm_decode_one(context, text[i], logits + (i - PROMPT + 1) * WORDS) == OX_OK;
    ox_llm_context_close(context);
    ox_llm_close(model);
    return done;
}

static void test_model(const stream_case *small, ox_dtype dtype) {
    static float expected[TEXT * WORDS], got[TEXT * WORDS];
    char path[320];
    size_t bytes = (TEXT - PROMPT + 1) * WORDS * sizeof(float);
    stream_case c = case_sized(small, 2 << 20, 32 << 10);
    c.result_bytes = 1 << 20;
    snprintf(path, sizeof path, "%s/oxtorch-stream.gguf", c.folder);
    write_model(path, dtype);
    compare_file(&c, path);
    ox_stream *stream = case_open(&c);
    CHECK_MSG(run_model(path, NULL, expected), "%s", ox_error_text());
    CHECK_MSG(run_model(path, ox_stream_device(stream), got), "%s", ox_error_text());
    CHECK_MSG(memcmp(expected, got, bytes) == 0, "%s weights: other logits", ox_dtype_name(dtype));
    ox_stream_stats s = ox_stream_get_stats(stream);
    CHECK_MSG(s.disk_bytes > 0 && s.ram_bytes > 0 && s.written_bytes == 0 && s.whole_loads == 0,
              "%s: %lld read, %lld from RAM, %lld written, %lld whole", ox_dtype_name(dtype),
              (long long)s.disk_bytes, (long long)s.ram_bytes, (long long)s.written_bytes,
              (long long)s.whole_loads);
    ox_device_close(ox_stream_device(stream));
    remove(path);
    ox_error_clear();
}

/* ---- files that change while they are open ------------------------------------------------------------- */

static void save_one(const char *path, ox_tensor *x) {
    const char *name = "x";
    CHECK(ox_save_safetensors(path, &name, &x, 1, NULL, 0, 0) == OX_OK);
}

/* The numbers of x in a file that was opened before it changed: x's, or an error. */
static void check_later(ox_file *file, ox_tensor *x) {
    ox_tensor *t = ox_file_tensor(file, "x");
    CHECK_MSG(t ? same_bits(t, x) : ox_error() == OX_ERR_IO, "%s", t ? "other numbers" : ox_error_text());
    CHECK(ox_file_count(file) == 1 && strcmp(ox_file_name(file, 0), "x") == 0);
    ox_error_clear();
}

/* A file grows, is replaced by another of the same layout, becomes shorter, goes: what was open has its
 * numbers or an error, what is opened afterwards has the new ones, and what is kept of the two never
 * meets. */
static void test_changed(const stream_case *small) {
    char path[320], other[340];
    const stream_case roomy = case_sized(small, 4 << 20, TILE), *c = &roomy;
    snprintf(path, sizeof path, "%s/oxtorch-changed.safetensors", c->folder);
    snprintf(other, sizeof other, "%s.new", path);
    ox_stream *stream = case_open(c);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(70, 300), OX_F32, 1), *y = numbers(OX_SHAPE(70, 300), OX_F32, 2);
        save_one(path, x);
        ox_file *file = ox_file_open(path, ox_stream_device(stream));
        ox_tensor *far = ox_file_tensor(file, "x");
        CHECK(same_bits(ox_neg(far), ox_neg(x)));
        FILE *longer = fopen(path, "ab");
        CHECK(longer && fwrite("more", 4, 1, longer) == 1 && fclose(longer) == 0);
        CHECK(same_bits(ox_neg(far), ox_neg(x)));
        check_later(file, x);
        save_one(other, y);
        CHECK(rename(other, path) == 0);
        CHECK(!ox_file_tensor(file, "x") && ox_error() == OX_ERR_IO && strstr(ox_error_text(), "replaced"));
        ox_error_clear();
        ox_file *later = ox_file_open(path, ox_stream_device(stream));
        ox_tensor *fresh = ox_file_tensor(later, "x");
        for (int i = 0; i < 3; i++)
            CHECK(same_bits(ox_neg(far), ox_neg(x)) && same_bits(ox_neg(fresh), ox_neg(y)) &&
                  same_bits(ox_add(far, fresh), ox_add(x, y)));
        CHECK(ox_stream_get_stats(stream).ram_bytes > 0);
        CHECK(truncate(path, 0) == 0);
        check_later(later, y);
        for (int i = 0; i < 2; i++) {
            ox_tensor *sum = ox_add(ox_exp(fresh), ox_exp(far)); /* of what was kept, if all of it was */
            CHECK(sum ? same_bits(sum, ox_add(ox_exp(y), ox_exp(x))) : ox_error() == OX_ERR_IO);
            ox_error_clear();
        }
        remove(path);
        check_later(later, y);
        check_later(file, x);
        CHECK(same_bits(ox_neg(far), ox_neg(x)));
        ox_file_close(file);
        ox_file_close(later);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_device_close(ox_stream_device(stream));
}

/* ---- files of every format, cut and replaced while they are open --------------------------------------- */

static void put_number(FILE *file, uint64_t number, int bytes) {
    for (int i = 0; i < bytes; i++) fputc(i < 8 ? (int)(number >> 8 * i & 255) : 0, file);
}

/* x as .npy with its numbers the other way round. */
static void save_turned(const char *path, ox_tensor *x) {
    char header[128];
    size_t bytes;
    char *data = bytes_of(x, &bytes);
    memset(header, ' ', sizeof header);
    header[snprintf(header, sizeof header,
                    "\x93NUMPY\x01%c%c%c{'descr': '>f4', 'fortran_order': True, "
                    "'shape': (%lld,), }",
                    0, 118, 0, (long long)ox_numel(x))] = ' ';
    header[127] = '\n';
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(header, sizeof header, 1, file) == 1);
    for (size_t i = 0; i < bytes; i++) fputc(data[i / 4 * 4 + 3 - i % 4], file);
    CHECK(fclose(file) == 0);
    free(data);
}

/* Of bytes, as zip wants it. */
static uint32_t crc_of(const unsigned char *data, size_t bytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

enum { EMPTY_BLOCKS = 14000 };

/* Method 8, but in stored blocks; the first ones are empty, so that nothing comes for long. */
static size_t put_packed(FILE *file, const unsigned char *data, size_t bytes) {
    const size_t most = 60000;
    long start = ftell(file);
    for (int i = 0; i < EMPTY_BLOCKS; i++) put_number(file, (uint64_t)0xffff << 24, 5);
    for (size_t at = 0; at < bytes; at += most) {
        size_t part = bytes - at < most ? bytes - at : most;
        fputc(at + part == bytes, file);
        put_number(file, part, 2);
        put_number(file, ~part, 2);
        fwrite(data + at, part, 1, file);
    }
    return (size_t)(ftell(file) - start);
}

/* x as the member x.npy of an .npz, packed. */
static void save_packed(const char *path, ox_tensor *x) {
    CHECK(ox_save_npy(path, x) == OX_OK);
    size_t bytes = ox_nbytes(x) + 128;
    unsigned char *data = (unsigned char *)malloc(bytes);
    FILE *file = fopen(path, "rb");
    CHECK(data && file && fread(data, bytes, 1, file) == 1 && fgetc(file) == EOF && fclose(file) == 0);
    uint32_t crc = crc_of(data, bytes);
    file = fopen(path, "wb");
    CHECK(file != NULL);
    for (int directory = 0; directory < 2; directory++) {
        static size_t packed;
        long start = ftell(file);
        put_number(file, directory ? 0x02014B50u : 0x04034B50u, 4);
        put_number(file, 20, directory ? 4 : 2);
        put_number(file, 8 << 16, 4);
        put_number(file, 0, 4);
        long sizes = ftell(file);
        put_number(file, crc, 4);
        put_number(file, packed, 4);
        put_number(file, bytes, 4);
        put_number(file, 5, directory ? 18 : 4);
        fputs("x.npy", file);
        if (!directory) {
            packed = put_packed(file, data, bytes);
            CHECK(fseek(file, sizes + 4, SEEK_SET) == 0);
            put_number(file, packed, 4);
            CHECK(fseek(file, 0, SEEK_END) == 0);
            continue;
        }
        long end = ftell(file);
        put_number(file, 0x06054B50u, 8);
        put_number(file, 1 << 16 | 1, 4);
        put_number(file, (uint64_t)(end - start), 4);
        put_number(file, (uint64_t)start, 4);
        put_number(file, 0, 2);
    }
    CHECK(fclose(file) == 0);
    free(data);
}

static void save_npz(const char *path, ox_tensor *x) {
    const char *name = "x";
    CHECK(ox_save_npz(path, &name, &x, 1) == OX_OK);
}

static void save_npy(const char *path, ox_tensor *x) {
    CHECK(ox_save_npy(path, x) == OX_OK);
}

static void save_gguf(const char *path, ox_tensor *x) {
    gguf_make g;
    size_t bytes;
    char *data = bytes_of(x, &bytes);
    memset(&g, 0, sizeof g);
    gguf_text(&g, "general.architecture", "llama");
    gguf_tensor(&g, "x", ox_dtype_get_info(x->dtype)->gguf_id, x->ndim, x->shape, data, bytes);
    CHECK(gguf_write(&g, path) == 0);
    free(data);
}

static const struct {
    const char *ending;
    void (*save)(const char *path, ox_tensor *x);
    bool moves; /* its numbers go to the spill folder */
} savers[] = {{"gguf", save_gguf, false},        {"safetensors", save_one, false},
              {"npy", save_npy, false},          {"npz", save_npz, false},
              {"turned.npy", save_turned, true}, {"packed.npz", save_packed, true}};
enum { SAVERS = sizeof savers / sizeof *savers, SAVED = 70001 };

static ox_file *open_saved(ox_stream *stream, const char *path) {
    ox_file *file = ox_file_open(path, ox_stream_device(stream));
    CHECK_MSG(file != NULL, "%s", ox_error_text());
    return file;
}

/* What is loaded is what was saved, and lies in the file where it can. */
static void test_savers(const stream_case *c) {
    char path[320];
    for (int s = 0; s < SAVERS; s++)
        OX_SCOPE {
            ox_tensor *x = numbers(OX_SHAPE(SAVED), OX_F32, 1);
            snprintf(path, sizeof path, "%s/oxtorch-saved-%p.%s", c->folder, (void *)path, savers[s].ending);
            savers[s].save(path, x);
            ox_stream *stream = case_open(c);
            ox_file *file = open_saved(stream, path), *here = ox_file_open(path, NULL);
            ox_tensor *far = ox_file_tensor_at(file, 0), *near = ox_file_tensor_at(here, 0);
            CHECK((ox_stream_get_stats(stream).spilled_bytes > 0) == savers[s].moves);
            CHECK_MSG(far && near && same_bits(near, x) && same_bits(ox_neg(far), ox_neg(x)), "%s: %s", path,
                      ox_error_text());
            ox_file_close(file);
            ox_file_close(here);
            ox_device_close(ox_stream_device(stream));
            remove(path);
        }
}

/* Loads what was opened before: x, or an error of the file. */
static bool load_later(ox_file *file, ox_tensor *x) {
    ox_tensor *far = ox_file_tensor_at(file, 0), *got = far ? ox_neg(far) : NULL;
    bool fine = got ? same_bits(got, ox_neg(x)) : ox_error() == OX_ERR_IO;
    if (!fine) printf("  %s\n", got ? "other numbers" : ox_error_text());
    ox_error_clear();
    return fine && ox_file_count(file) == 1 && strlen(ox_file_name(file, 0)) > 0;
}

/* A file is cut after it was opened, to any size; another takes its place. */
static void test_cut_files(const stream_case *c) {
    char path[320], other[340];
    for (int s = 0; s < SAVERS; s++)
        for (int cut = 0; cut < 7; cut++)
            OX_SCOPE {
                ox_tensor *x = numbers(OX_SHAPE(SAVED), OX_F32, 1), *y = ox_neg(x);
                snprintf(path, sizeof path, "%s/oxtorch-cut-%p.%s", c->folder, (void *)path,
                         savers[s].ending);
                snprintf(other, sizeof other, "%s.new", path);
                savers[s].save(path, x);
                const long sizes[6] = {0, 1, 100, 4096, SAVED * 2, SAVED * 4};
                ox_stream *stream = case_open(c);
                ox_file *file = open_saved(stream, path);
                if (cut < 6) CHECK(truncate(path, sizes[cut]) == 0);
                if (cut == 6) savers[s].save(other, y);
                if (cut == 6) CHECK(rename(other, path) == 0);
                CHECK_MSG(load_later(file, x), "%s, cut %d", path, cut);
                CHECK_MSG(load_later(file, x), "%s, cut %d, again", path, cut);
                ox_file_close(file);
                ox_device_close(ox_stream_device(stream));
                remove(path);
            }
}

typedef struct flicker {
    char path[320];
    int64_t rounds;
    int stop; /* atomic */
} flicker;

/* Cuts a file and writes it again, over and over. */
static void *flicker_run(void *arg) {
    flicker *f = (flicker *)arg;
    FILE *file = fopen(f->path, "rb");
    static unsigned char data[SAVED * 4 + EMPTY_BLOCKS * 5 + 4096];
    size_t bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    for (file = fopen(f->path, "r+b"); !__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE); f->rounds++) {
        long from = (long)(f->rounds % 5 * f->rounds % (int64_t)bytes);
        if (ftruncate(fileno(file), from) != 0 || fseek(file, from, SEEK_SET) != 0) break;
        if (fwrite(data + from, bytes - (size_t)from, 1, file) != 1 || fflush(file) != 0) break;
    }
    fclose(file);
    return NULL;
}

/* Files that become shorter and longer all the time are opened and loaded from: x, or an error in words. */
static void test_flicker(const stream_case *c) {
    for (int s = 0; s < SAVERS; s++)
        OX_SCOPE {
            ox_tensor *x = numbers(OX_SHAPE(SAVED), OX_F32, 1);
            static flicker f;
            pthread_t thread;
            int opened = 0;
            memset(&f, 0, sizeof f);
            snprintf(f.path, sizeof f.path, "%s/oxtorch-flicker-%p.%s", c->folder, (void *)&f,
                     savers[s].ending);
            savers[s].save(f.path, x);
            ox_stream *stream = case_open(c);
            CHECK(pthread_create(&thread, NULL, flicker_run, &f) == 0);
            for (int i = 0; i < 60; i++)
                OX_SCOPE {
                    ox_file *file = ox_file_open(f.path, ox_stream_device(stream));
                    bool in_words = file || ox_error() == OX_ERR_IO || ox_error() == OX_ERR_FORMAT;
                    CHECK_MSG(in_words && (file || strstr(ox_error_text(), "oxtorch-flicker")), "%s",
                              ox_error_text());
                    ox_error_clear();
                    if (file) CHECK_MSG(load_later(file, x), "%s", f.path);
                    opened += file != NULL;
                    ox_file_close(file);
                }
            __atomic_store_n(&f.stop, 1, __ATOMIC_RELEASE);
            pthread_join(thread, NULL);
            CHECK_MSG(f.rounds > 0, "%lld rounds, %d opened", (long long)f.rounds, opened);
            ox_device_close(ox_stream_device(stream));
            remove(f.path);
        }
}

/* The file of a model is cut to nothing: its words are still there, and a step is an error. */
static void test_cut_model(const stream_case *small) {
    static float logits[WORDS];
    char path[320];
    const stream_case c = case_sized(small, 2 << 20, 32 << 10);
    snprintf(path, sizeof path, "%s/oxtorch-cut.gguf", c.folder);
    write_model(path, OX_Q8_0);
    ox_stream *stream = case_open(&c);
    ox_file *file = ox_file_open(path, ox_stream_device(stream));
    ox_llm *model = ox_llm_open(path, ox_stream_device(stream));
    ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
    CHECK_MSG(context && ox_llm_decode_one(context, 5, logits) == OX_OK, "%s", ox_error_text());
    CHECK(truncate(path, 0) == 0);
    CHECK(ox_llm_rewind(context, 0) == OX_OK);
    for (int i = 0; i < 3; i++) {
        ox_status status = ox_llm_decode_one(context, 5, logits); /* what was kept may be all of it */
        CHECK_MSG(status == OX_OK || (status == OX_ERR_IO && strstr(ox_error_text(), "shorter")), "%s",
                  ox_error_text());
        ox_error_clear();
    }
    ox_file_meta meta = ox_file_meta_find(file, "general.architecture");
    CHECK(meta.type == OX_FILE_META_STRING && meta.text.length == 5 &&
          memcmp(meta.text.data, "llama", 5) == 0);
    for (int64_t i = 0; i < ox_file_count(file); i++) CHECK(strlen(ox_file_name(file, i)) > 0);
    CHECK(!ox_file_tensor_at(file, 0) && ox_error() == OX_ERR_IO);
    ox_error_clear();
    ox_llm_context_close(context);
    ox_llm_close(model);
    ox_file_close(file);
    ox_device_close(ox_stream_device(stream));
    remove(path);
}

/* ---- what is kept ------------------------------------------------------------------------------------- */

/* Passes over W bytes with R kept read at most W - R and two tiles; with room for all, nothing. */
static void test_kept(const stream_case *small, size_t ram, int64_t layers) {
    enum { N = 256, K = 256 }; /* a layer of f32 is 256 KiB: four tiles */
    char path[320];
    const stream_case c = case_sized(small, ram, (64 << 10) + 8192);
    snprintf(path, sizeof path, "%s/oxtorch-kept.raw", c.folder);
    OX_SCOPE {
        ox_tensor *weights = numbers(OX_SHAPE(layers, N, K), OX_F32, 1),
                  *x = numbers(OX_SHAPE(2, K), OX_F32, 2);
        put_raw(path, weights, 0);
        ox_stream *stream = case_open(&c);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(layers, N, K));
        int64_t read = 0, ram_bytes = 0, ahead_bytes = 0, all = (int64_t)ox_nbytes(far), tile = 64 << 10;
        ox_tensor *first = NULL;
        for (int pass = 0; pass < 4; pass++) {
            ox_tensor *y = x;
            for (int64_t i = 0; y && i < layers; i++)
                y = ox_mul_number(ox_linear(y, ox_select(far, 0, i), NULL), 0.06);
            ox_stream_stats s = ox_stream_get_stats(stream);
            int64_t now = s.disk_bytes - read, kept = (int64_t)s.kept_bytes;
            read = s.disk_bytes;
            if (!first) first = y;
            CHECK(y && same_bits(y, first));
            if (pass == 0) CHECK(now == all);
            if (pass == 1) CHECK(kept > 0);
            /* What a pass takes from RAM is R; what was read ahead belongs to the next pass. */
            int64_t reused = s.ram_bytes - ram_bytes, ahead = s.ahead_bytes - ahead_bytes;
            ram_bytes = s.ram_bytes;
            ahead_bytes = s.ahead_bytes;
            if (pass > 1) CHECK(reused >= (kept < all ? kept : all) * 8 / 10);
            if (pass > 0)
                CHECK_MSG(now - ahead <= all - reused + 2 * tile,
                          "pass %d: %lld of %lld bytes, %lld from RAM, %lld ahead", pass, (long long)now,
                          (long long)all, (long long)reused, (long long)ahead);
            if (ram > (size_t)all * 2 && pass > 0) CHECK(now == 0);
            CHECK(s.kept_bytes + s.ring_bytes <= ram);
        }
        CHECK(ox_stream_get_stats(stream).guesses > 0 || ram > (size_t)all * 2);
        ox_device_close(ox_stream_device(stream));
    }
    remove(path);
}

/* The first pass over layers that are alike, four weights each, which lie in the file in another order than
 * they are used in: reads go ahead of the operations from the third layer on, and nothing is read twice.
 * Where each layer has an order of its own, little is read in vain. */
static void test_first_pass(const stream_case *small, bool alike) {
    enum { LAYERS = 16, K = 256, ROWS = 64 + 160 + 64 + 96 };
    static const int64_t rows[4] = {64, 160, 64, 96}, before[4] = {0, 64, 224, 288};
    char path[320];
    const stream_case c = case_sized(small, 2 << 20, (64 << 10) + 8192);
    snprintf(path, sizeof path, "%s/oxtorch-first.raw", c.folder);
    OX_SCOPE {
        ox_tensor *all = numbers(OX_SHAPE(LAYERS, ROWS, K), OX_F32, 1),
                  *x = numbers(OX_SHAPE(2, K), OX_F32, 2);
        put_raw(path, all, 0);
        ox_stream *stream = case_open(&c);
        ox_tensor *far[LAYERS][4];
        for (int64_t l = 0; l < LAYERS; l++)
            for (int w = 0; w < 4; w++)
                far[l][w] =
                    ox_stream_raw(stream, path, 4 * K * (l * ROWS + before[w]), OX_F32, OX_SHAPE(rows[w], K));
        int64_t guesses = 0;
        for (int64_t l = 0; l < LAYERS; l++)
            for (int i = 0; i < 4; i++) {
                int w = alike ? (2 + 3 * i) % 4 : (int)((l * 7 + l * l * 3 + i * (l % 2 ? 1 : 3)) % 4);
                ox_tensor *near = ox_narrow(ox_select(all, 0, l), 0, before[w], rows[w]);
                CHECK(same_bits(ox_linear(x, far[l][w], NULL), ox_linear(x, near, NULL)));
                if (l == 2 && i == 0) guesses = ox_stream_get_stats(stream).guesses;
            }
        ox_stream_stats s = ox_stream_get_stats(stream);
        int64_t bytes = (int64_t)ox_nbytes(all), ahead = s.guesses - guesses;
        if (alike)
            CHECK_MSG(s.disk_bytes == bytes && ahead >= (LAYERS - 2) * 4 - 1,
                      "%lld of %lld bytes, %lld ahead", (long long)s.disk_bytes, (long long)bytes,
                      (long long)ahead);
        CHECK_MSG(s.disk_bytes <= bytes / 4 * 5, "%lld of %lld bytes", (long long)s.disk_bytes,
                  (long long)bytes);
        CHECK(s.kept_bytes + s.ring_bytes <= c.ram_bytes);
        ox_device_close(ox_stream_device(stream));
    }
    remove(path);
}

/* ---- checksums ---------------------------------------------------------------------------------------- */

/* A byte that changes between two passes is an error with checksums, of a file that is the same otherwise. */
static void test_checksums(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-sums.raw", c->folder);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(50021), OX_F32, 1);
        put_raw(path, x, 0);
        ox_stream_desc desc = case_desc(c);
        desc.checksums = true;
        desc.forgetful = true;
        ox_stream *stream = ox_stream_open(&desc);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(50021));
        for (int i = 0; i < 3; i++) CHECK(same_bits(ox_neg(far), ox_neg(x)));
        for (long at = 3; at < 200084; at += 100041) { /* the first tile and the odd end of the last one */
            FILE *file = fopen(path, "r+b");
            CHECK(file && fseek(file, at, SEEK_SET) == 0);
            int old = fgetc(file);
            CHECK(fseek(file, at, SEEK_SET) == 0 && fputc(old ^ 16, file) != EOF && fflush(file) == 0);
            ox_tensor *got = NULL;
            for (int i = 0; i < 2; i++) got = ox_neg(far); /* one may have been read before the change */
            CHECK_MSG(!got && ox_error() == OX_ERR_IO && strstr(ox_error_text(), "not those"), "%ld: %s", at,
                      ox_error_text());
            ox_error_clear();
            CHECK(fseek(file, at, SEEK_SET) == 0 && fputc(old, file) != EOF && fclose(file) == 0);
        }
        ox_device_close(ox_stream_device(stream));
    }
    remove(path);
}

/* Changes a byte of the spill file in `folder`, found among the process's handles, for it has no name. */
static bool spoil_spill(const char *given, long at) {
    char name[64], target[512], folder[PATH_MAX];
    if (!realpath(given, folder)) return false;
    for (int i = 3; i < 256; i++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", i);
        ssize_t n = readlink(name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = 0;
        unsigned char one;
        if (!strstr(target, folder) || !strstr(target, "(deleted)") || pread(i, &one, 1, at) != 1) continue;
        one ^= 4;
        return pwrite(i, &one, 1, at) == 1;
    }
    return false;
}

/* The same for what the stream has written itself: a tensor that was moved to it, and a result of tiles. The
 * bytes lie in pages that are in one tile. */
static void test_spill_checksums(const stream_case *c) {
    const long page = 4096, pages = 49; /* of 50,021 numbers */
    ox_stream_desc desc = case_desc(c);
    desc.checksums = true;
    desc.result_bytes = 1;
    desc.ram_bytes = 4 << 20;
    desc.tile_bytes = (64 << 10) + 2 * page;
    ox_stream *stream = ox_stream_open(&desc);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(50021), OX_F32, 1), *moved = ox_to(x, ox_stream_device(stream));
        ox_tensor *result = ox_neg(moved), *far[2] = {moved, result}, *near[2] = {x, ox_neg(x)};
        for (int i = 0; i < 2; i++)
            for (long at = 5 * page + 7; at < pages * page; at += (pages - 6) * page) {
                CHECK(same_bits(far[i], near[i]) && same_bits(ox_exp(far[i]), ox_exp(near[i])));
                CHECK(spoil_spill(c->folder, i * pages * page + at));
                CHECK(!ox_exp(far[i]) && ox_error() == OX_ERR_IO);
                CHECK_MSG(strstr(ox_error_text(), "written here"), "byte %ld of %d: %s", at, i,
                          ox_error_text());
                ox_error_clear();
                CHECK(!ox_to(far[i], ox_cpu()) && ox_error() == OX_ERR_IO);
                ox_error_clear();
                CHECK(spoil_spill(c->folder, i * pages * page + at));
            }
        CHECK(ox_add_(moved, x) && same_bits(moved, ox_mul_number(x, 2))); /* written anew */
        CHECK(ox_copy_(ox_narrow(moved, 0, 3, 30), ox_narrow(x, 0, 3, 30)) &&
              same_bits(ox_narrow(moved, 0, 3, 30), ox_narrow(x, 0, 3, 30)));
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_device_close(ox_stream_device(stream));
}

/* ---- threads ------------------------------------------------------------------------------------------ */

typedef struct thread_work {
    ox_stream *stream;
    ox_tensor *far, *near;
    int64_t rows;
    int right;
} thread_work;

/* Operations on one stream and on tensors of the thread's own. */
static void *thread_run(void *arg) {
    thread_work *work = (thread_work *)arg;
    for (int i = 0; i < 20; i++)
        OX_SCOPE {
            ox_tensor *a = ox_narrow(work->far, 0, i, work->rows),
                      *b = ox_narrow(work->near, 0, i, work->rows);
            ox_tensor *moved = ox_to(b, ox_stream_device(work->stream));
            work->right += same_bits(ox_exp(a), ox_exp(b)) && same_bits(ox_add(moved, a), ox_add(b, b)) &&
                           same_bits(ox_sum(a, OX_DIMS(1), false), ox_sum(b, OX_DIMS(1), false));
        }
    return NULL;
}

static void test_threads(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-threads.raw", c->folder);
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(200, 300), OX_F32, 1);
        put_raw(path, x, 0);
        ox_stream *stream = case_open(c);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(200, 300));
        thread_work work[3];
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) {
            thread_work one = {stream, far, x, 50 + 60 * i, 0};
            work[i] = one;
            CHECK(pthread_create(&threads[i], NULL, thread_run, &work[i]) == 0);
        }
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
            CHECK(work[i].right == 20);
        }
        ox_device_close(ox_stream_device(stream)); /* far keeps it */
        CHECK(same_bits(far, x));
    }
    remove(path);
}

/* A file that is open keeps the stream that it is open on. */
static void test_kept_open(const stream_case *c) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-open.npy", c->folder);
    size_t before = ox_memory_get_stats().bytes_in_use;
    OX_SCOPE {
        ox_tensor *x = numbers(OX_SHAPE(70, 30), OX_F32, 1);
        CHECK(ox_save_npy(path, x) == OX_OK);
        ox_stream *stream = case_open(c);
        ox_file *file = ox_file_open(path, ox_stream_device(stream)), *bad;
        ox_device_close(ox_stream_device(stream));
        bad = ox_file_open("/nowhere", ox_stream_device(stream));
        CHECK(!bad && ox_error() == OX_ERR_IO);
        ox_error_clear();
        ox_tensor *t = ox_file_tensor_at(file, 0);
        CHECK_MSG(t && same_bits(ox_exp(t), ox_exp(x)), "%s", ox_error_text());
        ox_file_close(file);
        CHECK(same_bits(t, x)); /* and then the tensor does */
    }
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    remove(path);
}

/* A file of a gibibyte, opened where the process may have a few hundred MiB of addresses. */
static void test_addresses(const stream_case *c) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__linux__)
    (void)c;
    check_skip("few addresses", "a sanitizer takes them all, or it is not Linux");
#else
    static const char *const kinds[] = {"gguf", "safetensors", "npy"};
    enum { LONG = 1 << 30 };
    for (int kind = 0; kind < 3; kind++) {
        char path[320], text[160];
        gguf_bytes all = {NULL, 0, 0};
        gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
        snprintf(path, sizeof path, "%s/oxtorch-long.%s", c->folder, kinds[kind]);
        if (kind == 0) {
            const int64_t shape = LONG - 256;
            gguf_tensor(&g, "w", 24, 1, &shape, NULL, 0); /* i8 */
            CHECK(gguf_write(&g, path) == 0);
        } else if (kind == 1) {
            int length = snprintf(text, sizeof text, "{\"w\":{\"dtype\":\"I8\",\"shape\":[%d],"
                                  "\"data_offsets\":[0,%d]}}", LONG - 256, LONG - 256);
            gguf_number(&all, (uint64_t)length, 8);
            gguf_put(&all, text, (size_t)length);
        } else {
            int length =
                snprintf(text, sizeof text, "{'descr': '|i1', 'fortran_order': False, 'shape': (%d,)}",
                         LONG - 256);
            gguf_put(&all, "\x93NUMPY\1\0", 8);
            gguf_number(&all, 118, 2);
            gguf_put(&all, text, (size_t)length);
            while (all.count < 128) gguf_put(&all, all.count == 127 ? "\n" : " ", 1);
        }
        FILE *file = fopen(path, kind == 0 ? "ab" : "wb");
        CHECK(file && (kind == 0 || fwrite(all.data, 1, all.count, file) == all.count) && fclose(file) == 0);
        long head = kind == 0 ? 96 : (long)all.count;
        CHECK(truncate(path, (off_t)LONG - 256 + head) == 0);
        free(all.data);
        struct rlimit usual, few;
        CHECK(getrlimit(RLIMIT_AS, &usual) == 0);
        ox_stream *stream = case_open(c);
        few = usual;
        few.rlim_cur = (rlim_t)768 << 20;
        CHECK(setrlimit(RLIMIT_AS, &few) == 0);
        OX_SCOPE {
            ox_file *far = ox_file_open(path, ox_stream_device(stream));
            ox_tensor *t = far ? ox_file_tensor_at(far, 0) : NULL,
                      *part = t ? ox_narrow(t, 0, 5, 1000) : NULL;
            CHECK_MSG(part && ox_item(ox_sum(part, OX_ALL_DIMS, false)) == 0, "%s: %s", path,
                      ox_error_text());
            ox_file_close(far);
        }
        CHECK(setrlimit(RLIMIT_AS, &usual) == 0);
        ox_device_close(ox_stream_device(stream));
        remove(path);
        ox_error_clear();
    }
#endif
}

int main(void) {
    check_cases();
    for (int i = 0; i < case_count(); i++) {
        stream_case c = case_at(i);
        if (!c.folder || i == 2 || i == 3) continue;
        c.result_bytes = 0;
        test_formats(&c);
        test_unaligned(&c);
        test_save(&c);
        test_named(&c);
        test_threads(&c);
        test_changed(&c);
        test_cut_model(&c);
        test_savers(&c);
        test_cut_files(&c);
        test_flicker(&c);
        test_checksums(&c);
        if (access("/proc/self/fd", R_OK) == 0)
            test_spill_checksums(&c);
        else
            check_skip("checksums of the spill file", "there is no /proc");
        test_model(&c, OX_F32);
        test_model(&c, OX_F16);
        test_model(&c, OX_Q8_0);
        test_model(&c, OX_Q4_K);
        static const size_t budgets[] = {5 << 18, 3 << 19, 2 << 20, 4 << 20,
                                         5 << 20, 6 << 20, 7 << 20, 20 << 20};
        for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) test_kept(&c, budgets[b], 24);
        test_first_pass(&c, true);
        test_first_pass(&c, false);
        test_kept_open(&c);
        test_addresses(&c);
    }
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream_files");
}
