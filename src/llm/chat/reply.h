/* What a chat model said, back into a message: content, reasoning and tool calls, while the text still comes.
 * The way a model writes these is its format, which its chat template decides. */
#ifndef OX_LLM_CHAT_REPLY_H
#define OX_LLM_CHAT_REPLY_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

/* ---- replies ----------------------------------------------------------------------------------------------
 * A reply takes the text that a model generates, in pieces of any size, and gives it back in parts: content,
 * reasoning, and for each tool call its name and arguments. Nothing is given that may still turn out to be
 * a mark of the format ("<tool_call>"), and no UTF-8 character is cut. What cannot be understood is content:
 * no text is lost but marks and the white space beside them. The parts are the same however the text was cut.
 *
 *     ox_llm_reply_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.source = chat_template;                      the Jinja source that the prompt was rendered by
 *     desc.prompt = prompt;                             its end tells whether reasoning has begun already
 *     ox_llm_reply *reply = ox_llm_reply_open(&desc);
 *     ... ox_llm_reply_feed(reply, bytes, length);      from the callback of ox_llm_generate
 *     ox_llm_reply_end(reply);
 *     puts(ox_llm_reply_message(reply, NULL));          goes to the end of "messages" for the next render
 *     ox_llm_reply_close(reply);
 *
 * Control tokens have no bytes in ox_tokenizer_piece, but formats have marks that are such tokens: where a
 * piece is empty and the token does not end the text, feed ox_tokenizer_get_token(..).text. */

typedef struct ox_llm_reply ox_llm_reply;

typedef enum ox_llm_reply_part {
    OX_LLM_REPLY_CONTENT = 1, /* more bytes of the answer */
    OX_LLM_REPLY_REASONING,   /* more bytes of what was thought before it */
    OX_LLM_REPLY_CALL,        /* a tool call begins: its name */
    OX_LLM_REPLY_ARGUMENTS,   /* more bytes of its arguments: together one JSON object */
    OX_LLM_REPLY_CALL_END,    /* its arguments are complete: its id */
    OX_LLM_REPLY_WITHDRAWN    /* the call is none: what was taken for it follows as content */
} ox_llm_reply_part;

typedef struct ox_llm_reply_delta {
    ox_llm_reply_part part;
    int64_t call;   /* which one, from 0; -1 for content and reasoning. A withdrawn number is used again */
    ox_string text; /* not terminated; valid during the callback */
} ox_llm_reply_delta;

typedef struct ox_llm_reply_desc {
    const char *source; /* the chat template, which decides the format; NULL = format says it */
    const char *format; /* a name of ox_llm_reply_format_name; NULL = by the source; both NULL = "plain" */
    const char *prompt; /* the text that the reply continues, or its end; NULL = not known */
    const char *tools;  /* JSON, the list that the template got. Formats that write arguments without quotes
                         * need it to tell the text 2 from the number; NULL = what reads as JSON is JSON */
    int64_t first_id;   /* calls without an id of their own get "call00000" and on, from this number */
    void (*delta)(void *user, const ox_llm_reply_delta *delta); /* NULL = only the message is wanted */
    void *user;
} ox_llm_reply_desc;

/* ox_llm_reply_open - desc NULL = zeroed. Its texts are not kept.
 * errors    NULL: OX_ERR_ARG no such format; OX_ERR_FORMAT the tools are no JSON; OX_ERR_NOMEM.
 *           untrusted input: yes
 * source    the formats: model cards and templates of their publishers; llama.cpp, common/chat.cpp */
OX_API ox_llm_reply *ox_llm_reply_open(const ox_llm_reply_desc *desc);
OX_API void ox_llm_reply_close(ox_llm_reply *reply);
/* ox_llm_reply_feed - more of the text, length -1 = up to its final 0. What is known goes to the callback.
 * Takes time in proportion to the text, and memory: some times its bytes.
 * errors    OX_ERR_ARG after the end; OX_ERR_NOMEM, also from then on. untrusted input: yes */
OX_API ox_status ox_llm_reply_feed(ox_llm_reply *reply, const char *bytes, int64_t length);
/* The text ends here: what was held back goes to the callback, a call that is not complete is withdrawn. */
OX_API ox_status ox_llm_reply_end(ox_llm_reply *reply);

/* ox_llm_reply_message - the message so far, as JSON with a final 0:
 *     {"role": "assistant", "content": "..", "reasoning_content": "..",
 *      "tool_calls": [{"id": "..", "type": "function", "function": {"name": "..", "arguments": {..}}}]}
 * reasoning_content and tool_calls only if there are some; calls that are complete. What is not UTF-8 is
 * U+FFFD. What the format's own template wants otherwise is so: arguments as a string, content null beside
 * calls, a member "thinking". Valid until the reply is used again.
 * errors    NULL: OX_ERR_NOMEM */
OX_API const char *ox_llm_reply_message(ox_llm_reply *reply, int64_t *length);

/* The same without JSON. Texts are not terminated, and valid until the reply is used again. */
typedef struct ox_llm_reply_state {
    ox_string content, reasoning;
    int64_t calls;
    const char *format; /* its name */
    bool reasons;       /* the text stands in reasoning */
} ox_llm_reply_state;
typedef struct ox_llm_reply_call {
    ox_string id, name, arguments;
    bool complete;
} ox_llm_reply_call;
OX_API ox_llm_reply_state ox_llm_reply_get(const ox_llm_reply *reply);
OX_API ox_llm_reply_call ox_llm_reply_get_call(const ox_llm_reply *reply, int64_t call); /* zeros: none */

/* The names of all formats: "hermes", "llama3", "mistral", "plain" ..; NULL beyond the last. */
OX_API const char *ox_llm_reply_format_name(int64_t index);
/* The name of the format that a chat template's source has; "plain" if it is none that is known. */
OX_API const char *ox_llm_reply_format_of(const char *source);

OX_EXTERN_C_END
#endif
#endif
