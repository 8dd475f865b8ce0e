#!/bin/sh
# build.sh - compiles shaders/*/*.comp to SPIR-V for Vulkan 1.1 and embeds it as words in
# src/vulkan/spirv/*.inc. Called by `make shaders`; needs glslangValidator, spirv-val,
# spirv-opt, spirv-dis and spirv-as ($GLSLANG, $SPIRV_VAL ... name others). With names as arguments only
# those shaders.
# `build.sh --hash` prints the hash of all that the words depend on, which `make check-shaders` compares with
# spirv/sources: shaders, what tools/tables.c has written to tables/, and this file.
set -eu
cd "$(dirname "$0")"
glslang=${GLSLANG:-glslangValidator} val=${SPIRV_VAL:-spirv-val} opt=${SPIRV_OPT:-spirv-opt}
dis=${SPIRV_DIS:-spirv-dis} as=${SPIRV_AS:-spirv-as}
out=../src/vulkan/spirv

hash_sources() {
    # shellcheck disable=SC2012 # names are plain
    cat $(ls ./*/*.comp ./*/*.glsl build.sh | LC_ALL=C sort) | cksum | tr ' ' '-'
}

if [ "${1:-}" = --hash ]; then
    hash_sources
    exit 0
fi
# optimize FROM TO. A function that is called from one place becomes part of its caller; the others stay
# functions, which are marked for the inlining pass: to inline all would make many times as much of it, and
# drivers do that once constants are known.
passes='--convert-local-access-chains --eliminate-local-single-block --eliminate-local-single-store
    --ssa-rewrite --ccp --vector-dce --eliminate-dead-inserts --redundancy-elimination --merge-blocks
    --simplify-instructions --redundancy-elimination --eliminate-dead-code-aggressive --remove-duplicates
    --unify-const --eliminate-dead-const'
optimize() {
    "$opt" --target-env=vulkan1.1 --strip-debug --eliminate-dead-functions "$1" -o "$1.used"
    "$dis" --raw-id --no-header --no-indent "$1.used" -o "$1.text"
    awk 'NR == FNR { if ($3 == "OpFunctionCall") calls[$5]++; next }
         $3 == "OpFunction" && calls[$1] > 1 { $5 = "DontInline" }
         { print }' "$1.text" "$1.text" |
        "$as" --target-env vulkan1.1 --preserve-numeric-ids - -o "$1.marked"
    # shellcheck disable=SC2086 # words
    "$opt" --target-env=vulkan1.1 --skip-validation --inline-entry-points-exhaustive \
        --eliminate-dead-functions $passes $passes --compact-ids "$1.marked" -o "$2" > "$1.messages" 2>&1 ||
        { cat "$1.messages" >&2; false; } # where it works, they tell of functions that return early
}

# The words of a module, as text. "Do not contract" is dropped where it says nothing, which is on integers,
# and so are the marks of functions.
words() {
    od -An -v -tu4 -w4 "$1" | awk '
        { text[NR - 1] = $1; word[NR - 1] = $1 + 0 } # as text: not every awk prints all 32 bits of a number
        END {
            for (code = 126; code <= 138; code += 2) whole[code] = 1 # OpSNegate, OpIAdd .. OpUDiv, OpSRem
            whole[135] = whole[137] = whole[139] = 1 # OpSDiv, OpUMod, OpSMod
            for (code = 194; code <= 200; code++) whole[code] = 1 # shifts, bits
            for (i = 5; i < NR; i += int(word[i] / 65536)) integer[word[i + 2]] = word[i] % 65536 in whole
            for (i = 0; i < NR; i += size) {
                size = i == 0 ? 5 : int(word[i] / 65536)
                if (word[i] == 5 * 65536 + 54) text[i + 3] = 0
                if (word[i] == 3 * 65536 + 71 && word[i + 2] == 42 && integer[word[i + 1]]) continue
                for (k = i; k < i + size; k++) {
                    line = line text[k] ","
                    if (length(line) > 90) { print line; line = "" }
                }
            }
            if (line != "") print line
        }'
}

mkdir -p "$out"
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
[ $# -gt 0 ] || set -- $(ls ./*/*.comp | sed 's,.*/,,; s,\.comp$,,')
for name; do
    "$glslang" --quiet --target-env vulkan1.1 -I. -S comp ./*/"$name.comp" -o "$temporary/$name.spv"
    "$val" --target-env vulkan1.1 "$temporary/$name.spv"
    optimize "$temporary/$name.spv" "$temporary/$name.small.spv"
    "$val" --target-env vulkan1.1 "$temporary/$name.small.spv"
    words "$temporary/$name.small.spv" > "$out/$name.inc"
    echo "$name: $(($(tr -cd , < "$out/$name.inc" | wc -c) * 4)) bytes"
done
hash_sources > "$out/sources"
"$glslang" --version | head -n 1 > "$out/compiler"
