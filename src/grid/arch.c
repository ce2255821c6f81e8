/* SPDX-License-Identifier: MIT */
/* arch.c - which architectures are AMD's, NVIDIA's, the emulator's or a CPU's */
#include "grid/arch.h"

#include <string.h>

#define DIGITS "0123456789"

bool ks_arch_is_amd(const char *arch)
{
    return strncmp(arch, "gfx", 3) == 0 && arch[3] && !arch[3 + strspn(arch + 3, DIGITS "abcdef")];
}

bool ks_arch_is_nvidia(const char *arch)
{
    size_t n = strncmp(arch, "sm_", 3) == 0 ? strspn(arch + 3, DIGITS) : 0;

    return n > 0 && arch[3 + n + (arch[3 + n] == 'a' || arch[3 + n] == 'f')] == '\0';
}

bool ks_arch_is_emulator(const char *arch)
{
    return strcmp(arch, KS_ARCH_EMULATOR) == 0;
}

bool ks_arch_is_gpu(const char *arch)
{
    return ks_arch_is_amd(arch) || ks_arch_is_nvidia(arch) || ks_arch_is_emulator(arch);
}

static bool is_cpu(const char *arch)
{
    return !ks_arch_is_gpu(arch); /* which CPUs there are is checked with their flags */
}

static bool is_amd_or_emulator(const char *arch)
{
    return ks_arch_is_amd(arch) || ks_arch_is_emulator(arch);
}

static bool is_any(const char *arch)
{
    (void)arch;
    return true;
}

static const struct {
    bool (*takes)(const char *arch);
    const char *example, *wanted;
} kinds[KS_N_ARCHS] = {
    [KS_ARCHS_CPU] = { is_cpu, "x86-64-v3", "native, or a level of x86-64 such as x86-64-v3" },
    [KS_ARCHS_AMD] = { is_amd_or_emulator, "gfx942",
                       "native, a name such as gfx90a or gfx942, or emu (the emulator)" },
    [KS_ARCHS_NVIDIA] = { ks_arch_is_nvidia, "sm_90", "native, or a name such as sm_80 or sm_90" },
    [KS_ARCHS_ANY] = { is_any, "", "" },
};

int ks_arch_check(const struct ks_backend *backend, const char *arch, struct ks_err *err)
{
    if (strcmp(arch, KS_ARCH_NATIVE) == 0 || kinds[backend->archs].takes(arch))
        return 0;
    return ks_fail(err, KS_EINVAL, "'%s' is no %s of backend %s: %s", arch,
                   ks_backend_is(backend, KS_BACKEND_GPU) ? "GPU" : "CPU", backend->name,
                   kinds[backend->archs].wanted);
}

const char *ks_arch_example(enum ks_archs archs)
{
    return kinds[archs].example;
}
