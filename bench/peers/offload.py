#!/usr/bin/env python3
"""Measures the planner beside PyTorch with accelerate's offload: a LLaMA that memory does not hold.

    python3 bench/peers/offload.py [--folder /tmp] [--layers 12] [--tokens 128] [--memory 1024]
        [--limit 3072] [--dtype float16] [--turns 3] [--passes 2] [--sides oxtorch,pytorch,memory]
        [--torch "python3"] [--json build/offload.json]

The model of bench_shunt --model 1: layers of 4096 (14336 in the gate, 8 heads of keys), 32,000 words, in
float16 or bfloat16; its files, which both sides read, are made when missing. Each has --memory MiB for
weights:
  OxTorch  a budget of that for all tensors, nothing on the host besides
  PyTorch  accelerate's device_map with so much on the CPU, the rest on the disk, taken from the same
           safetensors files (what transformers does with an offload folder, too), no gradients
and both the same memory cgroup of --limit MiB, which page cache counts into. Turns alternate (A B A B), a
process each, whose files have left the page cache before. A turn is a pass and --passes behind it, with
OxTorch, which plans anew in its second and third, two more. Ratios are PyTorch's median / OxTorch's, of the
last --passes and of first ones. Both print the sum of the last logits. `memory` is where computing alone is
seen: PyTorch's pass over two layers in memory, times half their number, as if the disk cost nothing.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys

import stream

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = {'norm_a': 'input_layernorm', 'query': 'self_attn.q_proj', 'key': 'self_attn.k_proj',
         'value': 'self_attn.v_proj', 'out': 'self_attn.o_proj', 'norm_b': 'post_attention_layernorm',
         'gate': 'mlp.gate_proj', 'up': 'mlp.up_proj', 'down': 'mlp.down_proj'}
OUTER = {'embedding': 'model.embed_tokens', 'norm': 'model.norm', 'logits': 'lm_head'}
WORDS = 32000


def path_of(options, i):
    return '%s/bench-shunt-%d.safetensors' % (options.folder, i)


# ---- PyTorch's side, in a process of its own ----

def torch_model(layers, dtype):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(hidden_size=4096, intermediate_size=14336, num_hidden_layers=layers,
                         num_attention_heads=32, num_key_value_heads=8, vocab_size=WORDS, rms_norm_eps=1e-5,
                         tie_word_embeddings=False)
    with torch.device('meta'):
        model = LlamaForCausalLM(config).to(getattr(torch, dtype)).eval()
    model.model.rotary_emb = type(model.model.rotary_emb)(config)
    return model


def index_of(options, layers):
    """Where each weight lies: the index that accelerate takes for weights in safetensors files."""
    index = {}
    for i in range(layers):
        for ours, theirs in NAMES.items():
            index['model.layers.%d.%s.weight' % (i, theirs)] = (path_of(options, i), ours)
    for ours, theirs in OUTER.items():
        index[theirs + '.weight'] = (path_of(options, options.layers), ours)
    return {name: {'safetensors_file': path, 'weight_name': ours, 'dtype': options.dtype}
            for name, (path, ours) in index.items()}


def torch_child(options):
    import time
    import torch
    from accelerate import dispatch_model, infer_auto_device_map
    from accelerate.utils import set_module_tensor_to_device
    from safetensors import safe_open
    torch.set_num_threads(options.threads)
    layers = 2 if options.child == 'memory' else options.layers
    model, index = torch_model(layers, options.dtype), index_of(options, layers)
    limit = {'cpu': 1 << 40 if options.child == 'memory' else options.memory << 20}
    places = infer_auto_device_map(model, max_memory=limit, no_split_module_classes=['LlamaDecoderLayer'])
    for name, place in places.items():
        for weight, where in index.items():
            if place != 'disk' and (name in ('', weight) or weight.startswith(name + '.')):
                with safe_open(where['safetensors_file'], 'pt') as file:
                    set_module_tensor_to_device(model, weight, 'cpu', file.get_tensor(where['weight_name']))
    if 'disk' in places.values():
        model = dispatch_model(model, places, offload_index=index)
    words = torch.tensor([[i * 7919 % WORDS for i in range(options.tokens)]])
    for _ in range(1 + options.passes):
        start = time.perf_counter()
        with torch.no_grad():
            total = model(words, use_cache=False, logits_to_keep=1).logits.float().sum().item()
        print('pass: %.0f ms, sum %g' % (1e3 * (time.perf_counter() - start), total), flush=True)
    kept = sum(place != 'disk' for place in places.values())
    print('%d of %d modules in memory' % (kept, len(places)))


# ---- turns ----

def build():
    program, source = ROOT + '/build/peers_shunt', ROOT + '/bench/bench_shunt.c'
    inputs = [source] + [ROOT + '/oxtorch%s.h' % part for part in ('', '_vulkan', '_stream')]
    if not os.path.exists(program) or os.path.getmtime(program) < max(map(os.path.getmtime, inputs)):
        os.makedirs(ROOT + '/build', exist_ok=True)
        subprocess.run(['cc', '-O2', '-DOX_IMPLEMENTATION', '-I' + ROOT, source, '-o', program, '-lm',
                        '-lpthread', '-ldl'], check=True)
    return program


def turn(options, command):
    """Seconds of each pass, and the lines of the process, which runs in the cgroup."""
    for i in range(options.layers + 1):
        if os.path.exists(path_of(options, i)):
            stream.forget(path_of(options, i))
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          preexec_fn=stream.inside(options.limit << 20)).stdout
    print(text, end='', flush=True)
    return [float(ms) / 1e3 for ms in re.findall(r': (\d+) ms', text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, usual in (('layers', 12), ('tokens', 128), ('memory', 1024), ('limit', 3072), ('turns', 3),
                        ('passes', 2), ('threads', len(os.sched_getaffinity(0)))):
        parser.add_argument('--' + name, type=int, default=usual)
    parser.add_argument('--folder', default='/tmp')
    parser.add_argument('--torch', default=sys.executable)
    parser.add_argument('--sides', default='oxtorch,pytorch,memory')
    parser.add_argument('--dtype', default='float16', choices=('float16', 'bfloat16'))
    parser.add_argument('--json')
    parser.add_argument('--child', default='')
    options = parser.parse_args()
    if options.child:
        torch_child(options)
        return
    if options.passes < 1:
        parser.error('--passes wants 1 or more')
    options.folder = os.path.join(options.folder, 'offload-' + options.dtype)
    os.makedirs(options.folder, exist_ok=True)
    shared = ['--folder', options.folder, '--layers', str(options.layers), '--tokens', str(options.tokens),
              '--memory', str(options.memory)]
    theirs = shlex.split(options.torch) + [os.path.abspath(__file__)] + shared
    theirs += ['--passes', str(options.passes), '--threads', str(options.threads), '--dtype', options.dtype]
    theirs += ['--child']
    ours = '--model 1 --bare 1 --keep 1 --stream 0 --bf16 %d --rounds %d' % (options.dtype == 'bfloat16',
                                                                           options.passes)
    sides = {'oxtorch': [build()] + ours.split() + shared,
             'pytorch': theirs + ['disk'], 'memory': theirs + ['memory']}
    seconds = {side: [] for side in options.sides.split(',')}
    for i in range(options.turns):
        for side in seconds:
            if side != 'memory' or i == 0:
                print('turn %d, %s' % (i + 1, side), flush=True)
                seconds[side].append(turn(options, sides[side]))
    first = {side: statistics.median(passes[0] for passes in turns) for side, turns in seconds.items()}
    later = {side: statistics.median(one for passes in turns for one in passes[-options.passes:])
             for side, turns in seconds.items()}
    if 'memory' in later:
        print('PyTorch, in memory: %.2f s' % (later['memory'] * options.layers / 2))
    if 'oxtorch' in later and 'pytorch' in later:
        print('later passes: OxTorch %.2f s, PyTorch %.2f s, ratio %.2f' % (
            later['oxtorch'], later['pytorch'], later['pytorch'] / later['oxtorch']))
        print('first passes: OxTorch %.2f s, PyTorch %.2f s, ratio %.2f' % (
            first['oxtorch'], first['pytorch'], first['pytorch'] / first['oxtorch']))
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(seconds, file, indent=1)


if __name__ == '__main__':
    main()
