/* chat.c - talks with a language model from a GGUF file, in a terminal or through pipes.
 *
 * Shows   a conversation rendered by the model's own chat template, of which only what is new is computed
 *         (ox_llm_rewind keeps the common start), token by token decoding, and ox_llm_reply, which tells
 *         reasoning, answer and tool calls apart while they come.
 * build   cc -O2 examples/chat.c -I. -o chat -lm -lpthread   (options.h beside it)
 * run     ./chat MODEL.gguf [--system TEXT] [--temp 0.7] ...   (./chat --help lists all options)
 * refuses --temp abc => chat: --temp wants a number (abc)
 * refuses -n 0.5 => chat: -n wants a whole number >= 0 (0.5)
 * refuses --tmp 1 => chat: --tmp is no option; chat --help lists what there is
 * refuses -n 5 => chat: no model is named; chat --help says how
 * needs   a model: GGUF with a tokenizer
 *
 * Answers alone go to standard output, unless that is a terminal; the rest goes to standard error.
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"
#include "oxtorch_vulkan.h"

#include "options.h"

#include <signal.h>
#include <time.h>
#ifdef _WIN32
#include <io.h>
#define isatty _isatty
#else
#include <unistd.h>
#endif

static const char help[] =
    "usage: chat MODEL.gguf [OPTIONS]\n"
    "talks with a language model (GGUF) through its own chat template\n"
    "\n"
    "  --system TEXT    the first message: what the model is to be\n"
    "  --template FILE  a chat template (Jinja) instead of the model's; without any, ChatML\n"
    "  -n N             tokens of an answer at most, 0: until the model ends it or the context is full\n"
    "  --temp T         temperature of sampling, 0.7; 0: always the likeliest token\n"
    "  --top-k K        among the K likeliest tokens, 40; 0: all\n"
    "  --top-p P        among the likeliest tokens that together have the probability P, 0.95\n"
    "  --min-p P        among tokens that have at least P times the probability of the likeliest, 0.05\n"
    "  --seed S         of the random numbers, 0\n"
    "  --threads N      threads, 0: as many as the process may use\n"
    "  --context N      positions of the context, 0: as many as the model was trained for, at most 4096\n"
    "  --cache DTYPE    keys and values of the past as f32, f16, bf16 or q8_0\n"
    "  --device NAME    cpu or vulkan\n"
    "  --help, -h       this text\n"
    "\n"
    "A line is a message; one that ends with a backslash goes on in the next line. Ctrl-C stops an answer,\n"
    "/help lists the commands.\n"
    "\n"
    "example: chat model.gguf --system \"You answer in one sentence.\" --temp 0.8 --seed 1\n";

static const char commands[] =
    "/system TEXT  what the model is to be, from now on     /again      another answer to the last message\n"
    "/undo         forget the last message and its answer   /clear      forget all but the system message\n"
    "/save FILE    the messages as JSON                     /load FILE  the messages of a file, instead\n"
    "/stats        tokens and time                          /quit       or the end of the input\n";

/* What models without a chat template are given. */
static const char chatml[] =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

typedef struct options {
    const char *model, *system, *template_file;
    ox_llm_sampler_desc sampling;
    ox_llm_context_desc context;
    int64_t steps, threads;
    bool vulkan;
} options;

typedef struct chat {
    const options *o;
    ox_llm *model;
    const ox_tokenizer *tokenizer;
    ox_llm_context *context;
    ox_llm_sampler *sampler;
    ox_llm_template *prompt_template;
    char *source; /* of the template */
    char **messages;
    size_t count, room;
    int32_t *held; /* the ids in the context */
    uint64_t tries; /* answers that the last message had before */
    float *logits;
    bool adds_bos, terminal, dim;
    ox_llm_reply *reply;
    /* of the last answer */
    int64_t prompt_tokens, kept_tokens, new_tokens;
    double prompt_seconds, new_seconds;
} chat;

static volatile sig_atomic_t stopped;

static void stop(int number) {
    stopped = 1;
    (void)signal(number, stop);
}

static double now(void) {
    struct timespec t = {0, 0};
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool complain(const char *what) {
    fprintf(stderr, "chat: %s\n", what);
    ox_error_clear();
    return false;
}

static void *grow(void *memory, size_t bytes) {
    memory = realloc(memory, bytes ? bytes : 1);
    if (memory) return memory;
    fprintf(stderr, "chat: no memory\n");
    exit(1);
}

/* ---- messages: each a text of JSON --------------------------------------------------------------------- */

static void insert_message(chat *c, size_t at, const char *json, size_t length) {
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 16;
        c->messages = (char **)grow(c->messages, c->room * sizeof *c->messages);
    }
    memmove(c->messages + at + 1, c->messages + at, (c->count - at) * sizeof *c->messages);
    c->messages[at] = (char *)grow(NULL, length + 1);
    memcpy(c->messages[at], json, length);
    c->messages[at][length] = 0;
    c->count++;
}

static void remove_message(chat *c, size_t at) {
    free(c->messages[at]);
    c->count--;
    memmove(c->messages + at, c->messages + at + 1, (c->count - at) * sizeof *c->messages);
}

static bool has_role(const chat *c, size_t at, const char *role) {
    char start[40];
    (void)snprintf(start, sizeof start, "{\"role\": \"%s\"", role);
    return at < c->count && strncmp(c->messages[at], start, strlen(start)) == 0;
}

/* A text as a string of JSON, freed by the caller. A reply without marks knows what to escape. */
static char *json_string(const char *text, int64_t length) {
    static const char key[] = "\"content\": ";
    ox_llm_reply *plain = ox_llm_reply_open(NULL);
    const char *json = NULL;
    if (plain && !ox_llm_reply_feed(plain, text ? text : "", text ? length : 0) && !ox_llm_reply_end(plain))
        json = ox_llm_reply_message(plain, NULL);
    json = json ? strstr(json, key) + sizeof key - 1 : "\"\"}";
    char *copy = (char *)grow(NULL, strlen(json));
    memcpy(copy, json, strlen(json) - 1); /* without the message's end */
    copy[strlen(json) - 1] = 0;
    ox_llm_reply_close(plain);
    return copy;
}

static void insert_text(chat *c, size_t at, const char *role, const char *text) {
    char *json = json_string(text, -1), *message = (char *)grow(NULL, strlen(json) + 60);
    (void)sprintf(message, "{\"role\": \"%s\", \"content\": %s}", role, json);
    insert_message(c, at, message, strlen(message));
    free(message);
    free(json);
}

/* All messages as a list of JSON, behind `before` and followed by `after`; freed by the caller. */
static char *join_messages(const chat *c, const char *before, const char *after) {
    size_t bytes = strlen(before) + strlen(after) + 3, at;
    for (size_t i = 0; i < c->count; i++) bytes += strlen(c->messages[i]) + 2;
    char *text = (char *)grow(NULL, bytes);
    at = (size_t)sprintf(text, "%s[", before);
    for (size_t i = 0; i < c->count; i++)
        at += (size_t)sprintf(text + at, "%s%s", i ? ", " : "", c->messages[i]);
    (void)sprintf(text + at, "]%s", after);
    return text;
}

/* The text of a template over values, both given; NULL with an error. */
static char *render(const char *source, const char *values) {
    ox_llm_template *t = ox_llm_template_open(source, -1);
    char *text = t ? ox_llm_template_render(t, values, -1, NULL, NULL) : NULL;
    ox_llm_template_close(t);
    return text;
}

static bool save(const chat *c, const char *path) {
    char *values = join_messages(c, "{\"messages\": ", "}");
    char *text = render("{{ messages|tojson(indent=2) }}\n\n", values);
    FILE *file = text ? fopen(path, "wb") : NULL;
    bool good = file && fwrite(text, 1, strlen(text), file) == strlen(text);
    if (file && fclose(file)) good = false; /* the disk may be full only now */
    if (!text) (void)complain(ox_error_text());
    else if (!good) fprintf(stderr, "chat: %s cannot be written: %s\n", path, strerror(errno));
    ox_llm_template_free(text);
    free(values);
    return good;
}

/* A whole file with a final 0 behind `room` bytes; NULL if it cannot be read. */
static char *read_file(const char *path, size_t room) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t length = room, bytes = 0;
    if (!file) return NULL;
    do {
        if (bytes < length + 65536) text = (char *)grow(text, bytes = 2 * (length + 65536));
        length += fread(text + length, 1, bytes - length - 1, file);
    } while (!feof(file) && !ferror(file) && length < (size_t)1 << 30);
    text[length] = 0;
    if (ferror(file)) { /* a folder, for one */
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

/* Messages of a file: the template engine reads them and writes one a line. */
static bool load(chat *c, const char *path) {
    static const char source[] =
        "{% for m in messages %}{% if m is not mapping or m.role is not string %}"
        "{{ raise_exception('a message without a role') }}{% endif %}"
        "{\"role\": {{ m.role|tojson }}{% for k, v in m.items() if k != 'role' %}, {{ k|tojson }}: {{ "
        "v|tojson }}"
        "{% endfor %}}\n\n{% endfor %}"; /* the first newline behind a block is the block's */
    static const char before[] = "{\"messages\": ";
    const size_t start = sizeof before - 1;
    char *values = read_file(path, start);
    if (!values) {
        fprintf(stderr, "chat: %s cannot be read: %s\n", path, strerror(errno));
        return false;
    }
    memcpy(values, before, start);
    const size_t end = start + strlen(values + start);
    values = (char *)grow(values, end + 2);
    memcpy(values + end, "}", 2);
    char *lines = render(source, values);
    free(values);
    if (!lines) {
        fprintf(stderr, "chat: %s holds no messages as /save writes them\n", path);
        return complain(ox_error_text());
    }
    while (c->count) remove_message(c, c->count - 1);
    for (char *line = lines; *line;) {
        const size_t length = strcspn(line, "\n");
        if (length) insert_message(c, c->count, line, length);
        line += length + (line[length] == '\n');
    }
    ox_llm_template_free(lines);
    return true;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static void set_dim(chat *c, bool dim) {
    if (c->terminal && dim != c->dim) fputs(dim ? "\033[2m" : "\033[0m", stdout);
    c->dim = dim;
}

/* Reasoning and calls are dim, or go where the answer does not. */
static void print_part(void *user, const ox_llm_reply_delta *delta) {
    chat *c = (chat *)user;
    const bool is_answer = delta->part == OX_LLM_REPLY_CONTENT;
    FILE *out = is_answer || c->terminal ? stdout : stderr;
    if (is_answer && c->dim) fputs("\n", c->terminal ? stdout : stderr);
    set_dim(c, !is_answer);
    if (delta->part == OX_LLM_REPLY_CALL) fputs("\n-> ", out);
    if (delta->part == OX_LLM_REPLY_WITHDRAWN)
        fputs(" .. is no call\n", out);
    else if (delta->part != OX_LLM_REPLY_CALL_END)
        fwrite(delta->text.data, 1, (size_t)delta->text.length, out);
    if (delta->part == OX_LLM_REPLY_CALL) fputs(" ", out);
    fflush(out);
}

/* Ends of turns that files do not always name as such. */
static bool ends_turn(const chat *c, int32_t token) {
    static const char *const words[] = {
        "<|im_end|>",      "<|eot_id|>",        "<|eom_id|>", "<end_of_turn>",   "<turn|>",
        "<|end_of_turn|>", "<|call|>",          "<|return|>", "<|end_of_text|>", "<|endoftext|>",
        "<|eot|>",         "<|assistant_end|>", "<|end|>"};
    const ox_token_info info = ox_tokenizer_get_token(c->tokenizer, token);
    if (ox_tokenizer_is_end(c->tokenizer, token)) return true;
    if (info.type != OX_TOKEN_CONTROL && info.type != OX_TOKEN_USER_DEFINED) return false;
    const size_t phi = ox_tokenizer_find(c->tokenizer, "<|channel|>", -1) < 0; /* no end in GPT-OSS */
    for (size_t i = 0; i < sizeof words / sizeof *words - 1 + phi; i++)
        if (strlen(words[i]) == (size_t)info.text.length &&
            memcmp(words[i], info.text.data, (size_t)info.text.length) == 0)
            return true;
    return false;
}

/* The bytes of a token; marks that are control tokens are wanted too. */
static ox_string text_of(const chat *c, int32_t previous, int32_t token) {
    const ox_token_info info = ox_tokenizer_get_token(c->tokenizer, token);
    return info.type == OX_TOKEN_CONTROL ? info.text : ox_tokenizer_piece(c->tokenizer, previous, token);
}

static ox_string role_text(const chat *c, ox_token_role role) {
    return ox_tokenizer_get_token(c->tokenizer, ox_tokenizer_role(c->tokenizer, role)).text;
}

/* The prompt of the whole conversation; NULL with a complaint. */
static char *render_prompt(const chat *c) {
    static const char format[] = ", \"tools\": null, \"documents\": null, \"add_generation_prompt\": true, "
                                 "\"bos_token\": %s, \"eos_token\": %s}";
    const ox_string bos = role_text(c, OX_TOKEN_ROLE_BOS), eos = role_text(c, OX_TOKEN_ROLE_EOS);
    char *bos_json = json_string(bos.data, bos.length), *eos_json = json_string(eos.data, eos.length);
    char *after = (char *)grow(NULL, sizeof format + strlen(bos_json) + strlen(eos_json));
    (void)sprintf(after, format, bos_json, eos_json);
    char *values = join_messages(c, "{\"messages\": ", after);
    char *text = ox_llm_template_render(c->prompt_template, values, -1, NULL, NULL);
    if (!text) (void)complain(ox_error_text());
    free(values);
    free(after);
    free(bos_json);
    free(eos_json);
    return text;
}

/* Runs what of the prompt is not in the context yet: the logits behind it. */
static bool run_prompt(chat *c, const char *prompt) {
    const ox_string bos = role_text(c, OX_TOKEN_ROLE_BOS);
    ox_tokenizer_encode_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.bare = desc.parse_special = true;
    const int64_t extra = c->adds_bos && strncmp(prompt, bos.data, (size_t)bos.length) != 0;
    int64_t count = ox_tokenizer_encode(c->tokenizer, prompt, -1, &desc, NULL, 0), common = 0;
    if (count < 0) return complain(ox_error_text());
    int32_t *ids = (int32_t *)grow(NULL, (size_t)(count + 1) * sizeof *ids);
    if (extra) ids[0] = ox_tokenizer_role(c->tokenizer, OX_TOKEN_ROLE_BOS);
    (void)ox_tokenizer_encode(c->tokenizer, prompt, -1, &desc, ids + extra, count);
    count += extra;
    const int64_t before = ox_llm_length(c->context);
    while (common < before && common < count - 1 && c->held[common] == ids[common]) common++;
    const double start = now();
    bool good = count > 0 && count < ox_llm_capacity(c->context);
    if (!good) {
        fprintf(stderr,
                "chat: the conversation has %lld tokens, and the context room for %lld; /undo or /clear\n",
                (long long)count, (long long)ox_llm_capacity(c->context));
    } else if (ox_llm_rewind(c->context, common) ||
               ox_llm_decode(c->context, ids + common, count - common, c->logits)) {
        good = complain(ox_error_text());
    } else
        memcpy(c->held + common, ids + common, (size_t)(count - common) * sizeof *ids);
    c->prompt_seconds = now() - start;
    c->prompt_tokens = count;
    c->kept_tokens = common;
    free(ids);
    return good;
}

/* Each answer draws numbers of its own: the same ones if the conversation was saved and loaded in between. */
static bool open_sampler(chat *c) {
    ox_llm_sampler_desc desc = c->o->sampling;
    desc.seed += (uint64_t)c->count * 1000003 + c->tries;
    ox_llm_sampler_close(c->sampler);
    c->sampler = ox_llm_sampler_open(&desc);
    return c->sampler ? true : complain(ox_error_text());
}

/* Token after token, until the model or somebody ends it. */
static bool run_answer(chat *c) {
    const double start = now();
    int32_t previous = -1;
    bool good = true;
    for (c->new_tokens = 0; good && !stopped && (!c->o->steps || c->new_tokens < c->o->steps);) {
        const int32_t token =
            ox_llm_sampler_pick(c->sampler, c->logits, ox_llm_get_config(c->model)->vocabulary);
        if (token < 0) return complain(ox_error_text());
        c->new_tokens++;
        if (ends_turn(c, token)) break;
        const ox_string text = text_of(c, previous, token);
        if (ox_llm_reply_feed(c->reply, text.data, text.length)) return complain(ox_error_text());
        previous = token;
        const int64_t at = ox_llm_length(c->context);
        if (at >= ox_llm_capacity(c->context)) {
            fprintf(stderr, "\nchat: the context is full\n");
            break;
        }
        if (ox_llm_decode_one(c->context, token, c->logits))
            good = complain(ox_error_text());
        else
            c->held[at] = token;
    }
    c->new_seconds = now() - start;
    return good;
}

/* The model's answer to the messages, which is put behind them. */
static bool answer(chat *c) {
    char *prompt = render_prompt(c);
    ox_llm_reply_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = c->source;
    desc.prompt = prompt;
    desc.first_id = (int64_t)c->count;
    desc.delta = print_part;
    desc.user = c;
    c->reply = prompt ? ox_llm_reply_open(&desc) : NULL;
    stopped = 0;
    bool good = c->reply && open_sampler(c) && run_prompt(c, prompt) && run_answer(c);
    if (good && !ox_llm_reply_end(c->reply)) {
        const char *message = ox_llm_reply_message(c->reply, NULL);
        if (message) insert_message(c, c->count, message, strlen(message));
    }
    if (c->dim && !c->terminal) fputs("\n", stderr);
    set_dim(c, false);
    if (good) fputs("\n", stdout);
    fflush(stdout);
    ox_llm_reply_close(c->reply);
    ox_llm_template_free(prompt);
    return good;
}

/* ---- commands ------------------------------------------------------------------------------------------ */

static bool set_system(chat *c, const char *text) {
    if (has_role(c, 0, "system")) remove_message(c, 0);
    if (*text) insert_text(c, 0, "system", text);
    return true;
}

/* The last message of the user and all behind it; false: there is none. */
static bool undo(chat *c) {
    size_t at = c->count;
    while (at && !has_role(c, at - 1, "user")) at--;
    if (!at) return complain("there is nothing to undo");
    while (c->count >= at) remove_message(c, c->count - 1);
    return true;
}

static bool again(chat *c) {
    while (c->count && !has_role(c, c->count - 1, "user") && !has_role(c, c->count - 1, "system"))
        remove_message(c, c->count - 1);
    c->tries++;
    return has_role(c, c->count ? c->count - 1 : 0, "user") ? answer(c)
                                                            : complain("there is nothing to answer");
}

static void print_speed(const char *what, int64_t tokens, double seconds) {
    fprintf(stderr, "%-7s %6lld tokens in %9.3f s %9.1f tokens/s\n", what, (long long)tokens, seconds,
            seconds > 0 ? (double)tokens / seconds : 0.0);
}

static void print_stats(const chat *c) {
    fprintf(stderr, "%zu messages, format %s, %lld of %lld positions used\n", c->count,
            ox_llm_reply_format_of(c->source), (long long)ox_llm_length(c->context),
            (long long)ox_llm_capacity(c->context));
    fprintf(stderr, "prompt  %6lld tokens, of which %lld were there already\n", (long long)c->prompt_tokens,
            (long long)c->kept_tokens);
    print_speed("prompt", c->prompt_tokens - c->kept_tokens, c->prompt_seconds);
    print_speed("answer", c->new_tokens, c->new_seconds);
}

static void clear(chat *c) {
    const size_t keep = has_role(c, 0, "system");
    while (c->count > keep) remove_message(c, c->count - 1);
}

/* A line that begins with '/'. False: the program ends. */
static bool obey(chat *c, char *line) {
    const size_t length = strcspn(line, " \t\n");
    char *rest = line + length + strspn(line + length, " \t\n");
    const bool ends = line[length] == 0;
    line[length] = 0;
    if (ends) rest = line + length;
    if (!strcmp(line, "/quit") || !strcmp(line, "/exit")) return false;
    if (!strcmp(line, "/system"))
        (void)set_system(c, rest);
    else if (!strcmp(line, "/undo"))
        (void)undo(c);
    else if (!strcmp(line, "/again"))
        (void)again(c);
    else if (!strcmp(line, "/clear"))
        clear(c);
    else if (!strcmp(line, "/stats"))
        print_stats(c);
    else if (!strcmp(line, "/save") && *rest)
        (void)save(c, rest);
    else if (!strcmp(line, "/load") && *rest)
        (void)load(c, rest);
    else
        fputs(commands, stderr);
    return true;
}

/* ---- the program --------------------------------------------------------------------------------------- */

/* A message: a line, and those that follow one with a backslash at its end. NULL at the end of the input. */
static char *read_message(bool prompts) {
    char *text = NULL;
    size_t length = 0, room = 0;
    if (prompts) fputs("> ", stdout), fflush(stdout);
    for (;;) {
        if (room - length < 1024) text = (char *)grow(text, room = 2 * room + 2048);
        text[length] = 0;
        if (!fgets(text + length, (int)(room - length < 65536 ? room - length : 65536), stdin)) break;
        length += strlen(text + length);
        if (!length || text[length - 1] != '\n') continue;
        if (length > 1 && text[length - 2] == '\r') text[--length - 1] = '\n';
        if (length < 2 || text[length - 2] != '\\') break;
        text[--length - 1] = '\n';
        if (prompts) fputs("  ", stdout), fflush(stdout);
    }
    if (!length) {
        free(text);
        return NULL;
    }
    if (text[length - 1] == '\n') text[length - 1] = 0;
    return text;
}

static void converse(chat *c) {
    const bool prompts = isatty(0) && isatty(1);
    for (char *line; (line = read_message(prompts)) != NULL; free(line)) {
        if (line[0] == '/') {
            if (obey(c, line)) continue;
            free(line);
            return;
        }
        if (!line[strspn(line, " \t\n")]) continue;
        const size_t before = c->count;
        insert_text(c, before, "user", line);
        c->tries = 0;
        if (!answer(c) && c->count > before) remove_message(c, before);
    }
}

static bool read_dtype(const char *text, void *out) {
    return (*(ox_dtype *)out = ox_dtype_by_name(text)) != OX_DTYPE_NONE;
}

static bool read_device(const char *text, void *out) {
    *(bool *)out = strcmp(text, "vulkan") == 0;
    return *(bool *)out || strcmp(text, "cpu") == 0;
}

static bool read_options(int count, char **words, options *o) {
    const char *whole = "wants a whole number >= 0", *real = "wants a number", *text = "wants a text";
    const option known[] = {
        {"--system", read_text, &o->system, text},
        {"--template", read_text, &o->template_file, text},
        {"-n", read_whole, &o->steps, whole},
        {"--temp", read_real, &o->sampling.temperature, real},
        {"--top-k", read_whole, &o->sampling.top_k, whole},
        {"--top-p", read_real, &o->sampling.top_p, real},
        {"--min-p", read_real, &o->sampling.min_p, real},
        {"--seed", read_seed, &o->sampling.seed, whole},
        {"--threads", read_whole, &o->threads, whole},
        {"--context", read_whole, &o->context.capacity, whole},
        {"--cache", read_dtype, &o->context.cache, "wants f32, f16, bf16 or q8_0"},
        {"--device", read_device, &o->vulkan, "wants cpu or vulkan"},
    };
    const option plain[] = {{"MODEL.gguf", read_text, &o->model, "wants a path"}};
    const command_line chat_line = {"chat", help, known, sizeof known / sizeof *known, plain, 1};
    memset(o, 0, sizeof *o);
    o->sampling.temperature = 0.7;
    o->sampling.top_k = 40;
    o->sampling.top_p = 0.95;
    o->sampling.min_p = 0.05;
    if (!options_read(&chat_line, count, words)) return false;
    if (!o->model) fprintf(stderr, "chat: no model is named; chat --help says how\n");
    return o->model != NULL;
}

/* The template's source: of the file that was named, the model's, or ChatML. */
static char *find_template(const options *o, const ox_llm *model) {
    if (o->template_file) return read_file(o->template_file, 0);
    const char *own = ox_llm_chat_template(model), *text = own && own[0] ? own : chatml;
    char *source = (char *)grow(NULL, strlen(text) + 1);
    strcpy(source, text);
    if (text == chatml) fprintf(stderr, "chat: the model has no chat template; ChatML it is\n");
    return source;
}

/* Everything that a conversation needs; false with a complaint. */
static bool open_chat(chat *c, const options *o) {
    ox_device *device = o->vulkan ? ox_vulkan(0) : ox_cpu();
    c->o = o;
    c->model = device ? ox_llm_open(o->model, device) : NULL;
    const ox_llm_config *config = c->model ? ox_llm_get_config(c->model) : NULL;
    if (config && config->encoder) return complain("the model makes vectors of texts, not text; see embed");
    if (config && config->encoder_layers) return complain("the model answers single texts; see generate");
    c->source = c->model ? find_template(o, c->model) : NULL;
    if (c->model && !c->source) return complain("cannot read the template's file");
    c->tokenizer = c->source ? ox_llm_tokenizer(c->model) : NULL;
    c->context = c->tokenizer ? ox_llm_context_open(c->model, &o->context) : NULL;
    c->prompt_template = c->context ? ox_llm_template_open(c->source, -1) : NULL;
    if (!c->prompt_template) return complain(ox_error_text());
    if (!open_sampler(c)) return false;
    int32_t first[2] = {-1, -1};
    (void)ox_tokenizer_encode(c->tokenizer, "", 0, NULL, first, 2);
    c->adds_bos = first[0] >= 0 && first[0] == ox_tokenizer_role(c->tokenizer, OX_TOKEN_ROLE_BOS);
    c->held = (int32_t *)grow(NULL, (size_t)ox_llm_capacity(c->context) * sizeof *c->held);
    c->logits = (float *)grow(NULL, (size_t)ox_llm_get_config(c->model)->vocabulary * sizeof *c->logits);
    c->terminal = isatty(1) != 0;
    if (o->system) insert_text(c, 0, "system", o->system);
    return true;
}

static void close_chat(chat *c) {
    while (c->count) remove_message(c, c->count - 1);
    free(c->messages);
    free(c->held);
    free(c->logits);
    free(c->source);
    ox_llm_template_close(c->prompt_template);
    ox_llm_sampler_close(c->sampler);
    ox_llm_context_close(c->context);
    ox_llm_close(c->model);
}

int main(int count, char **words) {
    options o;
    chat c;
    if (!read_options(count, words, &o)) return 2;
    if (o.threads > 0) ox_set_threads(o.threads < INT32_MAX ? (int)o.threads : INT32_MAX);
    memset(&c, 0, sizeof c);
    const bool good = open_chat(&c, &o);
    if (good) {
        (void)signal(SIGINT, stop);
        converse(&c);
    }
    close_chat(&c);
    return good ? 0 : 1;
}
