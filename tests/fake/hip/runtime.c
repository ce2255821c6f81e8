/* SPDX-License-Identifier: MIT */
/* runtime.c - devices, memory, streams and events as HIP names them. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fake the_fake; /* a runtime is one of a process */
static _Thread_local int current_device;

/* As ROCm does: who limits or judges a process by its address space is wrong. */
#define RESERVED_BYTES ((size_t)1 << 40)

static void create(void)
{
    struct fake *f = &the_fake;
    const char *text = getenv("KSWEEP_FAKE_HIP"), *outer = getenv("ROCR_VISIBLE_DEVICES");
    const char *inner = getenv("HIP_VISIBLE_DEVICES");

    f->is_bad = fake_config_parse(text ? text : "", &f->config) < 0;
    if (f->is_bad)
        f->config.n_devices = 0;
    f->n_visible = f->config.n_devices;
    for (unsigned i = 0; i < f->n_visible; i++)
        f->visible[i] = i;
    if (!inner || *inner == '\0')
        inner = getenv("CUDA_VISIBLE_DEVICES");
    if (outer)
        f->n_visible = fake_choose(outer, f->visible, f->n_visible);
    if (inner)
        f->n_visible = fake_choose(inner, f->visible, f->n_visible);
    mmap(NULL, RESERVED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_mutex_init(&f->fault_lock, NULL);
    for (int i = 0; i < FAKE_MAX_DEVICES; i++) {
        struct fake_device *d = &f->devices[i];

        d->fake = f;
        d->index = i;
        d->tail = &d->head;
        d->wanted = LONG_MAX;
        pthread_mutex_init(&d->lock, NULL);
        pthread_mutex_init(&d->pages, NULL);
        pthread_cond_init(&d->pushed, NULL);
        pthread_cond_init(&d->retired, NULL);
    }
}

struct fake *fake_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, create);
    return &the_fake;
}

struct fake_device *fake_current(void)
{
    struct fake *f = fake_get();

    return &f->devices[f->visible[current_device]];
}

static bool is_device(int i)
{
    return i >= 0 && (unsigned)i < fake_get()->n_visible;
}

/* --- Devices */

int hipInit(unsigned flags)
{
    struct fake *f = fake_get();

    if (f->is_bad)
        return FAKE_ENOTINIT;
    if (flags != 0)
        return KS_GPU_EINVALID;
    return f->n_visible > 0 ? KS_GPU_OK : KS_GPU_ENODEVICE;
}

int hipDriverGetVersion(int *version)
{
    *version = 60342134;
    return KS_GPU_OK;
}

int hipGetDeviceCount(int *n)
{
    *n = (int)fake_get()->n_visible;
    return *n > 0 ? KS_GPU_OK : KS_GPU_ENODEVICE;
}

int hipDeviceGet(int *dev, int i)
{
    if (!is_device(i))
        return KS_GPU_EBADDEVICE;
    *dev = i;
    return KS_GPU_OK;
}

int hipSetDevice(int i)
{
    struct fake_device *d;

    if (!is_device(i))
        return KS_GPU_EBADDEVICE;
    current_device = i;
    d = fake_current();
    fake_log(d->fake, "%d %d open\n", (int)getpid(), d->index);
    return KS_GPU_OK;
}

int hipDeviceGetName(char *name, int cap, int dev)
{
    if (!is_device(dev))
        return KS_GPU_EBADDEVICE;
    snprintf(name, (size_t)cap, "Fake Instinct");
    return KS_GPU_OK;
}

int hipDeviceTotalMem(size_t *bytes, int dev)
{
    if (!is_device(dev))
        return KS_GPU_EBADDEVICE;
    *bytes = fake_get()->config.mem_bytes;
    return KS_GPU_OK;
}

int hipDeviceGetPCIBusId(char *out, int cap, int dev)
{
    if (!is_device(dev))
        return KS_GPU_EBADDEVICE;
    snprintf(out, (size_t)cap, "0000:%02x:00.0", 0xc1 + fake_get()->visible[dev]);
    return KS_GPU_OK;
}

int hipDeviceGetUuid(struct ks_gpu_uuid *out, int dev)
{
    char text[sizeof out->bytes + 1];

    if (!is_device(dev))
        return KS_GPU_EBADDEVICE;
    snprintf(text, sizeof text, "fake%012x", fake_get()->visible[dev]);
    memcpy(out->bytes, text, sizeof out->bytes);
    return KS_GPU_OK;
}

int hipDeviceGetAttribute(int *value, int attribute, int dev)
{
    static const struct {
        int number, value;
    } known[] = {
        { 5, 1700000 },  { 60, 1600000 }, { 23, 9 },   { 61, 0 },
        { 19, 8 << 20 }, { 56, 1024 },    { 63, 104 }, { 87, 64 },
    };

    if (!is_device(dev))
        return KS_GPU_EBADDEVICE;
    if (attribute == 74 || attribute == 75) {
        *value = (int)fake_get()->config.shared_bytes;
        return KS_GPU_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == attribute) {
            *value = known[i].value;
            return KS_GPU_OK;
        }
    return KS_GPU_EINVALID;
}

#define X(name, size, arch_at)                                                                     \
    int name(void *props, int dev)                                                                 \
    {                                                                                              \
        char *p = props;                                                                           \
                                                                                                   \
        if (!is_device(dev))                                                                       \
            return KS_GPU_EBADDEVICE;                                                              \
        memset(p, 0, size);                                                                        \
        snprintf(p, 256, "Fake Instinct");                                                         \
        memcpy(p + (arch_at), fake_get()->config.arch, sizeof(fake_get()->config.arch));           \
        return KS_GPU_OK;                                                                          \
    }
KS_GPU_HIP_PROPS(X)
#undef X

/* --- Memory. Pointers travel as integers. */

static void *pointer(ks_gpu_ptr p)
{
    return (void *)(uintptr_t)p;
}

int hipMemGetInfo(size_t *free_out, size_t *total_out)
{
    struct fake_device *d = fake_current();

    *total_out = d->fake->config.mem_bytes;
    pthread_mutex_lock(&d->pages);
    *free_out = *total_out - d->used;
    pthread_mutex_unlock(&d->pages);
    return fake_state(d);
}

int hipMalloc(ks_gpu_ptr *out, size_t bytes)
{
    struct fake_device *d = fake_current();
    int rc = fake_state(d);
    void *p = NULL;

    if (rc != 0)
        return rc;
    if (fake_fires(d->fake, FAKE_OOM, &(struct fake_site){ .device = d->index, .bytes = bytes }))
        return KS_GPU_EMEMORY;
    rc = fake_memory_alloc(d, bytes, &p);
    if (rc == 0)
        *out = (ks_gpu_ptr)(uintptr_t)p;
    fake_log(d->fake, "%d %d alloc %zu\n", (int)getpid(), d->index, bytes);
    return rc;
}

int hipFree(ks_gpu_ptr p)
{
    struct fake_device *d = fake_current();
    int rc = p ? fake_wait_all(d) : KS_GPU_OK;

    if (!p)
        return KS_GPU_OK;
    return fake_memory_free(d, pointer(p)) == 0 ? rc : KS_GPU_EINVALID;
}

int hipMemcpyHtoD(ks_gpu_ptr dst, const void *src, size_t bytes)
{
    struct fake_device *d = fake_current();
    int rc = fake_wait_all(d);

    if (rc != 0)
        return rc;
    if (!fake_memory_owns(d, pointer(dst), bytes))
        return KS_GPU_EINVALID;
    fake_memory_show(d, pointer(dst));
    memcpy(pointer(dst), src, bytes);
    fake_memory_hide(d, pointer(dst));
    return KS_GPU_OK;
}

int hipMemcpyDtoH(void *dst, ks_gpu_ptr src, size_t bytes)
{
    struct fake_device *d = fake_current();
    int rc = fake_wait_all(d);

    if (rc != 0)
        return rc;
    if (!fake_memory_owns(d, pointer(src), bytes))
        return KS_GPU_EINVALID;
    fake_memory_show(d, pointer(src));
    memcpy(dst, pointer(src), bytes);
    fake_memory_hide(d, pointer(src));
    return KS_GPU_OK;
}

/* At the end of the queue of the stream's device; op is one of memory, a record or a host's. */
static int push(void *stream, const struct fake_op *op)
{
    struct fake_stream *s = stream;
    struct fake_device *d = s ? s->dev : fake_current();
    struct fake_op *copy;
    int rc = fake_state(d);

    if (rc != 0)
        return rc;
    if (op->dst && !fake_memory_owns(d, op->dst, op->what == OP_FILL ? 4 * op->n : op->n))
        return KS_GPU_EINVALID;
    if (op->src && !fake_memory_owns(d, op->src, op->n))
        return KS_GPU_EINVALID;
    copy = malloc(sizeof *copy);
    if (!copy)
        return KS_GPU_EMEMORY;
    *copy = *op;
    return fake_push(d, copy);
}

static double bandwidth_ns(size_t bytes)
{
    return 1000 + (double)bytes / 1600.0; /* 1.6e12 bytes a second */
}

int hipMemcpyDtoDAsync(ks_gpu_ptr dst, ks_gpu_ptr src, size_t bytes, void *stream)
{
    return push(stream, &(struct fake_op){ .what = OP_COPY,
                                           .dst = pointer(dst),
                                           .src = pointer(src),
                                           .n = bytes,
                                           .ns = bandwidth_ns(2 * bytes) });
}

int hipMemsetD32Async(ks_gpu_ptr dst, unsigned pattern, size_t n, void *stream)
{
    return push(stream, &(struct fake_op){ .what = OP_FILL,
                                           .dst = pointer(dst),
                                           .n = n,
                                           .pattern = pattern,
                                           .ns = bandwidth_ns(4 * n) });
}

int hipLaunchHostFunc(void *stream, ks_gpu_host_fn fn, void *arg)
{
    return push(stream, &(struct fake_op){ .what = OP_HOST, .host = fn, .host_arg = arg });
}

/* --- Streams: all of a device are one queue. */

int hipDeviceSynchronize(void)
{
    return fake_wait_all(fake_current());
}

int hipStreamCreateWithFlags(void **out, unsigned flags)
{
    struct fake_device *d = fake_current();
    struct fake_stream *s;
    int rc = fake_state(d);

    (void)flags;
    if (rc != 0)
        return rc;
    s = calloc(1, sizeof *s);
    if (!s)
        return KS_GPU_EMEMORY;
    s->dev = d;
    *out = s;
    return KS_GPU_OK;
}

int hipStreamDestroy(void *stream)
{
    struct fake_stream *s = stream;
    int rc = fake_wait_all(s->dev);

    free(s);
    return rc;
}

int hipStreamSynchronize(void *stream)
{
    struct fake_stream *s = stream;

    return fake_wait_all(s ? s->dev : fake_current());
}

/* --- Events */

int hipEventCreateWithFlags(void **out, unsigned flags)
{
    struct fake_event *e;
    int rc = fake_state(fake_current());

    if (rc != 0)
        return rc;
    e = calloc(1, sizeof *e);
    if (!e)
        return KS_GPU_EMEMORY;
    e->is_timed = !(flags & 2);
    *out = e;
    return KS_GPU_OK;
}

int hipEventRecord(void *event, void *stream)
{
    return push(stream, &(struct fake_op){ .what = OP_RECORD, .event = event });
}

int hipEventSynchronize(void *event)
{
    const struct fake_event *e = event;

    return e->is_recorded ? fake_wait(e->dev, e->seq) : KS_GPU_OK;
}

int hipEventDestroy(void *event)
{
    int rc = hipEventSynchronize(event);

    free(event);
    return rc;
}

static bool is_done(const struct fake_event *e)
{
    bool done;

    pthread_mutex_lock(&e->dev->lock);
    done = e->dev->n_retired >= e->seq;
    pthread_mutex_unlock(&e->dev->lock);
    return done;
}

int hipEventElapsedTime(float *ms, void *start, void *stop)
{
    const struct fake_event *a = start, *b = stop;
    int rc;

    if (!a->is_recorded || !b->is_recorded || !a->is_timed || !b->is_timed)
        return FAKE_EHANDLE;
    rc = fake_state(b->dev);
    if (rc != 0)
        return rc;
    if (!is_done(a) || !is_done(b))
        return FAKE_ENOTREADY;
    *ms = (float)((b->at_ns - a->at_ns) * 1e-6);
    if (fake_fires(b->dev->fake, FAKE_BACKWARDS, &b->site))
        *ms = -*ms;
    return KS_GPU_OK;
}

const char *hipGetErrorName(int code)
{
    switch (code) {
    case KS_GPU_OK:
        return "hipSuccess";
    case KS_GPU_EINVALID:
        return "hipErrorInvalidValue";
    case KS_GPU_EMEMORY:
        return "hipErrorOutOfMemory";
    case FAKE_ENOTINIT:
        return "hipErrorNotInitialized";
    case KS_GPU_ENODEVICE:
        return "hipErrorNoDevice";
    case KS_GPU_EBADDEVICE:
        return "hipErrorInvalidDevice";
    case FAKE_EIMAGE:
        return "hipErrorInvalidImage";
    case FAKE_ENOBINARY:
        return "hipErrorNoBinaryForGpu";
    case FAKE_EHANDLE:
        return "hipErrorInvalidHandle";
    case FAKE_ENOTFOUND:
        return "hipErrorNotFound";
    case FAKE_ENOTREADY:
        return "hipErrorNotReady";
    case KS_GPU_ERESOURCES:
        return "hipErrorLaunchOutOfResources";
    case FAKE_EFAULT:
        return "hipErrorLaunchFailure";
    default:
        return "hipErrorUnknown";
    }
}
