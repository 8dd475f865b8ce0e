/* test_tokenizer_table.c - small tokenizers of a tokenizer.json each, with the ids, the places (in bytes) and
 * the decoded text that Hugging Face's tokenizers 0.23 gives. Bytes of a prefix that lead beyond
 * the text are the one exception: their places are its end.
 */
#include "oxtorch_llm.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *json, *text, *expected, *decoded; /* expected: id:start-end */
} row;

/* clang-format off */
static const row rows[] = {
    /* normal forms */
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\314\201\314\243",
     "0:0-1 0:3-5",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\314\201\314\243",
     "0:0-1 0:1-3 0:3-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\314\201\314\243",
     "0:0-1 0:3-5",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\314\201\314\243",
     "0:0-1 0:1-3 0:3-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\303\251",
     "0:0-2",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\303\251",
     "0:0-2 0:0-2",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\303\251",
     "0:0-2",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\303\251",
     "0:0-2 0:0-2",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "o\314\243\314\210\314\202x",
     "0:0-1 0:3-5 0:5-7 0:7-8",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "o\314\243\314\210\314\202x",
     "0:0-1 0:1-3 0:3-5 0:5-7 0:7-8",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "o\314\243\314\210\314\202x",
     "0:0-1 0:3-5 0:5-7 0:7-8",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "o\314\243\314\210\314\202x",
     "0:0-1 0:1-3 0:3-5 0:5-7 0:7-8",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\341\204\200\341\205\241\341\206\250\352\260\200",
     "0:0-3 0:9-12",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\341\204\200\341\205\241\341\206\250\352\260\200",
     "0:0-3 0:3-6 0:6-9 0:9-12 0:9-12",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\341\204\200\341\205\241\341\206\250\352\260\200",
     "0:0-3 0:9-12",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\341\204\200\341\205\241\341\206\250\352\260\200",
     "0:0-3 0:3-6 0:6-9 0:9-12 0:9-12",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "O\315\204",
     "0:0-1 0:1-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "O\315\204",
     "0:0-1 0:1-3 0:1-3",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "O\315\204",
     "0:0-1 0:1-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "O\315\204",
     "0:0-1 0:1-3 0:1-3",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\337\275\314\226",
     "0:0-1 0:1-3 0:3-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\337\275\314\226",
     "0:0-1 0:1-3 0:3-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\337\275\314\226",
     "0:0-1 0:1-3 0:3-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\337\275\314\226",
     "0:0-1 0:1-3 0:3-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\342\221\240\357\254\201",
     "0:0-3 0:3-6",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\342\221\240\357\254\201",
     "0:0-3 0:3-6",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\342\221\240\357\254\201",
     "0:0-3 0:3-6 0:3-6",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\342\221\240\357\254\201",
     "0:0-3 0:3-6 0:3-6",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\316\220b",
     "0:0-2 0:2-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\316\220b",
     "0:0-2 0:0-2 0:0-2 0:2-3",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\316\220b",
     "0:0-2 0:2-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\316\220b",
     "0:0-2 0:0-2 0:0-2 0:2-3",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\357\267\272",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processo"
     "r\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\357\267\272",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\357\267\272",
     "0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3"
     " 0:0-3 0:0-3",
     "\077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_process"
     "or\":null,\"decoder\":null,\"added_tokens\":[]}",
     "\357\267\272",
     "0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3 0:0-3"
     " 0:0-3 0:0-3",
     "\077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077 \077"},
    /* lower case */
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"\352\237\217\":0,\"\352\237\223\":1,\"\360\226\273"
     "\200\":2,\"i\":3,\"\314\207\":4},\"merges\":[]},\"normalizer\":{\"type\":\"Lowercase\"},\"pre_t"
     "okenizer\":{\"type\":\"FixedLength\",\"length\":1},\"post_processor\":null,\"decoder\":null,\"a"
     "dded_tokens\":[]}",
     "\352\237\216\352\237\222\360\226\272\245\304\260",
     "0:0-3 1:3-6 2:6-10 3:10-12 4:10-12",
     "\352\237\217 \352\237\223 \360\226\273\200 i \314\207"},
    /* white space of places */
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0,\" a\":1,\"\342\200\203b\342\200\203\""
     ":2,\"\342\200\250\":3},\"unk_token\":\"\077\"},\"normalizer\":null,\"pre_tokenizer\":{\"type\":"
     "\"Split\",\"pattern\":{\"Regex\":\"\\\\s\\\\w\\\\s\077|\\\\s\"},\"behavior\":\"Isolated\",\"inv"
     "ert\":false},\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"\077\",0],\"cls\":["
     "\"\077\",0],\"trim_offsets\":true,\"add_prefix_space\":false},\"decoder\":null,\"added_tokens\""
     ":[]}",
     " a\342\200\203b\342\200\203\342\200\250x ",
     "0:0-5 0:5-6 0:6-9 0:9-14",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0,\" a\":1,\"\342\200\203b\342\200\203\""
     ":2,\"\342\200\250\":3},\"unk_token\":\"\077\"},\"normalizer\":null,\"pre_tokenizer\":{\"type\":"
     "\"Split\",\"pattern\":{\"Regex\":\"\\\\s\\\\w\"},\"behavior\":\"Isolated\",\"invert\":false},\""
     "post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_"
     "regex\":true},\"decoder\":null,\"added_tokens\":[]}",
     " a a",
     "1:0-2 1:3-4",
     " a  a"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":null,\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\""
     "\077\",0],\"cls\":[\"\077\",0],\"trim_offsets\":true,\"add_prefix_space\":false},\"decoder\":nu"
     "ll,\"added_tokens\":[{\"id\":1,\"content\":\"<m>\",\"single_word\":false,\"lstrip\":true,\"rstr"
     "ip\":true,\"normalized\":false,\"special\":true}]}",
     "a   <m>  b",
     "0:0-1 1:4-7 0:9-10",
     "\077 \077"},
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"\077\",0],[\"x\",-1],[\"y\",-1]],\""
     "byte_fallback\":false},\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":{\"type\":"
     "\"RobertaProcessing\",\"sep\":[\"\077\",0],\"cls\":[\"\077\",0],\"trim_offsets\":true,\"add_pre"
     "fix_space\":false},\"decoder\":null,\"added_tokens\":[]}",
     "x\342\200\203y",
     "1:0-1 0:4-4 2:4-5",
     "x \077 y"},
    /* places of BPE */
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]},\"normalizer\":null,\"p"
     "re_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "axb",
     "0:0-1 1:1-2",
     "a b"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"\077\":2},\"merges\":[],\"unk_token\""
     ":\"\077\"},\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,"
     "\"added_tokens\":[]}",
     "axxb",
     "0:0-1 2:1-2 2:2-3 1:3-4",
     "a \077 \077 b"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"\077\":2},\"merges\":[],\"unk_token\""
     ":\"\077\",\"fuse_unk\":true},\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null"
     ",\"decoder\":null,\"added_tokens\":[]}",
     "axxb",
     "0:0-1 2:1-3 1:3-4",
     "a \077 b"},
    /* bytes of a prefix */
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"##b\":1,\"<0x23>\":2,\"<0xC3>\":3,\"<0xA9>\":"
     "4},\"merges\":[],\"byte_fallback\":true,\"continuing_subword_prefix\":\"##\"},\"normalizer\":nu"
     "ll,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "ab\303\251",
     "0:0-1 1:1-2 2:2-4 2:2-4 3:4-4 4:4-4",
     "a ##b <0x23> <0x23> <0xC3> <0xA9>"},
    /* places of BPE */
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"a</w>\":1,\"b</w>\":2,\"ab</w>\":3},\"merges"
     "\":[\"a b</w>\"],\"end_of_word_suffix\":\"</w>\"},\"normalizer\":null,\"pre_tokenizer\":null,\""
     "post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aab",
     "0:0-1 3:1-3",
     "a ab</w>"},
    /* markers */
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[{\"id"
     "\":1,\"content\":\"foo\",\"single_word\":false,\"lstrip\":false,\"rstrip\":true,\"normalized\":"
     "false,\"special\":false},{\"id\":2,\"content\":\"  \",\"single_word\":false,\"lstrip\":true,\"r"
     "strip\":true,\"normalized\":false,\"special\":false}]}",
     "foo    x",
     "1:0-7 0:7-8",
     "foo \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[{\"id"
     "\":1,\"content\":\"foo\",\"single_word\":false,\"lstrip\":false,\"rstrip\":true,\"normalized\":"
     "false,\"special\":false},{\"id\":2,\"content\":\"  \",\"single_word\":false,\"lstrip\":false,\""
     "rstrip\":false,\"normalized\":false,\"special\":false}]}",
     "foo    x",
     "1:0-7 2:3-5 2:5-7 0:7-8",
     "foo       \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[{\"id"
     "\":1,\"content\":\"\\n\\n\",\"single_word\":false,\"lstrip\":false,\"rstrip\":true,\"normalized"
     "\":false,\"special\":false}]}",
     "\012\012\012\012\012\012\012x",
     "1:0-7 1:2-7 1:4-7 0:7-8",
     "\012\012 \012\012 \012\012 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[{\"id"
     "\":1,\"content\":\"b\",\"single_word\":true,\"lstrip\":false,\"rstrip\":false,\"normalized\":fa"
     "lse,\"special\":false},{\"id\":2,\"content\":\"a\",\"single_word\":true,\"lstrip\":true,\"rstri"
     "p\":false,\"normalized\":false,\"special\":false}]}",
     "a b ab",
     "2:0-1 0:1-2 1:2-3 0:3-6",
     "a \077 b \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"Lowercase\"},\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"a"
     "dded_tokens\":[{\"id\":1,\"content\":\"AbC\",\"single_word\":false,\"lstrip\":false,\"rstrip\":"
     "false,\"normalized\":true,\"special\":false},{\"id\":2,\"content\":\"x\",\"single_word\":false,"
     "\"lstrip\":false,\"rstrip\":false,\"normalized\":true,\"special\":true}]}",
     "xABC abc",
     "2:0-1 1:1-4 0:4-5 1:5-8",
     "abc \077 abc"},
    /* markers read as they are normalized */
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"1\":0},\"merges\":[]},\"normalizer\":{\"type\":\"NFKD"
     "\"},\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[{\"id\":1"
     ",\"content\":\"\302\275\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized"
     "\":true,\"special\":true}]}",
     "\302\275 \302\275",
     "1:0-2 1:3-5",
     "1\342\201\2042 1\342\201\2042"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"_\"},\"pre_tokenizer\":nu"
     "ll,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[{\"id\":1,\"content\":\" b\",\"si"
     "ngle_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":true,\"special\":false}]}",
     "a  b",
     "0:0-2 1:2-4",
     "\077 _b"},
    /* scores */
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"\077\",0],[\"a\",-2.119090185904134"
     "2],[\"aa\",-4.238180371808269],[\"aaa\",-6.357270557712403]],\"byte_fallback\":false},\"normali"
     "zer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aaaaaaa",
     "1:0-1 3:1-4 3:4-7",
     "a aaa aaa"},
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"\077\",0],[\"a\",-1.1],[\"aa\",-2.2"
     "],[\"aaa\",-3.3000000000000003],[\"b\",-0.1]],\"byte_fallback\":false},\"normalizer\":null,\"pr"
     "e_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aaaaaab",
     "2:0-2 3:2-5 1:5-6 4:6-7",
     "aa aaa a b"},
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"\077\",0],[\"a\",-0.248598141673130"
     "55],[\"b\",-1.4402076101156611],[\"ab\",-1.6888057517887918]],\"byte_fallback\":false},\"normal"
     "izer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]"
     "}",
     "ab",
     "3:0-2",
     "ab"},
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"\077\",0],[\"a\",-0.482932728783703"
     "3],[\"b\",-1.3572095595417575],[\"ab\",-1.840142288325461]],\"byte_fallback\":false},\"normaliz"
     "er\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "ab",
     "3:0-2",
     "ab"},
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"\077\",0],[\"a\",-1.392059347631452"
     "7],[\"b\",-1.4313692274742873],[\"ab\",-2.82342857510574]],\"byte_fallback\":false},\"normalize"
     "r\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "ab",
     "3:0-2",
     "ab"},
    /* patterns */
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a{1,2}+b\"},\"behavior\""
     ":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aaab",
     "0:0-4",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a{2}\077b\"},\"behavior"
     "\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aaabb",
     "0:0-1 0:1-4 0:4-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077:ab)++c\"},\"behavi"
     "or\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":["
     "]}",
     "ababc",
     "0:0-5",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077>a+)b\"},\"behavior"
     "\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aab",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077>a|ab)c\"},\"behavi"
     "or\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":["
     "]}",
     "abc",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\077+a\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aa",
     "0:0-2",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[ab]*+b\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "abab",
     "0:0-4",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077<=ab|c)d\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "abdcd",
     "0:0-2 0:2-3 0:3-4 0:4-5",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077<!ab|c)d\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "abdxd",
     "0:0-4 0:4-5",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077<=^|\\\\s)a\"},\"be"
     "havior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens"
     "\":[]}",
     "a aa",
     "0:0-1 0:1-2 0:2-3 0:3-4",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077<=a{2})b\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "aabab",
     "0:0-2 0:2-3 0:3-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077<=\\\\p{L}\\\\p{M})"
     "x\"},\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"add"
     "ed_tokens\":[]}",
     "e\314\201x",
     "0:0-3 0:3-4",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"^a\"},\"behavior\":\"Iso"
     "lated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\012a",
     "0:0-1 0:1-2 0:2-3",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a$\"},\"behavior\":\"Iso"
     "lated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\012a",
     "0:0-1 0:1-2 0:2-3",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\Aa\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\012a",
     "0:0-1 0:1-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\\\\Z\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\012a\012",
     "0:0-2 0:2-3 0:3-4",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\\\\z\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\012a",
     "0:0-2 0:2-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077m:a.b)\"},\"behavio"
     "r\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]"
     "}",
     "a\012b",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a.b\"},\"behavior\":\"Is"
     "olated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\012b",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077x) a  b # c\"},\"be"
     "havior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens"
     "\":[]}",
     "xab",
     "0:0-1 0:1-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077i)a(\077-i:b)\"},\""
     "behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_toke"
     "ns\":[]}",
     "ABAb",
     "0:0-2 0:2-4",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077#x)a\"},\"behavior"
     "\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "xa",
     "0:0-1 0:1-2",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077<n>a)b\"},\"behavio"
     "r\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]"
     "}",
     "ab",
     "0:0-2",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\R\"},\"behavior\":\""
     "Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\015\012b\012",
     "0:0-1 0:1-3 0:3-4 0:4-5",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\h+\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "xfF0g",
     "0:0-1 0:1-4 0:4-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\N+\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "ab\012c",
     "0:0-2 0:2-3 0:3-4",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a**\"},\"behavior\":\"Is"
     "olated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aab",
     "0:0-2 0:2-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077:a*)*\"},\"behavior"
     "\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aab",
     "0:0-2 0:2-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077:a+)\077b\"},\"beha"
     "vior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\""
     ":[]}",
     "aab",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{lu}+\"},\"behavior"
     "\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "aBC",
     "0:0-1 0:1-3",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Uppercase_Letter}"
     "\"},\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"adde"
     "d_tokens\":[]}",
     "aB",
     "0:0-1 0:1-2",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Cyrillic}+\"},\"be"
     "havior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens"
     "\":[]}",
     "a\320\261\320\262c",
     "0:0-1 0:1-5 0:5-6",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Greek}|\\\\p{Arabi"
     "c}\"},\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"ad"
     "ded_tokens\":[]}",
     "\316\261\330\247b",
     "0:0-2 0:2-4 0:4-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{White_Space}\"},\""
     "behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_toke"
     "ns\":[]}",
     "a\342\200\203b",
     "0:0-1 0:1-4 0:4-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[:punct:]]+\"},\"behavi"
     "or\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":["
     "]}",
     "a$!\342\202\254b",
     "0:0-1 0:1-6 0:6-7",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Punct}+\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "a$!b",
     "0:0-2 0:2-3 0:3-4",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[:alpha:]]+\"},\"behavi"
     "or\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":["
     "]}",
     "\340\246\250\340\247\215\342\223\220\342\205\240!",
     "0:0-3 0:3-6 0:6-12 0:12-13",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[:upper:]]+\"},\"behavi"
     "or\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":["
     "]}",
     "aB\342\205\240c",
     "0:0-1 0:1-5 0:5-6",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[:word:]]+\"},\"behavio"
     "r\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]"
     "}",
     "a_\302\262",
     "0:0-2 0:2-4",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\w+\"},\"behavior\":"
     "\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a_\302\262",
     "0:0-4",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[:xdigit:]]+\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "xyafg",
     "0:0-2 0:2-4 0:4-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[:^alpha:]]+\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "a12b",
     "0:0-1 0:1-3 0:3-4",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077i)\\\\u03c3\"},\"be"
     "havior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens"
     "\":[]}",
     "\316\243\317\202\317\203a",
     "0:0-2 0:2-4 0:4-6 0:6-7",
     "\077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077i)[a-c]+\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "xAbC",
     "0:0-1 0:1-4",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\077i)k\"},\"behavior\""
     ":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "K\342\204\252k",
     "0:0-1 0:1-4 0:4-5",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^[:space:][:punct:]]+\""
     "},\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_"
     "tokens\":[]}",
     "a, b",
     "0:0-1 0:1-3 0:3-4",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Han}{2}\"},\"behav"
     "ior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":"
     "[]}",
     "\344\270\200\344\270\201\344\270\202",
     "0:0-6 0:6-9",
     "\077 \077"},
    /* behaviors */
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Remo"
     "ved\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:2-3 0:4-5",
     "\077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Remo"
     "ved\",\"invert\":true},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-1 0:1-2 0:3-4 0:5-6 0:6-7",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Isol"
     "ated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-1 0:1-2 0:2-3 0:3-4 0:4-5 0:5-6 0:6-7",
     "\077 \077 \077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Isol"
     "ated\",\"invert\":true},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-1 0:1-2 0:2-3 0:3-4 0:4-5 0:5-6 0:6-7",
     "\077 \077 \077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Merg"
     "edWithPrevious\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]"
     "}",
     "--a-b--",
     "0:0-1 0:1-2 0:2-4 0:4-6 0:6-7",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Merg"
     "edWithPrevious\",\"invert\":true},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-1 0:1-3 0:3-5 0:5-6 0:6-7",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Merg"
     "edWithNext\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-1 0:1-3 0:3-5 0:5-6 0:6-7",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Merg"
     "edWithNext\",\"invert\":true},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-1 0:1-2 0:2-4 0:4-6 0:6-7",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Cont"
     "iguous\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-2 0:2-3 0:3-4 0:4-5 0:5-7",
     "\077 \077 \077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-\"},\"behavior\":\"Cont"
     "iguous\",\"invert\":true},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "--a-b--",
     "0:0-2 0:2-3 0:3-4 0:4-5 0:5-7",
     "\077 \077 \077 \077 \077"},
    /* replacing what is decoded */
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0,\"axxa\":1,\"\":2},\"unk_token\":\""
     "\077\"},\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type"
     "\":\"Replace\",\"pattern\":{\"Regex\":\"x*\"},\"content\":\"-\"},\"added_tokens\":[]}",
     "axxa",
     "1:0-4",
     "-a-a-"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0,\"axxa\":1,\"\":2},\"unk_token\":\""
     "\077\"},\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type"
     "\":\"Replace\",\"pattern\":{\"Regex\":\"a|$\"},\"content\":\"-\"},\"added_tokens\":[]}",
     "axxa",
     "1:0-4",
     "-xx-"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0,\"axxa\":1,\"\":2},\"unk_token\":\""
     "\077\"},\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type"
     "\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"-\"},\"added_tokens\":[]}",
     "axxa",
     "1:0-4",
     "-a-x-x-a-"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0,\"axxa\":1,\"\":2},\"unk_token\":\""
     "\077\"},\"normalizer\":null,\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type"
     "\":\"Replace\",\"pattern\":{\"String\":\"xx\"},\"content\":\"-\"},\"added_tokens\":[]}",
     "axxa",
     "1:0-4",
     "a-a"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0,\"axxa\":1,\"\":2},\"unk_token\":\""
     "\077\"},\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"axxa"
     "\"},\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":{\"type\":"
     "\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"\077\"},\"content\":"
     "\"\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x*\"},\"content\":\"-\"}]},\"added_tokens"
     "\":[]}",
     "axxa\077",
     "1:0-4 0:4-5",
     "-a-a-"},
    /* word characters, in brackets and not */
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[\\\\w]+\"},\"behavior\""
     ":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\":[]}",
     "a\302\262b\342\222\266",
     "0:0-1 0:1-3 0:3-7",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^\\\\w\\\\s]+\"},\"beha"
     "vior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\""
     ":[]}",
     "a\302\262\302\271b",
     "0:0-1 0:1-5 0:5-6",
     "\077 \077 \077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\w+|[^\\\\w\\\\s]+\"}"
     ",\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_t"
     "okens\":[]}",
     "@\302\262",
     "0:0-3",
     "\077"},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\077\":0},\"unk_token\":\"\077\"},\"normalizer"
     "\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^\\\\p{Word}]\"},\"beha"
     "vior\":\"Isolated\",\"invert\":false},\"post_processor\":null,\"decoder\":null,\"added_tokens\""
     ":[]}",
     "a\302\275b",
     "0:0-1 0:1-3 0:3-4",
     "\077 \077 \077"},
};
/* clang-format on */

static void check_row(const row *r) {
    ox_tokenizer *t = ox_tokenizer_open_json(r->json, -1, NULL, 0);
    const ox_tokenizer_encode_desc desc = {true, true};
    int32_t ids[64];
    ox_token_place places[64];
    char made[1024] = "", text[256];
    CHECK_MSG(t != NULL, "%s: %s", r->json, ox_error_text());
    if (!t) {
        ox_error_clear();
        return;
    }
    const int64_t count = ox_tokenizer_encode_pair(t, r->text, -1, NULL, 0, &desc, ids, places, 64);
    for (int64_t i = 0; i < count && i < 64; i++)
        snprintf(made + strlen(made), sizeof made - strlen(made), "%s%d:%d-%d", i ? " " : "", (int)ids[i],
                 (int)places[i].start, (int)places[i].end);
    CHECK_MSG(strcmp(made, r->expected) == 0, "%s\nof \"%s\": %s\nnot %s", r->json, r->text, made,
              r->expected);
    ox_tokenizer_decode(t, ids, count, text, sizeof text);
    CHECK_MSG(strcmp(text, r->decoded) == 0, "%s\ndecoded: \"%s\", not \"%s\"", r->json, text, r->decoded);
    ox_tokenizer_close(t);
}

int main(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
    return check_done("tokenizer_table");
}
