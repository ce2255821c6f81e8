/* SPDX-License-Identifier: MIT */
/* array.c - grows arrays by doubling, with an error that names what they hold */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static int set_capacity(void *array, size_t want, size_t size, const char *what, struct ks_err *err)
{
    void *old, *moved;

    memcpy(&old, array, sizeof(old));
    moved = want <= SIZE_MAX / size ? realloc(old, want * size) : NULL;
    if (!moved)
        return ks_fail(err, KS_ENOMEM, "no memory for %zu %s", want, what);
    memcpy(array, &moved, sizeof(moved));
    return 0;
}

int ks_reserve(void *array, size_t need, size_t *cap, size_t size, const char *what,
               struct ks_err *err)
{
    size_t want = *cap ? *cap : 16;

    if (need <= *cap)
        return 0;
    while (want < need && want <= SIZE_MAX / 2)
        want *= 2;
    if (want < need)
        want = need;
    if (set_capacity(array, want, size, what, err) < 0)
        return KS_ENOMEM;
    *cap = want;
    return 0;
}

int ks_reserve32(void *array, size_t need, uint32_t *cap, size_t size, const char *what,
                 struct ks_err *err)
{
    size_t wide = *cap;
    int rc;

    if (need > UINT32_MAX / 2)
        return ks_fail(err, KS_ENOMEM, "no memory for %zu %s", need, what);
    rc = ks_reserve(array, need, &wide, size, what, err);
    *cap = (uint32_t)wide;
    return rc;
}
