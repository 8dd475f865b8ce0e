/* UTF-8 for templates and tokenizers: decoding; what is well-formed is files/json.c's to say. */

static uint32_t oxi_utf8_code(const char *text, size_t length, size_t *at) {
    const unsigned char *p = (const unsigned char *)text + *at;
    const size_t left = length - *at;
    if (p[0] < 0xC0 || left < 2) {
        *at += 1;
        return p[0];
    }
    if (p[0] < 0xE0 || left < 3) {
        *at += 2;
        return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3Fu);
    }
    if (p[0] < 0xF0 || left < 4) {
        *at += 3;
        return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3Fu);
    }
    *at += 4;
    return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 |
           (p[3] & 0x3Fu);
}

/* How many bytes of what is no character one U+FFFD stands for: the longest start of a character, or one.
 * source Unicode 16, 3.9 */
static size_t oxi_utf8_broken_length(const unsigned char *p, size_t left) {
    size_t length = 1;
    const size_t full = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    for (size_t more = 2; more < full && more <= left && p[0] >= 0xC2; more++) {
        unsigned char whole[4] = {p[0], p[1], 0x80, 0x80}; /* is it the start of any character? */
        if (more == 3) whole[2] = p[2];
        if (oxi_utf8_length(whole, full) != full) break;
        length = more;
    }
    return length;
}
