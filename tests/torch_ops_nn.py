"""How the operators of torch.nn.functional that have options, windows, images or samples are called here:
more rows of torch_ops_calls.py, which says what a row is."""
import ctypes

import torch
from torch_ops_calls import CALLS, DRAWN, EXPECT, LOOSE, NEEDS_C128, Shape, row

# ---- norms, losses ---------------------------------------------------------------------------------------

row('nn.functional.layer_norm')(lambda o, x, shape, weight=None, bias=None, eps=1e-5: o.layer_norm(
    x, len(shape), weight, bias, eps))
row('nn.functional.rms_norm')(lambda o, x, shape, weight=None, eps=None: o.rms_norm(
    x, len(shape), weight, torch.finfo(x.dtype).eps if eps is None else eps))
row('nn.functional.group_norm')(lambda o, x, groups, weight=None, bias=None, eps=1e-5: o.group_norm(
    x, groups, weight, bias, eps))
row('nn.functional.instance_norm')(lambda o, x, running_mean=None, running_var=None, weight=None, bias=None,
                                   use_input_stats=True, momentum=0.1, eps=1e-5:
                                   o.instance_norm(x, weight, bias, eps))
row('native_layer_norm')(lambda o, x, shape, weight, bias, eps: (
    o.layer_norm(x, len(shape), weight, bias, eps),
    o.mean(x, [-1 - i for i in range(len(shape))], True),
    o.rsqrt(o.add_number(o.var(x, [-1 - i for i in range(len(shape))], 0, True), eps))))


def loss(reduction):
    return 'OX_LOSS_' + reduction.upper()


row('nn.functional.mse_loss')(lambda o, x, t, size_average=None, reduce=None, reduction='mean', weight=None:
                              o.mse_loss(x, t, loss(reduction)))
row('nn.functional.l1_loss')(lambda o, x, t, size_average=None, reduce=None, reduction='mean', weight=None:
                             o.l1_loss(x, t, loss(reduction)))
row('nn.functional.huber_loss')(lambda o, x, t, reduction='mean', delta=1.0, weight=None: o.huber_loss(
    x, t, loss(reduction), delta))
row('nn.functional.smooth_l1_loss')(
    lambda o, x, t, size_average=None, reduce=None, reduction='mean', beta=1.0:
                                    o.smooth_l1_loss(x, t, loss(reduction), beta))
row('nn.functional.soft_margin_loss')(lambda o, x, t, reduction='mean', **k:
    o.soft_margin_loss(x, t, loss(reduction)))
row('nn.functional.binary_cross_entropy')(lambda o, x, t, weight=None, reduction='mean', **k:
                                          o.binary_cross_entropy(x, t, weight, loss(reduction)))
row('nn.functional.binary_cross_entropy_with_logits')(
    lambda o, x, t, weight=None, reduction='mean', pos_weight=None, **k: o.binary_cross_entropy_with_logits(
        x, t, weight, pos_weight, loss(reduction)))
row('nn.functional.kl_div')(lambda o, x, t, reduction='mean', log_target=False, **k: o.kl_div(
    x, t, loss(reduction), log_target))
row('nn.functional.gaussian_nll_loss')(lambda o, x, t, var, full=False, eps=1e-6, reduction='mean':
                                       o.gaussian_nll_loss(x, t, var if hasattr(var, 'pointer') else o.full(
                                           t.shape, var, t.dtype), full, eps, loss(reduction)))
row('nn.functional.poisson_nll_loss')(
    lambda o, x, t, log_input=True, full=False, eps=1e-8, reduction='mean', **k:
                                      o.poisson_nll_loss(x, t, log_input, full, eps, loss(reduction)))
row('nn.functional.hinge_embedding_loss')(lambda o, x, t, margin=1.0, reduction='mean', **k:
    o.hinge_embedding_loss(
    x, t, margin, loss(reduction)))
row('nn.functional.margin_ranking_loss')(lambda o, a, b, t, margin=0.0, reduction='mean', **k:
    o.margin_ranking_loss(
    a, b, t, margin, loss(reduction)))
row('nn.functional.cosine_embedding_loss')(lambda o, a, b, t, margin=0.0, reduction='mean', **k:
                                           o.cosine_embedding_loss(a, b, t, margin, loss(reduction)))
row('nn.functional.multi_margin_loss')(lambda o, x, t, p=1, margin=1.0, weight=None, reduction='mean', **k:
                                       o.multi_margin_loss(x, t, p, margin, weight, loss(reduction)))
row('nn.functional.multilabel_margin_loss')(lambda o, x, t, reduction='mean', **k: o.multilabel_margin_loss(
    x, t, loss(reduction)))
row('nn.functional.multilabel_soft_margin_loss')(lambda o, x, t, weight=None, reduction='mean', **k:
                                                 o.multilabel_soft_margin_loss(x, t, weight, loss(reduction)))
row('nn.functional.cosine_similarity')(lambda o, a, b, dim=1, eps=1e-8: o.cosine_similarity(a, b, dim, eps))
row('nn.functional.pairwise_distance')(lambda o, a, b, p=2.0, eps=1e-6, keepdim=False: o.pairwise_distance(
    a, b, p, eps, keepdim))

# ---- functions with descriptions, drawing ----------------------------------------------------------------


class CrossEntropy(ctypes.Structure):
    _fields_ = [('weight', ctypes.c_void_p), ('reduction', ctypes.c_int), ('ignores', ctypes.c_bool),
                ('ignore_index', ctypes.c_int64), ('label_smoothing', ctypes.c_double)]


class Nll(ctypes.Structure):
    _fields_ = CrossEntropy._fields_[:4]


class Triplet(ctypes.Structure):
    _fields_ = [('margin', ctypes.c_double), ('p', ctypes.c_double), ('eps', ctypes.c_double),
        ('swap', ctypes.c_bool),
                ('reduction', ctypes.c_int)]


class Attention(ctypes.Structure):
    _fields_ = [('mask', ctypes.c_void_p), ('causal', ctypes.c_bool), ('query_start', ctypes.c_int64),
                ('window', ctypes.c_int64), ('scale', ctypes.c_double), ('softcap', ctypes.c_double),
                ('sinks', ctypes.c_void_p)]


def pointer(t):
    return t.pointer if t is not None else None


row('nn.functional.cross_entropy')(
    lambda o, x, t, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0,
                                   **k: o.cross_entropy(x, t,
                                   CrossEntropy(pointer(weight), o.enums[loss(reduction)],
                                                                           not t.is_floating, ignore_index,
                                                                           label_smoothing)))
row('nn.functional.nll_loss')(lambda o, x, t, weight=None, ignore_index=-100, reduction='mean', **k:
    o.nll_loss(
    x, t, Nll(pointer(weight), o.enums[loss(reduction)], True, ignore_index)))
row('nn.functional.triplet_margin_loss', 'nn.functional.triplet_margin_with_distance_loss')(
    lambda o, a, p, n, margin=1.0, **k: triplet(o, a, p, n, margin, **k))


def triplet(o, a, pos, neg, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction='mean', distance_function=None,
    **k):
    if distance_function is not None and not isinstance(distance_function, torch.nn.PairwiseDistance):
        raise NotImplementedError('a distance of one\'s own')
    return o.triplet_margin_loss(a, pos, neg, Triplet(margin, p, eps, swap, o.enums[loss(reduction)]))


@row('nn.functional.scaled_dot_product_attention')
def _attention(o, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if dropout_p:
        raise NotImplementedError('dropout')
    if len({t.ndim for t in (q, k, v)}) > 1:
        batch = torch.broadcast_shapes(*(t.shape[:-3] for t in (q, k, v)))
        q, k, v = (o.expand(t, list(batch) + list(t.shape[-3:])) for t in (q, k, v))
    return o.scaled_dot_product_attention(q, k, v,
        Attention(pointer(attn_mask), is_causal, 0, 0, scale or 0, 0, None))


row('nn.functional.unfold')(lambda o, x, kernel_size, dilation=1, padding=0, stride=1: o.im2col(
    x, kernel_size, dilation, padding, stride))
row('nn.functional.ctc_loss')(lambda o, x, t, tx, tt, blank=0, reduction='mean', zero_infinity=False:
    o.ctc_loss(
    x, t, lengths_of(o, tx), lengths_of(o, tt), blank, loss(reduction), zero_infinity))


def lengths_of(o, v):
    return v if hasattr(v, 'pointer') else o.from_torch(torch.tensor(v, dtype=torch.int64))


row('exponential')(lambda o, x, rate=1: o.exponential_(o.empty_like(x), rate))
row('cauchy')(lambda o, x, median=0, sigma=1: o.cauchy_(o.empty_like(x), median, sigma))
row('log_normal')(lambda o, x, mean=1, std=2: o.log_normal_(o.empty_like(x), mean, std))
row('geometric')(lambda o, x, p: o.geometric_(o.empty_like(x), p))
row('nn.functional.dropout2d', 'nn.functional.dropout3d')(lambda o, x, p=0.5, training=True, inplace=False:
                                                          o.feature_dropout(x, p, training))
row('nn.functional.alpha_dropout')(lambda o, x, p=0.5, training=False, inplace=False:
    o.alpha_dropout(x, p, training))
row('nn.functional.feature_alpha_dropout')(lambda o, x, p=0.5, training=False, inplace=False:
    o.feature_alpha_dropout(
    x, p, training))
row('native_dropout_backward')(lambda o, g, mask, scale: o.mul_number(o.mul(g, mask), scale))
DRAWN |= {'exponential', 'cauchy', 'log_normal', 'geometric', 'nn.functional.dropout2d',
    'nn.functional.dropout3d',
          'nn.functional.alpha_dropout', 'nn.functional.feature_alpha_dropout'}
row('_chunk_cat')(lambda o, ts, dim, n: chunk_cat(o, ts, dim, n))


def chunk_cat(o, tensors, dim, n):
    """Each padded with zeros to n equal parts along dim, the parts flat, side by side."""
    rows = []
    for t in tensors:
        dim = dim % t.ndim
        size = -(-t.shape[dim] // n) * n
        if size != t.shape[dim]:
            t = o.cat([t, o.zeros([size - s if d == dim else s for d, s in enumerate(t.shape)][:0] or
                                  [size - t.shape[d] if d == dim else t.shape[d] for d in range(t.ndim)],
                                  t.dtype)], dim)
        rows.append(o.reshape(t, list(t.shape[:dim]) + [n, -1]))
    return o.cat(rows, dim + 1)


@row('native_group_norm')
def _native_group_norm(o, x, weight, bias, n, c, hw, groups, eps):
    grouped = o.reshape(x, [n, groups, c // groups * hw])
    return (o.group_norm(x, groups, weight, bias, eps), o.mean(grouped, [2], False),
            o.rsqrt(o.add_number(o.var(grouped, [2], 0, False), eps)))

# ---- convolution, pooling, batch norm --------------------------------------------------------------------

OX_PADDING_SAME = -2**63 + 1


class Conv(ctypes.Structure):
    _fields_ = [('stride', Shape), ('padding', Shape), ('dilation', Shape), ('groups', ctypes.c_int64)]


class ConvTranspose(ctypes.Structure):
    _fields_ = [('stride', Shape), ('padding', Shape), ('output_padding', Shape), ('groups', ctypes.c_int64),
                ('dilation', Shape)]


def conv(dims):
    def call(o, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        padding = {'same': OX_PADDING_SAME, 'valid': 0}.get(padding, padding) if isinstance(padding,
            str) else padding
        desc = Conv(o.shape(stride), o.shape(padding), o.shape(dilation), groups)
        return o.call('conv%dd' % dims, x, weight, bias, desc)
    return call


def conv_transpose(dims):
    def call(o, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        desc = ConvTranspose(o.shape(stride), o.shape(padding), o.shape(output_padding), groups,
            o.shape(dilation))
        return o.call('conv_transpose%dd' % dims, x, weight, bias, desc)
    return call


def max_pool(dims):
    def call(o, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        name = 'max_pool%dd' % dims + ('_with_indices' if return_indices else '')
        return o.call(name, x, kernel_size, stride, padding, dilation, ceil_mode)
    return call


@row('max_pool2d_with_indices_backward')
def _max_pool2d_back(o, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
                     return_indices=True):
    """Ones, each added where the largest was."""
    y, at = o.max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)
    none = o.flatten(o.zeros(list(x.shape), x.dtype), -2, -1)
    return o.view(o.scatter_add(none, -1, o.flatten(at, -2, -1), o.flatten(o.ones_like(y), -2, -1)),
                  list(x.shape))


def avg_pool(dims):
    def call(o, x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
             divisor_override=None):
        return o.call('avg_pool%dd' % dims, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
                      divisor_override or 0)
    return call


def adaptive(dims, kind):
    def call(o, x, output_size, return_indices=False):
        lead = x.ndim - dims
        size = [output_size] * dims if isinstance(output_size, int) else list(output_size)
        size = [x.shape[lead + d] if s is None else s for d, s in enumerate(size)]
        made = o.call('adaptive_%s_pool%dd' % (kind, dims), x, size)
        return made if kind == 'avg' or return_indices else made[0]
    return call


for n in (1, 2, 3):
    CALLS['nn.functional.conv%dd' % n] = conv(n)
    CALLS['nn.functional.conv_transpose%dd' % n] = conv_transpose(n)
    CALLS['nn.functional.max_pool%dd' % n] = max_pool(n)
    CALLS['nn.functional.avg_pool%dd' % n] = avg_pool(n)
    CALLS['nn.functional.adaptive_avg_pool%dd' % n] = adaptive(n, 'avg')
    CALLS['nn.functional.adaptive_max_pool%dd' % n] = adaptive(n, 'max')

def batch_norm(o, x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return o.batch_norm(x, weight, bias, mean, var, training, momentum, eps)


row('nn.functional.batch_norm', 'nn.functional.batch_norm/without_cudnn')(batch_norm)


def with_statistics(o, x, weight, bias, mean, var, training, momentum, eps):
    """The result, and in training the mean and 1/deviation of each channel."""
    y = batch_norm(o, x, mean, var, weight, bias, training, momentum, eps)
    dims = [d for d in range(x.ndim) if d != 1]
    if not training:
        return y, o.zeros([0], x.dtype), o.zeros([0], x.dtype)
    return y, o.mean(x, dims, False), o.rsqrt(o.add_number(o.var(x, dims, 0, False), eps))


row('native_batch_norm')(with_statistics)


@row('_native_batch_norm_legit')
def _legit(o, x, weight, bias, *rest):
    mean, var = rest[:2] if len(rest) == 5 else (None, None)
    return with_statistics(o, x, weight, bias, mean, var, *rest[-3:])


@row('_batch_norm_with_update')
def _updated(o, x, weight, bias, mean, var, momentum, eps):
    return with_statistics(o, x, weight, bias, mean, var, True, momentum, eps)


EXPECT['_batch_norm_with_update'] = lambda *a, **k: torch.ops.aten._batch_norm_with_update(*a, **k)[:3]


# ---- images ----------------------------------------------------------------------------------------------


row('nn.functional.pad', 'nn.functional.pad/constant', 'nn.functional.pad/reflect',
    'nn.functional.pad/replicate',
    'nn.functional.pad/circular', 'nn.functional.pad/replicate_negative')(
        lambda o, x, pad, mode='constant', value=None: o.pad(x, list(pad), mode, value or 0))
row('constant_pad_nd')(lambda o, x, pad, value=0: o.pad(x, list(pad), 'constant', value or 0))


def interpolate(o, x, size=None, scale_factor=None, mode='nearest', align_corners=None,
    recompute_scale_factor=None,
                antialias=False):
    mode += '-antialias' * antialias
    scale = [] if scale_factor is None else [scale_factor] if isinstance(scale_factor,
        (int, float)) else scale_factor
    return o.interpolate(x, size, list(scale), len(scale), mode, bool(align_corners),
        bool(recompute_scale_factor))


row('nn.functional.interpolate', *['nn.functional.interpolate/' + m for m in (
    'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area')])(interpolate)
row('nn.functional.upsample_nearest')(lambda o, x, size=None, scale_factor=None:
    interpolate(o, x, size, scale_factor))
row('nn.functional.upsample_bilinear')(lambda o, x, size=None, scale_factor=None: interpolate(
    o, x, size, scale_factor, 'bilinear', True))
row('nn.functional.grid_sample')(lambda o, x, grid, mode='bilinear', padding_mode='zeros', align_corners=None:
                                 o.grid_sample(x, grid, mode, padding_mode, bool(align_corners)))
row('grid_sampler_2d', 'grid_sampler_3d')(lambda o, x, grid, mode, padding, align_corners: o.grid_sample(
    x, grid, ('bilinear', 'nearest', 'bicubic')[mode], ('zeros', 'border', 'reflection')[padding],
    align_corners))
row('nn.functional.pixel_shuffle')(lambda o, x, upscale_factor: o.pixel_shuffle(x, upscale_factor))
row('nn.functional.pixel_unshuffle')(lambda o, x, downscale_factor: o.pixel_unshuffle(x, downscale_factor))
row('nn.functional.channel_shuffle')(lambda o, x, groups: o.channel_shuffle(x, groups))
row('nn.functional.local_response_norm')(lambda o, x, size, alpha=1e-4, beta=0.75, k=1.0:
    o.local_response_norm(
    x, size, alpha, beta, k))


def max_unpool(dims):
    def call(o, x, indices, kernel_size, stride=None, padding=0, output_size=None):
        return o.call('max_unpool%dd' % dims, x, indices, kernel_size, stride, padding, output_size)
    return call


for n in (1, 2, 3):
    CALLS['nn.functional.max_unpool%dd' % n] = CALLS['nn.functional.max_unpool%dd/grad' % n] = max_unpool(n)


def samples_of(x, dims):
    """Where windows lie, the same on both sides."""
    batch = x.shape[0] if x.ndim == dims + 2 else 1
    made = torch.rand(batch, x.shape[-1 - dims], dims, dtype=torch.float64,
                      generator=torch.Generator().manual_seed(7))
    return made.to(x.dtype)


def fractional(dims):
    name = 'fractional_max_pool%dd' % dims

    def call(o, x, kernel_size, output_size=None, output_ratio=None, return_indices=False,
        _random_samples=None):
        if output_size is None:
            ratio = [output_ratio] * dims if isinstance(output_ratio, float) else output_ratio
            output_size = [int(n * r) for n, r in zip(x.shape[-dims:], ratio)]
        made = o.call(name, x, kernel_size, output_size, o.from_torch(samples_of(x, dims)))
        return made if return_indices else made[0]

    def expect(x, *args, _random_samples=None, **kwargs):
        return getattr(torch.nn.functional, name)(x, *args, _random_samples=samples_of(x, dims), **kwargs)
    return call, expect


for n in (2, 3):
    name = 'nn.functional.fractional_max_pool%dd' % n
    CALLS[name], EXPECT[name] = fractional(n)


# ---- sparse tensors, bags, histograms --------------------------------------------------------------------


@row('nn.functional.embedding_bag')
def _embedding_bag(o, weight, ids, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                   mode='mean', sparse=False, per_sample_weights=None, include_last_offset=False,
                   padding_idx=None):
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError('max_norm, scale_grad_by_freq')
    rows = weight.shape[0]
    padding = -1 if padding_idx is None else padding_idx % rows
    return o.embedding_bag(ids, weight, offsets, mode, per_sample_weights, include_last_offset, padding)


def _bag_of_dense(weight, ids, *a, **k):
    """With a gradient that is not sparse."""
    return torch.nn.functional.embedding_bag(ids, weight, *a, **dict(k, sparse=False))


EXPECT['nn.functional.embedding_bag'] = _bag_of_dense


@row('histogramdd')
def _histogramdd(o, x, bins, range=None, weight=None, density=False):
    dims = x.shape[-1]
    if isinstance(bins, int):
        bins = [bins] * dims
    if all(isinstance(b, int) for b in bins):
        t = x.to_torch().reshape(-1, dims)
        ends = [(range[2 * d], range[2 * d + 1]) if range is not None else
                (float(t[:, d].min()), float(t[:, d].max())) if t.numel() else (0, 1)
                for d in builtin_range(dims)]
        ends = [(a - 0.5, b + 0.5) if a == b else (a, b) for a, b in ends]
        bins = [o.linspace(a, b, n + 1, x.dtype) for (a, b), n in zip(ends, bins)]
    return (o.histogramdd(x, list(bins), weight, density), *bins)


builtin_range = range


@row('to_sparse')
def _to_sparse(o, x, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    if layout not in (None, torch.sparse_coo, torch.sparse_csr) or dense_dim or layout and sparse_dim:
        raise NotImplementedError('layout')
    s = o.to_sparse_csr(x) if layout == torch.sparse_csr else o.to_sparse(x, sparse_dim or 0)
    return o.to_dense(s)


EXPECT['to_sparse'] = lambda x, *a, **k: x.to_sparse(*a, **k).to_dense()


@row('nn.functional.linear_cross_entropy')
def _linear_cross_entropy(o, x, layer, t, linear_bias=None, weight=None, reduction='mean', ignore_index=None,
                          label_smoothing=0.0, options=None):
    return o.linear_cross_entropy(x, layer, t, linear_bias, CrossEntropy(
        pointer(weight), o.enums[loss(reduction)], ignore_index is not None, ignore_index or 0,
        label_smoothing))


@row('_upsample_bilinear2d_aa')
def _upsample_bilinear2d_aa(o, x, output_size=None, align_corners=False, scales_h=None,
                            scales_w=None, scale_factors=None):
    scale = list(scale_factors or [s for s in (scales_h, scales_w) if s is not None])
    size = None if scale else output_size
    return o.interpolate(x, size, scale, len(scale), 'bilinear-antialias', bool(align_corners), False)
