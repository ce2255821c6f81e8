/* SPDX-License-Identifier: MIT */
/* claim.c - symbolic links that say who compiles what. */
#include "build/claim.h"

#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_S 86400u

static void path_of(const char *cache_dir, const struct ks_claim *c, char out[700])
{
    char hex[33];
    ks_hex128(c->key, hex);
    snprintf(out, 700, "%.600s/claims/%s.%" PRIu32, cache_dir, hex, c->generation);
}

static void builders_of(const char *cache_dir, char out[620])
{
    snprintf(out, 620, "%.600s/builders", cache_dir);
}

/* "KEY.GENERATION" */
static bool read_name(const char *name, struct ks_claim *out)
{
    char hex[33], *end;
    if (strlen(name) < 34 || name[32] != '.')
        return false;
    snprintf(hex, sizeof(hex), "%.32s", name);
    const unsigned long generation = strtoul(name + 33, &end, 10);
    out->generation = (uint32_t)generation;
    return *end == '\0' && generation > 0 && generation < UINT32_MAX && ks_unhex128(hex, &out->key);
}

static struct ks_id128 read_builder(const char *cache_dir, const struct ks_claim *c)
{
    static const char before[] = "../builders/";
    char path[700], to[80];
    struct ks_id128 id = { 0, 0 };
    path_of(cache_dir, c, path);
    const ssize_t n = readlink(path, to, sizeof(to) - 1);
    to[n > 0 ? n : 0] = '\0';
    if (strncmp(to, before, sizeof(before) - 1) != 0 || !ks_unhex128(to + sizeof(before) - 1, &id))
        return (struct ks_id128){ 0, 0 };
    return id;
}

static const struct ks_claim_row *find_row(const struct ks_claim_list *l, struct ks_id128 key)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (ks_id128_eq(l->rows[i].claim.key, key))
            return &l->rows[i];
    return NULL;
}

static int add_claim(struct ks_claim_list *l, const struct ks_claim *c, struct ks_err *err)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct ks_claim *known = &l->rows[i].claim;
        if (!ks_id128_eq(known->key, c->key))
            continue;
        if (c->generation > known->generation)
            known->generation = c->generation;
        return 0;
    }
    if (l->n == l->cap) {
        const uint32_t cap = l->cap ? 2 * l->cap : 32;
        struct ks_claim_row *more = realloc(l->rows, cap * sizeof(*more));
        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory for the claims of a build cache");
        l->rows = more;
        l->cap = cap;
    }
    l->rows[l->n++] = (struct ks_claim_row){ .claim = *c };
    return 0;
}

int ks_claim_list(const char *cache_dir, struct ks_claim_list *out, struct ks_err *err)
{
    char path[700];
    struct ks_claim_list l = { .n = 0 };
    struct ks_claim c;
    struct dirent *e;
    int rc = 0;
    snprintf(path, sizeof(path), "%.600s/claims", cache_dir);
    DIR *d = opendir(path);
    if (!d && errno != ENOENT)
        return ks_fail_path(err, "'%s'", path);
    while (d && rc == 0 && (e = readdir(d)))
        if (read_name(e->d_name, &c))
            rc = add_claim(&l, &c, err);
    if (d)
        closedir(d);
    for (uint32_t i = 0; i < l.n; i++)
        l.rows[i].builder = read_builder(cache_dir, &l.rows[i].claim);
    if (rc < 0) {
        ks_claim_list_release(&l);
        return rc;
    }
    *out = l;
    return 0;
}

void ks_claim_list_release(struct ks_claim_list *l)
{
    free(l->rows);
    *l = (struct ks_claim_list){ .n = 0 };
}

static bool is_held(const char *cache_dir, const struct ks_claim_row *row,
                    struct ks_builder_watch *w, uint64_t now_ns)
{
    char builders[620];
    builders_of(cache_dir, builders);
    return row && !ks_builder_is_gone(builders, row->builder, w, now_ns);
}

bool ks_claim_is_held(const char *cache_dir, const struct ks_claim_list *l, struct ks_id128 key,
                      struct ks_builder_watch *w, uint64_t now_ns)
{
    return is_held(cache_dir, find_row(l, key), w, now_ns);
}

/* 1 = made, 0 = it was there. */
static int make_link(const char *cache_dir, const struct ks_claim *c, struct ks_id128 builder,
                     struct ks_err *err)
{
    char path[700], dir[700], to[80] = "../builders/";
    ks_hex128(builder, to + strlen(to));
    path_of(cache_dir, c, path);
    if (symlink(to, path) == 0)
        return 1;
    if (errno == ENOENT) { /* the first claim of this cache */
        ks_path_dir(dir, sizeof(dir), path);
        int rc = ks_mkdirs(dir, 0700, err);
        if (rc < 0)
            return rc;
        if (symlink(to, path) == 0)
            return 1;
    }
    if (errno != EEXIST)
        return ks_fail_path(err, "'%s'", path);
    /* A server that was asked twice because its first answer was lost says that it is there. */
    return ks_id128_eq(read_builder(cache_dir, c), builder);
}

int ks_claim_take(const char *cache_dir, const struct ks_claim_list *l, struct ks_id128 key,
                  const struct ks_builder *me, struct ks_builder_watch *w, uint64_t now_ns,
                  struct ks_claim *out, struct ks_err *err)
{
    const struct ks_claim_row *row = find_row(l, key);
    const struct ks_claim c = { key, row ? row->claim.generation + 1 : 1 };
    if (is_held(cache_dir, row, w, now_ns))
        return 0;
    const int rc = make_link(cache_dir, &c, me->id, err);
    if (rc > 0)
        *out = c;
    return rc < 0 ? ks_err_context(err, rc, "build cache") : rc;
}

void ks_claim_release(const char *cache_dir, struct ks_claim *c)
{
    char path[700];
    struct ks_claim at = { .key = c->key };
    /* The highest last: until then nobody takes the unit for unclaimed. */
    for (at.generation = 1; at.generation <= c->generation; at.generation++) {
        path_of(cache_dir, &at, path);
        (void)unlink(path);
    }
    c->generation = 0;
}

void ks_claim_sweep(const char *cache_dir)
{
    struct ks_claim_list l = { .n = 0 };
    const uint64_t now_s = ks_realtime_ns() / 1000000000u;
    if (ks_claim_list(cache_dir, &l, NULL) < 0)
        return;
    for (uint32_t i = 0; i < l.n; i++) {
        char path[700];
        struct stat st;
        path_of(cache_dir, &l.rows[i].claim, path);
        if (lstat(path, &st) == 0 && (uint64_t)st.st_mtime + OLD_S < now_s &&
            !is_held(cache_dir, &l.rows[i], NULL, 0))
            ks_claim_release(cache_dir, &l.rows[i].claim);
    }
    ks_claim_list_release(&l);
}
