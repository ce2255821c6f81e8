/* SPDX-License-Identifier: MIT */
/* process.c - start times of processes, host, boot and pid namespace; fills closed descriptors */
#include "base/process.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ks_process_start(pid_t pid, uint64_t *start_out)
{
    char path[64], state = 'Z';
    unsigned long long start = 0;
    const char *rest;
    struct ks_buf b;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    ks_buf_init(&b);
    if (ks_file_read(path, &b, NULL) < 0)
        return false;
    /* The name in parentheses may hold anything, a parenthesis too: count from the last one. */
    rest = strrchr(ks_buf_text(&b), ')');
    if (!rest || sscanf(rest,
                        ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                        "%*d %llu",
                        &state, &start) != 2)
        state = 'Z';
    ks_buf_release(&b);
    if (state == 'Z' || state == 'X')
        return false;
    *start_out = start;
    return true;
}

void ks_process_host(char *host_out, size_t cap)
{
    if (gethostname(host_out, cap) < 0)
        host_out[0] = '\0';
    host_out[cap - 1] = '\0';
}

void ks_process_boot(char *boot_id_out, size_t cap)
{
    struct ks_buf b;

    ks_buf_init(&b);
    boot_id_out[0] = '\0';
    if (ks_file_read("/proc/sys/kernel/random/boot_id", &b, NULL) == 0)
        snprintf(boot_id_out, cap, "%.*s", (int)strcspn(ks_buf_text(&b), "\n"), ks_buf_text(&b));
    ks_buf_release(&b);
}

uint64_t ks_process_space(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void ks_process_fill_fds(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* The lowest free number is the one wanted. Where there is no /dev/null, any file keeps the
         * number from others. */
        if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) < 0)
            (void)open("/", O_RDONLY);
    }
}

bool ks_process_is_bare(void)
{
    const char *value = getenv("KSWEEP_BARE");

    return value != NULL && strcmp(value, "1") == 0;
}
