#!/usr/bin/env python3
"""Runs random programs on OxTorch and on PyTorch, and compares all that a program can see: operations, views,
changes in place, detached and not recorded ones, hooks, kept gradients; numbers, gradients, second gradients.

    python3 tests/torch_graphs.py LIBRARY [--count 1000] [--first 0] [--show SEED] [--strict]

LIBRARY as tests/torch_ops.py says. A program has 5 to 15 steps on f64. It fails where numbers differ, or
where OxTorch alone refuses something; --strict: where PyTorch alone does, too, which saves other tensors for
gradients and takes no operands that overlap a result. --show: the steps and differences of one program.
"""
import argparse
import ctypes
import random
import sys

import torch

import torch_ops

UNARY = ('sin', 'cos', 'tanh', 'sigmoid', 'neg', 'square', 'clone', 'contiguous', 'detach')
UNARY_ = ('sin_', 'cos_', 'tanh_', 'sigmoid_', 'neg_', 'square_', 'zero_')
VIEWS = ('view', 'unsqueeze', 'expand', 'transpose', 'diagonal', 'slice', 'select', 'narrow', 'contiguous')
BINARY, BINARY_ = ('add', 'sub', 'mul', 'maximum'), ('copy_', 'add_', 'sub_', 'mul_')
CHANGES = UNARY_ + BINARY_ + ('fill_',)
GRADIENT_HOOK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class BackwardDesc(ctypes.Structure):
    _fields_ = [('gradient', ctypes.c_void_p), ('retain', ctypes.c_bool), ('create', ctypes.c_bool),
                ('inputs', ctypes.c_void_p), ('input_count', ctypes.c_int)]


# ---- programs ----

class Writer:
    """Writes a program: steps (result, name, operands, numbers, recorded); knows shapes alone."""

    def __init__(self, seed):
        self.random, self.steps, self.shapes = random.Random(seed), [], {}
        self.hooks, self.viewed, self.apart = [], set(), set()
        self.heard, self.memory = set(), {}

    def step(self, name, operands, numbers=(), shape=None):
        result = 't%d' % len(self.steps) if shape is not None else None
        # a view that is not recorded wants a gradient in PyTorch 2.14, which goes nowhere; so does one of
        # what wants a gradient later
        recorded = self.random.random() > .06 or name in VIEWS
        if name in CHANGES and self.memory[operands[0]] in self.heard:
            # changes that are not recorded end the hooks of views in PyTorch
            if operands[0] in self.apart:
                return None
            recorded = True
        self.steps.append((result, name, tuple(operands), tuple(numbers), recorded))
        self.viewed.update(operands if name in VIEWS else ())
        if result:
            self.shapes[result] = tuple(shape)
            shares = name in VIEWS or name == 'detach'
            self.memory[result] = self.memory[operands[0]] if shares else result
            if name == 'detach' or shares and operands[0] in self.apart:
                self.apart.add(result)
        return result

    def any(self, fits=lambda shape: True):
        """A variable; the last ones more often."""
        names = [n for n, s in self.shapes.items() if fits(s)]
        return names[max(self.random.randrange(len(names)), self.random.randrange(len(names)))] \
            if names else None

    def view(self, x):
        r, shape = self.random, list(self.shapes[x])
        kind = r.choice(('narrow', 'select', 'slice', 'transpose', 'view', 'expand', 'diagonal', 'unsqueeze',
                         'alias'))
        d = r.randrange(len(shape)) if shape else 0
        if kind == 'alias':
            self.step('view', [x], [tuple(shape)], shape)
        elif kind == 'unsqueeze' and len(shape) < 3:
            self.step('unsqueeze', [x], [d], shape[:d] + [1] + shape[d:])
        elif kind == 'expand' and 1 in shape:
            to = [3 if s == 1 else s for s in shape]
            self.step('expand', [x], [tuple(to)], to)
        elif kind == 'view' and shape:
            to = [-1] if len(shape) > 1 else [1, shape[0]]
            size = 1
            for s in shape:
                size *= s
            self.step('view', [x], [tuple(to)], [size] if to == [-1] else to)
        elif kind == 'transpose' and len(shape) > 1:
            e = (d + 1) % len(shape)
            shape[d], shape[e] = shape[e], shape[d]
            self.step('transpose', [x], [d, e], shape)
        elif kind == 'diagonal' and len(shape) > 1:
            self.step('diagonal', [x], [0, 0, 1], shape[2:] + [min(shape[:2])])
        elif kind == 'slice' and shape and shape[d] > 1:
            self.step('slice', [x], [d, 0, shape[d], 2], shape[:d] + [(shape[d] + 1) // 2] + shape[d + 1:])
        elif kind == 'select' and shape:
            self.step('select', [x], [d, r.randrange(shape[d])], shape[:d] + shape[d + 1:])
        elif shape:
            length = r.randint(1, shape[d])
            start = r.randint(0, shape[d] - length)
            self.step('narrow', [x], [d, start, length], shape[:d] + [length] + shape[d + 1:])

    def operation(self, x):
        r, shape = self.random, self.shapes[x]
        kind = r.choice(('unary', 'unary', 'binary', 'binary', 'number', 'sum', 'rows', 'matmul', 'cat'))
        if kind == 'binary':
            y = self.any(lambda s: s == shape or s == shape[1:])
            self.step(r.choice(BINARY), [x, y], (), shape)
        elif kind == 'number':
            self.step(r.choice(('add', 'mul')), [x], [r.choice((-1.5, .5, 2.))], shape)
        elif kind == 'sum' and shape:
            d = r.randrange(len(shape))
            self.step(r.choice(('sum', 'mean')), [x], [(d,)], shape[:d] + shape[d + 1:])
        elif kind == 'rows' and shape:
            self.step(r.choice(('softmax', 'cumsum')), [x], [r.randrange(len(shape))], shape)
        elif kind == 'matmul' and len(shape) == 2:
            y = self.any(lambda s: len(s) == 2 and s[0] == shape[1])
            if y:
                self.step('matmul', [x, y], (), (shape[0], self.shapes[y][1]))
        elif kind == 'cat' and shape:
            y = self.any(lambda s: len(s) == len(shape) and s[1:] == shape[1:])
            self.step('cat', [x, y], (), (shape[0] + self.shapes[y][0],) + shape[1:])
        else:
            self.step(r.choice(UNARY), [x], (), shape)

    def in_place(self, x):
        r, shape = self.random, self.shapes[x]
        kind = r.randrange(4)
        if kind == 0:
            self.step(r.choice(UNARY_), [x])
        elif kind == 1:
            self.step(r.choice(('add_', 'mul_', 'fill_')), [x], [r.choice((-1.5, .5, 2.))])
        else:
            y = self.any(lambda s: s == shape or s == shape[1:])
            if x == y:
                self.step(r.choice(BINARY_[1:]), [x, y])
            elif self.memory[x] != self.memory[y]:       # PyTorch may read there what it has written
                self.step(r.choice(BINARY_), [x, y])

    def watch(self, x):
        r = self.random
        kind = r.choice(('hook', 'hook', 'double', 'retain', 'unhook', 'wants', 'backward'))
        if kind == 'unhook':
            if self.hooks:
                self.step('unhook', [r.choice(self.hooks)])
        elif kind != 'wants' or x not in self.viewed:
            self.step(kind, [x])
            if kind in ('hook', 'double', 'retain'):
                self.heard.add(self.memory[x])
            if kind in ('hook', 'double'):
                self.hooks.append(len(self.steps) - 1)


def program(seed):
    w = Writer(seed)
    r = w.random
    for _ in range(r.randint(1, 3)):
        shape = [r.randint(1, 4) for _ in range(r.choice((1, 2, 2, 3)))]
        w.step('leaf', [], [tuple(shape), r.random() < .8], shape)
    if r.random() < .8:                                  # of a leaf nothing may be changed in place
        x = w.any()
        w.step('mul', [x], [1.], w.shapes[x])
    kinds = (w.view, w.view, w.operation, w.operation, w.in_place, w.in_place, w.watch)
    for _ in range(r.randint(5, 15)):
        r.choice(kinds)(w.any())
    return w.steps


# ---- both sides ----

class Side:
    """What both do: runs steps and writes down what is seen."""

    def __init__(self):
        self.seen, self.t, self.leaves, self.handle = {}, {}, [], {}

    def run(self, steps, made_of):
        for i, (result, name, operands, numbers, recorded) in enumerate(steps):
            if any(o not in (self.handle if name == 'unhook' else self.t) for o in operands):
                continue
            try:
                t = self.leaf(made_of(i, numbers[0]), numbers[1]) if name == 'leaf' else \
                    self.do(i, name, operands, numbers, recorded)
            except self.refusals as e:
                self.seen['step %d' % i] = 'refused'
                self.said = str(e)
                continue
            if result:
                self.t[result] = t
                self.seen['step %d' % i] = self.kind(t)
                if name == 'leaf':
                    self.leaves.append(result)
            elif name not in ('unhook', 'backward') and operands[0] in self.t:
                self.seen['step %d' % i] = self.kind(self.t[operands[0]])
        for name, t in self.t.items():
            self.seen[name] = self.numbers(t)

    def heard(self, i, gradient):
        key, count = 'hook %d' % i, 0
        while '%s.%d' % (key, count) in self.seen:
            count += 1
        self.seen['%s.%d' % (key, count)] = gradient

    def end(self, weight, second):
        try:
            self.finish(weight, second)
        except self.refusals as e:
            self.seen['end'] = 'refused'
            self.said = str(e)


class PyTorch(Side):
    refusals = RuntimeError

    def leaf(self, numbers, wants):
        return numbers.clone().requires_grad_(wants)

    def kind(self, t):
        return (t.requires_grad, t.is_leaf, tuple(t.shape))

    def numbers(self, t):
        return t.detach().clone()

    def do(self, i, name, operands, numbers, recorded):
        if name == 'unhook':
            return self.handle[operands[0]].remove()
        x = self.t[operands[0]]
        if name in ('hook', 'double', 'retain') and x._base is not None and not x.grad_fn:
            raise RuntimeError('PyTorch 2.14 says that it wants a gradient, and crashes')
        if name in ('hook', 'double'):
            def hook(g):
                self.heard(i, g.detach().clone())
                return g * 2 if name == 'double' else None
            self.handle[i] = x.register_hook(hook)
            return x
        if name == 'retain':
            return x.retain_grad()
        if name == 'wants':
            return x.requires_grad_()
        if name == 'backward':
            return x.sum().backward(retain_graph=True)
        with torch.set_grad_enabled(recorded):
            if name == 'cat':
                return torch.cat([x, self.t[operands[1]]])
            if name == 'slice':
                return x[(slice(None),) * numbers[0] + (slice(numbers[1], numbers[2], numbers[3]),)]
            return getattr(x, name)(*[self.t[o] for o in operands[1:]], *numbers)

    def finish(self, weight, second):
        loss, wants = 0, [self.t[n] for n in self.leaves if self.t[n].requires_grad]
        for k, (name, t) in enumerate(self.t.items()):
            if t.requires_grad:
                loss = loss + (t * weight(k, tuple(t.shape))).sum()
        if not isinstance(loss, torch.Tensor) or second and not wants:
            raise RuntimeError('nothing wants a gradient')
        if not second:
            loss.backward()
            self.kept()
        else:
            first = torch.autograd.grad(loss, wants, create_graph=True, allow_unused=True)
            self.kept()                                  # what a base hears of second ones differs
            loss = 0
            for k, g in enumerate(first):
                self.seen['first %d' % k] = None if g is None else self.numbers(g)
                if g is not None and g.requires_grad:
                    loss = loss + (g * weight(k, tuple(g.shape))).sum()
            if isinstance(loss, torch.Tensor):
                for k, g in enumerate(torch.autograd.grad(loss, wants, allow_unused=True)):
                    self.seen['second %d' % k] = None if g is None else self.numbers(g)

    def kept(self):
        for name, t in self.t.items():
            if t.is_leaf or t.retains_grad:
                self.seen['gradient of ' + name] = None if t.grad is None else self.numbers(t.grad)


class OxTorch(Side):
    refusals = torch_ops.Failed

    def __init__(self, library):
        super().__init__()
        self.library, self.callbacks = library, []
        self.raw = library.raw
        for name in ('ox_requires_grad', 'ox_is_leaf', 'ox_set_grad_enabled'):
            getattr(self.raw, name).restype = ctypes.c_bool
        self.raw.ox_gradient.restype = self.raw.ox_requires_grad_.restype = ctypes.c_void_p
        self.raw.ox_mul.restype = ctypes.c_void_p
        self.raw.ox_register_hook.restype = ctypes.c_int64

    def leaf(self, numbers, wants):
        t = self.library.from_torch(numbers, False)
        self.raw.ox_requires_grad_(ctypes.c_void_p(t.pointer), wants)
        return t

    def kind(self, t):
        t = torch_ops.Tensor(self.library, t.pointer)
        pointer = ctypes.c_void_p(t.pointer)
        return (self.raw.ox_requires_grad(pointer), self.raw.ox_is_leaf(pointer), t.shape)

    def numbers(self, t):
        return torch_ops.Tensor(self.library, t.pointer).to_torch()

    def check(self):
        if self.raw.ox_error():
            raise torch_ops.Failed(self.library.said())

    def hook(self, i, pointer, doubles):
        def hook(g, user):
            self.heard(i, self.numbers(torch_ops.Tensor(self.library, g)))
            two = self.library.number(2.)
            return self.raw.ox_mul(ctypes.c_void_p(g), ctypes.c_void_p(two.pointer)) if doubles else None
        self.callbacks.append(GRADIENT_HOOK(hook))
        number = self.raw.ox_register_hook(pointer, self.callbacks[-1], None)
        self.check()
        return number

    def backward(self, t, retain):
        desc = BackwardDesc(None, retain, False, None, 0)
        self.raw.ox_backward(ctypes.c_void_p(t.pointer), ctypes.byref(desc))
        self.check()

    def do(self, i, name, operands, numbers, recorded):
        if name == 'unhook':
            pointer, number = self.handle[operands[0]]
            self.raw.ox_remove_hook(pointer, ctypes.c_int64(number))
            return self.check()
        x = self.t[operands[0]]
        pointer = ctypes.c_void_p(x.pointer)
        if name in ('hook', 'double'):
            self.handle[i] = pointer, self.hook(i, pointer, name == 'double')
            return x
        if name == 'retain':
            self.raw.ox_retain_gradient(pointer)
            return self.check()
        if name == 'wants':
            self.raw.ox_requires_grad_(pointer, True)
            return self.check()
        if name == 'backward':
            return self.backward(self.library.sum(x, (), False), True)
        before = self.raw.ox_set_grad_enabled(recorded)
        try:
            if name == 'cat':
                return self.library.cat([x, self.t[operands[1]]], 0)
            numbers += {'sum': (False,), 'mean': (False,)}.get(name, ())
            return self.library.call(name, x, *[self.t[o] for o in operands[1:]], *numbers)
        finally:
            self.raw.ox_set_grad_enabled(before)

    def weighted(self, terms, weight):
        total = None
        for k, t in terms:
            w = self.library.from_torch(weight(k, self.kind(t)[2]), False)
            s = self.library.sum(self.library.mul(t, w), (), False)
            total = self.library.add(total, s) if total else s
        return total

    def gradients(self, loss, wants, create):
        desc = torch_ops.GradDesc(None, create, create, True)
        inputs = (ctypes.c_void_p * max(len(wants), 1))(*[t.pointer for t in wants])
        grads, output = (ctypes.c_void_p * max(len(wants), 1))(), ctypes.c_void_p(loss.pointer)
        self.raw.ox_grad(ctypes.byref(output), 1, inputs, len(wants), ctypes.byref(desc), grads)
        self.check()
        return [torch_ops.Tensor(self.library, p) if p else None for p in grads[:len(wants)]]

    def finish(self, weight, second):
        wants = [self.t[n] for n in self.leaves if self.kind(self.t[n])[0]]
        loss = self.weighted([(k, t) for k, t in enumerate(self.t.values()) if self.kind(t)[0]], weight)
        if not loss or second and not wants:
            raise torch_ops.Failed('nothing wants a gradient')
        if not second:
            self.backward(loss, False)
            self.kept()
        else:
            first = self.gradients(loss, wants, True)
            self.kept()
            for k, g in enumerate(first):
                self.seen['first %d' % k] = None if g is None else self.numbers(g)
            loss = self.weighted([(k, g) for k, g in enumerate(first) if g and self.kind(g)[0]], weight)
            if loss:
                for k, g in enumerate(self.gradients(loss, wants, False)):
                    self.seen['second %d' % k] = None if g is None else self.numbers(g)

    def kept(self):
        for name, t in self.t.items():
            g = self.raw.ox_gradient(ctypes.c_void_p(t.pointer))
            self.seen['gradient of ' + name] = self.numbers(torch_ops.Tensor(self.library, g)) if g else None


# ---- comparing ----

def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and torch.allclose(a, b, 1e-9, 1e-10, equal_nan=True)
    if a is None and isinstance(b, torch.Tensor) or b is None and isinstance(a, torch.Tensor):
        return not (b if a is None else a).any()         # NULL is a gradient of zeros
    return type(a) is type(b) and a == b


def compare(library, seed, strict):
    """What differs, in words; whether PyTorch refused something that OxTorch computed."""
    steps, weights = program(seed), {}

    def numbers(k, shape):
        random_numbers = torch.Generator().manual_seed(seed * 1000 + k)
        return weights.setdefault((k, shape), torch.randn(shape, dtype=torch.float64,
                                                          generator=random_numbers))
    theirs, differences = PyTorch(), []
    with library.scope():
        ours = OxTorch(library)
        for side in (theirs, ours):
            side.said = ''
            side.run(steps, numbers)
            side.end(lambda k, shape: numbers(k + 100, shape), seed % 2)
    for key in dict.fromkeys(list(theirs.seen) + list(ours.seen)):
        a, b = theirs.seen.get(key), ours.seen.get(key)
        ended = key.startswith('hook') and theirs.seen.get('end') == ours.seen.get('end') == 'refused'
        if not same(a, b) and not ended:
            differences.append('%s: PyTorch %s, OxTorch %s' % (key, a, b))
    if differences and theirs.said + ours.said:
        differences.append('PyTorch: %s; OxTorch: %s' % (theirs.said.split('\n')[0][:150], ours.said[:150]))
    alone = [k for k in theirs.seen if theirs.seen[k] == 'refused' and ours.seen.get(k) != 'refused'] \
        if not strict else []
    return steps, differences, bool(alone)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('library')
    parser.add_argument('--count', type=int, default=1000)
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--show', type=int)
    parser.add_argument('--strict', action='store_true')
    options = parser.parse_args()
    library, equal, liberal, failed = torch_ops.Library(options.library), 0, 0, []
    seeds = [options.show] if options.show is not None else \
        range(options.first, options.first + options.count)
    for seed in seeds:
        steps, differences, alone = compare(library, seed, options.strict)
        if options.show is not None:
            print('\n'.join('%2d %s' % (i, s) for i, s in enumerate(steps)), '\n'.join(differences), sep='\n')
        if differences and not alone:
            failed.append(seed)
            print('%d: %s' % (seed, differences[0].replace('\n', ' ')[:200]), flush=True)
        elif differences:
            liberal += 1
        else:
            equal += 1
    print('%d programs equal, %d of which PyTorch alone refuses a part, %d differ' %
          (equal, liberal, len(failed)))
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
