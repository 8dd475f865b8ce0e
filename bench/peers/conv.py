#!/usr/bin/env python3
"""Convolutions of bench_conv in PyTorch with CUDA: the same shapes, TFLOP/s of the three directions.

    conv.py [f16|bf16|f32] [IMAGES, 64] [WORD] [search]     search: cuDNN tries its algorithms first
"""
import sys, time
import torch

SHAPES = [(3, 64, 224, 7, 2, 3), (64, 64, 56, 3, 1, 1), (128, 128, 28, 3, 1, 1), (256, 256, 14, 3, 1, 1),
          (512, 512, 7, 3, 1, 1), (64, 128, 56, 3, 2, 1), (128, 256, 28, 3, 2, 1), (256, 512, 14, 3, 2, 1),
          (64, 128, 56, 1, 2, 0), (128, 256, 28, 1, 2, 0), (256, 512, 14, 1, 2, 0), (256, 512, 56, 1, 2, 0),
          (1024, 2048, 14, 1, 2, 0), (256, 64, 56, 1, 1, 0), (64, 256, 56, 1, 1, 0), (512, 128, 28, 1, 1, 0),
          (128, 512, 28, 1, 1, 0), (1024, 256, 14, 1, 1, 0), (256, 1024, 14, 1, 1, 0),
          (2048, 512, 7, 1, 1, 0), (512, 2048, 7, 1, 1, 0)]
DTYPES = {'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16}


def some(work, count):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def seconds(work):
    some(work, 3)
    count = int(0.05 / some(work, 10)) + 1
    return min(some(work, count) for _ in range(4))


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else 'f16'
    images = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    word = sys.argv[3] if len(sys.argv) > 3 else ''
    torch.backends.cudnn.benchmark = 'search' in sys.argv[4:]
    print(torch.cuda.get_device_name(), torch.__version__, torch.backends.cudnn.version(), name)
    for channels, outputs, side, kernel, stride, padding in SHAPES:
        by = f'/{stride}' if stride > 1 else ''
        label = f'{kernel}x{kernel}{by} {channels}-{outputs}@{side}'
        if word not in label:
            continue
        draw = lambda *shape: (torch.randn(*shape, device='cuda') * 0.1).to(DTYPES[name])
        x, w = draw(images, channels, side, side), draw(outputs, channels, kernel, kernel)
        y = torch.nn.functional.conv2d(x, w, None, stride, padding)
        back = lambda *mask: torch.ops.aten.convolution_backward(
            y, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, [*mask, False])
        works = (lambda: torch.nn.functional.conv2d(x, w, None, stride, padding),
                 lambda: back(True, False), lambda: back(False, True))
        flops = 2e-12 * y.numel() * channels * kernel * kernel
        line = f'{label:20s}'
        for work in works:
            took = seconds(work)
            line += f' {1e6 * took:7.1f} us {flops / took:6.1f}'
        print(line, flush=True)


main()
