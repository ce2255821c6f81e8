/* SPDX-License-Identifier: MIT */
/* fake.h - a HIP runtime whose device is the emulator of kernels/gpu/emu; see README.md. */
#ifndef KS_TESTS_FAKE_HIP_H
#define KS_TESTS_FAKE_HIP_H

#include "device/gpu_api.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

/* HIP's codes that the harness has no name for. */
enum {
    FAKE_ENOTINIT = 3,
    FAKE_EIMAGE = 200,
    FAKE_ENOBINARY = 209,
    FAKE_EHANDLE = 400,
    FAKE_ENOTFOUND = 500,
    FAKE_ENOTREADY = 600,
    FAKE_EFAULT = 719,
    FAKE_EUNKNOWN = 999,
};

/* --- Configuration and faults */

#define FAKE_FAULTS(X)                                                                             \
    X(OOM, "oom")             /* hipMalloc: out of memory */                                       \
    X(LOAD, "load")           /* hipModuleLoadData: no binary for this device */                   \
    X(LAUNCH, "launch")       /* the launch is refused */                                          \
    X(FAULT, "fault")         /* the kernel faults; all calls fail from then on */                 \
    X(HANG, "hang")           /* the kernel never ends */                                          \
    X(ABORT, "abort")         /* the runtime aborts the process, as on a page fault */             \
    X(SLOW, "slow")           /* the kernel takes 50 times as long */                              \
    X(SKIP, "skip")           /* the kernel does not run, and nothing says so */                   \
    X(WRONG, "wrong")         /* one word of what the last pointer points to is wrong */           \
    X(BACKWARDS, "backwards") /* hipEventElapsedTime: the negative of it */                        \
    X(LOST, "lost")           /* the device falls off the bus, for every process */
enum fake_kind {
#define X(name, text) FAKE_##name,
    FAKE_FAULTS(X)
#undef X
        FAKE_N_KINDS
};

/* Where a fault may strike: what is known of a call. */
struct fake_site {
    int device; /* the machine's number */
    const char *name;
    unsigned grid[3], block;
    uint64_t bytes, image;
};

struct fake_fault {
    enum fake_kind kind;
    unsigned long nth; /* from 1, among the calls that match */
    bool is_onward;    /* and all after it */
    int device;        /* -1: any */
    unsigned grid[3], block;
    uint64_t bytes, bytes_end; /* at least, at most */
    uint64_t image;            /* 0: any */
    char name[64];
    unsigned long n_seen;
};

enum { FAKE_MAX_FAULTS = 16, FAKE_MAX_DEVICES = 16 };

struct fake_config {
    unsigned n_devices;
    uint64_t mem_bytes, shared_bytes;
    char arch[64];
    char once[PATH_MAX], lost[PATH_MAX], log[PATH_MAX];
    unsigned n_faults;
    struct fake_fault faults[FAKE_MAX_FAULTS];
};

/* Reads KSWEEP_FAKE_HIP's text; returns 0, or -1 and says on stderr what is wrong. */
int fake_config_parse(const char *text, struct fake_config *out);
/* Which of n devices a list leaves: index[] shrinks to what it names; returns how many. */
unsigned fake_choose(const char *list, unsigned *index, unsigned n);

/* --- Devices */

struct fake_memory {
    char *p;
    size_t bytes, mapped;
    int n_open; /* who has it in sight */
    struct fake_memory *next;
};

struct fake_event {
    struct fake_device *dev;
    long seq; /* of the record in its queue */
    double at_ns;
    bool is_recorded, is_timed;
    struct fake_site site; /* of the launch before; without its name */
};

struct fake_stream {
    struct fake_device *dev;
};

struct ks_simt_run;
struct fake_pool { /* struct ks_simt_pool of kernels/gpu/emu/simt.h */
    struct ks_simt_run *run;
};

struct fake_module {
    void *handle;
    struct fake_pool pool; /* of the one device that runs its kernels */
    int fd;                /* of the image; open as long as it is loaded */
    uint64_t digest;
    struct fake_function *functions;
};

typedef int (*fake_launch_fn)(void (*body)(void **), void **args, const int *grid, const int *block,
                              int warp, int order, struct fake_pool *pool);

struct fake_function {
    struct fake_module *module;
    char name[128];
    void (*entry)(void **);
    fake_launch_fn launch;
    int block, shared, warp;
    const int *sizes; /* bytes of each argument, 0 ends */
    unsigned long n_launches;
    struct fake_function *next;
};

enum { FAKE_MAX_ARGS = 32, FAKE_ARGS_BYTES = 4096 };

struct fake_op {
    enum { OP_LAUNCH, OP_RECORD, OP_FILL, OP_COPY, OP_HOST } what;
    struct fake_op *next;
    bool fires[FAKE_N_KINDS];
    struct fake_function *function;
    int grid[3], block[3];
    void *args[FAKE_MAX_ARGS];
    _Alignas(16) char bytes[FAKE_ARGS_BYTES]; /* what args[] point to */
    double ns;                                /* how long it takes by the device's clock */
    struct fake_event *event;
    void *dst;
    const void *src;
    size_t n;
    unsigned pattern;
    ks_gpu_host_fn host;
    void *host_arg;
};

struct fake_fill {
    const void *p;
    size_t n;
    unsigned pattern;
};

struct fake_device {
    struct fake *fake;
    int index; /* the machine's number */
    pthread_mutex_t lock;
    pthread_cond_t pushed, retired;
    pthread_t thread;
    bool is_started;
    struct fake_op *head, **tail;
    long n_queued, n_retired;
    long wanted;           /* the least that somebody waits for */
    struct fake_site last; /* launch that was queued; without its name */
    atomic_int sticky;
    double clock_ns; /* with the next two: of the device's thread */
    bool is_shown;
    struct fake_fill filled; /* by the last operation; none: p NULL */
    pthread_mutex_t pages;   /* the rest */
    struct fake_memory *memory;
    size_t used;
    int n_open; /* who has all of it in sight */
};

struct fake {
    struct fake_config config;
    bool is_bad; /* the configuration */
    unsigned n_visible;
    unsigned visible[FAKE_MAX_DEVICES];
    struct fake_device devices[FAKE_MAX_DEVICES];
    pthread_mutex_t fault_lock;
};

struct fake *fake_get(void);            /* the process's; reads the environment when first asked */
struct fake_device *fake_current(void); /* the device of this thread */
int fake_select(int visible);

/* Whether a fault of this kind strikes here, now. Counts. */
bool fake_fires(struct fake *f, enum fake_kind kind, const struct fake_site *site);
/* The error that every call of this device returns by now, or 0. */
int fake_state(struct fake_device *d);
void fake_lose(struct fake_device *d);
void fake_log(struct fake *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Device memory is PROT_NONE but between show and hide: the block that p points into; NULL: all. */
int fake_memory_alloc(struct fake_device *d, size_t bytes, void **p_out);
int fake_memory_free(struct fake_device *d, void *p);
void fake_memory_show(struct fake_device *d, const void *p);
void fake_memory_hide(struct fake_device *d, const void *p);
bool fake_memory_owns(struct fake_device *d, const void *p, size_t bytes);

/* Takes op. */
int fake_push(struct fake_device *d, struct fake_op *op);
int fake_wait(struct fake_device *d, long seq); /* returns the device's state */
int fake_wait_all(struct fake_device *d);

/* What the device thread does with an op: runs it, advances the clock. */
void fake_execute(struct fake_device *d, struct fake_op *op);

/* HIP's names, as the harness calls them. */
#define X(slot, hip, cuda, args) FAKE_EXPORT G_RC hip args;
KS_GPU_CALLS(X)
KS_GPU_CALLS_OPTIONAL(X)
#undef X
#define X(slot, name, result, args) FAKE_EXPORT result name args;
KS_GPU_CALLS_HIP(X)
#undef X
#define X(name, bytes, arch_at) FAKE_EXPORT G_RC name(void *props, int dev);
KS_GPU_HIP_PROPS(X)
#undef X

#endif
