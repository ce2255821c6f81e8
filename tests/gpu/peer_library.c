/* SPDX-License-Identifier: MIT */
/* peer_library.c - opens a vendor's library */
#include "tests/gpu/peer_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *peer_library(const char *variable, const char *const *names, struct ks_err *err)
{
    const char *named = getenv(variable);
    void *lib = named != NULL ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : NULL;

    for (size_t i = 0; lib == NULL && names[i] != NULL; i++) {
        char path[1200];

        snprintf(path, sizeof(path), "%s%s%s", named != NULL ? named : "", named != NULL ? "/" : "",
                 names[i]);
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (lib == NULL)
        ks_fail(err, KS_ENOENT, "no %s in %.400s (%s names it)", names[0],
                named != NULL ? named : "the loader's path", variable);
    return lib;
}

int peer_symbol(void *library, const char *symbol, void *slot, struct ks_err *err)
{
    void *at = dlsym(library, symbol);

    if (at == NULL)
        return ks_fail(err, KS_ENOENT, "%s is not in the library", symbol);
    memcpy(slot, &at, sizeof(at));
    return 0;
}
