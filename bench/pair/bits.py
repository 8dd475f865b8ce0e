#!/usr/bin/env python3
"""Compares the results of two builds of the library bit by bit: did a change alter any?

    python3 bench/pair/bits.py OLD NEW [--model stories260K.gguf] [--tiers sse2,avx2] [--threads 1,2]
                               [--cc gcc]

OLD and NEW are folders with the headers in them (a checkout of another commit, say). Both are compiled with
bits.c, which prints a hash of each result, and run on each tier of this machine and number of threads. What
differs is printed; the exit code is 0 when nothing does.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder, options, scratch):
    path = tempfile.mktemp(dir=scratch)
    subprocess.run([options.cc, *options.flags.split(), '-w', '-I' + folder, HERE + '/bits.c', '-o', path,
                    '-lm', '-lpthread'], check=True)
    return path


def results(program, tier, threads, model):
    out = subprocess.run([program, str(threads), *([model] if model else [])], check=True, text=True,
                         stdout=subprocess.PIPE, env={**os.environ, 'OX_ISA': tier}).stdout
    return dict(line.rsplit(' ', 1) for line in out.splitlines())


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
    differences = 0
    with tempfile.TemporaryDirectory() as scratch:
        old, new = (build(folder, options, scratch) for folder in (options.old, options.new))
        tiers = options.tiers
        if not tiers:
            probe = scratch + '/tiers'
            subprocess.run([options.cc, HERE + '/../../tests/tiers.c', '-o', probe], check=True)
            tiers = ','.join(subprocess.run([probe], stdout=subprocess.PIPE, text=True).stdout.split())
        for tier in tiers.split(','):
            for threads in options.threads.split(','):
                a, b = (results(program, tier, threads, options.model) for program in (old, new))
                changed = [what for what in a if what in b and a[what] != b[what]]
                kinds = collections.Counter(what.split('/')[0] for what in changed)
                differences += len(changed)
                print(f'{tier}, {threads} threads: {len(a)} results, {len(changed)} differ, '
                      f'{len(set(a) ^ set(b))} are in one build only'
                      + ''.join(f'\n    {kind}: {count}' for kind, count in kinds.most_common(40)),
                      flush=True)
                for what in changed[:20]:
                    print(f'        {what}: {a[what]} -> {b[what]}')
    sys.exit(differences > 0)


if __name__ == '__main__':
    main()
