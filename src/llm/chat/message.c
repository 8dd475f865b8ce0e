/* The message of a reply as JSON, as templates want it.
 * Called by users. */

static bool oxi_reply_append_escaped(ox_llm_reply *r, oxi_reply_text *text, const char *bytes,
                                     size_t length) {
    static const char letters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    size_t plain = 0, at = 0; /* bytes from plain on need no escape */
    bool good = true;
    while (at < length && good) {
        const unsigned char c = (unsigned char)bytes[at];
        const size_t used = oxi_utf8_length((const unsigned char *)bytes + at, length - at);
        const char *letter = c ? strchr(letters, c) : NULL;
        char escape[8];
        if (used && c >= 0x20 && !letter) {
            at += used;
            continue;
        }
        if (!used)
            (void)snprintf(escape, sizeof escape, "\357\277\275"); /* U+FFFD */
        else if (letter)
            (void)snprintf(escape, sizeof escape, "\\%c", escapes[letter - letters]);
        else
            (void)snprintf(escape, sizeof escape, "\\u%04x", c);
        good = oxi_reply_append(r, text, bytes + plain, at - plain) && oxi_reply_append_word(r, text, escape);
        plain = ++at;
    }
    return good && oxi_reply_append(r, text, bytes + plain, length - plain);
}

static bool oxi_reply_append_string(ox_llm_reply *r, oxi_reply_text *text, const char *bytes, size_t length) {
    return oxi_reply_append(r, text, "\"", 1) &&
           (!length || oxi_reply_append_escaped(r, text, bytes, length)) &&
           oxi_reply_append(r, text, "\"", 1);
}

static void oxi_reply_member_text(ox_llm_reply *r, const char *key, const char *bytes, size_t length) {
    oxi_reply_text *out = &r->message;
    (void)(oxi_reply_append_word(r, out, ", \"") && oxi_reply_append_word(r, out, key) &&
           oxi_reply_append_word(r, out, "\": ") && oxi_reply_append_string(r, out, bytes, length));
}

static void oxi_reply_message_call(ox_llm_reply *r, const oxi_reply_call *call) {
    oxi_reply_text *out = &r->message;
    const char *texts = r->texts.data, *arguments = texts + call->arguments.start;
    (void)(oxi_reply_append_word(r, out, "{\"id\": ") &&
           oxi_reply_append_string(r, out, texts + call->id.start, call->id.length) &&
           oxi_reply_append_word(r, out, ", \"type\": \"function\", \"function\": {\"name\": ") &&
           oxi_reply_append_string(r, out, texts + call->name.start, call->name.length) &&
           oxi_reply_append_word(r, out, ", \"arguments\": ") &&
           (r->format->flags & OXI_REPLY_TEXT_ARGUMENTS
                ? oxi_reply_append_string(r, out, arguments, call->arguments.length)
                : oxi_reply_append(r, out, arguments, call->arguments.length)) &&
           oxi_reply_append_word(r, out, "}}"));
}

OX_API const char *ox_llm_reply_message(ox_llm_reply *r, int64_t *length) {
    if (length) *length = 0;
    if (!r) {
        (void)oxi_fail_missing("reply: the reply");
        return NULL;
    }
    oxi_reply_text *out = &r->message;
    const size_t count = r->call_count - r->open;
    out->length = 0;
    (void)oxi_reply_append_word(r, out, "{\"role\": \"assistant\"");
    if (count && !r->content.length && (r->format->flags & OXI_REPLY_NULL_CONTENT))
        (void)oxi_reply_append_word(r, out, ", \"content\": null");
    else
        oxi_reply_member_text(r, "content", r->content.data, r->content.length);
    if (r->reasoning.length) {
        oxi_reply_member_text(r, "reasoning_content", r->reasoning.data, r->reasoning.length);
        if (r->format->flags & OXI_REPLY_THINKING)
            oxi_reply_member_text(r, "thinking", r->reasoning.data, r->reasoning.length);
    }
    if (count) (void)oxi_reply_append_word(r, out, ", \"tool_calls\": [");
    for (size_t i = 0; i < count; i++) {
        if (i) (void)oxi_reply_append_word(r, out, ", ");
        oxi_reply_message_call(r, &r->calls[i]);
    }
    if (count) (void)oxi_reply_append_word(r, out, "]");
    if (!oxi_reply_append(r, out, "}", 2)) return NULL; /* with its final 0 */
    if (length) *length = (int64_t)out->length - 1;
    return out->data;
}
