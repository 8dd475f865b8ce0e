#!/usr/bin/env python3
"""Fourier transforms and linear algebra beside PyTorch (pocketfft, LAPACK): PyTorch's time / OxTorch's.

    python3 bench/peers/calls.py [--turns 3] [--program build/bench/bench_fourier] [--threads 1]
                                 [--python "python3"]

The program is bench_fourier or bench_linalg. Both sides take turns; a figure is the median of the turns.
--python: a command that runs a Python with PyTorch.
(--peer is such a process: it reads lines of a call and its sizes, and prints them with microseconds.)
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import environment


def fourier(torch, kind, lines, length):
    x = torch.randn(int(lines), int(length))
    z, half = torch.complex(x, torch.randn_like(x)), torch.fft.rfft(x)
    return {'fft': lambda: torch.fft.fft(z), 'rfft': lambda: torch.fft.rfft(x),
            'irfft': lambda: torch.fft.irfft(half, int(length))}[kind]


def linalg(torch, kind, dtype, count, order):
    dtype = {'f32': torch.float32, 'f64': torch.float64, 'c64': torch.complex64}[dtype]
    count, order = int(count), int(order)
    a = torch.randn(count, order, order, dtype=dtype)
    b, symmetric = torch.randn(count, order, 4, dtype=dtype), a @ a.mH + torch.eye(order, dtype=dtype)
    la = torch.linalg
    return {'cholesky': lambda: la.cholesky(symmetric), 'lu': lambda: la.lu_factor(a),
            'solve': lambda: la.solve(a, b), 'inv': lambda: la.inv(a), 'qr': lambda: la.qr(a),
            'eigh': lambda: la.eigh(symmetric), 'eig': lambda: la.eig(a),
            'svd': lambda: la.svd(a, full_matrices=False)}[kind]


def peer(threads):
    import torch
    torch.set_num_threads(threads)
    for line in sys.stdin:
        words = line.split()[:-1]
        call = (fourier if len(words) == 3 else linalg)(torch, *words)
        seconds, begin = [], time.perf_counter()
        while len(seconds) < 64 and (len(seconds) < 3 or time.perf_counter() - begin < 0.15):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        print(*words, '%.3f' % (1e6 * statistics.median(seconds)), flush=True)


def run(command, told=''):
    out = subprocess.run(command, input=told, check=True, capture_output=True, text=True,
                         env=environment.plain()).stdout
    return [line.split() for line in out.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--turns', type=int, default=3)
    parser.add_argument('--program', default='build/bench/bench_fourier')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--python', default=sys.executable)
    parser.add_argument('--peer', action='store_true')
    options = parser.parse_args()
    if options.peer:
        return peer(options.threads)
    threads, ratios = str(options.threads), {}
    for _ in range(options.turns):
        ours = run([options.program, threads])
        told = ''.join(' '.join(row) + '\n' for row in ours)
        peer_command = options.python.split() + [os.path.abspath(__file__), '--peer', '--threads', threads]
        theirs = run(peer_command, told)
        for a, b in zip(ours, theirs):
            ratios.setdefault(tuple(a[:-1]), []).append(float(b[-1]) / float(a[-1]))
    for row, of_turns in ratios.items():
        print('%s: %.2f (%.2f .. %.2f)' % (' '.join('%7s' % word for word in row),
                                           statistics.median(of_turns), min(of_turns), max(of_turns)))


if __name__ == '__main__':
    main()
