/* SPDX-License-Identifier: MIT */
/* mpi_calls.h - the calls of MPI that net.c makes, as a table in a module of its own.
 *
 * Only libksweep-mpi.so (mpi_calls.c) is linked with MPI. It is loaded when a launcher has started
 * this process, so that `ksweep status`, and one rank alone, run where there is no libmpi. */
#ifndef KS_MPI_MPI_CALLS_H
#define KS_MPI_MPI_CALLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define KS_MPI_CALLS_ABI  1u
#define KS_MPI_CALLS_NAME "ks_mpi_calls" /* the symbol in the module */

struct ks_mpi_place {
    int rank, size;
    bool is_shareable; /* two threads may call MPI, one at a time */
};

/* Errors of MPI are returned, not fatal (MPI_ERRORS_RETURN). Counts are in bytes. */
struct ks_mpi_calls {
    unsigned abi;
    void (*init)(struct ks_mpi_place *out);
    void (*finalize)(void);
    void (*version)(char *text_out, size_t cap); /* "Open MPI v4.1.4" */
    /* The ranks of this host, until host_close. */
    void *(*host_open)(int rank, int *local_rank_out, int *n_local_out);
    void (*host_allgather)(void *host, const void *mine, int n, void *all_out);
    void (*host_close)(void *host);
    /* Collectives of all ranks: the smallest value and who has it; */
    void (*smallest)(int value, int rank, int *value_out, int *rank_out);
    void (*bcast)(void *bytes, int n, int root);
    void (*gather)(const void *mine, int n, void *all_out); /* to rank 0 */
    /* Messages. A request lasts until is_sent says true; `bytes` must stay as they are until then.
     */
    bool (*send)(const void *bytes, int n, int to, void **request_out);
    bool (*is_sent)(void **request);
    /* One message of at most `cap` bytes, if there is one: its length, else -1. */
    int (*receive)(void *bytes_out, int cap, int *from_out);
};

/* Loads the module: $KSWEEP_MPI_MODULE, else beside the program, else in ../lib/ksweep or the
 * library directory of the installation, relative to it. It is never unloaded. KS_ENOENT: it, or
 * libmpi, cannot be loaded; says why. */
int ks_mpi_calls_load(const struct ks_mpi_calls **out, struct ks_err *err);

#endif
