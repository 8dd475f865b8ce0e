/* test_tokenizer_json.c - tokenizer.json: steps, patterns, markers, places, pairs, decoders, streams,
 * refusals.
 * References: what Hugging Face's tokenizers 0.23 gives, here by hand and in OX_TEST_DATA for 16 tokenizers.
 * OX_QEMU
 */
#include "oxtorch_llm.h"
#include "check.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- small tokenizers ---------------------------------------------------------------------------------- */

#define REPLACED "\xef\xbf\xbd"
#define BYTES_HEAD "{\"type\":\"BPE\",\"byte_fallback\":true,\"merges\":[],\"vocab\":{"

/* A tokenizer of parts: `model` NULL is one whose ids are the bytes of the normalized text. */
static ox_tokenizer *open_parts(const char *normalizer, const char *pre, const char *post,
                                const char *decoder, const char *added, const char *model) {
    static char text[32768];
    size_t at =
        (size_t)snprintf(text, sizeof text,
                         "{\"normalizer\":%s,\"pre_tokenizer\":%s,\"post_processor\":%s,\"decoder\":%s,"
                         "\"added_tokens\":[%s],\"model\":",
                         normalizer ? normalizer : "null", pre ? pre : "null", post ? post : "null",
                         decoder ? decoder : "null", added ? added : "");
    if (model) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s", model);
    } else {
        at += (size_t)snprintf(text + at, sizeof text - at, BYTES_HEAD);
        for (int i = 0; i < 256; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s\"<0x%02X>\":%d", i ? "," : "", i, i);
        at += (size_t)snprintf(text + at, sizeof text - at, "}}");
    }
    snprintf(text + at, sizeof text - at, "}");
    return ox_tokenizer_open_json(text, -1, NULL, 0);
}

/* What normalizers make of a text. */
static void expect_normal(const char *normalizer, const char *text, const char *expected) {
    ox_tokenizer *t = open_parts(normalizer, NULL, NULL, NULL, NULL, NULL);
    int32_t ids[256];
    char made[256];
    CHECK_MSG(t != NULL, "%s: %s", normalizer, ox_error_text());
    const int64_t count = ox_tokenizer_encode(t, text, -1, NULL, ids, 255);
    for (int64_t i = 0; i < count; i++) made[i] = (char)ids[i];
    made[count > 0 ? count : 0] = 0;
    CHECK_MSG(strcmp(made, expected) == 0, "%s of \"%s\": \"%s\"", normalizer, text, made);
    ox_tokenizer_close(t);
}

static void test_normalizers(void) {
    expect_normal("{\"type\":\"NFC\"}", "e\xcc\x81 \xe1\x84\x80\xe1\x85\xa1", "\xc3\xa9 \xea\xb0\x80");
    expect_normal("{\"type\":\"NFD\"}", "\xc3\xa9\xea\xb0\x81",
                  "e\xcc\x81\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8");
    expect_normal("{\"type\":\"NFD\"}", "a\xcc\x81\xcc\xa3", "a\xcc\xa3\xcc\x81"); /* marks are sorted */
    expect_normal("{\"type\":\"NFKC\"}", "\xef\xac\x81\xe2\x91\xa0", "fi1");
    expect_normal("{\"type\":\"Lowercase\"}", "A\xc3\x84\xc4\xb0", "a\xc3\xa4i\xcc\x87");
    expect_normal("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false}", " \t a ", "a ");
    expect_normal("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":\"StripAccents\"}]}",
                  "\xc3\xa9t\xc3\xa9", "ete");
    expect_normal("{\"type\":\"Replace\",\"pattern\":{\"String\":\"ab\"},\"content\":\"x\"}", "ababa", "xxa");
    expect_normal("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}", "a   b c",
                  "a b c");
    expect_normal("{\"type\":\"Prepend\",\"prepend\":\"_\"}", "a", "_a");
    expect_normal("{\"type\":\"Prepend\",\"prepend\":\"_\"}", "", "");
    expect_normal("{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
                  "\"strip_accents\":null,\"lowercase\":true}",
                  "\xc3\x84\x01\t\xe4\xb8\xad", "a  \xe4\xb8\xad ");
    expect_normal("{\"type\":\"Nmt\"}",
                  "a\x7f\xe2\x80\x8b"
                  "b",
                  "a b");
    expect_normal("{\"type\":\"ByteLevel\"}", "a \xc3\xa9", "a\xc4\xa0\xc3\x83\xc2\xa9");
}

/* SentencePiece's table, of three characters: of a user's character the shortest start in it becomes what
 * the table says, and the rest of it goes. What belongs to one is as UAX 29 says: marks do, not behind a
 * control; a sign may come before. */
static void test_charsmap(void) {
    static const struct {
        int at;
        uint32_t unit;
    } units[] = {{0, 1024},    {2, 1u << 31},   {4, 1u << 31 | 2}, {6, 1u << 31 | 4}, {96, 100705},
                 {133, 134528}, {174, 174509}, {195, 196802},     {217, 225496}};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char blob[4 + 1024 + 6] = {0, 4};
    char text[1500] = "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"";
    memcpy(blob + 1028, "x\0y\0z", 6);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (int b = 0; b < 4; b++) blob[4 + 4 * units[i].at + b] = (unsigned char)(units[i].unit >> 8 * b);
    size_t used = strlen(text), i = 0;
    for (; i < sizeof blob; i += 3) { /* 1034 bytes: one is left over, two are put in */
        const unsigned bits = blob[i] << 16 | (i + 2 < sizeof blob ? blob[i + 1] << 8 | blob[i + 2] : 0) |
                              (i + 2 == sizeof blob ? blob[i + 1] << 8 : 0);
        for (int k = 18; k >= 0; k -= 6) text[used++] = letters[bits >> k & 63];
    }
    text[used - 1] = '=';
    memcpy(text + used, "\"}", 3);
    expect_normal(text, "a!", "x!");
    expect_normal(text, "a\xcc\x88", "x");
    expect_normal(text, "a\xe0\xb8\xb3", "x"); /* a vowel sign that is a letter */
    expect_normal(text, "a\xf3\xa0\x80\xa0", "x");
    expect_normal(text, "a\xe1\x80\xab", "x\xe1\x80\xab");
    expect_normal(text, "\xc2\xad\xcc\x88", "y\xcc\x88");
    expect_normal(text, "\xc2\xad" "a", "yx");
    expect_normal(text, "\xd8\x80" "a", "z");
    expect_normal(text, "\xd8\x80\xd8\x80!", "z");
    expect_normal(text, "\xd8\x80\xc2\xad", "zy");
    expect_normal(text, "\xd8\x80\xe1\x86\xa8", "z"); /* with one end of a syllable it is short */
    expect_normal(text, "\xd8\x80\xe1\x86\xa8\xe1\x86\xa8", "z\xe1\x86\xa8\xe1\x86\xa8");
    expect_normal(text, "\xd8\x80\xe1\x86\xa8\xe1\x85\xa1", "z\xe1\x85\xa1");
    expect_normal(text, "!\xd8\x80" "a", "!z");
}

/* Where words end: "2 5" for words of bytes [0, 2) and [2, 5), with ".." where bytes are left out. */
static void expect_words(const char *pre, const char *text, const char *expected) {
    ox_tokenizer *t = open_parts(NULL, pre, NULL, NULL, NULL,
                                 "{\"type\":\"WordLevel\",\"vocab\":{\"?\":0},\"unk_token\":\"?\"}");
    int32_t ids[64];
    ox_token_place places[64];
    char made[512] = "";
    CHECK_MSG(t != NULL, "%s: %s", pre, ox_error_text());
    const int64_t count = ox_tokenizer_encode_pair(t, text, -1, NULL, 0, NULL, ids, places, 64);
    for (int64_t i = 0; i < count; i++)
        snprintf(made + strlen(made), sizeof made - strlen(made), "%s%d-%d", i ? " " : "",
                 (int)places[i].start, (int)places[i].end);
    CHECK_MSG(strcmp(made, expected) == 0, "%s of \"%s\": %s, not %s", pre, text, made, expected);
    ox_tokenizer_close(t);
}

#define SPLIT(regex, behavior)                                                           \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"},\"behavior\":\"" behavior \
    "\",\"invert\":false}"

static void test_pre_tokenizers(void) {
    static const char gpt2[] = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}";
    expect_words(gpt2, "I'm  here 12", "0-1 1-3 3-4 4-9 9-12");
    expect_words("{\"type\":\"Whitespace\"}", "ab, c", "0-2 2-3 4-5");
    expect_words("{\"type\":\"WhitespaceSplit\"}", " ab, c", "1-4 5-6");
    expect_words("{\"type\":\"BertPreTokenizer\"}", "a-b c", "0-1 1-2 2-3 4-5");
    expect_words("{\"type\":\"Digits\",\"individual_digits\":false}", "a12b", "0-1 1-3 3-4");
    expect_words("{\"type\":\"Digits\",\"individual_digits\":true}", "a12b", "0-1 1-2 2-3 3-4");
    expect_words("{\"type\":\"Digits\",\"individual_digits\":true}", /* U+11DDF .. 11DE0, 16FF6 .. 16FF7 */
                 "\xf0\x91\xb7\x9f\xf0\x91\xb7\xa0\xf0\x96\xbf\xb6\xf0\x96\xbf\xb7", "0-4 4-8 8-12 12-16");
    expect_words("{\"type\":\"Punctuation\",\"behavior\":\"MergedWithPrevious\"}", "a!!b", "0-2 2-3 3-4");
    expect_words("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"-\"}", "a--b", "0-1 3-4");
    expect_words("{\"type\":\"FixedLength\",\"length\":2}",
                 "ab\xc3\xa9"
                 "de",
                 "0-2 2-5 5-6");
    expect_words("{\"type\":\"UnicodeScripts\"}", "ab \xe4\xb8\xad\xe3\x81\x82", "0-3 3-9");
    expect_words(
        "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\",\"split\":true}", "a b",
        "0-1 1-3");
    expect_words(SPLIT("-", "Removed"), "a--b", "0-1 3-4");
    expect_words(SPLIT("-", "Isolated"), "a--b", "0-1 1-2 2-3 3-4");
    expect_words(SPLIT("-", "MergedWithPrevious"), "a--b", "0-2 2-3 3-4");
    expect_words(SPLIT("-", "MergedWithNext"), "a--b", "0-1 1-2 2-4");
    expect_words(SPLIT("-", "Contiguous"), "a--b", "0-1 1-3 3-4");
    expect_words(SPLIT("\\\\p{N}{1,3}", "Isolated"), "a12345", "0-1 1-4 4-6");
    expect_words(SPLIT("\\\\s+(?!\\\\S)|\\\\s+", "Isolated"), "a   b", "0-1 1-3 3-4 4-5");
    expect_words(SPLIT("(?i:'LL)", "Isolated"), "x'lL", "0-1 1-4");
    expect_words(SPLIT("(?=(\\\\d{3})+(?!\\\\d))", "Isolated"), "1234567", "0-1 1-4 4-7");
    expect_words(SPLIT("[a-z&&[^aeiou]]+", "Isolated"), "abcde", "0-1 1-4 4-5");
    expect_words(SPLIT("a+?b??|(?<=x)y", "Isolated"), "aabxy", "0-1 1-2 2-4 4-5");
    expect_words(SPLIT("[^x]?+x", "Isolated"), "xax", "0-1 1-3");
    expect_words(SPLIT("(?:ab|a)(?:c|bcd)$", "Isolated"), "abcd", "0-4");
}

/* ---- models, markers, decoders ------------------------------------------------------------------------- */

static void expect_ids(const ox_tokenizer *t, const char *text, const char *pair, bool bare, bool special,
                       const char *expected) {
    ox_tokenizer_encode_desc desc;
    int32_t ids[128];
    char made[512] = "";
    desc.bare = bare;
    desc.parse_special = special;
    const int64_t count = ox_tokenizer_encode_pair(t, text, -1, pair, -1, &desc, ids, NULL, 128);
    for (int64_t i = 0; i < count; i++)
        snprintf(made + strlen(made), sizeof made - strlen(made), "%s%d", i ? " " : "", (int)ids[i]);
    CHECK_MSG(strcmp(made, expected) == 0, "\"%s\": %s, not %s", text, made, expected);
}

static void test_models(void) {
    ox_tokenizer *t =
        open_parts(NULL, NULL, NULL, NULL, NULL,
                   "{\"type\":\"BPE\",\"unk_token\":\"?\",\"fuse_unk\":true,\"vocab\":{\"?\":0,\"a\":1,"
                   "\"b\":2,\"ab\":3,\"abab\":4,\"ba\":5},\"merges\":[\"a b\",[\"ab\",\"ab\"]]}");
    expect_ids(t, "ababa", NULL, false, false, "4 1");
    expect_ids(t, "axxb", NULL, false, false, "1 0 2");
    ox_tokenizer_close(t);
    t = open_parts(
        NULL, "{\"type\":\"WhitespaceSplit\"}", NULL, "{\"type\":\"WordPiece\",\"prefix\":\"##\"}", NULL,
        "{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"##\","
        "\"max_input_chars_per_word\":5,\"vocab\":{\"?\":0,\"un\":1,\"##ab\":2,\"##a\":3,\"u\":4}}");
    expect_ids(t, "unaba uab unabaa x", NULL, false, false, "1 2 3 4 2 0 0");
    const int32_t ids[] = {1, 2, 4};
    char text[32];
    ox_tokenizer_decode(t, ids, 3, text, sizeof text);
    CHECK_MSG(strcmp(text, "unab u") == 0, "%s", text);
    ox_tokenizer_close(t);
    t = open_parts(
        NULL, NULL, NULL, NULL, NULL,
        "{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"a\",-1],[\"b\",-1.5],[\"ab\",-3],"
        "[\"abc\",-2]]}");
    expect_ids(t, "ababc", NULL, false, false, "1 2 4"); /* a, b is better than ab */
    expect_ids(t, "xxa", NULL, false, false, "0 1");
    ox_tokenizer_close(t);
}

/* Bytes of a prefix lead places beyond the word's end: there they count in the whole text. */
static void test_affix_places(void) {
    char model[16384] = "{\"type\":\"BPE\",\"byte_fallback\":true,\"continuing_subword_prefix\":\"@@\","
                        "\"merges\":[],\"vocab\":{";
    for (int i = 0; i < 256; i++)
        snprintf(model + strlen(model), sizeof model - strlen(model), "%s\"<0x%02X>\":%d", i ? "," : "", i,
                 i);
    snprintf(model + strlen(model), sizeof model - strlen(model), "}}");
    ox_tokenizer *t = open_parts(NULL, "{\"type\":\"WhitespaceSplit\"}", NULL, NULL, NULL, model);
    /* the ids are 'a' '@' '@' 'b': [0, 1) and [1, 2) of the word, then [2, 3) and [3, 4) of the text */
    static const ox_token_place expected[] = {{2, 3, 0, 0}, {3, 4, 0, 0}, {2, 3, 0, 0}, {3, 4, 0, 0}};
    ox_token_place places[8];
    int32_t ids[8];
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    int64_t count = ox_tokenizer_encode_pair(t, "  ab", -1, NULL, 0, NULL, ids, places, 8);
    CHECK(count == 4);
    for (int i = 0; i < 4; i++)
        CHECK_MSG(places[i].start == expected[i].start && places[i].end == expected[i].end, "%d: %d .. %d", i,
                  (int)places[i].start, (int)places[i].end);
    count = ox_tokenizer_encode_pair(t, "ab", -1, NULL, 0, NULL, ids, places, 8);
    CHECK(count == 4 && places[3].start == 2 && places[3].end == 2); /* not even in the text */
    ox_tokenizer_close(t);
}

/* Markers that read alike once they are normalized, and one that reads as nothing. */
static void test_normalized_markers(void) {
    static const char words[] = "{\"type\":\"BPE\",\"merges\":[\"a b\"],\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,"
                                "\" \":3}}";
    ox_tokenizer *t = open_parts("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[xyz]\"},\"content\":\"-\"}",
                                 NULL, NULL, NULL,
                                 "{\"id\":4,\"content\":\"x\",\"normalized\":true},"
                                 "{\"id\":5,\"content\":\"y\",\"normalized\":true,\"special\":true},"
                                 "{\"id\":6,\"content\":\"z\",\"normalized\":true,\"special\":true}",
                                 words);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    expect_ids(t, "axb", NULL, true, true, "0 5 1"); /* special ones go first, and then the first one */
    ox_tokenizer_close(t);
    t = open_parts("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", NULL, NULL, NULL,
                   "{\"id\":4,\"content\":\"  \",\"normalized\":true,\"lstrip\":true}", words);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    expect_ids(t, "abab", NULL, true, true, "0 1 0 1"); /* it stands between all characters */
    expect_ids(t, "ab ab", NULL, true, true, "0 1 4 0 1");
    ox_tokenizer_close(t);
}

/* 64 steps that double each "a" of a text. */
static const char *doubling(const char *steps) {
    static char list[8192];
    snprintf(list, sizeof list, "{\"type\":\"Sequence\",\"%s\":[", steps);
    for (int i = 0; i < 64; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "",
                 "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}");
    snprintf(list + strlen(list), sizeof list - strlen(list), "]}");
    return list;
}

/* They end in an error, and do not take all memory. */
static void test_growth(void) {
    ox_tokenizer *t = open_parts(doubling("normalizers"), NULL, NULL, NULL, NULL, NULL);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    CHECK(ox_tokenizer_encode(t, "b", -1, NULL, NULL, 0) == 1);
    CHECK(ox_tokenizer_encode(t, "a", -1, NULL, NULL, 0) == -1 && ox_error() == OX_ERR_UNSUPPORTED);
    ox_error_clear();
    ox_tokenizer_close(t);
    t = open_parts(NULL, NULL, NULL, doubling("decoders"), NULL,
                   "{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"a\":0}}");
    CHECK(t == NULL && ox_error() == OX_ERR_UNSUPPORTED);
    ox_error_clear();
    ox_tokenizer_close(t);
}

#define TEMPLATE                                                                                            \
    "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},"       \
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":" \
    "0}},"                                                                                                  \
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],"             \
    "\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[256],\"tokens\":[\"<s>\"]}}}"

static void test_markers(void) {
    ox_tokenizer *t =
        open_parts("{\"type\":\"Lowercase\"}", NULL, TEMPLATE,
                   "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}",
                   "{\"id\":256,\"content\":\"<s>\",\"special\":true,\"lstrip\":true,\"rstrip\":false,"
                   "\"single_word\":false,"
                   "\"normalized\":false},{\"id\":257,\"content\":\"Foo\",\"special\":false,\"lstrip\":false,"
                   "\"rstrip\":true,"
                   "\"single_word\":true,\"normalized\":true}",
                   NULL);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    expect_ids(t, "a  <s>A", NULL, true, true, "97 256 97");
    expect_ids(t, "a<s>", NULL, true, false, "97 60 115 62");
    expect_ids(t, "fOO  b", NULL, true, true, "257 98"); /* markers are normalized as well */
    expect_ids(t, "foob", NULL, true, true, "102 111 111 98");
    expect_ids(t, "A", "B", false, true, "256 97 98");
    expect_ids(t, "A", "B", true, true, "97 98");
    int32_t ids[8];
    ox_token_place places[8];
    CHECK(ox_tokenizer_encode_pair(t, "x", -1, "\xc3\xa9", -1, NULL, ids, places, 8) == 4);
    CHECK(places[0].text == -1 && places[1].text == 0 && places[3].text == 1 && places[3].type == 1);
    CHECK(places[2].start == 0 && places[2].end == 2 && places[3].start == 0 && places[3].end == 2);
    const int32_t back[] = {256, 195, 169, 195, 98};
    const ox_tokenizer_decode_desc keep = {true};
    char text[64];
    ox_tokenizer_decode(t, back, 5, text, sizeof text);
    CHECK_MSG(strcmp(text, "\xc3\xa9\xef\xbf\xbd"
                           "b") == 0 ||
                  strcmp(text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                               "b"),
              "%s", text);
    CHECK(ox_tokenizer_decode_with(t, back, 1, &keep, text, sizeof text) == 3 && strcmp(text, "<s>") == 0);
    CHECK(ox_tokenizer_role(t, OX_TOKEN_ROLE_BOS) == 256 && ox_tokenizer_find(t, "Foo", -1) == 257);
    ox_tokenizer_close(t);
}

/* No decoder: words apart; an empty list: together; a suffix of nothing stands at each character. An empty
 * Prepend takes the first character's place from it. */
static void test_nothing(void) {
    static const char *const cases[][2] = {{NULL, "ab c"},
                                           {"{\"type\":\"Sequence\",\"decoders\":[]}", "abc"},
                                           {"{\"type\":\"BPEDecoder\",\"suffix\":\"\"}", " a b c"}};
    static const char model[] = "{\"type\":\"BPE\",\"merges\":[\"a b\"],\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,"
                                "\"c\":3}}";
    const int32_t ids[] = {2, 3};
    int32_t out[4];
    ox_token_place places[4];
    char text[16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ox_tokenizer *t = open_parts(NULL, NULL, NULL, cases[i][0], NULL, model);
        CHECK_MSG(t != NULL, "%s", ox_error_text());
        ox_tokenizer_decode(t, ids, 2, text, sizeof text);
        CHECK_MSG(strcmp(text, cases[i][1]) == 0, "%d: \"%s\"", (int)i, text);
        ox_tokenizer_close(t);
    }
    ox_tokenizer *t =
        open_parts("{\"type\":\"Prepend\",\"prepend\":\"\"}", NULL, NULL, NULL, NULL, model);
    CHECK(ox_tokenizer_encode_pair(t, "ca", -1, NULL, 0, NULL, out, places, 4) == 2);
    CHECK(out[0] == 3 && places[0].start == 0 && places[0].end == 0);
    CHECK(places[1].start == 1 && places[1].end == 2);
    ox_tokenizer_close(t);
}

/* All that a stream gives of ids, and no part of a character at once; -1 on error. */
static int64_t run_stream(const ox_tokenizer *t, const int32_t *ids, int count, size_t first_room,
                          char *all) {
    ox_token_stream stream, zero;
    char out[1024];
    size_t at = 0;
    memset(&stream, 0, sizeof stream);
    memset(&zero, 0, sizeof zero);
    for (int i = 0; i <= count; i++) {
        size_t room = first_room;
        int64_t length = 0;
        for (int turn = 0; turn < 2; turn++, room = (size_t)length + 1) { /* the second has just enough */
            length = i < count ? ox_token_stream_push(&stream, t, ids[i], out, room)
                               : ox_token_stream_end(&stream, t, out, room);
            if (length < 0) return -1;
            if (length == 0 || (size_t)length < room) break;
        }
        CHECK(length == 0 || ((out[0] & 0xC0) != 0x80 && (size_t)length == strlen(out)));
        if (length > 0) memcpy(all + at, out, (size_t)length);
        at += (size_t)length;
    }
    CHECK(memcmp(&stream, &zero, sizeof zero) == 0);
    all[at] = 0;
    return (int64_t)at;
}

/* Any bytes, one at a time: what comes out is whole characters, and together it is what went in. */
static void test_stream(void) {
    static const char text[] = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80z";
    ox_tokenizer *t = open_parts(
        NULL, NULL, NULL,
        "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}", NULL, NULL);
    int32_t ids[32];
    char all[64] = "", out[16];
    for (size_t i = 0; i + 1 < sizeof text; i++) ids[i] = (uint8_t)text[i];
    CHECK(run_stream(t, ids, (int)sizeof text - 1, 0, all) == (int64_t)sizeof text - 1);
    CHECK_MSG(strcmp(all, text) == 0, "%s", all);
    ids[sizeof text - 1] = 0xFF; /* the run is no UTF-8: none of its bytes is a character */
    CHECK(run_stream(t, ids, (int)sizeof text, 9, all) == 3 * (int64_t)sizeof text);
    CHECK_MSG(memcmp(all, REPLACED REPLACED, 6) == 0, "%s", all);
    ox_token_stream stream;
    memset(&stream, 0, sizeof stream);
    CHECK(ox_token_stream_push(&stream, t, 'a', out, sizeof out) == 0 && stream.held_count == 1);
    CHECK(ox_token_stream_end(&stream, NULL, out, sizeof out) == 0 && !stream.held && !out[0]); /* dropped */
    CHECK(ox_token_stream_push(NULL, t, 0, out, sizeof out) == -1);
    ox_error_clear();
    CHECK(ox_token_stream_end(NULL, t, out, sizeof out) == -1);
    ox_error_clear();
    ox_tokenizer_close(t);
}

#define WORDS                                                                                                \
    "{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\"a\":0,\"_b\":1,\"##c\":2,\"_\":3,\"d</w>\":4," \
    "\"<0xC3>\":5,\"<0xA9>\":6,\"<0x20>\":7,\".\":8,\"\\u00c3\":9,\"\\u00a9\":10,\"\\u0120\":11,\" \":12,"   \
    "\"<0xF0>\":13,\"<0x9F>\":14,\"\\u00f0\":15,\"<s>\":16}}"
#define SPECIAL                                                                                          \
    "{\"id\":16,\"content\":\"<s>\",\"special\":true,\"lstrip\":false,\"rstrip\":false,\"single_word\":" \
    "false,"                                                                                             \
    "\"normalized\":false}"
#define IN_TURN(...) "{\"type\":\"Sequence\",\"decoders\":[" __VA_ARGS__ "]}"
#define SPACES "{\"type\":\"Replace\",\"pattern\":{\"String\":\"_\"},\"content\":\" \"}"
#define BYTES "{\"type\":\"ByteFallback\"}"
#define FUSE "{\"type\":\"Fuse\"}"
#define LEVEL "{\"type\":\"ByteLevel\"}"
#define STRIP(start, stop) "{\"type\":\"Strip\",\"content\":\" \",\"start\":" #start ",\"stop\":" #stop "}"
#define ENDS "{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}"

/* Of random ids a stream gives what decoding gives of all of them, whatever decoders there are. */
static void test_stream_decoders(void) {
    static const char *const decoders[] = {
        NULL,
        LEVEL,
        ENDS,
        STRIP(1, 1),
        "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\"}",
        "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}",
        "{\"type\":\"CTC\",\"pad_token\":\"a\",\"word_delimiter_token\":\"_\",\"cleanup\":true}",
        IN_TURN(SPACES "," BYTES "," FUSE),
        IN_TURN(SPACES "," BYTES "," FUSE "," STRIP(1, 0)),
        IN_TURN(SPACES "," BYTES "," FUSE "," STRIP(2, 2)),
        IN_TURN(SPACES "," BYTES "," STRIP(1, 1)),
        IN_TURN(BYTES "," ENDS),
        IN_TURN(LEVEL "," STRIP(1, 2)),
        IN_TURN(FUSE "," SPACES),
        IN_TURN(BYTES "," LEVEL),
        IN_TURN(FUSE "," STRIP(0, 1) "," STRIP(1, 0))};
    uint32_t state = 12345;
    for (size_t k = 0; k < sizeof decoders / sizeof *decoders; k++) {
        ox_tokenizer *t = open_parts(NULL, NULL, NULL, decoders[k], SPECIAL, WORDS);
        CHECK_MSG(t != NULL, "%s: %s", decoders[k] ? decoders[k] : "none", ox_error_text());
        for (int turn = 0; turn < 300 && t; turn++) {
            int32_t ids[24];
            char all[1024], whole[1024];
            const int count = turn % 25;
            for (int i = 0; i < count; i++)
                ids[i] = (int32_t)((state = state * 1664525u + 1013904223u) >> 16) % 19 - 1;
            ox_tokenizer_decode(t, ids, count, whole, sizeof whole);
            CHECK(run_stream(t, ids, count, (size_t)(turn % 3) * 4, all) >= 0);
            CHECK_MSG(strcmp(all, whole) == 0, "%s: \"%s\", \"%s\"", decoders[k] ? decoders[k] : "none", all,
                      whole);
        }
        ox_tokenizer_close(t);
    }
}

/* Nothing waits that nothing can change. */
static void test_stream_prompt(void) {
    static const int32_t ids[] = {1, 5, 6, 8, 3, 3, 0};
    static const char *const parts[] = {"b", "", "", "\xc3\xa9.", "", "", "  a"};
    ox_tokenizer *t =
        open_parts(NULL, NULL, NULL, IN_TURN(SPACES "," BYTES "," FUSE "," STRIP(1, 2)), NULL, WORDS);
    ox_token_stream stream;
    char out[32];
    memset(&stream, 0, sizeof stream);
    for (int i = 0; i < 7; i++) {
        CHECK(ox_token_stream_push(&stream, t, ids[i], out, sizeof out) == (int64_t)strlen(parts[i]));
        CHECK_MSG(strcmp(out, parts[i]) == 0, "%d: \"%s\"", i, out);
    }
    CHECK(ox_token_stream_push(&stream, t, 3, out, sizeof out) == 0); /* a space at the end is taken off */
    CHECK(ox_token_stream_end(&stream, t, out, sizeof out) == 0);
    ox_tokenizer_close(t);
}

/* Special tokens that are not shown are no part of the text: the first word has no space before it, and the
 * next ones keep theirs. */
static void test_stream_hidden(void) {
    static const int32_t ids[] = {2, 0, 2, 1};
    ox_tokenizer *t = open_parts(
        NULL, NULL, NULL, "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\"}",
        "{\"id\":2,\"content\":\"<s>\",\"special\":true,\"lstrip\":false,\"rstrip\":false,"
        "\"single_word\":false,\"normalized\":false}",
        "{\"type\":\"WordLevel\",\"vocab\":{\"_a\":0,\"_b\":1},\"unk_token\":\"_a\"}");
    char all[64] = "", whole[64];
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    CHECK(run_stream(t, ids, 4, 16, all) == 3);
    ox_tokenizer_decode(t, ids, 4, whole, sizeof whole);
    CHECK_MSG(strcmp(all, "a b") == 0 && strcmp(whole, "a b") == 0, "%s, %s", all, whole);
    ox_tokenizer_close(t);
}

/* ---- what is refused, and what takes long -------------------------------------------------------------- */

static void expect_refused(const char *pre, const char *model, const char *word) {
    ox_tokenizer *t = open_parts(NULL, pre, NULL, NULL, NULL, model);
    CHECK_MSG(!t && strstr(ox_error_text(), word), "%s: %s", pre ? pre : model, ox_error_text());
    ox_tokenizer_close(t);
    ox_error_clear();
}

static void test_refused(void) {
    static const char *const broken[] = {"",
                                         "{",
                                         "[]",
                                         "{}",
                                         "{\"model\":3}",
                                         "{\"model\":{\"type\":\"BPE\"}}",
                                         "{\"model\":{\"type\":\"X\",\"vocab\":{}}}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        CHECK_MSG(!ox_tokenizer_open_json(broken[i], -1, NULL, 0) && ox_error(), "%s", broken[i]);
        ox_error_clear();
    }
    CHECK(!ox_tokenizer_open_json(NULL, 0, NULL, 0) && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    expect_refused("{\"type\":\"Other\"}", NULL, "not known");
    expect_refused(SPLIT("(a", "Isolated"), NULL, "( without its )");
    expect_refused(SPLIT("\\\\1", "Isolated"), NULL, "escape");
    expect_refused(SPLIT("(?<=a+)b", "Isolated"), NULL, "look behind");
    expect_refused(SPLIT("a{9999}", "Isolated"), NULL, "too far");
    expect_refused(SPLIT("\\\\p{Klingon}", "Isolated"), NULL, "not known");
    expect_refused(NULL, "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}", "merge");
    expect_refused(NULL, "{\"type\":\"BPE\",\"vocab\":{\"a\":900000000},\"merges\":[]}", "far");
}

/* Patterns that take exponential or quadratic time where failures are forgotten, and words of 1 MB. */
static void test_long(void) {
    enum { LONG = 1 << 20 };
    static const char *const patterns[] = {SPLIT("(?:a|aa)+b", "Isolated"), SPLIT("(?:a+)+b|a", "Isolated"),
                                           SPLIT("a*b|a", "Isolated"),
                                           SPLIT("\\\\s*[\\\\r\\\\n]+|\\\\s", "Isolated")};
    char *text = (char *)malloc(LONG + 1);
    memset(text, 'a', LONG);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        ox_tokenizer *t = open_parts(NULL, patterns[i], NULL, NULL, NULL, NULL);
        CHECK_MSG(t != NULL, "%s", ox_error_text());
        const int64_t count = ox_tokenizer_encode(t, text, 20000, NULL, NULL, 0);
        CHECK_MSG(count == 20000 || ox_error() == OX_ERR_UNSUPPORTED, "%s: %d", patterns[i], (int)count);
        ox_error_clear();
        ox_tokenizer_close(t);
    }
    ox_tokenizer *t = open_parts(NULL, NULL, NULL, NULL, NULL,
                                 "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1,\"aaaa\":2},"
                                 "\"merges\":[\"a a\",\"aa aa\"]}");
    CHECK(ox_tokenizer_encode(t, text, LONG, NULL, NULL, 0) == LONG / 4);
    ox_tokenizer_close(t);
    free(text);
}

/* ---- two texts of one id ------------------------------------------------------------------------------- */

/* Ids of a text, its tokens' decoded text with and without special ones, and what two texts are found as. */
static void expect_shared(const char *model, const char *added, const char *text, const char *ids,
                          const char *shown, const char *plain, int32_t word, int32_t marker) {
    static const char split[] = "{\"type\":\"WhitespaceSplit\"}";
    ox_tokenizer *t = open_parts(NULL, split, NULL, NULL, added, model);
    const ox_tokenizer_decode_desc keep = {true};
    int32_t made[32];
    char list[256] = "", back[256];
    size_t at = 0;
    CHECK_MSG(t != NULL, "%s: %s", model, ox_error_text());
    ox_tokenizer_encode_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.parse_special = true;
    const int64_t count = ox_tokenizer_encode(t, text, -1, &desc, made, 32);
    for (int64_t i = 0; i < count; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%d", i ? " " : "", (int)made[i]);
    CHECK_MSG(strcmp(list, ids) == 0, "\"%s\": %s", text, list);
    ox_tokenizer_decode_with(t, made, count, &keep, back, sizeof back);
    CHECK_MSG(strcmp(back, shown) == 0, "\"%s\" came back as \"%s\"", text, back);
    ox_tokenizer_decode(t, made, count, back, sizeof back);
    CHECK_MSG(strcmp(back, plain) == 0, "\"%s\" came back as \"%s\" without special tokens", text, back);
    CHECK(ox_tokenizer_find(t, model[9] == 'B' ? "ab" : "d", -1) == word);
    CHECK(ox_tokenizer_find(t, "<x>", -1) == marker);
    ox_tokenizer_close(t);
}

/* An added token follows the model's in number, so that where ids leave holes it comes upon a word: both have
 * that id then, which reads as the added one. Two words of the model may have one id as well. */
static void test_shared_ids(void) {
    static const char words[] = "{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"a\":1,"
                                "\"b\":2,\"c\":4,\"d\":5}}",
                      merged[] = "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":5,\"abc\":6},"
                                 "\"merges\":[[\"a\",\"b\"],[\"ab\",\"c\"]]}",
                      pieces[] = "{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"continuing_subword_prefix\":"
                                 "\"##\",\"vocab\":{\"u\":0,\"a\":1,\"##b\":2,\"d\":4,\"##c\":5}}",
                      twice[] = "{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"a\":1,"
                                "\"d\":1,\"c\":2}}",
                      x[] = "{\"id\":6,\"content\":\"<x>\",\"special\":false}",
                      both[] = "{\"id\":5,\"content\":\"<x>\",\"special\":true},"
                               "{\"id\":6,\"content\":\"<y>\",\"special\":false}";
    expect_shared(words, x, "a b <x> c d q", "1 2 5 4 5 0", "a b <x> c <x> u", "a b <x> c <x> u", 5, 5);
    expect_shared(words, both, "a <x> c d <y> q", "1 5 4 5 6 0", "a <x> c <x> <y> u", "a c <y> u", 5, 5);
    expect_shared(merged, both, "abc <x> ab a b <y>", "6 5 5 0 1 6", "<y> <x> <x> a b <y>", "<y> a b <y>", 5,
                  5);
    expect_shared(pieces, both, "abc <x> d <y>", "1 2 5 5 4 6", "a ##b <x> <x> d <y>", "a ##b d <y>", 4,
                  5);
    expect_shared(twice, x, "d c <x>", "1 2 4", "d c <x>", "d c <x>", 1, 4);
}

/* ---- 16 tokenizers ------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (!file) return NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        text = (char *)calloc(1, (size_t)size + 1);
        *length = text ? fread(text, 1, (size_t)size, file) : 0;
    }
    fclose(file);
    return text;
}

static json *member(json *object, const char *key) {
    json *child = object ? object->child : NULL;
    while (child && strcmp(child->key, key) != 0) child = child->next;
    return child;
}

static bool same_ids(const ox_tokenizer *t, const char *text, bool bare, const json *expected) {
    ox_tokenizer_encode_desc desc;
    int32_t ids[4096];
    int64_t at = 0;
    desc.bare = bare;
    desc.parse_special = true;
    const int64_t count = ox_tokenizer_encode(t, text, -1, &desc, ids, 4096);
    for (const json *id = expected->child; id; id = id->next, at++)
        if (at >= count || ids[at] != (int32_t)id->number) return false;
    return at == count;
}

static void test_cases(const char *folder, const char *name) {
    char path[1200];
    size_t length = 0, more = 0;
    snprintf(path, sizeof path, "%s/tokenizers/%s.json", folder, name);
    char *text = read_file(path, &length);
    snprintf(path, sizeof path, "%s/tokenizers/%s.cases.json", folder, name);
    char *cases = read_file(path, &more);
    if (!text || !cases) {
        check_skip(name, "no such tokenizer (OX_TEST_DATA)");
    } else {
        json_pool pool = {(json *)calloc(200000, sizeof(json)), 0, 200000};
        json *root = json_read(&pool, cases);
        ox_tokenizer *t = ox_tokenizer_open_json(text, (int64_t)length, NULL, 0);
        int count = 0;
        CHECK_MSG(t && root, "%s: %s", name, ox_error_text());
        json *list = member(root, "texts");
        for (json *one = list ? list->child : NULL; t && one; one = one->next, count++) {
            const char *in = member(one, "text")->text;
            const json *plain = member(one, "plain"), *decoded = member(one, "decoded");
            const ox_tokenizer_decode_desc keep = {true};
            int32_t ids[4096];
            int64_t n = 0;
            char back[16384];
            CHECK_MSG(same_ids(t, in, false, member(one, "ids")), "%s: \"%s\"", name, in);
            CHECK_MSG(same_ids(t, in, true, plain), "%s: \"%s\" without special tokens", name, in);
            for (const json *id = plain->child; id; id = id->next) ids[n++] = (int32_t)id->number;
            ox_tokenizer_decode_with(t, ids, n, &keep, back, sizeof back);
            CHECK_MSG(strcmp(back, decoded->text) == 0, "%s: \"%s\" came back as \"%s\"", name, in, back);
        }
        CHECK_MSG(count >= 80, "%s: only %d texts", name, count);
        ox_tokenizer_close(t);
        free(pool.nodes);
    }
    free(text);
    free(cases);
}

int main(void) {
    static const char *const names[] = {"bert",    "deepseek", "digits",     "gemma",     "gpt2",  "llama",
                                        "llama3",  "mistral",  "modernbert", "neox",      "o200k", "qwen2",
                                        "roberta", "t5",       "xlmr",       "bert_cased"};
    const char *folder = getenv("OX_TEST_DATA");
    const size_t before = ox_memory_get_stats().bytes_in_use;
    test_normalizers();
    test_charsmap();
    test_pre_tokenizers();
    test_models();
    test_affix_places();
    test_normalized_markers();
    test_growth();
    expect_normal("null",
                  "a\xe4\xb8"
                  "b\xf0\x9f\x98\xff\xc0\x80\xed\xa0\x80\xc3",
                  "a" REPLACED "b" REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED REPLACED);
    test_markers();
    test_shared_ids();
    test_nothing();
    test_stream();
    test_stream_decoders();
    test_stream_prompt();
    test_stream_hidden();
    test_refused();
    test_long();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_cases(folder ? folder : "../shared/data", names[i]);
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    return check_done("tokenizer_json");
}
