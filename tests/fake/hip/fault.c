/* SPDX-License-Identifier: MIT */
/* fault.c - decides whether a planted fault happens, once over all processes; lost devices, log */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool matches(const struct fake_fault *f, const struct fake_site *site)
{
    if (f->device >= 0 && f->device != site->device)
        return false;
    if (f->name[0] != '\0' && (!site->name || strcmp(f->name, site->name) != 0))
        return false;
    if (f->grid[0] > 0 && memcmp(f->grid, site->grid, sizeof f->grid) != 0)
        return false;
    if (f->image != 0 && f->image != site->image)
        return false;
    if (site->bytes < f->bytes || site->bytes > f->bytes_end)
        return false;
    return f->block == 0 || f->block == site->block;
}

/* Of all processes that come here with the i-th fault the first; true when there is no token. */
static bool claim(const struct fake_config *c, unsigned i)
{
    char path[PATH_MAX + 16];
    int fd;

    if (c->once[0] == '\0')
        return true;
    snprintf(path, sizeof path, "%s.%u", c->once, i);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

bool fake_fires(struct fake *f, enum fake_kind kind, const struct fake_site *site)
{
    struct fake_config *c = &f->config;
    bool fires = false;

    pthread_mutex_lock(&f->fault_lock);
    for (unsigned i = 0; i < c->n_faults; i++) {
        struct fake_fault *fault = &c->faults[i];

        if (fault->kind != kind || !matches(fault, site))
            continue;
        fault->n_seen++;
        if (fault->n_seen == fault->nth || (fault->is_onward && fault->n_seen > fault->nth))
            fires |= claim(c, i);
    }
    pthread_mutex_unlock(&f->fault_lock);
    return fires;
}

/* The file lists lost devices, one digit or letter each. */
static bool is_lost(const struct fake_device *d)
{
    const char *path = d->fake->config.lost;
    char mark;
    int fd = path[0] != '\0' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool found = false;

    if (fd < 0)
        return false;
    while (!found && read(fd, &mark, 1) == 1)
        found = mark == 'A' + d->index;
    close(fd);
    return found;
}

int fake_state(struct fake_device *d)
{
    if (d->sticky == 0 && is_lost(d))
        d->sticky = FAKE_EUNKNOWN;
    return d->sticky;
}

void fake_lose(struct fake_device *d)
{
    const char mark = (char)('A' + d->index);
    int fd = open(d->fake->config.lost, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, &mark, 1) != 1) {
        fprintf(stderr, "fake hip: '%s': %s\n", d->fake->config.lost, strerror(errno));
        abort();
    }
    close(fd);
}

void fake_log(struct fake *f, const char *format, ...)
{
    char line[512];
    va_list ap;
    int n, fd;

    if (f->config.log[0] == '\0')
        return;
    va_start(ap, format);
    n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    fd = open(f->config.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        fprintf(stderr, "fake hip: '%s': %s\n", f->config.log, strerror(errno));
    if (fd >= 0)
        close(fd);
}
