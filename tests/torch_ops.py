#!/usr/bin/env python3
"""Compares OxTorch with the operators of PyTorch's own case database (op_db), forward and gradient.

    python3 tests/torch_ops.py LIBRARY [NAME ...]     says how each name does
    python3 tests/torch_ops.py LIBRARY --write        writes tests/torch_ops.txt
    options: --dtypes f32,f64   --seeds 1,2   --samples 40   --verbose
             --strided     operands in other layouts
             --second      gradients of gradients as well
             --reference   op_db's reference inputs instead of its sample inputs
             --errors      op_db's error inputs: each must give an error here, never a result or a crash

It wants PyTorch 2.14 and LIBRARY, the implementation of oxtorch_nn.h as a shared library:

    printf '#define OX_IMPLEMENTATION\\n#include "oxtorch_nn.h"\\n' > all.c
    cc -O1 -fPIC -shared -Isrc all.c -o libox.so -lm -lpthread

The list has a line a name: the functions that were called, how many samples came out equal, forward and
gradient, and why the others are not; or, after "missing", why there is none. tests/torch_ops_calls.py says
how a name is called.
tests/test_api.c holds the list against the table of public functions.
"""
import argparse
import contextlib
import ctypes
import math
import os
import re
import subprocess
import sys
import warnings
import zlib

warnings.filterwarnings('ignore')
import numpy as np  # noqa: E402
import torch  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import torch_ops_calls as calls  # noqa: E402
import torch_ops_algebra  # noqa: E402, F401   more rows of it
import torch_ops_nn  # noqa: E402, F401
from torch_ops_calls import MAX_DIMS, Shape  # noqa: E402

DTYPES = {torch.bool: 'OX_BOOL', torch.uint8: 'OX_U8', torch.int8: 'OX_I8', torch.int16: 'OX_I16',
          torch.int32: 'OX_I32', torch.int64: 'OX_I64', torch.float16: 'OX_F16', torch.bfloat16: 'OX_BF16',
          torch.float32: 'OX_F32', torch.float64: 'OX_F64', torch.complex64: 'OX_C64',
          torch.uint16: 'OX_U16', torch.uint32: 'OX_U32', torch.uint64: 'OX_U64'}
SHORT = {'f32': torch.float32, 'f64': torch.float64, 'f16': torch.float16, 'bf16': torch.bfloat16,
         'i64': torch.int64, 'i32': torch.int32, 'i16': torch.int16, 'i8': torch.int8, 'u8': torch.uint8,
         'bool': torch.bool, 'c64': torch.complex64}


class Missing(Exception):
    """Nothing here computes this sample."""


class Refused(Exception):
    """PyTorch refuses a sample in the layout that it was given, or it has a dtype that is none here."""


class Failed(Exception):
    """A function gave an error."""


OF_A_CALL = (Failed, AssertionError, TypeError, KeyError, RuntimeError, ValueError, IndexError,
             AttributeError, NotImplementedError, ctypes.ArgumentError)


def one_line(value, most):
    return re.sub(r'\s+', ' ', str(value))[:most]


def call_text(sample):
    """A sample's arguments, tensors as their dtype and shape."""
    def outline(t):
        few = 0 < t.numel() <= 4
        return one_line(t, 80) if few else '%s%s' % (str(t.dtype)[6:], list(t.shape))
    arguments = (sample.input,) + tuple(sample.args) + tuple(sample.kwargs.items())
    return one_line(map_tensors(arguments, outline), 300)


class Scalar(ctypes.Structure):
    _fields_ = [('dtype', ctypes.c_int), ('integer', ctypes.c_int64), ('real', ctypes.c_double),
                ('imaginary', ctypes.c_double)]


class Pair(ctypes.Structure):
    _fields_ = [('values', ctypes.c_void_p), ('indices', ctypes.c_void_p)]


class Tuple(ctypes.Structure):
    _fields_ = [('t', ctypes.c_void_p * 4)]


class Sparse(ctypes.Structure):
    _fields_ = [('values', ctypes.c_void_p), ('indices', ctypes.c_void_p), ('pointers', ctypes.c_void_p),
                ('shape', Shape), ('coalesced', ctypes.c_bool)]


class Raw(ctypes.Structure):
    _fields_ = [('dtype', ctypes.c_int), ('ndim', ctypes.c_int), ('shape', ctypes.c_int64 * MAX_DIMS),
                ('stride', ctypes.c_int64 * MAX_DIMS), ('offset', ctypes.c_int64)]


class Scope(ctypes.Structure):
    _fields_ = [('scope', ctypes.c_void_p), ('thread', ctypes.c_int64), ('open', ctypes.c_bool)]


class GradDesc(ctypes.Structure):
    _fields_ = [('gradients', ctypes.c_void_p), ('retain', ctypes.c_bool), ('create', ctypes.c_bool),
                ('allow_unused', ctypes.c_bool)]


class Tensor:
    """A tensor of the library."""

    def __init__(self, library, pointer):
        if not pointer:
            raise Failed(library.said())
        self.library, self.pointer = library, pointer
        raw = Raw.from_address(pointer)
        self.dtype = library.dtype_of[raw.dtype]
        self.shape = tuple(raw.shape[:raw.ndim])
        self.ndim, self.offset = raw.ndim, raw.offset

    def numel(self):
        return math.prod(self.shape)

    def size(self, dim):
        return self.shape[dim]

    @property
    def is_complex(self):
        return self.dtype.is_complex

    @property
    def is_floating(self):
        return self.dtype.is_floating_point

    def to_torch(self):
        width = torch.empty(0, dtype=self.dtype).element_size()
        memory = ctypes.create_string_buffer(max(self.numel() * width, 1))
        if self.library.raw.ox_to_data(ctypes.c_void_p(self.pointer), memory,
                                       ctypes.c_size_t(self.numel() * width)):
            raise Failed(self.library.said())
        if self.numel() == 0:
            return torch.empty(self.shape, dtype=self.dtype)
        numbers = torch.frombuffer(bytearray(memory.raw), dtype=self.dtype, count=self.numel())
        return numbers.reshape(self.shape)


class Library:
    """Public functions by their names without ox_, called with Python's values."""

    def __init__(self, path):
        self.raw = ctypes.CDLL(path)
        self.raw.ox_error_text.restype = ctypes.c_char_p
        self.raw.ox_scope_begin.restype = Scope
        self.used, self.prototypes = set(), {}
        text = subprocess.run(['cc', '-E', '-P', '-I' + os.path.join(HERE, '..', 'src'),
                               os.path.join(HERE, '..', 'src', 'oxtorch_nn.h')], check=True,
                               capture_output=True,
                              text=True).stdout
        enums = {}
        for body in re.findall(r'enum\s*\w*\s*\{(.*?)\}', text, re.S):
            value = -1
            for item in body.split(','):
                name, _, given = item.partition('=')
                if not name.strip():
                    continue
                try:
                    value = int(given.strip(), 0) if given.strip() else value + 1
                except ValueError:
                    value += 1
                enums[name.strip()] = value
        self.enums = enums
        self.code = {d: enums[n] for d, n in DTYPES.items()}
        self.dtype_of = {c: d for d, c in self.code.items()}
        for kind, name, parameters in re.findall(
                r'([\w ]+?[ *]+)(ox_\w+)\(((?:[^()]|\([^()]*\))*)\);', text):
            self.prototypes[name] = (self.plain(kind), [self.plain(re.sub(r'\w+$', '', p.strip()))
                                                        for p in parameters.split(',')])

    @staticmethod
    def plain(kind):
        words = kind.replace('extern', '').replace('static', '')
        return re.sub(r'\s+', ' ', words).replace(' *', '*').strip()

    @contextlib.contextmanager
    def scope(self):
        """What is made inside lives as long as it."""
        scope = self.raw.ox_scope_begin()
        try:
            yield
        finally:
            self.raw.ox_scope_end(ctypes.byref(scope))

    def said(self):
        text = (self.raw.ox_error_text() or b'').decode()
        self.raw.ox_error_clear()
        return text or 'NULL without an error'

    def scalar(self, value):
        c = self.enums
        if isinstance(value, bool):
            return Scalar(c['OX_BOOL'], int(value), 0, 0)
        if isinstance(value, int):
            return Scalar(c['OX_I64'], value, 0, 0)
        if isinstance(value, complex):
            return Scalar(c['OX_C64'], 0, value.real, value.imag)
        return Scalar(c['OX_F64'], 0, float(value), 0)

    def python_number(self, scalar):
        dtype = self.dtype_of[scalar.dtype]
        if dtype.is_complex:
            return complex(scalar.real, scalar.imaginary)
        return scalar.real if dtype.is_floating_point else bool(scalar.integer) if dtype == torch.bool \
            else scalar.integer

    def number(self, value):
        function = self.raw.ox_from_scalar
        function.restype, function.argtypes = ctypes.c_void_p, [Scalar]
        return Tensor(self, function(self.scalar(value)))

    def shape(self, value):
        if value is None:
            value = ()
        if isinstance(value, int):
            value = (value,)
        return Shape(len(value), (ctypes.c_int64 * MAX_DIMS)(*value))

    def from_torch(self, t, strided=True):
        """The same numbers with the same strides and offset; or in the order of the dims."""
        if t.dtype not in self.code:
            raise Refused('dtype ' + str(t.dtype))
        t = t.detach().resolve_conj().resolve_neg()
        if not strided:
            t = t.contiguous()
        if t.numel() == 0:
            return self.call('empty', list(t.shape), t.dtype)
        offset = t.storage_offset() if strided else 0
        reach = t.untyped_storage().nbytes() // t.element_size()
        flat = t.as_strided((reach,), (1,), 0).clone()
        memory = flat.view(torch.uint8).numpy().tobytes() if flat.dtype != torch.bool else \
            flat.to(torch.uint8).numpy().tobytes()
        function = self.raw.ox_from_data
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_char_p, Shape, ctypes.c_int]
        whole = Tensor(self, function(memory, self.shape((reach,)), self.code[t.dtype]))
        self.raw.ox_as_strided.restype = ctypes.c_void_p
        return self.quiet('as_strided', whole, list(t.shape), list(t.stride()), offset)

    def quiet(self, name, *arguments):
        used = set(self.used)
        result = self.call(name, *arguments)
        self.used = used
        return result

    def call(self, name, *arguments):
        if 'ox_' + name not in self.prototypes:
            raise Missing('no ox_' + name)
        self.used.add('ox_' + name)
        kind, parameters = self.prototypes['ox_' + name]
        values, types, i, out, keep = [], [], 0, None, []
        parameters = list(parameters)
        k = 0
        while k < len(parameters):
            p = parameters[k]
            if p in ('ox_tensor**',):
                out = (ctypes.c_void_p * 512)()
                values += [out, 512]
                types += [ctypes.c_void_p, ctypes.c_int64]
                k += 2
                continue
            if i >= len(arguments):
                raise TypeError('ox_%s: %d arguments for %s' % (name, len(arguments), parameters))
            a = arguments[i]
            i += 1
            k += 1
            if p in ('ox_tensor*', 'const ox_tensor*'):
                if isinstance(a, (bool, int, float, complex)):
                    a = self.number(a)
                    keep.append(a)
                values.append(a.pointer if a is not None else None)
                types.append(ctypes.c_void_p)
            elif p in ('ox_tensor*const*',):
                pointers = [t.pointer if t is not None else None for t in a]
                values += [(ctypes.c_void_p * max(len(a), 1))(*pointers)]
                types += [ctypes.c_void_p]
                if k < len(parameters) and parameters[k] in ('int', 'int64_t'):
                    values.append(len(a))
                    types.append(ctypes.c_int if parameters[k] == 'int' else ctypes.c_int64)
                    k += 1
            elif p == 'const int64_t*':
                values += [(ctypes.c_int64 * max(len(a), 1))(*a), len(a)]
                types += [ctypes.c_void_p, ctypes.c_int64 if parameters[k] == 'int64_t' else ctypes.c_int]
                k += 1
            elif p == 'const double*':
                values += [(ctypes.c_double * max(len(a), 1))(*a)]
                types += [ctypes.c_void_p]
            elif p == 'ox_shape':
                values.append(self.shape(a))
                types.append(Shape)
            elif p == 'ox_scalar':
                values.append(self.scalar(a))
                types.append(Scalar)
            elif p == 'ox_dtype':
                values.append(self.code[a] if a is not None else self.enums['OX_DTYPE_NONE'])
                types.append(ctypes.c_int)
            elif p == 'double':
                values.append(float(a))
                types.append(ctypes.c_double)
            elif p == 'bool':
                values.append(bool(a))
                types.append(ctypes.c_bool)
            elif p == 'int64_t':
                values.append(int(a))
                types.append(ctypes.c_int64)
            elif p == 'const char*':
                values.append(a.encode() if a is not None else None)
                types.append(ctypes.c_char_p)
            elif p.startswith('const ox_') and (p.endswith('_desc*') or p == 'const ox_sparse*'):
                values.append(ctypes.byref(a) if a is not None else None)
                types.append(ctypes.c_void_p)
            else:                                       # int and enumerations
                values.append(self.enums[a] if isinstance(a, str) else int(a))
                types.append(ctypes.c_int)
        function = self.raw['ox_' + name]
        function.argtypes = types
        function.restype = {'ox_tensor*': ctypes.c_void_p, 'ox_pair': Pair, 'ox_tuple': Tuple,
                            'ox_sparse': Sparse, 'ox_scalar': Scalar,
                            'int64_t': ctypes.c_int64, 'bool': ctypes.c_bool}.get(kind, ctypes.c_int)
        result = function(*values)
        if kind == 'ox_pair':
            return Tensor(self, result.values), Tensor(self, result.indices)
        if kind == 'ox_tuple':
            got = [Tensor(self, p) for p in result.t if p]
            if not got:
                raise Failed(self.said())
            return tuple(got)
        if kind == 'ox_scalar':
            if self.raw.ox_error():
                raise Failed(self.said())
            return self.python_number(result)
        if kind == 'ox_sparse':
            if not result.values:
                raise Failed(self.said())
            return result
        if out is not None:
            if result < 0:
                raise Failed(self.said())
            return [Tensor(self, p) for p in out[:result]]
        if kind == 'ox_tensor*':
            return Tensor(self, result)
        if self.raw.ox_error():
            raise Failed(self.said())
        return result

    def __getattr__(self, name):
        if name.startswith('_') or name == 'raw':
            raise AttributeError(name)
        return lambda *arguments: self.call(name, *arguments)


def leaves(value):
    if isinstance(value, (torch.Tensor, Tensor)):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in leaves(v)]
    if isinstance(value, (bool, int, float, complex)):
        return [value]
    return []


def map_tensors(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (tuple, list, torch.Size)):
        return type(value)(map_tensors(v, change) for v in value) if not hasattr(value, '_fields') else \
            tuple(map_tensors(v, change) for v in value)
    if isinstance(value, dict):
        return {k: map_tensors(v, change) for k, v in value.items()}
    return value


def seed_all(seed, name):
    import random
    number = zlib.crc32(('%s/%s' % (seed, name)).encode())
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def in_another_layout(t, k):
    """The numbers of t, transposed, strided or shifted in memory."""
    if t.layout != torch.strided or t.numel() < 2 or t.ndim == 0:
        return t
    with torch.no_grad():
        if k % 3 == 0 and t.ndim > 1:
            made = t.detach().transpose(0, -1).contiguous().transpose(0, -1)
        elif k % 3 == 1:
            wide = torch.zeros(t.shape[:-1] + (2 * t.shape[-1] + 1,), dtype=t.dtype)
            made = wide[..., 1::2]
            made.copy_(t)
        else:
            wide = torch.zeros((t.shape[0] + 2,) + t.shape[1:], dtype=t.dtype)
            made = wide[1:-1]
            made.copy_(t)
    return made.requires_grad_(t.requires_grad)


TOLERANCE = {torch.float32: (2e-5, 2e-5), torch.float64: (1e-9, 1e-9), torch.complex64: (3e-5, 3e-5),
             torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2)}


def check_equal(ours, theirs, what, scale=1):
    numbers = (bool, int, float, complex)
    if isinstance(theirs, numbers) or isinstance(ours, numbers):
        if ours != theirs and not (ours != ours and theirs != theirs):
            raise AssertionError('%s: %s, not %s' % (what, ours, theirs))
        return
    got = ours.to_torch()
    theirs = theirs.detach().resolve_conj().resolve_neg()
    if got.dtype != theirs.dtype:
        raise AssertionError('%s: %s, not %s' % (what, got.dtype, theirs.dtype))
    if got.shape != theirs.shape:
        raise AssertionError('%s: shape %s, not %s' % (what, tuple(got.shape), tuple(theirs.shape)))
    if got.dtype == torch.uint64:       # few of PyTorch's functions take it
        got, theirs = got.view(torch.int64), theirs.contiguous().view(torch.int64)
    rtol, atol = TOLERANCE.get(theirs.dtype, (0, 0))
    most = 1.0
    if rtol and theirs.numel():
        finite = theirs[torch.isfinite(theirs)]
        most = max(1.0, float(finite.abs().max()) if finite.numel() else 1.0)
    torch.testing.assert_close(got, theirs, rtol=rtol * scale, atol=atol * scale * most, equal_nan=True)


class Bench:
    """Runs samples of an operator."""

    def __init__(self, library, calls, options):
        self.library, self.calls, self.options = library, calls, options

    def sample(self, op, sample, dtype, gradients, strided):
        lib, expect = self.library, self.calls.EXPECT.get(op.name, op.op)
        place = [0]

        def fresh(t):
            place[0] += 1
            made = in_another_layout(t, place[0]) if strided else t
            if made.requires_grad and (not made.is_leaf or made._is_view()):
                made = made.detach().requires_grad_(True)
            return made
        known = {}
        sample = sample.transform(
            lambda v: known.setdefault(id(v), fresh(v)) if isinstance(v, torch.Tensor) else v)
        inputs, ours_of = [], {}

        def convert(t):
            if id(t) not in ours_of:
                made = lib.from_torch(t)
                if t.requires_grad and gradients:
                    made = lib.quiet('requires_grad_', lib.quiet('detach', made), True)
                    inputs.append((t, made))
                ours_of[id(t)] = made
            return ours_of[id(t)]
        arguments = map_tensors((sample.input,) + tuple(sample.args), convert)
        kwargs = map_tensors(dict(sample.kwargs), convert)
        seed_all(99, op.name)
        try:
            theirs = expect(sample.input, *sample.args, **sample.kwargs)
        except RuntimeError as error:
            raise Refused from error
        if theirs is NotImplemented:        # a method of Python's numbers
            raise Refused
        theirs = leaves(theirs)
        keys = [k for k in (op.name + '/' + op.variant_test_name, op.name) if k in self.calls.CALLS]
        ours = leaves(self.calls.CALLS[keys[0]](lib, *arguments, **kwargs))
        if len(ours) != len(theirs):
            raise AssertionError('%d results, not %d' % (len(ours), len(theirs)))
        scale = self.calls.LOOSE.get(op.name, 1)
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if op.name in self.calls.DRAWN:
                got = a.to_torch()
                assert got.shape == b.shape and got.dtype == b.dtype, 'shape or dtype of a drawn result'
                continue
            check_equal(a, b, 'result %d' % i, scale)
        if not gradients or not inputs or op.name in self.calls.DRAWN:
            return None
        return self.backward(op, ours, theirs, inputs, scale)

    def grad(self, outputs, inputs, given, create):
        """ox_grad: a Tensor or None for each input."""
        raw, array = self.library.raw, lambda ts: (ctypes.c_void_p * len(ts))(*[t.pointer for t in ts])
        cotangents, got = array(given), (ctypes.c_void_p * len(inputs))()
        desc = GradDesc(ctypes.cast(cotangents, ctypes.c_void_p), False, create, True)
        raw.ox_grad.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                                ctypes.c_void_p, ctypes.c_void_p]
        if raw.ox_grad(array(outputs), len(outputs), array(inputs), len(inputs), ctypes.byref(desc), got):
            raise Failed(self.library.said())
        return [Tensor(self.library, g) if g else None for g in got]

    def compare(self, got, expected, inputs, what, scale):
        for k, (mine, e) in enumerate(zip(got, expected)):
            if mine is None and (e is None or not e.abs().any()):
                continue
            if mine is None:
                raise AssertionError('%s %d: none' % (what, k))
            try:
                check_equal(mine, torch.zeros_like(inputs[k]) if e is None else e, '%s %d' % (what, k), scale)
            except AssertionError as error:
                raise AssertionError('%s %d: %s' % (what, k, error)) from error

    def backward(self, op, ours, theirs, inputs, scale):
        """True where gradients are equal (with --second those of gradients), None where there are none."""
        lib, second = self.library, self.options.second and op.supports_gradgrad
        used = [i for i, t in enumerate(theirs) if isinstance(t, torch.Tensor) and t.requires_grad]
        if not used:
            return None
        cotangents = [torch.randn_like(theirs[i].detach()).contiguous().requires_grad_(second) for i in used]
        leaves_of = [t for t, _ in inputs]
        try:
            expected = torch.autograd.grad([theirs[i] for i in used], leaves_of, cotangents,
                                           allow_unused=True, create_graph=second)
        except RuntimeError as error:
            raise Refused from error
        follows = lib.raw.ox_requires_grad
        follows.restype, follows.argtypes = ctypes.c_bool, [ctypes.c_void_p]
        if any(follows(ours[i].pointer) for i in used):     # the others have gradients of zeros
            used, cotangents = zip(*[(i, c) for i, c in zip(used, cotangents) if follows(ours[i].pointer)])
        try:
            given = [lib.from_torch(c) for c in cotangents]
            if second:
                given = [lib.quiet('requires_grad_', lib.quiet('detach', g), True) for g in given]
            try:
                got = self.grad([ours[i] for i in used], [o for _, o in inputs], given, second)
            except Failed as error:
                if 'nothing was recorded' not in str(error) or \
                        any(e is not None and e.abs().any() for e in expected):
                    raise
                return True             # all zeros, and nothing is recorded here
            self.compare(got, expected, leaves_of, 'gradient', 5 * scale)
            if second:
                self.backward_again(expected, got, leaves_of + list(cotangents),
                                    [o for _, o in inputs] + given, scale)
        except (Failed, AssertionError) as error:
            return error
        return True

    def backward_again(self, theirs, ours, their_inputs, our_inputs, scale):
        """Compares the gradients of gradients, of operands and of what was given for results."""
        lib, pairs = self.library, []
        for a, b in zip(theirs, ours):
            if a is not None and a.requires_grad:
                pairs.append((a, b, torch.randn_like(a.detach()).contiguous()))
        if not pairs:
            return
        try:
            expected = torch.autograd.grad([a for a, _, _ in pairs], their_inputs, [v for _, _, v in pairs],
                                           allow_unused=True)
        except (RuntimeError, NotImplementedError):
            return                      # PyTorch has none
        follows = lib.raw.ox_requires_grad
        pairs = [(b, v) for _, b, v in pairs if b is not None and follows(b.pointer)]
        if pairs:
            got = self.grad([b for b, _ in pairs], our_inputs, [lib.from_torch(v) for _, v in pairs], False)
        else:
            got = [None] * len(our_inputs)
        self.compare(got, expected, their_inputs, 'second gradient', 100 * scale)

    def drawn(self, op, dtype, differentiable):
        """The samples; some of the reference inputs are integers that cannot want a gradient."""
        inputs = op.reference_inputs if self.options.reference else op.sample_inputs
        try:
            yield from inputs('cpu', dtype, requires_grad=differentiable)
        except ValueError:
            yield from inputs('cpu', dtype, requires_grad=False)

    def operator(self, op, dtype, seed, strided):
        """(forward equal, of, gradient equal, of), what was wrong with samples that no reason stands for, and
        the reasons of the others."""
        counts, wrong, reasons = [0, 0, 0, 0], [], []
        seed_all(seed, op.name)
        differentiable = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex) and \
            op.supports_dtype(dtype, 'cpu')
        for number, sample in enumerate(self.drawn(op, dtype, differentiable)):
            if number >= self.options.samples:
                break
            text = '%s %s sample %d' % (op.name, dtype, number)
            counts[1] += 1
            self.library.raw.ox_error_clear()
            try:
                with self.library.scope():
                    back = self.sample(op, sample, dtype, differentiable, strided)
            except Refused:
                counts[1] -= 1
                continue
            except (Missing,) + OF_A_CALL as error:
                self.note(op, sample, dtype, '%s: %s' % (type(error).__name__, one_line(error, 300)), text,
                          wrong, reasons)
                continue
            counts[0] += 1
            if back is not None:
                counts[3] += 1
                counts[2] += back is True
                if back is not True:
                    self.note(op, sample, dtype, 'back: ' + one_line(back, 300), text, wrong, reasons)
        return counts, wrong, reasons

    def note(self, op, sample, dtype, said, text, wrong, reasons):
        """A sample that is not equal: one of those that a reason stands for, or wrong."""
        why = self.calls.differs(op.name, sample, dtype)
        if why is None and 'second gradient' in said:
            why = self.calls.SECOND.get(op.name)
        if why is None:
            wrong.append('%s %s: %s' % (text, call_text(sample), said))
        elif why not in reasons:
            reasons.append(why)

    def refuse(self, op):
        """What the error inputs of an operator give: (sort, words) each. The sorts: error, result, and row,
        where the row of torch_ops_calls.py does not get as far as the library."""
        keys = [k for k in (op.name + '/' + op.variant_test_name, op.name) if k in self.calls.CALLS]
        seed_all(1, op.name)
        for number, given in enumerate(op.error_inputs('cpu')):
            sample, words = given.sample_input, one_line(given.error_regex, 100)
            if not words or 'out' in sample.kwargs or sample.kwargs.get('layout'):
                continue        # numbers where Python wants a tensor; arguments that no function has
            self.library.raw.ox_error_clear()
            convert = self.library.from_torch
            try:
                arguments = map_tensors((sample.input,) + tuple(sample.args), convert)
                kwargs = map_tensors(dict(sample.kwargs), convert)
                self.calls.CALLS[keys[0]](self.library, *arguments, **kwargs)
            except Failed as error:
                yield 'error', one_line(error, 200)
                continue
            except Exception as error:
                yield 'row', '%d %s: %s' % (number, type(error).__name__, one_line(error, 200))
                continue
            yield 'result', '%d %s: PyTorch: %s' % (number, call_text(sample), words)

    def refuse_apart(self, op):
        """The same in a process of its own, for a crash ends it: ('crash', signal) then."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            with os.fdopen(theirs, 'w') as out:
                for sort, words in self.refuse(op):
                    out.write('%s\t%s\n' % (sort, words))
                    out.flush()
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as said:
            rows = [tuple(line.rstrip('\n').split('\t', 1)) for line in said]
        status = os.waitpid(child, 0)[1]
        return rows + [('crash', '%d after %d' % (status, len(rows)))] * (status != 0)


def test_errors(bench, infos):
    """Prints what gave no error; the count of results and crashes that no reason stands for."""
    sums, bad = dict.fromkeys(('error', 'row', 'result', 'taken', 'crash'), 0), 0
    for name in sorted(infos):
        for op in infos[name]:
            known = name in bench.calls.CALLS or name + '/' + op.variant_test_name in bench.calls.CALLS
            for sort, words in bench.refuse_apart(op) if known and op.error_inputs_func else []:
                if sort == 'result' and bench.calls.takes(name, words):
                    sort = 'taken'
                sums[sort] += 1
                bad += sort in ('result', 'crash')
                if sort in ('result', 'crash') or bench.options.verbose:
                    print('%s: %s: %s' % (name, sort, words))
    print(', '.join('%s %d' % pair for pair in sums.items()))
    return bad


def main():
    from torch.testing._internal.common_methods_invocations import op_db
    parser = argparse.ArgumentParser(description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('library')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--dtypes', default='f32,f64')
    parser.add_argument('--seeds', default='1')
    parser.add_argument('--samples', type=int, default=40)
    parser.add_argument('--strided', action='store_true')
    parser.add_argument('--second', action='store_true')
    parser.add_argument('--reference', action='store_true')
    parser.add_argument('--errors', action='store_true')
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('--missing', action='store_true')
    options = parser.parse_args()
    torch.set_num_threads(1)
    library = Library(options.library)
    bench = Bench(library, calls, options)
    rows, infos, open_ones = {}, {}, 0
    for op in op_db:
        if not options.names or op.name in options.names or op.name.rpartition('.')[2] in options.names:
            infos.setdefault(op.name, []).append(op)
    if options.errors:
        sys.exit(test_errors(bench, infos) > 0)
    for name in sorted(infos):
        total, wrong, reasons = [0, 0, 0, 0], [], []
        library.used = set()
        differentiable = False
        for op in infos[name]:
            known = name in calls.CALLS or name + '/' + op.variant_test_name in calls.CALLS
            floats = [SHORT[d] for d in options.dtypes.split(',') if SHORT[d] in op.dtypes] or \
                [d for d in (torch.complex64,) if d in op.dtypes and torch.int64 not in op.dtypes]
            differentiable = differentiable or (op.supports_autograd and any(
                d.is_floating_point or d.is_complex for d in op.dtypes))
            if not known:
                continue
            others = [d for d in (torch.int64, torch.bool, torch.float32) if d in op.dtypes]
            for dtype in floats or others[:1]:
                if dtype == torch.float64 and name in calls.NEEDS_C128:
                    continue
                for seed in options.seeds.split(','):
                    counts, bad, known_ones = bench.operator(op, dtype, seed, options.strided)
                    total = [a + b for a, b in zip(total, counts)]
                    wrong += bad
                    reasons += [r for r in known_ones if r not in reasons]
        known = any(k.split('/')[0] == name for k in calls.CALLS)
        rows[name] = (known, total, sorted(library.used), differentiable, reasons)
        open_ones += bool(wrong)
        if not options.write and (known or options.missing):
            first = ''.join('  (%s)' % r for r in reasons) + ('  ! ' + wrong[0] if wrong else '')
            print('%-44s forward %d/%d gradient %d/%d%s' % (name, *total, first))
            if options.verbose:
                for w in wrong[1:]:
                    print('      ! ' + w)
    whole = [n for n, (k, t, _, _, _) in rows.items() if k and t[1] and t[0] == t[1]]
    back = [n for n in whole if rows[n][3] and rows[n][1][3] and rows[n][1][2] == rows[n][1][3]]
    differentiable = sum(r[3] for r in rows.values())
    summary = '%d names, %d of them forward equal; %d differentiable, %d of them gradient equal' % (
        len(rows), len(whole), differentiable, len(back))
    print(summary + '; %d differ without a reason' % open_ones)
    if options.write:
        lines = ['# The operators of PyTorch %s\'s op_db beside OxTorch: tests/torch_ops.py writes this.'
                 % torch.__version__.split('+')[0],
                 '# name | functions | samples equal, forward and gradient, of f32 and f64',
                 '# name | missing | why', '# ' + summary]
        for name, (known, t, used, has, reasons) in sorted(rows.items()):
            if known and used or known and t[0]:
                back = ', gradient %d of %d' % (t[2], t[3]) if has else ''
                note = ''.join('; ' + r for r in reasons)
                lines.append('%s | %s | forward %d of %d%s%s' % (
                    name, ' '.join(used) or 'ox_alias', t[0], t[1], back, note))
            else:
                lines.append('%s | missing | %s' % (name, calls.reason(name)))
        with open(os.path.join(HERE, 'torch_ops.txt'), 'w') as out:
            out.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
