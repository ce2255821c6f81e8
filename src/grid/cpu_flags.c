/* SPDX-License-Identifier: MIT */
/* cpu_flags.c - the CPU's flags, of this host or of a level of x86-64 */
#include "grid/cpu_flags.h"

#include "base/cpu_level.h"
#include "base/file.h"
#include "base/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char native[] = "native";

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

static int refuse(const char *arch, struct ks_err *err)
{
    const char *names[KS_CPU_LEVELS + 2] = { native };
    char known[128] = "native";

    for (size_t i = 0; i < KS_CPU_LEVELS; i++) {
        const size_t at = strlen(known);
        names[i + 1] = ks_cpu_levels[i].name;
        snprintf(known + at, sizeof(known) - at, ", %s", names[i + 1]);
    }
    const char *near = ks_nearest(arch, names);
    return ks_fail(err, KS_EINVAL, "unknown arch '%s' for backend host%s%s%s; known: %s", arch,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'" : "", known);
}

int ks_cpu_flags_read(const char *arch, struct ks_buf *flags_out, struct ks_err *err)
{
    size_t i = 0;

    if (strcmp(arch, native) == 0)
        return read_native(flags_out, err);
    while (i < KS_CPU_LEVELS && strcmp(arch, ks_cpu_levels[i].name) != 0)
        i++;
    if (i == KS_CPU_LEVELS)
        return refuse(arch, err);
    ks_buf_clear(flags_out);
    for (size_t k = 0; k <= i; k++)
        ks_buf_printf(flags_out, "%s%s", k ? " " : "", ks_cpu_levels[k].flags);
    return ks_buf_ok(flags_out) ? 0 : ks_fail(err, KS_ENOMEM, "no memory for CPU flags");
}
