/* Characters: UTF-8, properties, normal forms. Tables are packed in properties.inc (Unicode 16,
 * tools/unicode_tables.py) and unpacked into an oxi_unicode by whoever asks for properties.
 * Used by templates and tokenizers. */
#ifndef OX_LLM_UNICODE_H
#define OX_LLM_UNICODE_H

/* The character at text[*at] of well-formed UTF-8, and *at behind it. The end is never read past. */
static uint32_t oxi_utf8_code(const char *text, size_t length, size_t *at);

/* General categories in the order of the tool's CATEGORIES. */
typedef enum oxi_category {
    OXI_CN,
    OXI_CC,
    OXI_CF,
    OXI_CO,
    OXI_CS,
    OXI_LL,
    OXI_LM,
    OXI_LO,
    OXI_LT,
    OXI_LU,
    OXI_MC,
    OXI_ME,
    OXI_MN,
    OXI_ND,
    OXI_NL,
    OXI_NO,
    OXI_PC,
    OXI_PD,
    OXI_PE,
    OXI_PF,
    OXI_PI,
    OXI_PO,
    OXI_PS,
    OXI_SC,
    OXI_SK,
    OXI_SM,
    OXI_SO,
    OXI_ZL,
    OXI_ZP,
    OXI_ZS,
    OXI_CATEGORY_COUNT
} oxi_category;
#define OXI_IN(category) ((uint32_t)1 << (category))
#define OXI_OTHERS (OXI_IN(OXI_CN) | OXI_IN(OXI_CC) | OXI_IN(OXI_CF) | OXI_IN(OXI_CO) | OXI_IN(OXI_CS))
#define OXI_LETTERS (OXI_IN(OXI_LL) | OXI_IN(OXI_LM) | OXI_IN(OXI_LO) | OXI_IN(OXI_LT) | OXI_IN(OXI_LU))
#define OXI_MARKS (OXI_IN(OXI_MC) | OXI_IN(OXI_ME) | OXI_IN(OXI_MN))
#define OXI_NUMBERS (OXI_IN(OXI_ND) | OXI_IN(OXI_NL) | OXI_IN(OXI_NO))
#define OXI_PUNCTUATION                                                                                    \
    (OXI_IN(OXI_PC) | OXI_IN(OXI_PD) | OXI_IN(OXI_PE) | OXI_IN(OXI_PF) | OXI_IN(OXI_PI) | OXI_IN(OXI_PO) | \
     OXI_IN(OXI_PS))
#define OXI_SYMBOLS (OXI_IN(OXI_SC) | OXI_IN(OXI_SK) | OXI_IN(OXI_SM) | OXI_IN(OXI_SO))
#define OXI_SEPARATORS (OXI_IN(OXI_ZL) | OXI_IN(OXI_ZP) | OXI_IN(OXI_ZS))

/* A number for each character: that of its page of 256, in one of the pages that there are. */
typedef struct oxi_property {
    uint16_t page[0x1100];
    uint8_t *values; /* [room of bytes] */
    size_t bytes, room;
} oxi_property;

typedef struct oxi_decomposition {
    uint32_t code;
    uint32_t start : 24, count : 6, composes : 1, compatible : 1; /* of `parts` */
} oxi_decomposition;

typedef struct oxi_composition {
    uint32_t first, second, code;
} oxi_composition;

typedef struct oxi_unicode {
    oxi_property category, combining, script;
    oxi_decomposition *decompositions; /* by code */
    oxi_composition *compositions;     /* by first, second */
    uint32_t *parts;
    size_t decomposition_room, composition_room, part_room, decomposition_count, composition_count;
} oxi_unicode;

enum {
    OXI_UNICODE_NORMAL_FORMS = 1,
    OXI_UNICODE_SCRIPTS = 2,
    OXI_UNICODE_15 = 4 /* categories as Unicode 15.1 has them; said when they are opened first */
};
/* Categories, and what is asked for; on error oxi_unicode_close is still due. */
static ox_status oxi_unicode_open(oxi_unicode *unicode, unsigned with);
static void oxi_unicode_close(oxi_unicode *unicode);
static uint8_t oxi_property_of(const oxi_property *property, uint32_t code);
/* One bit. */
static uint32_t oxi_category_bit(const oxi_unicode *unicode, uint32_t code);
static bool oxi_is_white_space(uint32_t code); /* White_Space */

/* A name, and its part of the ranges of classes.inc: the first one, how many. */
typedef struct oxi_named_range {
    const char *name;
    uint32_t first, count;
} oxi_named_range;

enum { OXI_MOST_PARTS = 18 };
/* The full decomposition of a character, at most OXI_MOST_PARTS; itself if it has none. Returns how many. */
static size_t oxi_decompose(const oxi_unicode *unicode, uint32_t code, bool compatible, uint32_t *out);
/* The character that two make, 0 = none. */
static uint32_t oxi_compose(const oxi_unicode *unicode, uint32_t first, uint32_t second);

#endif
