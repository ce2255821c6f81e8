/* SPDX-License-Identifier: MIT */
/* cpu_flags.c - the CPU's flags, of this host or of a level of x86-64 */
#include "grid/cpu_flags.h"

#include "base/file.h"
#include "base/opt.h"

#include <stdlib.h>
#include <string.h>

/* Source: System V ABI, AMD64 supplement, section 3.1.1; words as Linux prints them. */
#define LEVEL_1 "fpu cx8 cmov mmx fxsr sse sse2 syscall lm"
#define LEVEL_2 LEVEL_1 " cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2"
#define LEVEL_3 LEVEL_2 " avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
#define LEVEL_4 LEVEL_3 " avx512f avx512bw avx512cd avx512dq avx512vl"

static const char *const arch_names[] = { "native",    "x86-64",    "x86-64-v2",
                                          "x86-64-v3", "x86-64-v4", NULL };
static const char *const arch_flags[] = { NULL, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_4 };

static int set_text(struct ks_buf *out, const char *text, size_t n, struct ks_err *err)
{
    ks_buf_clear(out);
    ks_buf_put(out, text, n);
    return ks_buf_ok(out) ? 0 : ks_fail(err, KS_ENOMEM, "no memory for CPU flags");
}

int ks_cpu_flags_parse(const char *cpuinfo, struct ks_buf *flags_out, struct ks_err *err)
{
    static const char *const keys[] = { "flags", "Features" };
    const char *line = cpuinfo;

    while (line && *line) {
        const char *end = line + strcspn(line, "\n");
        const char *colon = memchr(line, ':', (size_t)(end - line));

        for (size_t i = 0; colon && i < sizeof keys / sizeof keys[0]; i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0 &&
                strspn(line + strlen(keys[i]), " \t") == (size_t)(colon - line) - strlen(keys[i]))
                return set_text(flags_out, colon + 1, (size_t)(end - colon - 1), err);
        line = *end ? end + 1 : NULL;
    }
    return ks_fail(err, KS_EFORMAT, "no line 'flags' or 'Features' in the CPU's description");
}

static int read_native(struct ks_buf *flags_out, struct ks_err *err)
{
    const char *given = getenv("KSWEEP_CPU_FLAGS");
    struct ks_buf text;
    int rc;

    if (given)
        return set_text(flags_out, given, strlen(given), err);
    ks_buf_init(&text);
    rc = ks_file_read("/proc/cpuinfo", &text, err);
    if (rc == 0)
        rc = ks_cpu_flags_parse(ks_buf_text(&text), flags_out, err);
    ks_buf_release(&text);
    return rc < 0 ? ks_err_context(err, rc, "/proc/cpuinfo") : 0;
}

int ks_cpu_flags_read(const char *arch, struct ks_buf *flags_out, struct ks_err *err)
{
    const char *near;

    if (strcmp(arch, arch_names[0]) == 0)
        return read_native(flags_out, err);
    for (size_t i = 1; arch_names[i]; i++)
        if (strcmp(arch, arch_names[i]) == 0)
            return set_text(flags_out, arch_flags[i], strlen(arch_flags[i]), err);
    near = ks_nearest(arch, arch_names);
    return ks_fail(err, KS_EINVAL,
                   "unknown arch '%s' for backend host%s%s%s; known: native, x86-64, x86-64-v2, "
                   "x86-64-v3, x86-64-v4",
                   arch, near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
}

bool ks_cpu_flags_has(const char *flags, const char *flag)
{
    size_t n = strlen(flag);

    while (*flags) {
        size_t word;

        flags += strspn(flags, " \t\n");
        word = strcspn(flags, " \t\n");
        if (word == n && n > 0 && strncmp(flags, flag, n) == 0)
            return true;
        flags += word;
    }
    return false;
}
