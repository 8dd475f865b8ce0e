/* test_bounds.c - hostile files cost time that follows from their size: no byte more than a constant, and
 * each kind of file is opened small and sixteen times as large, and the larger one may take what that
 * explains, not the square of it. Texts that a tokenizer encodes are bounded by their own length. Processor
 * time is measured, the least of a few tries. */
#include "check.h"
#include "gguf_make.h"
#include "oxtorch_llm.h"

#include <time.h>

enum {
    TIMES = 16,
    SLACK = 5
}; /* how much larger; what a linear loader may take more than that: caches, noise */

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static void put_file(const char *path, const gguf_bytes *bytes) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes->data, 1, bytes->count, file) == bytes->count && fclose(file) == 0);
    free(bytes->data);
}

static void put_words(gguf_bytes *b, const char *words) {
    gguf_put(b, words, strlen(words));
}

/* ---- tokenizers ---------------------------------------------------------------------------------------- */

/* A vocabulary of `count` texts: text(i, out) gives their lengths. type: of all but the first three. */
static void make_vocabulary(const char *path, int count, int type,
                            size_t (*text)(int i, int count, char *out)) {
    gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
    char *out = (char *)malloc((size_t)count + 64);
    gguf_text(&g, "tokenizer.ggml.model", "llama");
    gguf_array(&g, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        size_t length = text(i, count, out);
        gguf_string(&g.keys, out, length);
    }
    gguf_array(&g, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_number(&g.keys, 0, 4);
    gguf_array(&g, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_number(&g.keys, i < 3 ? 1 : (uint64_t)type, 4);
    CHECK(gguf_write(&g, path) == 0);
    free(out);
}

/* Texts whose FNV-1a hashes meet in an eighth of a table. */
static size_t text_that_meets(int i, int count, char *out) {
    static uint64_t state;
    uint64_t slots = 16, hash;
    if (i == 0) state = 1;
    while (slots < 2 * (uint64_t)count) slots *= 2;
    do {
        uint64_t word = state++ * UINT64_C(0x9E3779B97F4A7C15);
        hash = UINT64_C(0xcbf29ce484222325);
        for (int c = 0; c < 10; c++) {
            out[c] = (char)('0' + (word >> 6 * c & 63));
            hash = (hash ^ (unsigned char)out[c]) * UINT64_C(0x100000001b3);
        }
    } while (((hash ^ hash >> 32) & (slots - 1)) >= (uint64_t)count / 8);
    return 10;
}
static size_t text_that_is_same(int i, int count, char *out) {
    (void)i, (void)count;
    memcpy(out, "the same text", 13);
    return 13;
}
static size_t text_of_marker(int i, int count, char *out) { /* long starts, and ends, in common */
    (void)count;
    memset(out, 'a', 40);
    return 40 + (size_t)sprintf(out + 40, "%d%s", i, i % 2 ? "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" : "");
}
static size_t text_of_one_marker(int i, int count, char *out) {
    if (i < count - 1) return (size_t)sprintf(out, "%c%d", 'a' + i % 2, i);
    memset(out, 'a', (size_t)count);
    out[count] = 'b';
    return (size_t)count + 1;
}

static void make_meeting(const char *path, int n) {
    make_vocabulary(path, n, 1, text_that_meets);
}
static void make_same(const char *path, int n) {
    make_vocabulary(path, n, 4, text_that_is_same);
}
static void make_markers(const char *path, int n) {
    make_vocabulary(path, n, 4, text_of_marker);
}
static void make_marker(const char *path, int n) {
    make_vocabulary(path, n, 4, text_of_one_marker);
}

static void open_tokenizer(const char *path, int n) {
    ox_file *file = ox_file_open(path, NULL);
    ox_tokenizer *t = ox_tokenizer_open(file);
    (void)n;
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    ox_tokenizer_close(t);
    ox_file_close(file);
}

/* Four tokens: two letters, and markers as long as the text, of which every place of it may be the start. */
static void make_munch(const char *path, int n) {
    gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
    static const int types[] = {2, 1, 1, 4, 4, 4};
    char *text = (char *)malloc((size_t)n + 2);
    for (int i = 0; i < n; i++) text[i] = "ab"[i % 2];
    text[n] = 'c';
    gguf_text(&g, "tokenizer.ggml.model", "llama");
    gguf_array(&g, "tokenizer.ggml.tokens", GGUF_TEXT, 6);
    gguf_string(&g.keys, "<unk>", 5);
    gguf_string(&g.keys, "a", 1);
    gguf_string(&g.keys, "b", 1);
    gguf_string(&g.keys, "ab", 2);
    gguf_string(&g.keys, text, (size_t)n + 1);
    memset(text, 'a', (size_t)n);
    gguf_string(&g.keys, text, (size_t)n + 1);
    gguf_array(&g, "tokenizer.ggml.scores", GGUF_F32, 6);
    for (int i = 0; i < 6; i++) gguf_number(&g.keys, 0, 4);
    gguf_array(&g, "tokenizer.ggml.token_type", GGUF_I32, 6);
    for (int i = 0; i < 6; i++) gguf_number(&g.keys, (uint64_t)types[i], 4);
    gguf_u32(&g, "tokenizer.ggml.unknown_token_id", 0);
    CHECK(gguf_write(&g, path) == 0);
    free(text);
}

static ox_tokenizer *munching;
static void encode(int n, bool alternate) {
    char *text = (char *)malloc((size_t)n);
    for (int i = 0; i < n; i++) text[i] = alternate && i % 2 ? 'b' : 'a';
    int64_t ids = ox_tokenizer_encode(munching, text, n, NULL, NULL, 0);
    CHECK_MSG(ids > n / 4, "%lld: %s", (long long)ids, ox_error_text());
    free(text);
}
static void encode_alike(const char *path, int n) {
    (void)path, encode(n, false);
}
static void encode_alternate(const char *path, int n) {
    (void)path, encode(n, true);
}

/* ---- GGUF ---------------------------------------------------------------------------------------------- */

static void make_tensors(const char *path, int n) {
    gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
    const int64_t one = 1;
    char name[128];
    memset(name, 'n', 50);
    for (int i = 0; i < n; i++) {
        snprintf(name + 50, sizeof name - 50, "%d", (i * 7919) % n);
        gguf_tensor(&g, name, 0, 1, &one, &one, 4);
    }
    CHECK(gguf_write(&g, path) == 0);
}
static void make_keys(const char *path, int n) {
    gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
    char *name = (char *)malloc(4100);
    memset(name, 'k', 4000);
    for (int i = 0; i < n; i++) {
        snprintf(name + 4000, 100, "%d", (i * 7919) % n);
        gguf_u32(&g, name, 1);
    }
    CHECK(gguf_write(&g, path) == 0);
    free(name);
}
static void make_arrays(const char *path, int n) { /* of empty texts, and of empty arrays */
    gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
    gguf_array(&g, "texts", GGUF_TEXT, (uint64_t)n);
    for (int i = 0; i < n; i++) gguf_number(&g.keys, 0, 8);
    gguf_array(&g, "arrays", GGUF_ARRAY, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        gguf_number(&g.keys, GGUF_TEXT, 4);
        gguf_number(&g.keys, 0, 8);
    }
    CHECK(gguf_write(&g, path) == 0);
}

static void open_file(const char *path, int n) {
    ox_file *file = ox_file_open(path, NULL);
    (void)n;
    CHECK_MSG(file != NULL, "%s", ox_error_text());
    for (int64_t i = 0; i < ox_file_count(file); i += 97)
        CHECK(ox_file_has(file, ox_file_name(file, i)) &&
              ox_file_meta_find(file, "none").type == OX_FILE_META_NONE);
    ox_file_close(file);
}
static void open_bad_file(const char *path, int n) {
    ox_file *file = ox_file_open(path, NULL);
    (void)n;
    CHECK(!file && ox_error() == OX_ERR_FORMAT);
    ox_file_close(file);
    ox_error_clear();
}

/* ---- safetensors --------------------------------------------------------------------------------------- */

static void put_safetensors(const char *path, const gguf_bytes *header, size_t data) {
    gguf_bytes all = {NULL, 0, 0};
    gguf_number(&all, header->count, 8);
    gguf_put(&all, header->data, header->count);
    for (size_t i = 0; i < data; i++) gguf_put(&all, "", 1);
    free(header->data);
    put_file(path, &all);
}

static void put_entry(gguf_bytes *b, const char *name, int at) {
    char words[512];
    snprintf(words, sizeof words, "\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]},", name,
             at, at + 1);
    put_words(b, words);
}

static void make_backwards(const char *path, int n) {
    gguf_bytes header = {NULL, 0, 0};
    char name[128];
    put_words(&header, "{");
    memset(name, 'n', 50);
    for (int i = n; i-- > 0;) {
        snprintf(name + 50, sizeof name - 50, "%d", (i * 7919) % n);
        put_entry(&header, name, i);
    }
    header.data[header.count - 1] = '}';
    put_safetensors(path, &header, (size_t)n);
}
static void make_unknown(const char *path,
                         int n) { /* fields that nobody knows, lists in lists, long shapes */
    gguf_bytes header = {NULL, 0, 0};
    put_words(&header, "{\"w\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[");
    for (int i = 0; i < n; i++) put_words(&header, "1,");
    put_words(&header, "1],\"more\":[");
    for (int i = 0; i < n; i++) put_words(&header, "[[[[[[{\"a\\u0041\":1e-3}]]]]]],");
    put_words(&header, "0]},\"x\":{\"dtype\":\"U8\",\"data_offsets\":[1,2],\"shape\":[1]}}");
    put_safetensors(path, &header, 2);
}
static void make_metadata(const char *path, int n) {
    gguf_bytes header = {NULL, 0, 0};
    char words[128];
    put_words(&header, "{\"__metadata__\":{");
    for (int i = 0; i < n; i++) {
        snprintf(words, sizeof words, "%s\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk%d\":\"v\"",
                 i ? "," : "", (i * 7919) % n);
        put_words(&header, words);
    }
    put_words(&header, "}}");
    put_safetensors(path, &header, 0);
}
static void make_index(const char *path, int n) { /* many tensors of one shard, none of which is there */
    gguf_bytes header = {NULL, 0, 0}, index = {NULL, 0, 0};
    char words[256];
    const char *shard = gguf_path("bounds-shard.safetensors");
    put_words(&header, "{");
    put_words(&index, "{\"weight_map\":{");
    for (int i = 0; i < n; i++) {
        snprintf(words, sizeof words, "there%d", i);
        put_entry(&header, words, i);
        snprintf(words, sizeof words, "%s\"missing%d\":\"bounds-shard.safetensors\"", i ? "," : "", i);
        put_words(&index, words);
    }
    header.data[header.count - 1] = '}';
    put_words(&index, "}}");
    put_safetensors(shard, &header, (size_t)n);
    put_file(path, &index);
}

/* ---- npz ----------------------------------------------------------------------------------------------- */

static void make_members(const char *path, int n) {
    char **names = (char **)malloc((size_t)n * sizeof *names);
    ox_tensor **tensors = (ox_tensor **)malloc((size_t)n * sizeof *tensors);
    OX_SCOPE {
        ox_tensor *t = ox_zeros(OX_SHAPE(0), OX_F32);
        for (int i = 0; i < n; i++) {
            names[i] = (char *)malloc(24);
            snprintf(names[i], 24, "m%d", (i * 7919) % n);
            tensors[i] = t;
        }
        CHECK(ox_save_npz(path, (const char *const *)names, tensors, n) == OX_OK);
    }
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
    free(tensors);
}

static void put_bits(gguf_bytes *b, uint32_t *word, int *used, uint32_t bits, int count) {
    *word |= bits << *used;
    *used += count;
    for (; *used >= 8; *used -= 8, *word >>= 8) gguf_number(b, *word & 255, 1);
}

/* A member of n blocks of deflate without a byte in them, and its header. */
static void make_blocks(const char *path, int n, bool dynamic) {
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}";
    gguf_bytes plain = {NULL, 0, 0}, packed = {NULL, 0, 0}, all = {NULL, 0, 0};
    uint32_t word = 0, crc = ~0u;
    int used = 0;
    gguf_put(&plain, "\x93NUMPY\1\0", 8);
    gguf_number(&plain, 118, 2);
    put_words(&plain, dict);
    while (plain.count < 128) gguf_put(&plain, plain.count == 127 ? "\n" : " ", 1);
    for (size_t i = 0; i < plain.count; i++) {
        crc ^= plain.data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xEDB88320u ^ crc >> 1 : crc >> 1;
    }
    for (int i = 0; i < n; i++) {
        put_bits(&packed, &word, &used, 0, 1);
        put_bits(&packed, &word, &used, dynamic ? 2 : 1, 2);
        if (!dynamic) {
            put_bits(&packed, &word, &used, 0, 7); /* the end */
            continue;
        }
        /* 257 literals, 1 distance; code lengths 18 and 1 have codes of one bit: 256 zeros, the end's, no
         * more */
        put_bits(&packed, &word, &used, 0, 5);
        put_bits(&packed, &word, &used, 0, 5);
        put_bits(&packed, &word, &used, 14, 4);
        for (int k = 0; k < 18; k++) put_bits(&packed, &word, &used, k == 2 || k == 17, 3);
        put_bits(&packed, &word, &used, 1, 1);
        put_bits(&packed, &word, &used, 127, 7); /* 138 zeros */
        put_bits(&packed, &word, &used, 1, 1);
        put_bits(&packed, &word, &used, 107, 7); /* 118 zeros */
        put_bits(&packed, &word, &used, 0, 1);
        put_bits(&packed, &word, &used, 0, 1);
        put_bits(&packed, &word, &used, 0, 1); /* the end */
    }
    put_bits(&packed, &word, &used, 1, 3); /* stored, the last */
    if (used > 0) put_bits(&packed, &word, &used, 0, 8 - used);
    gguf_number(&packed, 128, 2);
    gguf_number(&packed, 65535 - 128, 2);
    gguf_put(&packed, plain.data, 128);
    for (int entry = 0; entry < 2; entry++) {
        gguf_number(&all, entry ? 0x02014B50u : 0x04034B50u, 4);
        gguf_number(&all, 20, entry ? 4 : 2);
        gguf_number(&all, 0, 2);
        gguf_number(&all, 8, 2);
        gguf_number(&all, 0, 4);
        gguf_number(&all, ~crc, 4);
        gguf_number(&all, packed.count, 4);
        gguf_number(&all, 128, 4);
        gguf_number(&all, 5, 2);
        gguf_number(&all, 0, 2);
        if (entry) gguf_number(&all, 0, 8);
        if (entry) gguf_number(&all, 0, 8);
        if (entry) all.count -= 2; /* comment, disk, inner, outer attributes and place: 14 bytes */
        gguf_put(&all, "x.npy", 5);
        if (!entry) gguf_put(&all, packed.data, packed.count);
    }
    const size_t directory = 35 + packed.count;
    gguf_number(&all, 0x06054B50u, 4);
    gguf_number(&all, 0, 4);
    gguf_number(&all, 1, 2);
    gguf_number(&all, 1, 2);
    gguf_number(&all, all.count - 12 - directory, 4);
    gguf_number(&all, directory, 4);
    gguf_number(&all, 0, 2);
    free(plain.data);
    free(packed.data);
    put_file(path, &all);
}
static void make_fixed_blocks(const char *path, int n) {
    make_blocks(path, n, false);
}
static void make_dynamic_blocks(const char *path, int n) {
    make_blocks(path, n, true);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name, *file;
    int n; /* of the small one */
    void (*make)(const char *path, int n);
    void (*run)(const char *path, int n);
} kind;

static const kind kinds[] = {
    {"texts whose hashes met", "meet.gguf", 1 << 10, make_meeting, open_tokenizer},
    {"one text many times", "same.gguf", 1 << 10, make_same, open_tokenizer},
    {"markers alike", "markers.gguf", 1 << 9, make_markers, open_tokenizer},
    {"a long marker", "marker.gguf", 1 << 10, make_marker, open_tokenizer},
    {"names of tensors", "tensors.gguf", 1 << 10, make_tensors, open_file},
    {"long keys", "keys.gguf", 1 << 6, make_keys, open_file},
    {"empty elements", "arrays.gguf", 1 << 12, make_arrays, open_file},
    {"tensors backwards", "backwards.safetensors", 1 << 9, make_backwards, open_file},
    {"unknown fields", "unknown.safetensors", 1 << 9, make_unknown, open_file},
    {"metadata", "metadata.safetensors", 1 << 9, make_metadata, open_file},
    {"an index", "index.json", 1 << 9, make_index, open_bad_file},
    {"members", "members.npz", 1 << 7, make_members, open_file},
    {"fixed blocks", "fixed.npz", 1 << 11, make_fixed_blocks, open_file},
    {"dynamic blocks", "dynamic.npz", 1 << 8, make_dynamic_blocks, open_file},
};

static double least_time(void (*run)(const char *path, int n), const char *path, int n) {
    double least = 1e9, begin = seconds();
    for (int i = 0; i < 5 && (i < 2 || seconds() - begin < 0.5); i++) {
        double start = seconds();
        run(path, n);
        double took = seconds() - start;
        if (took < least) least = took;
    }
    return least;
}

/* Times less than half a millisecond are not measured well. bytes: of the large one. */
static void compare(const char *name, double small, double large, long bytes) {
    const double each = 4e-6; /* seconds; this is met without an optimizer, and with sanitizers */
    double base = small > 0.5e-3 ? small : 0.5e-3;
    if (getenv("OX_TEST_TALKS")) printf("%-24s %.5f s, %.5f s for %ld bytes\n", name, small, large, bytes);
    CHECK_MSG(large < base * TIMES * SLACK, "%s: %.4f s, of %d times that %.4f s", name, small, TIMES, large);
    CHECK_MSG(bytes > 0 && large < each * (double)bytes, "%s: %.4f s for %ld bytes", name, large, bytes);
}

static long file_bytes(const char *path) {
    FILE *file = fopen(path, "rb");
    long bytes = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (file) fclose(file);
    return bytes;
}

static void test_files(void) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind *k = &kinds[i];
        const char *path = gguf_path(k->file);
        double took[2];
        long bytes = 0;
        for (int large = 0; large < 2; large++) {
            const int n = large ? k->n * TIMES : k->n;
            k->make(path, n);
            took[large] = least_time(k->run, path, n);
            bytes = file_bytes(path);
            remove(path);
        }
        compare(k->name, took[0], took[1], bytes);
    }
    remove(gguf_path("bounds-shard.safetensors"));
}

static void test_texts(void) {
    enum { SHORT = 4000 };
    const char *path = gguf_path("munch.gguf");
    make_munch(path, SHORT * TIMES);
    ox_file *file = ox_file_open(path, NULL);
    munching = ox_tokenizer_open(file);
    CHECK_MSG(munching != NULL, "%s", ox_error_text());
    double alike = least_time(encode_alike, path, SHORT),
           alternate = least_time(encode_alternate, path, SHORT);
    compare("a text of one letter", alike, least_time(encode_alike, path, SHORT * TIMES), SHORT * TIMES);
    compare("a text of two letters", alternate, least_time(encode_alternate, path, SHORT * TIMES),
            SHORT * TIMES);
    ox_tokenizer_close(munching);
    ox_file_close(file);
    remove(path);
}

int main(void) {
    if (getenv("OX_TEST_EMULATED")) {
        check_skip("bounds", "an emulated processor's time says little");
        return check_done("bounds");
    }
    test_files();
    test_texts();
    return check_done("bounds");
}
