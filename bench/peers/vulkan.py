#!/usr/bin/env python3
"""Bandwidth, products and attention of bench_vulkan beside PyTorch with CUDA on the same GPU.

    vulkan.py BENCH_VULKAN [TURNS]      needs torch with CUDA; both sides take turns, two of them by default;
                                        one line a work: medians in its unit, their ratio, those of the turns
"""
import re, statistics, subprocess, sys, time
import torch


def seconds(work, repeat=4):
    for _ in range(5):
        work()
    times = []
    for _ in range(9):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(repeat):
            work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / repeat)
    return statistics.median(times)


DTYPES = {'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16}
F = torch.nn.functional
# by the names of bench_vulkan: what is read and written once, in sizes of x, and the same work
BYTES = {
    'copy': (2, lambda x, y, w: x.clone()),
    'add': (3, lambda x, y, w: x + y),
    'div': (3, lambda x, y, w: x / y),
    'exp': (2, lambda x, y, w: x.exp()),
    'gelu': (2, lambda x, y, w: F.gelu(x)),
    'softmax': (2, lambda x, y, w: x.softmax(-1)),
    'sum': (1, lambda x, y, w: x.sum()),
    'layer_norm': (2, lambda x, y, w: F.layer_norm(x, w.shape, w, w)),
    'transposed copy': (2, lambda x, y, w: x.t().contiguous()),
}


def bytewise(name, rows, columns):
    x, y = (torch.randn(rows, columns, device='cuda') for _ in range(2))
    w = torch.ones(columns, device='cuda')
    passes, work = BYTES[name]
    return 4e-9 * rows * columns * passes / seconds(lambda: work(x, y, w))


def matmul(dtype, n):
    a, b = (torch.randn(n, n, device='cuda').to(DTYPES[dtype]) for _ in range(2))
    return 2e-12 * n**3 / seconds(lambda: a @ b)


def attention(dtype, heads, tokens, depth):
    q, k, v = (torch.randn(1, heads, tokens, depth, device='cuda').to(DTYPES[dtype]) for _ in range(3))
    work = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return 2e-12 * heads * tokens**2 * depth / seconds(work)


def turn(rates):
    """Adds what both sides reach to rates: work -> [(ours, PyTorch's), ...]."""
    command = [sys.argv[1], '0', 'small', 'bytes', 'matmul', 'attention']
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.match(r'(.+?) +(f32|f16|bf16) +([\dx ]+?)  +([\d.]+) (GB/s|TFLOP/s)', line)
        if not found:
            print(line)
            continue
        name, dtype, sizes, ours, unit = found.groups()
        size = [int(n) for n in sizes.split(' x ')]
        if name == 'matmul':
            peer = matmul(dtype, *size)
        elif name == 'attention causal':
            peer = attention(dtype, *size)
        else:
            peer = bytewise(name, *size)
        rates.setdefault(f'{name} {dtype} {sizes}, {unit}', []).append((float(ours), peer))


rates = {}
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 2):
    turn(rates)
print(f'PyTorch {torch.__version__}, {torch.cuda.get_device_name()}')
for work, pairs in rates.items():
    ours, peer = (statistics.median(column) for column in zip(*pairs))
    turns = ' '.join(f'{a / b:.2f}' for a, b in pairs)
    print(f'{work:45} {ours:8.1f}  PyTorch {peer:8.1f}  {ours / peer:.2f}  ({turns})')
