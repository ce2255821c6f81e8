/* SPDX-License-Identifier: MIT */
/* segment.h - the file in /dev/shm by which the ranks of a host talk (Open MPI's btl vader, 4 MiB a
 * rank). A rank that is killed would leave it behind for ever. Once every rank of the host has
 * mapped it, it needs no name. */
#ifndef KS_MPI_SEGMENT_H
#define KS_MPI_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

/* Takes away the name of the segment of local_rank, as it stands among the mappings of this process
 * ("/proc/self/maps", tests pass another). path_out [cap]: the name, "" when there is none. */
void ks_segment_hide(const char *maps, uint32_t local_rank, char *path_out, size_t cap);
/* Puts an empty file there, for MPI_Finalize to remove: it complains otherwise. "" is fine. */
void ks_segment_show(const char *path);

#endif
