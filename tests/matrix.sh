#!/bin/sh
# matrix.sh - what `make matrix` does: compiles the headers every way a user might, warnings being errors.
# Compilers, C11 and C++17, every OX_NO_ macro, each header alone and all together, two translation units,
# foreign processors (run under qemu-user), MinGW, a big-endian machine. `--short` is the part that `make
# test` runs; `--emulated` is `make emulate`: the tests as on older processors, where a tier that runs an
# instruction too many dies (hours). Each case prints `matrix: WHAT ok`, `FAILED` (with the start of its
# messages) or `skipped (why)`.
set -u

# ---- one case: matrix.sh --job FILE; line 1 of the file is its name, the rest a shell script ----

if [ "${1:-}" = --job ]; then
    name=$(head -n 1 "$2" | sed 's/^# //')
    if sh -e "$2" > "$2.log" 2>&1; then
        echo ok > "$2.result"
        echo "matrix: $name ok"
    else
        echo FAILED > "$2.result"
        { echo "matrix: $name FAILED"
          head -n 25 "$2.log" && sed '1,25d' "$2.log" | tail -n 10; } > "$2.report"
        cat "$2.report"
    fi
    rm -rf "$2".[oi]* "$2".exe* "$2".tmp
    exit 0
fi

cd "$(dirname "$0")/.." || exit 1
short= emulated=
[ "${1:-}" = --short ] && short=1
[ "${1:-}" = --emulated ] && emulated=1
dir=${BUILD:-build}/matrix
rm -rf $dir
mkdir -p $dir/src $dir/jobs
strict="-Wall -Wextra -Wpedantic -Wshadow -Werror -I. -Itests"
macros="OX_NO_THREADS OX_NO_STDIO OX_NO_SIMD OX_NO_AVX512 OX_NO_AVX2 OX_NO_AVX OX_NO_NEON OX_NO_IQ OX_STATIC"
macros="$macros OX_NO_LINALG OX_NO_FFT OX_NO_SPECIAL"
tried=0 skipped=0

have() {
    command -v "$1" > /dev/null
}

# job NAME SCRIPT: in SCRIPT, @ is a file name of the job's own, less its ending
job() {
    tried=$((tried + 1))
    file=$(printf '%s/jobs/%04d' $dir $tried)
    { printf '# %s\n' "$1"; printf '%s\n' "$2" | sed "s|@|$file|g"; } > "$file"
}

skip() {
    skipped=$((skipped + 1))
    echo "matrix: $1 skipped ($2)"
}

# ---- sources ----

pages=$(ls oxtorch*.h | LC_ALL=C sort)
includes() {
    for page in $1; do echo "#include \"$page\""; done
}

both() { # both NAME PAGES: NAME_decl.c and NAME_impl.c
    { includes "$2"; echo 'typedef int oxi_not_empty;'; } > "$dir/src/$1_decl.c"
    { echo '#define OX_IMPLEMENTATION'; includes "$2"; } > "$dir/src/$1_impl.c"
}

both all "$pages"
both reversed "$(echo "$pages" | LC_ALL=C sort -r)"
for page in $pages; do both "${page%.h}" "$page"; done
echo 'typedef int oxi_not_empty;' > $dir/src/empty.c

# A program that takes the address of every public function: each must be defined exactly once.
{
    includes "$pages"
    echo '#include <stdio.h>'
    echo 'typedef void (*any_function)(void);'
    echo 'static const any_function every[] = {'
    ${CC:-cc} -I. -E -P $dir/src/all_decl.c | tr '\n' ' ' | tr ';{}' '\n\n\n' |
        sed -n 's/^ *extern [^(]*[ *]\(ox_[a-z0-9_]*\) *(.*/    (any_function)\1,/p' | LC_ALL=C sort -u
    cat << 'END'
    0};
int main(void) {
    size_t i, count = sizeof every / sizeof *every - 1;
    for (i = 0; i < count; i++)
        if (!every[i]) return 1;
    printf("%d public functions\n", (int)count);
    return 0;
}
END
} > $dir/src/link.c

# ---- cases ----

compile() { # compile NAME "COMPILER STANDARD" OPTION SOURCE [MORE]
    job "$1" "$2 $3 $strict ${5:-} -c $dir/src/$4 -o @.o"
}

two_units() { # two_units COMPILER STANDARD
    job "two translation units, $1" "$1 $2 -O0 $strict -c $dir/src/all_impl.c -o @.o1
$1 $2 -O0 $strict -c $dir/src/link.c -o @.o2
$1 @.o1 @.o2 -lm -lpthread -o @.exe
@.exe"
}

# Names and linkage do not hang on the tiers: without AVX there is less to compile.
two_static() {
    # -O1 drops what the first one, without a caller, need not keep
    job "OX_STATIC in two translation units, $1" "$1 $2 -O1 $strict -DOX_STATIC -DOX_NO_AVX \\
    -c $dir/src/all_impl.c -o @.o1
$1 $2 -O0 $strict -DOX_STATIC -DOX_NO_AVX -DOX_IMPLEMENTATION -DOX_NO_VOLK_IMPLEMENTATION \\
    -c $dir/src/link.c -o @.o2
$1 @.o1 @.o2 -lm -lpthread -o @.exe
@.exe"
}

renamed() { # renamed COMPILER: the header includes itself, and others include it, whatever its name
    job "oxtorch.h renamed, $1" "mkdir -p @.tmp/deps && cp oxtorch.h @.tmp/deps/tensors.h
cp oxtorch_stream.h @.tmp/deps/streams.h
cp oxtorch_llm.h @.tmp/deps/models.h
printf '#define OX_TORCH_FILE \"tensors.h\"\\n#define OX_IMPLEMENTATION\\n' > @.tmp/a.c
for header in streams models tensors; do printf \"#include \\\"deps/\$header.h\\\"\\n\" >> @.tmp/a.c; done
printf 'int main(void) { return ox_isa()[0] == 0; }\\n' >> @.tmp/a.c
$1 -O0 -DOX_NO_AVX -Wall -Wextra -Werror @.tmp/a.c -lm -lpthread -o @.exe
@.exe"
}

# The implementation and the tests that say OX_QEMU, compiled and run: run_tests WHAT "COMPILER FLAGS" LINK
# EMULATOR
run_tests() {
    script="mkdir -p @.tmp
export OX_TEST_TMP=@.tmp # its own: other processors run beside it
${4:+export OX_TEST_EMULATED=1}
$2 -O1 $strict -c $dir/src/all_impl.c -o @.o1"
    for test in tests/test_*.c $dir/src/link.c; do
        [ $test = $dir/src/link.c ] || head -n 10 "$test" 2> /dev/null | grep -q OX_QEMU || continue
        script="$script
$2 -O1 -I. -Itests $test @.o1 $3 -lm -lpthread -o @.exe
echo '$test:'
$4 @.exe"
    done
    job "$1" "$script"
}

foreign() { # foreign WHAT COMPILER EMULATOR [PROCESSOR]
    if ! have "$2"; then
        skip "$1" "$2 is not installed"
    elif ! have "$3"; then
        skip "$1, run" "$3 is not installed"
        compile "$1, compiled" "$2 -std=gnu11" -O1 all_impl.c
    else
        run_tests "$1, compiled and run" "$2 -std=gnu11" -static "timeout 3600 $3 ${4:+-cpu $4}"
    fi
}

milliseconds() { # milliseconds RUNS COMMAND...: prints the best of so many runs
    runs=$1 best=
    shift
    while [ "$runs" -gt 0 ]; do
        start=$(date +%s%N)
        "$@" || return 1
        spent=$((($(date +%s%N) - start) / 1000000))
        if [ -z "$best" ] || [ $spent -lt "$best" ]; then best=$spent; fi
        runs=$((runs - 1))
    done
    echo "$best"
}

if [ -n "$emulated" ]; then
    for processor in qemu64 Nehalem SandyBridge Haswell; do
        foreign "x86-64 as $processor" "${CC:-gcc}" qemu-x86_64 $processor
    done
    for processor in cortex-a53 max; do
        foreign "aarch64 as $processor" aarch64-linux-gnu-gcc qemu-aarch64 $processor
    done
elif [ -n "$short" ]; then
    two_units "${CC:-cc}" -std=c11
    two_static "${CC:-cc}" -std=gnu11
    renamed "${CC:-cc}"
    if have "${CXX:-g++}"; then
        compile "C++17 -O0" "${CXX:-g++} -x c++ -std=c++17" -O0 all_impl.c
    else
        skip "C++17" "${CXX:-g++} is not installed"
    fi
else
    for compiler in gcc clang; do
        if ! have $compiler; then
            skip "$compiler" "not installed"
            continue
        fi
        more=
        [ $compiler = clang ] && more="-Werror=ignored-attributes"
        for standard in c11 gnu11; do
            for level in -O0 -O2; do
                compile "$compiler $standard $level" "$compiler -std=$standard" $level all_impl.c $more
            done
        done
        compile "$compiler, all headers in reverse" "$compiler -std=gnu11" -O0 reversed_impl.c
        for page in $pages; do
            compile "$compiler, $page alone" "$compiler -std=c11" -O0 "${page%.h}_impl.c"
            compile "$compiler, $page alone, declarations" "$compiler -std=c11" -O0 "${page%.h}_decl.c"
        done
        for macro in $macros; do
            compile "$compiler $macro -O0" "$compiler -std=gnu11" -O0 all_impl.c -D$macro
            compile "$compiler $macro -O2" "$compiler -std=gnu11" -O2 all_impl.c -D$macro
        done
        two_units $compiler -std=gnu11
        two_static $compiler -std=gnu11
        renamed $compiler
    done
    for compiler in g++ clang++; do
        if ! have $compiler; then
            skip "$compiler" "not installed"
            continue
        fi
        for level in -O0 -O2; do
            compile "$compiler C++17 $level" "$compiler -x c++ -std=c++17" $level all_impl.c
        done
        compile "$compiler C++11 -O0" "$compiler -x c++ -std=c++11" -O0 all_impl.c
        for page in $pages; do
            compile "$compiler, $page alone, declarations" "$compiler -x c++ -std=c++17" -O0 \
                "${page%.h}_decl.c"
        done
        for macro in $macros; do
            compile "$compiler $macro -O0" "$compiler -x c++ -std=c++17" -O0 all_impl.c -D$macro
        done
    done
    if have g++; then
        job "C implementation, C++ caller" "gcc -std=gnu11 -O0 $strict -c $dir/src/all_impl.c -o @.o1
g++ -x c++ -std=c++17 -O0 $strict -c $dir/src/link.c -o @.o2
g++ @.o1 @.o2 -lm -lpthread -o @.exe
@.exe"
    fi
    for macro in OX_NO_THREADS OX_NO_SIMD; do
        run_tests "$macro, compiled and run" "${CC:-cc} -std=gnu11 -D$macro" "" ""
    done
    if have gcc && [ "$(uname -m)" = x86_64 ]; then
        run_tests "gcc -masm=intel, compiled and run" "gcc -std=gnu11 -masm=intel" "" ""
    fi
    foreign "aarch64" aarch64-linux-gnu-gcc qemu-aarch64
    foreign "32-bit arm" arm-linux-gnueabihf-gcc qemu-arm
    if have x86_64-w64-mingw32-gcc; then
        job "MinGW, linked" "x86_64-w64-mingw32-gcc -std=gnu11 -O0 $strict -c $dir/src/all_impl.c -o @.o1
x86_64-w64-mingw32-gcc -std=gnu11 -O0 $strict $dir/src/link.c @.o1 -static -lm -lpthread -o @.exe"
    else
        skip MinGW "x86_64-w64-mingw32-gcc is not installed"
    fi
    if have s390x-linux-gnu-gcc; then
        compile "s390x (big-endian)" "s390x-linux-gnu-gcc -std=gnu11" -O0 all_impl.c
    else
        skip "s390x (big-endian)" "s390x-linux-gnu-gcc is not installed"
    fi
fi

# ---- run them, as many at once as there are processors ----

jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
find $dir/jobs -type f | LC_ALL=C sort | xargs -n 1 -P "$jobs" sh tests/matrix.sh --job
ok=$(cat $dir/jobs/*.result | grep -c ok)
failed=$((tried - ok))

# ---- how long it takes: printed, not judged ----

if [ -z "$short$emulated" ]; then
    for compiler in gcc clang; do
        have $compiler || continue
        build="$compiler -std=gnu11 -I. -o $dir/time.o -c $dir/src"
        whole=$(milliseconds 1 $build/all_impl.c -O2) &&
            echo "matrix: the implementation compiles in $whole ms" \
                "($compiler -O2; it should stay under 20000 ms)"
        with=$(milliseconds 5 $build/all_decl.c) && without=$(milliseconds 5 $build/empty.c) &&
            echo "matrix: the declarations take $((with - without)) ms" \
                "($compiler; they should stay under 50 ms)"
    done
fi

echo "suite matrix: $ok passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
