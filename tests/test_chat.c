/* test_chat.c - what models said, back into messages: each format by cases, cut at every byte; round trips
 * through the templates of published models (OX_TEST_DATA); hostile text, work and memory.
 * OX_QEMU
 */
#include "oxtorch_llm.h"
#include "check.h"
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
        good = same(call.name, c->name[i]) && same(call.arguments, c->arguments[i]) && same(call.id, c->id[i]) &&
               call.complete;
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

int main(void) {
    const size_t before = ox_memory_get_stats().bytes_in_use;
    test_cases();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    return check_done("chat");
}
