/* SPDX-License-Identifier: MIT */
/* bench_hello.c - what it costs to start and end ranks, with the transports that ksweep chooses */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank = 0, size = 0;
    struct timespec now;

    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "self,vader,tcp", 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    clock_gettime(CLOCK_REALTIME, &now);
    if (rank == 0) /* ns since 1970 */
        printf("%d ranks at %lld%09ld\n", size, (long long)now.tv_sec, now.tv_nsec);
    MPI_Finalize();
    return 0;
}
