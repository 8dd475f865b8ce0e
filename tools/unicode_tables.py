#!/usr/bin/env python3
"""Writes the tables of characters from the Unicode data that this Python has (3.14: Unicode 16).

    python3 tools/unicode_tables.py > src/llm/template/values/unicode_tables.inc
        which characters Python's repr escapes, and upper and lower case
    python3 tools/unicode_tables.py properties > src/llm/unicode/properties.inc
        general categories, combining classes, decompositions, as strings of numbers: each letter
        holds five bits, the lowest first, and whether more follow (ALPHABET)
    python3 tools/unicode_tables.py classes > src/llm/unicode/classes.inc
        what patterns have beyond categories: derived properties, scripts, cases that are neither the lower
        nor the upper one. Asks the Oniguruma in Hugging Face's tokenizers (python3-tokenizers 0.23: Unicode
        16) about every character
"""
import sys
import unicodedata

LAST = 0x10FFFF
WIDTH = 110
ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
CATEGORIES = ('Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs'
              ).split()
# Classes of patterns: its name in the table, the pattern, and the categories that src/llm/tokenizer/pattern
# gives it, which its ranges leave out
CLASSES = (
    [('alphabetic', r'\p{Alphabetic}', 'Ll Lm Lo Lt Lu Nl'), ('uppercase', r'\p{Uppercase}', 'Lu'),
     ('lowercase', r'\p{Lowercase}', 'Ll')] +
    [(script.lower(), rf'\p{{{script}}}', '') for script in (
        'Han Hiragana Katakana Hangul Thai Latin Greek Cyrillic Arabic Hebrew Devanagari Bengali Gurmukhi '
        'Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Lao Tibetan Myanmar Georgian Armenian '
        'Ethiopic Khmer Mongolian Bopomofo Cherokee Yi Syriac Thaana Inherited').split()] +
    [('word', r'\w', 'Ll Lm Lo Lt Lu Mc Me Mn Nd Nl Pc'),
     ('circled', r'[[:word:]]', 'Ll Lm Lo Lt Lu Mc Me Mn Nd Nl Pc'),
     ('xdigit', r'[[:xdigit:]]', ''), ('ascii', r'[[:ascii:]]', ''), ('any', r'\p{Any}', ''),
     ('blank', r'[[:blank:]]', 'Zs')])
CHARACTERS = [code for code in range(LAST + 1) if not 0xD800 <= code < 0xE000]


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


def matches(pattern, codes):
    """Those of the characters that the pattern matches: it is told to take them away."""
    from tokenizers import Regex, normalizers
    remove = normalizers.Replace(Regex(pattern), '')
    found = set()
    for start in range(0, len(codes), 4000):
        part = codes[start:start + 4000]
        left = set(remove.normalize_str(''.join(map(chr, part))))
        found.update(code for code in part if chr(code) not in left)
    return found


def class_ranges(name, pattern, categories):
    """Ranges [first, last]; surrogates, which are no text, part none."""
    found = matches(pattern, CHARACTERS)
    known = {code for code in CHARACTERS if unicodedata.category(chr(code)) in categories.split()}
    if known - found:
        sys.exit(f'{name}: not all of the categories {categories}; is Oniguruma of another Unicode?')
    ranges = []
    for code in sorted(found - known):
        if ranges and code == (0xE000 if ranges[-1][1] == 0xD7FF else ranges[-1][1] + 1):
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ranges


def more_cases():
    """Pairs of characters that are one without case, and of which the second is neither the lower nor the
    upper case of the first. Python says which might be, Oniguruma which are."""
    same = {code: {code} for code in CHARACTERS}
    for code in CHARACTERS:
        char = chr(code)
        for other in {char.lower(), char.upper(), char.title(), char.casefold()}:
            if len(other) == 1 and same[ord(other)] is not same[code]:
                union = same[ord(other)] | same[code]
                same.update((member, union) for member in union)
    pairs = []
    for code in CHARACTERS:
        others = {other for other in same[code] if chr(other) not in
                  (chr(code), chr(code).lower(), chr(code).upper())}
        if others:
            found = matches(rf'(?i:\x{{{code:x}}})', sorted(others))
            pairs += [(code, other) for other in sorted(found)]
    return pairs


def classes():
    from tokenizers import __version__
    print(f'/* Written by tools/unicode_tables.py classes from Unicode {unicodedata.unidata_version} and the '
          f'Oniguruma in tokenizers {__version__}.')
    print(' * What classes have beyond their categories, and cases beyond the lower and the upper one. */')
    ranges, names = [], []
    for name, pattern, categories in CLASSES:
        rows = class_ranges(name, pattern, categories)
        names.append((name, len(ranges), len(rows)))
        ranges += rows
    print()
    print(table('static const uint32_t oxi_class_ranges[][2]', ranges, '{{0x{:x}, 0x{:x}}}'))
    print()
    print(table('static const oxi_named_range oxi_named_ranges[]', names, '{{"{}", {}, {}}}'))
    print()
    print('/* Without case these are one as well */')
    print(table('static const uint32_t oxi_more_cases[][2]', more_cases(), '{{0x{:x}, 0x{:x}}}'))


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
elif sys.argv[1:] == ['classes']:
    classes()
else:
    main()
