#!/usr/bin/env python3
"""Measures OxTorch against llama.cpp: tokens per second of a model, tier by tier.

    python3 bench/peers/llama.py --models a.gguf,b.gguf [--tiers haswell,skylakex] [--prompt 128,512]
                                 [--new 64] [--threads 2] [--runs 5] [--mapped] [--llama "llama-bench"]
                                 [--json FILE]

Tiers have llama.cpp's names; OxTorch is held to the same instructions by OX_ISA. `--llama` is the command
that runs llama-bench; {tier} in it is replaced, for a build of llama.cpp with a library for each processor.
The sides take turns (A B A B ...), a process each; figures are medians, ratios (the median of those of each
turn) are OxTorch / llama.cpp: above 1, OxTorch is faster. bench_llm is built from the headers into build/
with `cc -O2`. Both sides read the weights into memory (llama.cpp does with all that it repacks); --mapped
leaves OxTorch's in the file.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

from measured import keep

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIERS = {'x64': 'sse2-base', 'sse42': 'sse2', 'sandybridge': 'avx-base', 'ivybridge': 'avx',
         'haswell': 'avx2', 'skylakex': 'avx512-base', 'icelake': 'avx512', 'zen4': 'avx512',
         'sapphirerapids': 'amx'}


def build():
    """Path of bench_llm, built if it is missing or older than the headers."""
    program, source = ROOT + '/build/bench_llm', ROOT + '/bench/bench_llm.c'
    inputs = [source, ROOT + '/oxtorch.h', ROOT + '/oxtorch_llm.h']
    if not os.path.exists(program) or os.path.getmtime(program) < max(map(os.path.getmtime, inputs)):
        os.makedirs(ROOT + '/build', exist_ok=True)
        subprocess.run(['cc', '-O2', '-DOX_IMPLEMENTATION', '-I' + ROOT, source, '-o', program, '-lm',
                        '-lpthread'], check=True)
    return program


def flags(options):
    """The works, as both programs are told of them."""
    return ['-p', ','.join(options.prompt) or '1', '-n', ','.join(options.new) or '0']


def ours(program, options, tier, model):
    """{work: tokens per second}"""
    command = [program, model, '--threads', str(options.threads), '--runs', '1', *flags(options)]
    command += [] if options.mapped else ['--copy']
    text = subprocess.run(command, env=dict(os.environ, OX_ISA=TIERS[tier]), check=True, capture_output=True,
                          text=True).stdout
    lines = [line.split() for line in text.splitlines()]
    return {' '.join(words[:2]): float(words[2]) for words in lines if words[:1] in (['prompt'], ['new'])}


def theirs(options, tier, model):
    """The same of llama.cpp."""
    command = options.llama.replace('{tier}', tier).split()
    command += ['-m', model, '-t', str(options.threads), '-r', '1', '-o', 'json', *flags(options)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    return {'prompt %d' % row['n_prompt'] if row['n_prompt'] else 'new %d' % row['n_gen']: row['avg_ts']
            for row in json.loads(text)}


def measure(program, options, tier, model):
    """A row for each work."""
    a, b = [], []
    for _ in range(options.runs):
        a.append(ours(program, options, tier, model))
        b.append(theirs(options, tier, model))
    works = ['prompt ' + n for n in options.prompt] + ['new ' + n for n in options.new]
    for work in works:
        ratios = [x[work] / y[work] for x, y in zip(a, b)]
        yield {'tier': tier, 'model': os.path.basename(model), 'work': work, 'threads': options.threads,
               'ours': statistics.median(x[work] for x in a), 'theirs': statistics.median(y[work] for y in b),
               'ratio': statistics.median(ratios), 'least': min(ratios), 'most': max(ratios)}


def main():
    parser = argparse.ArgumentParser(description='tokens per second, OxTorch and llama.cpp in turn')
    parser.add_argument('--models', required=True)
    parser.add_argument('--tiers', default='haswell,skylakex')
    parser.add_argument('--prompt', default='128,512')
    parser.add_argument('--new', default='64')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--mapped', action='store_true')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--llama', default='llama-bench')
    parser.add_argument('--bench', help='a bench_llm that is built already')
    parser.add_argument('--json', default=ROOT + '/build/llama.json')
    options = parser.parse_args()
    options.prompt, options.new = options.prompt.split(','), options.new.split(',')
    program = options.bench or build()
    print('%-15s %-22s %-11s %9s %9s  ratio (least .. most)' %
          ('tier', 'model', 'work', 'OxTorch', 'llama.cpp'))
    for model in options.models.split(','):
        for tier in options.tiers.split(','):
            for row in measure(program, options, tier, model):
                print('%(tier)-15s %(model)-22s %(work)-11s %(ours)9.1f %(theirs)9.1f  %(ratio).2f '
                      '(%(least).2f .. %(most).2f)' % row, flush=True)
                keep(options.json, [row], ['tier', 'model', 'work', 'threads'])
    return 0


if __name__ == '__main__':
    sys.exit(main())
