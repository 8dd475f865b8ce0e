#!/usr/bin/env python3
"""Compares recurrent nets and distributions, which op_db has not, with PyTorch's: forward, and gradients.

    python3 tests/torch_nn.py LIBRARY          LIBRARY as for torch_ops.py

Every kind with layers, directions, biases, projections, one sequence and many; every distribution's log_prob,
entropy, mean, variance, divergence and the moments of its samples, from parameters that broadcast.
"""
import ctypes
import itertools
import sys

import torch
from torch import distributions as td

from torch_ops import Failed, GradDesc, Library, Shape, Tensor

F64 = torch.float64
BOUNDS = {F64: 1e-10, torch.float32: 2e-5} # f32 takes a step by a row of its own, f64 by functions
COUNTS = {'equal': 0, 'not': 0}


def report(what, fits, words=''):
    COUNTS['equal' if fits else 'not'] += 1
    if not fits:
        print(what, words)


def compare(what, ours, theirs, bound=1e-10):
    ours = ours.to_torch()
    same = ours.shape == theirs.shape and torch.allclose(ours, theirs.to(ours.dtype), bound, bound,
        equal_nan=True)
    report(what, same, '%s, not %s' % (ours, theirs))


def array(tensors):
    return (ctypes.c_void_p * len(tensors))(*[t.pointer for t in tensors])


def gradients(lib, outs, given, inputs):
    got = (ctypes.c_void_p * len(inputs))()
    g = array(given)
    desc = GradDesc(ctypes.cast(g, ctypes.c_void_p), False, False, True)
    lib.raw.ox_grad.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                                ctypes.c_void_p]
    if lib.raw.ox_grad(array(outs), len(outs), array(inputs), len(inputs), ctypes.byref(desc), got):
        raise Failed(lib.said())
    return [Tensor(lib, p) if p else None for p in got]


def leaf(lib, t):
    return lib.requires_grad_(lib.detach(lib.from_torch(t)), True)


# ---- recurrent nets --------------------------------------------------------------------------------------

def recurrent(lib, dtype, name, layers, bidirectional, batch_first, bias, projection, single):
    kind = {'lstm': torch.nn.LSTM, 'gru': torch.nn.GRU}.get(name, torch.nn.RNN)
    more = {'proj_size': projection} if name == 'lstm' else {
        'nonlinearity': name[4:]} if kind is torch.nn.RNN else {}
    module = kind(3, 4, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional, dtype=dtype,
        **more)
    x = torch.randn(*((5, 3) if single else (2, 5, 3)), dtype=dtype, requires_grad=True)
    batch = [] if single else [2 if batch_first else 5]
    places = layers * (1 + bidirectional)
    states = [torch.randn(places, *batch, projection or 4, dtype=dtype, requires_grad=True)]
    if name == 'lstm':
        states.append(torch.randn(places, *batch, 4, dtype=dtype, requires_grad=True))
    y, last = module(x, tuple(states) if name == 'lstm' else states[0])
    theirs = [y] + (list(last) if name == 'lstm' else [last])
    params = list(module.parameters())
    inputs = [leaf(lib, t) for t in [x] + states + params]
    own = inputs[1:1 + len(states)]
    ours = lib.call(name, inputs[0], own if name == 'lstm' else own[0], inputs[1 + len(states):], bias,
        layers, 0.0,
                    False, bidirectional, batch_first)
    what = '%s %s %s' % (dtype, name, (layers, bidirectional, batch_first, bias, projection, single))
    report(what, len(ours) == len(theirs), 'results')
    for a, b in zip(ours, theirs):
        compare(what, a, b, BOUNDS[dtype])
    given = [torch.randn_like(t) for t in theirs]
    expected = torch.autograd.grad(theirs, [x] + states + params, given)
    got = gradients(lib, ours, [lib.from_torch(g) for g in given], inputs)
    for a, b in zip(got, expected):
        compare(what + ' gradient', a, b, BOUNDS[dtype])


def cells(lib, dtype):
    for name in ('lstm', 'gru', 'rnn_tanh', 'rnn_relu'):
        gates = {'lstm': 4, 'gru': 3}.get(name, 1)
        w, u, b, d = [torch.randn(*s, dtype=dtype)
            for s in ((gates * 4, 3), (gates * 4, 4), (gates * 4,), (gates * 4,))]
        x, h, c = [torch.randn(2, n, dtype=dtype) for n in (3, 4, 4)]
        ours = [lib.from_torch(t) for t in (x, h, c, w, u, b, d)]
        if name == 'lstm':
            theirs = torch.lstm_cell(x, (h, c), w, u, b, d)
            for a, e in zip(lib.lstm_cell(ours[0], ours[1:3], *ours[3:]), theirs):
                compare('lstm_cell', a, e, BOUNDS[dtype])
        else:
            compare(name + '_cell', lib.call(name + '_cell', ours[0], ours[1], *ours[3:]),
                    getattr(torch, name + '_cell')(x, h, w, u, b, d), BOUNDS[dtype])


# ---- distributions ---------------------------------------------------------------------------------------

class Distribution(ctypes.Structure):
    _fields_ = [('kind', ctypes.c_int), ('parameter', ctypes.c_void_p * 3), ('count', ctypes.c_int64)]


def above(*shape):
    return torch.rand(*shape, dtype=F64) * 2 + 0.3


def anything(*shape):
    return torch.randn(*shape, dtype=F64)


def share(*shape):
    return torch.rand(*shape, dtype=F64) * 0.8 + 0.1


def factor():
    a = anything(2, 3, 3)
    return torch.linalg.cholesky(a @ a.mT + torch.eye(3, dtype=F64))


def low_and_high(low, width):
    return td.Uniform(low, low + width)


# kind, PyTorch's, parameters, trials, an outcome of PyTorch's samples or one of our own
KINDS = [
    ('NORMAL', td.Normal, [lambda: anything(3, 1), lambda: above(2)], 0),
    ('LOG_NORMAL', td.LogNormal, [lambda: anything(3, 1) / 4, lambda: above(2) / 4], 0),
    ('UNIFORM', td.Uniform, [lambda: anything(3, 1), lambda: anything(2).abs() + 9], 0),
    ('EXPONENTIAL', td.Exponential, [lambda: above(3)], 0),
    ('LAPLACE', td.Laplace, [lambda: anything(3, 1), lambda: above(2)], 0),
    ('CAUCHY', td.Cauchy, [lambda: anything(3, 1), lambda: above(2)], 0),
    ('GUMBEL', td.Gumbel, [lambda: anything(3, 1), lambda: above(2)], 0),
    ('BERNOULLI', lambda p: td.Bernoulli(probs=p), [lambda: share(3)], 0),
    ('BERNOULLI', lambda p: td.Bernoulli(logits=p), [None, lambda: anything(3)], 0),
    ('GEOMETRIC', lambda p: td.Geometric(probs=p), [lambda: share(3)], 0),
    ('GEOMETRIC', lambda p: td.Geometric(logits=p), [None, lambda: anything(3)], 0),
    ('BINOMIAL', lambda p: td.Binomial(5, probs=p), [lambda: share(3)], 5),
    ('BINOMIAL', lambda p: td.Binomial(5, logits=p), [None, lambda: anything(3)], 5),
    ('CATEGORICAL', lambda p: td.Categorical(probs=p), [lambda: above(2, 4)], 0),
    ('CATEGORICAL', lambda p: td.Categorical(logits=p), [None, lambda: anything(2, 4)], 0),
    ('MULTINOMIAL', lambda p: td.Multinomial(6, probs=p), [lambda: above(2, 4)], 6),
    ('MULTINOMIAL', lambda p: td.Multinomial(6, logits=p), [None, lambda: anything(2, 4)], 6),
    ('POISSON', td.Poisson, [lambda: above(3) * torch.tensor([0.3, 3.0, 30.0], dtype=F64)], 0),
    ('GAMMA', td.Gamma, [lambda: above(3, 1), lambda: above(2)], 0),
    ('BETA', td.Beta, [lambda: above(3, 1), lambda: above(2)], 0),
    ('DIRICHLET', td.Dirichlet, [lambda: above(2, 4)], 0),
    ('STUDENT_T', td.StudentT, [lambda: above(3, 1) + 5, lambda: anything(2), lambda: above(1)], 0),
    ('MULTIVARIATE_NORMAL', lambda m, f:
    td.MultivariateNormal(m, scale_tril=f), [lambda: anything(3), factor], 0),
]


def made(lib, kind, parameters, count):
    ours = [None if p is None else leaf(lib, p) for p in parameters]
    pointers = (ctypes.c_void_p * 3)(*[t.pointer if t else None for t in ours])
    return Distribution(lib.enums['OX_DISTRIBUTION_' + kind], pointers, count), [t for t in ours if t]


def ask(lib, what, *arguments):
    """A function of distributions, by hand: torch_ops.py does not know their type."""
    f = lib.raw['ox_distribution_' + what]
    f.restype, f.argtypes = ctypes.c_void_p, None
    values = [ctypes.byref(a) if isinstance(a, Distribution) else a if isinstance(a, Shape) else
              ctypes.c_void_p(a.pointer) for a in arguments]
    return Tensor(lib, f(*values))


def compare_with_gradient(lib, what, call, theirs, inputs, parameters):
    try:
        ours = call()
    except Failed as error:
        report(what, False, str(error))
        return
    compare(what, ours, theirs)
    if not theirs.requires_grad or torch.isnan(theirs).any():
        return
    given = torch.randn_like(theirs.detach())
    expected = torch.autograd.grad(theirs, parameters, given, allow_unused=True, retain_graph=True)
    got = gradients(lib, [ours], [lib.from_torch(given)], inputs)
    for a, e, p in zip(got, expected, parameters):
        if e is not None and (a is not None or e.abs().any()):
            compare(what + ' gradient', a, e, 1e-8)


def distribution(lib, kind, theirs_of, makers, count):
    parameters, others = [[None if m is None else m() for m in makers] for _ in range(2)]
    if kind == 'UNIFORM':
        others = [parameters[0] - 1, parameters[1] + 1]
    wanted = [p.requires_grad_(True) for p in parameters if p is not None]
    p, q = theirs_of(*wanted), theirs_of(*[o for o in others if o is not None])
    ours, inputs = made(lib, kind, parameters, count)
    second, _ = made(lib, kind, others, count)
    value = p.sample((4,)).detach()
    ask_value = lib.from_torch(value.contiguous())
    compare_with_gradient(lib, kind + ' log_prob', lambda:
        ask(lib, 'log_prob', ours, ask_value), p.log_prob(value),
                          inputs, wanted)
    for what in ('entropy', 'mean', 'variance'):
        try:
            expected = getattr(p, what)() if what == 'entropy' else getattr(p, what)
        except NotImplementedError:
            continue
        if kind == 'CATEGORICAL' and what != 'entropy' or kind in ('MULTINOMIAL',
            'BINOMIAL') and what == 'entropy':
            continue
        compare_with_gradient(lib, '%s %s' % (kind, what), lambda:
            ask(lib, what, ours), expected, inputs, wanted)
    if kind not in ('STUDENT_T', 'MULTINOMIAL'):
        compare_with_gradient(lib, kind + ' kl', lambda:
            ask(lib, 'kl', ours, second), td.kl_divergence(p, q), inputs,
                              wanted)
    samples(lib, kind, p, ours)


def samples(lib, kind, p, ours):
    """Their shape and dtype, and their moments within six standard errors."""
    n = 20000
    drawn = ask(lib, 'sample', ours, lib.shape((n,))).to_torch()
    expected = p.sample((n,))
    report(kind + ' sample', drawn.shape == expected.shape, '%s' % (tuple(drawn.shape),))
    if kind == 'CAUCHY':
        drawn, expected = drawn.arctan(), expected.arctan()
    drawn, expected = drawn.to(F64), expected.to(F64)
    error = ((drawn.var(0) + expected.var(0)) / n).sqrt()
    off = ((drawn.mean(0) - expected.mean(0)).abs() / (error + 1e-12)).max()
    report(kind + ' mean of samples', off < 6, '%g standard errors' % off)
    spread = (drawn.var(0) / expected.var(0)).log().abs().max()
    report(kind + ' variance of samples', spread < (0.9 if kind in ('LOG_NORMAL', 'STUDENT_T') else 0.15),
           'off by %g' % spread)


def main():
    lib = Library(sys.argv[1])
    torch.manual_seed(1)
    flags = (False, True)
    for dtype, name in itertools.product(BOUNDS, ('lstm', 'gru', 'rnn_tanh', 'rnn_relu')):
        for layers, sides, first, bias, projection, single in itertools.product(
                (1, 2), flags, flags, flags, (0, 2) if name == 'lstm' else (0,), flags):
            recurrent(lib, dtype, name, layers, sides, first, bias, projection, single)
    for dtype in BOUNDS:
        cells(lib, dtype)
    for row in KINDS:
        distribution(lib, *row)
    print('%(equal)d equal, %(not)d not' % COUNTS)
    sys.exit(COUNTS['not'] > 0)


main()
