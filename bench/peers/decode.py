#!/usr/bin/env python3
"""Is a family slower a byte of weights than LLaMA? New tokens on the CPU, each family in turn with LLaMA.

    python3 bench/peers/decode.py --folder FOLDER [--only mamba,gpt-oss] [--type Q4_0] [--tiers avx2]
                                  [--new 48] [--threads 2] [--runs 3] [--bench bench_llm] [--json FILE]

FOLDER/NAME-TYPE.gguf are models that families.py wrote, as GGUF in one type (examples/convert and quantize).
bench_llm tells the bytes of weights that its new tokens read a second: of experts those in use, and of
embeddings none; and those of the memories that recurrent layers read and write. A ratio is that of the
family / that of llama.gguf beside it, the median of the turns, the least and the most.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys

from llama import ROOT, build
from measured import keep


def rate(options, tier, name):
    """New tokens a second and GB/s."""
    command = [options.program, f'{options.folder}/{name}-{options.type}.gguf', '--copy', '--threads',
               str(options.threads), '-p', '1', '-n', str(options.new), '--runs', '3']
    text = subprocess.run(command, env=dict(os.environ, OX_ISA=tier), check=True, capture_output=True,
                          text=True).stdout
    found = re.search(r'^new \d+ ([\d.]+) \(([\d.]+) GB/s', text, re.MULTILINE)
    return float(found[1]), float(found[2])


def measure(options, tier, name):
    own, ratios = [], []
    for _ in range(options.runs):
        beside = rate(options, tier, 'llama')
        own.append(rate(options, tier, name))
        ratios.append(own[-1][1] / beside[1])
    return {'family': name, 'type': options.type, 'tier': tier, 'threads': options.threads,
            'tokens': statistics.median(one[0] for one in own),
            'GB/s': statistics.median(one[1] for one in own),
            'ratio': [round(r, 3) for r in (statistics.median(ratios), min(ratios), max(ratios))]}


def main():
    parser = argparse.ArgumentParser(description='new tokens of many families, beside LLaMA')
    parser.add_argument('--folder', required=True)
    parser.add_argument('--only')
    parser.add_argument('--type', default='Q4_0')
    parser.add_argument('--tiers', default='avx2')
    parser.add_argument('--new', type=int, default=48)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--bench', help='a bench_llm that is built already')
    parser.add_argument('--json', default=ROOT + '/build/decode.json')
    options = parser.parse_args()
    end = f'-{options.type}.gguf'
    names = sorted(f.removesuffix(end) for f in os.listdir(options.folder) if f.endswith(end))
    if options.only:
        names = options.only.split(',')
    options.program = options.bench or build()
    for tier in options.tiers.split(','):
        for name in names:
            if name == 'llama':
                continue
            row = measure(options, tier, name)
            print('%-6s %-15s %-6s %8.1f tokens/s %6.1f GB/s  %.2f (%.2f .. %.2f)' %
                  (tier, name, row['type'], row['tokens'], row['GB/s'], *row['ratio']), flush=True)
            keep(options.json, [row], ['family', 'type', 'tier', 'threads'])
    return 0


if __name__ == '__main__':
    sys.exit(main())
