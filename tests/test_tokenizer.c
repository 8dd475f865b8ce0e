/* test_tokenizer.c - vocabularies from GGUF files: ids, pieces, markers, hostile files.
 * References: a merge loop that looks at every pair each time; the ids of real vocabularies (OX_TEST_DATA).
 * OX_QEMU
 */
#include "oxtorch_llm.h"
#include "check.h"
#include "gguf_make.h"
#include "hook_alloc.h"

#include <math.h>

/* ---- a small vocabulary -------------------------------------------------------------------------------- */

typedef struct token {
    const char *text;
    float score;
    int type;
} token;

#define SPACE "\xe2\x96\x81"

/* ids 0 .. 258 are <unk>, <s>, </s> and the bytes; these follow. */
static const token tokens[] = {{SPACE, -1, 1},
                               {"a", -2, 1},
                               {"b", -3, 1},
                               {"c", -4, 1},
                               {"ab", -5, 1},
                               {"bc", -4.5f, 1},
                               {SPACE "a", -9, 1},
                               {"abc", -6, 1},
                               {SPACE SPACE, -7, 1},
                               {"aa", -8, 1},
                               {"aaaa", -8.5f, 1},
                               {"\xc3\xa4", -10, 1},
                               {SPACE "abc", -3, 1},
                               {"<|user|>", 0, 4},
                               {"<|end|>", 0, 3},
                               {"<|", 0, 4},
                               {"ca", -8, 5},
                               {"<", -11, 1},
                               {"s", -11, 1},
                               {">", -11, 1},
                               {"<s", -11, 1},
                               {"ab" SPACE, -2, 1},
                               {SPACE "ab" SPACE, 0, 1},
                               {"two words", 0, 4}};
enum { FIRST = 259, COUNT = FIRST + (int)(sizeof tokens / sizeof *tokens) };
enum { ID_SPACE = FIRST, ID_A, ID_B, ID_C, ID_AB, ID_BC };

/* What a test may change about the file. */
typedef struct options {
    int no_bytes, no_types, no_prefix, add_eos, no_unknown;
} options;

static token token_at(int id) {
    static char text[8];
    static const token first[3] = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}};
    token t = {text, 0, 6};
    if (id < 3) return first[id];
    if (id >= FIRST) return tokens[id - FIRST];
    snprintf(text, sizeof text, "<0x%02X>", id - 3);
    return t;
}

static void put_vocabulary(gguf_make *g, options o) {
    gguf_text(g, "general.architecture", "llama");
    gguf_text(g, "tokenizer.ggml.model", "llama");
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_TEXT, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const char *text = o.no_bytes && i >= 3 && i < FIRST ? "none" : token_at(i).text;
        gguf_string(&g->keys, text, strlen(text));
    }
    gguf_array(g, "tokenizer.ggml.scores", GGUF_F32, COUNT);
    for (int i = 0; i < COUNT; i++) gguf_number(&g->keys, gguf_float_bits(token_at(i).score), 4);
    if (!o.no_types) {
        gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, COUNT);
        for (int i = 0; i < COUNT; i++) {
            gguf_number(&g->keys, (uint64_t)(o.no_bytes && i >= 3 && i < FIRST ? 5 : token_at(i).type), 4);
        }
    }
    if (o.no_prefix) gguf_bool(g, "tokenizer.ggml.add_space_prefix", 0);
    if (o.add_eos) gguf_bool(g, "tokenizer.ggml.add_eos_token", 1);
    if (o.no_unknown) gguf_u32(g, "tokenizer.ggml.unknown_token_id", UINT32_MAX);
}

static ox_tokenizer *open_made(gguf_make *g) {
    const char *path = gguf_path("tokenizer.gguf");
    CHECK(gguf_write(g, path) == 0);
    ox_file *file = ox_file_open(path, NULL);
    CHECK_MSG(file != NULL, "%s", ox_error_text());
    ox_tokenizer *tokenizer = ox_tokenizer_open(file);
    const size_t length = strlen(path);
    CHECK_MSG(tokenizer || (strncmp(ox_error_text(), path, length) == 0 &&
                            strncmp(ox_error_text() + length, ": ", 2) == 0),
              "the file is not named: %s", ox_error_text());
    ox_file_close(file);
    remove(path);
    return tokenizer;
}

static ox_tokenizer *open_with(options o) {
    gguf_make g;
    memset(&g, 0, sizeof g);
    put_vocabulary(&g, o);
    ox_tokenizer *tokenizer = open_made(&g);
    CHECK_MSG(tokenizer != NULL, "%s", ox_error_text());
    return tokenizer;
}

/* ---- text to ids and back ------------------------------------------------------------------------------ */

static void expect(const ox_tokenizer *t, const char *text, const ox_tokenizer_encode_desc *desc,
                   const char *expected) {
    int32_t ids[64];
    char line[512] = "";
    const int64_t count = ox_tokenizer_encode(t, text, -1, desc, ids, 64);
    for (int64_t i = 0; i < count; i++) {
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s%d", i ? " " : "", (int)ids[i]);
    }
    CHECK_MSG(strcmp(line, expected) == 0, "\"%s\": %s, not %s", text, line, expected);
}

static void test_encode(void) {
    const options usual = {0, 0, 0, 0, 0}, no_prefix = {0, 0, 1, 1, 0};
    ox_tokenizer *t = open_with(usual);
    ox_tokenizer_encode_desc bare = {true, false}, special = {true, true};
    expect(t, "", NULL, "1");
    expect(t, "", &bare, "");
    expect(t, "abc", NULL, "1 271"); /* the prefix takes part in merging */
    expect(t, "abc", &bare, "271");
    expect(t, "xabc", &bare, "259 123 266"); /* x is a byte */
    expect(t, "  abc", &bare, "267 271");
    expect(t, "aaaaaa", &bare, "259 269 268"); /* of equal scores the left one first */
    expect(t, "ca", &bare, "259 275");         /* UNUSED tokens are still found */
    expect(t, "\xc3\xa4\xc3\xa5", &bare, "259 270 198 168");
    expect(t, "\xc3", &bare, "259 198");
    expect(t,
           "\xe3"
           "ab",
           &bare, "259 230 100 101"); /* its first byte says how long a character is */
    expect(t,
           "\xbf"
           "ab",
           &bare, "259 194 263");
    const int32_t broken[] = {198, 265, 255, 198, 168};
    char text[32];
    const ox_tokenizer_decode_desc keep = {true};
    ox_tokenizer_decode_with(t, broken, 5, &keep, text, sizeof text);
    CHECK_MSG(strcmp(text, "\xc3 a\xfc\xc3\xa5") == 0, "%s", text); /* bytes stay what they are */
    expect(t, "a<s>b", &bare, "265 279 278 261");  /* plain text cannot spell a control token */
    expect(t, "a<s>b", &special, "265 1 259 261"); /* a prefix after each marker */
    expect(t, "<|user|>a<|end|>", &bare, "272 265 274 259 104 113 103 127 278");
    expect(t, "<|user|>a<|end|>", &special, "272 265 273"); /* the longest marker */
    expect(t, "two words", &bare, "282");
    CHECK(ox_tokenizer_encode(t, "a\0b", 3, &bare, NULL, 0) == 3);
    CHECK(ox_tokenizer_encode(t, NULL, 0, &bare, NULL, 0) == 0);
    int32_t two[2] = {7, 7};
    CHECK(ox_tokenizer_encode(t, "xabc", -1, &bare, two, 1) == 3 && two[0] == 259 && two[1] == 7);
    ox_tokenizer_close(t);
    t = open_with(no_prefix);
    expect(t, "abc", NULL, "1 266 2");
    ox_tokenizer_close(t);
}

static void test_unknown(void) {
    const options no_bytes = {1, 0, 0, 0, 0}, nothing = {1, 0, 0, 0, 1};
    const ox_tokenizer_encode_desc bare = {true, false};
    ox_tokenizer *t = open_with(no_bytes);
    expect(t, "xa\xff", &bare, "259 0 260 0");
    ox_tokenizer_close(t);
    t = open_with(nothing);
    CHECK(ox_tokenizer_encode(t, "ax", -1, &bare, NULL, 0) == -1 && ox_error() == OX_ERR_FORMAT);
    ox_error_clear();
    ox_tokenizer_close(t);
}

static void expect_piece(const ox_tokenizer *t, int32_t previous, int32_t id, const char *expected) {
    const ox_string piece = ox_tokenizer_piece(t, previous, id);
    CHECK_MSG(piece.length == (int64_t)strlen(expected) &&
                  memcmp(piece.data, expected, strlen(expected)) == 0,
              "piece of %d after %d: \"%.*s\"", (int)id, (int)previous, (int)piece.length, piece.data);
}

static void test_pieces(void) {
    const options usual = {0, 0, 0, 0, 0}, no_types = {0, 1, 0, 0, 0};
    ox_tokenizer *t = open_with(usual);
    CHECK(ox_tokenizer_count(t) == COUNT);
    expect_piece(t, 260, 265, " a");
    expect_piece(t, -1, 265, "a");
    expect_piece(t, 1, 265, "a");
    expect_piece(t, 272, 265, "a");
    expect_piece(t, 1, 267, " ");
    expect_piece(t, 260, 1, "");
    expect_piece(t, 260, 272, "<|user|>");
    expect_piece(t, 260, 3 + 0x41, "A");
    expect_piece(t, 260, -1, "");
    expect_piece(t, 260, COUNT, "");
    const ox_token_info info = ox_tokenizer_get_token(t, 4);
    CHECK(info.type == OX_TOKEN_BYTE && info.text.length == 6 && memcmp(info.text.data, "<0x01>", 6) == 0);
    CHECK(ox_tokenizer_get_token(t, COUNT).text.length == 0 && ox_tokenizer_get_token(t, 263).score == -5);
    CHECK(ox_tokenizer_find(t, "<|end|>", -1) == 273 && ox_tokenizer_find(t, "abcd", 3) == 266);
    CHECK(ox_tokenizer_find(t, "zz", -1) == -1 && ox_tokenizer_find(t, "", 0) == -1);
    CHECK(ox_tokenizer_role(t, OX_TOKEN_ROLE_BOS) == 1 && ox_tokenizer_role(t, OX_TOKEN_ROLE_EOS) == 2);
    CHECK(ox_tokenizer_role(t, OX_TOKEN_ROLE_EOT) == 273 && /* by its text */
          ox_tokenizer_role(t, OX_TOKEN_ROLE_UNKNOWN) == 0);
    CHECK(ox_tokenizer_is_end(t, 2) && ox_tokenizer_is_end(t, 1) && !ox_tokenizer_is_end(t, -1));
    char out[4];
    const int32_t ids[3] = {1, 265, 263};
    CHECK(ox_tokenizer_decode(t, ids, 3, out, sizeof out) == 3 && strcmp(out, "aab") == 0);
    CHECK(ox_tokenizer_decode(t, ids, 3, out, 3) == 3 && strcmp(out, "aa") == 0);
    CHECK(ox_tokenizer_decode(t, ids, 3, NULL, 0) == 3);
    ox_tokenizer_close(t);
    t = open_with(no_types); /* bytes are told by their texts then */
    expect_piece(t, 260, 3 + 0x41, "A");
    ox_tokenizer_close(t);
}

/* ---- against the definition ---------------------------------------------------------------------------- */

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static int mergeable(const char *text, size_t length) {
    for (int id = FIRST; id < COUNT; id++) {
        const token t = token_at(id);
        if (t.type != 3 && strlen(t.text) == length && memcmp(t.text, text, length) == 0) return id;
    }
    return -1;
}

/* Cuts the normalized text into characters and merges the best pair until there is none. Returns the ids. */
static int merge_slowly(const char *text, int32_t *ids) {
    size_t cut[200];
    int count = 0, found = 0;
    const size_t length = strlen(text);
    for (size_t at = 0; at < length; count++) {
        cut[count] = at++;
        while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80) at++;
    }
    cut[count] = length;
    for (;;) {
        int best = -1;
        float score = -INFINITY;
        for (int i = 0; i + 1 < count; i++) {
            const int id = mergeable(text + cut[i], cut[i + 2] - cut[i]);
            if (id >= 0 && token_at(id).score > score) score = token_at(best = id).score, found = i;
        }
        if (best < 0) break;
        memmove(cut + found + 1, cut + found + 2, (size_t)(count - found - 1) * sizeof *cut);
        count--;
    }
    int written = 0;
    for (int i = 0; i < count; i++) {
        const int id = mergeable(text + cut[i], cut[i + 1] - cut[i]);
        if (id >= 0) ids[written++] = id;
        for (size_t b = cut[i]; id < 0 && b < cut[i + 1]; b++) ids[written++] = 3 + (unsigned char)text[b];
    }
    return written;
}

static void test_random_texts(void) {
    static const char *const letters[] = {"a", "b", "c", "a", "b", " ", "<", "s", ">", "\xc3\xa4", "x", "|"};
    const options usual = {0, 0, 0, 0, 0};
    const ox_tokenizer_encode_desc bare = {true, false};
    ox_tokenizer *t = open_with(usual);
    for (int round = 0; round < 500; round++) {
        char text[100] = "", normal[200] = SPACE, back[200];
        int32_t ids[200], expected[200];
        for (uint32_t i = random_below(30) + 1; i > 0; i--) {
            const char *letter = letters[random_below(12)];
            if (letter[0] == '|' && strlen(text) && text[strlen(text) - 1] == '<') continue; /* a marker */
            strcat(text, letter);
            strcat(normal, letter[0] == ' ' ? SPACE : letter);
        }
        if (!text[0]) continue;
        const int64_t count = ox_tokenizer_encode(t, text, -1, &bare, ids, 200);
        const int slow = merge_slowly(normal, expected);
        CHECK_MSG(count == slow && memcmp(ids, expected, (size_t)slow * sizeof *ids) == 0, "\"%s\"", text);
        ox_tokenizer_decode(t, ids, count, back, sizeof back);
        CHECK_MSG(strcmp(back, text) == 0, "\"%s\" came back as \"%s\"", text, back);
    }
    ox_tokenizer_close(t);
}

/* Markers over two letters, so that they begin, end and lie in each other, against looking for each at each
 * place. */
static void test_random_markers(void) {
    enum { MARKERS = 12, LONGEST = 6, LETTERS = 200 };
    for (int round = 0; round < 60; round++) {
        gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
        char marker[MARKERS][LONGEST + 1], text[LETTERS + 1];
        int32_t type[MARKERS], ids[LETTERS], expected[LETTERS];
        gguf_text(&g, "tokenizer.ggml.model", "llama");
        gguf_array(&g, "tokenizer.ggml.tokens", GGUF_TEXT, 3 + MARKERS);
        gguf_string(&g.keys, "<unk>", 5);
        gguf_string(&g.keys, "a", 1);
        gguf_string(&g.keys, "b", 1);
        for (int m = 0; m < MARKERS; m++) {
            bool new_one = false;
            while (!new_one) {
                const int length = 2 + (int)random_below(LONGEST - 1);
                for (int i = 0; i < length; i++) marker[m][i] = (char)('a' + random_below(2));
                marker[m][length] = 0;
                new_one = true;
                for (int k = 0; k < m; k++) new_one = new_one && strcmp(marker[k], marker[m]) != 0;
            }
            type[m] = random_below(2) ? 3 : 4; /* control, user-defined */
            gguf_string(&g.keys, marker[m], strlen(marker[m]));
        }
        gguf_array(&g, "tokenizer.ggml.scores", GGUF_F32, 3 + MARKERS);
        for (int i = 0; i < 3 + MARKERS; i++) gguf_number(&g.keys, 0, 4);
        gguf_array(&g, "tokenizer.ggml.token_type", GGUF_I32, 3 + MARKERS);
        for (int i = 0; i < 3; i++) gguf_number(&g.keys, i ? 1 : 2, 4);
        for (int m = 0; m < MARKERS; m++) gguf_number(&g.keys, (uint64_t)type[m], 4);
        gguf_bool(&g, "tokenizer.ggml.add_space_prefix", 0);
        gguf_bool(&g, "tokenizer.ggml.add_bos_token", 0);
        ox_tokenizer *t = open_made(&g);
        for (int i = 0; i < LETTERS; i++) text[i] = (char)('a' + random_below(round % 3 ? 2 : 5) % 2);
        text[LETTERS] = 0;
        for (int special = 0; special < 2; special++) {
            ox_tokenizer_encode_desc desc;
            int64_t count = 0;
            memset(&desc, 0, sizeof desc);
            desc.parse_special = special != 0;
            for (int at = 0; at < LETTERS;) {
                int best = -1;
                for (int m = 0; m < MARKERS; m++)
                    if ((special || type[m] == 4) && strncmp(text + at, marker[m], strlen(marker[m])) == 0 &&
                        (best < 0 || strlen(marker[m]) > strlen(marker[best])))
                        best = m;
                expected[count++] = best < 0 ? 1 + (text[at] == 'b') : 3 + best;
                at += best < 0 ? 1 : (int)strlen(marker[best]);
            }
            CHECK(ox_tokenizer_encode(t, text, LETTERS, &desc, ids, LETTERS) == count &&
                  memcmp(ids, expected, (size_t)count * sizeof *ids) == 0);
        }
        ox_tokenizer_close(t);
    }
}

/* Any bytes come back, but for a space in what is no character; a long text is encoded at once. */
static void test_long_text(void) {
    const options usual = {0, 0, 0, 0, 0};
    const ox_tokenizer_encode_desc special = {true, true};
    const int64_t length = 300000;
    ox_tokenizer *t = open_with(usual);
    char *text = (char *)malloc((size_t)length), *back = (char *)malloc((size_t)length + 1);
    int32_t *ids = (int32_t *)malloc((size_t)(length + 1) * sizeof *ids);
    for (int64_t i = 0; i < length; i++)
        text[i] = i < length / 2 ? "abc a"[random_below(5)] : (char)((random_below(255) + ' ' + 1) % 256);
    const int64_t count = ox_tokenizer_encode(t, text, length, &special, ids, length + 1);
    CHECK(count > 0 && count <= length + 1);
    CHECK(ox_tokenizer_decode(t, ids, count, back, (size_t)length + 1) == (size_t)length);
    CHECK(memcmp(text, back, (size_t)length) == 0);
    free(text);
    free(back);
    free(ids);
    ox_tokenizer_close(t);
}

/* ---- hostile files ------------------------------------------------------------------------------------- */

static void put_texts(gguf_make *g, const char *const *texts, int count) {
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_string(&g->keys, texts[i], strlen(texts[i]));
}

static void put_scores(gguf_make *g, int count, float value) {
    gguf_array(g, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_number(&g->keys, gguf_float_bits(value), 4);
}

static void put_types(gguf_make *g, int count, int32_t value) {
    gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_number(&g->keys, (uint32_t)value, 4);
}

static const struct {
    ox_status status;
    const char *words;
} hostile[] = {{OX_ERR_NOT_FOUND, "tokenizer.ggml.model"},
               {OX_ERR_UNSUPPORTED, "the tokenizer's kind \"other\" is not supported"},
               {OX_ERR_NOT_FOUND, "tokenizer.ggml.tokens"},
               {OX_ERR_FORMAT, "tokenizer.ggml.tokens"},
               {OX_ERR_FORMAT, "0 tokens"},
               {OX_ERR_NOT_FOUND, "scores"},
               {OX_ERR_FORMAT, "scores has 3"},
               {OX_ERR_FORMAT, "scores has a wrong type"},
               {OX_ERR_FORMAT, "NaN"},
               {OX_ERR_FORMAT, "token_type has 1"},
               {OX_ERR_FORMAT, "type 7"},
               {OX_ERR_FORMAT, "type -1"},
               {OX_ERR_FORMAT, "token_type has a wrong type"},
               {OX_ERR_FORMAT, "byte token"},
               {OX_ERR_FORMAT, "bos_token_id"},
               {OX_ERR_FORMAT, "eos_token_id"},
               {OX_ERR_FORMAT, "unknown_token_id"},
               {OX_ERR_FORMAT, "eot_token_id"},
               {OX_ERR_FORMAT, "add_bos_token"}};

static void put_hostile(gguf_make *g, int which) {
    static const char *const two[] = {"a", "b"}, *const bytes[] = {"<0x-1>", "<0x0G>"};
    gguf_text(g, "general.architecture", "llama");
    if (which > 0) gguf_text(g, "tokenizer.ggml.model", which == 1 ? "other" : "llama");
    if (which == 3) gguf_array(g, "tokenizer.ggml.tokens", GGUF_U8, 2), gguf_number(&g->keys, 0, 2);
    if (which == 4) put_texts(g, two, 0);
    if (which > 4) put_texts(g, which == 13 ? bytes : two, 2);
    if (which == 6) put_scores(g, 3, 0);
    if (which == 7) gguf_array(g, "tokenizer.ggml.scores", GGUF_U8, 2), gguf_number(&g->keys, 0, 2);
    if (which == 8) put_scores(g, 2, NAN);
    if (which > 8) put_scores(g, 2, 0);
    if (which == 9) put_types(g, 1, 1);
    if (which == 10) put_types(g, 2, 7);
    if (which == 11) put_types(g, 2, -1);
    if (which == 12) {
        gguf_array(g, "tokenizer.ggml.token_type", GGUF_F32, 2);
        gguf_number(&g->keys, 0, 8);
    }
    if (which == 13) put_types(g, 2, 6);
    if (which == 14) gguf_u32(g, "tokenizer.ggml.bos_token_id", 2);
    if (which == 15) gguf_i32(g, "tokenizer.ggml.eos_token_id", -2);
    if (which == 16) gguf_u64(g, "tokenizer.ggml.unknown_token_id", UINT64_MAX - 7);
    if (which == 17) gguf_text(g, "tokenizer.ggml.eot_token_id", "1");
    if (which == 18) gguf_text(g, "tokenizer.ggml.add_bos_token", "yes");
}

static void test_hostile(void) {
    for (int i = 0; i < (int)(sizeof hostile / sizeof *hostile); i++) {
        gguf_make g;
        memset(&g, 0, sizeof g);
        put_hostile(&g, i);
        ox_tokenizer *t = open_made(&g);
        CHECK_MSG(!t && ox_error() == hostile[i].status && strstr(ox_error_text(), hostile[i].words),
                  "case %d: %d \"%s\"", i, (int)ox_error(), ox_error_text());
        ox_tokenizer_close(t);
        ox_error_clear();
    }
}

static void expect_missing(int failed, const char *words) {
    CHECK_MSG(failed && ox_error() == OX_ERR_ARG && strcmp(ox_error_text(), words) == 0, "%s: %d %s", words,
              (int)ox_error(), ox_error_text());
    ox_error_clear();
}

/* What fails on NULL says so; facts of NULL are zeros. */
static void test_nulls(void) {
    const options usual = {0, 0, 0, 0, 0};
    const int32_t id = ID_A;
    char out[4] = "abc";
    expect_missing(ox_tokenizer_open(NULL) == NULL, "tokenizer: the file is NULL");
    const char *none = "tokenizer: the tokenizer is NULL";
    expect_missing(ox_tokenizer_encode(NULL, "a", -1, NULL, NULL, 0) == -1, none);
    expect_missing(ox_tokenizer_find(NULL, "a", -1) == -1, none);
    expect_missing(ox_tokenizer_decode(NULL, &id, 1, out, sizeof out) == 0 && !out[0], none);
    ox_tokenizer *t = open_with(usual);
    expect_missing(ox_tokenizer_find(t, NULL, -1) == -1, "tokenizer: the text is NULL");
    expect_missing(ox_tokenizer_decode(t, NULL, 1, NULL, 0) == 0, "tokenizer: the list of tokens is NULL");
    CHECK(ox_tokenizer_decode(t, NULL, 0, NULL, 0) == 0 && ox_error() == OX_OK);
    ox_tokenizer_close(t);
    CHECK(ox_tokenizer_count(NULL) == 0 && ox_tokenizer_get_token(NULL, 0).text.length == 0);
    CHECK(ox_tokenizer_role(NULL, OX_TOKEN_ROLE_BOS) == -1 && !ox_tokenizer_is_end(NULL, 0));
    CHECK(ox_tokenizer_piece(NULL, -1, 0).length == 0);
    ox_tokenizer_close(NULL);
    CHECK(ox_error() == OX_OK);
    /* an error that is there stands */
    CHECK(ox_file_open("", NULL) == NULL && ox_tokenizer_open(NULL) == NULL);
    CHECK_MSG(strcmp(ox_error_text(), "file_open: no path") == 0, "%s", ox_error_text());
    ox_error_clear();
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Whichever allocation fails: an error, and nothing is lost. */
static void test_scarce_memory(void) {
    gguf_make g;
    const options usual = {0, 0, 0, 0, 0};
    const char *path = gguf_path("scarce.gguf");
    memset(&g, 0, sizeof g);
    put_vocabulary(&g, usual);
    CHECK(gguf_write(&g, path) == 0);
    hook h = {0, INT64_MAX, 0, 0, 0, 0};
    const ox_allocator scarce = {hook_alloc, hook_free, &h};
    ox_trim();
    CHECK(ox_set_allocator(&scarce) == OX_OK);
    const size_t before = ox_memory_get_stats().bytes_in_use;
    int64_t count = -1;
    for (int64_t most = 0; most < 200 && count < 0; most++) {
        hook_allow(&h, most);
        ox_file *file = ox_file_open(path, NULL);
        ox_tokenizer *t = file ? ox_tokenizer_open(file) : NULL;
        count = t ? ox_tokenizer_encode(t, "abc abc", -1, NULL, NULL, 0) : -1;
        CHECK(count >= 0 || ox_error() == OX_ERR_NOMEM);
        ox_tokenizer_close(t);
        ox_file_close(file);
        ox_error_clear();
        ox_trim();
        CHECK(ox_memory_get_stats().bytes_in_use == before);
    }
    CHECK(count > 0);
    hook_allow(&h, INT64_MAX);
    ox_trim();
    CHECK(ox_set_allocator(NULL) == OX_OK);
    remove(path);
}

/* ---- a real vocabulary --------------------------------------------------------------------------------- */

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = (char *)calloc(1, 1 << 16);
    if (text && fread(text, 1, (1 << 16) - 1, file) == 0) text[0] = 0;
    fclose(file);
    return text;
}

/* name.inp holds texts with a line of their own between, name.out the ids, a line for each. */
/* Somebody writes into a file that is mapped: lengths that were checked are those that hold. */
static void test_changed_file(void) {
#if defined(__unix__) && !defined(OX_NO_MMAP)
    gguf_make g = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}, 0, 0};
    static char all[1 << 16];
    static const unsigned char longer[][8] = {
        {0, 0, 16}, {0, 0, 0, 0, 0, 1}, {255, 255, 255, 255, 255, 255, 255, 255}};
    const char *path = gguf_path("changed.gguf");
    options o;
    memset(&o, 0, sizeof o);
    put_vocabulary(&g, o);
    CHECK(gguf_write(&g, path) == 0);
    FILE *file = fopen(path, "r+b");
    size_t count = file ? fread(all, 1, sizeof all, file) : 0, at = 0;
    ox_file *open = ox_file_open(path, NULL);
    const ox_file_meta tokens = ox_file_meta_find(open, "tokenizer.ggml.tokens");
    const ox_string before = ox_file_meta_element(open, &tokens, 5).text;
    while (at + 8 + 6 < count && memcmp(all + at + 8, before.data, (size_t)before.length) != 0) at++;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        CHECK(file && fseek(file, (long)at, SEEK_SET) == 0 && fwrite(longer[i], 8, 1, file) == 1);
        CHECK(file && fflush(file) == 0);
        CHECK(ox_file_meta_element(open, &tokens, 5).text.length == before.length);
        ox_tokenizer *t = ox_tokenizer_open(open);
        CHECK_MSG(t && ox_tokenizer_get_token(t, 5).text.length == before.length, "%s", ox_error_text());
        ox_tokenizer_close(t);
        ox_error_clear();
    }
    if (file) fclose(file);
    ox_file_close(open);
    remove(path);
#endif
}

static void test_vocabulary(const char *folder, const char *name) {
    static const char between[] = "\n__ggml_vocab_test__\n";
    char path[1200];
    snprintf(path, sizeof path, "%s/vocab/%s.inp", folder, name);
    char *texts = read_file(path);
    snprintf(path, sizeof path, "%s/vocab/%s.out", folder, name);
    char *lines = read_file(path);
    snprintf(path, sizeof path, "%s/vocab/%s", folder, name);
    ox_file *file = texts && lines ? ox_file_open(path, NULL) : NULL;
    ox_error_clear();
    ox_tokenizer *t = file ? ox_tokenizer_open(file) : NULL;
    ox_file_close(file);
    CHECK_MSG(!file || t, "%s", ox_error_text());
    int cases = 0;
    for (char *text = texts, *line = lines; t && text && line && *line; cases++) {
        char *text_end = strstr(text, between), *line_end = strchr(line, '\n'), ids_text[16384] = "",
             back[8192];
        if (text_end) *text_end = 0;
        if (line_end) *line_end = 0;
        int32_t ids[4096];
        const ox_tokenizer_encode_desc bare = {true, false};
        const int64_t count = ox_tokenizer_encode(t, text, -1, &bare, ids, 4096);
        size_t at = 0;
        for (int64_t i = 0; i < count; i++)
            at += (size_t)snprintf(ids_text + at, sizeof ids_text - at, " %d", (int)ids[i]);
        CHECK_MSG(strcmp(ids_text, line) == 0, "%s, text %d:%s", name, cases, ids_text);
        ox_tokenizer_decode(t, ids, count, back, sizeof back);
        if (!strstr(name, "bert")) /* lower case, and no white space */
            CHECK_MSG(strcmp(back, text) == 0, "%s, text %d came back as \"%s\"", name, cases, back);
        text = text_end ? text_end + strlen(between) : NULL;
        line = line_end ? line_end + 1 : NULL;
    }
    if (t) {
        CHECK_MSG(cases >= 46, "only %d texts", cases);
    } else {
        check_skip(name, "no such vocabulary (OX_TEST_DATA)");
    }
    ox_tokenizer_close(t);
    free(texts);
    free(lines);
}

int main(void) {
    static const char *const names[] = {"ggml-vocab-llama-spm.gguf", "ggml-vocab-gpt-2.gguf",
                                        "ggml-vocab-bert-bge.gguf"};
    const char *folder = getenv("OX_TEST_DATA");
    const size_t before = ox_memory_get_stats().bytes_in_use;
    test_encode();
    test_unknown();
    test_pieces();
    test_random_texts();
    test_random_markers();
    test_long_text();
    test_hostile();
    test_nulls();
    test_scarce_memory();
    test_changed_file();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_vocabulary(folder ? folder : "../shared/data", names[i]);
    CHECK(ox_memory_get_stats().bytes_in_use == before && ox_memory_get_stats().tensors == 0);
    return check_done("tokenizer");
}
