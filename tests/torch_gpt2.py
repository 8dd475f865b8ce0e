#!/usr/bin/env python3
"""Writes tests/gpt2_golden.h: what PyTorch makes of a small GPT-2.

    python3 tests/torch_gpt2.py

Loss, gradients of its 16 kinds of parameters (sum, sum of squares, some elements) and the losses of ten steps
of AdamW, as the check of llm.c has them. Parameters and tokens are formulas that tests/test_gpt2.c has too:
tests/test_gpt2.c computes the same with OxTorch. Wants PyTorch.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

V, T, B, C, L, H = 67, 24, 3, 48, 3, 4
SAMPLES = 8
TOP = os.path.dirname(os.path.abspath(__file__))
# name, shape of a layer (or of the whole), whether each layer has one, size, center
KINDS = [('wte', (V, C), False, 0.1, 0), ('wpe', (T, C), False, 0.1, 0), ('ln1w', (C,), True, 0.1, 1),
         ('ln1b', (C,), True, 0.1, 0), ('qkvw', (3 * C, C), True, 0.2, 0), ('qkvb', (3 * C,), True, 0.1, 0),
         ('attprojw', (C, C), True, 0.2, 0), ('attprojb', (C,), True, 0.1, 0), ('ln2w', (C,), True, 0.1, 1),
         ('ln2b', (C,), True, 0.1, 0), ('fcw', (4 * C, C), True, 0.2, 0), ('fcb', (4 * C,), True, 0.1, 0),
         ('fcprojw', (C, 4 * C), True, 0.2, 0), ('fcprojb', (C,), True, 0.1, 0),
         ('lnfw', (C,), False, 0.1, 1), ('lnfb', (C,), False, 0.1, 0)]


def made(kind, layer):
    _, shape, _, size, center = KINDS[kind]
    i = np.arange(np.prod(shape), dtype=np.float64)
    x = center + size * np.sin(i * i * 0.013 + i * (kind + 1) * 0.71 + 1.3 * layer + kind)
    return torch.tensor(x.astype(np.float32).reshape(shape), requires_grad=True)


def loss_of(p, ids, targets):
    x = F.embedding(ids, p['wte'][0]) + p['wpe'][0]
    for l in range(L):
        n = F.layer_norm(x, (C,), p['ln1w'][l], p['ln1b'][l], 1e-5)
        q, k, v = (t.view(B, T, H, C // H).transpose(1, 2)
                   for t in F.linear(n, p['qkvw'][l], p['qkvb'][l]).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C)
        x = x + F.linear(y, p['attprojw'][l], p['attprojb'][l])
        n = F.layer_norm(x, (C,), p['ln2w'][l], p['ln2b'][l], 1e-5)
        n = F.gelu(F.linear(n, p['fcw'][l], p['fcb'][l]), approximate='tanh')
        x = x + F.linear(n, p['fcprojw'][l], p['fcprojb'][l])
    logits = F.linear(F.layer_norm(x, (C,), p['lnfw'][0], p['lnfb'][0], 1e-5), p['wte'][0])
    return F.cross_entropy(logits.view(-1, V), targets.reshape(-1))


def main():
    p = {kind[0]: [made(k, l) for l in range(L if kind[2] else 1)] for k, kind in enumerate(KINDS)}
    b, t = np.meshgrid(np.arange(B), np.arange(T + 1), indexing='ij')
    tokens = torch.tensor((b * 7 + t * t * 3 + t * b + 5) % V)
    optimizer = torch.optim.AdamW([t for list_ in p.values() for t in list_], lr=1e-3, weight_decay=0.01)
    losses, rows = [], []
    for step in range(10):
        loss = loss_of(p, tokens[:, :-1], tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        for name in p if step == 0 else ():
            g = torch.cat([t.grad.double().flatten() for t in p[name]])
            some = [g[i * (len(g) - 1) // (SAMPLES - 1)].item() for i in range(SAMPLES)]
            numbers = [g.sum().item(), (g * g).sum().item()] + some
            rows.append('    {"%s", {%s}},' % (name, ',\n     '.join(
                ', '.join('%.9g' % x for x in numbers[i:i + 6]) for i in range(0, len(numbers), 6))))
        optimizer.step()
    with open(os.path.join(TOP, 'gpt2_golden.h'), 'w') as file:
        file.write('/* gpt2_golden.h - written by tests/torch_gpt2.py with PyTorch %s: losses of ten steps, '
                   'and of each\n * kind of parameters the gradient of the first step: sum, sum of squares, '
                   'elements. */\n' % torch.__version__.split('+')[0])
        file.write('enum { V = %d, T = %d, B = %d, C = %d, L = %d, H = %d, SAMPLES = %d, STEPS = 10 };\n'
                   % (V, T, B, C, L, H, SAMPLES))
        file.write('static const double golden_losses[STEPS] = {\n    %s};\n' % ',\n    '.join(
            ', '.join('%.9g' % x for x in losses[i:i + 5]) for i in range(0, 10, 5)))
        file.write('static const struct { const char *name; double numbers[2 + SAMPLES]; } '
                   'golden_gradients[] = {\n%s\n};\n' % '\n'.join(rows))


if __name__ == '__main__':
    main()
