#!/usr/bin/env python3
"""Compares two builds of the library while two threads compute: what does a trainer lose to a data loader?

    python3 bench/pair/beside.py OLD NEW [--sizes 512] [--threads 0] [--turns 9]

OLD and NEW are folders with oxtorch.h in them, as for pair.py. One thread multiplies matrices, another loops
over sums of two tensors; the builds take turns (A B A B ...). Printed are medians: milliseconds a product;
the ratio of time NEW / OLD with the spread of its middle half; for how many of them the multiplying thread
itself had a processor (fewer: others helped more, also on a busy machine); the other thread's calls a
second.
"""
import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder, options, scratch):
    path = tempfile.mktemp(suffix='.so', dir=scratch)
    subprocess.run([options.cc, *options.flags.split(), '-w', '-fPIC', '-shared', '-fvisibility=hidden',
                    '-I' + folder, HERE + '/beside.c', '-o', path, '-lm', '-lpthread'], check=True)
    library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    library.beside_seconds.restype = ctypes.c_double
    library.beside_seconds.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_double,
                                       ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double)]
    library.beside_open(options.threads)
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--turns', type=int, default=9)
    parser.add_argument('--seconds', type=float, default=0.3)
    parser.add_argument('--sizes', default='256,512,1024')
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--flags', default='-O2')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sides = [build(f, options, scratch) for f in (options.old, options.new)]
    print('%7s %8s %8s %8s %6s %13s %8s %8s %6s %10s %10s'
          % ('product', 'numbers', 'old ms', 'new ms', 'ratio', 'spread', 'old own', 'new own', 'ratio',
             'old calls', 'new calls'))
    calls, own = ctypes.c_double(), ctypes.c_double()
    for size in map(int, options.sizes.split(',')):
        for numbers in (0, 1000, 100000, 1000000):
            took, rate, owned = ([], []), ([], []), ([], [])
            for turn in range(options.turns):
                for side in (0, 1) if turn % 2 else (1, 0):
                    took[side].append(sides[side].beside_seconds(size, numbers, options.seconds, calls, own))
                    rate[side].append(calls.value)
                    owned[side].append(own.value)
            old, new, old_own, new_own = (1e3 * statistics.median(t) for t in (*took, *owned))
            ratios = sorted(b / a for a, b in zip(*took))
            print('%7d %8d %8.2f %8.2f %6.3f %6.3f %6.3f %8.3f %8.3f %6.3f %10.0f %10.0f'
                  % (size, numbers, old, new, statistics.median(ratios), ratios[len(ratios) // 4],
                     ratios[-1 - len(ratios) // 4], old_own, new_own,
                     statistics.median(b / a for a, b in zip(*owned)), statistics.median(rate[0]),
                     statistics.median(rate[1])), flush=True)


if __name__ == '__main__':
    main()
