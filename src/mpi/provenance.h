/* SPDX-License-Identifier: MIT */
/* provenance.h - what a result must say about the machine it came from. */
#ifndef KS_MPI_PROVENANCE_H
#define KS_MPI_PROVENANCE_H

#include "base/buf.h"
#include "base/err.h"
#include "mpi/net.h"
#include "mpi/seat.h"
#include "record/record.h"

#include <stdint.h>

/* key=value lines: host, kernel, cpu_model, cpu_flags, microcode, governor, mpi, compiler,
 * versions, revision, start time. What cannot be read is left out, never guessed. */
void ks_provenance_host(const struct ks_net *net, const char *compiler, struct ks_buf *text_out);

/* Identity of what a rank measures on: host name + the device's unique name; without one machine-id
 * + core set; without that, too (sim), machine-id + rank. Ranks that measure on less than every
 * core are another class of device: their caches are shared by fewer. */
void ks_provenance_device(const struct ks_job *job, uint32_t rank, uint32_t local_rank,
                          const struct ks_rank_seat *seat, struct ks_device_rec *out);
/* The device_id that a GPU of this host has by its name (ks_bind_device.unique). */
uint64_t ks_provenance_gpu(const char *unique);

/* The host's idle baseline on one CPU: spin pinned to it a few times; the lowest involuntary
 * switches a second and stolen share of the time seen. Restores the affinity. */
void ks_provenance_idle(uint32_t cpu, double *switches_per_s_out, double *stolen_out);

#endif
