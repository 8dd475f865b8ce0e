#!/usr/bin/env python3
"""OxTorch beside its peers: one table and one plot of what peers.py and llama.py measured.

    python3 bench/peers/report.py [--install] [--measure] [--models a.gguf] [--svg build/peers.svg]

--install gets the peers from Debian's packages (as root). --measure runs both scripts first; --models are for
llama.cpp. Otherwise the figures of their last runs are taken, build/peers.json and build/llama.json. The
table (Markdown, on standard output) shows the speed of OxTorch / peer by tier: the median of the turns, the
least and the most; the plot shows the medians.
"""
import argparse
import math
import os
import subprocess
import sys
from xml.sax.saxutils import escape

from llama import TIERS as LLAMA_TIERS
from measured import load

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = ['python3-numpy', 'python3-torch', 'libopenblas0-pthread', 'libblis4-pthread', 'libdnnl-dev',
            'llama.cpp-tools']
TIERS = ['sse2-base', 'sse2', 'avx-base', 'avx', 'avx2', 'avx512-base', 'avx512', 'amx']
COLORS = dict(zip(TIERS, ['#bbb', '#777', '#f3c98b', '#e08214', '#59a14f', '#a6cee3', '#1f78b4', '#b2182b']))


def measure(options):
    threads = str(options.threads)
    subprocess.run([sys.executable, HERE + '/peers.py', '--threads', threads, '--sizes', '1024,2048',
                    '--work', 'matmul,ops,attention'], check=True)
    if options.models:
        subprocess.run([sys.executable, HERE + '/llama.py', '--models', options.models, '--threads', threads,
                        '--llama', options.llama, '--tiers', options.llama_tiers], check=True)


def figures(threads):
    """{(work, peer): {tier: [median, least, most]}} of the last runs, in their order."""
    found = {}
    peers = {'f32/openblas': ('OpenBLAS', ' f32'), 'f32/blis': ('BLIS', ' f32'),
             'f32/onednn': ('oneDNN', ' f32'), 'bf16/torch': ('PyTorch', ' bf16'),
             'f16/torch': ('PyTorch', ' f16'), 'of torch': ('PyTorch', '')}
    rows = sorted(load(ROOT + '/build/peers.json'), key=lambda row: (len(row['work']), row['work'])
                  if row['work'].startswith('matmul') else (0, ''))
    for key, (peer, more) in peers.items():
        for row in rows:
            if key in row and row['threads'] == threads:
                found.setdefault((row['work'] + more, peer), {})[row['tier']] = row[key]
    for row in load(ROOT + '/build/llama.json'):
        if row['threads'] == threads:
            work = row['model'].removesuffix('.gguf') + ', ' + row['work']
            tier = found.setdefault((work, 'llama.cpp'), {})
            tier[LLAMA_TIERS[row['tier']]] = [row['ratio'], row['least'], row['most']]
    return found


def tiers_of(found):
    return [tier for tier in TIERS if any(tier in row for row in found.values())]


def table(found):
    tiers = tiers_of(found)
    lines = ['| work | peer | ' + ' | '.join(tiers) + ' |', '|---|---|' + '---|' * len(tiers)]
    for (work, peer), row in found.items():
        cells = ['%.2f (%.2f .. %.2f)' % tuple(row[tier]) if tier in row else '' for tier in tiers]
        lines.append(f'| {work} | {peer} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def plot(found):
    """A line for each kind of work, a dot for each tier, on a scale of powers of two; at 1 both are as fast."""
    left, width, step, top = 300, 560, 15, 58
    most = max(row[0] for tiers in found.values() for row in tiers.values())
    low, octaves = 0.5, 2
    while low * 2 ** octaves < most and octaves < 10:
        octaves += 1
    tiers = tiers_of(found)

    def x_of(value):
        return left + width * min(1, max(0, math.log2(max(value, low) / low) / octaves))

    height = top + step * len(found) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{height}" '
           'font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="8" y="18" font-size="13">Speed of OxTorch / peer, medians</text>']
    x = left
    for tier in tiers:
        out.append(f'<circle cx="{x:.1f}" cy="14" r="4" fill="{COLORS[tier]}"/>')
        out.append(f'<text x="{x + 8:.1f}" y="18">{tier}</text>')
        x += 24 + 7 * len(tier)
    for octave in range(octaves + 1):
        value, x = low * 2 ** octave, left + width * octave / octaves
        shade = '#333' if value == 1 else '#ddd'
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 8}" y2="{height - 8}" stroke="{shade}"/>')
        out.append(f'<text x="{x:.1f}" y="{top - 14}" text-anchor="middle">{value:g}</text>')
    for i, ((work, peer), row) in enumerate(found.items()):
        y = top + step * i + 4
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(f"{work}: {peer}")}</text>')
        out += [f'<circle cx="{x_of(row[tier][0]):.1f}" cy="{y}" r="4" fill="{COLORS[tier]}" '
                'fill-opacity="0.8"/>' for tier in tiers if tier in row]
    out.append('</svg>')
    return '\n'.join(out) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--install', action='store_true')
    parser.add_argument('--measure', action='store_true')
    parser.add_argument('--models')
    parser.add_argument('--llama', default='llama-bench')
    parser.add_argument('--llama-tiers', default='haswell,skylakex')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--svg', default=ROOT + '/build/peers.svg')
    options = parser.parse_args()
    if options.install:
        subprocess.run(['apt-get', 'install', '-y', '--no-install-recommends', *PACKAGES], check=True)
    if options.measure:
        measure(options)
    found = figures(options.threads)
    if not found:
        sys.exit('report.py: nothing measured yet; --measure runs the benchmarks')
    print(table(found))
    with open(options.svg, 'w') as f:
        f.write(plot(found))
    return 0


if __name__ == '__main__':
    sys.exit(main())
