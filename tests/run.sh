#!/bin/sh
# run.sh - what `make test` (and asan, tsan) does: build, run everything this machine can run, add up.
# A suite is anything that prints `suite NAME: N passed, N failed, N skipped`; skips say why on a line
# `skip NAME: why`. Suites run side by side, one more than there are processors (JOBS=n), each with a folder
# of its own for files. The last line is `N passed, N failed, N skipped`; the exit code is 0 when nothing
# failed.
set -u
cd "$(dirname "$0")/.." || exit 1

with_limit() { # with_limit SECONDS COMMAND...
    if command -v timeout > /dev/null; then timeout -k 5 "$@"; else shift && "$@"; fi
}

# ---- one suite: run.sh --job FILE, whose lines are its label, its limit in seconds and its command ----

if [ "${1:-}" = --job ]; then
    file=$2 log=$2.log
    label=$(sed -n 1p "$file") limit=$(sed -n 2p "$file")
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done << END
$(sed 1,2d "$file")
END
    export OX_TEST_TMP="$OX_TEST_TMP/$(basename "$file")" # where a test may write files
    mkdir -p "$OX_TEST_TMP"
    start=$(date +%s)
    with_limit "$limit" "$@" > "$log" 2>&1 < /dev/null
    code=$?
    seconds=$(($(date +%s) - start))
    times > "$file.times" # the second line is that of what it started, as 1m2.5s 0m0.5s
    spent=$(sed -n 2p "$file.times" | tr 'ms' '  ' | awk '{ printf "%.0f", 60 * ($1 + $3) + $2 + $4 }')
    # shellcheck disable=SC2046 # three numbers
    set -- $(awk '/^suite .*: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ {
                      p += $(NF - 5); f += $(NF - 3); s += $(NF - 1); seen = 1 }
                  END { if (seen) print p + 0, f + 0, s + 0 }' "$log")
    if [ $# != 3 ]; then
        set -- 0 1 0
        echo "$label: ended early with code $code$([ $code = 124 ] && echo " (over $limit s)")" >> "$log"
    elif [ $code != 0 ] && [ "$2" = 0 ]; then
        set -- "$1" 1 "$3"
        echo "$label: all checks passed, but the exit code is $code" >> "$log"
    fi
    {
        [ "$2" = 0 ] || grep -v '^suite ' "$log" | tail -n 60 | sed 's/^/    /'
        echo "suite $label: $1 passed, $2 failed, $3 skipped ($seconds s, processors $spent s)"
    } > "$file.said"
    cat "$file.said"
    echo "$1 $2 $3" > "$file.result"
    rm -rf "$OX_TEST_TMP"
    exit 0
fi

MAKE=${MAKE:-make} BUILD=${BUILD:-build} SAN=${SAN:-} DEBUG=${DEBUG:-} T=${T:-}
export BUILD SAN DEBUG CC="${CC:-cc}" CXX="${CXX:-g++}"
asan="detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1"
export ASAN_OPTIONS="${ASAN_OPTIONS:-$asan}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-suppressions=tests/tsan.supp}"
limit=${TEST_TIMEOUT:-600}
passed=0 failed=0 skipped=0
logs=$BUILD/logs
rm -rf "$logs"
mkdir -p "$logs/jobs" "$BUILD/tmp"
: > "$logs/skips"
: > "$logs/failures"
export OX_TEST_TMP="$BUILD/tmp"
# A software GPU compiles each shader once for all suites, and for the next `make test`.
export MESA_SHADER_CACHE_DIR="${MESA_SHADER_CACHE_DIR:-$(cd "$BUILD" && pwd)/shaders}"
# Without LLVM's passes: most shaders run for less time than those take. Where rows are long they pay.
shader_passes=${GALLIVM_PERF:-}
export GALLIVM_PERF="${GALLIVM_PERF:-nopt}"

# add LABEL PASSED FAILED SKIPPED SECONDS: one line, and the totals
add() {
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    echo "suite $1: $2 passed, $3 failed, $4 skipped ($5 s)"
    [ "$3" = 0 ] || echo "$1" >> "$logs/failures"
}

# suite LABEL COMMAND...: a job for later
jobs=0
suite() {
    jobs=$((jobs + 1))
    label=$1
    shift
    printf '%s\n' "$label" "$limit" "$@" > "$(printf '%s/jobs/%04d' "$logs" $jobs)"
}

head_says() {
    head -n 10 "$1" | grep -qw "$2"
}

# ---- headers ----

if [ "$DEBUG" != 1 ]; then
    if "$MAKE" -s --no-print-directory check-headers; then add headers 1 0 0 0; else add headers 0 1 0 0; fi
fi

# ---- build ----

start=$(date +%s)
processors=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
parallel=
case "${MAKEFLAGS:-}" in *jobserver*) ;; *) parallel=-j$processors ;; esac
"$MAKE" -k --no-print-directory $parallel programs T="$T" > "$logs/build.log" 2>&1
code=$?
grep -v '^cc ' "$logs/build.log" | head -n 100
took=$(($(date +%s) - start))
if [ $code = 0 ]; then add build 1 0 0 $took; else add build 0 1 0 $took; fi

# ---- tests ----

selected() {
    [ -z "$T" ] && return 0
    for word in $T; do
        case "$1" in tests/test_*"$word"*) return 0 ;; esac
    done
    return 1
}

# Suites that run under the Vulkan layer, and where there is one there alone, with all their checks.
under_layer="vulkan_share vulkan_llm" validated=
[ -n "$SAN$DEBUG$T" ] || ! tests/validate.sh --there || validated=$under_layer

for source in tests/test_*.c; do
    [ -f "$source" ] && selected "$source" || continue
    [ "$SAN" != tsan ] || head_says "$source" OX_TSAN || continue
    name=$(basename "$source" .c)
    name=${name#test_}
    program=$BUILD/tests/test_$name
    case " $validated " in *" $name "*) continue ;; esac
    if [ ! -x "$program" ]; then
        echo "    $source did not build"
        add "$name" 0 1 0 0
    elif [ "$SAN" = tsan ]; then # the sanitizer of gcc 12 wants addresses that are not shuffled
        if setarch -R true 2> /dev/null; then set -- setarch -R; else set --; fi
        suite "$name" "$@" "$program"
    elif head_says "$source" OX_TIERS; then
        for tier in $("$BUILD/tiers" || echo c); do
            suite "$name [$tier]" env OX_ISA="$tier" "$program"
            ! head_says "$source" OX_BASE || suite "$name [$tier-base]" env OX_ISA="$tier-base" "$program"
        done
    else
        case $name in vulkan*) limit=${VULKAN_TIMEOUT:-1800} ;; esac
        suite "$name" "$program"
        limit=${TEST_TIMEOUT:-600}
    fi
done

# ---- the suites of ops on other devices: the same programs, every call on a stream and on Vulkan ----

if [ -z "$SAN" ] && "$MAKE" -s --no-print-directory check-shaders; then add shaders 1 0 0 0
elif [ -z "$SAN" ]; then add shaders 0 1 0 0; fi
if [ -z "$SAN" ]; then
    for source in tests/test_*.c; do
        name=$(basename "$source" .c)
        name=${name#test_}
        program=$BUILD/tests/test_$name
        selected "$source" && [ -x "$program" ] || continue
        ! head_says "$source" OX_VULKAN_ASKED ||
            suite "$name [vulkan is asked]" env OX_MIRROR=asked "$program"
        head_says "$source" OX_VULKAN || continue
        suite "$name [stream]" env OX_MIRROR=stream "$program"
        limit=${VULKAN_TIMEOUT:-1800}
        ops=$(sed -n '1,10s/.*OX_VULKAN(\([a-z0-9_ ]*\)).*/\1/p' "$source" | tr '\n' ' ')
        passes=$GALLIVM_PERF
        [ "$name" != softmax_norm ] || passes=$shader_passes
        suite "$name [vulkan]" env GALLIVM_PERF="$passes" OX_MIRROR=vulkan \
            OX_MIRROR_SHORT="${ops:-*}" "$program"
        limit=${TEST_TIMEOUT:-600}
    done
fi

# ---- GPU suites with what lies between two barriers from its end to its beginning (OXI_VK_BACKWARDS) ----

if [ -z "$SAN" ]; then
    limit=${VULKAN_TIMEOUT:-1800}
    for name in vulkan_families vulkan_fuse vulkan_llm vulkan_experts; do
        program=$BUILD/tests/test_$name
        selected tests/test_$name.c && [ -x "$program" ] || continue
        suite "$name [backwards]" env OX_VULKAN_ORDER=backwards "$program"
    done
    limit=${TEST_TIMEOUT:-600}
fi

# ---- what the Vulkan layer says of two short suites; `make vulkan-validate` has the long ones ----

# (no file of that name: T=validation selects it as if there were one)
if [ -z "$SAN$DEBUG" ] && selected tests/test_vulkan_validation.c; then
    limit=${VULKAN_TIMEOUT:-1800}
    # shellcheck disable=SC2086 # words
    suite validation tests/validate.sh --short $(printf "$BUILD/tests/test_%s " $under_layer)
    limit=${TEST_TIMEOUT:-600}
fi

# ---- fuzz targets, on their corpus ----

for source in tests/fuzz_*.c; do
    [ -f "$source" ] && [ "$source" != tests/fuzz_main.c ] && [ -z "$T" ] && [ "$SAN" != tsan ] || continue
    name=$(basename "$source" .c)
    if [ ! -x "$BUILD/tests/$name" ]; then
        echo "    $source did not build"
        add "$name" 0 1 0 0
        continue
    fi
    set --
    for file in tests/corpus/"${name#fuzz_}"/*; do
        [ -f "$file" ] && set -- "$@" "$file"
    done
    suite "$name" "$BUILD/tests/$name" "$@"
done

# ---- examples, README, compile matrix: what a user does ----

if [ -z "$T" ] && [ "$SAN" != tsan ]; then
    suite examples tests/examples.sh
fi
if [ -z "$T$SAN" ] && [ "$DEBUG" != 1 ]; then
    limit=${TEST_TIMEOUT:-600}
    suite instructions tests/instructions.sh "$BUILD/impl.o"
    suite fresh tests/fresh.sh
    suite readme tests/readme.sh
    suite matrix tests/matrix.sh --short
fi

# ---- run them: what takes longest first ----

# By the kind of suite: those of streams wait for disks most of the time, a software GPU driver compiles
# thousands of pipelines. What waits leaves room for one more.
order() {
    for job in "$logs"/jobs/????; do
        [ -f "$job" ] || continue
        case $(sed -n 1p "$job") in
            stream | stream_faults) echo "1 $job" ;;
            "matmul [vulkan]" | "attention [vulkan]" | "softmax_norm [vulkan]" | matrix) echo "2 $job" ;;
            *"[vulkan]"* | vulkan* | validation) echo "3 $job" ;;
            *"[stream]"* | stream* | readme | instructions | examples) echo "4 $job" ;;
            *) echo "5 $job" ;;
        esac
    done | LC_ALL=C sort | cut -d ' ' -f 2
}
order | xargs -n 1 -P "${JOBS:-$((processors + 1))}" tests/run.sh --job

for job in "$logs"/jobs/????; do
    [ -f "$job" ] || continue
    label=$(sed -n 1p "$job")
    # shellcheck disable=SC2046 # three numbers
    set -- $(cat "$job.result" 2> /dev/null || echo 0 1 0)
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    [ "$2" = 0 ] || echo "$label" >> "$logs/failures"
    sed -n "s/^skip \(.*: .*\)/  $(echo "$label" | tr '|&\\' '   '): \1/p" "$job.log" >> "$logs/skips"
    sed -n 's/^\(matrix: .*\) skipped (\(.*\))$/  \1: \2/p' "$job.log" >> "$logs/skips"
done

# ---- the closing lines ----

if [ -s "$logs/skips" ]; then
    echo "skipped:"
    cat "$logs/skips"
fi
if [ -s "$logs/failures" ]; then
    echo "failed: $(tr '\n' ' ' < "$logs/failures")(logs in $logs)"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
