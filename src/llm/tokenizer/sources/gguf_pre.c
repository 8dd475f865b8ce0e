/* The names of tokenizer.ggml.pre: how byte-level BPE of that name splits a text, and its other habits.
 * Each pattern splits what those before it made. They split as llama.cpp does, whose files these are: where
 * models' own tokenizers tell capitals from small letters, it does so for ASCII alone or not at all; its \d,
 * \b and contractions are of ASCII, and white space beyond ASCII is in no range of characters.
 * source llama.cpp, src/llama-vocab.cpp and src/unicode.cpp */

enum {
    OXI_PRE_IGNORE_MERGES = 1, /* a word that is a token needs no merging */
    OXI_PRE_BOS = 2,           /* BOS is added where the file does not say */
    OXI_PRE_RAW = 4,           /* characters, not bytes; bytes are "<0x..>" tokens */
    OXI_PRE_ESCAPE = 8,        /* spaces are U+2581 */
    OXI_PRE_NEWLINES = 16,     /* a word of newlines that is a token needs no merging */
    OXI_PRE_NO_BOS = 32        /* there is no BOS where the file names none */
};

enum { OXI_PRE_PATTERNS = 6 };

#define OXI_PATTERN_GPT2 \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/* Contractions: ASCII letters alone. */
#define OXI_PATTERN_ENDINGS "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
#define OXI_PATTERN_WORD "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define OXI_PATTERN_SIGNS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define OXI_PATTERN_SIGNS_AND_SLASH " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
#define OXI_PATTERN_SPACES "\\s+(?!\\S)|\\s+"
#define OXI_PATTERN_LINES_AND_SPACES "\\s*[\\r\\n]+|" OXI_PATTERN_SPACES
#define OXI_PATTERN_LLAMA3                                                                            \
    OXI_PATTERN_ENDINGS "|" OXI_PATTERN_WORD "|\\p{N}{1,3}|" OXI_PATTERN_SIGNS "|" \
    OXI_PATTERN_LINES_AND_SPACES
#define OXI_PATTERN_QWEN2                                                                        \
    OXI_PATTERN_ENDINGS "|" OXI_PATTERN_WORD "|\\p{N}|" OXI_PATTERN_SIGNS "|" \
    OXI_PATTERN_LINES_AND_SPACES
#define OXI_PATTERN_DEEPSEEK3 \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[" \
    "\\p{P}\\p{S}]+[\\r\\n]*|" OXI_PATTERN_LINES_AND_SPACES
/* Words whose capitals come first, then the others; of `letters`, of which ASCII alone has cases. */
#define OXI_PATTERN_CASED(letters, endings)                                                           \
    "[^\\r\\n\\p{L}\\p{N}]?[" letters "&&[^a-z]]*[" letters "&&[^A-Z]]+" endings                     \
    "|[^\\r\\n\\p{L}\\p{N}]?[" letters "&&[^a-z]]+[" letters "&&[^A-Z]]*" endings
/* Digits by threes from their end on; what stands before them belongs to the first ones. */
#define OXI_PATTERN_THREES "(?<![^\\p{N}])[^\\p{N}]*\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))"
#define OXI_CHARS_HAN \
    "\\x{3400}-\\x{4DBF}\\x{4E00}-\\x{9FFF}\\x{F900}-\\x{FAFF}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2EBEF}" \
    "\\x{2F800}-\\x{2FA1F}"
#define OXI_PATTERN_KANA_AND_HAN \
    "[\344\270\200-\351\276\245\343\201\200-\343\202\237\343\202\240-\343\203\277]+"
/* U+4E00 to U+9FA5, U+0800 to U+4E00, U+AC00 to U+D7FF. */
#define OXI_PATTERN_EASTERN \
    "[\344\270\200-\351\276\245\340\240\200-\344\270\200\352\260\200-\355\237\277&&[^\\s]]+"
#define OXI_PATTERN_BLOOM \
    " ?[^(\\s|.,!?\342\200\246\343\200\202\357\274\214\343\200\201\340\245\244\333\224\330\214)]+"
#define OXI_PATTERN_LINES "[^\\n]+|[\\n]+"

typedef struct oxi_pre_row {
    const char *names; /* with a space between */
    unsigned flags;
    const char *patterns[OXI_PRE_PATTERNS]; /* NULL = no more */
} oxi_pre_row;

static const oxi_pre_row oxi_pre_rows[] = {
    {"default",
     0,
     {"[\\p{P}\\$\\+<=>\\^~\\|]+",
      OXI_PATTERN_GPT2,
      "\\p{N}+",
      "[0-9][0-9][0-9]", NULL, NULL}},
    {"minicpm5",
     OXI_PRE_IGNORE_MERGES,
     {"\\p{N}{1,3}",
      OXI_PATTERN_ENDINGS "|" OXI_PATTERN_WORD "|\\p{N}+|" OXI_PATTERN_SIGNS "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL}},
    {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     OXI_PRE_IGNORE_MERGES | OXI_PRE_BOS,
     {OXI_PATTERN_LLAMA3, NULL, NULL, NULL, NULL, NULL}},
    {"deepseek-llm",
     0,
     {"[\\r\\n]",
      "\\s?[A-Za-z\302\265\303\200-\303\226\303\230-\303\266\303\270-\306\272\306\274-\306\277\307\204-\312"
      "\223\312\225-\312\257\315\260-\315\263\315\266\315\267\315\273-\315\275\315\277\316\206\316\210-\316"
      "\212\316\214\316\216-\316\241\316\243-\317\265\317\267-\322\201\322\212-\324\257\324\261-\325\226"
      "\341\202\240-\341\203\205\341\216\240-\341\217\265\341\217\270-\341\217\275\341\262\220-\341\262\272"
      "\341\262\275-\341\262\277\341\264\200-\341\264\253\341\265\253-\341\265\267\341\265\271-\341\266\232"
      "\341\270\200-\341\274\225\341\274\230-\341\274\235\341\274\240-\341\275\205\341\275\210-\341\275\215"
      "\341\275\220-\341\275\227\341\275\231\341\275\233\341\275\235\341\275\237-\\x{1F7D}\341\276\200-\341"
      "\276\264\341\276\266-\341\276\274\\x{1FBE}\341\277\202-\341\277\204\341\277\206-\341\277\214\341"
      "\277\220-\\x{1FD3}\341\277\226-\\x{1FDB}\341\277\240-\341\277\254\341\277\262-\341\277\264\341\277"
      "\266-"
      "\341\277\274\342\204\202\342\204\207\342\204\212-\342\204\223\342\204\225\342\204\231-\342\204\235"
      "\342\204\244\\x{2126}\342\204\250\\x{212A}-\342\204\255\342\204\257-\342\204\264\342\204\271\342"
      "\204\274-\342"
      "\204\277\342\205\205-\342\205\211\342\205\216\342\206\203\342\206\204\342\260\200-\342\261\273\342"
      "\261\276-\342\263\244\342\263\253-\342\263\256\342\263\262\342\263\263\352\231\200-\352\231\255\352"
      "\232\200-\352\232\233\352\234\242-\352\235\257\352\235\261-\352\236\207\352\236\213-\352\236\216\352"
      "\255\260-\352\256\277\357\254\200-\357\254\206\357\254\223-\357\254\227\357\274\241-\357\274\272\357"
      "\275\201-\357\275\232\360\220\220\200-\360\220\221\217\360\220\222\260-\360\220\223\223\360\220\223"
      "\230-\360\220\223\273\360\220\262\200-\360\220\262\262\360\220\263\200-\360\220\263\262\360\221\242"
      "\240-\360\221\243\237\360\236\244\200-\360\236\245\203]+",
      "\\s?[!-/:-~\357\274\201-\357\274\217\357\274\232-\357\275\236\342\200\230-\342\200\237\343\200\201-"
      "\343\200\202]+",
      "\\s+$",
      OXI_PATTERN_EASTERN,
      "\\p{N}+"}},
    {"deepseek-coder",
     0,
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", OXI_PATTERN_EASTERN, "\\p{N}", NULL}},
    {"deepseek-v3 hunyuan-dense hy_v4 joyai-llm",
     0,
     {"\\p{N}{1,3}",
      OXI_PATTERN_KANA_AND_HAN,
      OXI_PATTERN_DEEPSEEK3, NULL, NULL, NULL}},
    {"spark2_5",
     0,
     {"\\p{N}{1,3}",
      OXI_PATTERN_KANA_AND_HAN,
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?"
      "[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+",
      "\\p{N}", NULL, NULL}},
    {"youtu",
     OXI_PRE_IGNORE_MERGES,
     {"[\352\260\200-\355\236\243\343\204\261-\343\206\216]+|[\357\274\201\342\200\246\342\200\234\342\200"
      "\235\342\200\230\342\200\231\342\200\224\357\274\232\357\274\233\357\274\214\343\200\201-\343\200"
      "\277\357\270\260-\357\271\217]+|[\343\204\205-\343\204\257]+|[\344\270\200-\351\276\245\343\201\200-"
      "\343\202\237\343\202\240-\343\203\277]+",
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+(?:" OXI_PATTERN_ENDINGS ")?|\\p{N}|"
      OXI_PATTERN_SIGNS_AND_SLASH
      "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL}},
    {"falcon",
     0,
     {"[\\p{P}\\$\\+<=>\\^~\\|`]+",
      OXI_PATTERN_GPT2,
      "[0-9][0-9][0-9]", NULL, NULL, NULL}},
    {"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
     0,
     {"\\p{N}",
      OXI_PATTERN_GPT2, NULL, NULL, NULL, NULL}},
    {"gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert mpt olmo jais e"
     "xaone4 trillion granite-docling jina-v1-en jina-v2-code roberta-bpe",
     0,
     {OXI_PATTERN_GPT2, NULL, NULL, NULL, NULL, NULL}},
    {"jais-2",
     0,
     {OXI_PATTERN_ENDINGS "|" OXI_PATTERN_WORD "|\\p{N}{1,3}|" OXI_PATTERN_SIGNS "|\\s*[\\r\\n]+|"
      "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|"
      "\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}",
      NULL, NULL, NULL, NULL, NULL}},
    {"gemma4 granite-embed-multi-311m",
     OXI_PRE_RAW | OXI_PRE_ESCAPE | OXI_PRE_NEWLINES | OXI_PRE_BOS,
     {OXI_PATTERN_LINES, NULL, NULL, NULL, NULL, NULL}},
    {"sarvam-moe mmbert",
     OXI_PRE_RAW | OXI_PRE_ESCAPE,
     {OXI_PATTERN_LINES, NULL, NULL, NULL, NULL, NULL}},
    {"qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2",
     0,
     {OXI_PATTERN_QWEN2, NULL, NULL, NULL, NULL, NULL}},
    {"qwen35",
     0,
     {OXI_PATTERN_ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
      " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|"
      OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"dbrx smaug-bpe",
     0,
     {OXI_PATTERN_LLAMA3, NULL, NULL, NULL, NULL, NULL}},
    {"chatglm-bpe glm4 glm5",
     OXI_PRE_NO_BOS,
     {OXI_PATTERN_LLAMA3, NULL, NULL, NULL, NULL, NULL}},
    {"poro-chat bloom gpt3-finnish",
     0,
     {OXI_PATTERN_BLOOM, NULL, NULL, NULL, NULL, NULL}},
    {"viking",
     0,
     {OXI_PATTERN_BLOOM,
      "\\p{N}", NULL, NULL, NULL, NULL}},
    {"tekken",
     OXI_PRE_IGNORE_MERGES | OXI_PRE_BOS,
     {OXI_PATTERN_CASED("\\p{L}", "") "|\\p{N}|" OXI_PATTERN_SIGNS_AND_SLASH "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"exaone-moe",
     0,
     {OXI_PATTERN_ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?"
      "[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|" OXI_PATTERN_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"chameleon",
     OXI_PRE_BOS,
     {"<sentinel:[0-9]+>",
      "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
      "([\\t\\n]|    |  )",
      "\\p{N}",
      "[\\p{P}!-/:-@\\[-`{-~]",
      OXI_PATTERN_GPT2}},
    {"gpt-4o llama4 kanana2 talkie minimax-m2",
     0,
     {OXI_PATTERN_CASED("\\p{L}", "(?:" OXI_PATTERN_ENDINGS ")?") "|\\p{N}{1,3}|"
      OXI_PATTERN_SIGNS_AND_SLASH
      "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"granite-embed-multi-97m",
     OXI_PRE_IGNORE_MERGES,
     {OXI_PATTERN_CASED("\\p{L}\\p{M}", "(?:" OXI_PATTERN_ENDINGS ")?") "|\\p{N}{1,3}|"
      OXI_PATTERN_SIGNS_AND_SLASH "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"tiny_aya cohere2moe",
     0,
     {OXI_PATTERN_THREES,
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+(?:" OXI_PATTERN_ENDINGS ")?|\\p{N}{1,3}|"
      OXI_PATTERN_SIGNS_AND_SLASH "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL}},
    {"superbpe",
     0,
     {"\\p{N}+", "(?=([0-9]{3})+(?![0-9]))", NULL, NULL, NULL, NULL}},
    {"bailingmoe bailingmoe2 llada-moe",
     0,
     {"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|" OXI_PATTERN_WORD "|\\p{N}|" OXI_PATTERN_SIGNS
      "|\\s*[\\r\\n]|" OXI_PATTERN_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"seed-coder",
     0,
     {OXI_PATTERN_ENDINGS "|" OXI_PATTERN_WORD "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|"
      OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"kimi-k2",
     0,
     {"[" OXI_CHARS_HAN "]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}&&[^" OXI_CHARS_HAN "]]+(?:"
      OXI_PATTERN_ENDINGS ")?|\\p{N}{1,3}|"
      OXI_PATTERN_SIGNS "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"ufakzeka",
     0,
     {OXI_PATTERN_WORD "|\\p{N}|" OXI_PATTERN_SIGNS "|" OXI_PATTERN_LINES_AND_SPACES, NULL, NULL, NULL, NULL,
      NULL}},
    {"k2-horizon",
     0,
     {OXI_PATTERN_ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}\\x{200C}\\x{200D}]+|\\p{N}{1,3}|"
      OXI_PATTERN_SIGNS
      "|" OXI_PATTERN_LINES_AND_SPACES,
      NULL, NULL, NULL, NULL, NULL}},
    {"afmoe",
     0,
     {OXI_PATTERN_THREES,
      "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{8C48}-\\x{FAFF}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}"
      "\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{0E40}-\\x{0E7F}\\x{0E80}-\\x{0EFF}\\x{1780}-\\x{17FF}"
      "\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+",
      OXI_PATTERN_DEEPSEEK3, NULL, NULL, NULL}},
    {"whitespace",
     OXI_PRE_RAW,
     {"\\S+", NULL, NULL, NULL, NULL, NULL}},
    {"laguna",
     0,
     {OXI_PATTERN_LINES,
      OXI_PATTERN_QWEN2, NULL, NULL, NULL, NULL}},
};

/* NULL = not known. */
static const oxi_pre_row *oxi_pre_row_of(const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof oxi_pre_rows / sizeof *oxi_pre_rows && length; i++) {
        for (const char *at = oxi_pre_rows[i].names; (at = strstr(at, name)) != NULL; at += length) {
            const bool begins = at == oxi_pre_rows[i].names || at[-1] == ' ';
            if (begins && (at[length] == ' ' || at[length] == 0)) return &oxi_pre_rows[i];
        }
    }
    return NULL;
}
