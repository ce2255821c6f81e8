/* SPDX-License-Identifier: MIT */
/* device.h - the only door to a compute device.
 *
 * To add a backend: 1. one file device_<name>.c with a `const struct ks_device_ops
 * ks_device_<name>`; 2. its row in base/backend.h. tests/unit/test_device.c runs the conformance
 * rows over it. */
#ifndef KS_DEVICE_H
#define KS_DEVICE_H

#include "base/device_limits.h"
#include "base/err.h"
#include "base/reading.h"
#include "kernels/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_device; /* an open device; backends embed it as their first member */
struct ks_module; /* a loaded artefact */

/* One of the devices a process may see: enough to tell it from the others and to find its cores. */
struct ks_device_id {
    char unique[64]; /* as in ks_device_props, cut */
    char pci[16];    /* "0000:c1:00.0", "" when it has none */
};
#define KS_DEVICES_MAX 64u /* of one process */

struct ks_device_props {
    char name[64];    /* CPU model, GPU name */
    char arch[32];    /* "x86-64-v4", "gfx942", "sm_90" */
    char locator[64]; /* "cpu 3", PCI address */
    char unique[128]; /* serial, UUID; host: machine-id + core set */
    uint64_t memory_bytes;
    uint32_t n_units;                     /* cores, CUs or SMs */
    uint64_t cache_bytes;                 /* last level */
    uint64_t shared_bytes;                /* most shared memory (LDS) of one block; 0: has none */
    uint32_t wave;                        /* lanes of a wave or warp; 0: has none */
    uint32_t clock_mhz, memory_clock_mhz; /* the highest; 0 unknown */
    char driver[32];                      /* version; "" none */
    double clock_ns;                      /* resolution of a time stamp */
};

/* A launch that reads the device's counters: run once with buf[0] before the first sample and once
 * with buf[1] after the last, in the stream, outside of all that is timed. It was launched before.
 */
struct ks_clock_probe {
    const struct ks_abi_entry *entry;
    const struct ks_abi_problem *problem;
    struct ks_abi_buffers buf[2]; /* the device fills in stream and gpu itself */
};

/* What to time: n_samples samples, each of `calls` calls of an entry back to back. */
struct ks_timing {
    const struct ks_abi_entry *entry;
    const struct ks_abi_problem *problem;
    const struct ks_abi_buffers *buf; /* the device fills in stream and gpu itself */
    uint32_t calls, n_samples;
    const struct ks_clock_probe *clock; /* NULL: none; backends without a queue ignore it */
    bool is_cold;    /* before each sample, outside of its time, caches are flushed */
    bool is_untimed; /* nobody reads the times: the device need not hold the work back to get them
                        right */
};

/* State of a device at a moment. */
struct ks_telemetry {
    struct ks_reading now;
    int64_t throttle; /* the vendor's reason bits; -1 unknown */
    double energy_j;  /* used since some moment of the past; KS_UNKNOWN where it is not counted or
                         was  not asked for */
    uint64_t at_ns;   /* when the energy was read; CLOCK_MONOTONIC */
};

/* Contract of every slot: 0 or KS_E* with *err filled; outputs only on success; nothing prints,
 * exits or touches a global. All slots are required; a backend without a feature returns
 * KS_EUNSUPPORTED, never a NULL slot. One in-order queue per device. */
struct ks_device_ops {
    uint32_t abi;     /* KS_DEVICE_ABI */
    const char *name; /* of its row in base/backend.h: the job's device.backend */
    bool is_virtual;  /* KS_BACKEND_VIRTUAL of that row */
    uint32_t queue;   /* samples worth asking for at once; 1: nothing is gained by more */

    /* What this process sees, in its numbering, with *_VISIBLE_DEVICES already applied by the
     * vendor's runtime. ids_out [KS_DEVICES_MAX]; *n_out may be 0. open() takes the first. */
    int (*list)(const char *locator, struct ks_device_id *ids_out, uint32_t *n_out,
                struct ks_err *err);
    int (*open)(const char *locator, struct ks_device **dev_out, struct ks_err *err);
    void (*close)(struct ks_device *dev); /* NULL is fine */
    int (*props)(struct ks_device *dev, struct ks_device_props *out, struct ks_err *err);

    /* Device memory, 4096-byte aligned. */
    int (*alloc)(struct ks_device *dev, size_t bytes, void **ptr_out, struct ks_err *err);
    void (*free)(struct ks_device *dev, void *ptr); /* NULL is fine */
    int (*upload)(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                  struct ks_err *err);
    int (*download)(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                    struct ks_err *err);
    /* `bytes` of device memory become copies of a 4-byte pattern; ptr and bytes: multiples of 4. */
    int (*fill)(struct ks_device *dev, void *ptr, uint32_t pattern, size_t bytes,
                struct ks_err *err);
    /* Pointer through which the host may read and write device memory directly, or NULL. */
    void *(*host_view)(struct ks_device *dev, void *ptr);

    /* Artefacts. entry: found by instance name; KS_ELOAD when the file, its table, its ABI or the
     * name is wrong; KS_EUNSUPPORTED when it can never be launched here (more shared memory than a
     * block has, not one block fits). Entries live as long as the module. */
    int (*module_open)(struct ks_device *dev, const char *path, struct ks_module **mod_out,
                       struct ks_err *err);
    void (*module_close)(struct ks_device *dev, struct ks_module *mod);
    int (*module_entry)(struct ks_device *dev, struct ks_module *mod, const char *name,
                        const struct ks_abi_entry **entry_out, struct ks_err *err);

    /* ns_out [n_samples]: time of all calls of each. An event clock may say 0 or less: such a
     * sample has failed, the caller counts it. `entry` comes from module_entry. rc of run() != 0 is
     * KS_EDEVICE with *kernel_rc_out set; KS_EUNSUPPORTED when it asks for more than a block can
     * ever have, which is known at a launch; KS_EDEVLOST when nothing will run in this process any
     * more, with the runtime's error in *kernel_rc_out. Blocks until done. */
    int (*time_samples)(struct ks_device *dev, const struct ks_timing *t, double *ns_out,
                        int *kernel_rc_out, struct ks_err *err);
    /* Bring caches into the state of the condition: cold = flush, else one pass of reads over the
     * buffers (and over the output without changing it). */
    int (*flush)(struct ks_device *dev, struct ks_err *err);
    int (*touch)(struct ks_device *dev, const void *ptr, size_t bytes, struct ks_err *err);
    /* A short fixed loop whose time tells whether the device is disturbed; ns. Of a device that
     * tells its clock the time at its highest clock: a clock that a power cap holds down is no
     * disturbance. */
    int (*canary)(struct ks_device *dev, double *ns_out, struct ks_err *err);
    /* An exact calculation on exact data through alloc, upload, compute, download: KS_EDEVICE when
     * the result is wrong. Run in a fresh worker after an abnormal end. */
    int (*self_test)(struct ks_device *dev, struct ks_err *err);
    /* Never fails: unknown is a value. May take milliseconds, or as long as others hold the driver:
     * a vendor's library asks it once a number. So it is asked only while nothing is queued, which
     * is always so outside of time_samples, and under the cell's deadline: no sample's time has
     * anything of it. The energy alone takes 4 ms on an H100, all the others together 30 us. */
    void (*telemetry)(struct ks_device *dev, bool with_energy, struct ks_telemetry *out);
    /* Never fails: unknown is a value. May take 10 ms. */
    void (*limits)(struct ks_device *dev, struct ks_device_limits *out);
};

struct ks_telemetry ks_telemetry_unknown(void);

/* A vendor's power reading is a mean over up to a second before it, of whatever ran then. The
 * energy that was used is exact to one update of its counter, so a mean over ten updates is good to
 * 10 %. Source: "Part-time Power Measurements: nvidia-smi's Lack of Attention" (Yang et al. 2024):
 * updates come 100 ms apart at the most. */
#define KS_ENERGY_UPDATE_NS 100000000ull
#define KS_ENERGY_UPDATES   10u
/* Mean power between two readings, W; KS_UNKNOWN where energy is not counted, the counter went
 * backwards or fewer than KS_ENERGY_UPDATES updates lie between them. */
double ks_power_between(const struct ks_telemetry *from, const struct ks_telemetry *to);

#define KS_DEVICE_ABI 5u

struct ks_device {
    const struct ks_device_ops *ops;
};

extern const struct ks_device_ops *const ks_device_backends[]; /* as ks_backends, then NULL */
const struct ks_device_ops *ks_device_find(const char *name);  /* NULL when unknown */
/* KS_EINVAL naming the empty slot or wrong ABI. */
int ks_device_check(const struct ks_device_ops *ops, struct ks_err *err);

#endif
