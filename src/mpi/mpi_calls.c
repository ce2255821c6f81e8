/* SPDX-License-Identifier: MIT */
/* mpi_calls.c - the module libksweep-mpi.so: the only object that is linked with MPI. */
#include "mpi/mpi_calls.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TAG = 1 };

static void init(struct ks_mpi_place *out)
{
    int level = MPI_THREAD_SINGLE;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    *out = (struct ks_mpi_place){ .size = 1, .is_shareable = level >= MPI_THREAD_SERIALIZED };
    MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &out->size);
}

static void finalize(void)
{
    MPI_Finalize();
}

static void version(char *text_out, size_t cap)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;

    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",")] = '\0';
    snprintf(text_out, cap, "%s", text);
}

static void *host_open(int rank, int *local_rank_out, int *n_local_out)
{
    MPI_Comm host;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, local_rank_out);
    MPI_Comm_size(host, n_local_out);
    return host;
}

static void host_allgather(void *host, const void *mine, int n, void *all_out)
{
    MPI_Allgather(mine, n, MPI_BYTE, all_out, n, MPI_BYTE, host);
}

static void host_close(void *host)
{
    MPI_Comm comm = host;

    MPI_Comm_free(&comm);
}

static void smallest(int value, int rank, int *value_out, int *rank_out)
{
    int mine[2] = { value, rank }, first[2];

    MPI_Allreduce(mine, first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    *value_out = first[0];
    *rank_out = first[1];
}

static void bcast(void *bytes, int n, int root)
{
    MPI_Bcast(bytes, n, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void gather(const void *mine, int n, void *all_out)
{
    MPI_Gather(mine, n, MPI_BYTE, all_out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static bool send(const void *bytes, int n, int to, void **request_out)
{
    MPI_Request request;

    if (MPI_Isend(bytes, n, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return false;
    *request_out = request;
    return true;
}

static bool is_sent(void **request)
{
    MPI_Request r = *request;
    int done = 1;

    MPI_Test(&r, &done, MPI_STATUS_IGNORE);
    *request = r;
    return done;
}

static int receive(void *bytes_out, int cap, int *from_out)
{
    int is_there = 0, n = 0;
    MPI_Message message;
    MPI_Status status;

    if (MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &message, &status) !=
            MPI_SUCCESS ||
        !is_there)
        return -1;
    MPI_Get_count(&status, MPI_BYTE, &n);
    MPI_Mrecv(bytes_out, n < cap ? n : cap, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    *from_out = status.MPI_SOURCE;
    return n;
}

extern const struct ks_mpi_calls ks_mpi_calls;
const struct ks_mpi_calls ks_mpi_calls = {
    .abi = KS_MPI_CALLS_ABI,
    .init = init,
    .finalize = finalize,
    .version = version,
    .host_open = host_open,
    .host_allgather = host_allgather,
    .host_close = host_close,
    .smallest = smallest,
    .bcast = bcast,
    .gather = gather,
    .send = send,
    .is_sent = is_sent,
    .receive = receive,
};
