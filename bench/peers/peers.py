#!/usr/bin/env python3
"""Measures OxTorch against OpenBLAS and PyTorch on this machine, tier by tier.

    python3 bench/peers/peers.py [--tiers sse2,avx,avx2,avx512,amx] [--threads 1,2] [--sizes 1024,2048,4096]
                                 [--work matmul,views,ops,small,attention] [--runs 7]

Needs python3 with numpy; libopenblas and libblis (the pthread builds), libdnnl and torch where they are to be
compared with: f32 products with the best of the three. The library is built from the headers into
build/liboxtorch.so with `cc`, or OXTORCH_LIB names one that is there already. Each tier runs in a process of
its own, both sides held to the same instruction set. Within it the sides take turns (A B A B ...) with a
pause between, so that no side pays for the other's spinning threads; figures are medians, ratios are OxTorch
/ peer in speed, with the least and the most of the turns: above 1, OxTorch is faster. report.py makes tables
and a plot of them.
"""
import argparse
import ctypes
import ctypes.util
import os
import subprocess
import sys
import time

from measured import keep

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIERS = {  # OX_ISA: what holds the peers to the same instructions
    'sse2': {'OPENBLAS_CORETYPE': 'Nehalem', 'BLIS_ARCH_TYPE': 'penryn', 'ATEN_CPU_CAPABILITY': 'default',
             'ONEDNN_MAX_CPU_ISA': 'SSE41'},
    'avx': {'OPENBLAS_CORETYPE': 'Sandybridge', 'BLIS_ARCH_TYPE': 'sandybridge',
            'ATEN_CPU_CAPABILITY': 'default', 'ONEDNN_MAX_CPU_ISA': 'AVX'},
    'avx2': {'OPENBLAS_CORETYPE': 'Haswell', 'BLIS_ARCH_TYPE': 'haswell', 'ATEN_CPU_CAPABILITY': 'avx2',
             'ONEDNN_MAX_CPU_ISA': 'AVX2'},
    'avx512': {'OPENBLAS_CORETYPE': 'SkylakeX', 'BLIS_ARCH_TYPE': 'skx', 'ATEN_CPU_CAPABILITY': 'avx512',
               'ONEDNN_MAX_CPU_ISA': 'AVX512_CORE'},
    'amx': {'OPENBLAS_CORETYPE': 'SapphireRapids', 'BLIS_ARCH_TYPE': 'skx', 'ATEN_CPU_CAPABILITY': 'avx512',
            'ONEDNN_MAX_CPU_ISA': 'AVX512_CORE_AMX'},
}
F16, BF16, F32 = 10, 11, 12     # ox_dtype


def build():
    """Path of the shared library, built if it is missing or older than the header."""
    given = os.environ.get('OXTORCH_LIB')
    if given:
        return given
    library, header = ROOT + '/build/liboxtorch.so', ROOT + '/oxtorch.h'
    if not os.path.exists(library) or os.path.getmtime(library) < os.path.getmtime(header):
        os.makedirs(ROOT + '/build', exist_ok=True)
        source = ROOT + '/build/liboxtorch.c'
        with open(source, 'w') as f:
            f.write('#define OX_IMPLEMENTATION\n#include "oxtorch.h"\n')
        subprocess.run(['cc', '-O2', '-fPIC', '-shared', '-I' + ROOT, source, '-o', library, '-lm',
                        '-lpthread'], check=True)
    return library


class Shape(ctypes.Structure):
    _fields_ = [('ndim', ctypes.c_int), ('dim', ctypes.c_int64 * 8)]


class AttentionDesc(ctypes.Structure):
    _fields_ = [('mask', ctypes.c_void_p), ('causal', ctypes.c_bool), ('query_start', ctypes.c_int64),
                ('window', ctypes.c_int64), ('scale', ctypes.c_double), ('softcap', ctypes.c_double)]


class Oxtorch:
    """The few functions that are measured; tensors are plain pointers, released by hand."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        pointer = ctypes.c_void_p
        for name, arguments in {
                'ox_matmul': [pointer, pointer], 'ox_t': [pointer], 'ox_cast': [pointer, ctypes.c_int],
                'ox_clone': [pointer], 'ox_from_data': [pointer, Shape, ctypes.c_int],
                'ox_add': [pointer, pointer], 'ox_mul': [pointer, pointer],
                'ox_relu': [pointer], 'ox_gelu': [pointer], 'ox_exp': [pointer], 'ox_tanh': [pointer],
                'ox_softmax': [pointer, ctypes.c_int], 'ox_sum': [pointer, Shape, ctypes.c_bool],
                'ox_layer_norm': [pointer, ctypes.c_int, pointer, pointer, ctypes.c_double],
                'ox_rms_norm': [pointer, ctypes.c_int, pointer, ctypes.c_double],
                'ox_narrow': [pointer, ctypes.c_int, ctypes.c_int64, ctypes.c_int64],
                'ox_scaled_dot_product_attention': [pointer, pointer, pointer, ctypes.POINTER(AttentionDesc)],
        }.items():
            getattr(self.lib, name).argtypes = arguments
            getattr(self.lib, name).restype = pointer
        self.lib.ox_release.argtypes = [pointer]
        self.lib.ox_error_text.restype = ctypes.c_char_p
        self.lib.ox_isa.restype = ctypes.c_char_p

    def shape(self, *dims):
        return Shape(len(dims), (ctypes.c_int64 * 8)(*dims))

    def tensor(self, array):
        return self.lib.ox_from_data(array.ctypes.data, self.shape(*array.shape), F32)

    def run(self, name, *arguments):
        result = getattr(self.lib, name)(*arguments)
        if not result:
            sys.exit('oxtorch: ' + self.lib.ox_error_text().decode())
        self.lib.ox_release(result)


def median(values):
    return sorted(values)[len(values) // 2]


def in_turn(sides, runs):
    """Seconds a call of each side, one number a turn. A turn waits until the other side's threads sleep
    (OpenBLAS lets them spin for 2^26 cycles), calls once to wake its own, then as often as fits into
    30 ms."""
    seconds = [[] for _ in sides]
    for side in sides:
        side()
    for _ in range(runs):
        for k, side in enumerate(sides):
            time.sleep(0.1)
            side()
            calls, start = 0, time.perf_counter()
            while calls == 0 or time.perf_counter() - start < 0.03:
                side()
                calls += 1
            seconds[k].append((time.perf_counter() - start) / calls)
    return seconds


def ratio(peer, own):
    """[median, least, most] of the speed beside a peer's, turn by turn."""
    ratios = sorted(a / b for a, b in zip(peer, own))
    return [round(r, 3) for r in (median(ratios), ratios[0], ratios[-1])]


def load(name):
    path = ctypes.util.find_library(name)
    return ctypes.CDLL(path) if path else None


class Products:
    """C = A B in f32 by the libraries that are installed: run[name](n, a, b, c)."""

    def __init__(self):
        self.openblas, self.blis, self.dnnl = load('openblas'), load('blis'), load('dnnl')
        self.openmp = load('gomp')
        self.run = {}
        for name in ('openblas', 'blis'):
            if getattr(self, name):
                self.run[name] = lambda *arguments, lib=getattr(self, name): self.cblas(lib, *arguments)
        if self.dnnl:
            self.run['onednn'] = self.onednn

    def set_threads(self, threads):
        if self.openblas:
            self.openblas.openblas_set_num_threads(threads)
        if self.blis:
            self.blis.bli_thread_set_num_threads(ctypes.c_int64(threads))
        if self.openmp:
            self.openmp.omp_set_num_threads(threads)

    @staticmethod
    def cblas(lib, n, a, b, c):
        lib.cblas_sgemm(101, 111, 111, n, n, n, ctypes.c_float(1), ctypes.c_void_p(a), n,
                        ctypes.c_void_p(b), n, ctypes.c_float(0), ctypes.c_void_p(c), n)

    def onednn(self, n, a, b, c):
        size = ctypes.c_int64(n)
        plain = ctypes.c_char(b'N')
        if self.dnnl.dnnl_sgemm(plain, plain, size, size, size, ctypes.c_float(1), ctypes.c_void_p(a), size,
                                ctypes.c_void_p(b), size, ctypes.c_float(0), ctypes.c_void_p(c), size):
            sys.exit('dnnl_sgemm failed')


def load_torch():
    try:
        import torch
        return torch
    except ImportError:
        return None


def report(results, **row):
    results.append(row)
    texts = {k: '%.3f (%.2f .. %.2f)' % tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    print('  '.join(f'{k} {v}' for k, v in texts.items()), flush=True)


def measure_matmul(ox, products, torch, threads, sizes, runs, results):
    import numpy as np
    random = np.random.default_rng(0)
    products.set_threads(threads)
    for n in sizes:
        a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
        c = np.zeros((n, n), np.float32)
        p = {F32: [ox.tensor(a), ox.tensor(b)]}
        for dtype in (BF16, F16):
            p[dtype] = [ox.lib.ox_cast(t, dtype) for t in p[F32]]
        own = {name: (lambda pair=p[dtype]: ox.run('ox_matmul', *pair))
               for name, dtype in (('f32', F32), ('bf16', BF16), ('f16', F16))}
        peers = {name: (lambda run=run: run(n, a.ctypes.data, b.ctypes.data, c.ctypes.data))
                 for name, run in products.run.items()}
        for name, run in peers.items():
            c[:] = 0
            run()
            if abs(c[n // 2, n // 3] - a[n // 2] @ b[:, n // 3]) > 1e-3 * n ** 0.5:
                sys.exit(f'{name} was called in the wrong way')
        sides = {**own, **peers}
        seconds = dict(zip(sides, in_turn(list(sides.values()), runs)))
        row = {'work': f'matmul {n}', 'threads': threads,
               'GFLOP/s': round(2e-9 * n ** 3 / median(seconds['f32']), 1)}
        for name in peers:
            row[f'f32/{name}'] = ratio(seconds[name], seconds['f32'])
        if peers:
            best = min(peers, key=lambda name: median(seconds[name]))
            row['f32/best'] = row[f'f32/{best}']
        row['bf16/f32'] = ratio(seconds['f32'], seconds['bf16'])
        row['f16/f32'] = ratio(seconds['f32'], seconds['f16'])
        for name in ('bf16', 'f16') if torch else ():   # PyTorch's f32 product is one of the above
            dtype = torch.bfloat16 if name == 'bf16' else torch.float16
            ta, tb = (torch.from_numpy(x).to(dtype) for x in (a, b))
            start = time.perf_counter()
            torch.matmul(ta, tb)
            slow = time.perf_counter() - start > 0.5
            s = in_turn([own[name], lambda: torch.matmul(ta, tb)], runs if not slow else 1)
            row[name + '/torch'] = ratio(s[1], s[0])
        report(results, **row)
        for pair in p.values():
            for t in pair:
                ox.lib.ox_release(t)


def measure_views(ox, threads, sizes, runs, results):
    """Transposed and sliced operands against contiguous ones."""
    import numpy as np
    random = np.random.default_rng(0)
    for n in sizes:
        wide = ox.tensor(random.standard_normal((n, n + 64), dtype=np.float32))
        a, b = (ox.tensor(random.standard_normal((n, n), dtype=np.float32)) for _ in range(2))
        at, bt, part = ox.lib.ox_t(a), ox.lib.ox_t(b), ox.lib.ox_narrow(wide, 1, 32, n)
        pairs = {'plain': (a, b), 'a transposed': (at, b), 'b transposed': (a, bt), 'both': (at, bt),
                 'sliced': (part, b)}
        seconds = in_turn([lambda pair=pair: ox.run('ox_matmul', *pair) for pair in pairs.values()], runs)
        row = {'work': f'views {n}', 'threads': threads}
        for name, s in list(zip(pairs, seconds))[1:]:
            row[name] = ratio(seconds[0], s)
        report(results, **row)
        for t in (at, bt, part, wide, a, b):
            ox.lib.ox_release(t)


def measure_ops(ox, torch, threads, runs, results):
    import numpy as np
    count = 10_000_000
    x = np.random.default_rng(0).standard_normal(count, dtype=np.float32)
    ox_x, ox_rows = ox.tensor(x), ox.tensor(x.reshape(-1, 1000))
    ones, zeros = ox.tensor(np.ones(1000, np.float32)), ox.tensor(np.zeros(1000, np.float32))
    t_x = torch.from_numpy(x)
    t_rows, t_ones, t_zeros = t_x.reshape(-1, 1000), torch.ones(1000), torch.zeros(1000)
    functional = torch.nn.functional
    work = {
        'copy': (('ox_clone', ox_x), lambda: t_x.clone()),
        'add': (('ox_add', ox_x, ox_x), lambda: t_x + t_x),
        'relu': (('ox_relu', ox_x), lambda: torch.relu(t_x)),
        'gelu': (('ox_gelu', ox_x), lambda: functional.gelu(t_x)),
        'exp': (('ox_exp', ox_x), lambda: torch.exp(t_x)),
        'tanh': (('ox_tanh', ox_x), lambda: torch.tanh(t_x)),
        'softmax': (('ox_softmax', ox_rows, -1), lambda: torch.softmax(t_rows, -1)),
        'layer_norm': (('ox_layer_norm', ox_rows, 1, ones, zeros, 1e-5),
                       lambda: functional.layer_norm(t_rows, (1000,), t_ones, t_zeros)),
        'rms_norm': (('ox_rms_norm', ox_rows, 1, ones, 1e-5),
                     lambda: functional.rms_norm(t_rows, (1000,), t_ones, 1e-5)),
        'sum': (('ox_sum', ox_x, ox.shape(), False), lambda: t_x.sum()),
    }
    for name, (call, peer) in work.items():
        s = in_turn([lambda: ox.run(*call), peer, lambda: ox.run('ox_clone', ox_x)], runs)
        report(results, work=name, threads=threads, ms=round(1e3 * median(s[0]), 2),
               **{'of torch': ratio(s[1], s[0]),   # bytes a second, of those of a copy
                  'of copy': [round(v * (0.5 if name == 'sum' else 1), 3) for v in ratio(s[2], s[0])]})
    for t in (ox_x, ox_rows, ones, zeros):
        ox.lib.ox_release(t)


def measure_small(ox, torch, runs, results):
    """Tensors that lie in the first cache, on one thread: a turn's calls go in hundreds, so that Python's
    clock does not count. Both sides are called from Python, whose part of a call is in their times."""
    import numpy as np
    functional, release, shape = torch.nn.functional, ox.lib.ox_release, ox.shape()
    for count in (1000, 10_000):
        x = np.random.default_rng(0).standard_normal(count, dtype=np.float32)
        t_x, ox_x = torch.from_numpy(x), ox.tensor(x)
        t_rows, ox_rows = t_x.reshape(-1, 100), ox.tensor(x.reshape(-1, 100))
        t_ones, ones = torch.ones(100), ox.tensor(np.ones(100, np.float32))
        work = {
            'add': (('ox_add', ox_x, ox_x), torch.add, (t_x, t_x)),
            'mul': (('ox_mul', ox_x, ox_x), torch.mul, (t_x, t_x)),
            'gelu': (('ox_gelu', ox_x), functional.gelu, (t_x,)),
            'softmax': (('ox_softmax', ox_rows, -1), torch.softmax, (t_rows, -1)),
            'layer_norm': (('ox_layer_norm', ox_rows, 1, ones, ones, 1e-5), torch.layer_norm,
                           (t_rows, (100,), t_ones, t_ones)),
            'sum': (('ox_sum', ox_x, shape, False), torch.sum, (t_x,)),
            'to bf16': (('ox_cast', ox_x, BF16), t_x.to, (torch.bfloat16,)),
        }
        for name, ((function, *own), peer, theirs) in work.items():
            call = getattr(ox.lib, function)

            def side():
                for _ in range(100):
                    release(call(*own))

            def other():
                for _ in range(100):
                    peer(*theirs)

            s = in_turn([side, other], runs)
            report(results, work=f'{name} of {count}', threads=1, us=round(1e4 * median(s[0]), 2),
                   **{'of torch': ratio(s[1], s[0])})
        for t in (ox_x, ox_rows, ones):
            release(t)


def measure_attention(ox, torch, threads, runs, results):
    import numpy as np
    random = np.random.default_rng(0)
    for heads, tokens, dim in ((8, 2048, 64), (8, 4096, 128)):
        arrays = [random.standard_normal((1, heads, tokens, dim), dtype=np.float32) for _ in range(3)]
        tensors, desc = [ox.tensor(x) for x in arrays], AttentionDesc(causal=True)
        peer = [torch.from_numpy(x) for x in arrays]
        s = in_turn([lambda: ox.run('ox_scaled_dot_product_attention', *tensors, ctypes.byref(desc)),
                     lambda: torch.nn.functional.scaled_dot_product_attention(*peer, is_causal=True)], runs)
        flops = 2 * heads * tokens * tokens * dim
        report(results, work=f'attention {heads} x {tokens} x {dim} causal', threads=threads,
               **{'GFLOP/s': round(1e-9 * flops / median(s[0]), 1), 'of torch': ratio(s[1], s[0])})
        for t in tensors:
            ox.lib.ox_release(t)


def worker(options):
    ox = Oxtorch(build())
    isa = ox.lib.ox_isa().decode()
    if isa != options.worker:
        print(f'this processor does not run it: {isa} would be measured')
        return
    products, torch = Products(), load_torch()
    results = []
    for threads in options.threads:
        ox.lib.ox_set_threads(threads)
        if torch:
            torch.set_num_threads(threads)
        if 'matmul' in options.work:
            measure_matmul(ox, products, torch if options.torch_matmul else None, threads, options.sizes,
                           options.runs, results)
        if 'views' in options.work:
            measure_views(ox, threads, options.sizes, options.runs, results)
        if 'ops' in options.work and torch:
            measure_ops(ox, torch, threads, options.runs, results)
        if 'small' in options.work and torch and threads == 1:
            measure_small(ox, torch, options.runs, results)
        if 'attention' in options.work and torch:
            measure_attention(ox, torch, threads, max(3, options.runs // 2), results)
    keep(options.json, [dict(row, tier=isa) for row in results], ['tier', 'work', 'threads'])


def main():
    numbers = lambda text: [int(x) for x in text.split(',')]
    words = lambda text: text.split(',')
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tiers', type=words, default=list(TIERS))
    parser.add_argument('--threads', type=numbers, default=[1, 2])
    parser.add_argument('--sizes', type=numbers, default=[1024, 2048, 4096])
    parser.add_argument('--work', type=words, default=['matmul', 'views', 'ops', 'small', 'attention'])
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--torch-matmul', action='store_true',
                        help="PyTorch's bf16 and f16 matmul too (minutes on old tiers)")
    parser.add_argument('--worker', help=argparse.SUPPRESS)
    parser.add_argument('--json', default=ROOT + '/build/peers.json', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options)
    build()
    for tier in options.tiers:
        print(f'== {tier}', flush=True)
        environment = dict(os.environ, OX_ISA=tier, **TIERS[tier])
        subprocess.run([sys.executable, __file__, *sys.argv[1:], '--worker', tier], env=environment,
                       check=True)


if __name__ == '__main__':
    main()
