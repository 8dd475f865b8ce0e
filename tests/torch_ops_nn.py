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
