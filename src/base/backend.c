/* SPDX-License-Identifier: MIT */
/* backend.c - the table of backends: names, flags, architectures and kernel language of each */
#include "base/backend.h"

#include <stddef.h>
#include <string.h>

const struct ks_backend ks_backends[] = {
#define X(name, flags, archs, language) { #name, flags, archs, language },
    KS_BACKENDS(X)
#undef X
        { .name = NULL },
};

const char *const ks_backend_names[] = {
#define X(name, flags, archs, language) #name,
    KS_BACKENDS(X)
#undef X
        NULL,
};

const struct ks_backend *ks_backend_find(const char *name)
{
    for (const struct ks_backend *b = ks_backends; b->name; b++)
        if (strcmp(b->name, name) == 0)
            return b;
    return NULL;
}
