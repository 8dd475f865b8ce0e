/* tiers.c - prints the instruction set tiers that this machine can run, one a line, lowest first.
 * The words are the values of the environment variable OX_ISA; tests/run.sh runs the tests that say OX_TIERS
 * once for each. It asks the compiler's own cpuid helper, not the library's, so that one checks the other. */
#include <stdio.h>

#if defined(__arm__) && defined(__linux__)
#include <sys/auxv.h>
#endif

int main(void) {
    puts("c");
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse2")) return 0;
    puts("sse2");
    if (!__builtin_cpu_supports("avx")) return 0;
    puts("avx");
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    puts("avx2");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        puts("avx512");
    else
        return 0;
#if defined(__linux__) && defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 11
    if (__builtin_cpu_supports("amx-bf16") || __builtin_cpu_supports("amx-int8")) puts("amx");
#endif
#elif defined(__aarch64__)
    puts("neon");
#elif defined(__arm__) && defined(__linux__)
    if (getauxval(AT_HWCAP) & (1ul << 12)) puts("neon"); /* HWCAP_NEON */
#endif
    return 0;
}
