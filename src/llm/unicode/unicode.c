/* Properties and normal forms of characters, unpacked from the strings of properties.inc.
 * Hangul syllables are computed (Unicode 16, section 3.12). */
#include "llm/unicode/properties.inc"
#include "llm/unicode/older.inc"
#include "llm/unicode/classes.inc"

/* ---- unpacking ----------------------------------------------------------------------------------------- */

/* A place in a packed text, which is cut into lines. */
typedef struct oxi_packed {
    const char *const *line;
    const char *at;
} oxi_packed;

static bool oxi_packed_ends(oxi_packed *p) {
    while (*p->line && (!p->at || !*p->at)) p->at = p->at ? *++p->line : *p->line;
    return !*p->line;
}

static uint32_t oxi_unpack_number(oxi_packed *p) {
    uint32_t value = 0;
    for (int shift = 0;; shift += 5) {
        if (oxi_packed_ends(p)) return value;
        const char c = *p->at++;
        const uint32_t digit = (uint32_t)(c == '+'   ? 62
                                          : c == '/' ? 63
                                          : c < 'A'  ? c - '0' + 52
                                          : c < 'a'  ? c - 'A'
                                                     : c - 'a' + 26);
        value |= (digit & 31) << shift;
        if (digit < 32) return value;
    }
}

static int32_t oxi_unpack_signed(oxi_packed *p) {
    const uint32_t value = oxi_unpack_number(p);
    return value & 1 ? -(int32_t)(value / 2) - 1 : (int32_t)(value / 2);
}

static bool oxi_in_ranges(const uint32_t (*ranges)[2], size_t count, uint32_t code) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > ranges[middle][1])
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && code >= ranges[low][0];
}

#define OXI_OLDER(name, code) \
    oxi_in_ranges(oxi_older_##name, sizeof oxi_older_##name / sizeof *oxi_older_##name, code)

/* Runs of length * kinds + value, to pages of which those of one value are stored once. `older`: what came
 * with Unicode 16 has the value 0. */
static ox_status oxi_property_open(oxi_property *property, const char *const *text, uint32_t kinds,
                                   bool older) {
    oxi_packed packed = {text, NULL};
    int32_t plain[256];
    uint8_t values[256];
    uint32_t left = 0, value = 0;
    for (int i = 0; i < 256; i++) plain[i] = -1;
    for (uint32_t page = 0; page < 0x1100; page++) {
        bool same = true;
        for (uint32_t i = 0; i < 256; i++, left--) {
            if (left == 0) {
                const uint32_t number = oxi_unpack_number(&packed);
                left = number / kinds;
                value = number % kinds;
            }
            values[i] = older && value && OXI_OLDER(gguf, page << 8 | i) ? 0 : (uint8_t)value;
            same &= values[i] == values[0];
        }
        if (same && plain[values[0]] >= 0) {
            property->page[page] = (uint16_t)plain[values[0]];
            continue;
        }
        void *grown = oxi_grow(property->values, &property->room, property->bytes + 256, 1, false);
        if (!grown) return OX_ERR_NOMEM;
        property->values = (uint8_t *)grown;
        memcpy(property->values + property->bytes, values, 256);
        property->page[page] = (uint16_t)(property->bytes / 256);
        if (same) plain[values[0]] = property->page[page];
        property->bytes += 256;
    }
    return OX_OK;
}

static uint8_t oxi_property_of(const oxi_property *property, uint32_t code) {
    return property->values[(size_t)property->page[code >> 8] * 256 + (code & 255)];
}

static uint32_t oxi_category_bit(const oxi_unicode *unicode, uint32_t code) {
    return OXI_IN(oxi_property_of(&unicode->category, code));
}

static bool oxi_is_white_space(uint32_t code) {
    return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
           code == 0x205F || code == 0x3000;
}

static int oxi_compare_compositions(const void *a, const void *b) {
    const oxi_composition *x = (const oxi_composition *)a, *y = (const oxi_composition *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second;
}

static ox_status oxi_unicode_open_forms(oxi_unicode *u) {
    oxi_packed packed = {oxi_unicode_decompositions_text, NULL};
    uint32_t code = 0;
    int32_t before = 0;
    size_t parts = 0;
    while (!oxi_packed_ends(&packed)) {
        void *rows = oxi_grow(u->decompositions, &u->decomposition_room, u->decomposition_count + 1,
                              sizeof *u->decompositions, false);
        if (rows) u->decompositions = (oxi_decomposition *)rows;
        code += oxi_unpack_number(&packed);
        const uint32_t facts = oxi_unpack_number(&packed);
        void *all = oxi_grow(u->parts, &u->part_room, parts + facts / 4, sizeof *u->parts, false);
        if (all) u->parts = (uint32_t *)all;
        void *made = oxi_grow(u->compositions, &u->composition_room, u->composition_count + 1,
                              sizeof *u->compositions, false);
        if (made) u->compositions = (oxi_composition *)made;
        if (!rows || !all || !made) return OX_ERR_NOMEM;
        oxi_decomposition *row = &u->decompositions[u->decomposition_count++];
        row->code = code;
        row->start = (uint32_t)parts & 0xFFFFFF;
        row->count = (facts / 4) & 63;
        row->composes = facts >> 1 & 1;
        row->compatible = facts & 1;
        for (uint32_t i = 0; i < facts / 4; i++) {
            before += oxi_unpack_signed(&packed);
            u->parts[parts++] = (uint32_t)before;
        }
        before = (int32_t)u->parts[row->start];
        if (row->composes) {
            oxi_composition *pair = &u->compositions[u->composition_count++];
            pair->first = u->parts[row->start];
            pair->second = u->parts[row->start + 1];
            pair->code = code;
        }
    }
    qsort(u->compositions, u->composition_count, sizeof *u->compositions, oxi_compare_compositions);
    return oxi_property_open(&u->combining, oxi_unicode_combining_text, 256, false);
}

static ox_status oxi_unicode_open(oxi_unicode *unicode, unsigned with) {
    ox_status status = OX_OK;
    if (!unicode->category.values)
        status = oxi_property_open(&unicode->category, oxi_unicode_categories_text, OXI_CATEGORY_COUNT,
                                   (with & OXI_UNICODE_15) != 0);
    if (!status && (with & OXI_UNICODE_NORMAL_FORMS) && !unicode->combining.values)
        status = oxi_unicode_open_forms(unicode);
    if (!status && (with & OXI_UNICODE_SCRIPTS) && !unicode->script.values)
        status = oxi_property_open(&unicode->script, oxi_unicode_scripts_text, 256, false);
    return status;
}

static void oxi_unicode_close(oxi_unicode *u) {
    oxi_free(u->category.values, u->category.room);
    oxi_free(u->combining.values, u->combining.room);
    oxi_free(u->script.values, u->script.room);
    oxi_free(u->decompositions, u->decomposition_room * sizeof *u->decompositions);
    oxi_free(u->compositions, u->composition_room * sizeof *u->compositions);
    oxi_free(u->parts, u->part_room * sizeof *u->parts);
}

/* ---- normal forms -------------------------------------------------------------------------------------- */

enum {
    OXI_HANGUL = 0xAC00,
    OXI_HANGUL_L = 0x1100,
    OXI_HANGUL_V = 0x1161,
    OXI_HANGUL_T = 0x11A7,
    OXI_HANGUL_COUNT = 11172
};

static const oxi_decomposition *oxi_decomposition_of(const oxi_unicode *u, uint32_t code) {
    size_t low = 0, high = u->decomposition_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (u->decompositions[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == u->decomposition_count || u->decompositions[low].code != code) return NULL;
    return code > 0x3000 && OXI_OLDER(forms, code) ? NULL : &u->decompositions[low];
}

/* 0 = a starter. */
static uint8_t oxi_combining_of(const oxi_unicode *u, uint32_t code) {
    if (code < 0x300) return 0;
    const uint8_t combining = oxi_property_of(&u->combining, code);
    return combining && OXI_OLDER(combining, code) ? 0 : combining;
}

/* Decompositions of decompositions, from the first character on: what is left to do stands behind what is
 * done. */
static size_t oxi_decompose(const oxi_unicode *u, uint32_t code, bool compatible, uint32_t *out) {
    uint32_t stack[2 * OXI_MOST_PARTS];
    size_t depth = 1, count = 0;
    stack[0] = code;
    while (depth > 0) {
        const uint32_t c = stack[--depth];
        const oxi_decomposition *row = c < 0xA0 ? NULL : oxi_decomposition_of(u, c);
        if (c - OXI_HANGUL < OXI_HANGUL_COUNT && count + 3 <= OXI_MOST_PARTS) {
            const uint32_t syllable = c - OXI_HANGUL;
            out[count++] = OXI_HANGUL_L + syllable / 588;
            out[count++] = OXI_HANGUL_V + syllable % 588 / 28;
            if (syllable % 28) out[count++] = OXI_HANGUL_T + syllable % 28;
        } else if (row && (compatible || !row->compatible) && depth + row->count <= 2 * OXI_MOST_PARTS) {
            for (uint32_t i = row->count; i > 0; i--) stack[depth++] = u->parts[row->start + i - 1];
        } else if (count < OXI_MOST_PARTS) {
            out[count++] = c;
        }
    }
    return count;
}

static uint32_t oxi_compose(const oxi_unicode *u, uint32_t first, uint32_t second) {
    if (first - OXI_HANGUL_L < 19 && second - OXI_HANGUL_V < 21)
        return OXI_HANGUL + ((first - OXI_HANGUL_L) * 21 + (second - OXI_HANGUL_V)) * 28;
    if (first - OXI_HANGUL < OXI_HANGUL_COUNT && (first - OXI_HANGUL) % 28 == 0 &&
        second - (OXI_HANGUL_T + 1) < 27)
        return first + (second - OXI_HANGUL_T);
    const oxi_composition wanted = {first, second, 0};
    const oxi_composition *found =
        u->composition_count
            ? (const oxi_composition *)bsearch(&wanted, u->compositions, u->composition_count, sizeof wanted,
                                               oxi_compare_compositions)
            : NULL;
    return found && !(found->code > 0x3000 && OXI_OLDER(forms, found->code)) ? found->code : 0;
}
