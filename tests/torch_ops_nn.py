"""How the operators of torch.nn.functional that have windows, images or samples in them are called here: more
rows of torch_ops_calls.py, which says what a row is."""
import ctypes

import torch
from torch_ops_calls import CALLS, DRAWN, EXPECT, Shape, row


OX_PADDING_SAME = -2**63 + 1


class Conv(ctypes.Structure):
    _fields_ = [('stride', Shape), ('padding', Shape), ('dilation', Shape), ('groups', ctypes.c_int64)]


class ConvTranspose(ctypes.Structure):
    _fields_ = [('stride', Shape), ('padding', Shape), ('output_padding', Shape), ('groups', ctypes.c_int64),
                ('dilation', Shape)]


def conv(dims):
    def call(o, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        padding = {'same': OX_PADDING_SAME, 'valid': 0}.get(padding, padding) if isinstance(padding, str) else padding
        desc = Conv(o.shape(stride), o.shape(padding), o.shape(dilation), groups)
        return o.call('conv%dd' % dims, x, weight, bias, desc)
    return call


def conv_transpose(dims):
    def call(o, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        desc = ConvTranspose(o.shape(stride), o.shape(padding), o.shape(output_padding), groups, o.shape(dilation))
        return o.call('conv_transpose%dd' % dims, x, weight, bias, desc)
    return call


def max_pool(dims):
    def call(o, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        name = 'max_pool%dd' % dims + ('_with_indices' if return_indices else '')
        return o.call(name, x, kernel_size, stride, padding, dilation, ceil_mode)
    return call


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


row('nn.functional.pad', 'nn.functional.pad/constant', 'nn.functional.pad/reflect', 'nn.functional.pad/replicate',
    'nn.functional.pad/circular', 'nn.functional.pad/replicate_negative')(
        lambda o, x, pad, mode='constant', value=None: o.pad(x, list(pad), mode, value or 0))
row('constant_pad_nd')(lambda o, x, pad, value=0: o.pad(x, list(pad), 'constant', value or 0))


def interpolate(o, x, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None,
                antialias=False):
    if antialias:
        raise NotImplementedError('antialias')
    scale = [] if scale_factor is None else [scale_factor] if isinstance(scale_factor, (int, float)) else scale_factor
    return o.interpolate(x, size, list(scale), len(scale), mode, bool(align_corners), bool(recompute_scale_factor))


row('nn.functional.interpolate', *['nn.functional.interpolate/' + m for m in (
    'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area')])(interpolate)
row('nn.functional.upsample_nearest')(lambda o, x, size=None, scale_factor=None: interpolate(o, x, size, scale_factor))
row('nn.functional.upsample_bilinear')(lambda o, x, size=None, scale_factor=None: interpolate(
    o, x, size, scale_factor, 'bilinear', True))
row('nn.functional.grid_sample')(lambda o, x, grid, mode='bilinear', padding_mode='zeros', align_corners=None:
                                 o.grid_sample(x, grid, mode, padding_mode, bool(align_corners)))
row('grid_sampler_2d', 'grid_sampler_3d')(lambda o, x, grid, mode, padding, align_corners: o.grid_sample(
    x, grid, ('bilinear', 'nearest', 'bicubic')[mode], ('zeros', 'border', 'reflection')[padding], align_corners))
row('nn.functional.pixel_shuffle')(lambda o, x, upscale_factor: o.pixel_shuffle(x, upscale_factor))
row('nn.functional.pixel_unshuffle')(lambda o, x, downscale_factor: o.pixel_unshuffle(x, downscale_factor))
row('nn.functional.channel_shuffle')(lambda o, x, groups: o.channel_shuffle(x, groups))
row('nn.functional.local_response_norm')(lambda o, x, size, alpha=1e-4, beta=0.75, k=1.0: o.local_response_norm(
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

    def call(o, x, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
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
