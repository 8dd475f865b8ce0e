/* The source as tokens: text between blocks, with its white space as Jinja's trim_blocks and lstrip_blocks
 * leave it, and names, numbers, strings and operators inside of them.
 * Called by the parser, one token at a time. */

/* ---- positions and errors ------------------------------------------------------------------------------ */

/* Line and column of a byte; bytes only go up. */
static void oxi_jinja_locate(oxi_jinja_parser *p, size_t at) {
    for (; p->counted < at; p->counted++) {
        const unsigned char c = (unsigned char)p->source[p->counted];
        if (c == '\n') {
            p->line++;
            p->column = 1;
        } else if ((c & 0xC0) != 0x80)
            p->column++;
    }
    p->j->line = p->line;
    p->j->column = p->column;
}

static void oxi_jinja_syntax(oxi_jinja_parser *p, const char *what) {
    if (p->j->status) return;
    const size_t length = p->end - p->start < 40 ? p->end - p->start : 40;
    p->j->line = p->line;
    p->j->column = p->column;
    if (p->token == OXI_JINJA_TOKEN_END)
        (void)oxi_jinja_fail(p->j, "%s, but the source ends", what);
    else if (p->token == OXI_JINJA_TOKEN_TEXT)
        (void)oxi_jinja_fail(p->j, "%s, not text", what);
    else
        (void)oxi_jinja_fail(p->j, "%s, not '%.*s'", what, (int)length, p->source + p->start);
}

static void oxi_jinja_token_set(oxi_jinja_parser *p, oxi_jinja_token token, size_t start, size_t end) {
    p->token = token;
    p->start = start;
    p->end = p->at = end;
    oxi_jinja_locate(p, start);
}

static void oxi_jinja_bad(oxi_jinja_parser *p, const char *what, size_t at) {
    oxi_jinja_locate(p, at);
    (void)oxi_jinja_fail(p->j, "%s", what);
    p->token = OXI_JINJA_TOKEN_END;
}

static char oxi_jinja_peek(const oxi_jinja_parser *p, size_t at) {
    return at < p->length ? p->source[at] : '\0';
}

static size_t oxi_jinja_skip_space(const oxi_jinja_parser *p, size_t at) {
    while (at < p->length) {
        size_t next = at;
        if (!oxi_jinja_is_space(oxi_utf8_code(p->source, p->length, &next))) break;
        at = next;
    }
    return at;
}

/* ---- text between blocks ------------------------------------------------------------------------------- */

/* The next "{{", "{%" or "{#" from `at` on, or the end of the source. */
static size_t oxi_jinja_find_block(const oxi_jinja_parser *p, size_t at) {
    for (; at < p->length; at++) {
        const char *brace = (const char *)memchr(p->source + at, '{', p->length - at);
        if (!brace) break;
        at = (size_t)(brace - p->source);
        const char c = oxi_jinja_peek(p, at + 1);
        if (c == '{' || c == '%' || c == '#') return at;
    }
    return p->length;
}

/* The end of the text [start, block) before a block that begins with `sign` ('-', '+' or other). */
static size_t oxi_jinja_trim_text(const oxi_jinja_parser *p, size_t start, size_t block, char sign,
                                  bool is_print) {
    size_t end = block;
    if (sign == '-') {
        while (end > start) {
            size_t at = end - 1;
            while (at > start && ((unsigned char)p->source[at] & 0xC0) == 0x80) at--;
            size_t next = at;
            if (!oxi_jinja_is_space(oxi_utf8_code(p->source, p->length, &next))) break;
            end = at;
        }
    } else if (sign != '+' && !is_print) {
        size_t line = end;
        while (line > start && p->source[line - 1] != '\n') line--;
        if ((line > start || p->line_starts) && oxi_jinja_skip_space(p, line) >= end) end = line;
    }
    return end;
}

/* What follows a "%}" or "#}" at `at`, two bytes long: a newline goes with it, and after '-' all space. */
static size_t oxi_jinja_after_block(oxi_jinja_parser *p, size_t at, char sign, bool trims) {
    size_t end = at + 2;
    if (sign == '-')
        end = oxi_jinja_skip_space(p, end);
    else if (trims && sign != '+' && oxi_jinja_peek(p, end) == '\n')
        end++;
    p->line_starts = p->source[end - 1] == '\n';
    return end;
}

static bool oxi_jinja_skip_comment(oxi_jinja_parser *p, size_t block) {
    const char first = oxi_jinja_peek(p, block + 2);
    const size_t start = block + (first == '-' || first == '+' ? 3 : 2);
    for (size_t at = start; at + 1 < p->length; at++)
        if (p->source[at] == '#' && p->source[at + 1] == '}') {
            const char sign = at > start ? p->source[at - 1] : ' ';
            p->at = oxi_jinja_after_block(p, at, sign, true);
            return true;
        }
    oxi_jinja_bad(p, "a comment has no end", block);
    return false;
}

/* Bytes of "{% word %}" at `block`, or 0; *sign is that before its "%}". */
static size_t oxi_jinja_word_block(const oxi_jinja_parser *p, size_t block, const char *word, char *sign) {
    size_t at = block + 2;
    const size_t length = strlen(word);
    if (oxi_jinja_peek(p, block) != '{' || oxi_jinja_peek(p, block + 1) != '%') return 0;
    if (oxi_jinja_peek(p, at) == '-' || oxi_jinja_peek(p, at) == '+') at++;
    at = oxi_jinja_skip_space(p, at);
    if (p->length - at < length || memcmp(p->source + at, word, length) != 0) return 0;
    at = oxi_jinja_skip_space(p, at + length);
    *sign = oxi_jinja_peek(p, at);
    if (*sign == '-' || *sign == '+') at++;
    if (oxi_jinja_peek(p, at) != '%' || oxi_jinja_peek(p, at + 1) != '}') return 0;
    return at - block;
}

/* "{% raw %}" at `block`: its text is the token. */
static void oxi_jinja_raw(oxi_jinja_parser *p, size_t block, size_t bytes, char sign) {
    const size_t start = oxi_jinja_after_block(p, block + bytes, sign, false);
    for (size_t at = start; at < p->length; at++) {
        char end_sign = ' ';
        const size_t end_bytes = p->source[at] == '{' ? oxi_jinja_word_block(p, at, "endraw", &end_sign) : 0;
        if (!end_bytes) continue;
        const size_t end = oxi_jinja_trim_text(p, start, at, oxi_jinja_peek(p, at + 2), false);
        oxi_jinja_token_set(p, OXI_JINJA_TOKEN_TEXT, start, end);
        p->value = oxi_jinja_text(p->source + start, end - start);
        p->at = oxi_jinja_after_block(p, at + end_bytes, end_sign, true);
        return;
    }
    oxi_jinja_bad(p, "a raw block has no end", block);
}

/* A token of text, or the start of a block. Comments are no tokens. */
static void oxi_jinja_next_outside(oxi_jinja_parser *p) {
    while (!p->j->status) {
        const size_t start = p->at, block = oxi_jinja_find_block(p, start);
        const bool is_print = oxi_jinja_peek(p, block + 1) == '{';
        const char sign = oxi_jinja_peek(p, block + 2);
        const size_t end = block == p->length ? block : oxi_jinja_trim_text(p, start, block, sign, is_print);
        if (end > start) {
            oxi_jinja_token_set(p, OXI_JINJA_TOKEN_TEXT, start, end);
            p->value = oxi_jinja_text(p->source + start, end - start);
            p->at = block;
            p->line_starts = false;
            return;
        }
        if (block == p->length) {
            oxi_jinja_token_set(p, OXI_JINJA_TOKEN_END, block, block);
            return;
        }
        if (p->source[block + 1] == '#') {
            if (!oxi_jinja_skip_comment(p, block)) return;
            continue;
        }
        char raw_sign = ' ';
        const size_t raw = is_print ? 0 : oxi_jinja_word_block(p, block, "raw", &raw_sign);
        if (raw && raw_sign != '+') {
            oxi_jinja_raw(p, block, raw, raw_sign);
            return;
        }
        const size_t head = sign == '-' || sign == '+' ? 3 : 2; /* '+' is no sign of what is printed, too */
        oxi_jinja_token_set(p, is_print ? OXI_JINJA_TOKEN_PRINT_BEGIN : OXI_JINJA_TOKEN_BLOCK_BEGIN, block,
                            block + head);
        p->inside = true;
        p->inside_print = is_print;
        p->line_starts = false;
        return;
    }
}

/* ---- inside a block ------------------------------------------------------------------------------------ */

static bool oxi_jinja_is_name_byte(char c) {
    return oxi_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* The end of the block at p->at, if it is one. */
static bool oxi_jinja_close(oxi_jinja_parser *p) {
    const char first = p->inside_print ? '}' : '%';
    size_t at = p->at;
    char sign = oxi_jinja_peek(p, at);
    if (sign == '-' || (sign == '+' && !p->inside_print)) at++;
    if (oxi_jinja_peek(p, at) != first || oxi_jinja_peek(p, at + 1) != '}') return false;
    const size_t end = oxi_jinja_after_block(p, at, sign, !p->inside_print);
    oxi_jinja_token_set(p, OXI_JINJA_TOKEN_CLOSE, p->at, at + 2);
    p->at = end;
    p->inside = false;
    return true;
}

/* A code point of `count` hexadecimal digits at `at`; -1: they are not. */
static int64_t oxi_jinja_hex(const oxi_jinja_parser *p, size_t at, int count) {
    int64_t code = 0;
    for (int i = 0; i < count; i++) {
        const int digit = oxi_hex_digit(oxi_jinja_peek(p, at + (size_t)i));
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* The escape whose backslash is at `at`, into the capture; returns the byte after it, 0 if it is bad. */
static size_t oxi_jinja_escape(oxi_jinja_parser *p, size_t at) {
    static const char letters[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    const char c = oxi_jinja_peek(p, at + 1);
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c == '\n') return at + 2;
    if (letter) {
        oxi_jinja_write(p->j, &meanings[letter - letters], 1);
        return at + 2;
    }
    if (c >= '0' && c <= '7') {
        uint32_t code = 0;
        size_t end = at + 1;
        for (; end < at + 4 && oxi_jinja_peek(p, end) >= '0' && oxi_jinja_peek(p, end) <= '7'; end++)
            code = code * 8 + (uint32_t)(p->source[end] - '0');
        oxi_jinja_write_code(p->j, code);
        return end;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (!digits) {
        oxi_jinja_write(p->j, "\\", 1);
        return c == 'N' ? 0 : at + 1;
    }
    const int64_t code = oxi_jinja_hex(p, at + 2, digits);
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
    oxi_jinja_write_code(p->j, (uint32_t)code);
    return at + 2 + (size_t)digits;
}

static void oxi_jinja_string_token(oxi_jinja_parser *p) {
    const char quote = p->source[p->at];
    const size_t start = p->at, capture = p->j->out_length;
    size_t at = start + 1, plain = at;
    while (at < p->length && p->source[at] != quote) {
        if (p->source[at] != '\\') {
            at++;
            continue;
        }
        oxi_jinja_write(p->j, p->source + plain, at - plain);
        const size_t end = oxi_jinja_escape(p, at);
        if (!end) {
            oxi_jinja_bad(p, "a bad escape in a string", at);
            return;
        }
        plain = end;
        /* what is behind an unknown escape's backslash is text, but no quote and no escape */
        at = end == at + 1 ? end + 1 : end;
    }
    if (at >= p->length) {
        oxi_jinja_bad(p, "a string has no end", start);
        return;
    }
    if (plain == start + 1) {
        p->value = oxi_jinja_text(p->source + plain, at - plain);
    } else {
        oxi_jinja_write(p->j, p->source + plain, at - plain);
        p->value = oxi_jinja_take(p->j, capture);
    }
    oxi_jinja_token_set(p, OXI_JINJA_TOKEN_STRING, start, at + 1);
}

/* Digits of a base from `at` on, with single underscores between them, into *value. Returns their end. */
static size_t oxi_jinja_whole(oxi_jinja_parser *p, size_t at, unsigned base, uint64_t *value) {
    *value = 0;
    for (;; at++) {
        if (oxi_jinja_peek(p, at) == '_') at++;
        const int digit = oxi_hex_digit(oxi_jinja_peek(p, at));
        if (digit < 0 || (unsigned)digit >= base) return at - (at > 0 && p->source[at - 1] == '_');
        if (*value > ((uint64_t)INT64_MAX - (unsigned)digit) / base) {
            oxi_jinja_bad(p, "an integer of more than 64 bits", p->at);
            return at;
        }
        *value = *value * base + (unsigned)digit;
    }
}

/* The end of digits, with single underscores between them. */
static size_t oxi_jinja_digits_end(const oxi_jinja_parser *p, size_t at) {
    while (oxi_is_digit(oxi_jinja_peek(p, at)) ||
           (oxi_jinja_peek(p, at) == '_' && oxi_is_digit(oxi_jinja_peek(p, at + 1))))
        at++;
    return at;
}

static OXI_NOINLINE double oxi_jinja_float_of(const char *text, size_t length) {
    char digits[64];
    size_t count = 0, end = 0;
    int64_t exponent = 0;
    for (; end < length && text[end] != 'e' && text[end] != 'E'; end++)
        if (text[end] != '_' && count < sizeof digits) digits[count++] = text[end];
    if (end < length) {
        const bool minus = text[end + 1] == '-';
        for (size_t i = end + 1; i < length; i++)
            if (oxi_is_digit(text[i]) && exponent < 1000000) exponent = exponent * 10 + (text[i] - '0');
        if (minus) exponent = -exponent;
    }
    return oxi_json_double(digits, digits + count, exponent);
}

static void oxi_jinja_number_token(oxi_jinja_parser *p) {
    const size_t start = p->at;
    const char c = oxi_jinja_peek(p, start + 1);
    const unsigned base = p->source[start] != '0' ? 10
                          : c == 'x' || c == 'X'  ? 16
                          : c == 'o' || c == 'O'  ? 8
                          : c == 'b' || c == 'B'  ? 2
                                                  : 10;
    size_t end = oxi_jinja_digits_end(p, start);
    uint64_t whole;
    bool is_float = false;
    if (base == 10) {
        if (oxi_jinja_peek(p, end) == '.' && oxi_is_digit(oxi_jinja_peek(p, end + 1))) {
            is_float = true;
            end = oxi_jinja_digits_end(p, end + 1);
        }
        if (oxi_jinja_peek(p, end) == 'e' || oxi_jinja_peek(p, end) == 'E') {
            size_t at = end + 1;
            if (oxi_jinja_peek(p, at) == '-' || oxi_jinja_peek(p, at) == '+') at++;
            if (oxi_is_digit(oxi_jinja_peek(p, at))) {
                is_float = true;
                end = oxi_jinja_digits_end(p, at);
            }
        }
    }
    if (is_float && end - start > 60) {
        oxi_jinja_bad(p, "a number of more than 60 characters", start);
    } else if (is_float) {
        p->value = oxi_jinja_float(oxi_jinja_float_of(p->source + start, end - start));
    } else {
        end = oxi_jinja_whole(p, base == 10 ? start : start + 2, base, &whole);
        p->value = oxi_jinja_int((int64_t)whole);
    }
    if (!p->j->status) oxi_jinja_token_set(p, OXI_JINJA_TOKEN_NUMBER, start, end);
}

static void oxi_jinja_operator_token(oxi_jinja_parser *p) {
    static const char *const two[] = {"==", "!=", "<=", ">=", "//", "**"};
    const char c = p->source[p->at];
    size_t length = c && strchr("+-/*%~[](){}><=.:|,;", c) ? 1 : 0;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (c == two[i][0] && oxi_jinja_peek(p, p->at + 1) == two[i][1]) length = 2;
    if (!length) {
        oxi_jinja_bad(p, "a character that means nothing here", p->at);
        return;
    }
    if (c == '(' || c == '[' || c == '{') p->brackets++;
    if (c == ')' || c == ']' || c == '}') p->brackets--;
    if (p->brackets < 0) {
        oxi_jinja_bad(p, "a bracket that was not opened", p->at);
        return;
    }
    oxi_jinja_token_set(p, OXI_JINJA_TOKEN_OPERATOR, p->at, p->at + length);
}

static void oxi_jinja_next(oxi_jinja_parser *p) {
    if (p->j->status) {
        p->token = OXI_JINJA_TOKEN_END;
        return;
    }
    if (!p->inside) {
        oxi_jinja_next_outside(p);
        return;
    }
    /* '-' before the end of a block belongs to it */
    p->at = oxi_jinja_skip_space(p, p->at);
    if (p->at >= p->length) {
        oxi_jinja_token_set(p, OXI_JINJA_TOKEN_END, p->at, p->at);
        return;
    }
    const char c = p->source[p->at];
    if (p->brackets == 0 && oxi_jinja_close(p)) return;
    if (c == '"' || c == '\'')
        oxi_jinja_string_token(p);
    else if (oxi_is_digit(c))
        oxi_jinja_number_token(p);
    else if (oxi_jinja_is_name_byte(c)) {
        size_t end = p->at;
        while (end < p->length && oxi_jinja_is_name_byte(p->source[end])) end++;
        p->value = oxi_jinja_text(p->source + p->at, end - p->at);
        oxi_jinja_token_set(p, OXI_JINJA_TOKEN_NAME, p->at, end);
    } else
        oxi_jinja_operator_token(p);
}

static bool oxi_jinja_at(const oxi_jinja_parser *p, const char *text) {
    const size_t length = strlen(text);
    return !p->j->status && (p->token == OXI_JINJA_TOKEN_NAME || p->token == OXI_JINJA_TOKEN_OPERATOR) &&
           p->end - p->start == length && memcmp(p->source + p->start, text, length) == 0;
}

static bool oxi_jinja_skip(oxi_jinja_parser *p, const char *text) {
    if (!oxi_jinja_at(p, text)) return false;
    oxi_jinja_next(p);
    return true;
}

static bool oxi_jinja_expect(oxi_jinja_parser *p, const char *text) {
    if (oxi_jinja_skip(p, text)) return true;
    char what[48];
    (void)snprintf(what, sizeof what, "expected '%.30s'", text);
    oxi_jinja_syntax(p, what);
    return false;
}
