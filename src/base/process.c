/* SPDX-License-Identifier: MIT */
/* process.c - start times of processes, host, boot and pid namespace; fills closed descriptors */
#include "base/process.h"
#include "base/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SKIP_8 " %*s %*s %*s %*s %*s %*s %*s %*s "

/* One read is enough: the kernel gives the file in one piece. */
static bool read_stat(pid_t pid, char *text, size_t cap)
{
    char path[64];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, cap - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

bool ks_process_read(pid_t pid, struct ks_process *out)
{
    char text[1024], *after = NULL, *name = NULL;
    struct ks_process p = { .pid = pid };

    /* The name may hold spaces and brackets: fields are counted from the last bracket. */
    if (read_stat(pid, text, sizeof(text)))
        after = strrchr(text, ')');
    if (after)
        name = strchr(text, '(');
    if (!name || sscanf(after, ") %c %d %d" SKIP_8 SKIP_8 "%" SCNu64, &p.state, &p.parent, &p.group,
                        &p.started) != 4)
        return false;
    snprintf(p.name, sizeof(p.name), "%.*s", (int)(after - name - 1), name + 1);
    *out = p;
    return true;
}

bool ks_process_start(pid_t pid, uint64_t *start_out)
{
    struct ks_process p;

    if (!ks_process_read(pid, &p) || p.state == 'Z' || p.state == 'X')
        return false;
    *start_out = p.started;
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
