/* SPDX-License-Identifier: MIT */
/* gpu_stub_library.c - the source of the stub libraries; see gpu_stub.h. Included by generated
 * files that define STUB_CUDA as 0 or 1; STUB_LACKS_UUID, STUB_LACKS_GATE, STUB_LACKS_COPY and
 * STUB_R0600 vary it. */
#include "tests/unit/gpu_stub.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if STUB_CUDA
#define N(hip, cuda) cuda
#else
#define N(hip, cuda) hip
#endif
#define NAMED(hip, cuda) (STUB_CUDA ? #cuda : #hip)

struct stub stub;

struct event {
    double at;
};
struct op {
    char kind; /* l launch, r record, f fill, c copy, g gate */
    void *p, *q;
    unsigned value;
    size_t n;
    void (*fn)(void *);
};
static struct op ops[8192];
static double clock_ns;
/* What a device that died has not freed is the runtime's, not lost; volatile: nobody reads it. */
static void *volatile kept[1 << 14];
static unsigned n_kept;

static void *keep(void *p)
{
    kept[n_kept++ % (sizeof(kept) / sizeof(kept[0]))] = p;
    return p;
}

static int ends_with(const char *s, const char *end)
{
    size_t a = strlen(s), b = strlen(end);

    return a >= b && strcmp(s + a - b, end) == 0;
}

static int enter(const char *name)
{
    if (stub.sticky)
        return stub.sticky;
    if (stub.fail_name && ends_with(name, stub.fail_name) && stub.fail_nth-- <= 0)
        return stub.fail_code;
    return 0;
}

static void push(struct op op)
{
    ops[stub.n_pending++] = op;
    if (stub.n_pending > stub.max_pending)
        stub.max_pending = stub.n_pending;
    if (stub.n_log + 1 < sizeof(stub.log))
        stub.log[stub.n_log++] = op.kind;
}

static void run(const struct op *o)
{
    uint32_t *words = o->p;

    switch (o->kind) {
    case 'l':
        clock_ns += stub.ns_launch;
        *(float *)o->p += 1.0f;
        break;
    case 'r':
        clock_ns += 5;
        ((struct event *)o->p)->at = clock_ns;
        break;
    case 'f':
        for (size_t i = 0; i < o->n; i++)
            words[i] = o->value;
        clock_ns += stub.ns_per_byte * 4 * (double)o->n;
        break;
    case 'c':
        memcpy(o->p, o->q, o->n);
        clock_ns += stub.ns_per_byte * (double)o->n;
        break;
    case 'g':
        o->fn(o->p);
        break;
    }
}

static void drain(void)
{
    for (unsigned i = 0; i < stub.n_pending; i++)
        run(&ops[i]);
    stub.n_pending = 0;
}

int N(hipInit, cuInit)(unsigned flags)
{
    (void)flags;
    return stub.init_code;
}

int N(hipDriverGetVersion, cuDriverGetVersion)(int *v)
{
    *v = STUB_CUDA ? 13010 : 50221153;
    return 0;
}

int N(hipGetDeviceCount, cuDeviceGetCount)(int *n)
{
    int planned = enter(NAMED(hipGetDeviceCount, cuDeviceGetCount));

    if (planned)
        return planned;
    *n = stub.n_devices;
    return 0;
}

int N(hipDeviceGet, cuDeviceGet)(int *d, int i)
{
    *d = i;
    return i < stub.n_devices ? 0 : 101;
}

int N(hipDeviceGetName, cuDeviceGetName)(char *s, int n, int d)
{
    snprintf(s, (size_t)n, stub.is_mig ? "Stub %d MIG 1g.5gb" : "Stub %d", d);
    return 0;
}

int N(hipDeviceTotalMem, cuDeviceTotalMem_v2)(size_t *n, int d)
{
    (void)d;
    *n = stub.memory;
    return 0;
}

int N(hipDeviceGetPCIBusId, cuDeviceGetPCIBusId)(char *s, int n, int d)
{
    if (stub.is_partitioned)
        snprintf(s, (size_t)n, "0000:c1:00.%d", d);
    else
        snprintf(s, (size_t)n, STUB_CUDA ? "00000000:%02X:00.0" : "0000:%02x:00.0", 0xc1 + d);
    return 0;
}

#ifndef STUB_LACKS_UUID
int N(hipDeviceGetUuid, cuDeviceGetUuid_v2)(char *uuid, int d)
{
    memset(uuid, 0, 16);
    if (stub.uuid)
        memcpy(uuid, stub.uuid, 15), uuid[15] = (char)('0' + (stub.is_partitioned ? 0 : d));
    return 0;
}
#endif

int N(hipDeviceGetAttribute, cuDeviceGetAttribute)(int *v, int a, int d)
{
    const int rows[][3] = {
        { 5, 13, 1700000 },
        { 60, 36, 1600000 },
        { 23, 75, 9 },
        { 61, 76, 0 },
        { 19, 38, 8 << 20 },
        { 56, 1, 1024 },
        { 63, 16, 104 },
        { 74, 8, stub.shared_plain },
        { 75, 97, stub.shared_limit },
        { 87, 10, STUB_CUDA ? 32 : 64 },
    };

    (void)d;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i][STUB_CUDA] == a) {
            *v = rows[i][2];
            return 0;
        }
    }
    return 1;
}

int N(hipDeviceSynchronize, cuCtxSynchronize)(void)
{
    drain();
    return stub.sticky;
}

int N(hipMemGetInfo, cuMemGetInfo_v2)(size_t *f, size_t *t)
{
    *t = stub.memory;
    *f = stub.memory - stub.used;
    return 0;
}

/* Aligned as badly as CUDA may: a header of 256 bytes before each block. */
int N(hipMalloc, cuMemAlloc_v2)(uint64_t *p, size_t n)
{
    char *b;

    int planned = enter(NAMED(hipMalloc, cuMemAlloc_v2));

    if (planned)
        return planned;
    if (n > stub.memory - stub.used)
        return 2;
    b = keep(aligned_alloc(4096, (n + 256 + 4095) / 4096 * 4096));
    memcpy(b, &n, sizeof(n));
    stub.used += n;
    stub.n_blocks++;
    *p = (uintptr_t)(b + 256);
    return 0;
}

int N(hipFree, cuMemFree_v2)(uint64_t p)
{
    char *b = (char *)(uintptr_t)p - 256;
    size_t n;

    drain();
    memcpy(&n, b, sizeof(n));
    stub.used -= n;
    stub.n_blocks--;
    free(b);
    return stub.sticky;
}

int N(hipMemcpyHtoD, cuMemcpyHtoD_v2)(uint64_t d, const void *s, size_t n)
{
    int planned = enter(NAMED(hipMemcpyHtoD, cuMemcpyHtoD_v2));

    if (planned)
        return planned;
    memcpy((void *)(uintptr_t)d, s, n);
    return 0;
}

#ifndef STUB_LACKS_COPY
int N(hipMemcpyDtoH, cuMemcpyDtoH_v2)(void *d, uint64_t s, size_t n)
{
    int planned = enter(NAMED(hipMemcpyDtoH, cuMemcpyDtoH_v2));

    if (planned)
        return planned;
    memcpy(d, (void *)(uintptr_t)s, n);
    return 0;
}
#endif
int N(hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)(uint64_t d, uint64_t s, size_t n, void *st)
{
    int planned = enter(NAMED(hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2));

    (void)st;
    if (planned)
        return planned;
    push((struct op){ .kind = 'c', .p = (void *)(uintptr_t)d, .q = (void *)(uintptr_t)s, .n = n });
    return 0;
}

int N(hipMemsetD32Async, cuMemsetD32Async)(uint64_t d, unsigned v, size_t n, void *st)
{
    int planned = enter(NAMED(hipMemsetD32Async, cuMemsetD32Async));

    (void)st;
    if (planned)
        return planned;
    stub.n_sweeps += n >= ((size_t)16 << 20) / 4;
    push((struct op){ .kind = 'f', .p = (void *)(uintptr_t)d, .value = v, .n = n });
    return 0;
}

int N(hipStreamCreateWithFlags, cuStreamCreate)(void **s, unsigned f)
{
    int planned = enter(NAMED(hipStreamCreateWithFlags, cuStreamCreate));

    if (planned)
        return planned;
    *s = keep(malloc(1));
    return f == 1 ? 0 : 1;
}

int N(hipStreamDestroy, cuStreamDestroy_v2)(void *s)
{
    free(s);
    return 0;
}

int N(hipStreamSynchronize, cuStreamSynchronize)(void *s)
{
    (void)s;
    drain();
    return enter(NAMED(hipStreamSynchronize, cuStreamSynchronize));
}

int N(hipEventCreateWithFlags, cuEventCreate)(void **e, unsigned f)
{
    int planned = enter(NAMED(hipEventCreateWithFlags, cuEventCreate));

    if (planned)
        return planned;
    if (f & ~stub.event_flags_known)
        return 1;
    stub.event_flags = f;
    *e = keep(calloc(1, sizeof(struct event)));
    return 0;
}

int N(hipEventDestroy, cuEventDestroy_v2)(void *e)
{
    free(e);
    return 0;
}

int N(hipEventRecord, cuEventRecord)(void *e, void *s)
{
    int planned = enter(NAMED(hipEventRecord, cuEventRecord));

    (void)s;
    if (planned)
        return planned;
    push((struct op){ .kind = 'r', .p = e });
    return 0;
}

int N(hipEventSynchronize, cuEventSynchronize)(void *e)
{
    (void)e;
    drain();
    return enter(NAMED(hipEventSynchronize, cuEventSynchronize));
}

static int between(float *ms, struct event *a, struct event *b)
{
    *ms = (float)((b->at - a->at) * 1e-6);
    return 0;
}

int N(hipEventElapsedTime, cuEventElapsedTime)(float *ms, void *a, void *b)
{
    int planned = enter(NAMED(hipEventElapsedTime, cuEventElapsedTime));

    if (planned)
        return planned;
    return between(ms, a, b);
}

#ifndef STUB_LACKS_GATE
int N(hipLaunchHostFunc, cuLaunchHostFunc)(void *s, void (*fn)(void *), void *p)
{
    int planned = enter(NAMED(hipLaunchHostFunc, cuLaunchHostFunc));

    (void)s;
    if (planned)
        return planned;
    stub.n_gates++;
    if (stub.is_eager)
        fn(p);
    push((struct op){ .kind = 'g', .fn = fn, .p = p });
    return 0;
}
#endif

/* An image is a text; a kernel of it is any name the text contains. */
int N(hipModuleLoadData, cuModuleLoadData)(void **m, const void *image)
{
    int planned = enter(NAMED(hipModuleLoadData, cuModuleLoadData));

    if (planned)
        return planned;
    *m = keep(strdup(image));
    stub.n_loaded++;
    return 0;
}

int N(hipModuleUnload, cuModuleUnload)(void *m)
{
    free(m);
    stub.n_loaded--;
    return 0;
}

int N(hipModuleGetFunction, cuModuleGetFunction)(void **f, void *m, const char *name)
{
    int planned = enter(NAMED(hipModuleGetFunction, cuModuleGetFunction));

    if (planned)
        return planned;
    *f = strstr(m, name);
    return *f ? 0 : 500;
}

int N(hipFuncGetAttribute, cuFuncGetAttribute)(int *v, int a, void *f)
{
    (void)f;
    *v = a == 0 ? stub.max_threads : a == 1 ? stub.static_shared : a == 4 ? stub.registers : 0;
    return 0;
}

int N(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
      cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *n, void *f, int b, size_t s)
{
    (void)f;
    (void)b;
    (void)s;
    *n = stub.occupancy;
    return 0;
}

int N(hipModuleLaunchKernel, cuLaunchKernel)(void *f, unsigned gx, unsigned gy, unsigned gz,
                                             unsigned bx, unsigned by, unsigned bz, unsigned sh,
                                             void *st, void **args, void **extra)
{
    int planned = enter(NAMED(hipModuleLaunchKernel, cuLaunchKernel));

    (void)f;
    (void)by;
    (void)bz;
    (void)st;
    (void)extra;
    if (planned)
        return planned;
    stub.last_grid[0] = gx, stub.last_grid[1] = gy, stub.last_grid[2] = gz;
    stub.last_block = bx, stub.last_shared = sh;
    stub.n_launches++;
    push((struct op){ .kind = 'l', .p = *(void **)args[0] });
    return 0;
}

#if STUB_CUDA
int cuDevicePrimaryCtxRetain(void **c, int d)
{
    *c = (void *)(uintptr_t)(d + 1);
    stub.n_retained++;
    return stub.n_busy-- > 0 ? 46 : 0;
}

int cuDevicePrimaryCtxRelease_v2(int d)
{
    (void)d;
    return 0;
}

int cuCtxSetCurrent(void *c)
{
    (void)c;
    return enter("cuCtxSetCurrent");
}

int cuFuncSetAttribute(void *f, int a, int v)
{
    (void)f;
    stub.dynamic_shared = a == 8 ? v : -1;
    return 0;
}

int cuGetErrorName(int e, const char **s)
{
    *s = e == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
         : e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
                  : "CUDA_ERROR_OTHER";
    return e == 4242 ? 1 : 0;
}

#ifdef STUB_EVENT_V2
int cuEventElapsedTime_v2(float *ms, void *a, void *b)
{
    return between(ms, a, b);
}
#endif
#else
int hipSetDevice(int d)
{
    (void)d;
    return enter("hipSetDevice");
}

const char *hipGetErrorName(int e)
{
    return e == 719    ? "hipErrorLaunchFailure"
           : e == 2    ? "hipErrorOutOfMemory"
           : e == 4242 ? NULL
                       : "hipErrorOther";
}

#ifdef STUB_R0600
int hipGetDevicePropertiesR0600(char *p, int d)
{
    (void)d;
    memset(p, 'x', 1472);
    snprintf(p + 1160, 256, "%s", stub.arch);
    return 0;
}
#endif
int hipGetDeviceProperties(char *p, int d)
{
    (void)d;
    memset(p, 'y', 792);
    snprintf(p + 396, 256, "%s", stub.arch);
    return 0;
}
#endif
