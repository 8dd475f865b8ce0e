"""How each operator of PyTorch's op_db is called here: a row a name, in functions without ox_ (torch_ops.py).

A row takes the library and the sample's arguments as PyTorch's function has them. EXPECT replaces PyTorch's
function where a result is not unique (signs, order, rotations): both sides then give what is. NEEDS_C128: f64
gives c128 there, which is no dtype here, so f32 is compared alone. DRAWN: random, shape and dtype count.
MISSING says why a name is not here.
"""
import ctypes
import fnmatch
import math
import re

import torch

FLAT, MAX_DIMS = -2147483648, 8
INF = float('inf')
CALLS, EXPECT, MISSING, LOOSE = {}, {}, {}, {}
NEEDS_C128, DRAWN = set(), set()
END = 2**63 - 1


class Shape(ctypes.Structure):
    _fields_ = [('ndim', ctypes.c_int), ('dim', ctypes.c_int64 * MAX_DIMS)]


def row(*names, **marks):
    def keep(function):
        for name in names:
            CALLS[name] = function
        return function
    return keep


def dims_of(dim):
    return None if dim is None else dim


def float_of(x):
    return x.is_floating or x.is_complex


# ---- elementwise -----------------------------------------------------------------------------------------

def unary(ours=None, *names):
    for name in names:
        CALLS[name] = lambda o, x, _f=ours or name.rpartition('.')[2], **k: getattr(o, _f)(x)


unary(None,
    *'''abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
    floor frac isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 neg rad2deg
    reciprocal rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc logical_not
    bitwise_not angle i0 trace real imag nn.functional.silu nn.functional.hardswish
    nn.functional.hardsigmoid nn.functional.logsigmoid nn.functional.mish nn.functional.relu
    nn.functional.relu6 nn.functional.selu nn.functional.softsign nn.functional.tanhshrink
    special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.entr
    special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.modified_bessel_k0
    special.modified_bessel_k1 special.ndtr special.ndtri special.scaled_modified_bessel_k0
    special.scaled_modified_bessel_k1 special.spherical_bessel_j0 corrcoef argwhere'''.split())
unary('i0', 'special.modified_bessel_i0')
unary('i1', 'special.modified_bessel_i1')
unary('conj', 'conj', 'conj_physical')
unary('nonzero', 'argwhere')
row('nonzero')(lambda o, x, as_tuple=False:
    o.unbind(o.nonzero(x if x.ndim or not as_tuple else o.unsqueeze(x, 0)), 1)
               if as_tuple else o.nonzero(x))
for n in ('atleast_1d', 'atleast_2d', 'atleast_3d'):
    CALLS[n] = lambda o, *x, _n=n: [getattr(o, _n)(t)
        for t in (x[0] if isinstance(x[0], (list, tuple)) else x)]
unary('clone', 'positive', 'alias_copy', 'resolve_conj', 'resolve_neg', 'contiguous')
NEEDS_C128 |= set()


def binary(ours=None, *names):
    for name in names:
        CALLS[name] = lambda o, a, b, _f=ours or name.rpartition('.')[2], **k: getattr(o, _f)(a, b)


binary(None,
    *'''atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift complex copysign eq
    ge gt hypot le lt ne logical_and logical_or logical_xor maximum minimum fmax fmin fmod remainder pow
    mul floor_divide float_power gcd lcm heaviside ldexp logaddexp logaddexp2 nextafter polar xlogy
    special.xlog1py special.zeta igamma igammac inner vdot dot matmul special.chebyshev_polynomial_t
    special.chebyshev_polynomial_u special.chebyshev_polynomial_v special.chebyshev_polynomial_w
    special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u
    special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w
    special.hermite_polynomial_h special.hermite_polynomial_he special.laguerre_polynomial_l
    special.legendre_polynomial_p kron'''.split())
binary('add', '__radd__')
binary('mul', '__rmul__')
binary('matmul', 'mv', 'mm', 'bmm')
binary('bitwise_and', '__rand__')
binary('bitwise_or', '__ror__')
binary('bitwise_xor', '__rxor__')
binary('maximum', 'max/binary')
binary('minimum', 'min/binary')
binary('outer', 'outer', 'ger')
binary('fmax', 'fmax')
row('clamp_max')(lambda o, x, b: o.minimum(x, b))
row('clamp_min')(lambda o, x, b: o.maximum(x, b))
row('__rdiv__')(lambda o, a, b: o.div(b, a))
row('__rsub__')(lambda o, a, b, alpha=1: o.sub(b, a))
row('__rpow__')(lambda o, a, b: o.pow(b, a))
row('__rmod__')(lambda o, a, b: o.remainder(b, a))
row('__rmatmul__')(lambda o, a, b: o.matmul(b, a))
NEEDS_C128 |= {'complex', 'polar'}


def scaled(o, x, alpha):
    return x if alpha == 1 else o.mul(x, alpha)


row('add')(lambda o, a, b, alpha=1: o.add(a, scaled(o, b, alpha)))
row('sub')(lambda o, a, b, alpha=1: o.sub(a, scaled(o, b, alpha)))
row('rsub')(lambda o, a, b, alpha=1: o.sub(b, scaled(o, a, alpha)))
row('true_divide')(lambda o, a, b: o.div(a, b))
row('div')(lambda o, a, b, rounding_mode=None: o.div_mode(a, b, rounding_mode))
for n in ('addcmul', 'addcdiv'):
    CALLS[n] = lambda o, t, a, b, value=1, _n=n: getattr(o, _n)(
        t, *((o.mul(a, value), b, 1) if isinstance(value, complex) else (a, b, value)))
row('where')(lambda o, a, c, b: o.where(c, a, b))


@row('torch.ops.aten._safe_softmax.default')
def _safe_softmax(o, x, dim, dtype=None):
    """Zeros where there is nothing but -inf."""
    if x.ndim == 0:
        return o.softmax_as(x, dim, dtype)
    none = o.eq_number(o.amax(x, dim, True), -INF)
    return o.where(none, 0.0, o.softmax_as(o.where(none, 0.0, x), dim, dtype))


row('lerp')(lambda o, a, b, w: o.lerp(a, b, w))
row('clamp')(lambda o, x, low=None, high=None: o.clamp_tensor(x, low, high))
row('nan_to_num')(lambda o, x, nan=None, posinf=None, neginf=None: o.nan_to_num(
    x, 0 if nan is None else nan, INF if posinf is None else posinf, -INF if neginf is None else neginf))
row('round')(lambda o, x, decimals=0: o.round(x) if decimals == 0 else o.div_number(
    o.round(o.mul_number(x, 10.0 ** decimals)), 10.0 ** decimals) if decimals > 0 else o.mul_number(
    o.round(o.div_number(x, 10.0 ** -decimals)), 10.0 ** -decimals))
row('logit')(lambda o, x, eps=None: o.logit(x, -1 if eps is None else eps))
row('isclose')(lambda o, a, b, rtol=1e-5, atol=1e-8, equal_nan=False: o.isclose(a, b, rtol, atol, equal_nan))
row('allclose')(lambda o, a, b, rtol=1e-5, atol=1e-8, equal_nan=False:
    o.allclose(a, b, rtol, atol, equal_nan))
row('equal')(lambda o, a, b: o.equal(a, b))
row('frexp')(lambda o, x: o.frexp(x))
row('polygamma', 'special.polygamma')(lambda o, x, n: o.polygamma(n, x))
row('mvlgamma')(lambda o, x, p: o.mvlgamma(x, p))
row('masked_fill')(lambda o, x, mask, value: o.where(mask, o.cast(value, x.dtype), x)
                   if hasattr(value, 'pointer') else o.masked_fill_scalar(x, mask, value))
row('fill')(lambda o, x, value:
    o.copy_(o.clone(x), value) if hasattr(value, 'pointer') else o.fill_(o.clone(x), value))
row('zero_')(lambda o, x, **k: o.zero_(o.clone(x)))
row('ones_like')(lambda o, x, **k: o.ones_like(x))
row('full_like')(lambda o, x, value, dtype=None, **k: o.full_like(x, value) if dtype is None
                 else o.full(x.shape, value, dtype))

LOOSE.update({'native_group_norm': 100, 'nn.functional.hardsigmoid': 100, 'logcumsumexp': 30,
    'native_layer_norm': 100})  # f32 constants, cancellation

LOOSE.update(
    {n: 1000 for n in ('special.bessel_j0', 'special.bessel_j1', 'special.bessel_y0', 'special.bessel_y1',
                               # PyTorch's own are 1e-7 off in f64 (test_special.c has mpmath's)
                               'special.airy_ai')})

# ---- activations -----------------------------------------------------------------------------------------

row('nn.functional.leaky_relu')(lambda o, x, negative_slope=0.01: o.leaky_relu(x, negative_slope))
row('nn.functional.elu')(lambda o, x, alpha=1.0: o.elu(x, alpha))
row('nn.functional.celu')(lambda o, x, alpha=1.0: o.celu(x, alpha))
row('nn.functional.softplus')(lambda o, x, beta=1, threshold=20: o.softplus(x, beta, threshold))
row('nn.functional.hardtanh')(lambda o, x, min_val=-1, max_val=1: o.hardtanh(x, min_val, max_val))
row('nn.functional.threshold')(lambda o, x, threshold, value: o.threshold(x, threshold, value))
row('nn.functional.gelu')(lambda o, x, approximate='none':
    o.gelu(x) if approximate == 'none' else o.gelu_tanh(x))
row('nn.functional.glu')(lambda o, x, dim=-1: o.glu(x, dim))
row('nn.functional.hardshrink')(lambda o, x, lambd=0.5: o.hardshrink(x, lambd))
row('nn.functional.softshrink')(lambda o, x, lambd=0.5: o.softshrink(x, lambd))
row('nn.functional.prelu')(lambda o, x, weight: o.prelu(x, weight))
row('nn.functional.rrelu')(lambda o, x, lower=1 / 8, upper=1 / 3, training=False, inplace=False:
                           o.rrelu(x, lower, upper, training))
row('nn.functional.softmin')(lambda o, x, dim, dtype=None: o.softmin(o.cast(x, dtype) if dtype else x, dim))
row('softmax', 'nn.functional.softmax')(
    lambda o, x, dim, dtype=None: o.softmax_as(x, dim, dtype))
row('log_softmax', 'nn.functional.log_softmax')(lambda o, x, dim, dtype=None: o.log_softmax_as(x, dim, dtype))
row('_softmax_backward_data')(lambda o, g, y, dim, dtype:
    o.cast(o.mul(y, o.sub(g, o.sum(o.mul(g, y), dim, True))),
                                                                dtype))
row('nn.functional.dropout')(lambda o, x, p=0.5, training=True, inplace=False: o.dropout(x, p, training))
DRAWN |= {'nn.functional.dropout'}

# ---- reductions ------------------------------------------------------------------------------------------


def reduces(name, function=None):
    def call(o, x, dim=None, keepdim=False, dtype=None, **k):
        f = function or name
        return getattr(o, f)(x, dim, keepdim) if dtype is None else getattr(o, f + '_as')(x, dim, keepdim,
            dtype)
    CALLS[name] = call


for name in 'sum mean prod amax amin all any nansum nanmean logsumexp'.split():
    reduces(name)
row('nansum')(lambda o, x, dim=None, keepdim=False, dtype=None:
    o.nansum(x if dtype is None else o.cast(x, dtype), dim,
                                                                        keepdim))
row('count_nonzero')(lambda o, x, dim=None: o.count_nonzero(x, dim))


def moment(name):
    def call(o, x, dim=None, unbiased=None, correction=1, keepdim=False):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        c = correction if unbiased is None else int(unbiased)
        return getattr(o, name)(x, dim, 1 if c is None else c, keepdim)
    return call


CALLS['var'], CALLS['std'] = moment('var'), moment('std')
CALLS['var_mean'], CALLS['std_mean'] = moment('var_mean'), moment('std_mean')
row('aminmax')(lambda o, x, dim=None, keepdim=False: o.aminmax(
    x, FLAT if dim is None else dim, keepdim))


def extreme(name):
    def call(o, x, dim=None, keepdim=False):
        if hasattr(dim, 'pointer'):
            return getattr(o, name + 'imum')(x, dim)
        if dim is None:
            return getattr(o, 'a' + name)(x, None, False)
        return getattr(o, name)(x, dim, keepdim)
    CALLS[name] = call


extreme('max')
extreme('min')
for n in ('max', 'min'):
    CALLS[n + '/reduction_no_dim'] = CALLS[n + '/reduction_with_dim'] = CALLS[n]
row('argmax')(lambda o, x, dim=None, keepdim=False: o.argmax(x, FLAT if dim is None else dim, keepdim))
row('argmin')(lambda o, x, dim=None, keepdim=False: o.argmin(x, FLAT if dim is None else dim, keepdim))
row('norm', 'norm/fro', 'norm/inf')(lambda o, x, p=2, dim=None, keepdim=False, dtype=None: o.norm(
    x if dtype is None else o.cast(x, dtype), 2 if p in ('fro', None) else p, dim, keepdim))
row('linalg.vector_norm')(lambda o, x, ord=2, dim=None, keepdim=False, dtype=None: o.norm(
    x if dtype is None else o.cast(x, dtype), ord, dim, keepdim))
row('cumsum')(lambda o, x, dim, dtype=None: o.cumsum_as(x, dim, dtype))
row('cumprod')(lambda o, x, dim, dtype=None: o.cumprod_as(x, dim, dtype))
row('cummax')(lambda o, x, dim: o.cummax(x, dim))
row('cummin')(lambda o, x, dim: o.cummin(x, dim))
row('logcumsumexp')(lambda o, x, dim: o.logcumsumexp(x, dim))
row('sort')(lambda o, x, dim=-1, descending=False, stable=None: o.sort(x, dim, descending))
row('msort')(lambda o, x: o.sort(x, 0, False)[0])
row('argsort')(lambda o, x, dim=-1, descending=False, stable=None: o.argsort(x, dim, descending))
row('topk')(lambda o, x, k, dim=-1, largest=True, sorted=True: o.topk(x, k, dim, largest))
row('kthvalue')(lambda o, x, k, dim=-1, keepdim=False: o.kthvalue(x, k, dim, keepdim))
row('median')(lambda o, x, dim=None, keepdim=False: o.median(x, FLAT, False)[0] if dim is None
              else o.median(x, dim, keepdim))
row('nanmedian')(lambda o, x, dim=None, keepdim=False: o.nanmedian(x, FLAT, False)[0] if dim is None
                 else o.nanmedian(x, dim, keepdim))
row('mode')(lambda o, x, dim=-1, keepdim=False: o.mode(x, dim, keepdim))


def any_of_equal_ones(name):
    """Where numbers are equal it is not said which is found: what the indices lead to is compared."""
    ours, theirs = CALLS[name], getattr(torch, name)

    def ours_of(o, x, *a, **k):
        values, at = ours(o, x, *a, **k)
        return values, led_to(o.take_along_dim, o.unsqueeze, x, at, *places(name, a, k)), o.full(at.shape, 0,
                                                                                             at.dtype)

    def theirs_of(x, *a, **k):
        values, at = theirs(x, *a, **k)
        return values, led_to(torch.take_along_dim, torch.unsqueeze, x, at, *places(name, a, k)), at * 0
    CALLS[name], EXPECT[name] = ours_of, theirs_of


def places(name, a, k):
    at = {'sort': 0, 'mode': 0}.get(name, 1)
    dim = k.get('dim', a[at] if len(a) > at else -1)
    keep = name in ('sort', 'topk') or k.get('keepdim', a[at + 1] if len(a) > at + 1 else False)
    return dim, keep


def led_to(take, unsqueeze, x, at, dim, keep):
    if x.ndim == 0:
        return at
    return take(x, at if keep else unsqueeze(at, dim), dim)


for n in ('sort', 'mode', 'kthvalue', 'topk'):
    any_of_equal_ones(n)
EXPECT['argsort'] = lambda x, dim=-1, descending=False, stable=None: torch.argsort(
    x, dim=dim, descending=descending, stable=True)
EXPECT['msort'] = lambda x: torch.sort(x, dim=0, stable=True)[0]
for n in ('quantile', 'nanquantile'):
    CALLS[n] = lambda o, x, q, dim=None, keepdim=False, interpolation='linear', _n=n: getattr(o, _n)(
        x, o.cast(o.full([], q, torch.float64), x.dtype) if not hasattr(q, 'pointer') else q,
        FLAT if dim is None else dim, keepdim, interpolation)
row('cov')(lambda o, x, correction=1, fweights=None, aweights=None: o.cov(x, correction, fweights, aweights))
row('diff')(lambda o, x, n=1, dim=-1, prepend=None, append=None: o.diff(x, n, dim, prepend, append))
row('trapezoid', 'trapz')(lambda o, y, x=None, dx=1, dim=-1: o.trapezoid(y, x, dx, dim))
row('cumulative_trapezoid')(lambda o, y, x=None, dx=1, dim=-1: o.cumulative_trapezoid(y, x, dx, dim))
row('dist')(lambda o, a, b, p=2: o.dist(a, b, p))
row('cdist')(lambda o, a, b, p=2, compute_mode=None: o.cdist(a, b, p))
row('nn.functional.pdist')(lambda o, x, p=2: o.pdist(x, p))
row('renorm')(lambda o, x, p, dim, maxnorm: o.renorm(x, p, dim, maxnorm))
row('nn.functional.normalize')(lambda o, x, p=2, dim=1, eps=1e-12: o.normalize(x, p, dim, eps))


@row('gradient')
def _gradient(o, x, *, spacing=None, dim=None, edge_order=1):
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if spacing is None or isinstance(spacing, (int, float, complex)):
        spacing = [1 if spacing is None else spacing] * len(dims)
    elif hasattr(spacing, 'pointer'):
        spacing = [spacing] * len(dims)
    return [o.gradient_along(x, s, d, edge_order) for s, d in zip(spacing, dims)]


@row('histogram')
def _histogram(o, x, bins, weight=None, density=False, range=None):
    if hasattr(bins, 'pointer'):
        return o.histogram(x, bins, weight, density)
    if range is not None:
        low, high = range
    else:
        t = x.to_torch()
        low, high = (float(t.min()), float(t.max())) if t.numel() else (0, 0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return o.histogram(x, o.linspace(low, high, bins + 1, x.dtype), weight, density)


row('histc')(lambda o, x, bins=100, min=0, max=0: o.histc(x, bins, min, max))
row('bincount')(lambda o, x, weights=None, minlength=0: o.bincount(x, weights, minlength))

# ---- views, joins, splits --------------------------------------------------------------------------------

row('t', 't_copy')(lambda o, x: o.t(x) if x.ndim > 1 else o.clone(x))
row('T')(lambda o, x: o.permute(x, list(range(x.ndim))[::-1]))
row('H')(lambda o, x: o.t(o.conj(x)) if x.is_complex else o.t(x))
row('mT')(lambda o, x: o.transpose(x, -1, -2))
row('mH')(lambda o, x: o.transpose(o.conj(x) if x.is_complex else x, -1, -2))
row('transpose', 'transpose_copy')(lambda o, x, a, b: o.transpose(x, a, b))
row('permute', 'permute_copy')(lambda o, x, dims: o.permute(x, dims))
row('movedim')(lambda o, x, a, b: move_dims(o, x, a, b))


def move_dims(o, x, a, b):
    if isinstance(a, int):
        return o.movedim(x, a, b)
    a, b = [i % x.ndim for i in a], [i % x.ndim for i in b]
    order = [i for i in range(x.ndim) if i not in a]
    for to, come in sorted(zip(b, a)):
        order.insert(to, come)
    return o.permute(x, order)


def flat_shape(shape):
    return list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)


row('view')(lambda o, x, *s: o.view_dtype(x, s[0]) if isinstance(s[0], torch.dtype)
            else o.view(x, flat_shape(s)))
row('view_copy')(lambda o, x, *s: o.view_dtype(x, s[0]) if isinstance(s[0], torch.dtype)
                 else o.reshape(x, flat_shape(s)))
row('reshape')(lambda o, x, *s: o.reshape(x, flat_shape(s)))
row('view_as', 'reshape_as')(lambda o, x, other: o.reshape(x, other.shape))
row('ravel')(lambda o, x: o.flatten(x, 0, -1))
row('flatten')(lambda o, x, start_dim=0, end_dim=-1: o.flatten(x, start_dim, end_dim))
row('unflatten')(lambda o, x, dim, sizes: o.unflatten(x, dim, sizes))
row('squeeze', 'squeeze_copy', 'squeeze/multiple')(lambda o, x, dim=None: squeeze(o, x, dim))


def squeeze(o, x, dim):
    if dim is None:
        return o.squeeze_all(x)
    if isinstance(dim, int):
        return o.squeeze(x, dim)
    for d in sorted([i % max(x.ndim, 1) for i in dim], reverse=True):
        x = o.squeeze(x, d)
    return o.view(x, x.shape) if not dim else x


row('unsqueeze', 'unsqueeze_copy')(lambda o, x, dim: o.unsqueeze(x, dim))
row('expand', 'broadcast_to', 'expand_copy')(lambda o, x, *s: o.expand(x, flat_shape(s)))
row('expand_as')(lambda o, x, other: o.expand_as(x, other))
row('narrow', 'narrow_copy')(lambda o, x, dim, start, length: o.narrow(
    x, dim, start if not hasattr(start, 'pointer') else int(start.to_torch()), length))
row('select')(lambda o, x, dim, index: o.select(x, dim, index))
row('diagonal', 'diagonal_copy', 'linalg.diagonal')(lambda o, x, offset=0, dim1=None, dim2=None, _d=(0, 1):
                                                  o.diagonal(x, offset, _d[0] if dim1 is None else dim1,
                                                             _d[1] if dim2 is None else dim2))
row('linalg.diagonal')(lambda o, x, offset=0, dim1=-2, dim2=-1: o.diagonal(x, offset, dim1, dim2))
row('as_strided', 'as_strided_copy', 'as_strided/partial_views')(
    lambda o, x, size, stride, storage_offset=None: o.as_strided(
        x, list(size), list(stride), x.offset if storage_offset is None else storage_offset))
row('as_strided_scatter')(lambda o, x, src, size, stride, storage_offset=0: o.as_strided_scatter(
    x, src, list(size), list(stride), storage_offset or 0))
row('unfold', 'unfold_copy')(lambda o, x, dim, size, step: o.unfold(x, dim, size, step))
row('view_as_complex')(lambda o, x: o.view_as_complex(x))
row('view_as_real')(lambda o, x: o.view_as_real(x))
NEEDS_C128 |= {'view_as_complex'}
row('real')(lambda o, x: o.real(x) if x.is_complex else o.contiguous(x))
row('flip')(lambda o, x, dims: o.flip(x, dims))
row('fliplr')(lambda o, x: o.flip(x, 1))
row('flipud')(lambda o, x: o.flip(x, 0))
row('rot90')(lambda o, x, k=1, dims=(0, 1): o.rot90(x, k, dims[0], dims[-1]))
row('roll')(lambda o, x, shifts, dims=None: o.roll(x, shifts, dims))
row('cat', 'concat', 'concatenate')(lambda o, ts, dim=0: o.cat(ts, dim))
row('stack')(lambda o, ts, dim=0: o.stack(ts, dim))
row('hstack')(lambda o, ts: o.hstack(ts))
row('vstack', 'row_stack')(lambda o, ts: o.vstack(ts))
row('dstack')(lambda o, ts: o.dstack(ts))
row('column_stack')(lambda o, ts: o.column_stack(ts))
row('block_diag')(lambda o, *ts: o.block_diag(list(ts)))
row('cartesian_prod')(lambda o, *ts: o.cartesian_prod(list(ts)))
row('combinations')(lambda o, x, r=2, with_replacement=False: o.combinations(x, r, with_replacement))
row('broadcast_shapes')(lambda o, *shapes: torch.Size(o.broadcast_tensors(
    [o.empty([s] if isinstance(s, int) else list(s), torch.float32) for s in shapes])[0].shape))
row('broadcast_tensors')(lambda o, *ts: o.broadcast_tensors(list(ts)))
row('meshgrid/variadic_tensors')(lambda o, *ts, indexing='ij': o.meshgrid(list(ts), indexing))
row('meshgrid/list_of_tensors')(lambda o, ts, indexing='ij': o.meshgrid(list(ts), indexing))


def split(o, x, size, dim=0):
    return o.split(x, size, dim) if isinstance(size, int) else o.split_with_sizes(x, list(size), dim)


row('split', 'unsafe_split', 'split/list_args', 'split_with_sizes', 'split_with_sizes_copy')(split)
row('chunk', 'unsafe_chunk')(lambda o, x, n, dim=0: o.chunk(x, n, dim))
row('unbind', 'unbind_copy')(lambda o, x, dim=0: o.unbind(x, dim))


def tensor_split(o, x, at, dim=0):
    if hasattr(at, 'pointer'):
        at = at.to_torch().tolist()
    return o.tensor_split(x, at, dim) if isinstance(at, int) else o.tensor_split_at(x, list(at), dim)


row('tensor_split')(tensor_split)
row('hsplit')(lambda o, x, at: tensor_split(o, x, at, 0 if x.ndim == 1 else 1))
row('vsplit')(lambda o, x, at: tensor_split(o, x, at, 0))
row('dsplit')(lambda o, x, at: tensor_split(o, x, at, 2))
row('tril')(lambda o, x, k=0: o.tril(x, k))
row('triu')(lambda o, x, k=0: o.triu(x, k))
for n in ('tril_indices', 'triu_indices'):
    CALLS[n] = lambda o, r, c, offset=0, dtype=torch.int64, _n=n, **k: o.cast(getattr(o, _n)(r, c, offset),
                                                                              dtype)
row('diag')(lambda o, x, k=0: o.diag(x, k))
row('diagflat')(lambda o, x, offset=0: o.diagflat(x, offset))
row('diag_embed')(lambda o, x, offset=0, dim1=-2, dim2=-1: o.diag_embed(x, offset, dim1, dim2))
row('repeat')(lambda o, x, *s: o.repeat(x, flat_shape(s)))
row('tile')(lambda o, x, *s: o.tile(x, flat_shape(s)))
row('repeat_interleave')(lambda o, x, repeats, dim=None, output_size=None: o.repeat_interleave(
    x, repeats, FLAT if dim is None else dim))
row('select_scatter')(lambda o, x, s, dim, index: o.select_scatter(x, s, dim, index))
row('slice_scatter')(lambda o, x, s, dim=0, start=None, end=None, step=1: o.slice_scatter(
    x, s, dim, start or 0, END if end is None else end, step))
row('diagonal_scatter')(lambda o, x, s, offset=0, dim1=0, dim2=1:
    o.diagonal_scatter(x, s, offset, dim1, dim2))
row('sum_to_size')(lambda o, x, *s: sum_to(o, x, flat_shape(s)))


def sum_to(o, x, shape):
    if not shape:
        return o.sum(x, None, False)
    lead = x.ndim - len(shape)
    dims = list(range(lead)) + [lead + d for d, s in enumerate(shape) if s == 1 and x.shape[lead + d] != 1]
    return o.reshape(o.sum(x, dims, True), shape) if dims else o.contiguous(x)


row('slice')(lambda o, x, dim=0, start=None, end=None, step=1:
    o.slice(x, dim, start or 0, END if end is None else end,
                                                                       step))

# ---- indices ---------------------------------------------------------------------------------------------

row('gather')(lambda o, x, dim, index, sparse_grad=False: o.gather(
    x, dim, index if index.numel() else o.cast(index, torch.int64)))


@row('_segment_reduce', '_segment_reduce/lengths', '_segment_reduce/offsets')
def _segment_reduce(o, x, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False,
                    initial=None):
    if indices is not None:
        raise NotImplementedError('indices')
    if unsafe and (offsets if lengths is None else lengths).ndim == 1:      # they may end before x does
        end = offsets.to_torch()[-1] if lengths is None else lengths.to_torch().sum()
        x = o.narrow(x, axis, 0, int(end))
    return o.segment_reduce(x, reduce, lengths, offsets, axis, math.nan if initial is None else initial)


row('hash_tensor')(lambda o, x, dim=(), keepdim=False, mode=0: o.hash_tensor(x, dim, keepdim))
row('scatter')(lambda o, x, dim, index, src, reduce=None: scatter(o, x, dim, index, src, reduce))


def scatter(o, x, dim, index, src, reduce):
    if not hasattr(src, 'pointer'):
        src = o.full(index.shape, src, x.dtype)
    if reduce is None:
        return o.scatter(x, dim, index, src)
    return o.scatter_reduce(x, dim, index, src,
        {'add': 'OX_REDUCTION_SUM', 'multiply': 'OX_REDUCTION_PROD'}[reduce],
                            True)


def reduction(name):
    return 'OX_REDUCTION_' + name.upper()


row('scatter_add')(lambda o, x, dim, index, src: o.scatter_add(x, dim, index, src))
for v in 'sum prod mean amax amin'.split():
    CALLS['scatter_reduce/' + v] = lambda o, x, dim, index, src, reduce, include_self=True: o.scatter_reduce(
        x, dim, index, src, reduction(reduce), include_self)
    CALLS['index_reduce/' + v] = lambda o, x, dim, index, src, reduce, include_self=True: o.index_reduce(
        x, dim, index, src, reduction(reduce), include_self)
row('index_select')(lambda o, x, dim, index: o.index_select(x, dim, index))
row('index_add')(lambda o, x, dim, index, src, alpha=1: o.index_add(x, dim, index, src, alpha))
row('index_copy')(lambda o, x, dim, index, src: o.index_copy(x, dim, index, src))
row('index_fill')(lambda o, x, dim, index, value: o.index_fill(x, dim, index, value))
row('index_put')(lambda o, x, indices, values, accumulate=False:
    o.index_put(x, list(indices), values, accumulate))
row('_unsafe_masked_index_put_accumulate')(lambda o, x, mask, indices, values: o.index_put(
    x, [None if i is None else o.clamp(i, -x.shape[d], x.shape[d] - 1) for d, i in enumerate(indices)],
    o.where(mask, values, 0.0), True))
row('_unsafe_masked_index')(lambda o, x, mask, indices, fill: o.where(mask, o.index(
    x, [None if i is None else o.clamp(i, -x.shape[d], x.shape[d] - 1) for d, i in enumerate(indices)]),
    fill))
row('take')(lambda o, x, index: o.take(x, index))
row('take_along_dim')(lambda o, x, index, dim=None: o.take_along_dim(x, index, FLAT if dim is None else dim))
row('put')(lambda o, x, index, src, accumulate=False: o.put(x, index, src, accumulate))
row('masked_select')(lambda o, x, mask: o.masked_select(x, mask))
row('masked_scatter')(lambda o, x, mask, src: o.masked_scatter(x, mask, src))
row('nonzero_static')(lambda o, x, size, fill_value=-1: o.nonzero_static(x, size, fill_value))
row('isin')(lambda o, x, among, assume_unique=False, invert=False: o.isin(x, among, invert))
row('bucketize')(lambda o, x, edges, out_int32=False, right=False: o.cast(
    o.bucketize(x, edges, right), torch.int32 if out_int32 else torch.int64))


@row('searchsorted')
def _searchsorted(o, edges, x, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        edges = o.gather(edges, -1, sorter)
    return o.cast(o.searchsorted(edges, x, right or side == 'right'), torch.int32 if out_int32
        else torch.int64)


def unique(name):
    def call(o, x, sorted=True, return_inverse=False, return_counts=False, dim=None):
        values, inverse, counts = getattr(o, name)(x, FLAT if dim is None else dim)
        return [values] + [inverse] * return_inverse + [counts] * return_counts
    return call


CALLS['unique'] = unique('unique')
CALLS['unique_consecutive'] = lambda o, x, return_inverse=False, return_counts=False, dim=None: unique(
    'unique_consecutive')(o, x, True, return_inverse, return_counts, dim)
row('unravel_index')(lambda o, x, shape: o.unravel_index(x, list(shape.to_torch().tolist() if hasattr(
    shape, 'pointer') else [shape] if isinstance(shape, int) else shape)))
row('nn.functional.one_hot')(lambda o, x, num_classes=-1: o.one_hot(x, num_classes))
row('nn.functional.embedding')(lambda o, weight, ids, padding_idx=None, max_norm=None, norm_type=2.0,
                               scale_grad_by_freq=False, sparse=False: o.embedding(ids, weight))


@row('__getitem__')
def _getitem(o, x, index):
    index = list(index) if isinstance(index, tuple) else [index]
    dim, tensors, at = 0, [], None
    if Ellipsis in [i if not hasattr(i, 'pointer') else None for i in index]:
        where = [k for k, i in enumerate(index) if i is Ellipsis][0]
        count = x.ndim - sum(i is not None and i is not Ellipsis and not isinstance(i, bool) for i in index)
        index[where:where + 1] = [slice(None)] * count
    out = []
    for i in index:
        if i is None:
            x = o.unsqueeze(x, dim)
            dim += 1
        elif isinstance(i, bool):
            x = o.unsqueeze(x, dim) if i else o.narrow(o.unsqueeze(x, dim), dim, 0, 0)
            dim += 1
        elif isinstance(i, int):
            x = o.select(x, dim, i)
        elif isinstance(i, slice):
            x = o.slice(x, dim, i.start or 0, END if i.stop is None else i.stop, i.step or 1)
            dim += 1
        else:
            if isinstance(i, list):
                i = o.from_torch(torch.tensor(i))
            out += [None] * (dim - len(out)) + [i]
            dim += i.ndim if i.dtype == torch.bool else 1
    if not out:
        return o.view(x, x.shape) if x.numel() == 0 else o.cast(x, x.dtype)
    while len(out) < dim and False:
        out.append(None)
    return o.index(x, out)


# ---- products --------------------------------------------------------------------------------------------



def product_added(name):
    """Complex factors, which no function takes, are multiplied beforehand."""
    def call(o, c, a, b, beta=1, alpha=1):
        if isinstance(alpha, complex) or isinstance(beta, complex):
            c, a, beta, alpha = o.mul(c, beta), o.mul(a, alpha), 1, 1
        return getattr(o, name.partition('/')[0])(c, a, b, beta, alpha)
    CALLS[name] = call


for n in 'addmm addmm/decomposed addmv addr addbmm baddbmm'.split():
    product_added(n)
row('nn.functional.linear')(lambda o, x, w, b=None: o.linear(x, w, b))
row('nn.functional.bilinear')(lambda o, a, b, w, bias=None: o.bilinear(a, b, w, bias))
row('einsum')(lambda o, ts, equation: o.einsum(equation, ts))
row('tensordot')(lambda o, a, b, dims=2: o.tensordot(
    a, b, *((list(range(a.ndim - dims, a.ndim)), list(range(dims))) if isinstance(dims, int) else dims)))
row('cross', 'linalg.cross')(lambda o, a, b, dim=None, _d=None: o.cross(
    a, b, dim if dim is not None else next((i for i, s in enumerate(a.shape) if s == 3), 0)))
row('linalg.cross')(lambda o, a, b, dim=-1: o.cross(a, b, dim))
row('linalg.vecdot')(lambda o, a, b, dim=-1: o.vecdot(a, b, dim))
row('linalg.vander')(lambda o, x, N=None: o.vander(x, x.shape[-1] if N is None else N, True))
row('vander')(lambda o, x, N=None, increasing=False: o.vander(x, x.shape[-1] if N is None else N, increasing))
row('linalg.multi_dot')(lambda o, ts: o.multi_dot(ts))

# ---- masked ----------------------------------------------------------------------------------------------


def masked(name):
    def call(o, x, dim=None, *, keepdim=False, dtype=None, mask=None):
        if dtype is not None:
            x = o.cast(x, dtype)
        made = getattr(o, 'masked_' + name)(x, mask, dim, bool(keepdim))
        return made if dtype is None else o.cast(made, dtype)
    CALLS['masked.' + name] = call


for name in 'sum prod amax amin mean logsumexp'.split():
    masked(name)
for n in ('var', 'std'):
    CALLS['masked.'
        + n] = lambda o, x, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, \
        mask=None, _n=n: getattr(o, 'masked_' + _n)(x if dtype is None else o.cast(x, dtype), mask, dim,
                                                    correction if correction is not None
                                                    else int(unbiased is None or unbiased), bool(keepdim))
row('masked.norm')(lambda o, x, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None: o.masked_norm(
    x if dtype is None else o.cast(x, dtype), mask, ord, dim, bool(keepdim)))
for n in 'softmax log_softmax softmin cumsum cumprod'.split():
    CALLS['masked.' + n] = lambda o, x, dim, *, dtype=None, mask=None, _n=n: getattr(o, 'masked_' + _n)(
        x if dtype is None else o.cast(x, dtype), mask, dim)
row('masked.median')(lambda o, x, dim=-1, *, keepdim=False, dtype=None, mask=None: o.masked_median(
    x if dtype is None else o.cast(x, dtype), mask, dim, bool(keepdim))[0])
row('masked.argmax')(lambda o, x, dim=None, *, keepdim=False, dtype=None, mask=None: o.cast(o.argmax(
    x if mask is None else o.where(mask, x, -INF), FLAT if dim is None else dim, bool(keepdim)), x.dtype))
row('masked.argmin')(lambda o, x, dim=None, *, keepdim=False, dtype=None, mask=None: o.cast(o.argmin(
    x if mask is None else o.where(mask, x, INF), FLAT if dim is None else dim, bool(keepdim)), x.dtype))
row('masked.logaddexp')(lambda o, a, b, *, dtype=None, input_mask=None, other_mask=None: o.logaddexp(
    a if input_mask is None else o.where(input_mask, a, -INF),
    b if other_mask is None else o.where(other_mask, b, -INF)))
row('masked.normalize')(lambda o, x, ord, dim, *, eps=1e-12, dtype=None, mask=None: o.div(
    x if mask is None else o.where(mask, x, 0.0), o.clamp(o.masked_norm(x, mask, ord, dim, True), eps, INF)))

# ---- created ---------------------------------------------------------------------------------------------

row('arange')(lambda o, *a, dtype=None, end=None, step=None, **k:
    arange(o, *(a + (end,) * (end is not None) + (step,) * (step is not None)), dtype=dtype))
arange = (lambda o, *a, dtype=None, **k:
    o.arange(*((0, a[0], 1) if len(a) == 1 else (a[0], a[1], 1) if len(a) == 2
                                                      else a), dtype or (torch.int64 if all(
                                                          isinstance(v, int) for v in a) else torch.float32)))
row('linspace', 'linspace/tensor_overload')(lambda o, a, b, n, dtype=None, **k: o.linspace(
    number(a), number(b), n, dtype or torch.float32))


def number(v):
    return v.to_torch().item() if hasattr(v, 'pointer') else v


row('logspace', 'logspace/tensor_overload')(lambda o, a, b, n, base=10.0, dtype=None, **k: o.logspace(
    number(a), number(b), n, base, dtype or torch.float32))
row('eye')(lambda o, n, m=None, dtype=None, **k: o.eye(n, n if m is None else m, dtype or torch.float32))
row('zeros')(lambda o, *s, dtype=None, **k: o.zeros(flat_shape(s), dtype or torch.float32))
row('ones')(lambda o, *s, dtype=None, **k: o.ones(flat_shape(s), dtype or torch.float32))
row('empty', 'empty_permuted')(lambda o, s, *a, dtype=None, **k: o.empty(list(s), dtype or torch.float32))
row('empty_strided')(lambda o, s, st, dtype=None, **k: o.empty_strided(
    list(s), list(st), dtype or torch.float32))
row('full')(lambda o, s, v, dtype=None, **k: o.full(list(s) if not isinstance(s, int) else [s], v,
                                                   dtype or torch.float32))
row('scalar_tensor')(lambda o, v, dtype=None, **k: o.full([], v, dtype or torch.float32))
row('empty_like')(lambda o, x, dtype=None, **k: o.empty(x.shape, dtype or x.dtype))
row('new_empty')(lambda o, x, s, dtype=None, **k: o.empty(list(s), dtype or x.dtype))
row('new_empty_strided')(lambda o, x, s, st, dtype=None, **k: o.empty_strided(
    list(s), list(st), dtype or x.dtype))
row('new_full')(lambda o, x, s, v, dtype=None, **k: o.full(list(s), v, dtype or x.dtype))
row('new_ones')(lambda o, x, s, dtype=None, **k: o.ones(list(s), dtype or x.dtype))
row('new_zeros')(lambda o, x, s, dtype=None, **k: o.zeros(list(s), dtype or x.dtype))
row('zeros_like')(lambda o, x, dtype=None, **k: o.zeros(x.shape, dtype or x.dtype))
row('ones_like')(lambda o, x, dtype=None, **k: o.ones(x.shape, dtype or x.dtype))
row('rand_like')(lambda o, x, dtype=None, **k: o.rand(x.shape, dtype or x.dtype))
row('randn_like')(lambda o, x, dtype=None, **k: o.randn(x.shape, dtype or x.dtype))
row('randn')(lambda o, *s, dtype=None, **k: o.randn(flat_shape(s), dtype or torch.float32))
row('randint')(lambda o, low, *a, dtype=torch.int64, **k:
    o.randint(low, a[0], list(a[1]), dtype) if len(a) == 2
               else o.randint(0, low, list(a[0]), dtype))
row('randint_like')(lambda o, x, low, high=None, dtype=None, **k: o.randint(
    *((0, low) if high is None else (low, high)), x.shape, dtype or x.dtype))
row('bernoulli')(lambda o, x: o.bernoulli(x))
row('multinomial')(lambda o, x, num_samples, replacement=False, **k:
    o.multinomial(x, num_samples, replacement))
row('uniform')(lambda o, x, a=0, b=1: o.uniform_(o.empty_like(x), a, b))
row('normal/in_place')(lambda o, x, mean=0, std=1: o.normal_(o.empty_like(x), mean, std))
row('normal')(lambda o, mean, std, size=None, dtype=None, **k:
    o.add_number(o.mul_number(o.randn(list(size), dtype), std),
                                                                            mean) if size is not None else
              o.add(o.mul(o.randn_like(mean), std), mean))
row('normal/number_mean')(lambda o, mean, std, *a, **k: o.add_number(o.mul(o.randn_like(std), std), mean)
                          if hasattr(std, 'pointer') else CALLS['normal'](o, mean, std, *a, **k))
DRAWN |= {'empty', 'empty_permuted', 'empty_strided', 'empty_like', 'new_empty', 'new_empty_strided',
    'rand_like',
          'randn_like', 'randn', 'randint', 'randint_like', 'bernoulli', 'multinomial', 'uniform', 'normal',
          'nn.functional.rrelu'}
for short, dtype in (('bool', torch.bool), ('byte', torch.uint8), ('char', torch.int8),
    ('short', torch.int16),
                     ('int', torch.int32), ('long', torch.int64), ('half', torch.float16),
                     ('float', torch.float32),
                     ('bfloat16', torch.bfloat16), ('double', torch.float64), ('cfloat', torch.complex64)):
    CALLS[short] = lambda o, x, memory_format=None, _d=dtype: o.cast(x, _d)
row('to')(lambda o, x, *a, **k:
    o.cast(x, next((getattr(v, 'dtype', v) for v in list(a) + list(k.values()) if isinstance(
    v, torch.dtype) or hasattr(v, 'pointer')), x.dtype)))
row('item')(lambda o, x: o.item_scalar(x))
row('resize_')(lambda o, x, shape, **k: o.resize_(o.clone(x), list(shape)))
row('resize_as_')(lambda o, x, like, **k: o.resize_(o.clone(x), list(like.shape)))
row('type_as')(lambda o, x, other: o.cast(x, other.dtype))
row('clone')(lambda o, x, memory_format=None: o.clone(x))
row('contiguous')(lambda o, x, memory_format=None: o.contiguous(x))

# ---- windows ---------------------------------------------------------------------------------------------

for n in 'bartlett blackman cosine hamming hann nuttall'.split():
    CALLS['signal.windows.' + n] = lambda o, m, *, sym=True, dtype=None, _n=n, **k: getattr(o,
        'window_' + _n)(
        m, sym, dtype)
row('signal.windows.exponential')(lambda o, m, *, center=None, tau=1.0, sym=True, dtype=None, **k:
                                  o.window_exponential(m, math.nan if center is None else center, tau, sym,
                                  dtype))
row('signal.windows.gaussian')(lambda o, m, *, std=1.0, sym=True, dtype=None, **k:
    o.window_gaussian(m, std, sym, dtype))
row('signal.windows.kaiser')(lambda o, m, *, beta=12.0, sym=True, dtype=None, **k:
    o.window_kaiser(m, beta, sym, dtype))


def cosine_terms(o, m, a, sym, dtype):
    return o.window_general_cosine(m, a, len(a), sym, dtype)


row('signal.windows.general_cosine')(lambda o, m, *, a, sym=True, dtype=None, **k:
    cosine_terms(o, m, a, sym, dtype))
row('signal.windows.general_hamming')(lambda o, m, *, alpha=0.54, sym=True, dtype=None, **k: cosine_terms(
    o, m, [alpha, 1 - alpha], sym, dtype))

# ---- what is not here -------------------------------------------------------------------------------------

MISSING.update({
    'cdouble': 'c128 is no dtype here', 'chalf': 'complex numbers of f16 are no dtype here',
    'jiterator_*': 'compiles CUDA source when it is called',
    'sparse': 'op_db has operands that are sparse there: ox_sparse_mm, ox_sparse_sampled_addmm do it',
    'torch._scaled_mm': 'f8 products with scales, for GPUs that have them',
    'torch._scaled_mm_v2': 'as torch._scaled_mm',
    'torch.ops.aten._efficient_attention_forward': 'CUDA alone',
    'torch.ops.aten._flash_attention_forward': 'CUDA alone',
    'torch.ops.aten._scaled_dot_product_flash_attention_for_cpu':
        'gives a logsumexp beside what ox_scaled_dot_product_attention gives',
    'nn.functional.multi_head_attention_forward':
        'a module, of ox_linear and ox_scaled_dot_product_attention',
})


def reason(name):
    for key, why in MISSING.items():
        if name == key or name.startswith(key + '.') or key.endswith('*') and name.startswith(key[:-1]):
            return why
    return 'not yet'


# ---- what differs ------------------------------------------------------------------------------------------
# Where a sample or its gradient is another one than PyTorch's, and why: names, whether a sample is one of
# those (of sample and dtype), and the reason. Other samples of the operator must be equal.


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_of(v)] if isinstance(value, (list, tuple)) else []


def operands(sample):
    return tensors_of([sample.input, list(sample.args), dict(sample.kwargs)])


def numbers_of(sample):
    return [v for v in [sample.input] + list(sample.args) + list(sample.kwargs.values())
            if isinstance(v, (int, float, complex)) and not isinstance(v, bool)]


def any_element(test):
    """Samples with an operand, or a number, that has an element of which test is true."""
    def holds(sample, dtype):
        made = operands(sample) + [torch.tensor(v) for v in numbers_of(sample)]
        return any(bool(test(t.detach()).any()) for t in made if t.layout == torch.strided)
    return holds


def of_dtype(*dtypes):
    return lambda sample, dtype: dtype in dtypes


def given(**wanted):
    """Samples with an argument of that name and value (a function: of which it is true)."""
    return lambda sample, dtype: all(
        k in sample.kwargs and (v(sample.kwargs[k]) if callable(v) else sample.kwargs[k] == v)
        for k, v in wanted.items())


def both(*tests):
    return lambda sample, dtype: all(t(sample, dtype) for t in tests)


def either(*tests):
    return lambda sample, dtype: any(t(sample, dtype) for t in tests)


def always(sample, dtype):
    return True


def is_complex(sample, dtype):
    return dtype.is_complex or any(t.is_complex() for t in operands(sample)) or any(
        isinstance(v, complex) for v in numbers_of(sample)) or any(
        isinstance(v, torch.dtype) and v.is_complex for v in list(sample.args) + list(sample.kwargs.values()))


def is_integer(sample, dtype):
    return not dtype.is_floating_point and not dtype.is_complex


def repeats_an_index(sample, dtype):
    return any(t.ndim <= 1 and t.numel() != t.unique().numel() for t in operands(sample)
               if t.dtype in (torch.int64, torch.int32))


narrow = of_dtype(torch.float16, torch.bfloat16)
has_nan, has_infinity = any_element(torch.isnan), any_element(torch.isinf)
not_finite = any_element(lambda t: ~torch.isfinite(t))
real = lambda t: t.abs() if t.is_complex() else t   # noqa: E731

DIFFERS = [
    # of a gradient, or of options that are not there
    ('nn.functional.embedding_bag', either(given(max_norm=lambda v: v is not None),
                                           given(scale_grad_by_freq=True)),
     'no max_norm, no scale_grad_by_freq'),
    ('to_sparse', either(given(layout=lambda v: v not in (torch.sparse_coo, torch.sparse_csr)),
                         given(dense_dim=lambda v: bool(v)),
                         both(given(layout=torch.sparse_csr), lambda s, d: len(s.args) > 0)),
     'COO and CSR alone'),
    ('_upsample_bilinear2d_aa', lambda s, d: s.kwargs.get('scales_h') is not None,
     'a size or scales, not both'),
    ('as_strided_scatter', always, "PyTorch's gradient of self is the view's, not that of the rest"),
    ('cholesky_inverse cholesky_solve', lambda s, d: any(t.requires_grad for t in operands(s)),
     'the triangle that is not looked at has a gradient of zeros here'),
    ('nextafter', lambda s, d: any(t.requires_grad for t in operands(s)),
     'a step of the last bit has no gradient here'),
    ('nn.functional.batch_norm', lambda s, d: s.input.ndim < 2,
     'an empty operand without a dim of channels is refused'),
    ('nn.functional.scaled_dot_product_attention', given(dropout_p=lambda p: p > 0), 'no dropout of weights'),
    ('nn.functional.interpolate nn.functional.grid_sample', both(
        of_dtype(torch.float32), lambda s, d: s.input.numel() > 100000),
     'of many pixels in f32: a place rounds to 1e-5 of a pixel, another way'),
    ('histogramdd', lambda s, d: any(isinstance(b, torch.Tensor) and bool((b.diff() < 0).any())
                                     for v in s.args for b in (v if isinstance(v, (list, tuple)) else ())),
     'edges that do not rise'),
    ('mode sort topk', narrow,
     'of f16 and bf16: many are equal, and PyTorch says which of them it takes only of a stable sort'),
    ('_upsample_bilinear2d_aa', of_dtype(torch.uint8), 'of floats alone'),
    ('signal.windows.kaiser', always, 'PyTorch overflows'),
    # of dtypes
    ('_segment_reduce _softmax_backward_data clamp grid_sampler_2d grid_sampler_3d nn.functional.grid_sample '
     'masked.normalize nn.functional.hinge_embedding_loss nn.functional.multilabel_soft_margin_loss '
     'nn.functional.normalize nn.functional.soft_margin_loss logcumsumexp pow __rpow__ tan matrix_exp',
     narrow,
     'of f16 and bf16: PyTorch rounds, and overflows, between its steps; these are in f32 here'),
    ('div', both(narrow, given(rounding_mode=lambda m: m is not None)),
     'truncated once, where PyTorch rounds the quotient to f16 before'),
    ('complex polar view_as_complex', of_dtype(torch.float16), 'no complex numbers of f16'),
    ('addcdiv addcmul', lambda s, d: any(t.dtype == torch.bfloat16 for t in operands(s)),
     'with a bf16 operand PyTorch rounds its products to bf16; f32 here'),
    ('celu nn.functional.celu', both(of_dtype(torch.float64), given(alpha=lambda a: a != 1)),
     "1 / alpha is an f32 number in PyTorch's gradient"),
    ('nn.functional.avg_pool* nn.functional.conv* nn.functional.local_response_norm '
     'nn.functional.cosine_embedding_loss nn.functional.softsign square', is_integer,
     'no integers, or no bool'),
    ('nn.functional.interpolate nn.functional.upsample_bilinear', of_dtype(torch.uint8),
     'of u8 by no weights'),
    ('masked.logsumexp', is_integer, 'of integers a float, where PyTorch truncates it'),
    ('nn.functional.softmin', of_dtype(torch.uint8),
     'of unsigned numbers: they wrap where PyTorch negates them'),
    # of elements
    ('nn.functional.relu6 nn.functional.hardtanh nn.functional.elu nn.functional.selu '
     'nn.functional.hardshrink nn.functional.softshrink celu nn.functional.celu', has_nan,
     "at NaN PyTorch's vectors give other gradients than its tails; as its tails"),
    ('fmax fmin', has_nan,
     'of a NaN beside a number PyTorch gives both the whole gradient; the number has it here'),
    ('digamma polygamma special.polygamma',
     any_element(lambda t: (real(t) <= 0) & (real(t) == real(t).round())),
     "at whole numbers below 0 it is infinite, PyTorch's sin(pi x) is not 0"),
    ('digamma', both(of_dtype(torch.float32), any_element(lambda t: real(t) < 0)),
     "PyTorch's gradient below 0 is 1e-4 off near whole numbers, of f32 steps; of f64 ones here"),
    ('i0 special.i1 special.modified_bessel_i0 special.modified_bessel_i1 special.bessel_j0 '
     'special.bessel_j1 special.bessel_y0 special.bessel_y1 special.airy_ai', has_infinity,
     'limits at infinities, where PyTorch has NaN'),
    ('special.i1 special.i1e', has_nan, 'NaN has a gradient of NaN'),
    ('igamma igammac special.zeta', both(has_nan, has_infinity), 'NaN beside an infinity is NaN'),
    ('special.airy_ai', any_element(lambda t: (real(t) > -4) & (real(t) < -2.09)),
     "PyTorch's is 3e-6 off below -2.09, mpmath says"),
    ('special.airy_ai', any_element(lambda t: real(t) < -1e5), 'this far below 0 phases differ in f64'),
    ('logaddexp', has_infinity, 'equal infinities share the gradient, where PyTorch has NaN'),
    ('acosh', any_element(lambda t: real(t) < 1), 'below 1 there is no acosh, and its gradient is NaN'),
    ('logit', any_element(lambda t: ~((real(t) >= 0) & (real(t) <= 1))),
     'where the result is NaN the gradient is 1 / (x (1 - x))'),
    ('nn.functional.softsign', has_infinity, 'the gradient at infinities is 0, where PyTorch has NaN'),
    ('index_copy', repeats_an_index, 'what is written twice has the gradient of what stayed'),
    ('polar', any_element(lambda t: t <= 0), "a length of 0 or less has a gradient, its direction"),
    ('xlogy special.xlog1py', either(
        lambda s, d: bool(numbers_of(s)), any_element(lambda t: t == 0), not_finite),
     'numbers of Python are f64 here, f32 there; 0 / 0 is 0 beside x = 0'),
    ('special.log_ndtr', any_element(lambda t: real(t) < -1), "PyTorch's is 1e-9 off far below 0"),
    ('special.entr', has_infinity, 'the gradient at infinity'),
    ('sinc', any_element(lambda t: (real(t) != 0) & (real(t).abs() < 0.01)),
     'near 0 the gradient cancels, in another order'),
    ('special.*polynomial*', any_element(lambda t: ~(real(t).abs() < 2.0 ** 63)),
     'degrees beyond 2^63 have none in PyTorch'),
    ('clone contiguous', lambda s, d: any(t.ndim > MAX_DIMS for t in operands(s)), 'at most 8 dims'),
    # of complex numbers
    ('where', lambda s, d: is_complex(s, d) and any(t.dtype == torch.float64 for t in operands(s)),
     'a complex number beside f64 is c128, which there is none of'),
    ('linalg.ldl* svd_lowrank pca_lowrank', is_complex, 'of real matrices'),
    ('linalg.cholesky*', is_complex, "the gradient is Hermitian here, PyTorch's is not; both have one sum"),
    ('masked.var masked.std', is_complex, 'real, as ox_var is'),
    ('block_diag constant_pad_nd float_power full full_like linalg.matrix_sqrth linalg.polar linspace '
     'logaddexp logcumsumexp new_full nn.functional.conv* nn.functional.l1_loss nn.functional.rms_norm '
     'nn.functional.silu nn.functional.softsign normal rand_like randn randn_like renorm uniform',
     is_complex, 'of complex numbers not all functions are there'),
]


def differs(name, sample, dtype):
    """Why a sample of an operator may differ; None: it may not."""
    for names, holds, why in DIFFERS:
        if any(fnmatch.fnmatch(name, n) for n in names.split()) and holds(sample, dtype):
            return why
    return None


# Why gradients of gradients may differ (--second).
SECOND = {
    'linalg.norm': 'at a norm of 0 they are 0, where PyTorch has NaN',
    'masked.logaddexp': 'of what both masks leave out they are 0, where PyTorch has NaN',
    'nn.functional.linear_cross_entropy': "PyTorch's chunks forget them",
}

# What PyTorch refuses and is taken here: operators, words of PyTorch's message, and why.
TAKES = [
    ('_chunk_cat', 'non-empty', 'made of ox_cat in its row'),
    ('complex', 'Expected', 'operands are promoted'),
    ('cov', 'cannot be negative', 'numbers are not read'),
    ('linalg.cross', 'same number of dimensions', 'operands broadcast'),
    ('empty_permuted', '', 'the order in memory is no option'),
    ('flipud roll', '', 'a tensor without dims takes dim 0, as everywhere; no shifts, no roll'),
    ('gradient', 'spacing|multiple times', 'one dim a call'),
    ('movedim', '', 'one dim a call'),
    ('linspace logspace', 'combination', 'a matter of Python'),
    ('masked_fill', '', 'made of where, for the gradient of the value'),
    ('multinomial', 'must be 1 or 2 dim', 'any number of leading dims'),
    ('narrow', 'integral Tensor', 'a matter of Python'),
    ('native_layer_norm nn.functional.rms_norm', 'normalized_shape', 'how many dims, not their sizes'),
    ('nn.functional.avg_pool*', 'divisor', '0 is the count'),
    ('nn.functional.conv*', 'non-positive groups', '0 is 1'),
    ('nn.functional.gelu', 'approximate', 'a function each'),
    ('nn.functional.group_norm nn.functional.max_pool* nn.functional.multilabel_margin_loss', 'Expected',
     'of nothing comes nothing'),
    ('signal.windows.*', 'dtypes, got', 'floats of any width'),
]


def takes(name, words):
    return any(re.search(part, words) and any(
        name == key or key[-1] == '*' and name.startswith(key[:-1]) for key in names.split())
        for names, part, why in TAKES)
