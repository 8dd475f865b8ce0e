#!/usr/bin/env python3
"""Writes models of many families in the shape of 110m parameters, as Hugging Face folders.

    python3 bench/peers/families.py --out FOLDER [--only llama,gemma2] [--scale 2]

All have LLaMA's 12 layers of 768 numbers, 12 heads and 32000 words, so that what is slower a byte of weights
than LLaMA is so for what its family does; --scale 2 has twice the numbers and heads. FOLDER/NAME holds
config.json and model.safetensors in f16, with random weights and no tokenizer: examples/convert makes GGUF of
it, examples/quantize other types, and decode.py measures them. Needs python3 with torch and transformers.
"""
import argparse
import json
import os
import sys

import torch
import transformers

WIDTH, LAYERS, HEADS, WORDS = 768, 12, 12, 32000
BASE = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, vocab_size=WORDS,
            max_position_embeddings=2048, intermediate_size=2048, bos_token_id=1, eos_token_id=2)
PLAIN = dict(BASE, intermediate_size=4 * WIDTH)
GROUPED = dict(BASE, num_key_value_heads=4)
LATENT = dict(BASE, num_key_value_heads=HEADS, q_lora_rank=384, kv_lora_rank=256, qk_nope_head_dim=64,
              qk_rope_head_dim=32, v_head_dim=64, moe_intermediate_size=512, n_routed_experts=16, n_group=1,
              topk_group=1, num_experts_per_tok=4, n_shared_experts=1, first_k_dense_replace=1)
MAMBA = dict(hidden_size=WIDTH, num_hidden_layers=2 * LAYERS, vocab_size=WORDS)
# name: (model_type, what its config says)
FAMILIES = {
    'llama': ('llama', BASE),
    'llama-grouped': ('llama', GROUPED),
    'mistral': ('mistral', GROUPED),
    'qwen2': ('qwen2', dict(GROUPED, tie_word_embeddings=True)),
    'qwen3': ('qwen3', dict(GROUPED, head_dim=64)),
    'gemma2': ('gemma2', dict(GROUPED, head_dim=64)),
    'gemma3': ('gemma3_text', dict(GROUPED, head_dim=64)),
    'phi2': ('phi', PLAIN),
    'phi3': ('phi3', dict(GROUPED, pad_token_id=0)),
    'olmo2': ('olmo2', GROUPED),
    'glm4': ('glm4', dict(GROUPED, head_dim=64, pad_token_id=0)),
    'gpt2': ('gpt2', dict(n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=2048, vocab_size=WORDS)),
    'gptj': ('gptj', dict(n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=2048, vocab_size=WORDS,
                          rotary_dim=64)),
    'gptneox': ('gpt_neox', PLAIN),
    'starcoder2': ('starcoder2', dict(PLAIN, num_key_value_heads=4)),
    'command-r': ('cohere', GROUPED),
    'cohere2': ('cohere2', dict(GROUPED, pad_token_id=0)),
    'falcon': ('falcon', {**PLAIN, 'multi_query': True, 'parallel_attn': True, 'bias': False}),
    'bloom': ('bloom', dict(hidden_size=WIDTH, n_layer=LAYERS, n_head=HEADS, vocab_size=WORDS)),
    'mpt': ('mpt', dict(d_model=WIDTH, n_layers=LAYERS, n_heads=HEADS, max_seq_len=2048, vocab_size=WORDS)),
    'opt': ('opt', dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                        vocab_size=WORDS, ffn_dim=4 * WIDTH, word_embed_proj_dim=WIDTH)),
    'stablelm': ('stablelm', dict(GROUPED, use_qkv_bias=True)),
    'granite': ('granite', dict(GROUPED, embedding_multiplier=12.0, residual_multiplier=0.22,
                                logits_scaling=8.0, attention_multiplier=0.0156)),
    'nemotron': ('nemotron', dict(PLAIN, num_key_value_heads=4)),
    'exaone4': ('exaone4', GROUPED),
    'smollm3': ('smollm3', dict(GROUPED, pad_token_id=0)),
    'bitnet': ('bitnet', GROUPED),
    'minicpm3': ('deepseek_v2', dict(LATENT, first_k_dense_replace=LAYERS)),
    'deepseek2': ('deepseek_v2', LATENT),
    'deepseek3': ('deepseek_v3', LATENT),
    'mixtral': ('mixtral', dict(GROUPED, intermediate_size=1024, num_local_experts=8,
                                num_experts_per_tok=2)),
    'qwen3moe': ('qwen3_moe', dict(GROUPED, head_dim=64, num_experts=32, num_experts_per_tok=4,
                                   moe_intermediate_size=512, norm_topk_prob=True, decoder_sparse_step=1,
                                   mlp_only_layers=[])),
    'gpt-oss': ('gpt_oss', dict(GROUPED, head_dim=64, num_local_experts=16, num_experts_per_tok=4,
                                intermediate_size=768)),
    'mamba': ('mamba', dict(MAMBA, state_size=16)),
    'mamba2': ('mamba2', dict(MAMBA, state_size=128, num_heads=24, head_dim=64, n_groups=1)),
    'lfm2': ('lfm2', dict(GROUPED, block_auto_adjust_ff_dim=False,
                          layer_types=(['conv', 'conv', 'full_attention'] * LAYERS)[:LAYERS])),
    't5': ('t5', dict(d_model=WIDTH, d_kv=64, d_ff=2048, num_layers=LAYERS, num_decoder_layers=LAYERS,
                      num_heads=HEADS, vocab_size=WORDS, feed_forward_proj='gated-gelu',
                      tie_word_embeddings=False, decoder_start_token_id=0)),
}

# what --scale multiplies: all widths, and heads instead of their sizes
WIDTHS = {'hidden_size', 'num_attention_heads', 'num_key_value_heads', 'intermediate_size', 'num_heads',
          'n_embd', 'n_head', 'n_heads', 'd_model', 'd_ff', 'ffn_dim', 'word_embed_proj_dim', 'q_lora_rank',
          'kv_lora_rank', 'moe_intermediate_size'}


def write(name, folder, scale):
    model_type, words = FAMILIES[name]
    words = {key: value * scale if key in WIDTHS else value for key, value in words.items()}
    config = transformers.AutoConfig.for_model(model_type, **words)
    kind = transformers.AutoModelForSeq2SeqLM if model_type == 't5' else transformers.AutoModelForCausalLM
    torch.manual_seed(1)
    model = kind.from_config(config, dtype=torch.float16)
    path = os.path.join(folder, name)
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
    parser.add_argument('--only', default=','.join(FAMILIES))
    parser.add_argument('--scale', type=int, default=1)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    for name in options.only.split(','):
        write(name, options.out, options.scale)
    return 0


if __name__ == '__main__':
    sys.exit(main())
