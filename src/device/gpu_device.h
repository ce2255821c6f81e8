/* SPDX-License-Identifier: MIT */
/* gpu_device.h - an open GPU, HIP's or CUDA's; private to the device_gpu*.c files. */
#ifndef KS_DEVICE_GPU_DEVICE_H
#define KS_DEVICE_GPU_DEVICE_H

#include "device/device.h"
#include "device/gpu_api.h"
#include "device/gpu_telemetry.h"
#include "device/so_table.h"

#include <pthread.h>

#define KS_GPU_QUEUE 64u /* samples under way at once */

enum { KS_GPU_KERNELS = 8 }; /* of one entry: the main one and its helpers */

struct ks_gpu_block {
    struct ks_gpu_block *next;
    ks_gpu_ptr raw; /* what the runtime gave */
    void *ptr;      /* what the caller got */
};

/* Opened by us, waited for on a thread of the runtime. */
struct ks_gpu_gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool is_open;
};

struct ks_gpu_device {
    struct ks_device base; /* first: the public view */
    struct ks_gpu_api api;
    struct ks_device_id id;
    int number; /* the runtime's */
    bool has_context;
    int lost; /* the sticky error after which nothing runs any more; 0: none */
    void *stream;
    void *starts[KS_GPU_QUEUE], *stops[KS_GPU_QUEUE]; /* events */
    uint32_t n_events;                                /* pairs of them made so far */
    uint32_t i_event_flags;                           /* which row of flags the runtime accepts */
    struct ks_gpu_block *blocks;
    ks_gpu_ptr scratch, sweep; /* 0: not yet needed */
    size_t sweep_bytes;
    struct ks_device_props props;
    uint32_t max_threads; /* of a block */
    bool has_gate;        /* the runtime can hold a stream back */
    struct ks_gpu_gate gate;
    struct ks_nvml *nvml;
};

/* One kernel of an entry, found when it is first launched. */
struct ks_gpu_kernel {
    void *func; /* NULL: not yet */
    uint32_t static_shared, max_threads, registers;
    uint32_t block, shared; /* the launch that was last found to fit */
};

struct ks_gpu_entry {
    struct ks_abi_entry abi; /* first: what module_entry gives */
    struct ks_module *mod;
    const char *prefix; /* of its kernels' names; NULL: a plug-in launches by itself */
    struct ks_gpu_kernel kernels[KS_GPU_KERNELS];
    double host_ns, device_ns; /* a call's launch and its time when it was last timed; 0: not yet */
};

struct ks_module {
    struct ks_so_table so;
    struct ks_gpu_device *dev;
    void *image;                  /* as the runtime loaded it; NULL for a plug-in */
    struct ks_gpu_entry *entries; /* [so.table->n_entries] */
};

/* The launches of one run(), and the first of them that went wrong. */
struct ks_gpu_run {
    struct ks_gpu_entry *entry;
    int rc; /* 0, or KS_E* with err filled */
    struct ks_err err;
};
struct ks_gpu_launcher {
    struct ks_abi_gpu base; /* first: what run() sees */
    struct ks_gpu_run *run;
};

struct ks_gpu_device *ks_gpu_of(struct ks_device *dev);

/* KS_EDEVLOST once a sticky error was seen: a dead runtime may hang where it should fail. */
int ks_gpu_ready(const struct ks_gpu_device *g, struct ks_err *err);
/* 0 for a runtime's OK; else "WHAT: NAME (CODE)" as KS_EDEVLOST when it is sticky, KS_EDEVMEM when
 * memory is out, or `as`. */
int ks_gpu_status(struct ks_gpu_device *g, int code, enum ks_code as, struct ks_err *err,
                  const char *what);
/* Waits for all that was enqueued. */
int ks_gpu_sync(struct ks_gpu_device *g, enum ks_code as, struct ks_err *err, const char *what);

int ks_gpu_module_open(struct ks_device *dev, const char *path, struct ks_module **mod_out,
                       struct ks_err *err);
void ks_gpu_module_close(struct ks_device *dev, struct ks_module *mod);
int ks_gpu_module_entry(struct ks_device *dev, struct ks_module *mod, const char *name,
                        const struct ks_abi_entry **entry_out, struct ks_err *err);
struct ks_gpu_launcher ks_gpu_launcher_of(struct ks_gpu_run *run);

/* Before and after all others of the gate. KS_ENOMEM. */
int ks_gpu_gate_init(struct ks_gpu_gate *gate, struct ks_err *err);
void ks_gpu_gate_release(struct ks_gpu_gate *gate);
/* What the driver says of the clock of the compute units; KS_UNKNOWN. */
double ks_gpu_clock_mhz(struct ks_gpu_device *g);
/* Whether the runtime can hold a stream back until the host lets go, and takes work meanwhile;
 * asked once, at open. */
int ks_gpu_gate_try(struct ks_gpu_device *g, struct ks_err *err);
int ks_gpu_time_samples(struct ks_device *dev, const struct ks_timing *t, double *ns_out,
                        int *kernel_rc_out, struct ks_err *err);
/* Calls to stand in the queue before the device is let go, when one takes device_ns there and its
 * launch host_ns (0: not known): as many as the queue takes unless the host is faster anyway, since
 * the device waits meanwhile. */
uint32_t ks_gpu_ahead(double device_ns, double host_ns);
/* Enqueues a pass of writes over a buffer of twice the last-level cache. */
int ks_gpu_sweep(struct ks_gpu_device *g, struct ks_err *err);
int ks_gpu_flush(struct ks_device *dev, struct ks_err *err);
int ks_gpu_touch(struct ks_device *dev, const void *ptr, size_t bytes, struct ks_err *err);
int ks_gpu_canary(struct ks_device *dev, double *ns_out, struct ks_err *err);
int ks_gpu_self_test(struct ks_device *dev, struct ks_err *err);

#endif
