/* SPDX-License-Identifier: MIT */
/* store_place.c - a directory for two runs and a file, for tests of src/store */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "store_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int place_make(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    if (!p)
        return -1;
    temp_dir_make(p->root, sizeof(p->root));
    snprintf(p->dir[0], sizeof(p->dir[0]), "%s/a", p->root);
    snprintf(p->dir[1], sizeof(p->dir[1]), "%s/b", p->root);
    snprintf(p->file, sizeof(p->file), "%s/results.h5", p->root);
    *state = p;
    return ks_mkdirs(p->dir[0], 0777, NULL) + ks_mkdirs(p->dir[1], 0777, NULL);
}

int place_remove(void **state)
{
    struct place *p = *state;
    int rc = ks_remove_tree(p->root, NULL);

    free(p);
    return rc;
}

void place_gather(const struct place *p, size_t n_dirs, struct ks_store_totals *t)
{
    const char *dirs[] = { p->dir[0], p->dir[1] };
    struct ks_err err = { 0 };
    int rc = ks_store_gather(dirs, n_dirs, p->file, NULL, t, &err);

    if (rc < 0)
        fail_msg("%s", err.text);
}

struct ks_store_file *place_open(const struct place *p)
{
    struct ks_store_file *f = NULL;
    struct ks_err err = { 0 };

    if (ks_store_open(p->file, &f, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

struct ks_row measurement(struct ks_store_file *f, uint64_t i)
{
    struct ks_row row;
    struct ks_err err = { 0 };

    if (ks_store_measurement(f, i, &row, &err) < 0)
        fail_msg("%s", err.text);
    return row;
}

struct ks_row attempt(struct ks_store_file *f, uint64_t i)
{
    struct ks_row row;
    struct ks_err err = { 0 };

    if (ks_store_attempt(f, i, &row, &err) < 0)
        fail_msg("%s", err.text);
    return row;
}

void same_f32(double got, double want)
{
    if (got != (double)(float)want)
        fail_msg("got %.9g, want %.9g", got, want);
}
