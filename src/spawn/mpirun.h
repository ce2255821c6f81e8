/* SPDX-License-Identifier: MIT */
/* mpirun.h - the launcher that `ksweep run -n N` starts: where it is, of which MPI, its options. */
#ifndef KS_SPAWN_MPIRUN_H
#define KS_SPAWN_MPIRUN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_MPIRUN_ENV     "KSWEEP_MPIRUN"
#define KS_MPIRUN_OPTIONS 16 /* most words that ks_mpirun_options() gives, with the NULL */

struct ks_mpirun {
    char path[1024];
    char mpi[128]; /* "Open MPI 4.1.4", "MPICH (Hydra) 4.0.2", "an unknown MPI" */
    bool is_open_mpi;
    unsigned major;
};

/* ks_mpirun_find() - $KSWEEP_MPIRUN, else mpirun.openmpi or mpirun beside `hint` (the launcher of
 * the MPI that ksweep was built with; NULL: none), else in PATH; asks it for its version.
 * Returns 0; KS_ENOENT: none is there; KS_EINVAL: it is of another MPI than Open MPI, or does not
 * answer. Blocks: for as long as it takes to answer, at most 20 s. Starts a process: not beside a
 * warden's children. */
int ks_mpirun_find(const char *hint, const char *linked, struct ks_mpirun *out, struct ks_err *err);

/* What `mpirun --version` printed: fills mpi, is_open_mpi, major. */
void ks_mpirun_parse(const char *printed, struct ks_mpirun *out);

/* Words between the launcher's name and the program, NULL-terminated: n ranks on this host, bound
 * by themselves, and a lost one does not end the others. They point into `storage`. */
void ks_mpirun_options(const struct ks_mpirun *m, uint32_t n, bool is_root, char storage[64],
                       const char *words_out[KS_MPIRUN_OPTIONS]);

/* Makes the environment that of a first launcher: ranks of another one that are left over are
 * removed, and a batch system's allocation is not used. */
void ks_mpirun_environment(void);

#endif
