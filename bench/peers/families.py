#!/usr/bin/env python3
"""Writes models of many families, all in one shape, as Hugging Face folders.

    python3 bench/peers/families.py --out FOLDER [--only llama,gemma2] [--shape 1b | --scale 2] [--quick]

All have LLaMA's layers, so that what is slower a byte of weights than LLaMA is so for what its family does:
110m has 12 layers of 768 numbers, 12 heads and 32000 words; 1b has 16 layers of 2048 numbers, 32 heads and
128256 words; published has eight layers of the sizes of a published model, and 512 words. --scale 2 has
twice the numbers and heads. FOLDER/NAME holds config.json and model.safetensors in f16, with random weights
(--quick: a million numbers over and over) and no tokenizer: examples/convert makes GGUF of it,
examples/quantize other types, and decode.py measures them. Needs python3 with torch and transformers.
"""
import argparse
import json
import os
import sys

import safetensors.torch
import torch
import transformers

SHAPES = {
    '110m': dict(width=768, layers=12, heads=12, grouped=4, inner=2048, words=32000,
                 latent=dict(q_lora_rank=384, kv_lora_rank=256, qk_nope_head_dim=64, qk_rope_head_dim=32,
                             v_head_dim=64), expert=512, used=4, two=1024, four=768),
    '1b': dict(width=2048, layers=16, heads=32, grouped=8, inner=8192, words=128256,
               latent=dict(q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
                           v_head_dim=128, num_attention_heads=16, num_key_value_heads=16),
               expert=1024, used=8, two=4096, four=2048),
}


def families(width, layers, heads, grouped, inner, words, latent, expert, used, two, four):
    """A row a family: (model_type, what its config says)."""
    size = width // heads
    base = dict(hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, vocab_size=words,
                max_position_embeddings=2048, intermediate_size=inner, bos_token_id=1, eos_token_id=2)
    plain = dict(base, intermediate_size=4 * width)
    some = dict(base, num_key_value_heads=grouped)
    sized = dict(some, head_dim=size)
    latents = {**base, 'num_key_value_heads': heads, 'moe_intermediate_size': expert, 'n_routed_experts': 16,
               'n_group': 1, 'topk_group': 1, 'num_experts_per_tok': 4, 'n_shared_experts': 1,
               'first_k_dense_replace': 1, **latent}
    mamba = dict(hidden_size=width, num_hidden_layers=2 * layers, vocab_size=words)
    return {
        'llama': ('llama', base),
        'llama-grouped': ('llama', some),
        'mistral': ('mistral', some),
        'qwen2': ('qwen2', dict(some, tie_word_embeddings=True)),
        'qwen3': ('qwen3', sized),
        'gemma2': ('gemma2', sized),
        'gemma3': ('gemma3_text', sized),
        'phi2': ('phi', plain),
        'phi3': ('phi3', dict(some, pad_token_id=0)),
        'olmo2': ('olmo2', some),
        'glm4': ('glm4', dict(sized, pad_token_id=0)),
        'gpt2': ('gpt2', dict(n_embd=width, n_layer=layers, n_head=heads, n_positions=2048,
                              vocab_size=words)),
        'gptj': ('gptj', dict(n_embd=width, n_layer=layers, n_head=heads, n_positions=2048, vocab_size=words,
                              rotary_dim=64)),
        'gptneox': ('gpt_neox', plain),
        'starcoder2': ('starcoder2', dict(plain, num_key_value_heads=grouped)),
        'command-r': ('cohere', some),
        'cohere2': ('cohere2', dict(some, pad_token_id=0)),
        'falcon': ('falcon', {**plain, 'multi_query': True, 'parallel_attn': True, 'bias': False}),
        'bloom': ('bloom', dict(hidden_size=width, n_layer=layers, n_head=heads, vocab_size=words)),
        'mpt': ('mpt', dict(d_model=width, n_layers=layers, n_heads=heads, max_seq_len=2048,
                            vocab_size=words)),
        'opt': ('opt', dict(hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                            vocab_size=words, ffn_dim=4 * width, word_embed_proj_dim=width)),
        'stablelm': ('stablelm', dict(some, use_qkv_bias=True)),
        'granite': ('granite', dict(some, embedding_multiplier=12.0, residual_multiplier=0.22,
                                    logits_scaling=8.0, attention_multiplier=0.0156)),
        'nemotron': ('nemotron', dict(plain, num_key_value_heads=grouped)),
        'exaone4': ('exaone4', some),
        'smollm3': ('smollm3', dict(some, pad_token_id=0)),
        'bitnet': ('bitnet', some),
        'minicpm3': ('deepseek_v2', dict(latents, first_k_dense_replace=layers)),
        'deepseek2': ('deepseek_v2', latents),
        'deepseek3': ('deepseek_v3', latents),
        'mixtral': ('mixtral', dict(some, intermediate_size=two, num_local_experts=8, num_experts_per_tok=2)),
        'qwen3moe': ('qwen3_moe', dict(sized, num_experts=32, num_experts_per_tok=used,
                                       moe_intermediate_size=expert, norm_topk_prob=True,
                                       decoder_sparse_step=1, mlp_only_layers=[])),
        'gpt-oss': ('gpt_oss', dict(sized, num_local_experts=16, num_experts_per_tok=4,
                                    intermediate_size=four)),
        'mamba': ('mamba', dict(mamba, state_size=16)),
        'mamba2': ('mamba2', dict(mamba, state_size=128, num_heads=2 * width // 64, head_dim=64, n_groups=1)),
        'lfm2': ('lfm2', dict(some, block_auto_adjust_ff_dim=False,
                              layer_types=(['conv', 'conv', 'full_attention'] * layers)[:layers])),
        't5': ('t5', dict(d_model=width, d_kv=64, d_ff=inner, num_layers=layers, num_decoder_layers=layers,
                          num_heads=heads, vocab_size=words, feed_forward_proj='gated-gelu',
                          tie_word_embeddings=False, decoder_start_token_id=0)),
    }


# Eight layers as published (the models' own config.json on the Hugging Face hub), with eight experts at most.
EIGHT = dict(num_hidden_layers=8, vocab_size=512, bos_token_id=1, eos_token_id=2, pad_token_id=0,
             max_position_embeddings=4096)
PUBLISHED = {
    'llama-1b': ('llama', dict(EIGHT, hidden_size=2048, intermediate_size=8192, num_attention_heads=32,
                               num_key_value_heads=8, head_dim=64)),
    'deepseek-v2-lite': ('deepseek_v2', dict(
        EIGHT, hidden_size=2048, intermediate_size=10944, num_attention_heads=16, num_key_value_heads=16,
        q_lora_rank=None, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128,
        moe_intermediate_size=1408, n_routed_experts=8, num_experts_per_tok=6, n_shared_experts=2, n_group=1,
        topk_group=1, first_k_dense_replace=1)),
    'llama-3b': ('llama', dict(EIGHT, hidden_size=3072, intermediate_size=8192, num_attention_heads=24,
                               num_key_value_heads=8, head_dim=128)),
    'qwen3-0.6b': ('qwen3', dict(EIGHT, hidden_size=1024, intermediate_size=3072, num_attention_heads=16,
                                 num_key_value_heads=8, head_dim=128)),
    'qwen3-4b': ('qwen3', dict(EIGHT, hidden_size=2560, intermediate_size=9728, num_attention_heads=32,
                               num_key_value_heads=8, head_dim=128)),
    'gemma3-4b': ('gemma3_text', dict(EIGHT, hidden_size=2560, intermediate_size=10240, num_attention_heads=8,
                                      num_key_value_heads=4, head_dim=256)),
    'gemma3-1b': ('gemma3_text', dict(EIGHT, hidden_size=1152, intermediate_size=6912, num_attention_heads=4,
                                      num_key_value_heads=1, head_dim=256)),
    'gemma2-2b': ('gemma2', dict(EIGHT, hidden_size=2304, intermediate_size=9216, num_attention_heads=8,
                                 num_key_value_heads=4, head_dim=256)),
    'gpt-oss-20b': ('gpt_oss', dict(EIGHT, hidden_size=2880, intermediate_size=2880, num_attention_heads=64,
                                    num_key_value_heads=8, head_dim=64, num_local_experts=8,
                                    num_experts_per_tok=4)),
    'qwen3-30b': ('qwen3_moe', dict(EIGHT, hidden_size=2048, num_attention_heads=32, num_key_value_heads=4,
                                    head_dim=128, num_experts=8, num_experts_per_tok=8,
                                    moe_intermediate_size=768, norm_topk_prob=True, mlp_only_layers=[])),
    'qwen3-next': ('qwen3_next', dict(EIGHT, hidden_size=2048, intermediate_size=5120, num_attention_heads=16,
                                      num_key_value_heads=2, head_dim=256, num_experts=8,
                                      num_experts_per_tok=4, moe_intermediate_size=512,
                                      shared_expert_intermediate_size=512, linear_num_key_heads=16,
                                      linear_num_value_heads=32, mlp_only_layers=[])),
    'phimoe': ('phimoe', dict(EIGHT, hidden_size=4096, intermediate_size=6400, num_attention_heads=32,
                              num_key_value_heads=8, num_local_experts=4, num_experts_per_tok=2)),
    'glm4-moe': ('glm4_moe', dict(EIGHT, hidden_size=4096, intermediate_size=10944, num_attention_heads=96,
                                  num_key_value_heads=8, head_dim=128, moe_intermediate_size=1408,
                                  n_routed_experts=8, num_experts_per_tok=4, n_shared_experts=1, n_group=1,
                                  topk_group=1, first_k_dense_replace=1, use_qk_norm=True)),
    'falcon-h1': ('falcon_h1', dict(EIGHT, hidden_size=2048, intermediate_size=4096, num_attention_heads=8,
                                    num_key_value_heads=2, head_dim=128, mamba_d_ssm=3072, mamba_n_heads=48,
                                    mamba_d_head=64, mamba_n_groups=1, mamba_d_state=256, mamba_d_conv=4)),
    'bitnet-2b': ('bitnet', dict(EIGHT, hidden_size=2560, intermediate_size=6912, num_attention_heads=20,
                                 num_key_value_heads=5)),
    'mamba-1.4b': ('mamba', dict(hidden_size=2048, num_hidden_layers=16, vocab_size=512, state_size=16)),
    'mamba2-1.3b': ('mamba2', dict(hidden_size=2048, num_hidden_layers=16, vocab_size=512, state_size=128,
                                   num_heads=64, head_dim=64, n_groups=1)),
    'starcoder2-3b': ('starcoder2', dict(EIGHT, hidden_size=3072, intermediate_size=12288,
                                         num_attention_heads=24, num_key_value_heads=2)),
    'falcon-7b': ('falcon', dict(EIGHT, hidden_size=4544, num_attention_heads=71, multi_query=True,
                                 parallel_attn=True, bias=False, new_decoder_architecture=False)),
}

# what --scale multiplies: all widths, and heads instead of their sizes
WIDTHS = {'hidden_size', 'num_attention_heads', 'num_key_value_heads', 'intermediate_size', 'num_heads',
          'n_embd', 'n_head', 'n_heads', 'd_model', 'd_ff', 'ffn_dim', 'word_embed_proj_dim', 'q_lora_rank',
          'kv_lora_rank', 'moe_intermediate_size'}


def fill(model):
    """A million random numbers over and over: made in no time, and experts differ all the same."""
    some = torch.randn(1000003, generator=torch.Generator().manual_seed(1), dtype=torch.float32) * 0.02
    some = some.to(torch.float16)
    ties = set(getattr(model, '_tied_weights_keys', None) or [])
    tensors, at = {}, 0
    for key, value in model.state_dict().items():
        if key in ties:
            continue
        count = value.numel()
        tensors[key] = some.roll(-at).repeat(count // some.numel() + 1)[:count].view(value.shape).clone()
        at = (at + count) % some.numel()
        if value.dim() == 1 and 'norm' in key:
            tensors[key] += 1
    return tensors


def write(name, row, folder, scale, quick):
    model_type, words = row
    words = {key: value * scale if key in WIDTHS else value for key, value in words.items()}
    config = transformers.AutoConfig.for_model(model_type, **words)
    kind = transformers.AutoModelForSeq2SeqLM if model_type == 't5' else transformers.AutoModelForCausalLM
    path = os.path.join(folder, name)
    torch.manual_seed(1)
    with torch.device('meta' if quick else 'cpu'):
        model = kind.from_config(config, dtype=torch.float16)
    if quick:
        os.makedirs(path, exist_ok=True)
        config.architectures = [type(model).__name__]
        config.dtype = 'float16'
        config.save_pretrained(path)
        safetensors.torch.save_file(fill(model), path + '/model.safetensors', metadata={'format': 'pt'})
    else:
        model.save_pretrained(path)
    count = sum(p.numel() for p in model.parameters())
    if name == 'minicpm3':  # the tensors of DeepSeek 2 without experts under its own name
        with open(path + '/config.json') as f:
            facts = json.load(f)
        facts.update(model_type='minicpm3', architectures=['MiniCPM3ForCausalLM'], scale_emb=12,
                     scale_depth=1.4, dim_model_base=256, rope_scaling=None, rope_theta=10000.0)
        with open(path + '/config.json', 'w') as f:
            json.dump(facts, f)
    print('%s: %d m parameters' % (path, count // 1000000), flush=True)


def main():
    parser = argparse.ArgumentParser(description='models of many families, for measurements of speed')
    parser.add_argument('--out', required=True)
    parser.add_argument('--only', help='names, with commas between them; all if it is left out')
    parser.add_argument('--shape', default='110m', choices=[*SHAPES, 'published'])
    parser.add_argument('--scale', type=int, default=1)
    parser.add_argument('--quick', action='store_true')
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    rows = PUBLISHED if options.shape == 'published' else families(**SHAPES[options.shape])
    for name in options.only.split(',') if options.only else rows:
        write(name, rows[name], options.out, options.scale, options.quick)
    return 0


if __name__ == '__main__':
    sys.exit(main())
