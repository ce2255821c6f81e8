/* SPDX-License-Identifier: MIT */
/* mpi_load.c - finds and loads libksweep-mpi.so, so that the program runs without MPI */
#include "mpi/mpi_calls.h"

#include "base/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define MODULE "libksweep-mpi.so"

static int find(char path_out[PATH_MAX], struct ks_err *err)
{
    static const char *const places[] = { MODULE, "../lib/ksweep/" MODULE,
                                          "../" KS_LIBDIR "/ksweep/" MODULE };
    const char *named = getenv("KSWEEP_MPI_MODULE");
    char dir[PATH_MAX];
    int rc;

    if (named && *named) {
        snprintf(path_out, PATH_MAX, "%s", named);
        return 0;
    }
    rc = ks_program_dir(dir, sizeof(dir), err);
    for (size_t i = 0; rc == 0 && i < sizeof(places) / sizeof(places[0]); i++) {
        rc = ks_path_join(path_out, PATH_MAX, dir, places[i], err);
        if (rc == 0 && ks_path_exists(path_out))
            return 0;
    }
    return rc < 0 ? rc
                  : ks_fail(err, KS_ENOENT,
                            "'" MODULE "' is neither in '%.200s' nor in ../lib/ksweep beside it: "
                            "install ksweep whole, or name it in $KSWEEP_MPI_MODULE",
                            dir);
}

/* RTLD_GLOBAL: components that MPI loads itself look for its symbols. */
int ks_mpi_calls_load(const struct ks_mpi_calls **out, struct ks_err *err)
{
    const struct ks_mpi_calls *calls;
    char path[PATH_MAX];
    void *module;
    int rc = find(path, err);

    if (rc < 0)
        return rc;
    module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!module)
        return ks_fail(err, KS_ENOENT,
                       "MPI cannot be loaded (is Open MPI installed on this host?): %.300s",
                       dlerror());
    calls = dlsym(module, KS_MPI_CALLS_NAME);
    if (!calls || calls->abi != KS_MPI_CALLS_ABI)
        return ks_fail(err, KS_ENOENT,
                       "'%.300s' belongs to another version of ksweep: install ksweep again", path);
    *out = calls;
    return 0;
}
