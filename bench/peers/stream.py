#!/usr/bin/env python3
"""Measures streams against the disk and against llama.cpp under a memory limit.

    python3 bench/peers/stream.py --model 7b.gguf [--file numbers.raw] [--folder /tmp] [--ram 1024,2048]
        [--work disk,file,model,whole,hidden,peer] [--limits 2048,3072] [--prompt 128] [--new 4]
        [--runs 2] [--llama "llama-bench"] [--threads 2] [--json build/stream.json]

Works, each with lines of its own:
  disk    what fio reads of the model and of --file (made when missing, 8 GiB of f32): direct, io_uring, the
          best of blocks of 256k, 1M, 8M and 4 or 16 in flight; it is measured anew around what follows
  file    a sum, a relu and a relu to the spill folder over --file beside that (spill: beside fio writing too)
  model   new tokens with each budget: bytes that came from the disk a second / fio; the most memory
  whole   new tokens and a prompt with a budget that covers the model / the same model mapped into memory
  hidden  a prompt with each budget, once the memory is filled: seconds / the longer of disk (bytes / fio) and
          compute (in memory)
  peer    in a memory cgroup of each limit (MiB): OxTorch with a budget of the limit less 160 MiB / llama.cpp
          (mmap, no repacking), new tokens and a prompt; the file leaves the page cache before each run
Sides take turns (A B A B ...), a process each; ratios are medians of turns. Above 1, OxTorch is faster.
Wants fio (Debian package), root for the cgroup, and llama.cpp's llama-bench for `peer`.
"""
import argparse
import array
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHAPES = [(block, depth) for block in ('256k', '1M', '8M') for depth in (4, 16)]
MIB = 1 << 20


def build():
    """Path of bench_stream, built if it is missing or older than the headers, with io_uring if it can be."""
    program, source = ROOT + '/build/peers_stream', ROOT + '/bench/bench_stream.c'
    inputs = [source] + [ROOT + '/oxtorch%s.h' % part for part in ('', '_llm', '_stream')]
    if os.path.exists(program) and os.path.getmtime(program) >= max(map(os.path.getmtime, inputs)):
        return program
    os.makedirs(ROOT + '/build', exist_ok=True)
    command = ['cc', '-O2', '-DOX_IMPLEMENTATION', '-I' + ROOT, source, '-o', program, '-lm', '-lpthread']
    if subprocess.run(command + ['-DOX_USE_LIBURING', '-luring'], stderr=subprocess.DEVNULL).returncode:
        subprocess.run(command, check=True)
    return program


def numbers(path, gibibytes=8):
    if not os.path.exists(path):
        block = array.array('f', [0.5, -1, 0.25, -0.125] * (1 << 18)).tobytes()
        with open(path + '.tmp', 'wb') as file:
            for _ in range(gibibytes * 1024 * MIB // len(block)):
                file.write(block)
            os.fsync(file.fileno())
        os.rename(path + '.tmp', path)


def forget(path):
    """What the page cache has of a file goes."""
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


# ---- the disk ----

def fio(path, block, depth, seconds=2, write=None):
    """Bytes a second read of a file; with write, the name of a file that is written to at the same time."""
    shared = ['--direct=1', '--ioengine=io_uring', '--bs=' + block, '--iodepth=%d' % depth, '--time_based',
              '--runtime=%d' % seconds]
    command = ['fio', '--output-format=json', '--name=read', '--rw=read', '--readonly', '--filename=' + path]
    if write:
        command.remove('--readonly')
        shared += ['--name=write', '--rw=write', '--size=8g', '--filename=' + write] + shared
    text = subprocess.run(command + shared, check=True, capture_output=True, text=True).stdout
    jobs = json.loads(text)['jobs']
    return [(job['read']['bw'] + job['write']['bw']) * 1024 for job in jobs]


class Disk:
    """The best that fio reads of one file: shapes are found once, later turns repeat the best two."""

    def __init__(self, path):
        self.path, self.shapes = path, SHAPES

    def measure(self):
        rates = {shape: fio(self.path, *shape)[0] for shape in self.shapes}
        self.shapes = sorted(rates, key=rates.get)[-2:]
        return max(rates.values())


# ---- OxTorch ----

def inside(limit):
    """A function that puts the process into a memory cgroup of `limit` bytes; None for no limit."""
    if not limit:
        return None
    second = not os.path.isdir('/sys/fs/cgroup/memory')
    folder = '/sys/fs/cgroup/%soxtorch-bench' % ('' if second else 'memory/')
    os.makedirs(folder, exist_ok=True)
    with open(folder + ('/memory.max' if second else '/memory.limit_in_bytes'), 'w') as file:
        file.write(str(limit))

    def enter():
        with open(folder + '/cgroup.procs', 'w') as file:
            file.write(str(os.getpid()))
    return enter


def ours(program, options, path, *words, limit=0):
    """Lines of bench_stream as dictionaries, and the most memory."""
    command = [program, path, '--threads', str(options.threads), '--spill', options.folder, *map(str, words)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          preexec_fn=inside(limit)).stdout
    lines = [line.split() for line in text.splitlines()]
    memory = next(int(words[1]) for words in lines if words[0] == 'memory')
    return [dict(zip(['what', 'count'] + words[2::2], words[:2] + list(map(float, words[3::2]))))
            for words in lines if len(words) > 2], memory


def steady(lines):
    """Figures of the new tokens behind the first one, which fills the memory, summed up."""
    later = [line for line in lines if line['what'] == 'new'][1:]
    return {'seconds': sum(line['seconds'] for line in later), 'read': sum(line['read'] for line in later),
            'count': len(later)}


def theirs(options, work, limit):
    command = options.llama.split() + ['-m', options.model, '-t', str(options.threads), '-r', '1']
    command += ['-o', 'json', '-lm', 'mmap', '--repack', '0', *work]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          preexec_fn=inside(limit)).stdout
    return json.loads(text)[0]['avg_ts']


# ---- the works ----

class Report:
    def __init__(self, path):
        self.path, self.rows = path, []

    def say(self, work, what, ratio, wanted, **facts):
        self.rows.append(dict(work=work, what=what, ratio=ratio, wanted=wanted, **facts))
        text = ', '.join('%s %.3f' % fact for fact in facts.items())
        print('%-7s %-34s %6.2f  wanted %-7s %s' % (work, what, ratio, wanted, text), flush=True)

    def save(self):
        os.makedirs(os.path.dirname(self.path) or '.', exist_ok=True)
        with open(self.path, 'w') as file:
            json.dump(self.rows, file, indent=1)


def work_disk(program, options, report):
    for path in (options.model, options.file):
        for block, depth in SHAPES:
            print('disk    %s %s x %d: %.0f MB/s' % (os.path.basename(path), block, depth,
                                                     fio(path, block, depth)[0] / 1e6), flush=True)


def in_turn(disk, runs, measure):
    """Rates of `measure` over the mean of what fio reads before and after each: the ratios, and all rates."""
    ratios, rates, before = [], [], disk.measure()
    for _ in range(runs):
        rate = measure()
        after = disk.measure()
        ratios.append(rate / ((before + after) / 2))
        rates.append((rate, (before + after) / 2))
        before = after
    return statistics.median(ratios), rates


def say_rates(report, work, what, wanted, result):
    ratio, rates = result
    report.say(work, what, ratio, wanted, ours_MB=statistics.median(a for a, _ in rates) / 1e6,
               fio_MB=statistics.median(b for _, b in rates) / 1e6)


def work_file(program, options, report):
    disk = Disk(options.file)
    for work in ('sum', 'relu'):
        def rate():
            line = ours(program, options, options.file, '--work', work, '--ram', options.ram[0])[0][0]
            return line['read'] / line['seconds']
        say_rates(report, 'file', work + ', bytes read / fio', '>= 0.9', in_turn(disk, options.runs, rate))
    ratios = []
    other = options.folder + '/oxtorch-fio.tmp'
    for _ in range(options.runs):
        line = ours(program, options, options.file, '--work', 'spill', '--ram', options.ram[0])[0][0]
        best = max(sum(fio(options.file, block, 16, 4, other)) for block in ('1M', '8M'))
        os.remove(other)
        ratios.append(((line['read'] + line['written']) / line['seconds'], best))
    say_rates(report, 'file', 'relu to the disk, both ways / fio', '>= 0.9',
              (statistics.median(a / b for a, b in ratios), ratios))


def work_model(program, options, report):
    disk = Disk(options.model)
    for ram in options.ram:
        most = []

        def rate():
            lines, memory = ours(program, options, options.model, '--ram', ram, '-n', options.new + 1)
            most.append(memory)
            total = steady(lines)
            return total['read'] / total['seconds']
        say_rates(report, 'model', 'new, %d MiB, bytes read / fio' % ram, '>= 0.9',
                  in_turn(disk, options.runs, rate))
        report.say('model', 'most memory / (%d + 64 MiB)' % ram, max(most) / ((ram + 64) * MIB), '<= 1',
                   MiB=max(most) / MIB)


def work_whole(program, options, report):
    ram = os.path.getsize(options.model) // MIB + 1024
    new, prompt = [], []
    words = ['-p', options.prompt, '-n', options.new + 2]
    for _ in range(options.runs):
        sides = []
        for budget in (ram, 0):
            if not budget:
                ours(program, options, options.model, '--ram', 0, '-n', 1)  # into the page cache
            lines = ours(program, options, options.model, '--ram', budget, *words)[0]
            total = steady(lines)
            sides.append((total['seconds'] / total['count'], lines[1]['seconds']))
        new.append(sides[1][0] / sides[0][0])
        prompt.append(sides[1][1] / sides[0][1])
    report.say('whole', 'new, in memory / stream', statistics.median(new), '>= 1', seconds=sides[0][0])
    report.say('whole', 'second prompt, in memory / stream', statistics.median(prompt), '>= 1',
               seconds=sides[0][1])


def work_hidden(program, options, report):
    disk = Disk(options.model)
    for ram in options.ram:
        ratios = []
        for _ in range(options.runs):
            rate = disk.measure()
            line = ours(program, options, options.model, '--ram', ram, '-p', options.prompt)[0][1]
            rate = (rate + disk.measure()) / 2
            ours(program, options, options.model, '--ram', 0, '-n', 1)
            alone = ours(program, options, options.model, '--ram', 0, '-p', options.prompt)[0][1]['seconds']
            forget(options.model)
            ratios.append((line['seconds'], line['read'] / rate, alone))
        report.say('hidden', 'prompt %d, %d MiB, seconds / longer' % (options.prompt, ram),
                   statistics.median(wall / max(both) for wall, *both in ratios), '<= 1.1',
                   wall=ratios[-1][0], disk=ratios[-1][1], compute=ratios[-1][2])


def beside_llama(program, options, limit, what):
    """Tokens a second of both sides in a group of `limit` MiB; the file is in no page cache before."""
    count = options.new if what == 'new' else options.prompt
    words = ['-n', count + 1] if what == 'new' else ['-p', count]
    forget(options.model)
    lines = ours(program, options, options.model, '--ram', limit - 160, *words, limit=limit * MIB)[0]
    total = steady(lines) if what == 'new' else {'seconds': lines[0]['seconds'], 'count': count}
    forget(options.model)
    work = ['-p', '0', '-n', str(count)] if what == 'new' else ['-p', str(count), '-n', '0', '--no-warmup']
    return total['count'] / total['seconds'], theirs(options, work, limit * MIB)


def work_peer(program, options, report):
    for limit in options.limits:
        for what, wanted in (('new', '>= 3'), ('prompt', '>= 1.5')):
            turns = [beside_llama(program, options, limit, what) for _ in range(options.runs)]
            report.say('peer', '%s, %d MiB, OxTorch / llama.cpp' % (what, limit),
                       statistics.median(a / b for a, b in turns), wanted,
                       ours=statistics.median(a for a, _ in turns),
                       theirs=statistics.median(b for _, b in turns))


WORKS = {'disk': work_disk, 'file': work_file, 'model': work_model, 'whole': work_whole,
         'hidden': work_hidden, 'peer': work_peer}


def whole_numbers(text):
    return [int(word) for word in text.split(',')]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--model', required=True)
    parser.add_argument('--folder', default='/tmp')
    parser.add_argument('--file')
    parser.add_argument('--work', default=','.join(WORKS))
    parser.add_argument('--ram', type=whole_numbers, default=[1024, 2048])
    parser.add_argument('--limits', type=whole_numbers, default=[2048, 3072])
    parser.add_argument('--prompt', type=int, default=128)
    parser.add_argument('--new', type=int, default=4)
    parser.add_argument('--runs', type=int, default=2)
    parser.add_argument('--threads', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('--llama', default='llama-bench')
    parser.add_argument('--json', default=ROOT + '/build/stream.json')
    options = parser.parse_args()
    options.file = options.file or options.folder + '/oxtorch-numbers.raw'
    if {'disk', 'file'} & set(options.work.split(',')):
        numbers(options.file)
    program, report = build(), Report(options.json)
    for work in options.work.split(','):
        WORKS[work](program, options, report)
        report.save()


if __name__ == '__main__':
    sys.exit(main())
