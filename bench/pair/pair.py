#!/usr/bin/env python3
"""Compares two builds of the library call by call: did a change make anything slower?

    python3 bench/pair/pair.py OLD NEW [--only matmul,linear] [--threads 1] [--turns 15]
                               [--cc gcc] [--flags -O2]

OLD and NEW are folders with oxtorch.h in them (a checkout of another commit, say). Both are compiled with
cases.c and loaded into one process, where they take turns (A B A B ...) of two milliseconds, so that what
disturbs the machine disturbs both. Figures are medians of the turns' ratios of time, NEW / OLD: below 1, NEW
is faster; the spread is that of the middle half. OX_ISA picks the tier.
"""
import argparse
import ctypes
import math
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder, options, scratch):
    """The library of the header in `folder`, loaded, and the number of its cases."""
    path = tempfile.mktemp(suffix='.so', dir=scratch)
    subprocess.run([options.cc, *options.flags.split(), '-w', '-fPIC', '-shared', '-fvisibility=hidden',
                    '-I' + folder, HERE + '/cases.c', '-o', path, '-lm', '-lpthread'], check=True)
    library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    library.pair_name.restype = ctypes.c_char_p
    library.pair_seconds.restype = ctypes.c_double
    library.pair_seconds.argtypes = [ctypes.c_int, ctypes.c_double]
    return library, library.pair_open(options.threads)


def ratios_of(old, new, case, turns):
    """NEW / OLD of each turn, the first of a turn changing; None where one of them cannot do it."""
    if min(side.pair_seconds(case, 0.001) for side in (old, new)) < 0:
        return None
    ratios = []
    for turn in range(turns):
        seconds = {}
        for side in (old, new) if turn % 2 else (new, old):
            seconds[side] = side.pair_seconds(case, 0.002)
        ratios.append(seconds[new] / seconds[old])
    return sorted(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('--only', default='')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--turns', type=int, default=15)
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--flags', default='-O2')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        (old, count), (new, new_count) = (build(f, options, scratch) for f in (options.old, options.new))
        if min(count, new_count) < 0:
            parser.error('the operands could not be made')
        rows = []
        for case in range(count):
            name = old.pair_name(case).decode()
            if not any(part in name for part in options.only.split(',')):
                continue
            ratios = ratios_of(old, new, case, options.turns)
            if ratios:
                rows.append((statistics.median(ratios), name, ratios))
        for middle, name, ratios in sorted(rows, reverse=True):
            quarter = len(ratios) // 4
            print(f'{name:24} {middle:6.3f}   ({ratios[quarter]:.3f} .. {ratios[-1 - quarter]:.3f})')
        if rows:
            mean = math.exp(statistics.fmean(math.log(row[0]) for row in rows))
            print(f'{len(rows)} cases, geometric mean {mean:.3f}')


if __name__ == '__main__':
    main()
