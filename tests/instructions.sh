#!/bin/sh
# instructions.sh OBJECT - reads the implementation's instructions: each function may have those of its tier
# alone, and what belongs to no tier those of every x86-64. Functions that are called where the processor says
# that it has more (SSSE3, F16C, VNNI, BF16, AMX) are known by their names. Kernels that differ by a constant
# share their source: compiled without optimization they hold each other's instructions.
set -u
object=$1
if ! command -v objdump > /dev/null || ! objdump -f "$object" 2> /dev/null | grep -q x86-64; then
    echo "skip instructions: no objdump, or no object for x86-64"
    echo "suite instructions: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
objdump -d --no-show-raw-insn "$object" | awk '
BEGIN { # instructions that a tier below their own may not have
    ssse3 = "^(addsub|h(add|sub)p|lddqu|mov(d|sl|sh)dup|" \
            "p(shufb|maddubsw|alignr|abs|hadd|hsub|sign|mulhrsw))"
    sse4 = "^(p(mov[sz]x|m(in|ax)(sb|sd|uw|ud)|mulld|muldq|blend|cmpeqq|cmpgtq|extr[bdq]|insr[bdq]|" \
           "ackusdw|test)|(blend|round|dp)[vps]|insertps|extractps|popcnt|crc32|aes|pclmul)"
    avx2 = "^v(fn?m(add|sub)|pbroadcast|broadcasti|perm[dq]|permp[sd]|gather|pgather|ps[lr][al]v|" \
           "inserti|extracti)"
    avx512 = "^v(p(popcnt|shld|shrd|madd52|multishift|(compress|expand)[bw]|perm[it]?2?b$))"
}
function no(what) {
    if (!((name, op) in told)) print "failed: " name " has " op ", which is " what
    told[name, op] = bad[name] = 1
}
/^[0-9a-f]+ <.*>:$/ {
    name = $2
    gsub(/[<>:]|\..*/, "", name)
    tier = name ~ /^oxi_(sse2|avx|avx2|avx512)_/ ? name : "c"
    sub(/^oxi_/, "", tier)
    sub(/_.*/, "", tier)
    seen[name] = 1
    count[tier]++
    next
}
{
    op = $2 == "{vex}" ? $3 : $2
    vex = op ~ /^v/ && op !~ /^ver[rw]$/
    if (tier == "c" || tier == "sse2") {
        if (vex) no("AVX")
        extras = tier == "sse2" && name ~ /_dot_extra_|_codes_bytes$|_dot_repacked_|_unpack_rows_/
        if (op ~ ssse3 && !extras) no("SSE3 or SSSE3")
        if (op ~ sse4) no("SSE4")
    }
    if (tier == "avx") {
        if (op ~ avx2) no("AVX2 or FMA")
        if ($0 ~ /%ymm/ && op ~ /^vp/ && op !~ /^vperm|^vptest/) no("AVX2")
        if (op ~ /^vcvtp(h2ps|s2ph)/ && name !~ /_f16c$/) no("F16C")
    }
    if (tier != "avx512" && $0 ~ /%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])/) no("AVX-512")
    if (op ~ /^vpdp/ && name !~ /_vnni$|_codes_dot$|_dot_extra_/) no("VNNI")
    if (op ~ /^(tdp|tile|ldtile|sttile)/ && name !~ /_tiles(_|$)/) no("AMX")
    if (op ~ /bf16/ && name !~ /_tiles$|_bf16/) no("AVX512-BF16")
    if (op ~ /^v.*[ps]h$/ && op !~ /^vcvtps2ph/) no("AVX512-FP16")
    if (op ~ avx512) no("not in AVX512 F BW DQ VL")
}
END {
    for (name in seen) if (name in bad) failed++; else passed++
    for (tier in count) tiers++
    if (tiers < 5 || count["sse2"] < 100 || count["avx512"] < 100) {
        print "failed: tiers are missing"
        failed++
    }
    printf "suite instructions: %d passed, %d failed, 0 skipped\n", passed, failed
}'
