/* SPDX-License-Identifier: MIT */
/* host_info.c - the CPU's model, architecture level, last-level cache and machine id */
#include "device/host_info.h"

#include "base/cpu_level.h"
#include "base/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void ks_host_cpuinfo_value(const char *cpuinfo, const char *key, char *out, size_t cap)
{
    size_t n_key = strlen(key);

    out[0] = '\0';
    for (const char *line = cpuinfo; line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        const char *colon = memchr(line, ':', (size_t)(end - line));
        const char *after = line + n_key;

        if (colon != NULL && strncmp(line, key, n_key) == 0 &&
            (*after == '\t' || *after == ' ' || *after == ':')) {
            const char *from = colon + 1;

            while (from < end && isspace((unsigned char)*from))
                from++;
            snprintf(out, cap, "%.*s", (int)(end - from), from);
            return;
        }
        line = *end == '\n' ? end + 1 : NULL;
    }
}

void ks_host_cpu_list(const cpu_set_t *set, char *out, size_t cap)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        const char *comma = used > 0 ? "," : "";
        size_t last = i;
        int n;

        if (!CPU_ISSET(i, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        if (last == i)
            n = snprintf(out + used, cap - used, "%s%zu", comma, i);
        else
            n = snprintf(out + used, cap - used, "%s%zu-%zu", comma, i, last);
        if (n < 0 || (size_t)n >= cap - used)
            return;
        used += (size_t)n;
        i = last;
    }
}

uint64_t ks_host_size_from(const char *text)
{
    char *end = NULL;
    unsigned long long v = strtoull(text, &end, 10);

    if (*end == 'K')
        return (uint64_t)v << 10;
    return *end == 'M' ? (uint64_t)v << 20 : (uint64_t)v;
}

static uint64_t last_level_cache(int cpu)
{
    uint64_t best = 0;

    for (int i = 0; i < 8; i++) {
        char path[96], text[32];
        uint64_t bytes;

        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, i);
        ks_file_first_line(path, text, sizeof(text));
        if (text[0] == '\0')
            break;
        bytes = ks_host_size_from(text);
        best = bytes > best ? bytes : best;
    }
    return best;
}

/* The kernel makes only what is read. */
void ks_host_cpuinfo_read(char *out, size_t cap)
{
    int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = 0;

    do {
        used += (size_t)n;
        n = fd < 0 || used + 1 >= cap ? 0 : read(fd, out + used, cap - 1 - used);
    } while (n > 0);
    out[used] = '\0';
    if (fd >= 0)
        close(fd);
}

void ks_host_info_read(int cpu, struct ks_host_info *out)
{
    char cpuinfo[8192], flags[4096];
    struct utsname u = { 0 };

    memset(out, 0, sizeof(*out));
    uname(&u);
    ks_host_cpuinfo_read(cpuinfo, sizeof(cpuinfo));
    ks_host_cpuinfo_value(cpuinfo, "model name", out->model, sizeof(out->model));
    ks_host_cpuinfo_value(cpuinfo, "flags", flags, sizeof(flags));
    snprintf(out->arch, sizeof(out->arch), "%.31s",
             strcmp(u.machine, "x86_64") == 0 ? ks_cpu_level_of(flags) : u.machine);
    ks_file_first_line("/etc/machine-id", out->machine_id, sizeof(out->machine_id));
    out->cache_bytes = last_level_cache(cpu);
}
