#!/usr/bin/env python3
"""Writes the tables of characters from the Unicode data that this Python has (3.14: Unicode 16).

    python3 tools/unicode_tables.py > src/llm/template/values/unicode_tables.inc
        which characters Python's repr escapes, and upper and lower case
    python3 tools/unicode_tables.py properties > src/llm/unicode/properties.inc
        general categories, combining classes, decompositions, as strings of numbers: each letter
        holds five bits, the lowest first, and whether more follow (ALPHABET)
"""
import sys
import unicodedata

LAST = 0x10FFFF
WIDTH = 110
ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
CATEGORIES = ('Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs'
              ).split()



def unprintable():
    """Ranges [first, last] from 0x7f on."""
    ranges = []
    for code in range(0x7F, LAST + 1):
        if chr(code).isprintable():
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ranges


def cases(change):
    """Rows [first, last, step, delta] of characters whose other case is one character."""
    rows = []
    for code in range(0x80, LAST + 1):
        other = '' if 0xD800 <= code < 0xE000 else change(chr(code))
        if len(other) != 1 or ord(other) == code:
            continue
        delta = ord(other) - code
        if rows and rows[-1][3] == delta:
            first, last, step, _ = rows[-1]
            if code - last == step or (first == last and code - last <= 2):
                rows[-1][1:3] = [code, code - last]
                continue
        rows.append([code, code, 1, delta])
    return rows


def table(head, rows, form):
    lines = ['   ']
    for row in rows:
        cell = f' {form.format(*row)},'
        if len(lines[-1] + cell) > WIDTH:
            lines.append('   ')
        lines[-1] += cell
    return '\n'.join([head + ' = {'] + lines + ['};'])


def number(value):
    text = ''
    while True:
        text += ALPHABET[(value & 31) | (32 if value > 31 else 0)]
        value >>= 5
        if not value:
            return text


def signed(value):
    return number(2 * value if value >= 0 else -2 * value - 1)


def runs(of, kinds):
    """length * kinds + value of each run of equal values."""
    text, start = '', 0
    for code in range(1, LAST + 2):
        if code > LAST or of(code) != of(start):
            text += number((code - start) * kinds + of(start))
            start = code
    return text


def decompositions():
    """For each but Hangul: how far behind the last one, 4 * its length + 2 * it composes + it is one of
    compatibility; its characters: the first from that of the last one, each other from the one before it."""
    text, last, before = '', 0, 0
    for code in range(LAST + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if not parts or 0xAC00 <= code < 0xD7A4:
            continue
        kind = parts.pop(0) if parts[0][0] == '<' else None
        codes = [int(part, 16) for part in parts]
        composes = kind is None and len(codes) == 2 and unicodedata.normalize('NFC', chr(code)) == chr(code)
        text += number(code - last) + number(4 * len(codes) + 2 * composes + (kind is not None))
        last, first = code, codes[0]
        for other in codes:
            text += signed(other - before)
            before = other
        before = first
    return text


def string(head, text):
    lines = [f'    "{text[i:i + WIDTH - 7]}",' for i in range(0, len(text), WIDTH - 7)]
    return '\n'.join([head + ' = {'] + lines + ['    NULL};'])


def properties():
    print(f'/* Written by tools/unicode_tables.py properties from Unicode {unicodedata.unidata_version}. */')
    combining = [unicodedata.combining(chr(code)) for code in range(LAST + 1)]
    category = [CATEGORIES.index(unicodedata.category(chr(code))) for code in range(LAST + 1)]
    for name, text in (('categories', runs(category.__getitem__, len(CATEGORIES))),
                       ('combining', runs(combining.__getitem__, 256)),
                       ('decompositions', decompositions())):
        print()
        print(string(f'static const char *const oxi_unicode_{name}_text[]', text))


def main():
    print(f'/* Written by tools/unicode_tables.py from Unicode {unicodedata.unidata_version}. */')
    print()
    print(table('static const uint32_t oxi_jinja_unprintable[][2]', unprintable(), '{{0x{:x}, 0x{:x}}}'))
    for name, change in (('upper', str.upper), ('lower', str.lower)):
        print()
        head = f'static const oxi_jinja_case oxi_jinja_{name}_cases[]'
        print(table(head, cases(change), '{{0x{:x}, 0x{:x}, {}, {}}}'))


if sys.argv[1:] == ['properties']:
    properties()
else:
    main()
