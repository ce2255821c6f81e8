/* SPDX-License-Identifier: MIT */
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

int ks_arch_check(const char *backend, const char *arch, struct ks_err *err)
{
    bool is_native = strcmp(arch, KS_ARCH_NATIVE) == 0;

    if (strcmp(backend, "host") == 0 && ks_arch_is_gpu(arch))
        return ks_fail(err, KS_EINVAL, "'%s' is a GPU, the job's backend is host", arch);
    if (strcmp(backend, "hip") == 0 && !is_native && !ks_arch_is_amd(arch) &&
        !ks_arch_is_emulator(arch))
        return ks_fail(err, KS_EINVAL,
                       "'%s' is no GPU of backend hip: native, a name such as gfx90a or gfx942, or "
                       "emu (the emulator)",
                       arch);
    if (strcmp(backend, "cuda") == 0 && !is_native && !ks_arch_is_nvidia(arch))
        return ks_fail(err, KS_EINVAL,
                       "'%s' is no GPU of backend cuda: native, or a name such as sm_80 or sm_90",
                       arch);
    return 0;
}
