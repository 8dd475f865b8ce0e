/* A checker of JSON (RFC 8259) that takes one byte at a time and says where keys and values begin and end.
 * It takes no memory; the strict reader checks what it lets through once more, when a call is complete.
 * Called by calls.c. */

/* What may come next. */
enum {
    OXI_REPLY_WANT_VALUE,
    OXI_REPLY_WANT_VALUE_OR_END, /* of a list */
    OXI_REPLY_WANT_KEY,
    OXI_REPLY_WANT_KEY_OR_END,
    OXI_REPLY_WANT_COLON,
    OXI_REPLY_WANT_COMMA,
    OXI_REPLY_IN_STRING,
    OXI_REPLY_IN_KEY,
    OXI_REPLY_IN_ESCAPE,     /* of a string */
    OXI_REPLY_IN_KEY_ESCAPE, /* these two follow the states that they are parts of by 2 */
    OXI_REPLY_IN_NUMBER,
    OXI_REPLY_IN_LITERAL
};

static void oxi_reply_json_start(oxi_reply_json *json) {
    memset(json, 0, sizeof *json);
}

static oxi_reply_event oxi_reply_json_value(oxi_reply_json *json, char c, int *depth) {
    *depth = json->depth;
    if (c == '{' || c == '[') {
        if (json->depth + 1 > OXI_REPLY_MOST_DEPTH) return OXI_REPLY_BAD;
        json->depth++;
        if (c == '{')
            json->objects |= (uint64_t)1 << json->depth;
        else
            json->objects &= ~((uint64_t)1 << json->depth);
        json->state = c == '{' ? OXI_REPLY_WANT_KEY_OR_END : OXI_REPLY_WANT_VALUE_OR_END;
        return OXI_REPLY_VALUE_BEGINS;
    }
    json->literal = c == 't' ? "rue" : c == 'f' ? "alse" : c == 'n' ? "ull" : NULL;
    if (c == '"')
        json->state = OXI_REPLY_IN_STRING;
    else if (json->literal)
        json->state = OXI_REPLY_IN_LITERAL;
    else if (c == '-' || oxi_is_digit(c))
        json->state = OXI_REPLY_IN_NUMBER;
    else
        return OXI_REPLY_BAD;
    return OXI_REPLY_VALUE_BEGINS;
}

/* A string's or key's next byte. */
static oxi_reply_event oxi_reply_json_string(oxi_reply_json *json, char c, int *depth) {
    const bool is_key = json->state == OXI_REPLY_IN_KEY;
    *depth = json->depth;
    if ((unsigned char)c < 0x20) return OXI_REPLY_BAD;
    if (c == '\\') {
        json->state = (uint8_t)(json->state + 2);
        json->left = 0;
    }
    if (c != '"') return OXI_REPLY_NO_EVENT;
    json->state = is_key ? OXI_REPLY_WANT_COLON : OXI_REPLY_WANT_COMMA;
    return is_key ? OXI_REPLY_KEY_ENDS : OXI_REPLY_VALUE_ENDS;
}

static oxi_reply_event oxi_reply_json_escape(oxi_reply_json *json, char c) {
    if (json->left) {
        if (oxi_hex_digit(c) < 0) return OXI_REPLY_BAD;
        json->left--;
    } else if (c == 'u')
        json->left = 4;
    else if (!c || !strchr("\"\\/bfnrt", c))
        return OXI_REPLY_BAD;
    if (!json->left) json->state = (uint8_t)(json->state - 2);
    return OXI_REPLY_NO_EVENT;
}

static oxi_reply_event oxi_reply_json_close(oxi_reply_json *json, char c, int *depth) {
    const bool is_object = (json->objects >> json->depth & 1) != 0;
    if (!json->depth || c != (is_object ? '}' : ']')) return OXI_REPLY_BAD;
    *depth = --json->depth;
    json->state = OXI_REPLY_WANT_COMMA;
    return OXI_REPLY_VALUE_ENDS;
}

static oxi_reply_event oxi_reply_json_between(oxi_reply_json *json, char c, int *depth) {
    const bool in_object = (json->objects >> json->depth & 1) != 0;
    switch (json->state) {
    case OXI_REPLY_WANT_VALUE: return oxi_reply_json_value(json, c, depth);
    case OXI_REPLY_WANT_VALUE_OR_END:
        return c == ']' ? oxi_reply_json_close(json, c, depth) : oxi_reply_json_value(json, c, depth);
    case OXI_REPLY_WANT_COLON:
        json->state = OXI_REPLY_WANT_VALUE;
        return c == ':' ? OXI_REPLY_NO_EVENT : OXI_REPLY_BAD;
    case OXI_REPLY_WANT_COMMA:
        if (c != ',' || !json->depth) return oxi_reply_json_close(json, c, depth);
        json->state = in_object ? OXI_REPLY_WANT_KEY : OXI_REPLY_WANT_VALUE;
        return OXI_REPLY_NO_EVENT;
    default: /* a key */
        if (c == '}' && json->state == OXI_REPLY_WANT_KEY_OR_END) return oxi_reply_json_close(json, c, depth);
        json->state = OXI_REPLY_IN_KEY;
        *depth = json->depth;
        return c == '"' ? OXI_REPLY_KEY_BEGINS : OXI_REPLY_BAD;
    }
}

static oxi_reply_event oxi_reply_json_step(oxi_reply_json *json, char c, int *depth) {
    json->number_ended = false;
    *depth = json->depth;
    switch (json->state) {
    case OXI_REPLY_IN_STRING:
    case OXI_REPLY_IN_KEY: return oxi_reply_json_string(json, c, depth);
    case OXI_REPLY_IN_ESCAPE:
    case OXI_REPLY_IN_KEY_ESCAPE: return oxi_reply_json_escape(json, c);
    case OXI_REPLY_IN_LITERAL:
        if (c != *json->literal++) return OXI_REPLY_BAD;
        if (*json->literal) return OXI_REPLY_NO_EVENT;
        json->state = OXI_REPLY_WANT_COMMA;
        return OXI_REPLY_VALUE_ENDS;
    case OXI_REPLY_IN_NUMBER: /* its form is left to the strict reader */
        if (oxi_is_digit(c) || (c && strchr("+-.eE", c))) return OXI_REPLY_NO_EVENT;
        json->number_ended = true;
        json->state = OXI_REPLY_WANT_COMMA;
        break;
    default: break;
    }
    return oxi_reply_is_space(c) ? OXI_REPLY_NO_EVENT : oxi_reply_json_between(json, c, depth);
}
