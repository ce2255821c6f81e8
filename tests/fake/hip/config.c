/* SPDX-License-Identifier: MIT */
/* config.c - reads KSWEEP_FAKE_HIP: sizes, times, and the faults that are to happen */
#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *what, const char *text)
{
    fprintf(stderr, "fake hip: KSWEEP_FAKE_HIP: %s: '%s'\n", what, text);
    return -1;
}

/* A count with an optional K, M or G. */
static bool parse_size(const char *s, uint64_t *out)
{
    char *end = NULL;
    uint64_t v = strtoull(s, &end, 0);

    if (!isdigit((unsigned char)*s))
        return false;
    if (*end != '\0') {
        const char *unit = strchr("KMG", *end);

        if (!unit || end[1] != '\0')
            return false;
        v <<= 10 * (unit - "KMG" + 1);
    }
    *out = v;
    return true;
}

/* LEAST or LEAST-MOST */
static bool parse_range(char *s, uint64_t *least_out, uint64_t *most_out)
{
    char *most = strchr(s, '-');

    *most_out = UINT64_MAX;
    if (most)
        *most++ = '\0';
    return parse_size(s, least_out) && (!most || parse_size(most, most_out));
}

static bool parse_filter(char *s, struct fake_fault *f)
{
    char end;

    if (sscanf(s, "grid=%ux%ux%u%c", &f->grid[0], &f->grid[1], &f->grid[2], &end) == 3)
        return f->grid[0] > 0;
    if (sscanf(s, "block=%u%c", &f->block, &end) == 1)
        return f->block > 0;
    if (sscanf(s, "device=%d%c", &f->device, &end) == 1)
        return f->device >= 0;
    if (strncmp(s, "image=", 6) == 0 && isxdigit((unsigned char)s[6])) {
        char *rest = NULL;

        f->image = strtoull(s + 6, &rest, 16);
        return *rest == '\0' && f->image != 0;
    }
    if (strncmp(s, "bytes=", 6) == 0)
        return parse_range(s + 6, &f->bytes, &f->bytes_end);
    if (strncmp(s, "name=", 5) == 0 && strlen(s + 5) < sizeof f->name) {
        memcpy(f->name, s + 5, strlen(s + 5) + 1);
        return true;
    }
    return false;
}

static bool parse_kind(const char *s, enum fake_kind *out)
{
    static const char *const names[] = {
#define X(name, text) [FAKE_##name] = text,
        FAKE_FAULTS(X)
#undef X
    };

    for (int i = 0; i < FAKE_N_KINDS; i++)
        if (strcmp(s, names[i]) == 0) {
            *out = (enum fake_kind)i;
            return true;
        }
    return false;
}

/* KIND@N[-][:FILTER]... */
static bool parse_fault(char *s, struct fake_fault *out)
{
    struct fake_fault f = { .device = -1, .bytes_end = UINT64_MAX };
    char *filters = strchr(s, ':'), *at = strchr(s, '@'), *end = NULL;

    if (filters)
        *filters++ = '\0';
    if (!at)
        return false;
    *at++ = '\0';
    if (!parse_kind(s, &f.kind) || !isdigit((unsigned char)*at))
        return false;
    f.nth = strtoul(at, &end, 10);
    f.is_onward = *end == '-';
    if (f.nth == 0 || *(end + f.is_onward) != '\0')
        return false;
    while (filters) {
        char *next = strchr(filters, ':');

        if (next)
            *next++ = '\0';
        if (!parse_filter(filters, &f))
            return false;
        filters = next;
    }
    *out = f;
    return true;
}

static bool parse_faults(char *s, struct fake_config *c)
{
    while (s) {
        char *next = strchr(s, '+');

        if (next)
            *next++ = '\0';
        if (c->n_faults == FAKE_MAX_FAULTS || !parse_fault(s, &c->faults[c->n_faults]))
            return false;
        c->n_faults++;
        s = next;
    }
    return true;
}

static bool copy_text(char *out, size_t cap, const char *s)
{
    if (*s == '\0' || strlen(s) >= cap)
        return false;
    memcpy(out, s, strlen(s) + 1);
    return true;
}

static bool parse_item(const char *key, char *value, struct fake_config *c)
{
    uint64_t n = 0;

    if (strcmp(key, "devices") == 0) {
        if (!parse_size(value, &n) || n > FAKE_MAX_DEVICES)
            return false;
        c->n_devices = (unsigned)n;
        return true;
    }
    if (strcmp(key, "mem") == 0)
        return parse_size(value, &c->mem_bytes);
    if (strcmp(key, "shared") == 0)
        return parse_size(value, &c->shared_bytes);
    if (strcmp(key, "arch") == 0)
        return copy_text(c->arch, sizeof c->arch, value);
    if (strcmp(key, "once") == 0)
        return copy_text(c->once, sizeof c->once, value);
    if (strcmp(key, "lost") == 0)
        return copy_text(c->lost, sizeof c->lost, value);
    if (strcmp(key, "log") == 0)
        return copy_text(c->log, sizeof c->log, value);
    if (strcmp(key, "fault") == 0)
        return parse_faults(value, c);
    return false;
}

int fake_config_parse(const char *text, struct fake_config *out)
{
    struct fake_config c = { .n_devices = 1,
                             .mem_bytes = (uint64_t)1 << 30,
                             .shared_bytes = 64 << 10,
                             .arch = "emu:sramecc+:xnack-" };
    char *copy = strdup(text), *s = copy;
    int rc = 0;

    while (s && *s && rc == 0) {
        char *next = strchr(s, ','), *value = strchr(s, '=');

        if (next)
            *next++ = '\0';
        if (!value || (next && value > next))
            rc = complain("no KEY=VALUE", s);
        else {
            *value++ = '\0';
            if (!parse_item(s, value, &c))
                rc = complain("not understood", s);
        }
        s = next;
    }
    for (unsigned i = 0; i < c.n_faults && rc == 0; i++)
        if (c.faults[i].kind == FAKE_LOST && c.lost[0] == '\0')
            rc = complain("a lost device without lost=FILE", text);
    free(copy);
    if (rc == 0)
        *out = c;
    return rc;
}

unsigned fake_choose(const char *list, unsigned *index, unsigned n)
{
    unsigned was[FAKE_MAX_DEVICES], n_kept = 0;

    memcpy(was, index, n * sizeof *was);
    while (isdigit((unsigned char)*list) && n_kept < n) {
        char *end = NULL;
        unsigned long k = strtoul(list, &end, 10);
        bool is_twice = false;

        for (unsigned i = 0; i < n_kept && k < n; i++)
            is_twice |= index[i] == was[k];
        if (k >= n || is_twice)
            break;
        index[n_kept++] = was[k];
        list = *end == ',' ? end + 1 : "";
    }
    return n_kept;
}
