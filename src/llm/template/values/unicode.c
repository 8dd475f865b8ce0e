/* Characters: white space, what Python prints as it is, upper and lower case.
 * The tables are of Unicode 16 (tools/unicode_tables.py); characters whose other case is more than one
 * character keep theirs.
 * Called by methods, filters and by what prints values. */

static size_t oxi_jinja_characters(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static size_t oxi_jinja_byte_of(const char *text, size_t length, size_t index) {
    size_t at = 0;
    for (; at < length; at++)
        if (((unsigned char)text[at] & 0xC0) != 0x80 && index-- == 0) break;
    return at;
}

static bool oxi_jinja_is_space(uint32_t code) {
    return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
           code == 0x202F || code == 0x205F || code == 0x3000;
}

/* Characters first, first + step .. last have their other case `delta` away. */
typedef struct oxi_jinja_case {
    uint32_t first, last, step;
    int32_t delta;
} oxi_jinja_case;

/* Ranges of what Python's repr escapes, from 0x7f on; upper and lower cases. */
#include "llm/template/values/unicode_tables.inc"

static bool oxi_jinja_is_printable(uint32_t code) {
    const size_t count = sizeof oxi_jinja_unprintable / sizeof *oxi_jinja_unprintable;
    if (code < 0x7F) return code >= 0x20;
    return !oxi_in_ranges(oxi_jinja_unprintable, count, code);
}

static uint32_t oxi_jinja_other_case(const oxi_jinja_case *cases, size_t count, uint32_t code) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > cases[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || code < cases[low].first || (code - cases[low].first) % cases[low].step) return code;
    return (uint32_t)((int32_t)code + cases[low].delta);
}

static uint32_t oxi_jinja_to_upper(uint32_t code) {
    if (code < 0x80) return code >= 'a' && code <= 'z' ? code - 32 : code;
    return oxi_jinja_other_case(oxi_jinja_upper_cases,
                                sizeof oxi_jinja_upper_cases / sizeof *oxi_jinja_upper_cases, code);
}

static uint32_t oxi_jinja_to_lower(uint32_t code) {
    if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
    return oxi_jinja_other_case(oxi_jinja_lower_cases,
                                sizeof oxi_jinja_lower_cases / sizeof *oxi_jinja_lower_cases, code);
}
