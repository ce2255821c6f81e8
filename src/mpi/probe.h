/* SPDX-License-Identifier: MIT */
/* probe.h - what a process would see of the devices of a host: asked of `ksweep-worker --probe`,
 * which the warden starts, so that no GPU runtime is loaded beside MPI. */
#ifndef KS_MPI_PROBE_H
#define KS_MPI_PROBE_H

#include "base/err.h"
#include "grid/job.h"
#include "spawn/warden.h"
#include "topo/bind.h"
#include "topo/visible.h"

#include <stdbool.h>
#include <stdint.h>

/* One device in full. Plain data; what is not known is "" or 0. */
struct ks_probe_device {
    char name[64], arch[32]; /* "AMD Instinct MI300X", "gfx942" */
    char unique[128], pci[16];
    char driver[32];
    uint64_t memory_bytes;
    uint32_t n_units; /* compute units, multiprocessors */
};

struct ks_probe {
    uint32_t n_devices;
    struct ks_bind_device devices[KS_BIND_DEVICES];
    struct ks_probe_device first; /* of them */
    bool has_looked;              /* there is a runtime, which may see no device */
    char why[400];                /* no devices: what is missing, and where it looked */
};

/* visible is added to the environment; it may be empty. A probe that fails has no devices, and says
 * why. KS_ENOENT: no worker program; KS_ECHILD: the warden is gone; KS_EIO. Blocks for as long as a
 * runtime takes to start, a minute at most. */
int ks_probe(const struct ks_job *job, const struct ks_visible_env *visible,
             struct ks_warden *warden, struct ks_probe *out, struct ks_err *err);
/* Waits for the end of this child; those of others are dropped. KS_ECHILD; KS_EIO. */
int ks_probe_await(struct ks_warden *w, uint32_t child, struct ks_child_end *end_out,
                   struct ks_err *err);
/* What a probe that ended like this has said. */
void ks_probe_read(const char *text, const struct ks_child_end *end, struct ks_probe *out);

/* Whether a CUDA driver is older than the compiler of the job's kernels, and a line that says so.
 * @driver   [in] as in ks_probe_device: "580.65.06 CUDA 13.0"
 * @compiler [in] its version as it prints it, others may stand beside it: "Cuda compilation tools,
 * release 13.1, V13.1.80"
 * false where one of them is of another vendor or unknown. */
bool ks_probe_driver_lags(const char *driver, const char *compiler, char *out, size_t cap);

#endif
