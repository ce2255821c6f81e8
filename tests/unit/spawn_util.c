/* SPDX-License-Identifier: MIT */
/* spawn_util.c - starts children of a warden and waits for their ends, for its tests */
#include "spawn_util.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int start_warden(void **state)
{
    struct ks_err err;

    return ks_warden_start((struct ks_warden **)state, &err);
}

int stop_warden(void **state)
{
    ks_warden_stop(*state);
    return 0;
}

struct ks_spawn spawn_of(const char *const *argv)
{
    return (struct ks_spawn){ .argv = argv, .fds = { -1, -1, -1, -1 }, .status_fd = -1 };
}

uint32_t must_spawn(struct ks_warden *w, const struct ks_spawn *what)
{
    struct ks_err err;
    uint32_t child = 0;

    if (ks_warden_spawn(w, what, &child, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_not_equal(child, 0);
    return child;
}

void must_end(struct ks_warden *w, struct ks_child_end *end)
{
    struct pollfd p = { .fd = ks_warden_fd(w), .events = POLLIN };
    uint64_t limit = ks_now_ns() + 30000 * MS;
    struct ks_err err;
    int rc;

    while ((rc = ks_warden_next(w, end, &err)) == 0 && ks_now_ns() < limit)
        (void)poll(&p, 1, 100);
    assert_int_equal(rc, 1);
}

void run_script(struct ks_warden *w, const char *script, struct ks_spawn what,
                struct ks_child_end *end)
{
    const char *argv[] = { "/bin/sh", "-c", script, NULL };
    uint32_t child;

    what.argv = argv;
    child = must_spawn(w, &what);
    must_end(w, end);
    assert_int_equal(end->child, child);
}

void assert_tail(const struct ks_child_end *end, const char *want)
{
    char have[sizeof(end->tail) + 1];

    memcpy(have, end->tail, end->n_tail);
    have[end->n_tail] = '\0';
    assert_string_equal(have, want);
}

/* Gone: no such process, or a zombie that its parent has not reaped yet. */
bool is_gone(pid_t pid)
{
    char path[64], text[256] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (!f)
        return true;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    const char *after = strrchr(text, ')');
    return n == 0 || !after || after[2] == 'Z' || after[2] == 'X';
}

void assert_gone_soon(pid_t pid)
{
    uint64_t limit = ks_now_ns() + 5000 * MS;

    assert_true(pid > 1);
    while (!is_gone(pid) && ks_now_ns() < limit)
        ks_sleep_ns(MS);
    assert_true(is_gone(pid));
}

size_t count_fds(pid_t pid)
{
    char path[64];
    size_t n = 0;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    d = opendir(path);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

struct ks_status *new_page(int *fd_out)
{
    struct ks_status *page;

    *fd_out = memfd_create("status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(*fd_out >= 0);
    assert_int_equal(ftruncate(*fd_out, sizeof(*page)), 0);
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, *fd_out, 0);
    assert_true(page != MAP_FAILED);
    page->magic = KS_STATUS_MAGIC;
    return page;
}

void free_page(struct ks_status *page, int fd)
{
    munmap(page, sizeof(*page));
    close(fd);
}

struct ks_spawn talk_open(struct talk *t, const char *const *argv)
{
    struct ks_spawn what = spawn_of(argv);

    assert_int_equal(pipe2(t->from, O_CLOEXEC), 0);
    assert_int_equal(pipe2(t->to, O_CLOEXEC), 0);
    what.fds[0] = t->from[1];
    what.fds[1] = t->to[0];
    return what;
}

pid_t talk_hear(struct talk *t)
{
    char line[32] = "";
    size_t n = 0;

    while (n + 1 < sizeof(line) && read(t->from[0], line + n, 1) == 1 && line[n] != '\n')
        n++;
    return (pid_t)strtol(line, NULL, 10);
}

void talk_go_on(struct talk *t)
{
    assert_int_equal(write(t->to[1], "\n", 1), 1);
}

void talk_close(struct talk *t)
{
    for (int i = 0; i < 2; i++) {
        close(t->from[i]);
        close(t->to[i]);
    }
}
