/* tn_blis_select: tells BLIS 0.9 which kernels to take where it would not find out by itself. */
#include "run/gemm_context.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <string.h>

/* ---- what BLIS sees ------------------------------------------------------------------- */

static bool is_vendor(const char *name) {
    unsigned a, b, c, d;
    char seen[12];
    if (!__get_cpuid(0, &a, &b, &c, &d)) return false;
    memcpy(seen, &b, 4);
    memcpy(seen + 4, &d, 4);
    memcpy(seen + 8, &c, 4);
    return memcmp(seen, name, sizeof seen) == 0;
}

static unsigned family(void) {
    unsigned a = 0, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const unsigned base = a >> 8 & 15;
    return base == 15 ? base + (a >> 20 & 255) : base;
}

static void brand(char name[49]) {
    unsigned word[12] = {0};
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2], &word[4 * i + 3])) break;
    memcpy(name, word, 48);
    name[48] = '\0';
}

/* Whether BLIS learns from a Xeon's name how many units for whole vectors it has. */
static bool known_xeon(const char *name) {
    static const int models[][2] = {{2100, 2199}, {2200, 2299}, {3100, 3199}, {3200, 3299}, {4100, 4199}, {4200, 4299},
                                    {5100, 5199}, {5200, 5299}, {6100, 6199}, {6200, 6299}, {8100, 8199}};
    if (strstr(name, "Platinum") || strstr(name, "Silver") || strstr(name, "Bronze")) return true;
    const char *at = strstr(name, "Gold");
    if (!at) at = strchr(name, 'W');
    if (!at) return strchr(name, 'D') != NULL;
    at = at[0] == 'W' && at[1] == '-' ? at + 1 : strchr(at, ' ');
    const int model = at ? atoi(at + 1) : 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (model >= models[i][0] && model <= models[i][1]) return true;
    return false;
}

bool tn_i_blis_knows(bool intel, bool amd, unsigned its_family, const char *name, bool avx512) {
    if (amd) return its_family == 0x15 || its_family == 0x17 || its_family == 0x19;
    if (!intel) return false;
    if (!avx512 || strstr(name, "Intel(R) Core(TM)")) return true;
    return strstr(name, "Intel(R) Xeon(R)") && known_xeon(name);
}

/* ---- choice ----------------------------------------------------------------------------- */

tn_blis_choice tn_blis_select(void) {
    if (getenv("BLIS_ARCH_TYPE")) return TN_BLIS_USER;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return TN_BLIS_KEPT;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    char name[49], number[16];
    brand(name);
    if (tn_i_blis_knows(is_vendor("GenuineIntel"), is_vendor("AuthenticAMD"), family(), name, avx512))
        return TN_BLIS_KEPT;
    const int arch = tn_i_blis_number(avx512);
    if (arch < 0) return TN_BLIS_KEPT;
    (void)snprintf(number, sizeof number, "%d", arch);
    return setenv("BLIS_ARCH_TYPE", number, 0) == 0 ? TN_BLIS_SELECTED : TN_BLIS_KEPT;
}

#else

tn_blis_choice tn_blis_select(void) { return getenv("BLIS_ARCH_TYPE") ? TN_BLIS_USER : TN_BLIS_KEPT; }

#endif
