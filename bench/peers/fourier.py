#!/usr/bin/env python3
"""Fourier transforms beside PyTorch, one thread: PyTorch's time / OxTorch's, by shapes.

    python3 bench/peers/fourier.py [--turns 3] [--program build/bench/bench_fourier] [--python "python3"]

Both sides take turns; a figure is the median of the turns. --python: a command that runs a Python with
PyTorch.
(--peer is such a process: it reads lines of kind, lines and length, and prints them with microseconds.)
"""
import argparse
import os
import statistics
import subprocess
import sys
import time


def peer():
    import torch
    torch.set_num_threads(1)
    for line in sys.stdin:
        kind, lines, length = line.split()[:3]
        x = torch.randn(int(lines), int(length))
        z, half = torch.complex(x, torch.randn_like(x)), torch.fft.rfft(x)
        call = {'fft': lambda: torch.fft.fft(z), 'rfft': lambda: torch.fft.rfft(x),
                'irfft': lambda: torch.fft.irfft(half, int(length))}[kind]
        seconds, begin = [], time.perf_counter()
        while len(seconds) < 200 and (len(seconds) < 3 or time.perf_counter() - begin < 0.15):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        print(kind, lines, length, '%.3f' % (1e6 * statistics.median(seconds)))


def run(command, told=''):
    out = subprocess.run(command, input=told, check=True, capture_output=True, text=True).stdout
    return [line.split() for line in out.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--turns', type=int, default=3)
    parser.add_argument('--program', default='build/bench/bench_fourier')
    parser.add_argument('--python', default=sys.executable)
    parser.add_argument('--peer', action='store_true')
    options = parser.parse_args()
    if options.peer:
        return peer()
    ratios = {}
    for _ in range(options.turns):
        ours = run([options.program])
        told = ''.join(' '.join(row) + '\n' for row in ours)
        theirs = run(options.python.split() + [os.path.abspath(__file__), '--peer'], told)
        for a, b in zip(ours, theirs):
            ratios.setdefault(tuple(a[:3]), []).append(float(b[3]) / float(a[3]))
    for row, of_turns in ratios.items():
        print('%-5s %7s x %7s: %.2f (%.2f .. %.2f)' % (*row, statistics.median(of_turns), min(of_turns),
                                                       max(of_turns)))


if __name__ == '__main__':
    main()
