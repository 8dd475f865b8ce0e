/* test_base.c - errors, checked sizes, memory, mapped files, random bits, one-element conversions.
 * OX_QEMU: tests internals, and is short. */
#include <stdio.h>
#define OX_IMPLEMENTATION
#define OX_STATIC
#define OX_NO_SIMD                       /* no kernels are tested here: compile less */
#include "oxtorch.h"

#include "check.h"

/* ---- errors -------------------------------------------------------------------------------------------- */

typedef struct log_state {
    int calls;
    ox_log_level level;
    char text[600];
} log_state;

static void log_to_state(void *user, ox_log_level level, const char *text) {
    log_state *state = (log_state *)user;
    state->calls++;
    state->level = level;
    snprintf(state->text, sizeof state->text, "%s", text);
}

static void test_errors(void) {
    log_state state;
    char longer[1000];
    memset(&state, 0, sizeof state);
    ox_error_clear();
    CHECK(ox_error() == OX_OK && ox_error_text()[0] == 0);
    CHECK(oxi_fail(OX_ERR_SHAPE, "first %d", 1) == OX_ERR_SHAPE);
    CHECK(oxi_fail(OX_ERR_DTYPE, "second") == OX_ERR_DTYPE);
    CHECK(ox_error() == OX_ERR_SHAPE && strcmp(ox_error_text(), "first 1") == 0);
    ox_error_clear();
    CHECK(ox_error() == OX_OK && ox_error_text()[0] == 0);

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    oxi_fail(OX_ERR_IO, "%s", longer);
    CHECK(ox_error() == OX_ERR_IO && strlen(ox_error_text()) == OXI_ERROR_ROOM - 1);
    ox_error_clear();

    ox_set_log(log_to_state, &state, OX_LOG_WARN);
    oxi_fail(OX_ERR_INDEX, "one");
    CHECK(state.calls == 1 && state.level == OX_LOG_ERROR && strcmp(state.text, "one") == 0);
    oxi_fail(OX_ERR_INDEX, "two");
    CHECK(state.calls == 2 && strcmp(state.text, "two") == 0 && strcmp(ox_error_text(), "one") == 0);
    oxi_log(OX_LOG_WARN, "warn");
    oxi_log(OX_LOG_INFO, "info");
    CHECK(state.calls == 3 && strcmp(state.text, "warn") == 0);
    ox_set_log(NULL, NULL, OX_LOG_INFO);
    oxi_fail(OX_ERR_INDEX, "three");
    CHECK(state.calls == 3);
    ox_error_clear();

    for (int s = 0; s <= OX_ERR_UNSUPPORTED; s++) CHECK(ox_status_text((ox_status)s)[0] != 0);
    CHECK(strcmp(ox_status_text((ox_status)99), "unknown status") == 0);
    CHECK(strcmp(ox_version(), OX_VERSION) == 0);
}

/* ---- checked sizes ------------------------------------------------------------------------------------- */

static void test_checked_sizes(void) {
    static const int64_t edge[] = {INT64_MIN, INT64_MIN + 1, -4294967296, -3, -1, 0, 1, 2, 3, 4294967296,
                                   3037000499, 3037000500, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
    int count = (int)(sizeof edge / sizeof edge[0]);
    size_t s = 7;
    int64_t x = 0;
    CHECK(oxi_mul_size(SIZE_MAX, 1, &s) && s == SIZE_MAX);
    CHECK(oxi_mul_size(0, SIZE_MAX, &s) && s == 0);
    CHECK(!oxi_mul_size(SIZE_MAX / 2 + 1, 2, &s) && s == 0);
    CHECK(oxi_add_size(SIZE_MAX - 1, 1, &s) && s == SIZE_MAX);
    CHECK(!oxi_add_size(SIZE_MAX, 1, &s));
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            /* Doubles are exact enough to tell which cases fit; those near the limit are checked below. */
            double product = (double)edge[i] * (double)edge[j], sum = (double)edge[i] + (double)edge[j];
            bool mul = oxi_mul_i64(edge[i], edge[j], &x);
            if (fabs(product) < 9.2e18) CHECK(mul && x == edge[i] * edge[j]);
            if (fabs(product) > 9.3e18) CHECK(!mul);
            bool add = oxi_add_i64(edge[i], edge[j], &x);
            if (fabs(sum) < 9.2e18) CHECK(add && x == edge[i] + edge[j]);
            if (fabs(sum) > 9.3e18) CHECK(!add);
        }
    }
    CHECK(!oxi_mul_i64(INT64_MIN, -1, &x) && !oxi_mul_i64(-1, INT64_MIN, &x));
    CHECK(oxi_mul_i64(INT64_MIN, 1, &x) && x == INT64_MIN);
    CHECK(oxi_add_i64(INT64_MIN, INT64_MAX, &x) && x == -1);
    CHECK(!oxi_add_i64(INT64_MAX, 1, &x) && !oxi_add_i64(INT64_MIN, -1, &x));
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void test_classes(void) {
    size_t last = 0;
    int last_index = -1;
    for (size_t bytes = 1; bytes < (size_t)1 << 27; bytes += bytes / 97 + 1) {
        int index = 0, again = 0;
        size_t rounded = oxi_class_of(bytes, &index);
        CHECK(rounded >= bytes && rounded % OXI_ALIGN == 0);
        CHECK(bytes <= 256 || rounded <= bytes + bytes / 4);
        CHECK(oxi_class_of(rounded, &again) == rounded && again == index);
        CHECK(index >= 0 && index < OXI_CLASS_COUNT);
        CHECK((index == last_index) == (rounded == last));
        last = rounded;
        last_index = index;
    }
    int index = 0;
    CHECK(oxi_class_of(SIZE_MAX / 4, &index) >= SIZE_MAX / 4 && index < OXI_CLASS_COUNT);
}

static void test_cache(void) {
    ox_shutdown();
    ox_memory_stats before = ox_memory_get_stats();
    CHECK(before.bytes_cached == 0);
    unsigned char *a = (unsigned char *)oxi_alloc(1000);
    CHECK(a && (uintptr_t)a % OXI_ALIGN == 0);
    memset(a, 1, 1000);
    CHECK(ox_memory_get_stats().bytes_in_use == before.bytes_in_use + 1024);
    oxi_free(a, 1000);
    CHECK(ox_memory_get_stats().bytes_in_use == before.bytes_in_use &&
          ox_memory_get_stats().bytes_cached == 1024);
    int64_t allocs = ox_memory_get_stats().system_allocs;
    unsigned char *b = (unsigned char *)oxi_alloc(900);
    CHECK(b == a && ox_memory_get_stats().system_allocs == allocs && ox_memory_get_stats().bytes_cached == 0);
    unsigned char *same = (unsigned char *)oxi_realloc(b, 900, 1010);
    CHECK(same == b);
    memset(b, 5, 1010);
    unsigned char *grown = (unsigned char *)oxi_realloc(b, 1010, 100000);
    CHECK(grown && grown[0] == 5 && grown[1009] == 5);
    oxi_free(grown, 100000);

    void *none = oxi_alloc(0);
    CHECK(none && (uintptr_t)none % OXI_ALIGN == 0);
    oxi_free(none, 0);
    oxi_free(NULL, 100);
    unsigned char *zeros = (unsigned char *)oxi_calloc(10, 100);
    CHECK(zeros && zeros[0] == 0 && zeros[999] == 0);
    oxi_free(zeros, 1000);

    /* Blocks from 4 MiB on are cached as well. */
    size_t big = ((size_t)5 << 20) + 1;
    unsigned char *huge = (unsigned char *)oxi_alloc(big);
    CHECK(huge && (uintptr_t)huge % OXI_ALIGN == 0);
    huge[0] = huge[big - 1] = 1;
    oxi_free(huge, big);
    allocs = ox_memory_get_stats().system_allocs;
    CHECK(oxi_alloc(big) == huge && ox_memory_get_stats().system_allocs == allocs);
    CHECK(ox_memory_get_stats().bytes_peak >= big);
    oxi_free(huge, big);
    ox_memory_reset_peak();
    CHECK(ox_memory_get_stats().bytes_peak == ox_memory_get_stats().bytes_in_use);
    ox_trim();
    CHECK(ox_memory_get_stats().bytes_cached == 0);
}

static void test_refusal(void) {
    ox_error_clear();
    CHECK(oxi_alloc(SIZE_MAX) == NULL && ox_error() == OX_ERR_NOMEM);
    CHECK(strstr(ox_error_text(), "bytes asked for") != NULL);
    ox_error_clear();
    if (sizeof(size_t) == 8) CHECK(oxi_alloc(SIZE_MAX / 8) == NULL && ox_error() == OX_ERR_NOMEM);
    ox_error_clear();
    CHECK(oxi_calloc(SIZE_MAX / 2, 3) == NULL && ox_error() == OX_ERR_NOMEM);
    ox_error_clear();
    CHECK(oxi_try_alloc(SIZE_MAX / 2) == NULL && ox_error() == OX_OK);
    char *kept = (char *)oxi_alloc(64);
    kept[0] = 'k';
    CHECK(oxi_realloc(kept, 64, SIZE_MAX) == NULL && kept[0] == 'k');
    oxi_free(kept, 64);
    ox_error_clear();
}

typedef struct hook_state {
    int64_t alive, calls, fail_from;
    char *pool;                      /* 64-byte aligned */
    size_t used, room;
} hook_state;

static void *hook_alloc(void *user, size_t bytes) {
    hook_state *s = (hook_state *)user;
    s->calls++;
    if (s->fail_from && s->calls >= s->fail_from) return NULL;
    if (bytes > s->room - s->used) return NULL;
    s->alive++;
    s->used += bytes;
    return s->pool + s->used - bytes;
}

static void hook_free(void *user, void *memory, size_t bytes) {
    hook_state *s = (hook_state *)user;
    s->alive--;
    if (s->alive == 0) s->used = 0;
    (void)memory, (void)bytes;
}

static void test_hooks(void) {
    static char room[65536];
    hook_state state;
    ox_allocator hooks;
    memset(&state, 0, sizeof state);
    state.pool = room + (-(intptr_t)room & 63);
    state.room = sizeof room - 64;
    hooks.alloc = hook_alloc;
    hooks.free = NULL;
    hooks.user = &state;
    CHECK(ox_set_allocator(&hooks) == OX_ERR_ARG);
    ox_error_clear();
    hooks.free = hook_free;
    void *held = oxi_alloc(100);
    CHECK(ox_set_allocator(&hooks) == OX_ERR_ARG);       /* memory must go back where it came from */
    ox_error_clear();
    oxi_free(held, 100);
    CHECK(ox_set_allocator(&hooks) == OX_OK);
    char *a = (char *)oxi_alloc(100), *b = (char *)oxi_alloc(5000);
    CHECK(a == state.pool && b && state.alive == 2);
    oxi_free(a, 100);
    oxi_free(b, 5000);
    CHECK(state.alive == 2 && ox_memory_get_stats().bytes_cached > 0);
    ox_trim();
    CHECK(state.alive == 0);
    a = (char *)oxi_alloc(40000);                        /* fills the pool; then the cache must make room */
    CHECK(a != NULL);
    oxi_free(a, 40000);
    b = (char *)oxi_alloc(50000);
    CHECK(b == state.pool && ox_memory_get_stats().bytes_cached == 0);
    oxi_free(b, 50000);
    state.fail_from = state.calls + 1;
    ox_trim();
    CHECK(oxi_alloc(8) == NULL && ox_error() == OX_ERR_NOMEM);
    ox_error_clear();
    CHECK(ox_set_allocator(NULL) == OX_OK && state.alive == 0);
    a = (char *)oxi_alloc(100);
    CHECK(a && (a < room || a >= room + sizeof room));
    oxi_free(a, 100);
}

static void test_arena(void) {
    static char room[100000];
    enum { BLOCKS = 64 };
    unsigned char *block[BLOCKS];
    size_t bytes[BLOCKS];
    uint32_t random = 12345;
    CHECK(ox_set_arena(room, 10) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_set_arena(room + 3, sizeof room - 3) == OX_OK);
    memset(block, 0, sizeof block);
    int64_t allocs = ox_memory_get_stats().system_allocs, refused = 0;
    for (int step = 0; step < 4000; step++) {
        random = random * 1664525u + 1013904223u;
        int i = (int)(random >> 8 & (BLOCKS - 1));
        if (block[i]) {
            bool whole = true;
            for (size_t k = 0; k < bytes[i]; k++) whole = whole && block[i][k] == (unsigned char)i;
            if (!whole) CHECK(whole);
            oxi_free(block[i], bytes[i]);
            block[i] = NULL;
            continue;
        }
        bytes[i] = random >> 16 & 8191;
        block[i] = (unsigned char *)oxi_alloc(bytes[i]);
        if (!block[i]) {
            refused++;
            CHECK(ox_error() == OX_ERR_NOMEM);
            ox_error_clear();
            continue;
        }
        if ((uintptr_t)block[i] % OXI_ALIGN || (char *)block[i] < room ||
            (char *)block[i] + bytes[i] > room + sizeof room) {
            CHECK(!"block inside the arena, aligned");
        }
        memset(block[i], i, bytes[i]);
    }
    CHECK(refused > 0);
    for (int i = 0; i < BLOCKS; i++) oxi_free(block[i], bytes[i]);
    CHECK(ox_memory_get_stats().bytes_in_use == 0 && ox_memory_get_stats().system_allocs == allocs &&
          ox_memory_get_stats().bytes_cached == 0);
    void *all = oxi_alloc(oxi_arena_bytes);              /* everything merged again */
    CHECK(all == oxi_arena_start);
    oxi_free(all, oxi_arena_bytes);
    CHECK(ox_set_arena(NULL, 0) == OX_OK && oxi_arena_start == NULL);
}

/* ---- files and clock ----------------------------------------------------------------------------------- */

#ifndef OX_NO_STDIO
static void check_mapping(bool copies) {
    const char *folder = getenv("OX_TEST_TMP");
    char path[600];
    oxi_mapping m;
    snprintf(path, sizeof path, "%s/test_base.bin", folder ? folder : ".");
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    if (!file) return;
    fwrite("hello", 1, 5, file);
    fclose(file);
    CHECK(oxi_map_file(path, copies, &m) == OX_OK && m.bytes == 5 && memcmp(m.data, "hello", 5) == 0);
    ((unsigned char *)(intptr_t)m.data)[0] = 'J';        /* copy on write */
    oxi_unmap_file(&m);
    oxi_unmap_file(&m);
    CHECK(oxi_map_file(path, copies, &m) == OX_OK && memcmp(m.data, "hello", 5) == 0);
    oxi_unmap_file(&m);
    file = fopen(path, "wb");
    if (file) fclose(file);
    CHECK(oxi_map_file(path, copies, &m) == OX_OK && m.bytes == 0 && m.data != NULL);
    oxi_unmap_file(&m);
    remove(path);

    ox_error_clear();
    CHECK(oxi_map_file(path, copies, &m) == OX_ERR_IO);
    CHECK_MSG(strstr(ox_error_text(), path) && strstr(ox_error_text(), "o such file"), "%s", ox_error_text());
    ox_error_clear();
    CHECK(oxi_map_file(".", copies, &m) == OX_ERR_IO);
    CHECK_MSG(strstr(ox_error_text(), "is a directory") != NULL, "%s", ox_error_text());
    ox_error_clear();
    CHECK(oxi_map_file(NULL, copies, &m) == OX_ERR_ARG);
    ox_error_clear();
#ifdef OXI_POSIX
    CHECK(oxi_map_file("/dev/null", copies, &m) == OX_ERR_IO);
    ox_error_clear();
#endif
}
#endif

static void test_files(void) {
#ifndef OX_NO_STDIO
    check_mapping(false);
    check_mapping(true);
#endif
    double before = oxi_now(), after = oxi_now();
    CHECK(after >= before);
}

/* ---- random bits: known answers of the Random123 distribution ------------------------------------------ */

static void test_philox(void) {
    static const uint32_t expected[3][4] = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                            {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
                                            {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
    uint32_t out[4];
    oxi_philox(0, 0, 0, out);
    CHECK(memcmp(out, expected[0], sizeof out) == 0);
    oxi_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, out);
    CHECK(memcmp(out, expected[1], sizeof out) == 0);
    /* counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0: digits of pi */
    oxi_philox(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u, out);
    CHECK(memcmp(out, expected[2], sizeof out) == 0);
}

/* ---- one-element conversions --------------------------------------------------------------------------- */

/* The value of a small float from its definition. */
static double small_float(int code, int exponent_bits, int mantissa_bits, bool has_infinity) {
    int sign = code >> (exponent_bits + mantissa_bits) & 1, top = (1 << exponent_bits) - 1;
    int exponent = code >> mantissa_bits & top, mantissa = code & ((1 << mantissa_bits) - 1);
    int bias = top >> 1;
    double x;
    if (exponent == top && (has_infinity || mantissa == (1 << mantissa_bits) - 1)) {
        x = has_infinity && mantissa == 0 ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        x = ldexp(mantissa, 1 - bias - mantissa_bits);
    } else {
        x = ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    }
    return sign ? -x : x;
}

typedef struct small_format {
    const char *name;
    int exponent_bits, mantissa_bits, bytes;
    bool has_infinity;
} small_format;

static float widen(int format, int code) {
    switch (format) {
    case 0: return oxi_f16_to_f32((uint16_t)code);
    case 1: return oxi_bf16_to_f32((uint16_t)code);
    case 2: return oxi_f8_e4m3_to_f32((uint8_t)code);
    default: return oxi_f8_e5m2_to_f32((uint8_t)code);
    }
}

static int narrow(int format, float f) {
    switch (format) {
    case 0: return oxi_f32_to_f16(f);
    case 1: return oxi_f32_to_bf16(f);
    case 2: return oxi_f32_to_f8_e4m3(f);
    default: return oxi_f32_to_f8_e5m2(f);
    }
}

/* Each code widens to its value and comes back; between two neighbors the nearer wins, halfway the even. */
static void test_small_float(int format, const small_format *f) {
    int codes = 1 << (8 * f->bytes), sign = codes / 2;
    int top = ((1 << f->exponent_bits) - 1) << f->mantissa_bits;
    int largest = f->has_infinity ? top : sign - 2;     /* where overflow goes: infinity or the last number */
    long wrong_value = 0, wrong_back = 0, wrong_nan = 0, wrong_round = 0;
    for (int code = 0; code < codes; code++) {
        double expected = small_float(code, f->exponent_bits, f->mantissa_bits, f->has_infinity);
        float got = widen(format, code);
        if (isnan(expected)) {
            float back = widen(format, narrow(format, got));
            if (!isnan(got) || !isnan(back) || (signbit(got) != 0) != (code >= sign)) wrong_nan++;
            continue;
        }
        if ((double)got != expected || (signbit(got) != 0) != (code >= sign)) wrong_value++;
        if (narrow(format, got) != code) wrong_back++;
        int magnitude = code % sign;
        if (magnitude + 1 > largest || (magnitude + 1 == largest && f->mantissa_bits == 7)) continue;
        /* The next magnitude as if there were no end: halfway to it, and one step of f32 beside. */
        double low = fabs(expected);
        double high = small_float(magnitude + 1, f->exponent_bits, f->mantissa_bits, f->has_infinity);
        if (!isfinite(high)) high = 2 * low - fabs((double)widen(format, magnitude - 1));
        float half = (float)(low + (high - low) / 2);
        int up = code + 1, even = code % 2 == 0 ? code : up;
        float s = code >= sign ? -1.0f : 1.0f;
        if (narrow(format, s * half) != even) wrong_round++;
        if (narrow(format, s * nextafterf(half, 0)) != code) wrong_round++;
        if (narrow(format, s * nextafterf(half, INFINITY)) != up) wrong_round++;
    }
    CHECK_MSG(wrong_value == 0, "%s: %ld values differ", f->name, wrong_value);
    CHECK_MSG(wrong_back == 0, "%s: %ld values do not come back", f->name, wrong_back);
    CHECK_MSG(wrong_nan == 0, "%s: %ld NaNs are lost", f->name, wrong_nan);
    CHECK_MSG(wrong_round == 0, "%s: %ld roundings differ", f->name, wrong_round);
    CHECK(narrow(format, INFINITY) == largest && narrow(format, -INFINITY) == largest + sign);
    CHECK(narrow(format, FLT_MAX) == largest);
    CHECK(narrow(format, FLT_TRUE_MIN) == 0 && narrow(format, -FLT_TRUE_MIN) == sign);
}

static void test_convert(void) {
    static const small_format formats[4] = {{"f16", 5, 10, 2, true}, {"bf16", 8, 7, 2, true},
                                            {"f8_e4m3", 4, 3, 1, false}, {"f8_e5m2", 5, 2, 1, true}};
    for (int i = 0; i < 4; i++) test_small_float(i, &formats[i]);
    CHECK(oxi_f32_to_f16(65519.996f) == 0x7bff && oxi_f32_to_f16(65520.0f) == 0x7c00);
    CHECK(oxi_f32_to_f8_e4m3(432.0f) == 0x7e && oxi_f32_to_f8_e4m3(480.0f) == 0x7e);
    CHECK(oxi_f32_to_f8_e5m2(61439.0f) == 0x7b && oxi_f32_to_f8_e5m2(61440.0f) == 0x7c);
    CHECK(oxi_f16_to_f64(0x0001) == ldexp(1, -24));

    int64_t i64 = -5;
    uint64_t u64 = UINT64_MAX;
    double f64 = -2.75;
    uint8_t yes = 3, byte = 200;
    CHECK(oxi_element_to_i64(OX_I64, &i64) == -5 && oxi_element_to_f64(OX_I64, &i64) == -5);
    CHECK(oxi_element_to_i64(OX_U64, &u64) == -1);
    CHECK(oxi_element_to_f64(OX_U64, &u64) == 18446744073709551616.0);
    CHECK(oxi_element_to_i64(OX_F64, &f64) == -2 && oxi_element_to_f64(OX_F64, &f64) == -2.75);
    CHECK(oxi_element_to_i64(OX_BOOL, &yes) == 1);
    CHECK(oxi_element_to_i64(OX_I8, &byte) == -56 && oxi_element_to_i64(OX_U8, &byte) == 200);
}

int main(void) {
    test_errors();
    test_checked_sizes();
    test_classes();
    test_cache();
    test_refusal();
    test_hooks();
    test_arena();
    test_files();
    test_philox();
    test_convert();
    CHECK(ox_memory_get_stats().bytes_in_use == 0);
    return check_done("base");
}
