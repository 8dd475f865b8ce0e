#!/usr/bin/env python3
"""OxTorch beside its peers: tables and plot of bench/RESULTS.md, from what peers.py and llama.py measured.

    python3 bench/peers/report.py [--install] [--measure] [--models a.gguf] [--write]

--install gets the peers from Debian's packages (as root). --measure runs both scripts first; --models are for
llama.cpp. What their last runs found (build/peers.json, build/llama.json; build/decode.json of decode.py,
whose peer is LLaMA itself) is printed as a table in Markdown: the speed of OxTorch / peer by tier, the median
of the turns, the least and the most.

--write adds these figures to measured.json beside this script, where they take the place of older ones of the
same work, peer, tier and number of threads. From that file it then writes the plot, measured.svg (medians),
and what stands between <!-- NAME: begin --> and <!-- NAME: end --> in bench/RESULTS.md.
"""
import argparse
import datetime
import json
import math
import os
import re
import subprocess
import sys
from xml.sax.saxutils import escape

from llama import TIERS as LLAMA_TIERS
from measured import load

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MEASURED, PLOT, RESULTS = HERE + '/measured.json', HERE + '/measured.svg', ROOT + '/bench/RESULTS.md'
PACKAGES = ['python3-numpy', 'python3-torch', 'libopenblas0-pthread', 'libblis4-pthread', 'libdnnl-dev',
            'llama.cpp-tools']
TIERS = ['sse2-base', 'sse2', 'avx-base', 'avx', 'avx2', 'avx512-base', 'avx512', 'amx']
COLORS = dict(zip(TIERS, ['#bbb', '#777', '#f3c98b', '#e08214', '#59a14f', '#a6cee3', '#1f78b4', '#b2182b']))
SHAPES = ('qwen3', 'gemma3', 'phi3', 'gpt oss', 'mixtral')  # of shapes.py
# The tables of RESULTS.md: which figures each of them has.
TABLES = {
    'products': lambda work, peer: work.startswith('matmul'),
    'operations': lambda work, peer: peer == 'PyTorch' and not work.startswith('matmul'),
    'shapes of 1b': lambda work, peer: peer == 'llama.cpp' and work.startswith(SHAPES),
    'families': lambda work, peer: peer == 'LLaMA',
    'model of 110m': lambda work, peer: work.startswith('110m'),
    'model of 1b': lambda work, peer: work.startswith('1b'),
}


def measure(options):
    threads = str(options.threads)
    subprocess.run([sys.executable, HERE + '/peers.py', '--threads', threads, '--sizes', '1024,2048',
                    '--work', 'matmul,ops,attention'], check=True)
    if options.models:
        subprocess.run([sys.executable, HERE + '/llama.py', '--models', options.models, '--threads', threads,
                        '--llama', options.llama, '--tiers', options.llama_tiers], check=True)


def last_runs(threads):
    """Rows of measured.json, of what the last runs of both scripts found."""
    peers = {'f32/openblas': ('OpenBLAS', ' f32'), 'f32/blis': ('BLIS', ' f32'),
             'f32/onednn': ('oneDNN', ' f32'), 'bf16/torch': ('PyTorch', ' bf16'),
             'f16/torch': ('PyTorch', ' f16'), 'of torch': ('PyTorch', '')}
    date = str(datetime.date.today())
    rows = [{'work': row['work'] + more, 'peer': peer, 'tier': row['tier'], 'threads': threads,
             'ratio': row[key], 'date': date}
            for row in load(ROOT + '/build/peers.json') if row['threads'] == threads
            for key, (peer, more) in peers.items() if key in row]
    for row in load(ROOT + '/build/llama.json'):
        if row['threads'] == threads:
            work = row['model'].removesuffix('.gguf').replace('-', ' ') + ', ' + row['work']
            ratio = [row['ratio'], row['least'], row['most']]
            rows.append({'work': work, 'peer': 'llama.cpp', 'tier': LLAMA_TIERS[row['tier']],
                         'threads': threads, 'ratio': ratio, 'date': date})
    rows += [{'work': row['family'] + ' ' + row['type'], 'peer': 'LLaMA', 'tier': row['tier'],
              'threads': threads, 'ratio': row['ratio'], 'date': date}
             for row in load(ROOT + '/build/decode.json') if row['threads'] == threads]
    return rows


def merged(old, new):
    """Both lists of rows: where a new one has the work, peer, tier and threads of an old one, the new one."""
    rows = {tuple(row[key] for key in ('work', 'peer', 'tier', 'threads')): row for row in old}
    rows.update({tuple(row[key] for key in ('work', 'peer', 'tier', 'threads')): row for row in new})
    return list(rows.values())


def figures(rows, threads):
    """{(work, peer): {tier: row}}, in the order of the rows."""
    found = {}
    for row in rows:
        if row['threads'] == threads:
            found.setdefault((row['work'], row['peer']), {})[row['tier']] = row
    return found


def tiers_of(found):
    return [tier for tier in TIERS if any(tier in row for row in found.values())]


def cell(row):
    """The median, with the least and the most of the turns where they were kept; a star if it is older."""
    ratio = row['ratio']
    digits = 2 if row['work'].startswith('matmul') or row['peer'] == 'LLaMA' else 1 if ratio[0] < 10 else 0
    spread = len(ratio) == 3 and ratio[1] < ratio[2]  # not of one turn
    text = '%.2f (%.2f .. %.2f)' % tuple(ratio) if spread else '%.*f' % (digits, ratio[0])
    return text + ('*' if row.get('note') == 'earlier' else '')


def table(found):
    tiers = tiers_of(found)
    lines = ['| work | peer | ' + ' | '.join(tiers) + ' |', '|---|---|' + '---|' * len(tiers)]
    for (work, peer), row in found.items():
        cells = [cell(row[tier]) if tier in row else '' for tier in tiers]
        lines.append(f'| {work} | {peer} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def plot(found):
    """A line for each work, a dot for each tier, on a scale of powers of two; at 1 both are as fast."""
    left, width, step, top = 300, 560, 15, 58
    most = max(row['ratio'][0] for tiers in found.values() for row in tiers.values())
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
        for tier in tiers:
            if tier in row:
                x = x_of(row[tier]['ratio'][0])
                out.append(f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="{COLORS[tier]}" fill-opacity="0.8"/>')
    out.append('</svg>')
    return '\n'.join(out) + '\n'


def write(threads):
    """measured.json with the last runs in it, then the plot and the tables that follow from it."""
    rows = merged(load(MEASURED), last_runs(threads))
    with open(MEASURED, 'w') as f:
        f.write('[\n' + ',\n'.join(' ' + json.dumps(row) for row in rows) + '\n]\n')
    found = figures(rows, threads)
    with open(PLOT, 'w') as f:
        f.write(plot({key: row for key, row in found.items() if key[1] != 'LLaMA'}))
    with open(RESULTS) as f:
        text = f.read()
    for name, wanted in TABLES.items():
        part = {key: row for key, row in found.items() if wanted(*key)}
        begin, end = f'<!-- {name}: begin -->\n', f'<!-- {name}: end -->'
        text, count = re.subn(re.escape(begin) + '.*?' + re.escape(end),
                              lambda _: begin + table(part) + '\n' + end, text, flags=re.DOTALL)
        if count != 1:
            sys.exit(f'report.py: {RESULTS} has no place for the table "{name}"')
    with open(RESULTS, 'w') as f:
        f.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--install', action='store_true')
    parser.add_argument('--measure', action='store_true')
    parser.add_argument('--models')
    parser.add_argument('--llama', default='llama-bench')
    parser.add_argument('--llama-tiers', default='haswell,skylakex')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    if options.install:
        subprocess.run(['apt-get', 'install', '-y', '--no-install-recommends', *PACKAGES], check=True)
    if options.measure:
        measure(options)
    found = figures(last_runs(options.threads), options.threads)
    if found:
        print(table(found))
    elif not options.write:
        sys.exit('report.py: nothing measured yet; --measure runs the benchmarks')
    if options.write:
        write(options.threads)
    return 0


if __name__ == '__main__':
    sys.exit(main())
