#!/usr/bin/env python3
"""Compares the results of two builds of the library bit by bit: did a change alter any?

    python3 bench/pair/bits.py OLD NEW [--model stories260K.gguf] [--tiers sse2,avx2] [--threads 1,2]
                               [--cc gcc]

OLD and NEW are folders with the headers in them (a checkout of another commit, say). Both are compiled with
bits.c, which prints a hash of each result, and run on each tier of this machine and number of threads. Names
that OLD has otherwise are in old_names.h. What differs is printed, and what OLD alone has. The exit code is 0
when all of it is in ON_PURPOSE below: meanings that were changed, each with its reason.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


NARROW = 'f16 bf16 f8_e4m3 f8_e5m2'

# (pattern of the case, dtypes, pattern of how it was called, why). Where a row stands, the result may be
# anything. So a row names as little as there is, and most have a second line in bits.c, which is compared:
# the low bits of what has another dtype now, and cases with "meant" in the name, which the old build has from
# the functions that meant this then.
ON_PURPOSE = [
    (r'(all|any)(_all|_last)?( long)?', 'u8', '.*',
     'all and any of u8 give u8, as torch (their values are compared: "low bits")'),
    (r'(large )?matmul.*(?<!low bits)|linear|dot', 'i8', '.*',
     'products of i8 give i8, as torch (compared: "low bits"; their sums of i32 as int_mm)'),
    (r'addmm', 'i8', '.*', 'addmm of i8 gives i8, where it was refused'),
    (r'pow|pow of floats', 'i8 i16 i32 i64', 'special numbers',
     'tensors of negative exponents give 0, 1 or -1, as torch, where they were refused'),
    (r'clamp_above', 'i8', '.*', 'bounds that leave no number of the dtype are refused, where they wrapped'),
    (r'mul|div', 'f16 bf16', 'with the number 70001',
     'integers beside f16 and bf16 are taken as they are, where they were rounded first'),
    (r'glu|glu_1', NARROW, '.*', 'glu of narrow floats rounds once (compared: glu_meant)'),
    (r'(scatter|index)_add_?|index_add_minus', NARROW, '.*',
     'sums by index of narrow floats round once (compared: scatter_add_meant, index_add_meant)'),
    (r'add_minus|index_add_minus', 'bool', '.*',
     'a sum of bools is "or", whatever the scale (compared: or_meant)'),
    (r'sum', 'bool', 'special numbers', 'any byte but 0 is true, where sums added the bytes'),
    (r'flip_sum', 'f32 f64', '.*', 'flip copies, as torch: the copy is summed in the order of its memory '
     '(compared: flip_meant)'),
]

met = set() # rows of it that something differed by


def on_purpose(what):
    case, dtype, how = what.split('/', 2)
    for row in ON_PURPOSE:
        if re.fullmatch(row[0], case) and dtype in row[1].split() and re.fullmatch(row[2], how):
            met.add(row)
            return row[3]
    return None


def build(folder, options, scratch):
    path = tempfile.mktemp(dir=scratch)
    subprocess.run([options.cc, *options.flags.split(), '-w', '-I' + folder, HERE + '/bits.c', '-o', path,
                    '-lm', '-lpthread'], check=True)
    return path


def results(program, tier, threads, model):
    out = subprocess.run([program, str(threads), *([model] if model else [])], check=True, text=True,
                         stdout=subprocess.PIPE, env={**os.environ, 'OX_ISA': tier}).stdout
    found = {}
    for line in out.splitlines():
        what, result = line.rsplit(' ', 1)
        times = 1
        while what + (f' #{times}' if times > 1 else '') in found: # cases that share a label
            times += 1
        found[what + (f' #{times}' if times > 1 else '')] = result
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('--model', default='')
    parser.add_argument('--tiers', default='')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--flags', default='-O2 -DOX_C_TIER')
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        old, new = (build(folder, options, scratch) for folder in (options.old, options.new))
        rows = subprocess.run([new, 'rows'], check=True, text=True, stdout=subprocess.PIPE).stdout.split()
        print('rows of ops.def without a case:', ' '.join(rows) or 'none')
        tiers = options.tiers
        if not tiers:
            probe = scratch + '/tiers'
            subprocess.run([options.cc, HERE + '/../../tests/tiers.c', '-o', probe], check=True)
            tiers = ','.join(subprocess.run([probe], stdout=subprocess.PIPE, text=True).stdout.split())
        for tier in tiers.split(','):
            for threads in options.threads.split(','):
                a, b = (results(program, tier, threads, options.model) for program in (old, new))
                changed = [what for what in a if what in b and a[what] != b[what]]
                lost = [what for what in a if what not in b]
                whys = collections.Counter(filter(None, map(on_purpose, changed)))
                wrong = [what for what in changed if not on_purpose(what)]
                kinds = collections.Counter('/'.join(what.split('/')[:2]) for what in wrong)
                failures += len(wrong) + len(lost)
                print(f'{tier}, {threads} threads: {len(a)} results, {len(changed)} differ, '
                      f'{len(wrong)} of them not on purpose; {len(lost)} are in the old build alone, '
                      f'{len(b) - len(a) + len(lost)} in the new one'
                      + ''.join(f'\n    on purpose: {count}: {why}' for why, count in whys.items())
                      + ''.join(f'\n    NOT on purpose: {kind}: {count}'
                                for kind, count in kinds.most_common(40)), flush=True)
                for what in wrong[:20]:
                    print(f'        {what}: {a[what]} -> {b[what]}')
                for what in lost[:20]:
                    print(f'        {what}: in the old build alone')
    for row in ON_PURPOSE:
        if row not in met:
            print(f'nothing differs by: {row[3]}')
    sys.exit(failures > 0)


if __name__ == '__main__':
    main()
