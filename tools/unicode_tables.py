#!/usr/bin/env python3
"""Writes src/llm/template/values/unicode_tables.inc: which characters Python's repr escapes, and upper and
lower case, from the Unicode data that this Python has (3.14: Unicode 16).

    python3 tools/unicode_tables.py > src/llm/template/values/unicode_tables.inc
"""
import unicodedata

LAST = 0x10FFFF
WIDTH = 110


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


print(f'/* Written by tools/unicode_tables.py from Unicode {unicodedata.unidata_version}. */')
print()
print(table('static const uint32_t oxi_jinja_unprintable[][2]', unprintable(), '{{0x{:x}, 0x{:x}}}'))
for name, change in (('upper', str.upper), ('lower', str.lower)):
    print()
    head = f'static const oxi_jinja_case oxi_jinja_{name}_cases[]'
    print(table(head, cases(change), '{{0x{:x}, 0x{:x}, {}, {}}}'))
