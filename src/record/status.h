/* SPDX-License-Identifier: MIT */
/* status.h - the page a worker shares with its warden and its agent. The worker writes before it
 * enters a phase; the readers never write, except `abandon`. Kernels could scribble on it:
 * everything that counts is also on the pipe with a CRC, and readers check magic and ranges. */
#ifndef KS_RECORD_STATUS_H
#define KS_RECORD_STATUS_H

#include <stdatomic.h>
#include <stdint.h>

#define KS_STATUS_MAGIC 0x4b535354u
#define KS_STATUS_RING  65536u

struct ks_status {
    uint32_t magic, version;
    /* seqlock-free: single 64-bit stores, in this order: phase data, then `phase` */
    _Atomic uint64_t i_cell; /* position in the batch; UINT64_MAX = none */
    _Atomic uint32_t phase;  /* enum ks_phase */
    _Atomic uint32_t attempt, round;
    _Atomic uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 = no deadline: the warden kills past it */
    _Atomic uint64_t n_done;      /* cells reported */
    /* written by the worker's signal handlers */
    _Atomic uint32_t fault_signal;
    _Atomic uint32_t n_denied;
    _Atomic int32_t denied_call; /* -1: none */
    _Atomic uint64_t fault_address;
    /* VmHWM and VmPeak, seen by the handler or the warden: most memory resident, most address space
     */
    _Atomic uint64_t peak_bytes, peak_space_bytes;
    _Atomic uint32_t pipe_broken;  /* the worker could not write a record */
    _Atomic uint32_t is_measuring; /* 1 while timing: coordination should stay quiet */
    /* what the worker printed; written by the warden, which drains the pipe */
    _Atomic uint64_t ring_bytes; /* bytes printed in all; the ring holds the last KS_STATUS_RING */
    uint8_t ring[KS_STATUS_RING];
};

#endif
