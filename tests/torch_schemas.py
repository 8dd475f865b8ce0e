#!/usr/bin/env python3
"""Compares src/ops/api.def with PyTorch's own schemas.

    python3 tests/torch_schemas.py            writes tests/torch_schemas.txt
    python3 tests/torch_schemas.py --check    says whether it is what would be written

It wants PyTorch 2.14, whose parser reads the schemas of the table and whose registry says what it has. Each
function has a block in the list:

    ox_NAME, FORM: equal | differs: WHAT | unknown
      ours   the schema of api.def
      torch  PyTorch's schema of that name and overload
      why    the reasons that api.def gives

tests/test_api.c works the blocks out once more, without PyTorch, and fails when the table changed and the
list did not.
"""
import os
import re
import sys

import torch

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(TOP, 'tests', 'torch_schemas.txt')
STRING = r'"(?:[^"\\]|\\.)*"'
STRINGS = r'(?:%s\s*)+' % STRING


def text_of(literals):
    """What adjacent C string literals say."""
    return ''.join(s[1:-1].replace('\\"', '"') for s in re.findall(STRING, literals))


def read_source(name):
    """A file of src/ops/ without comments, with what it includes."""
    path = os.path.join(TOP, 'src', 'ops', name)
    with open(path) as file:
        text = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S).replace('\\\n', '')
    return re.sub(r'^#include "(.*)"$', lambda found: read_source(found.group(1)), text, flags=re.M)


def read_lists():
    """The macros of ops.h that list functions, OX_PLAIN_1(X) X(abs) X(neg) ..., by name."""
    return {name: re.findall(r'\bX\((\w+)\)', text) for name, text in
            re.findall(r'^#define (OX_\w+)\(X\)(.*)$', read_source('ops.h'), flags=re.M)}


def rows_of_list(row, names):
    """The row of each name, from that of a macro OXI_X(name)."""
    return ''.join(re.sub(r'#name', '"%s"' % name, row.replace('##name##', name).replace('##name', name))
                   .replace('(name)', '(%s)' % name) + '\n' for name in names)


def read_table():
    lists = read_lists()
    source = re.sub(r'^#define OXI_X\(name\)\s*(OXI_API\(.*\))\n(\w+)\(OXI_X\)$',
                    lambda found: rows_of_list(found.group(1), lists[found.group(2)]), read_source('api.def'),
                    flags=re.M)
    rows = re.findall(r'^OXI_API\((\w+),\s*(%s),\s*(\w+),\s*(\w+(?:\([^)]*\))?),\s*(%s),\s*(%s)\)'
                      % (STRINGS, STRINGS, STRINGS), source, flags=re.M)
    if len(rows) != len(re.findall(r'^OXI_API\(', source, flags=re.M)):
        sys.exit('api.def has rows that this does not read')
    lacks = {name: text_of(why) for name, why in
             re.findall(r'^OXI_API_LACKS\((\w+),\s*(%s)\)' % STRINGS, source, flags=re.M)}
    return [(f, text_of(s), form, text_of(note)) for f, s, form, _, _, note in rows], lacks


def read_torch():
    """PyTorch's schemas by name and overload, as text without the namespace."""
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith('aten::'):
            found[schema.name[6:] + ('.' + schema.overload_name if schema.overload_name else '')] = schema
    return found


def form_of(name):
    """How Python calls the function of that name."""
    method, function = hasattr(torch.Tensor, name), hasattr(torch, name)
    if method or function:
        return 'BOTH' if method and function else 'METHOD' if method else 'FUNCTION'
    return 'NN' if hasattr(torch._C._nn, name) else None


def alias_of(argument):
    info = argument.alias_info
    return info and (info.is_write, sorted(info.before_set), sorted(info.after_set))


def value_of(argument):
    return (argument.has_default_value(), argument.default_value)


def differences(ours, theirs):
    said = []
    mine = {a.name: a for a in ours.arguments}
    for b in theirs.arguments:
        a = mine.get(b.name)
        if a is None:
            said.append('lacks ' + b.name)
            continue
        if (str(a.real_type), a.N) != (str(b.real_type), b.N):
            said.append('type of ' + b.name)
        if alias_of(a) != alias_of(b):
            said.append('alias of ' + b.name)
        if value_of(a) != value_of(b):
            said.append('default of ' + b.name)
        if a.kwarg_only != b.kwarg_only:
            said.append('keyword ' + b.name)
    names = [b.name for b in theirs.arguments]
    said += ['adds ' + a.name for a in ours.arguments if a.name not in names]
    common = [a.name for a in ours.arguments if a.name in names]
    if common != [name for name in names if name in mine]:
        said.append('order')
    if [(str(r.type), r.name, alias_of(r)) for r in ours.returns] != \
            [(str(r.type), r.name, alias_of(r)) for r in theirs.returns]:
        said.append('results')
    return said


def block_of(function, text, form, note, known, lacks):
    own = text.startswith('ox::')
    ours = torch._C.parse_schema(text if own else 'aten::' + text)
    key = text.split('(')[0]
    why, lines = [], []
    if own:
        if key[4:].split('.')[0] in {k.split('.')[0] for k in known}:
            sys.exit('%s: PyTorch has a function of the name %s' % (function, key[4:]))
        verdict = 'unknown'
    else:
        if key not in known:
            sys.exit('%s: PyTorch has no schema of the name %s' % (function, key))
        theirs = form_of(key.split('.')[0])         # None: only its compiler and its index syntax call it
        if theirs not in (form, None):
            sys.exit('%s: PyTorch has it as %s' % (function, theirs))
        said = differences(ours, known[key])
        why = ['%s: %s' % (s[6:], lacks[s[6:]]) for s in said if s.startswith('lacks ') and s[6:] in lacks]
        verdict = 'differs: ' + ', '.join(said) if said else 'equal'
        if len(why) < len(said) and not note:
            sys.exit('%s: %s, and no reason is given' % (function, verdict))
        lines.append('  torch  ' + str(known[key])[6:])
    if own and not note:
        sys.exit('%s: PyTorch has none, and no reason is given' % function)
    why += [note] if note else []
    lines = ['%s, %s: %s' % (function, form, verdict), '  ours   ' + text] + lines
    return lines + ['  why    ' + '; '.join(why)] if why else lines


def main():
    if not torch.__version__.startswith('2.14.'):
        sys.exit('PyTorch 2.14 is asked for, this is ' + torch.__version__)
    rows, lacks = read_table()
    known = read_torch()
    blocks = [block_of(*row, known, lacks) for row in rows]
    count = {word: sum(': ' + word in b[0] for b in blocks) for word in ('equal', 'differs', 'unknown')}
    text = ('# src/ops/api.def beside the schemas of PyTorch 2.14: tests/torch_schemas.py writes this.\n'
            '# %d functions: %d equal, %d differ, %d unknown to PyTorch\n'
            % (len(blocks), count['equal'], count['differs'], count['unknown']))
    text += '\n'.join('\n'.join(b) for b in blocks) + '\n'
    if sys.argv[1:] == ['--check']:
        with open(LIST) as file:
            sys.exit(0 if file.read() == text else 'tests/torch_schemas.txt is not what it would be')
    with open(LIST, 'w') as file:
        file.write(text)
    print(text.split('\n')[1][2:])


if __name__ == '__main__':
    main()
