#!/usr/bin/env python3
"""OxTorch beside its peers: one table and one plot of what peers.py and llama.py measured.

    python3 bench/peers/report.py [--install] [--measure] [--models a.gguf] [--svg build/peers.svg]

--install gets the peers from Debian's packages (as root). --measure runs both scripts first; --models are for
llama.cpp. Otherwise the figures of their last runs are taken, build/peers_*.json and build/llama.json. The
table (Markdown, on standard output) and the plot show the speed of OxTorch / peer: the median of the turns,
the least and the most.
"""
import argparse
import json
import math
import os
import subprocess
import sys
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = ['python3-numpy', 'python3-torch', 'libopenblas0-pthread', 'libblis4-pthread', 'libdnnl-dev',
            'llama.cpp-tools']
TIERS = ['sse2', 'avx', 'avx2', 'avx512', 'amx']


def measure(options):
    threads = str(options.threads)
    subprocess.run([sys.executable, HERE + '/peers.py', '--threads', threads, '--sizes', '1024,2048',
                    '--work', 'matmul,ops,attention'], check=True)
    if options.models:
        subprocess.run([sys.executable, HERE + '/llama.py', '--models', options.models, '--threads', threads,
                        '--llama', options.llama, '--tiers', options.llama_tiers], check=True)


def figures(threads):
    """Rows of (work, peer, tier, [median, least, most])."""
    rows = []
    peers = {'f32/openblas': ('OpenBLAS', ', f32'), 'f32/blis': ('BLIS', ', f32'),
             'f32/onednn': ('oneDNN', ', f32'), 'bf16/torch': ('PyTorch', ', bf16'),
             'f16/torch': ('PyTorch', ', f16'), 'of torch': ('PyTorch', '')}
    for tier in TIERS:
        path = ROOT + f'/build/peers_{tier}.json'
        results = json.load(open(path))['results'] if os.path.exists(path) else []
        for row in results:
            for key, (peer, more) in peers.items():
                if key in row and row['threads'] == threads:
                    rows.append((row['work'] + more, peer, tier, row[key]))
    path = ROOT + '/build/llama.json'
    for row in json.load(open(path)) if os.path.exists(path) else []:
        work = row['model'].removesuffix('.gguf') + ', ' + row['work']
        if row['threads'] == threads:
            rows.append((work, 'llama.cpp', row['tier'], [row['ratio'], row['least'], row['most']]))
    return rows


def table(rows):
    lines = ['| work | peer | tier | OxTorch / peer | least .. most |', '|---|---|---|---|---|']
    for work, peer, tier, (middle, least, most) in rows:
        lines.append(f'| {work} | {peer} | {tier} | {middle:.2f} | {least:.2f} .. {most:.2f} |')
    return '\n'.join(lines)


def plot(rows):
    """A bar a row on a scale of powers of two; a line where both are as fast; whiskers from least to most."""
    left, width, step, top = 330, 420, 16, 40
    low, high = 0.5, max([4.0] + [most for *_, (_, _, most) in rows])
    octaves = 1
    while low * 2 ** octaves < high:
        octaves += 1
    colors = {'OpenBLAS': '#4e79a7', 'PyTorch': '#e15759', 'llama.cpp': '#59a14f'}

    def x_of(value):
        return left + width * min(1, max(0, math.log2(max(value, low) / low) / octaves))

    height = top + step * len(rows) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{height}" '
           'font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{left}" y="16" font-size="13">Speed of OxTorch / peer (above 1: OxTorch is faster)'
           '</text>']
    for octave in range(octaves + 1):
        value = low * 2 ** octave
        x = x_of(value)
        shade = '#333' if value == 1 else '#ddd'
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{height - 24}" '
                   f'stroke="{shade}"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{value:g}</text>')
    one = x_of(1)
    for i, (work, peer, tier, (middle, least, most)) in enumerate(rows):
        y, x = top + step * i, x_of(middle)
        a, b = min(one, x), max(one, x)
        label = escape(f'{work}  ({tier}, {peer})')
        out.append(f'<text x="{left - 8}" y="{y + 9}" text-anchor="end">{label}</text>')
        out.append(f'<rect x="{a:.1f}" y="{y}" width="{max(b - a, 1):.1f}" height="{step - 5}" '
                   f'fill="{colors.get(peer, "#888")}"/>')
        out.append(f'<line x1="{x_of(least):.1f}" x2="{x_of(most):.1f}" y1="{y + 5}" y2="{y + 5}" '
                   'stroke="#222"/>')
        out.append(f'<text x="{max(x_of(most), one) + 6:.1f}" y="{y + 9}">{middle:.2f}</text>')
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
    rows = figures(options.threads)
    if not rows:
        sys.exit('report.py: nothing measured yet; --measure runs the benchmarks')
    print(table(rows))
    with open(options.svg, 'w') as f:
        f.write(plot(rows))
    return 0


if __name__ == '__main__':
    sys.exit(main())
