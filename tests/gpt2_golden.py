#!/usr/bin/env python3
"""What PyTorch makes of a small GPT-2, for tests/test_gpt2.c, or of a larger one as files of llm.c's layout.

    python3 tests/gpt2_golden.py > tests/gpt2_golden.h      the small one, computed in f64
    python3 tests/gpt2_golden.py FOLDER [V L NH C T B]      FOLDER/model.bin and FOLDER/debug_state.bin, f32,
                                                            for examples/train_gpt2.c --check; the losses of
                                                            ten AdamW steps stand behind the gradients

Parameters and tokens come from the generator x = 1664525 x + 1013904223 (mod 2^32), Numerical Recipes', so
that the test has them without a file."""
import os
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

SMALL = dict(V=31, L=2, NH=2, C=16, T=8, B=3, positions=12)
KINDS = [('wte', 0, 1), ('wpe', 0, 1), ('ln1w', 1, 0), ('ln1b', 1, 0), ('qkvw', 3, 1), ('qkvb', 3, 0),
         ('attprojw', 1, 1), ('attprojb', 1, 0), ('ln2w', 1, 0), ('ln2b', 1, 0), ('fcw', 4, 1), ('fcb', 4, 0),
         ('fcprojw', 1, 4), ('fcprojb', 1, 0), ('lnfw', 1, 0), ('lnfb', 1, 0)]
RATE, STEPS = 1e-3, 10


def numbers(seed, count):
    """Of [0, 1), in steps of 2^-24."""
    out, x = np.empty(count), seed
    for i in range(count):
        x = (1664525 * x + 1013904223) % 2**32
        out[i] = (x >> 8) / 2**24
    return out


def shape(kind, c):
    name, rows, columns = KINDS[kind]
    rows = c['V'] if name == 'wte' else c['positions'] if name == 'wpe' else rows * c['C']
    layers = [] if name in ('wte', 'wpe', 'lnfw', 'lnfb') else [c['L']]
    return layers + ([rows, columns * c['C']] if columns else [rows])


def parameters(c, dtype):
    out = []
    for kind, (name, _, _) in enumerate(KINDS):
        spread = 0.4 if name in ('wte', 'wpe') else 0.3
        flat = (numbers(kind + 1, int(np.prod(shape(kind, c)))) - 0.5) * spread
        if name in ('ln1w', 'ln2w', 'lnfw'):
            flat += 1
        out.append(torch.tensor(flat.astype(np.float32)).to(dtype).reshape(shape(kind, c)).requires_grad_())
    return out


def forward(p, c, ids):
    wte, wpe, ln1w, ln1b, qkvw, qkvb, ow, ob, ln2w, ln2b, fcw, fcb, dw, db, lnfw, lnfb = p
    b, t = ids.shape
    x = wte[ids] + wpe[:t]
    for layer in range(c['L']):
        h = F.layer_norm(x, (c['C'],), ln1w[layer], ln1b[layer], 1e-5)
        q, k, v = (s.view(b, t, c['NH'], -1).transpose(1, 2)
                   for s in F.linear(h, qkvw[layer], qkvb[layer]).chunk(3, -1))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c['C'])
        x = x + F.linear(h, ow[layer], ob[layer])
        h = F.layer_norm(x, (c['C'],), ln2w[layer], ln2b[layer], 1e-5)
        h = F.gelu(F.linear(h, fcw[layer], fcb[layer]), approximate='tanh')
        x = x + F.linear(h, dw[layer], db[layer])
    return F.linear(F.layer_norm(x, (c['C'],), lnfw, lnfb, 1e-5), wte)


def run(c, dtype, rate):
    p = parameters(c, dtype)
    ids = torch.tensor((numbers(100, c['B'] * c['T'] + 1) * c['V']).astype(np.int64))
    x, y = ids[:-1].view(c['B'], c['T']), ids[1:].view(c['B'], c['T'])
    optimizer = torch.optim.AdamW(p, lr=rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    losses = []
    for step in range(STEPS):
        logits = forward(p, c, x)
        loss = F.cross_entropy(logits.view(-1, c['V']), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            first = logits.detach().clone(), [t.grad.clone() for t in p], [t.detach().clone() for t in p]
        optimizer.step()
        losses.append(loss.item())
    return x, y, losses, first


def write_header():
    c = SMALL
    _, _, losses, (logits, grads, _) = run(c, torch.float64, RATE)
    print('/* gpt2_golden.h - PyTorch %s on the GPT-2 of test_gpt2.c, in f64: tests/gpt2_golden.py writes '
          'this. */' % torch.__version__.split('+')[0])
    print('enum { V = %(V)d, L = %(L)d, NH = %(NH)d, C = %(C)d, T = %(T)d, B = %(B)d, '
          'POSITIONS = %(positions)d };' % c)
    print('static const double golden_losses[%d] = {\n    %s};' % (
        STEPS, ',\n    '.join(', '.join('%.15g' % v for v in losses[i:i + 5]) for i in (0, 5))))
    print('/* Of logits and gradients: the norm, and products with two vectors of the generator (less 1/2). '
          '*/')
    print('static const double golden_sums[17][3] = {')
    for i, t in enumerate([logits] + grads):
        flat = t.reshape(-1)
        sums = [flat.norm()] + [flat @ torch.tensor(numbers(200 + k, flat.numel()) - 0.5) for k in (0, 1)]
        name = ('logits', *(k[0] for k in KINDS))[i]
        print('    {%s}, /* %s */' % (', '.join('%.15g' % v for v in sums), name))
    print('};')


def write_files(folder, c):
    x, y, losses, (logits, grads, p) = run(c, torch.float32, 1e-4)
    padded = (c['V'] + 127) // 128 * 128

    def flat(tensors):
        table = torch.zeros(padded - c['V'], c['C'])
        return b''.join(t.numpy().tobytes() for t in [torch.cat([tensors[0], table])] + tensors[1:])

    def head(*words):
        return struct.pack('<256i', *words, *[0] * (256 - len(words)))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'model.bin'), 'wb') as file:
        file.write(head(20240326, 3, c['positions'], c['V'], c['L'], c['NH'], c['C'], padded) + flat(p))
    with open(os.path.join(folder, 'debug_state.bin'), 'wb') as file:
        file.write(head(20240327, 2, c['B'], c['T']))
        file.write(x.numpy().astype('<i4').tobytes() + y.numpy().astype('<i4').tobytes())
        file.write(logits.numpy().tobytes() + struct.pack('<f', losses[0]) + flat(grads))
        file.write(struct.pack('<%df' % STEPS, *losses))


if len(sys.argv) > 1:
    sizes = [int(v) for v in sys.argv[2:]] or [311, 4, 4, 64, 32, 2]
    write_files(sys.argv[1], dict(zip(('V', 'L', 'NH', 'C', 'T', 'B'), sizes), positions=2 * sizes[4]))
else:
    write_header()
