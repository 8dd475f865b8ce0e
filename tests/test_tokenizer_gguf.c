/* test_tokenizer_gguf.c - kinds of GGUF vocabularies that are searched, not merged (plamo2, rwkv, t5), words
 * apart from white space (whitespace), and every name of a pre-tokenizer with what its pattern does.
 * References: llama.cpp's ids for plamo2 and rwkv; SentencePiece for bytes of Unigram.
 */
#include "oxtorch_llm.h"
#include "check.h"
#include "gguf_make.h"

static ox_tokenizer *open_made(gguf_make *g) {
    const char *path = gguf_path("tokenizer_gguf.gguf");
    CHECK(gguf_write(g, path) == 0);
    ox_file *file = ox_file_open(path, NULL);
    ox_tokenizer *tokenizer = file ? ox_tokenizer_open(file) : NULL;
    ox_file_close(file);
    remove(path);
    return tokenizer;
}

/* `first` texts, then 256 bytes if they are wanted, then the others, each with its score. */
typedef struct entry {
    const char *text;
    float score;
    int type;
} entry;

static void put_entries(gguf_make *g, const char *model, const entry *first, int firsts, int bytes,
                        const entry *rest, int count) {
    const int all = firsts + bytes + count;
    char name[8];
    memset(g, 0, sizeof *g);
    gguf_text(g, "general.architecture", "llama");
    gguf_text(g, "tokenizer.ggml.model", model);
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)all);
    for (int i = 0; i < all; i++) {
        const char *text = i < firsts           ? first[i].text
                           : i < firsts + bytes ? name
                                                : rest[i - firsts - bytes].text;
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)(i - firsts) & 255);
        gguf_string(&g->keys, text, strlen(text));
    }
    gguf_array(g, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)all);
    for (int i = 0; i < all; i++)
        gguf_number(&g->keys, gguf_float_bits(i < firsts + bytes ? 0 : rest[i - firsts - bytes].score), 4);
    gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)all);
    for (int i = 0; i < all; i++)
        gguf_number(&g->keys,
                    (uint64_t)(i < firsts           ? first[i].type
                               : i < firsts + bytes ? 6
                                                    : rest[i - firsts - bytes].type),
                    4);
}

static void expect(const ox_tokenizer *t, const char *text, const char *expected) {
    const ox_tokenizer_encode_desc desc = {false, true};
    int32_t ids[64];
    char line[512] = "";
    const int64_t count = ox_tokenizer_encode(t, text, -1, &desc, ids, 64);
    for (int64_t i = 0; i < count && i < 64; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s%d", i ? " " : "", (int)ids[i]);
    CHECK_MSG(strcmp(line, expected) == 0, "\"%s\": %s, not %s", text, line, expected);
}

static void test_plamo(void) {
    static const entry first[] = {
        {"<|plamo:unk|>", 0, 2}, {"<|plamo:bos|>", 0, 3}, {"<|plamo:eos|>", 0, 3}, {"<|plamo:pad|>", 0, 3}};
    static const entry rest[] = {{"a", -1, 1},     {"b", -1, 1},        {"ab", -1.5f, 1}, {"abc", -9, 1},
                                 {"bc", -0.5f, 1}, {"\xc3\xa9", -2, 1}, {"aa", -2, 1},    {"bcd", -0.1f, 1}};
    gguf_make g;
    put_entries(&g, "plamo2", first, 4, 256, rest, 8);
    gguf_bool(&g, "tokenizer.ggml.add_bos_token", 1); /* nothing is put around a text all the same */
    ox_tokenizer *t = open_made(&g);
    char text[32];
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    expect(t, "abc", "260 264");
    expect(t, "aaa", "266 260"); /* of equal ways the longest token first */
    expect(t, "x\xc3\xa9", "124 265");
    expect(t,
           "\xef\xbb\xbf"
           "ab",
           "262");
    expect(t, "bcda", "267 260");
    expect(t, "<|plamo:eos|>a", "2 260");
    expect(t, "\xe4\xb8\xad", "232 188 177");
    const int32_t ids[] = {232, 188, 177, 262};
    ox_tokenizer_decode(t, ids, 4, text, sizeof text);
    CHECK_MSG(strcmp(text, "\xe4\xb8\xad"
                           "ab") == 0,
              "%s", text);
    ox_tokenizer_close(t);
    put_entries(&g, "plamo2", first, 4, 255, rest, 8); /* a byte is missing */
    CHECK(!open_made(&g) && ox_error() == OX_ERR_FORMAT);
    ox_error_clear();
}

static void test_rwkv(void) {
    static const entry first[] = {{"<s>", 0, 3}};
    static const entry rest[] = {
        {"a", 0, 1},      {"b", 0, 1},     {"ab", 0, 1},         {"\\n", 0, 1},
        {"\\n\\n", 0, 1}, {"\\xe4", 0, 1}, {"\\xe4\\xb8", 0, 1}, {"\\xe4\\xb8\\xad", 0, 1},
        {"\\\\", 0, 1},   {"\\t", 0, 1},   {" a", 0, 1}};
    gguf_make g;
    put_entries(&g, "rwkv", first, 1, 0, rest, 11);
    gguf_u32(&g, "tokenizer.ggml.unknown_token_id", 0);
    ox_tokenizer *t = open_made(&g);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    expect(t, "aba a", "3 1 11");
    expect(t, "\n\n\n", "5 4");
    expect(t, "\xe4\xb8\xad\xe4\xb8\x80", "8 7 0");
    expect(t, "\\\tz", "9 10 0");
    ox_tokenizer_close(t);
}

/* What no token begins with becomes bytes where all bytes are tokens. */
static void test_unigram(void) {
    static const entry first[] = {{"<pad>", 0, 3}, {"</s>", 0, 3}, {"<unk>", 0, 2}};
    static const entry rest[] = {{"\xe2\x96\x81", -2, 1}, {"a", -1, 1}};
    for (int bytes = 0; bytes <= 256; bytes += 256) {
        gguf_make g;
        put_entries(&g, "t5", first, 3, bytes, rest, 2);
        gguf_bool(&g, "tokenizer.ggml.add_space_prefix", 1);
        ox_tokenizer *t = open_made(&g);
        CHECK_MSG(t != NULL, "%s", ox_error_text());
        expect(t, "axya", bytes ? "259 260 123 124 260 1" : "3 4 2 4 1");
        expect(t, " ", bytes ? "259 259 1" : "3 3 1");
        ox_tokenizer_close(t);
    }
}

/* Text that is not UTF-8: a byte that is no character is U+FFFD, whatever the map of characters makes of
 * that; halves of surrogate pairs are characters. */
static void test_unigram_bytes(void) {
    static const entry first[] = {{"<pad>", 0, 3}, {"</s>", 0, 3}, {"<unk>", 0, 2}};
    static const entry rest[] = {
        {"\xef\xbf\xbd", -2, 1}, {"a", -1, 1}, {"\xed\xa0\x80", -1, 1}, {"\xc3\xa9", -1, 1}};
    /* the map of one key, U+FFFD, which becomes "a": the size of the units, the units, the texts */
    uint32_t units[1024];
    memset(units, 0, sizeof units);
    units[0] = 1u << 10;
    const unsigned char key[3] = {0xef, 0xbf, 0xbd};
    size_t at = 1;
    for (int i = 0; i < 3; i++) {
        at ^= key[i];
        const size_t next = 256u * (size_t)(i + 1);
        units[at] = (uint32_t)(at ^ next) << 10 | (i == 2 ? 1u << 8 : 0) | key[i];
        at = next;
    }
    units[at] = 1u << 31;
    for (int map = 0; map < 2; map++) {
        gguf_make g;
        put_entries(&g, "t5", first, 3, 0, rest, 4);
        gguf_bool(&g, "tokenizer.ggml.add_space_prefix", 0);
        if (map) {
            gguf_array(&g, "tokenizer.ggml.precompiled_charsmap", GGUF_U8, 4 + sizeof units + 2);
            gguf_number(&g.keys, sizeof units, 4);
            for (size_t i = 0; i < sizeof units / sizeof *units; i++) gguf_number(&g.keys, units[i], 4);
            gguf_number(&g.keys, 'a', 2);
        }
        ox_tokenizer *t = open_made(&g);
        CHECK_MSG(t != NULL, "%s", ox_error_text());
        expect(t, "\xef\xbf\xbd", map ? "4 1" : "3 1");
        expect(t, "a\xff\xc1\x80", "4 3 3 3 1");
        expect(t, "\xed\xa0\x80\xed\xa0", "5 3 3 1");
        ox_tokenizer_close(t);
    }
    gguf_make g;
    put_entries(&g, "t5", first, 3, 0, rest, 4);
    gguf_bool(&g, "tokenizer.ggml.add_space_prefix", 0);
    gguf_bool(&g, "tokenizer.ggml.normalizer.nfc", 1);
    ox_tokenizer *t = open_made(&g);
    expect(t, "e\xcc\x81\xff", "6 3 1");
    ox_tokenizer_close(t);
}

static int composed; /* the next one has tokenizer.ggml.normalizer.nfc */

/* Bytes as tokens 0 .. 255, and merges of neighbors that show where words end. */
static ox_tokenizer *open_bpe(const char *model, const char *pre, const char *const *merges, int count) {
    gguf_make g;
    char text[64];
    memset(&g, 0, sizeof g);
    gguf_text(&g, "general.architecture", "llama");
    gguf_text(&g, "tokenizer.ggml.model", model);
    gguf_text(&g, "tokenizer.ggml.pre", pre);
    gguf_bool(&g, "tokenizer.ggml.add_bos_token", 0);
    if (composed) gguf_bool(&g, "tokenizer.ggml.normalizer.nfc", 1);
    gguf_array(&g, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)(256 + count));
    for (int b = 0; b < 256; b++) { /* as GPT-2 writes bytes */
        const int code = (b >= 33 && b <= 126) || (b >= 161 && b != 173) ? b
                         : b <= 32                                       ? 256 + b
                         : b <= 160                                      ? 256 + 33 + b - 127
                                                                         : 256 + 67;
        const char two[2] = {(char)(0xC0 | code >> 6), (char)(0x80 | (code & 63))}, one = (char)code;
        gguf_string(&g.keys, code < 128 ? &one : two, code < 128 ? 1 : 2);
    }
    for (int i = 0; i < count; i++) {
        size_t length = 0;
        for (const char *c = merges[i]; *c; c++)
            if (*c != ' ') text[length++] = *c;
        gguf_string(&g.keys, text, length);
    }
    gguf_array(&g, "tokenizer.ggml.merges", GGUF_TEXT, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_string(&g.keys, merges[i], strlen(merges[i]));
    return open_made(&g);
}

/* 256: 12, 257: 123 */
static const char *const pre_merges[] = {"1 2", "12 3"};

static void test_pre(void) {
    static const struct {
        const char *names, *digits;
    } rows[] = {
        {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe "
         "chatglm-bpe "
         "glm4 jais-2 kimi-k2 gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m deepseek-v3 "
         "hunyuan-dense hy_v4 joyai-llm afmoe",
         "257"},
        {"gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert mpt olmo "
         "jais "
         "exaone4 trillion granite-docling jina-v1-en jina-v2-code roberta-bpe default bloom poro-chat "
         "gpt3-finnish",
         "257"},
        {"qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2 qwen35 starcoder "
         "refact "
         "command-r smollm codeshell exaone minerva-7b mellum2 tekken seed-coder bailingmoe bailingmoe2 "
         "llada-moe "
         "exaone-moe ufakzeka laguna viking deepseek-coder spark2_5 youtu chameleon",
         "49 50 51"},
        {"minicpm5 superbpe tiny_aya cohere2moe falcon deepseek-llm", "257"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (const char *at = rows[i].names; *at;) {
            char name[48] = "";
            const size_t length = strcspn(at, " ");
            memcpy(name, at, length);
            at += length + (at[length] == ' ');
            ox_tokenizer *t = open_bpe("gpt2", name, pre_merges, 2);
            CHECK_MSG(t != NULL, "%s: %s", name, ox_error_text());
            if (!t) continue;
            expect(t, "123", rows[i].digits);
            ox_tokenizer_close(t);
        }
    }
}

/* What each name tells apart, where names differ: 256 is the merge, which a cut between its halves hinders.
 * References: llama.cpp's ids. */
static void test_rules(void) {
    static const struct {
        const char *name, *merge, *text, *expected;
    } rows[] = {
        {"gpt-4o", "a B", "aB", "97 66"}, /* capitals begin a word */
        {"tekken", "a B", "aB", "97 66"},
        {"granite-embed-multi-97m", "a B", "aB", "97 66"},
        {"kimi-k2", "a B", "aB", "256"},
        {"youtu", "a B", "aB", "256"},
        {"tiny_aya", "a B", "aB", "256"},
        {"gpt-4o", "\xc2\xa9 \xc3\x83", "\xc3\xa9\xc3\x89", "195 256 137"}, /* not beyond ASCII */
        {"tekken", "\xc2\xa9 \xc3\x83", "\xc3\xa9\xc3\x89", "195 256 137"},
        {"tiny_aya", "1 2", "1234", "49 50 51 52"}, /* threes from the end on */
        {"afmoe", "1 2", "1234", "49 50 51 52"},
        {"afmoe", "1 2", "12345", "256 51 52 53"},
        {"qwen2", "a \xc3\xa1", "a\xe1\xb2\x89", "97 225 178 137"}, /* U+1C89 came with Unicode 16 */
        {"qwen2", "a \xc3\xa1", "a\xe1\xb2\x88", "256 178 136"},
        {"deepseek-coder", "\xc4\xa0 \xc3\xa2", " \xe2\x80\x87", "256 128 135"}, /* white space in a range */
        {"deepseek-llm", "\xc4\xa0 \xc3\xa3", " \xe3\x80\x80", "256 128 128"},
        {"k2-horizon", "a \xc3\xa2", "a\xe2\x80\x8d", "256 128 141"}, /* U+200D joins */
        {"qwen2", "a \xc3\xa2", "a\xe2\x80\x8d", "97 226 128 141"},
        {"llama-bpe", "\xc2\xbf t", "'\xc5\xbft", "39 197 256"}, /* U+017F is no s */
        {"kimi-k2", "a \xc3\xa3", "a\xe3\x80\x85", "256 128 133"}, /* U+3005 is not among Han */
        {"glm5", "1 2", "123", "256 51"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ox_tokenizer *t = open_bpe("gpt2", rows[i].name, &rows[i].merge, 1);
        CHECK_MSG(t != NULL, "%s: %s", rows[i].name, ox_error_text());
        if (!t) continue;
        expect(t, rows[i].text, rows[i].expected);
        ox_tokenizer_close(t);
    }
}

/* Long runs of digits are split by threes from their end on in linear time; the same as short ones. */
static void test_digits(void) {
    static const char *const names[] = {"afmoe", "tiny_aya", "superbpe"};
    enum { LONG = 200000 };
    char *text = (char *)malloc(LONG + 1);
    int32_t *ids = (int32_t *)malloc((LONG + 1) * sizeof *ids);
    if (!text || !ids) exit(1);
    for (int i = 0; i < LONG; i++) text[i] = "123"[i % 3];
    for (int n = 0; n < 3; n++) {
        ox_tokenizer *t = open_bpe("gpt2", names[n], pre_merges, 2);
        CHECK_MSG(t != NULL, "%s", ox_error_text());
        for (int length = LONG - 2; length <= LONG; length++) {
            /* "12" is 256 and "123" is 257; a group that begins elsewhere in "123" has no merges but "12" */
            const int first = length % 3;
            const int64_t count = ox_tokenizer_encode(t, text, length, NULL, ids, LONG);
            const int64_t groups = length / 3;
            const int64_t expected = first == 0 ? groups : first == 1 ? 1 + 3 * groups : 1 + 2 * groups;
            CHECK_MSG(count == expected, "%s, %d digits: %d ids, not %d, %s", names[n], length, (int)count,
                      (int)expected, ox_error_text());
        }
        ox_tokenizer_close(t);
    }
    free(text);
    free(ids);
}

/* Bytes that are no character are U+FFFD each, too long forms as well. */
static void test_bytes(void) {
    ox_tokenizer *t = open_bpe("gpt2", "qwen2", pre_merges, 2);
    expect(t, "a\xff", "97 239 191 189");
    expect(t, "\xc1\x80", "239 191 189 239 191 189");
    expect(t, "\xed\xa0\x80", "237 160 128");
    expect(t, "\xf4\x90\x80\x80", "239 191 189 239 191 189 239 191 189 239 191 189");
    ox_tokenizer_close(t);
}

static void test_composed(void) {
    static const char *const merges[] = {"a B"};
    ox_tokenizer *t = open_bpe("gpt2", "qwen2", merges, 1);
    expect(t, "e\xcc\x81", "101 204 129");
    ox_tokenizer_close(t);
    composed = 1;
    t = open_bpe("gpt2", "qwen2", merges, 1);
    composed = 0;
    expect(t, "e\xcc\x81", "195 169");
    ox_tokenizer_close(t);
}

/* Words of BERT stay apart where an unknown one between them reads as nothing. */
static void test_bert(void) {
    static const entry rest[] = {{"[PAD]", 0, 3}, {"[UNK]", 0, 3}, {"[CLS]", 0, 3}, {"[SEP]", 0, 3},
                                 {"\xe2\x96\x81" "a", 0, 1}, {"b", 0, 1}, {"\xe2\x96\x81" "b", 0, 1}};
    static const int32_t ids[] = {4, 1, 6, 5};
    static const char *const keys[] = {"unknown", "cls", "seperator", "padding"};
    static const uint32_t values[] = {1, 2, 3, 0};
    gguf_make g;
    char text[32], key[64];
    put_entries(&g, "bert", NULL, 0, 0, rest, 7);
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", keys[i]);
        gguf_u32(&g, key, values[i]);
    }
    gguf_u32(&g, "tokenizer.ggml.bos_token_id", 2);
    ox_tokenizer *t = open_made(&g);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    ox_tokenizer_decode(t, ids, 4, text, sizeof text);
    CHECK_MSG(strcmp(text, "a bb") == 0, "%s", text);
    expect(t, "a\xe0\xa2\x97", "2 1 3"); /* a mark of Unicode 16 stays */
    expect(t, "a\xcc\x81", "2 4 3");
    ox_tokenizer_close(t);
}

/* White space is left out; cases go unless the pre-tokenizer has this name as well. */
static void test_whitespace(void) {
    static const char *const merges[] = {"a b", "1 2"};
    ox_tokenizer *t = open_bpe("whitespace", "gpt-2", merges, 2);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    expect(t, " AB  ab\n12", "256 256 257");
    ox_tokenizer_close(t);
    t = open_bpe("whitespace", "whitespace", merges, 2);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    expect(t, " A ab", "65 256");
    ox_tokenizer_close(t);
}

int main(void) {
    const size_t before = ox_memory_get_stats().bytes_in_use;
    test_plamo();
    test_rwkv();
    test_unigram();
    test_unigram_bytes();
    test_pre();
    test_digits();
    test_bytes();
    test_rules();
    test_composed();
    test_bert();
    test_whitespace();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    return check_done("tokenizer_gguf");
}
