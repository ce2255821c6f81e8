/* SPDX-License-Identifier: MIT */
/* procfs.c - what /proc says of processes: parents, memory, children, marks in environments */
#include "spawn/procfs.h"
#include "base/buf.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One read is enough: the kernel gives these files in one piece. Returns bytes, < 0 when gone. */
static ssize_t read_small(pid_t pid, const char *name, char *text, size_t cap)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%.32s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = read(fd, text, cap - 1);
    close(fd);
    if (n >= 0)
        text[n] = '\0';
    return n;
}

static uint64_t kib_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 10) * 1024u : 0;
}

int ks_proc_memory(pid_t pid, struct ks_proc_memory *out, struct ks_err *err)
{
    char text[4096];

    if (read_small(pid, "status", text, sizeof(text)) <= 0 || !strstr(text, "VmPeak:"))
        return ks_fail(err, KS_ENOENT, "no memory of process %d", (int)pid);
    out->peak_bytes = kib_after(text, "VmHWM:");
    out->peak_space_bytes = kib_after(text, "VmPeak:");
    out->rss_bytes = kib_after(text, "VmRSS:");
    return 0;
}

/* Appends the children of a process; false when the kernel keeps no such list. */
static bool add_children_of(pid_t pid, pid_t *list, size_t *n, size_t cap)
{
    char name[64], text[4096], *at = text, *end = text;

    snprintf(name, sizeof(name), "task/%d/children", (int)pid);
    if (read_small(pid, name, text, sizeof(text)) < 0)
        return false;
    while (*n < cap && *(at = end + strspn(end, " \n")))
        list[(*n)++] = (pid_t)strtol(at, &end, 10);
    return true;
}

uint64_t ks_proc_group_rss_by_scan(pid_t group)
{
    DIR *dir = opendir("/proc");
    struct ks_proc_memory m;
    struct ks_process p;
    struct dirent *d;
    uint64_t sum = 0;

    while (dir && (d = readdir(dir))) {
        const pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

        if (pid > 0 && ks_process_read(pid, &p) && p.group == group &&
            ks_proc_memory(pid, &m, NULL) == 0)
            sum += m.rss_bytes;
    }
    if (dir)
        closedir(dir);
    return sum;
}

uint64_t ks_proc_tree_rss(pid_t pid)
{
    pid_t list[64] = { pid };
    size_t n = 1;
    struct ks_proc_memory m;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (ks_proc_memory(list[i], &m, NULL) < 0) /* ended meanwhile */
            continue;
        sum += m.rss_bytes;
        if (!add_children_of(list[i], list, &n, sizeof(list) / sizeof(*list)) && i == 0)
            return ks_proc_group_rss_by_scan(pid); /* built without CONFIG_PROC_CHILDREN */
    }
    return sum;
}

static void add_if_child(struct ks_buf *list, pid_t pid, pid_t self)
{
    struct ks_process p;

    if (pid > 0 && ks_process_read(pid, &p) && p.parent == self)
        ks_buf_put(list, &p, sizeof(p));
}

static int give_list(struct ks_buf *list, struct ks_process **list_out, size_t *n_out,
                     struct ks_err *err)
{
    if (!ks_buf_ok(list)) {
        ks_buf_release(list);
        return ks_fail(err, KS_ENOMEM, "out of memory listing processes");
    }
    *n_out = list->len / sizeof(struct ks_process);
    *list_out = (struct ks_process *)(void *)list->data;
    return 0;
}

int ks_proc_children_by_scan(struct ks_process **list_out, size_t *n_out, struct ks_err *err)
{
    DIR *dir = opendir("/proc");
    pid_t self = getpid();
    struct dirent *d;
    struct ks_buf list;

    if (!dir)
        return ks_fail_errno(err, "/proc");
    ks_buf_init(&list);
    while ((d = readdir(dir)))
        add_if_child(&list, (pid_t)strtol(d->d_name, NULL, 10), self);
    closedir(dir);
    return give_list(&list, list_out, n_out, err);
}

int ks_proc_children(struct ks_process **list_out, size_t *n_out, struct ks_err *err)
{
    char path[64], *at, *end;
    pid_t self = getpid();
    struct ks_buf text, list;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)self);
    ks_buf_init(&text);
    ks_buf_init(&list);
    if (ks_file_read(path, &text, NULL) < 0) /* built without CONFIG_PROC_CHILDREN */
        return ks_proc_children_by_scan(list_out, n_out, err);
    for (at = (char *)text.data; *at; at = end + strspn(end, " \n"))
        add_if_child(&list, (pid_t)strtol(at, &end, 10), self);
    ks_buf_release(&text);
    return give_list(&list, list_out, n_out, err);
}

uint32_t ks_proc_mark(pid_t pid, pid_t warden)
{
    char path[64], key[64];
    struct ks_buf env;
    uint32_t mark = 0;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    n = (size_t)snprintf(key, sizeof(key), KS_PROC_MARK "%d:", (int)warden);
    ks_buf_init(&env);
    if (ks_file_read(path, &env, NULL) < 0)
        return 0;
    for (size_t at = 0; at < env.len && !mark;) {
        const char *entry = (const char *)env.data + at;
        if (strncmp(entry, key, n) == 0)
            mark = (uint32_t)strtoul(entry + n, NULL, 10);
        at += strlen(entry) + 1;
    }
    ks_buf_release(&env);
    return mark;
}

size_t ks_proc_kill_marked(pid_t warden)
{
    DIR *dir = opendir("/proc");
    struct dirent *d;
    size_t n = 0;

    if (!dir)
        return 0;
    while ((d = readdir(dir))) {
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        if (pid > 1 && ks_proc_mark(pid, warden) && kill(pid, SIGKILL) == 0)
            n++;
    }
    closedir(dir);
    return n;
}
