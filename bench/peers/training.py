#!/usr/bin/env python3
"""Measures steps of networks beside PyTorch: BERT, GPT-2 of 6 and 12 layers, ResNet-18; training, prompts,
tokens, images.

    python3 bench/peers/training.py [--models bert,gpt2_6,gpt2_12,resnet18]
        [--works step,prefill,decode,forward]
        [--dtypes f32,bf16] [--steps 5] [--turns 3] [--threads 2] [--python "python3"] [--json FILE]

Both sides build the same model (bench/bench_training.c says which), a process each, and take turns (A B A
B ...). A figure is the median over the turns of PyTorch's time / OxTorch's: above 1, OxTorch is faster.
Memory is the most that a process held. --python: a command that runs a Python with PyTorch, if this has none.
(--peer MODEL WORK DTYPE BATCH LENGTH STEPS is one such process of PyTorch.)
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WIDTH, HEADS, POSITIONS = 768, 12, 1024
SHAPES = {('bert', 'step'): (4, 128), ('gpt2_6', 'step'): (4, 128), ('gpt2_6', 'prefill'): (1, 128),
          ('gpt2_6', 'decode'): (1, 128), ('gpt2_12', 'step'): (4, 64),
          ('resnet18', 'forward'): (4, 224), ('resnet18', 'step'): (4, 224)}


# ---- PyTorch's side ----

def resnet18():
    """As bench/resnet.h: torchvision's layers."""
    import torch.nn.functional as F
    from torch import nn

    def layer(a, b, size, stride):
        return nn.Sequential(nn.Conv2d(a, b, size, stride, size // 2, bias=False), nn.BatchNorm2d(b))

    class Block(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            stride = 1 if a == b else 2
            self.first, self.second = layer(a, b, 3, stride), layer(b, b, 3, 1)
            self.past = layer(a, b, 1, 2) if stride == 2 else nn.Identity()

        def forward(self, x):
            return F.relu(self.second(F.relu(self.first(x))) + self.past(x))

    blocks = [Block(64 << max(i - 1, 0) // 2, 64 << i // 2) for i in range(8)]
    return nn.Sequential(layer(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def peer(model, work, dtype, batch, length, steps):
    import resource
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, causal):
            super().__init__()
            self.causal, self.past, eps = causal, None, 1e-5 if causal else 1e-12
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH, eps), nn.LayerNorm(WIDTH, eps)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def attend(self, x, keeps):
            b, s, _ = x.shape
            q, k, v = (t.view(b, s, HEADS, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            if keeps:
                if self.past is not None:
                    k, v = torch.cat((self.past[0], k), 2), torch.cat((self.past[1], v), 2)
                self.past = (k, v)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and s > 1)
            return self.out(mixed.transpose(1, 2).reshape(b, s, WIDTH))

        def feed(self, x):
            return self.down(F.gelu(self.up(x), approximate='tanh' if self.causal else 'none'))

        def forward(self, x, keeps):
            if self.causal:
                x = x + self.attend(self.norm1(x), keeps)
                return x + self.feed(self.norm2(x))
            x = self.norm1(x + self.attend(x, keeps))
            return self.norm2(x + self.feed(x))

    class Transformer(nn.Module):
        def __init__(self, causal, layers, vocabulary):
            super().__init__()
            self.causal = causal
            self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(POSITIONS, WIDTH)
            self.norm = nn.LayerNorm(WIDTH, 1e-5 if causal else 1e-12)
            self.layers = nn.ModuleList(Layer(causal) for _ in range(layers))
            for p in self.parameters():
                if p.ndim == 2:
                    nn.init.normal_(p, 0, 0.02)

        def forward(self, ids, first=0, keeps=False):
            x = self.tokens(ids) + self.positions.weight[first:first + ids.shape[1]]
            if not self.causal:
                x = self.norm(x)
            for layer in self.layers:
                x = layer(x, keeps)
            if self.causal:
                x = self.norm(x)
            if keeps and ids.shape[1] > 1:
                x = x[:, -1:]
            return F.linear(x, self.tokens.weight)

    torch.manual_seed(1)
    bert = model == 'bert'
    vocabulary = 30522 if bert else 50257
    images = model == 'resnet18'
    m = resnet18() if images else Transformer(not bert, 12 if model == 'gpt2_12' else 6, vocabulary)
    m = m.to(torch.bfloat16 if dtype == 'bf16' else torch.float32)
    optimizer = torch.optim.AdamW(m.parameters(), fused=True)
    ids, targets = (torch.randint(0, vocabulary, (batch, length)) for _ in range(2))
    if images:
        m.train(work == 'step')
        ids, targets = torch.randn(batch, 3, length, length), torch.randint(0, 1000, (batch,))
        ids = ids.to(next(m.parameters()).dtype)

    def infer(ids, first, begins):
        with torch.no_grad():
            if begins:
                for layer in m.layers:
                    layer.past = None
            return m(ids, first, True).float().mean().item()

    def step(i):
        if work == 'decode':
            return infer(ids[:, :1], length + i + 1, False)
        if work == 'prefill':
            return infer(ids, 0, True)
        if work == 'forward':
            with torch.no_grad():
                return m(ids).float().mean().item()
        logits = m(ids)
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    if work == 'decode':
        infer(ids, 0, True)
    seconds = []
    for i in range(-1, steps):
        start = time.perf_counter()
        last = step(i)
        seconds += [time.perf_counter() - start] if i >= 0 else []
    median, memory = statistics.median(seconds), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print('%s %s %s: %.2f ms, %.1f MB, %.4f' % (model, work, dtype, median * 1e3, memory, last))


# ---- both ----

def build():
    """Path of bench_training, built if it is missing or older than the headers."""
    program, source = ROOT + '/build/peers_training', ROOT + '/bench/bench_training.c'
    inputs = [source, ROOT + '/bench/resnet.h', ROOT + '/oxtorch.h', ROOT + '/oxtorch_nn.h']
    if os.path.exists(program) and os.path.getmtime(program) >= max(map(os.path.getmtime, inputs)):
        return program
    os.makedirs(ROOT + '/build', exist_ok=True)
    command = ['cc', '-O2', '-DOX_IMPLEMENTATION', '-I' + ROOT, source, '-o', program, '-lm', '-lpthread']
    subprocess.run(command, check=True)
    return program


def run(command, threads):
    """Milliseconds and megabytes of a process."""
    told = environment.plain(OX_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=told).stdout
    found = re.search(r': ([\d.]+) ms, ([\d.]+) MB', out)
    return float(found.group(1)), float(found.group(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--models', default='bert,gpt2_6,gpt2_12,resnet18')
    parser.add_argument('--works', default='step,prefill,decode,forward')
    parser.add_argument('--dtypes', default='f32,bf16')
    parser.add_argument('--steps', type=int, default=5)
    parser.add_argument('--turns', type=int, default=3)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--python', default=sys.executable)
    parser.add_argument('--json')
    parser.add_argument('--peer', nargs=6)
    options = parser.parse_args()
    if options.peer:
        model, work, dtype = options.peer[:3]
        return peer(model, work, dtype, *(int(n) for n in options.peer[3:]))
    program, rows = build(), []
    for (model, work), (batch, length) in SHAPES.items():
        if model not in options.models.split(',') or work not in options.works.split(','):
            continue
        for dtype in options.dtypes.split(','):
            arguments = [model, work, dtype, str(batch), str(length), str(options.steps)]
            ours, theirs = [], []
            for _ in range(options.turns):
                ours.append(run([program] + arguments, options.threads))
                theirs.append(run(options.python.split() + [os.path.abspath(__file__), '--peer'] +
                                  arguments, options.threads))
            ratios = [b[0] / a[0] for a, b in zip(ours, theirs)]
            row = {'model': model, 'work': work, 'dtype': dtype, 'batch': batch, 'length': length,
                   'ms': statistics.median(a[0] for a in ours),
                   'torch_ms': statistics.median(b[0] for b in theirs),
                   'ratio': statistics.median(ratios), 'least': min(ratios), 'most': max(ratios),
                   'mb': max(a[1] for a in ours), 'torch_mb': max(b[1] for b in theirs)}
            rows.append(row)
            print('%(model)-8s %(work)-8s %(dtype)-5s %(batch)d x %(length)d: %(ms)9.2f ms, PyTorch '
                  '%(torch_ms)9.2f ms, ratio %(ratio).2f (%(least).2f .. %(most).2f); %(mb).0f MB, PyTorch '
                  '%(torch_mb).0f MB' % row, flush=True)
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(rows, file, indent=1)


if __name__ == '__main__':
    main()
