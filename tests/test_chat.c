/* test_chat.c - what models said, back into messages: each format by cases, cut at every byte; round trips
 * through the templates of published models (OX_TEST_DATA); hostile text, work and memory.
 * OX_QEMU
 */
#include "oxtorch_llm.h"
#include "check.h"
#include "hook_alloc.h"
#include "chat_cases.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- deltas, put together ------------------------------------------------------------------------------ */

typedef struct collected {
    char content[4096], reasoning[4096], name[32][64], arguments[32][1024], id[32][64];
    int calls, complete;
    bool wrong;
} collected;

static void add(collected *c, char *out, size_t room, ox_string text) {
    const size_t length = strlen(out);
    if (length + (size_t)text.length >= room || memchr(text.data, 0, (size_t)text.length))
        c->wrong = true;
    else {
        memcpy(out + length, text.data, (size_t)text.length);
        out[length + (size_t)text.length] = 0;
    }
}

static void collect(void *user, const ox_llm_reply_delta *delta) {
    collected *c = (collected *)user;
    const int call = (int)delta->call;
    switch (delta->part) {
    case OX_LLM_REPLY_CONTENT: add(c, c->content, sizeof c->content, delta->text); break;
    case OX_LLM_REPLY_REASONING: add(c, c->reasoning, sizeof c->reasoning, delta->text); break;
    case OX_LLM_REPLY_CALL:
        if (call != c->calls || call != c->complete || call >= 32) {
            c->wrong = true;
            return;
        }
        c->calls++;
        c->name[call][0] = c->arguments[call][0] = c->id[call][0] = 0;
        add(c, c->name[call], sizeof c->name[call], delta->text);
        break;
    case OX_LLM_REPLY_ARGUMENTS: add(c, c->arguments[call], sizeof c->arguments[call], delta->text); break;
    case OX_LLM_REPLY_CALL_END:
        c->wrong = c->wrong || call != c->complete++;
        add(c, c->id[call], sizeof c->id[call], delta->text);
        break;
    case OX_LLM_REPLY_WITHDRAWN: c->wrong = c->wrong || call != --c->calls || call != c->complete; break;
    default: c->wrong = true;
    }
}

static bool same(ox_string a, const char *b) {
    return (size_t)a.length == strlen(b) && memcmp(a.data, b, strlen(b)) == 0;
}

/* What came in deltas is what the reply has. */
static bool agrees(const collected *c, const ox_llm_reply *reply) {
    const ox_llm_reply_state state = ox_llm_reply_get(reply);
    bool good = !c->wrong && same(state.content, c->content) && same(state.reasoning, c->reasoning) &&
                state.calls == c->calls && c->complete == c->calls;
    for (int i = 0; i < c->calls && good; i++) {
        const ox_llm_reply_call call = ox_llm_reply_get_call(reply, i);
        good = same(call.name, c->name[i]) && same(call.arguments, c->arguments[i]) &&
               same(call.id, c->id[i]) && call.complete;
    }
    return good;
}

/* ---- cases --------------------------------------------------------------------------------------------- */

/* The text in pieces that end at `cut` (one byte at a time if it is beyond the text). */
static void check_cut(const struct chat_case *c, size_t cut) {
    static collected parts;
    const size_t length = strlen(c->text);
    ox_llm_reply_desc desc;
    memset(&parts, 0, sizeof parts);
    memset(&desc, 0, sizeof desc);
    desc.format = c->format;
    desc.prompt = c->prompt;
    desc.tools = strchr(c->options, 't') ? chat_tools : NULL;
    desc.delta = collect;
    desc.user = &parts;
    ox_llm_reply *reply = ox_llm_reply_open(&desc);
    CHECK_MSG(reply != NULL, "%s: %s", c->format, ox_error_text());
    if (!reply) return;
    for (size_t at = 0; at < length;) {
        const size_t end = cut > length ? at + 1 : at < cut ? cut : length;
        CHECK(ox_llm_reply_feed(reply, c->text + at, (int64_t)(end - at)) == OX_OK);
        CHECK(ox_llm_reply_message(reply, NULL) != NULL);
        at = end;
    }
    CHECK(ox_llm_reply_end(reply) == OX_OK);
    int64_t bytes = 0;
    const char *message = ox_llm_reply_message(reply, &bytes);
    CHECK_MSG(message && strcmp(message, c->message) == 0 && (size_t)bytes == strlen(message),
              "%s, cut at %zu: %s\n  expected %s\n  got      %s", c->format, cut, c->text, c->message,
              message ? message : ox_error_text());
    CHECK_MSG(agrees(&parts, reply), "%s, cut at %zu: deltas: %s", c->format, cut, c->text);
    ox_llm_reply_close(reply);
}

static void test_cases(void) {
    for (size_t i = 0; i < sizeof chat_cases / sizeof *chat_cases; i++)
        for (size_t cut = 0; cut <= strlen(chat_cases[i].text) + 1; cut++) check_cut(&chat_cases[i], cut);
}

/* ---- round trips --------------------------------------------------------------------------------------- */

/* The text of a template over values, NULL with an error. */
static char *render(const char *source, const char *values) {
    ox_llm_template_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.now = 1767323045;
    ox_llm_template *t = ox_llm_template_open(source, -1);
    char *text = t ? ox_llm_template_render(t, values, -1, &desc, NULL) : NULL;
    ox_llm_template_close(t);
    return text;
}

static char *read_file(const char *folder, const char *name) {
    char path[600];
    (void)snprintf(path, sizeof path, "%.300s/templates/%.200s.jinja", folder, name);
    FILE *file = fopen(path, "rb");
    const size_t room = 1 << 18;
    char *text = file ? (char *)malloc(room) : NULL;
    if (text) text[fread(text, 1, room - 1, file)] = 0;
    if (file) (void)fclose(file);
    return text;
}

/* Templates, their formats, and how many of the variants below they must take and give back. */
static const struct trip {
    const char *name, *format;
    int least;
    bool text;       /* its arguments are texts */
    bool alone;      /* content is a turn of its own */
    const char *end; /* of a turn with calls, where one without has another */
} trips[] = {
    {"Apertus-8B-Instruct", "apertus", 4, false, false, NULL},
    {"Bielik-11B-v3.0-Instruct", "hermes", 4, false, false, NULL},
    {"Cohere2MoE", "command-r7b", 4, false, false, NULL},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "command-r7b", 4, false, false, NULL},
    {"GLM-4.7-Flash", "glm", 4, false, false, NULL},
    {"GigaChat3.1-10B-A1.8B", "gigachat", 4, false, false, NULL},
    {"Kimi-K2-Instruct", "kimi-k2", 4, false, false, NULL},
    {"Kimi-K3", "kimi-k3", 4, false, false, NULL},
    {"LFM2.5-8B-A1B", "lfm2", 4, false, false, NULL},
    {"MiMo-VL", "hermes", 4, false, false, NULL},
    {"MiniMax-M2", "minimax-m2", 4, false, false, NULL},
    {"Mistral-Small-3.2-24B-Instruct-2506", "mistral", 4, false, false, NULL},
    {"NVIDIA-Nemotron-Nano-v2", "nemotron-v2", 4, false, true, NULL},
    {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "hermes", 4, false, false, NULL},
    {"Qwen-Qwen2.5-7B-Instruct", "hermes", 4, false, false, NULL},
    {"Qwen3-Coder", "qwen3-coder", 4, false, false, NULL},
    {"Reka-Edge", "hermes", 4, false, false, NULL},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek-r1", 4, true, false, NULL},
    {"deepseek-ai-DeepSeek-V3.1", "deepseek-v3", 4, false, false, NULL},
    {"deepseek-ai-DeepSeek-V4-Flash-0731", "deepseek-dsml", 4, false, false, NULL},
    {"fireworks-ai-llama-3-firefunction-v2", "firefunction-v2", 4, false, false, NULL},
    {"google-gemma-4-31B-it-interleaved", "gemma4", 4, false, false, NULL},
    {"ibm-granite-granite-3.3-2B-Instruct", "granite", 0, false, false, NULL},
    {"ibm-granite-granite-4.1", "hermes", 4, false, false, NULL},
    {"llama-cpp-rwkv-world", "think", 0, false, false, NULL},
    {"meetkai-functionary-medium-v3.2", "functionary-v3.2", 4, true, false, NULL},
    {"meta-llama-Llama-3.2-3B-Instruct", "llama3", 4, false, false, NULL},
    {"microsoft-Phi-3.5-mini-instruct", "plain", 0, false, false, NULL},
    {"mistralai-Mistral-Nemo-Instruct-2407", "mistral-nemo", 4, false, false, NULL},
    {"muse-glimmer", "muse", 4, false, false, NULL},
    {"openbmb-MiniCPM5-1B", "minicpm", 4, false, false, NULL},
    {"poolside-Laguna-XS-2.1", "glm", 4, false, false, NULL},
    {"tencent-Hy3", "hy3", 4, false, false, "<\357\275\234hy_eos:opensource\357\275\234>"},
    {"unsloth-mistral-Devstral-Small-2507", "mistral", 4, false, false, NULL},
};

#define TRIP_TOOLS                                                                                         \
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"Weather.\","         \
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\",\"description\":"   \
    "\"City\"},\"days\":{\"type\":\"integer\",\"description\":\"Days\"},\"code\":{\"type\":\"string\","    \
    "\"description\":\"Code\"}},\"required\":[\"city\"]}}},{\"type\":\"function\",\"function\":{\"name\":" \
    "\"get_time\",\"description\":\"Time.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"zone\":" \
    "{\"type\":\"string\",\"description\":\"Zone\"},\"nested\":{\"type\":\"object\",\"description\":"      \
    "\"Any\"}},\"required\":[\"zone\"]}}}]"

static const char *const trip_arguments[2] = {
    "{\"city\": \"Z\303\274rich 'x' \\\"y\\\" <b>\", \"code\": \"42\", \"days\": 2}",
    "{\"nested\": {\"a\": [1, 2.5, true, null, \"x\"]}, \"zone\": \"Europe/Oslo\"}"};
static const char *const trip_names[2] = {"get_weather", "get_time"};

enum {
    TRIP_TWO = 1,
    TRIP_TEXT = 2,
    TRIP_CONTENT = 4,
    TRIP_NULL = 8,
    TRIP_REASONING = 16,
    TRIP_VARIANTS = 32
};

/* The values of a render: the question and, if it is not NULL, the answer. */
static char *values_of(const char *answer, bool prompt) {
    char *values = (char *)malloc(20000);
    (void)snprintf(values, 20000,
                   "{\"messages\":[{\"role\":\"user\",\"content\":\"Weather?\"}%s%.9000s],\"tools\":%s,"
                   "\"functions\":\"[]\",\"datetime\":\"now\",\"bos_token\":\"<s>\",\"eos_token\":\"</s>\","
                   "\"documents\":null,\"enable_thinking\":true,\"add_generation_prompt\":%s}",
                   answer ? "," : "", answer ? answer : "", TRIP_TOOLS, prompt ? "true" : "false");
    return values;
}

static char *render_answer(const char *source, const char *answer, bool prompt) {
    char *values = values_of(answer, prompt), *text = render(source, values);
    free(values);
    ox_error_clear();
    return text;
}

/* Arguments with their members in one order. */
static char *sorted(const char *arguments, size_t length) {
    char *values = (char *)malloc(length + 16);
    (void)snprintf(values, length + 16, "{\"a\":%.*s}", (int)length, arguments);
    char *text = render("{{ a|tojson(sort_keys=true) }}", values);
    free(values);
    return text;
}

static void make_answer(int variant, char *out, size_t room) {
    char calls[4000] = "";
    for (int i = 0; i < (variant & TRIP_TWO ? 2 : 1); i++) {
        char values[1000], *text;
        (void)snprintf(values, sizeof values, "{\"a\":%s}", trip_arguments[i]);
        text = render(variant & TRIP_TEXT ? "{{ a|tojson|tojson }}" : "{{ a|tojson }}", values);
        (void)snprintf(calls + strlen(calls), sizeof calls - strlen(calls),
                       "%s{\"id\":\"call0000%d\",\"type\":\"function\",\"function\":{\"name\":\"%s\","
                       "\"arguments\":%s}}",
                       i ? "," : "", i, trip_names[i], text);
        ox_llm_template_free(text);
    }
    (void)snprintf(out, room, "{\"role\":\"assistant\",\"content\":%s%s,\"tool_calls\":[%s]}",
                   variant & TRIP_CONTENT ? "\"Let me look.\""
                   : variant & TRIP_NULL  ? "null"
                                          : "\"\"",
                   variant & TRIP_REASONING ? ",\"reasoning_content\":\"I need\\nthe weather.\"" : "", calls);
}

/* Where the assistant's turn begins in `all`: behind the prompt, or behind the last mark that is in both. */
static size_t turn_begins(const char *prompt, const char *all) {
    size_t at = 0;
    while (prompt[at] && prompt[at] == all[at]) at++;
    if (!prompt[at]) return at;
    while (at && !strchr("\n>]", all[at - 1])) at--;
    return at;
}

static void cut_space(char *text) {
    size_t length = strlen(text);
    while (length && (text[length - 1] == '\n' || text[length - 1] == ' ')) text[--length] = 0;
}

/* Takes off what the template puts behind the content of a turn, if it is there. */
static void cut_end(char *turn, char *plain, const char *other) {
    const char *end = plain ? strstr(plain, "QQQQ") : NULL;
    if (!end) return;
    cut_space(plain);
    end = other ? other : end + 4;
    if (*end) cut_space(turn);
    for (bool first = true; *end; end++, first = false) {
        const size_t length = strlen(end), all = strlen(turn);
        const bool mark = (*end == '<' && strncmp(end, "<|sep|>", 7) != 0) || *end == '[';
        if ((first || mark) && length <= all && strcmp(turn + all - length, end) == 0) {
            turn[all - length] = 0;
            return;
        }
    }
}

/* One answer through a template and back. Returns 1 if the template writes its calls. */
static int check_trip(const struct trip *trip, const char *source, int variant) {
    char answer[6000];
    make_answer(variant, answer, sizeof answer);
    char *all = render_answer(source, answer, false), *prompt = render_answer(source, NULL, true);
    char *plain = render_answer(source, "{\"role\":\"assistant\",\"content\":\"QQQQ\"}", false);
    int taken = 0;
    if (all && prompt) {
        const size_t begin = turn_begins(prompt, all);
        char *turn = all + begin;
        prompt[begin] = 0;
        char *whole = (char *)malloc(strlen(all) + 1);
        memcpy(whole, all, strlen(all) + 1);
        cut_end(turn, plain, trip->end);
        const int count = (strstr(turn, trip_names[0]) != NULL) + (strstr(turn, trip_names[1]) != NULL);
        const char *says = strstr(turn, "Let me look.") ? "Let me look."
                           : variant & TRIP_NULL && (strstr(turn, "None<") || strstr(turn, "None\n"))
                               ? "None" /* what templates make of null */
                               : "";
        const bool thinks = strstr(turn, "I need\nthe") != NULL;
        ox_llm_reply_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.source = source;
        desc.prompt = prompt;
        desc.tools = TRIP_TOOLS;
        ox_llm_reply *reply = ox_llm_reply_open(&desc);
        CHECK(ox_llm_reply_feed(reply, turn, -1) == OX_OK && ox_llm_reply_end(reply) == OX_OK);
        const ox_llm_reply_state state = ox_llm_reply_get(reply);
        bool good = state.calls == count && same(state.content, says) &&
                    same(state.reasoning, thinks ? "I need\nthe weather." : "");
        for (int i = 0; i < count && good; i++) {
            const ox_llm_reply_call call = ox_llm_reply_get_call(reply, i);
            char *got = sorted(call.arguments.data, (size_t)call.arguments.length),
                 *wanted = sorted(trip_arguments[i], strlen(trip_arguments[i]));
            good = same(call.name, trip_names[i]) && got && wanted && strcmp(got, wanted) == 0;
            ox_llm_template_free(got);
            ox_llm_template_free(wanted);
        }
        CHECK_MSG(good, "%s, variant %d: %s\n  from %s", trip->name, variant,
                  ox_llm_reply_message(reply, NULL), turn);
        char *again = render_answer(source, ox_llm_reply_message(reply, NULL), false);
        CHECK_MSG(!count || (again && strcmp(again, whole) == 0),
                  "%s, variant %d: rendered again:\n%s\n  first\n%s", trip->name, variant,
                  again ? again + begin : "error", whole + begin);
        taken = count > 0;
        ox_llm_template_free(again);
        ox_llm_reply_close(reply);
        free(whole);
    }
    ox_llm_template_free(plain);
    ox_llm_template_free(prompt);
    ox_llm_template_free(all);
    return taken;
}

static void test_trips(void) {
    const char *folder = getenv("OX_TEST_DATA");
    if (!folder) folder = "../shared/data";
    int read = 0;
    for (size_t i = 0; i < sizeof trips / sizeof *trips; i++) {
        char *source = read_file(folder, trips[i].name);
        int taken = 0;
        if (!source) continue;
        read++;
        CHECK_MSG(strcmp(ox_llm_reply_format_of(source), trips[i].format) == 0, "%s has format %s",
                  trips[i].name, ox_llm_reply_format_of(source));
        for (int variant = 0; variant < TRIP_VARIANTS && trips[i].least; variant++)
            if ((variant & (TRIP_CONTENT | TRIP_NULL)) != (TRIP_CONTENT | TRIP_NULL) &&
                (variant & TRIP_TEXT) == (trips[i].text ? TRIP_TEXT : 0) &&
                !(trips[i].alone && (variant & TRIP_CONTENT)))
                taken += check_trip(&trips[i], source, variant);
        CHECK_MSG(taken >= trips[i].least, "%s: %d variants", trips[i].name, taken);
        if (getenv("OX_TEST_TRIPS")) printf("%s: %d variants\n", trips[i].name, taken);
        free(source);
    }
    if (!read) check_skip("templates of models", "no templates (OX_TEST_DATA, ../shared/data)");
}

/* ---- hostile text -------------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;
static uint32_t any(uint32_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % below;
}

/* Pieces of the cases of a format, in any order, cut and mixed. */
static size_t mix(const char *format, char *out, size_t room) {
    static const char *const bits[] = {
        "{",    "}",    "[",    "]", "\"", ":", ",",  " ",
        "\n",   "a",    "<",    ">", "'",  "1", "\\", "{\"name\":\"f\",\"arguments\":{",
        "\xc3", "\xa9", "null", "="};
    size_t length = 0;
    const int pieces = 1 + (int)any(12);
    for (int i = 0; i < pieces; i++) {
        const char *piece = bits[any(sizeof bits / sizeof *bits)];
        size_t begin = 0, bytes = strlen(piece);
        const struct chat_case *c = &chat_cases[any(sizeof chat_cases / sizeof *chat_cases)];
        if (strcmp(c->format, format) == 0 || any(40) == 0) {
            piece = c->text;
            begin = any((uint32_t)strlen(piece) + 1);
            bytes = any((uint32_t)(strlen(piece) - begin) + 1);
            if (any(2)) {
                begin = 0;
                bytes = strlen(piece);
            }
        }
        if (length + bytes >= room) break;
        memcpy(out + length, piece + begin, bytes);
        length += bytes;
    }
    out[length] = 0;
    return length;
}

/* The message of a text in pieces of at most `most` bytes (0 = whole); freed by the caller. */
static char *message_of(const char *format, const char *text, size_t length, uint32_t most) {
    static collected parts;
    ox_llm_reply_desc desc;
    memset(&parts, 0, sizeof parts);
    memset(&desc, 0, sizeof desc);
    desc.format = format;
    desc.delta = collect;
    desc.user = &parts;
    ox_llm_reply *reply = ox_llm_reply_open(&desc);
    for (size_t at = 0; at < length;) {
        size_t bytes = most ? 1 + any(most) : length;
        if (bytes > length - at) bytes = length - at;
        CHECK(ox_llm_reply_feed(reply, text + at, (int64_t)bytes) == OX_OK);
        at += bytes;
    }
    CHECK(ox_llm_reply_end(reply) == OX_OK);
    CHECK_MSG(agrees(&parts, reply), "%s: deltas of %s", format, text);
    const char *message = ox_llm_reply_message(reply, NULL);
    char *copy = message ? (char *)malloc(strlen(message) + 1) : NULL;
    if (copy) memcpy(copy, message, strlen(message) + 1);
    ox_llm_reply_close(reply);
    return copy;
}

static void test_mixed(void) {
    char text[3000];
    ox_llm_template *t = ox_llm_template_open("{{ content|length }}", -1);
    for (int i = 0; i < 20000; i++) {
        const char *format = chat_cases[any(sizeof chat_cases / sizeof *chat_cases)].format;
        const size_t length = mix(format, text, sizeof text);
        char *whole = message_of(format, text, length, 0),
             *cut = message_of(format, text, length, 1 + any(8));
        CHECK_MSG(whole && cut && strcmp(whole, cut) == 0, "%s: %s\n  whole %s\n  cut   %s", format, text,
                  whole, cut);
        char *rendered = whole ? ox_llm_template_render(t, whole, -1, NULL, NULL) : NULL;
        CHECK_MSG(rendered != NULL, "%s: %s is no JSON: %s", format, whole, ox_error_text());
        ox_llm_template_free(rendered);
        ox_error_clear();
        free(whole);
        free(cut);
    }
    ox_llm_template_close(t);
}

/* A text that a careless parser takes quadratic time for, one byte at a time. */
static void test_long(void) {
    static const char *const units[][2] = {{"hermes", "<tool_call>"},
                                           {"hermes", " "},
                                           {"hermes", "<"},
                                           {"hermes", "<tool_call>{"},
                                           {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}"},
                                           {"hermes", "<think>"},
                                           {"hermes", "\xf0"},
                                           {"glm", "<tool_call>f<arg_key>a</arg_key>"},
                                           {"lfm2", "<|tool_call_start|>["},
                                           {"lfm2", "[f(a=' ' "},
                                           {"lfm2", "[[{("},
                                           {"lfm2", "<|tool_call_start|> "},
                                           {"llama3", "{"},
                                           {"llama3", "<|python_tag|>[ "},
                                           {"qwen3-coder", "<function=f><parameter=a>[[{'"},
                                           {"qwen3-coder", "<function=f></function> "},
                                           {"gpt-oss", "<|channel|>"},
                                           {"gpt-oss", "<|channel|>analysis<|message|>x "},
                                           {"gemma4", "<|tool_call>call:f{a:"},
                                           {"functionary-v3.2", ">>>a\n"},
                                           {"deepseek-r1", "<\357\275\234tool"},
                                           {"apertus", "<|tools_prefix|>[{\"f\":{},"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const char *first = units[i][0][0] == 'l' && units[i][1][0] == '[' ? "<|tool_call_start|>" : "";
        const size_t unit = strlen(units[i][1]);
        ox_llm_reply_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.format = units[i][0];
        ox_llm_reply *reply = ox_llm_reply_open(&desc);
        CHECK(ox_llm_reply_feed(reply, first, -1) == OX_OK);
        const size_t before = ox_memory_get_stats().bytes_in_use;
        for (size_t at = 0; at < 200000; at++)
            if (ox_llm_reply_feed(reply, &units[i][1][at % unit], 1)) break;
        CHECK(ox_llm_reply_end(reply) == OX_OK && ox_llm_reply_message(reply, NULL) != NULL);
        const size_t used = ox_memory_get_stats().bytes_in_use - before;
        CHECK_MSG(used < 200000 * 24u, "%s takes %zu bytes for 200000", units[i][1], used);
        ox_llm_reply_close(reply);
    }
}

/* What is known is given at once: the name of a call, and its arguments while they come. */
static void test_streams(void) {
    static const struct {
        const char *format, *text, *arguments;
    } cases[] = {
        {"hermes", "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Os", "{\"city\":\"Os"},
        {"mistral", "[TOOL_CALLS]get_weather[ARGS]{\"city", "{\"city"},
        {"qwen3-coder", "<function=get_weather>\n<parameter=city>\nO\"s\nx\n", "{\"city\": \"O\\\"s\\nx"},
        {"qwen3-coder", "<function=get_weather>\n<parameter=days>\n2\n", ""},
        {"glm", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Z\xc3", "{\"city\": \"Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ox_llm_reply_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.format = cases[i].format;
        desc.tools = chat_tools;
        ox_llm_reply *reply = ox_llm_reply_open(&desc);
        CHECK(ox_llm_reply_feed(reply, cases[i].text, -1) == OX_OK);
        const ox_llm_reply_call call = ox_llm_reply_get_call(reply, 0);
        CHECK_MSG(same(call.name, "get_weather") && !call.complete &&
                      same(call.arguments, cases[i].arguments),
                  "%s: %.*s", cases[i].text, (int)call.arguments.length, call.arguments.data);
        CHECK(!strstr(ox_llm_reply_message(reply, NULL), "tool_calls"));
        ox_llm_reply_close(reply);
    }
}

static void test_errors(void) {
    ox_llm_reply_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.format = "morse";
    CHECK(!ox_llm_reply_open(&desc) && ox_error() == OX_ERR_ARG && strstr(ox_error_text(), "morse"));
    ox_error_clear();
    desc.format = NULL;
    desc.tools = "[";
    CHECK(!ox_llm_reply_open(&desc) && ox_error() == OX_ERR_FORMAT);
    ox_error_clear();
    ox_llm_reply *reply = ox_llm_reply_open(NULL);
    CHECK(ox_llm_reply_feed(reply, NULL, 1) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_llm_reply_feed(reply, "a", -1) == OX_OK && ox_llm_reply_end(reply) == OX_OK);
    CHECK(strcmp(ox_llm_reply_get(reply).format, "plain") == 0);
    CHECK(ox_llm_reply_feed(reply, "b", -1) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_llm_reply_end(reply) == OX_OK && ox_llm_reply_get_call(reply, 0).name.length == 0);
    ox_llm_reply_close(reply);
    ox_llm_reply_close(NULL);
    CHECK(ox_llm_reply_feed(NULL, "a", 1) == OX_ERR_ARG && ox_llm_reply_end(NULL) == OX_ERR_ARG);
    CHECK(!ox_llm_reply_message(NULL, NULL));
    ox_error_clear();
    int64_t count = 0;
    for (const char *name; (name = ox_llm_reply_format_name(count)); count++)
        for (int64_t i = 0; i < count; i++) CHECK(strcmp(name, ox_llm_reply_format_name(i)) != 0);
    CHECK(count > 25 && !ox_llm_reply_format_name(-1));
    CHECK(strcmp(ox_llm_reply_format_of("{{ x }}"), "plain") == 0);
}

/* ---- memory that runs out ------------------------------------------------------------------------------ */

/* Whether everything had memory. */
static bool run_case(const struct chat_case *c) {
    ox_llm_reply_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.format = c->format;
    desc.tools = chat_tools;
    ox_llm_reply *reply = ox_llm_reply_open(&desc);
    bool good = reply != NULL;
    for (size_t at = 0; good && at < strlen(c->text); at++) good = !ox_llm_reply_feed(reply, c->text + at, 1);
    good = good && !ox_llm_reply_end(reply) && ox_llm_reply_message(reply, NULL);
    if (!good && reply) CHECK(!ox_llm_reply_message(reply, NULL));
    ox_llm_reply_close(reply);
    return good;
}

static void test_memory(void) {
    hook h;
    ox_allocator allocator = {hook_alloc, hook_free, NULL};
    allocator.user = &h;
    for (size_t i = 0; i < sizeof chat_cases / sizeof *chat_cases; i++) {
        bool done = false;
        for (int64_t n = 1; n < 100 && !done; n++) {
            memset(&h, 0, sizeof h);
            h.fail_at = n;
            ox_trim();
            CHECK(ox_set_allocator(&allocator) == OX_OK);
            const bool good = run_case(&chat_cases[i]);
            done = h.requests < n;
            CHECK_MSG(good ? done : ox_error() == OX_ERR_NOMEM, "%s, failure at %lld: %s",
                      chat_cases[i].format, (long long)n, ox_error_text());
            CHECK(ox_set_allocator(NULL) == OX_OK);
            CHECK_MSG(h.outstanding == 0, "%s, failure at %lld: %lld blocks left", chat_cases[i].format,
                      (long long)n, (long long)h.outstanding);
            ox_error_clear();
        }
        CHECK(done);
    }
}

int main(void) {
    const size_t before = ox_memory_get_stats().bytes_in_use;
    test_cases();
    test_trips();
    test_mixed();
    test_long();
    test_streams();
    test_errors();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    test_memory();
    return check_done("chat");
}
