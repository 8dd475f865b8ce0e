#!/bin/sh
# fuzz.sh - what `make fuzz` does: builds tests/fuzz_*.c with clang and libFuzzer and runs each for
# FUZZ_SECONDS, starting from tests/corpus/NAME. New inputs go to build/fuzz/corpus/NAME, crashes to
# build/fuzz/. T="gguf npy" runs only the targets whose names contain one of the words.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${BUILD:-build}/fuzz
flags="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=undefined -I. -Itests"
seconds=${FUZZ_SECONDS:-20} T=${T:-}
failed=0
mkdir -p $dir
if ! command -v clang > /dev/null; then
    echo "fuzz: skipped (clang is not installed)"
    exit 0
fi

{ echo '#define OX_IMPLEMENTATION'
  for page in oxtorch*.h; do echo "#include \"$page\""; done; } > $dir/impl.c
newest=$(ls -t $dir/impl.o oxtorch*.h 2> /dev/null | head -n 1)
if [ "$newest" != $dir/impl.o ]; then
    # shellcheck disable=SC2086 # a list of flags
    clang $flags -fsanitize=fuzzer-no-link,address,undefined -c $dir/impl.c -o $dir/impl.o || exit 1
fi

selected() {
    [ -z "$T" ] && return 0
    for word in $T; do
        case "$1" in *"$word"*) return 0 ;; esac
    done
    return 1
}

for source in tests/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    [ -f "$source" ] && [ "$name" != main ] && selected "$name" || continue
    # shellcheck disable=SC2086
    if ! clang $flags -fsanitize=fuzzer,address,undefined "$source" $dir/impl.o -lm -lpthread \
        -o "$dir/$name"; then
        echo "fuzz: $name FAILED (does not build)"
        failed=1
        continue
    fi
    mkdir -p "$dir/corpus/$name"
    set -- "$dir/corpus/$name"
    [ -d "tests/corpus/$name" ] && set -- "$@" "tests/corpus/$name"
    if "$dir/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$dir/$name-" "$@" > "$dir/$name.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$name.log")
        echo "fuzz: $name ok ($runs runs in $seconds s)"
    else
        echo "fuzz: $name FAILED"
        tail -n 40 "$dir/$name.log"
        failed=1
    fi
done
exit $failed
