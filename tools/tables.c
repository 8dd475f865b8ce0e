/* Writes the files of shaders/tables: what shaders share with C, by name instead of by number.
 *     tables FOLDER
 * Specialisation constants come from src/vulkan/specials.def, parameters from params.def, codes from codes.def,
 * map_ops.def and src/form/made.def; numbers and places are worked out by the C compiler from the very structs and
 * enums that C uses. GLSL's preprocessor cannot do it: it neither counts nor defines. Files that are there already
 * with the same text are left alone, and "FOLDER -" only compares: the exit code is 1 where one differs. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic ignored "-Wunused-function" /* headers without their parts */
#endif
#include "oxtorch.h"
#include "base/internal.h"
#include "tensor/internal.h"
#include "ops/call.h"
#include "form/form.h"
#include "cpu/kernels.h"
#include "vulkan/shared.h"

/* ---- a file for each name ------------------------------------------------------------------------------ */

enum { MOST_FILES = 64, MOST_TEXT = 1 << 15 };
static struct {
    const char *name;
    char text[MOST_TEXT];
    size_t length;
} files[MOST_FILES];
static int file_count;

static void fail(const char *why, const char *name) {
    fprintf(stderr, "tables: %s: %s\n", why, name);
    exit(2);
}

static int file_of(const char *name) {
    int i = 0;
    while (i < file_count && strcmp(files[i].name, name) != 0) i++;
    if (i == MOST_FILES) fail("too many files", name);
    if (i < file_count) return i;
    files[file_count++].name = name;
    return i;
}

static int current;
#define PUT(...) \
    do { \
        size_t room = MOST_TEXT - files[current].length; \
        int length = snprintf(files[current].text + files[current].length, room, __VA_ARGS__); \
        if (length < 0 || (size_t)length >= room) fail("too long", files[current].name); \
        files[current].length += (size_t)length; \
    } while (0)

/* ---- specialisation constants -------------------------------------------------------------------------- */

static const char *capitals(const char *member) {
    static char out[64];
    size_t i = 0;
    for (; member[i] && i + 1 < sizeof out; i++) out[i] = (char)toupper((unsigned char)member[i]);
    out[i] = 0;
    return out;
}

static void put_special(size_t byte, const char *member, const char *number, unsigned otherwise) {
    PUT("layout(constant_id = %zu) const uint %s%s = %u;\n", byte / 4, capitals(member), number, otherwise);
}

static void put_specials(void) {
#define OXI_SPECIALS(name, list)             \
    {                                        \
        typedef oxi_vk_##name##_specials its; \
        current = file_of(#name);            \
        list                                 \
    }
#define OXI_SPECIAL(member, otherwise) put_special(offsetof(its, member), #member, "", otherwise);
#define OXI_SPECIAL_EACH(member, count, otherwise)                                        \
    for (unsigned i = 0; i < count; i++) {                                                \
        char number[12];                                                                  \
        snprintf(number, sizeof number, "%u", i);                                         \
        put_special(offsetof(its, member) + 4 * (size_t)i, #member, number, otherwise);   \
    }
#define OXI_SPECIAL_BASE(name)
#define OXI_SPECIAL_THREADS(member) PUT("#define THREADS_ID %zu\n", offsetof(its, member) / 4);
#define OXI_SPECIAL_GAP(member, count)
#include "vulkan/specials.def"
}

/* ---- parameters ---------------------------------------------------------------------------------------- */

/* Words first .. first + count - 1 of a vector, as GLSL has them. */
static void put_words(size_t first, size_t count, const char *member, const char *number) {
    PUT("#define P_%s%s param[%zu]", member, number, first / 4);
    if (count < 4) PUT(".%.*s", (int)count, "xyzw" + first % 4);
    PUT("\n");
}

/* A member: `count` numbers of `each` words, which have a name each where they are few. */
static void put_member(size_t byte, const char *member, size_t count, size_t each) {
    size_t first = byte / 4, words = count * each;
    if (words > 1 && first % 4 != 0 && first % 4 + words > 4) fail("lies in two vectors", member);
    if (first % 4 == 0) PUT("#define ROW_%s %zu\n", member, first / 4);
    if (words <= 4) put_words(first, words, member, "");
    for (size_t i = 0; i < count && count > 1 && count <= 4; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        put_words(first + i * each, each, member, number);
    }
}

static void put_params(void) {
#define OXI_PARAMS(name, list)              \
    {                                       \
        typedef oxi_vk_##name##_params its; \
        current = file_of(#name);           \
        list                                \
    }
#define OXI_WORD(member) put_member(offsetof(its, member), #member, 1, 1);
#define OXI_WORDS(member, count) put_member(offsetof(its, member), #member, count, 1);
#define OXI_PAIR(member) put_member(offsetof(its, member), #member, 1, 2);
#define OXI_PAIRS(member, count) put_member(offsetof(its, member), #member, count, 2);
#define OXI_STRIDES(member, count) PUT("#define ROW_%s %zu\n", #member, offsetof(its, member) / 16);
#define OXI_LINES(member)
#define OXI_UNUSED_WORDS(member, count)
#include "vulkan/params.def"
}

/* ---- codes --------------------------------------------------------------------------------------------- */

static void put_code(const char *name, long long value) {
    PUT("const uint %s = %lld;\n", name, value);
}

static void put_codes(void) {
#define OXI_CODES(name, list)     \
    {                             \
        current = file_of(#name); \
        list                      \
    }
#define OXI_CODE(name, value) put_code(#name, (long long)(value));
#include "vulkan/codes.def"
    long long code = 0;
    current = file_of("map_ops");
#define OXI_X(name, shader) put_code("OP_" #name, code++);
#include "vulkan/ops/map_ops.def"
    code = 0;
    current = file_of("made");
#define OXI_MADE(op, kind, numbers) put_code("MADE_" #op, code++);
#include "form/made.def"
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static bool is_there(const char *path, const char *text, size_t length) {
    static char old[MOST_TEXT];
    FILE *in = fopen(path, "rb");
    if (!in) return false;
    size_t got = fread(old, 1, sizeof old, in);
    fclose(in);
    return got == length && memcmp(old, text, length) == 0;
}

int main(int argc, char **argv) {
    int differ = 0;
    if (argc < 2) fail("give the folder", "tables FOLDER");
    bool compares = argc > 2;
    put_specials();
    put_params();
    put_codes();
    for (int i = 0; i < file_count; i++) {
        static char text[MOST_TEXT + 200];
        char path[4096];
        int length = snprintf(text, sizeof text, "// Generated by tools/tables.c from src/vulkan/*.def and form/.\n%s",
                              files[i].text);
        snprintf(path, sizeof path, "%s/%s.glsl", argv[1], files[i].name);
        if (is_there(path, text, (size_t)length)) continue;
        differ = 1;
        if (compares) {
            printf("%s differs from the tables of C\n", path);
            continue;
        }
        FILE *out = fopen(path, "wb");
        if (!out || fwrite(text, 1, (size_t)length, out) != (size_t)length || fclose(out) != 0)
            fail("cannot write", path);
    }
    return compares ? differ : 0;
}
