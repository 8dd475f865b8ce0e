#!/usr/bin/env python3
"""Writes models of several families with about 1b parameters each, for measurements of speed alone.

    python3 bench/peers/shapes.py --out FOLDER [--only llama,qwen3,gemma3,phi3,gpt-oss,mixtral,rwkv6,rwkv7]

Files have the shapes of Llama 3.2 1B, Qwen 3, Gemma 3 1B, Phi 4 mini, GPT-OSS, Mixtral and RWKV, with as many
layers (or as narrow ones, where experts are) as make about 1b parameters: FOLDER/NAME-f16.gguf, matrices
in f16, all else in f32. Weights are random numbers, a million of them that come again; there is no
tokenizer. examples/quantize makes other types of them, llama.py measures them. Needs python3 with numpy and
gguf (Debian: python3-gguf).
"""
import argparse
import os
import sys

import gguf
import numpy as np

EPSILON = 1e-5
SHAPES = {
    'llama': dict(arch='llama', layers=16, width=2048, heads=32, kv=8, size=64, inner=8192, words=128256,
                  base=5e5),
    'qwen3': dict(arch='qwen3', layers=16, width=2048, heads=16, kv=8, size=128, inner=6144, words=151936,
                  base=1e6, head_norms=True),
    'gemma3': dict(arch='gemma3', layers=26, width=1152, heads=4, kv=1, size=256, inner=6912, words=262144,
                   base=1e6, head_norms=True, norms_behind=True, window=512),
    'phi3': dict(arch='phi3', layers=6, width=3072, heads=24, kv=8, size=128, inner=8192, words=200064,
                 base=1e4, fused=True, turned=96),
    'gpt-oss': dict(arch='gpt-oss', layers=8, width=1024, heads=16, kv=4, size=64, inner=1024, words=201088,
                    base=150000, experts=32, used=4, biases=True, sinks=True, window=128, untied=True),
    'mixtral': dict(arch='llama', layers=12, width=1024, heads=16, kv=8, size=64, inner=3584, words=32000,
                    base=1e6, experts=8, used=2, untied=True),
    'rwkv6': dict(arch='rwkv6', layers=14, width=2048, size=64, inner=7168, words=65536, untied=True,
                  ranks=dict(decay_w=64), shift_rank=32),
    'rwkv7': dict(arch='rwkv7', layers=14, width=2048, size=64, inner=8192, words=65536, untied=True,
                  ranks=dict(w=96, a=96, v=64, g=256)),
}


def mixer(s, layer):
    """The tensors of a layer of RWKV."""
    width, inner, sixth = s['width'], s['inner'], 'shift_rank' in s

    def matrix(name, rows, columns, scale=1):
        return layer + name + '.weight', (rows, columns), scale * columns ** -0.5
    for name in ('attn_norm', 'attn_norm_2', 'time_mix_ln'):
        yield layer + name + '.weight', (width,), None
        yield layer + name + '.bias', (width,), 0
    for name in ['receptance', 'key', 'value', 'output'] + ['gate'] * sixth:
        yield matrix('time_mix_' + name, width, width)
    for name, rank in s['ranks'].items():
        yield matrix('time_mix_%s1' % name, rank, width)
        yield matrix('time_mix_%s2' % name, width, rank)
    if sixth:
        yield matrix('time_mix_w1', 5 * s['shift_rank'], width)
        yield layer + 'time_mix_w2.weight', (5, width, s['shift_rank']), s['shift_rank'] ** -0.5
        yield matrix('channel_mix_receptance', width, width)
    rows = ['time_mix_lerp_x', 'time_mix_decay', 'channel_mix_lerp_r'] if sixth else [
        'time_mix_w0', 'time_mix_a0', 'time_mix_v0', 'time_mix_k_k', 'time_mix_k_a']
    for name in rows + ['channel_mix_lerp_k']:
        yield layer + name + '.weight', (width,), 0
    yield layer + 'time_mix_lerp_fused.weight', (5 if sixth else 6, width), 0
    yield layer + 'time_mix_%s.weight' % ('first' if sixth else 'r_k'), (width // s['size'], s['size']), 0
    yield matrix('channel_mix_key', inner, width)
    yield matrix('channel_mix_value', width, inner, 1 / 8)


def tensors(s):
    """Name, shape (rows last in the file) and scale of each tensor; a norm's scale is None, a bias's 0."""
    width, inner = s['width'], s['inner']
    queries, keys = s.get('heads', 0) * s['size'], s.get('kv', 0) * s['size']
    experts = s.get('experts')
    yield 'token_embd.weight', (s['words'], width), 0.02
    yield 'output_norm.weight', (width,), None
    if s.get('untied'):
        yield 'output.weight', (s['words'], width), width ** -0.5
    if s.get('ranks'):
        yield 'token_embd_norm.weight', (width,), None
        yield 'token_embd_norm.bias', (width,), 0
        yield 'output_norm.bias', (width,), 0
    for i in range(s['layers']):
        if s.get('ranks'):
            yield from mixer(s, 'blk.%d.' % i)
            continue
        def named(name, shape, scale, layer='blk.%d.' % i):
            yield layer + name + '.weight', shape, scale
            if s.get('biases') and len(shape) > 1:
                yield layer + name + '.bias', shape[:-1], 0
        yield from named('attn_norm', (width,), None)
        if s.get('fused'):
            yield from named('attn_qkv', (queries + 2 * keys, width), width ** -0.5)
        else:
            yield from named('attn_q', (queries, width), width ** -0.5)
            yield from named('attn_k', (keys, width), width ** -0.5)
            yield from named('attn_v', (keys, width), width ** -0.5)
        yield from named('attn_output', (width, queries), queries ** -0.5 / 8)
        if s.get('head_norms'):
            yield from named('attn_q_norm', (s['size'],), None)
            yield from named('attn_k_norm', (s['size'],), None)
        if s.get('sinks'):
            yield from named('attn_sinks', (s['heads'],), 0)
        if s.get('norms_behind'):
            yield from named('post_attention_norm', (width,), None)
            yield from named('post_ffw_norm', (width,), None)
        yield from named('post_attention_norm' if s.get('sinks') else 'ffn_norm', (width,), None)
        if experts:
            yield from named('ffn_gate_inp', (experts, width), width ** -0.5)
            yield from named('ffn_gate_exps', (experts, inner, width), width ** -0.5)
            yield from named('ffn_up_exps', (experts, inner, width), width ** -0.5)
            yield from named('ffn_down_exps', (experts, width, inner), inner ** -0.5 / 8)
        elif s.get('fused'):
            yield from named('ffn_up', (2 * inner, width), width ** -0.5)
            yield from named('ffn_down', (width, inner), inner ** -0.5 / 8)
        else:
            yield from named('ffn_gate', (inner, width), width ** -0.5)
            yield from named('ffn_up', (inner, width), width ** -0.5)
            yield from named('ffn_down', (width, inner), inner ** -0.5 / 8)


def numbers(shape, scale, tile, name):
    count = int(np.prod(shape))
    if not scale:
        return np.full(shape, 1 if scale is None else 0.01, dtype=np.float32)
    kind = np.float32 if 'gate_inp' in name else np.float16
    piece = (tile * np.float32(scale)).astype(kind)
    return np.resize(piece, count).reshape(shape)


def write(name, folder):
    s = SHAPES[name]
    path = os.path.join(folder, name + '-f16.gguf')
    w = gguf.GGUFWriter(path, s['arch'])
    w.add_context_length(4096)
    w.add_embedding_length(s['width'])
    w.add_block_count(s['layers'])
    w.add_feed_forward_length(s['inner'])
    if s.get('ranks'):
        w.add_head_count(0)
        w.add_wkv_head_size(s['size'])
        w.add_time_mix_extra_dim(s.get('shift_rank', 0))
        w.add_layer_norm_eps(EPSILON)
    else:
        w.add_head_count(s['heads'])
        w.add_head_count_kv(s['kv'])
        w.add_key_length(s['size'])
        w.add_value_length(s['size'])
        w.add_layer_norm_rms_eps(EPSILON)
        w.add_rope_freq_base(s['base'])
        w.add_rope_dimension_count(s.get('turned', s['size']))
    w.add_vocab_size(s['words'])
    w.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    w.add_tokenizer_model('no_vocab')
    if 'window' in s:
        w.add_sliding_window(s['window'])
    if 'experts' in s:
        w.add_expert_count(s['experts'])
        w.add_expert_used_count(s['used'])
    if s['arch'] == 'gpt-oss':
        w.add_expert_feed_forward_length(s['inner'])
    tile = np.random.default_rng(1).standard_normal((1 << 20) + 7, dtype=np.float32)
    count = 0
    for tensor, shape, scale in tensors(s):
        value = numbers(shape, scale, tile, tensor)
        count += value.size
        w.add_tensor(tensor, value)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print('%s: %.2f b parameters' % (path, count * 1e-9), flush=True)


def main():
    parser = argparse.ArgumentParser(description='models of several families, for measurements of speed')
    parser.add_argument('--out', required=True)
    parser.add_argument('--only', default=','.join(SHAPES))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for name in options.only.split(','):
        write(name, options.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
