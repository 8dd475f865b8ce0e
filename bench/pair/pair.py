#!/usr/bin/env python3
"""Compares two builds of the library call by call: did a change make anything slower?

    python3 bench/pair/pair.py OLD NEW [--only matmul,linear] [--threads 1] [--turns 15] [--runs 5]
                               [--cc gcc] [--flags -O2]

OLD and NEW are folders with oxtorch.h in them (a checkout of another commit, say). Both are compiled with
cases.c and loaded into one process, where they take turns (A B A B ...) of two milliseconds, so that what
disturbs the machine disturbs both. A process keeps the pages that its operands got, which alone makes some
cases 10 % faster or slower: there are several, and the figure of a case is the median over them of the
median ratio of time, NEW / OLD, with the least and the most of these. Below 1, NEW is faster. The same folder
twice tells what the machine itself does to the figures. OX_ISA picks the tier. (--runs 0 is one such process:
OLD and NEW are libraries then, and it prints the ratios as JSON.)
"""
import argparse
import ctypes
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder, options, scratch):
    """The path of a library of the header in `folder` and the cases."""
    path = tempfile.mktemp(suffix='.so', dir=scratch)
    subprocess.run([options.cc, *options.flags.split(), '-w', '-fPIC', '-shared', '-fvisibility=hidden',
                    '-I' + folder, HERE + '/cases.c', '-o', path, '-lm', '-lpthread'], check=True)
    return path


def load(path, threads):
    """The library, and the number of its cases."""
    library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    library.pair_name.restype = ctypes.c_char_p
    library.pair_seconds.restype = ctypes.c_double
    library.pair_seconds.argtypes = [ctypes.c_int, ctypes.c_double]
    return library, library.pair_open(threads)


def ratio_of(old, new, case, turns):
    """The median of NEW / OLD, the first of a turn changing; None where one of them cannot do it."""
    if min(side.pair_seconds(case, 0.001) for side in (old, new)) < 0:
        return None
    ratios = []
    for turn in range(turns):
        seconds = {}
        for side in (old, new) if turn % 2 else (new, old):
            seconds[side] = side.pair_seconds(case, 0.002)
        ratios.append(seconds[new] / seconds[old])
    return statistics.median(ratios)


def measure(paths, options):
    """Prints the ratios of one process as JSON."""
    (old, count), (new, new_count) = (load(path, options.threads) for path in paths)
    if min(count, new_count) < 0:
        sys.exit('the operands could not be made')
    ratios = {}
    for case in range(count):
        name = old.pair_name(case).decode()
        if any(part in name for part in options.only.split(',')):
            ratios[name] = ratio_of(old, new, case, options.turns)
    print(json.dumps({name: ratio for name, ratio in ratios.items() if ratio}))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('--only', default='')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--turns', type=int, default=15)
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--flags', default='-O2')
    options = parser.parse_args()
    if options.runs == 0:  # a process that the lines below start
        measure((options.old, options.new), options)
        return
    cases = {}
    with tempfile.TemporaryDirectory() as scratch:
        paths = [build(folder, options, scratch) for folder in (options.old, options.new)]
        for run in range(options.runs):
            out = subprocess.run([sys.executable, __file__, *paths, '--runs', '0', '--only', options.only,
                                  '--threads', str(options.threads), '--turns', str(options.turns)],
                                 check=True, text=True, stdout=subprocess.PIPE).stdout
            for name, ratio in json.loads(out).items():
                cases.setdefault(name, []).append(ratio)
    rows = sorted(((statistics.median(ratios), name) for name, ratios in cases.items()), reverse=True)
    for middle, name in rows:
        print(f'{name:24} {middle:6.3f}   ({min(cases[name]):.3f} .. {max(cases[name]):.3f})')
    if rows:
        mean = math.exp(statistics.fmean(math.log(row[0]) for row in rows))
        print(f'{len(rows)} cases, geometric mean {mean:.3f}')


if __name__ == '__main__':
    main()
