#!/usr/bin/env python3
"""Products and attention of bench_vulkan beside PyTorch with CUDA on the same GPU.

    vulkan.py BENCH_VULKAN      needs torch with CUDA; one line a work: TFLOP/s of both, and the ratio
"""
import re, statistics, subprocess, sys, time
import torch


def seconds(work):
    for _ in range(5):
        work()
    times = []
    for _ in range(9):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(4):
            work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 4)
    return statistics.median(times)


DTYPES = {'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16}


def matmul(dtype, n):
    a, b = (torch.randn(n, n, device='cuda').to(DTYPES[dtype]) for _ in range(2))
    return 2e-12 * n**3 / seconds(lambda: a @ b)


def attention(dtype, heads, tokens, depth):
    q, k, v = (torch.randn(1, heads, tokens, depth, device='cuda').to(DTYPES[dtype]) for _ in range(3))
    work = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return 2e-12 * heads * tokens**2 * depth / seconds(work)


ours = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
print(ours)
for line in ours.splitlines():
    product = re.match(r'matmul +(\w+) +(\d+) +([\d.]+) TFLOP', line)
    heads = re.match(r'attention causal (\w+) +(\d+) x (\d+) x (\d+) +([\d.]+) TFLOP', line)
    if product:
        name, rate, peer = line.split('  ')[0], float(product[3]), matmul(product[1], int(product[2]))
    elif heads:
        rate, peer = float(heads[5]), attention(heads[1], *map(int, heads.group(2, 3, 4)))
    else:
        continue
    print(f'{" ".join(line.split()[:-2]):45} {rate:8.1f}  PyTorch {peer:8.1f}  {rate / peer:.2f}')
