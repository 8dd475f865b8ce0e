/* test_files.c - files of every format: what can go wrong around them (paths, memory, threads), and real
 * ones. OX_TSAN OX_QEMU: loads from several threads; short enough to be emulated. */
#define _GNU_SOURCE 1
#include "oxtorch.h"

#include "check.h"
#include "file_walk.h"
#include "gguf_make.h"
#include "hook_alloc.h"

#if !defined(_WIN32)
#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    CHECK_MSG(file && fwrite(data, 1, bytes, file) == bytes, "%s", path);
    if (file) fclose(file);
}

/* ---- paths ------------------------------------------------------------------------------------------- */

static void check_open_fails(const char *path, ox_status status, const char *words) {
    for (int copies = 0; copies < 2; copies++) {
        ox_error_clear();
        ox_file *file = copies ? ox_file_open_copy(path, NULL) : ox_file_open(path, NULL);
        CHECK_MSG(!file && ox_error() == status && strstr(ox_error_text(), words), "%s: %d %s",
                  path ? path : "NULL", (int)ox_error(), ox_error_text());
        ox_file_close(file);
        ox_error_clear();
    }
}

static void test_paths(void) {
    const char *path = gguf_path("some.file");
    check_open_fails(NULL, OX_ERR_ARG, "no path");
    check_open_fails("", OX_ERR_ARG, "no path");
    check_open_fails(gguf_path("not there.gguf"), OX_ERR_IO, "not there.gguf");
    write_file(path, "", 0);
    check_open_fails(path, OX_ERR_FORMAT, "empty");
    write_file(path, "hello, world", 12);
    check_open_fails(path, OX_ERR_FORMAT, "GGUF, safetensors, npy, npz");
    remove(path);
    path = gguf_path("short.gguf"); /* told by the name, so that the message is about that format */
    write_file(path, "GG", 2);
    check_open_fails(path, OX_ERR_FORMAT, "no GGUF magic");
    remove(path);
    path = gguf_path("short.safetensors");
    write_file(path, "\7", 1);
    check_open_fails(path, OX_ERR_FORMAT, "safetensors header is cut short");
    remove(path);
    ox_file *file = open_bytes("GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24); /* told by the content */
    CHECK(file && strcmp(ox_file_format(file), "gguf") == 0);
    ox_file_close(file);
    CHECK(!ox_load_file(gguf_path("not there.npy")) && ox_error() == OX_ERR_IO);
    ox_error_clear();
}

static void test_nothing(void) {
    ox_file_entry entry;
    ox_file_meta none = ox_file_meta_find(NULL, "x");
    ox_file_close(NULL);
    CHECK(ox_file_count(NULL) == 0 && !ox_file_name(NULL, 0) && !ox_file_has(NULL, "x") &&
          ox_file_meta_count(NULL) == 0);
    CHECK(none.type == OX_FILE_META_NONE && ox_file_meta_element(NULL, &none, 0).type == OX_FILE_META_NONE &&
          ox_file_meta_int(NULL, "x", 3) == 3);
    CHECK(ox_file_get_entry(NULL, 0, &entry) == OX_ERR_ARG && !ox_file_tensor(NULL, "x") &&
          !ox_file_tensor_at(NULL, 0));
    ox_error_clear();
}

/* Tensors of a file lie in the mapping, and keep it: what is written to them is the program's own. */
static void test_written(void) {
    const char *path = gguf_path("written.npy");
    ox_tensor *t = ox_arange(0, 4, 1, OX_F32);
    CHECK(ox_save_npy(path, t) == OX_OK);
    ox_tensor *read = ox_load_file(path);
    OX_SCOPE {
        ox_tensor *again = ox_load_file(path); /* another mapping */
        CHECK(ox_equal(ox_add(read, t), ox_mul(t, ox_integer(2))));
        CHECK(ox_add_(ox_slice(read, 0, OX_END, OX_END, -2), ox_integer(1)) && ox_error() == OX_OK);
        CHECK(ox_item(ox_sum(read, OX_ALL_DIMS, false)) == 8 && ox_equal(again, t));
        CHECK(ox_equal(ox_load_file(path), t)); /* nothing reached the file */
        CHECK(ox_copy_(read, t) && ox_equal(read, t));
    }
    CHECK(ox_save_npy(path, read) == OX_OK); /* onto the file that it lies in */
    CHECK(ox_equal(read, t));
    ox_release(read);
    ox_release(t);
    remove(path);
}

/* A copy does not look at the file again: it may be cut short, or go. */
static void test_copy(void) {
    const char *path = gguf_path("copied.npz"), *const names[2] = {"a", "b"};
    OX_SCOPE {
        /* huge pages */
        ox_tensor *t[2] = {ox_arange(0, 1 << 21, 1, OX_F32), ox_full(OX_SHAPE(3), 7, OX_I64)};
        CHECK(ox_save_npz(path, names, t, 2) == OX_OK);
        ox_file *file = ox_file_open_copy(path, NULL);
        ox_tensor *early = ox_file_tensor(file, "a");
        write_file(path, "", 0);
        remove(path);
        CHECK_MSG(early && ox_equal(early, t[0]), "%s", ox_error_text());
        ox_tensor *late = ox_file_tensor(file, "b");
        ox_file_close(file);
        CHECK(late && ox_equal(late, t[1]) && ox_equal(early, t[0]));
    }
}

/* ---- memory that runs out ---------------------------------------------------------------------------- */

/* What is tried while memory is short. True when all of it worked. */
typedef bool (*attempt_fn)(const char *path);

static bool attempt_open(const char *path) {
    ox_file *file = ox_file_open(path, NULL);
    bool whole = file && walk_file(file) == 0;
    ox_file_close(file);
    return whole;
}

static bool attempt_copy(const char *path) {
    ox_file *file = ox_file_open_copy(path, NULL);
    bool whole = file && walk_file(file) == 0;
    ox_file_close(file);
    return whole;
}

static bool attempt_save(const char *path) {
    static const char *const names[3] = {"a", "b", "c"}, *const metadata[2] = {"k", "v"};
    char target[1100];
    bool saved = false;
    OX_SCOPE {
        ox_tensor *t[3];
        for (int i = 0; i < 3; i++) t[i] = ox_t(ox_zeros(OX_SHAPE(3, 4), OX_F32));
        if (t[0] && t[1] && t[2]) {
            snprintf(target, sizeof target, "%s.npz", path);
            saved = ox_save_npz(target, names, t, 3) == OX_OK;
            remove(target);
            snprintf(target, sizeof target, "%s.safetensors", path);
            saved = ox_save_safetensors(target, names, t, 3, metadata, 1, 0) == OX_OK && saved;
            remove(target);
        }
    }
    return saved;
}

static void check_short_memory(const char *what, attempt_fn attempt, const char *path) {
    static unsigned char arena[65536 + 64];
    int64_t requests = 0;
    for (bool done = false; !done && requests < 1000;
         requests++) { /* the n-th request fails, and all after it */
        hook r = {0, requests + 1, 0, 0, 0, 0};
        ox_allocator hooks = {hook_alloc, hook_free, &r};
        CHECK(ox_set_allocator(&hooks) == OX_OK);
        done = attempt(path);
        CHECK_MSG(done ? ox_error() == OX_OK : ox_error() == OX_ERR_NOMEM, "%s, request %d: %s", what,
                  (int)requests, ox_error_text());
        ox_error_clear();
        CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s, request %d: %s", what, (int)requests,
                  ox_error_text());
        CHECK(ox_memory_get_stats().bytes_in_use == 0 && ox_memory_get_stats().tensors == 0 &&
              ox_memory_get_stats().storages == 0);
        ox_error_clear();
    }
    CHECK_MSG(requests > 2 && requests < 1000, "%s: %d requests", what, (int)requests);
    bool done =
        false; /* the same in arenas of every size: these keep no freed blocks, so every request can fail */
    for (size_t bytes = 128; bytes <= 65536 && !done; bytes += 64) {
        CHECK(ox_set_arena(arena, bytes) == OX_OK);
        done = attempt(path);
        CHECK_MSG(done ? ox_error() == OX_OK : ox_error() == OX_ERR_NOMEM, "%s in %d bytes: %s", what,
                  (int)bytes, ox_error_text());
        ox_error_clear();
        CHECK_MSG(ox_set_arena(NULL, 0) == OX_OK, "%s in %d bytes: %s", what, (int)bytes, ox_error_text());
    }
    CHECK_MSG(done, "%s never worked", what);
}

static void test_short_memory(void) {
    static const char *const names[] = {"one", "two", "three", "four"}, *const metadata[] = {"key", "value"};
    const char *npz = gguf_path("memory.npz"), *npy = gguf_path("memory.npy"),
               *st = gguf_path("memory.safetensors");
    const char *gguf = gguf_path("memory.gguf");
    char index[1100];
    gguf_make make;
    const int64_t shape[2] = {2, 32};
    OX_SCOPE {
        ox_tensor *t[4];
        for (int i = 0; i < 4; i++) t[i] = ox_full(OX_SHAPE(5, 3), i, OX_I32);
        CHECK(ox_save_npz(npz, names, t, 4) == OX_OK && ox_save_npy(npy, t[0]) == OX_OK);
        CHECK(ox_save_safetensors(st, names, t, 4, metadata, 1, 100) == OX_OK);
    }
    memset(&make, 0, sizeof make);
    gguf_text(&make, "general.architecture", "test");
    gguf_array(&make, "tokens", GGUF_TEXT, 2);
    gguf_string(&make.keys, "a", 1);
    gguf_string(&make.keys, "bc", 2);
    gguf_array(&make, "nested", GGUF_ARRAY, 1);
    gguf_number(&make.keys, GGUF_U8, 4);
    gguf_number(&make.keys, 0, 8);
    gguf_tensor(&make, "w", 8, 2, shape, "", 0);
    gguf_put(&make.data, index, 68);
    CHECK(gguf_write(&make, gguf) == 0);
    snprintf(index, sizeof index, "%s.index.json", st);
    check_short_memory("npz", attempt_open, npz);
    check_short_memory("npy", attempt_open, npy);
    check_short_memory("shards", attempt_open, index);
    check_short_memory("gguf", attempt_open, gguf);
    check_short_memory("shards, copied", attempt_copy, index);
    check_short_memory("deflated npz", attempt_open, "tests/corpus/npy/deflated.npz");
    check_short_memory("unaligned safetensors", attempt_open, "tests/corpus/safetensors/mixed.safetensors");
    check_short_memory("saving", attempt_save, gguf_path("memory-saved"));
    for (int i = 1; i <= 4; i++) {
        char shard[1100];
        snprintf(shard, sizeof shard, "%.*s-%05d-of-00004.safetensors", (int)strlen(st) - 12, st, i);
        remove(shard);
    }
    remove(npz);
    remove(npy);
    remove(gguf);
    remove(index);
}

/* ---- threads ----------------------------------------------------------------------------------------- */

#if !defined(_WIN32) && !defined(OX_NO_THREADS)
static ox_file *shared_file;

/* Links in the way of a temporary file are not followed, none of it stays, and a file that is replaced keeps
 * its mode, whoever may read it. */
static void test_saved_modes(void) {
    enum { FIRST_NAMES = 200 };
    char victim[1024], path[1024], link_path[1024], name[1200], text[9] = "";
    struct stat info;
    const mode_t mask = umask(022);
    snprintf(victim, sizeof victim, "%s", gguf_path("victim"));
    snprintf(path, sizeof path, "%s", gguf_path("modes.npy"));
    snprintf(link_path, sizeof link_path, "%s", gguf_path("linked.npy"));
    (void)remove(path);
    (void)remove(link_path);
    write_file(victim, "precious", 8);
    for (int i = 1; i <= FIRST_NAMES; i++) { /* as a process and a count tell them */
        snprintf(name, sizeof name, "%s.%llx-%x.tmp", path, (unsigned long long)getpid(), (unsigned)i);
        CHECK(symlink(victim, name) == 0);
    }
    OX_SCOPE {
        ox_tensor *t = ox_ones(OX_SHAPE(3), OX_F32), *back;
        CHECK(ox_save_npy(path, t) == OX_OK && stat(path, &info) == 0 && (info.st_mode & 07777) == 0644);
        static const mode_t modes[] = {0600, 0640, 0444, 0755};
        for (int i = 0; i < 4; i++) {
            CHECK(chmod(path, modes[i]) == 0 && ox_save_npy(path, t) == OX_OK);
            CHECK(stat(path, &info) == 0 && (info.st_mode & 07777) == modes[i]);
        }
        CHECK(chmod(path, 0600) == 0 && symlink(strrchr(path, '/') + 1, link_path) == 0);
        CHECK(ox_save_npy(link_path, t) == OX_OK);
        CHECK(lstat(link_path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 07777) == 0600);
        CHECK((back = ox_load_file(link_path)) != NULL && ox_equal(back, t));
    }
    FILE *file = fopen(victim, "rb");
    CHECK(file && fread(text, 1, 8, file) == 8 && memcmp(text, "precious", 8) == 0 && fclose(file) == 0);
    int others = 0;
    for (int i = 1; i <= FIRST_NAMES; i++) {
        snprintf(name, sizeof name, "%s.%llx-%x.tmp", path, (unsigned long long)getpid(), (unsigned)i);
        CHECK(remove(name) == 0);
    }
    char *slash = strrchr(path, '/');
    *slash = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        others +=
            strncmp(entry->d_name, "modes.npy.", 10) == 0 || strncmp(entry->d_name, "linked.npy.", 11) == 0;
    CHECK(folder && closedir(folder) == 0 && others == 0);
    *slash = '/';
    remove(path);
    remove(link_path);
    remove(victim);
    umask(mask);
}

static void *load_many(void *arg) {
    int64_t *good = (int64_t *)arg;
    for (int i = 0; i < 200; i++) {
        ox_tensor *a = ox_file_tensor(shared_file, "a"), *b = ox_file_tensor(shared_file, "b");
        *good += a && b && ((const float *)ox_data(a))[99] == 99 && ((const float *)ox_data(b))[0] == 7;
        ox_release(a);
        ox_release(b);
    }
    return NULL;
}

static void test_threads(void) {
    static const char *const names[] = {"a", "b"};
    const char *path = gguf_path("threads.npz");
    pthread_t threads[4];
    int64_t good[4] = {0, 0, 0, 0};
    OX_SCOPE {
        ox_tensor *t[2] = {ox_arange(0, 100, 1, OX_F32), ox_full(OX_SHAPE(3), 7, OX_F32)};
        CHECK(ox_save_npz(path, names, t, 2) == OX_OK);
    }
    shared_file = ox_file_open(path, NULL);
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, load_many, &good[i]) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(good[i] == 200);
    }
    ox_file_close(shared_file);
    remove(path);
}
#else
static void test_threads(void) { check_skip("files from threads", "no POSIX threads"); }
static void test_saved_modes(void) { check_skip("modes of files", "no POSIX files"); }
#endif

/* ---- real files, where they are ---------------------------------------------------------------------- */

static const char *data_folder(void) {
    const char *folder = getenv("OX_TEST_DATA");
    return folder && *folder ? folder : "../shared/data";
}

static ox_file *open_real(const char *name, ox_status expected) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", data_folder(), name);
    ox_error_clear();
    ox_file *file = ox_file_open(path, NULL);
    CHECK_MSG((file != NULL) == (expected == OX_OK) && ox_error() == expected, "%s: %d %s", name,
              (int)ox_error(), ox_error_text());
    if (file) CHECK_MSG(walk_file(file) == 0, "%s: %s", name, ox_error_text());
    ox_error_clear();
    return file;
}

static void test_real_files(void) {
    static const struct {
        const char *name;
        ox_status status;
        int tensors, keys;
    } cases[] = {
        {"files/gguf/empty_69b.gguf", OX_OK, 0, 1},
        {"files/gguf/test-le-v3.gguf", OX_OK, 3, 6},
        {"files/gguf/test-be-v3.gguf", OX_ERR_UNSUPPORTED, 0, 0},
        {"files/gguf/tiny_122b.gguf", OX_ERR_FORMAT, 0, 0},
        {"files/gguf/for-tests-ggml-parakeet-tdt.bin", OX_ERR_FORMAT, 0, 0},
        {"files/gguf/for-tests-ggml-parakeet-tdt-bad-nfft0.bin", OX_ERR_FORMAT, 0, 0},
        {"files/gguf/for-tests-ggml-whisper-bad-ndims.bin", OX_ERR_FORMAT, 0, 0},
        {"files/npy_refuse/py2-np0-objarr.npy", OX_ERR_UNSUPPORTED, 0, 0},
        {"files/npy_refuse/py2-objarr.npy", OX_ERR_UNSUPPORTED, 0, 0},
        {"files/npy_refuse/py2-objarr.npz", OX_ERR_UNSUPPORTED, 0, 0},
        {"files/npy_refuse/py3-objarr.npy", OX_ERR_UNSUPPORTED, 0, 0},
        {"files/npy_refuse/py3-objarr.npz", OX_ERR_UNSUPPORTED, 0, 0},
        {"files/safetensors/csm_voices.safetensors", OX_OK, 2, 0},
        {"files/safetensors/encodec_jfk-codes.safetensors", OX_OK, 1, 0},
        {"files/safetensors/modelaudit_safe_model.safetensors", OX_OK, 3, 8},
        {"files/safetensors/modelaudit_suspicious_url.safetensors", OX_OK, 3, 3},
        {"files/safetensors/samples_f16.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_f32.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_f64.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_i16.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_i32.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_i8.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_overall.safetensors", OX_OK, 9, 1},
        {"files/safetensors/samples_u16.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_u32.safetensors", OX_OK, 1, 1},
        {"files/safetensors/samples_u8.safetensors", OX_OK, 1, 1},
        {"files/safetensors/tiny.safetensors", OX_ERR_FORMAT, 0, 0}, /* 5 bytes behind the last tensor */
        {"files/safetensors/whisper_mel_filters.safetensors", OX_OK, 1, 0},
        {"files/pt/safetensors-tests__tests__multi_layer__multi_layer.safetensors", OX_OK, 9, 0},
        {"models/mnist/mnist.safetensors", OX_OK, 20, 0},
        {"models/stories260K/stories260K.gguf", OX_OK, 48, 19},
        {"models/stories260K/golden_greedy_logits_f64_64x512.npy", OX_OK, 1, 0},
        {"vocab/ggml-vocab-bert-bge.gguf", OX_OK, 0, 20},
        {"vocab/ggml-vocab-gpt-2.gguf", OX_OK, 0, 16},
        {"vocab/ggml-vocab-llama-spm.gguf", OX_OK, 0, 22},
        {"numeric/onnx_node/cases.safetensors", OX_OK, 2085, 0},
    };
    char path[1200];
    snprintf(path, sizeof path, "%s/README.md", data_folder());
    FILE *probe = fopen(path, "rb");
    if (!probe) {
        check_skip("real files", "no folder of reference data (OX_TEST_DATA, ../shared/data)");
        return;
    }
    fclose(probe);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ox_file *file = open_real(cases[i].name, cases[i].status);
        CHECK_MSG(ox_file_count(file) == cases[i].tensors && ox_file_meta_count(file) == cases[i].keys,
                  "%s: %d tensors, %d keys", cases[i].name, (int)ox_file_count(file),
                  (int)ox_file_meta_count(file));
        ox_file_close(file);
    }
    ox_file *file = open_real("models/stories260K/stories260K.gguf", OX_OK);
    ox_file_meta tokens = ox_file_meta_find(file, "tokenizer.ggml.tokens");
    ox_tensor *t = ox_file_tensor(file, "blk.0.ffn_gate.weight");
    CHECK(tokens.count == 512 && ox_file_meta_int(file, "llama.block_count", 0) == 5 &&
          ox_file_meta_int(file, "llama.feed_forward_length", 0) == 172);
    CHECK(t && t->ndim == 2 && t->shape[0] == 172 && t->shape[1] == 64 && t->dtype == OX_F32);
    ox_file_meta bos = ox_file_meta_element(file, &tokens, 1);
    CHECK_MSG(bos.text.length == 3 && memcmp(bos.text.data, "<s>", 3) == 0, "%.*s", (int)bos.text.length,
              bos.text.data);
    ox_release(t);
    ox_file_close(file);
    file = open_real("files/safetensors/samples_overall.safetensors", OX_OK);
    OX_SCOPE { /* each holds six numbers */
        for (int64_t i = 0; i < ox_file_count(file); i++) CHECK(ox_numel(ox_file_tensor_at(file, i)) == 6);
    }
    ox_file_close(file);
}

int main(void) {
    test_paths();
    test_nothing();
    test_written();
    test_copy();
    test_short_memory();
    test_threads();
    test_saved_modes();
    test_real_files();
    CHECK(ox_set_allocator(NULL) == OX_OK); /* also gives headers of tensors back */
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bytes_in_use == 0);
    return check_done("files");
}
