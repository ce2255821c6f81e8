/* SPDX-License-Identifier: MIT */
/* device_gpu_time.c - timing with events: samples are enqueued ahead of the device, so that it
 * never waits for the host between the two events of one. */
#include "base/clock.h"
#include "device/gpu_device.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A part of the last-level cache that stays beside what is touched, so that few copies are needed.
 */
#define SCRATCH_MIN   ((size_t)2 << 20)
#define SCRATCH_MAX   ((size_t)16 << 20)
#define SCRATCH_SHARE 8u
#define SWEEP_MIN     ((size_t)32 << 20)
#define GATE_NS       5000000u /* a stream is never held back for longer */
#define GATE_LAUNCHES 256u     /* a runtime's queue takes more than these without waiting */
#define GATE_TRIES    3
#define HOST_LEAD     1.5 /* so much longer than its launch must a call be to be ahead of it */
#define AHEAD_NS      5e5 /* work in the queue of such a device before it begins: the host may pause */
#define AHEAD_MIN     8u
#define CANARY_ROUNDS 3
#define CANARY_FILLS  64u /* so many that the resolution of events is less than 1 % of them */
#define CANARY_BYTES  ((size_t)1 << 20)
#define CANARY_LONG   8u /* fills of SWEEP_MIN */
#define SELF_WORDS    4096u
#define SELF_PATTERN  0x3c96a55au

/* --- the gate: the stream waits until enough work stands behind it */

int ks_gpu_gate_init(struct ks_gpu_gate *gate, struct ks_err *err)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);

    gate->is_open = true;
    if (rc == 0)
        rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (rc == 0)
        rc = pthread_cond_init(&gate->opened, &attr);
    pthread_condattr_destroy(&attr);
    if (rc == 0)
        rc = pthread_mutex_init(&gate->mutex, NULL);
    return rc == 0 ? 0 : ks_fail(err, KS_ENOMEM, "holding a stream back: %s", strerror(rc));
}

void ks_gpu_gate_release(struct ks_gpu_gate *gate)
{
    pthread_cond_destroy(&gate->opened);
    pthread_mutex_destroy(&gate->mutex);
}

static void gate_wait(void *device)
{
    struct ks_gpu_gate *gate = &((struct ks_gpu_device *)device)->gate;
    uint64_t until = ks_now_ns() + GATE_NS;
    const struct timespec end = { .tv_sec = (time_t)(until / 1000000000u),
                                  .tv_nsec = (long)(until % 1000000000u) };
    int rc = 0;

    pthread_mutex_lock(&gate->mutex);
    while (!gate->is_open && rc == 0)
        rc = pthread_cond_timedwait(&gate->opened, &gate->mutex, &end);
    pthread_mutex_unlock(&gate->mutex);
}

static void gate_set(struct ks_gpu_device *g, bool is_open)
{
    pthread_mutex_lock(&g->gate.mutex);
    g->gate.is_open = is_open;
    if (is_open)
        pthread_cond_broadcast(&g->gate.opened);
    pthread_mutex_unlock(&g->gate.mutex);
}

static void gate_shut(struct ks_gpu_device *g)
{
    if (!g->has_gate)
        return;
    gate_set(g, false);
    if (g->api.host_func(g->stream, gate_wait, g) != KS_GPU_OK)
        gate_set(g, true);
}

/* --- samples */

struct sampling {
    struct ks_gpu_device *g;
    const struct ks_timing *t;
    struct ks_abi_buffers buf;
    struct ks_gpu_run run;
    struct ks_gpu_launcher launcher;
    uint32_t depth, ahead, n_launched;
    uint64_t host_ns; /* spent on launching the samples */
    int *kernel_rc_out;
};

/* HIP's default event ends with a system-scope release: it writes back the L2 cache, inside the
 * timed span, and the next sample finds it cold. Only times are read from these events; outputs are
 * read after the stream was synchronized. A runtime that does not know a flag rejects it as
 * invalid; the next row is tried then. Source: HIP, hip_runtime_api.h, event flags. */
static int make_event(struct ks_gpu_device *g, void **event_out, struct ks_err *err)
{
    static const unsigned flags[] = { KS_GPU_EVENT_NO_SYSTEM_FENCE, KS_GPU_EVENT_DEVICE_RELEASE,
                                      0 };
    const uint32_t last = sizeof(flags) / sizeof(flags[0]) - 1;
    int code;

    if (g->api.vendor == KS_GPU_CUDA)
        g->i_event_flags = last;
    code = g->api.event_create(event_out, flags[g->i_event_flags]);
    while (code == KS_GPU_EINVALID && g->i_event_flags < last)
        code = g->api.event_create(event_out, flags[++g->i_event_flags]);
    return ks_gpu_status(g, code, KS_EDEVICE, err, "making an event");
}

static int make_events(struct ks_gpu_device *g, uint32_t n, struct ks_err *err)
{
    int rc = 0;

    while (rc == 0 && g->n_events < n) {
        void *start = NULL, *stop = NULL;

        rc = make_event(g, &start, err);
        if (rc == 0)
            rc = make_event(g, &stop, err);
        if (rc < 0 && start != NULL && g->lost == 0)
            g->api.event_destroy(start);
        if (rc < 0)
            break;
        g->starts[g->n_events] = start;
        g->stops[g->n_events++] = stop;
    }
    return rc;
}

static int record(struct ks_gpu_device *g, void *event, struct ks_err *err)
{
    return ks_gpu_status(g, g->api.event_record(event, g->stream), KS_EDEVICE, err,
                         "recording an event");
}

/* A runtime may take no work behind the gate before it is open: it would hold back the host, too.
 * In doubt that was another program. */
static int gate_is_passed(struct ks_gpu_device *g, bool *is_passed, struct ks_err *err)
{
    uint64_t from = ks_now_ns();
    int rc;

    gate_shut(g);
    rc = record(g, g->starts[0], err);
    *is_passed = ks_now_ns() - from < GATE_NS / 2;
    gate_set(g, true);
    return rc < 0 ? rc : ks_gpu_sync(g, KS_EDEVICE, err, "first use of the stream");
}

int ks_gpu_gate_try(struct ks_gpu_device *g, struct ks_err *err)
{
    bool is_passed = false;
    int rc;

    gate_set(g, true);
    if (g->api.host_func == NULL)
        return 0;
    /* Starts the runtime's thread for it too: later, new threads may be forbidden. */
    g->has_gate = g->api.host_func(g->stream, gate_wait, g) == KS_GPU_OK;
    rc = ks_gpu_sync(g, KS_EDEVICE, err, "first use of the stream");
    if (rc == 0)
        rc = make_events(g, 1, err);
    for (int i = 0; rc == 0 && g->has_gate && !is_passed && i < GATE_TRIES; i++)
        rc = gate_is_passed(g, &is_passed, err);
    g->has_gate = g->has_gate && is_passed;
    return rc;
}

static int elapsed(struct ks_gpu_device *g, uint32_t i, double *ns_out, struct ks_err *err)
{
    float ms = 0;
    int rc =
        ks_gpu_status(g, g->api.event_sync(g->stops[i]), KS_EDEVICE, err, "waiting for the kernel");

    if (rc == 0)
        rc = ks_gpu_status(g, g->api.event_ms(&ms, g->starts[i], g->stops[i]), KS_EDEVICE, err,
                           "reading the events' clock");
    if (rc == 0)
        *ns_out = (double)ms * 1e6;
    return rc;
}

/* A plug-in's launch may have broken the device without saying so in its own numbers. */
static int run_failed(struct sampling *s, int kernel_rc, struct ks_err *err)
{
    int rc;

    *s->kernel_rc_out = kernel_rc;
    if (s->run.rc < 0) {
        if (err != NULL)
            *err = s->run.err;
        return s->run.rc;
    }
    rc = ks_gpu_sync(s->g, KS_EDEVICE, err, "the kernel");
    return rc < 0 ? rc : ks_fail(err, KS_EDEVICE, "the kernel returned %d", kernel_rc);
}

static int run_calls(struct sampling *s, struct ks_err *err)
{
    for (uint32_t i = 0; i < s->t->calls; i++) {
        int kernel_rc = s->run.entry->abi.run(s->t->problem, &s->buf);

        if (kernel_rc != 0 || s->run.rc < 0)
            return run_failed(s, kernel_rc, err);
        if (++s->n_launched == s->ahead)
            gate_set(s->g, true);
    }
    return 0;
}

/* The probe's launch before (0) or behind (1) all samples. */
static int read_clock(struct sampling *s, int i, struct ks_err *err)
{
    const struct ks_clock_probe *p = s->t->clock;
    struct ks_gpu_run run = { .entry = (struct ks_gpu_entry *)(uintptr_t)p->entry };
    struct ks_gpu_launcher launcher = ks_gpu_launcher_of(&run);
    struct ks_abi_buffers buf = p->buf[i];
    int code;

    buf.stream = s->g->stream;
    buf.gpu = &launcher.base;
    code = p->entry->run(p->problem, &buf);
    if (run.rc < 0 && err != NULL)
        *err = run.err;
    if (run.rc < 0)
        return run.rc;
    return code == 0 ? 0 : ks_fail(err, KS_EDEVICE, "reading the clock: error %d", code);
}

static int enqueue(struct sampling *s, uint32_t i, struct ks_err *err)
{
    int rc = s->t->is_cold ? ks_gpu_sweep(s->g, err) : 0;

    if (s->t->is_untimed)
        return rc < 0 ? rc : run_calls(s, err);
    if (rc == 0)
        rc = record(s->g, s->g->starts[i], err);
    if (rc == 0)
        rc = run_calls(s, err);
    if (rc == 0)
        rc = record(s->g, s->g->stops[i], err);
    return rc;
}

/* A runtime may load a kernel at its first launch, and wait for the device to do so. */
static bool is_gate_free(const struct ks_gpu_entry *e)
{
    return e->prefix == NULL || e->kernels[0].block != 0;
}

/* As many samples as fit into the queue, enqueued ahead of the device. */
static int sample_batch(struct sampling *s, uint32_t first, uint32_t n, double *ns,
                        struct ks_err *err)
{
    const bool has_clock = s->t->clock != NULL;
    uint64_t from;
    int rc = 0;

    if (is_gate_free(s->run.entry) && !s->t->is_untimed)
        gate_shut(s->g);
    s->n_launched = 0;
    if (has_clock && first == 0)
        rc = read_clock(s, 0, err);
    from = ks_now_ns();
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = enqueue(s, i, err);
    s->host_ns += ks_now_ns() - from;
    if (rc == 0 && has_clock && first + n == s->t->n_samples)
        rc = read_clock(s, 1, err);
    gate_set(s->g, true);
    if (rc == 0 && s->t->is_untimed)
        return ks_gpu_sync(s->g, KS_EDEVICE, err, "waiting for the kernel");
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = elapsed(s->g, i, &ns[i], err);
    return rc;
}

static bool is_behind(double device_ns, double host_ns)
{
    return device_ns > HOST_LEAD * host_ns;
}

uint32_t ks_gpu_ahead(double device_ns, double host_ns)
{
    double n = is_behind(device_ns, host_ns) ? AHEAD_NS / device_ns : GATE_LAUNCHES;

    if (n >= GATE_LAUNCHES)
        return GATE_LAUNCHES;
    return n > AHEAD_MIN ? (uint32_t)n : AHEAD_MIN;
}

/* Where a call is over sooner than the next is launched, the device would catch up with the host,
 * and the samples would be of its pace: no more calls there than wait behind the gate. */
static uint32_t batch_of(const struct sampling *s)
{
    const struct ks_gpu_entry *e = s->run.entry;
    uint32_t n = GATE_LAUNCHES / s->t->calls;

    if (n >= s->depth || is_behind(e->device_ns, e->host_ns))
        return s->depth;
    return n > 0 ? n : 1;
}

static int sample_all(struct sampling *s, double *ns, struct ks_err *err)
{
    struct ks_gpu_entry *e = s->run.entry;
    uint32_t n = s->t->n_samples, batch = batch_of(s);
    double sum_ns = 0, n_calls = (double)n * s->t->calls;
    int rc = 0;

    s->ahead = ks_gpu_ahead(e->device_ns, e->host_ns);
    for (uint32_t i = 0; rc == 0 && i < n; i += batch)
        rc = sample_batch(s, i, n - i < batch ? n - i : batch, ns + i, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        sum_ns += ns[i];
    if (rc == 0 && !s->t->is_untimed) {
        e->device_ns = sum_ns / n_calls;
        e->host_ns = (double)s->host_ns / n_calls;
    }
    return rc;
}

int ks_gpu_time_samples(struct ks_device *dev, const struct ks_timing *t, double *ns_out,
                        int *kernel_rc_out, struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    struct sampling s = { .g = g, .t = t, .kernel_rc_out = kernel_rc_out };
    double *ns;
    int rc = ks_gpu_ready(g, err);

    s.depth = t->n_samples < KS_GPU_QUEUE ? t->n_samples : KS_GPU_QUEUE;
    if (rc == 0)
        rc = make_events(g, s.depth, err);
    if (rc < 0 || t->n_samples == 0)
        return rc;
    ns = calloc(t->n_samples, sizeof(*ns));
    if (ns == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for %u samples", t->n_samples);
    s.buf = *t->buf;
    s.buf.stream = g->stream;
    /* module_entry gave the first member of one of ours */
    s.run.entry = (struct ks_gpu_entry *)(uintptr_t)t->entry;
    s.launcher = ks_gpu_launcher_of(&s.run);
    s.buf.gpu = s.run.entry->prefix != NULL ? &s.launcher.base : NULL;
    rc = sample_all(&s, ns, err);
    if (rc == 0)
        memcpy(ns_out, ns, t->n_samples * sizeof(*ns));
    else if (g->lost == 0)
        (void)ks_gpu_sync(g, KS_EDEVICE, NULL, ""); /* nothing of it runs on after us */
    if (rc == KS_EDEVLOST)
        *kernel_rc_out = g->lost;
    free(ns);
    return rc;
}

/* --- caches */

static size_t scratch_bytes(const struct ks_gpu_device *g)
{
    size_t bytes = g->props.cache_bytes / SCRATCH_SHARE / 4096 * 4096;

    bytes = bytes < SCRATCH_MAX ? bytes : SCRATCH_MAX;
    return bytes > SCRATCH_MIN ? bytes : SCRATCH_MIN;
}

static int need_scratch(struct ks_gpu_device *g, struct ks_err *err)
{
    if (g->scratch != 0)
        return 0;
    return ks_gpu_status(g, g->api.mem_alloc(&g->scratch, scratch_bytes(g)), KS_EDEVICE, err,
                         "memory of its own");
}

/* Twice the last-level cache, as long as that is a small part of the memory. */
static int need_sweep(struct ks_gpu_device *g, struct ks_err *err)
{
    size_t bytes = 2 * (size_t)g->props.cache_bytes, most = g->props.memory_bytes / 16;
    int rc;

    if (g->sweep != 0)
        return 0;
    bytes = bytes < SWEEP_MIN ? SWEEP_MIN : bytes;
    bytes = bytes > most ? most / 4096 * 4096 : bytes;
    rc = ks_gpu_status(g, g->api.mem_alloc(&g->sweep, bytes), KS_EDEVICE, err,
                       "memory for flushing caches");
    if (rc == 0)
        g->sweep_bytes = bytes;
    return rc;
}

int ks_gpu_sweep(struct ks_gpu_device *g, struct ks_err *err)
{
    int rc = need_sweep(g, err);

    if (rc == 0)
        rc = ks_gpu_status(g, g->api.set32(g->sweep, SELF_PATTERN, g->sweep_bytes / 4, g->stream),
                           KS_EDEVICE, err, "flushing caches");
    return rc;
}

int ks_gpu_flush(struct ks_device *dev, struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    int rc = ks_gpu_ready(g, err);

    if (rc == 0)
        rc = ks_gpu_sweep(g, err);
    if (rc == 0)
        rc = ks_gpu_sync(g, KS_EDEVICE, err, "flushing caches");
    return rc;
}

/* Reading is copying to a place so small that it displaces nothing. */
int ks_gpu_touch(struct ks_device *dev, const void *ptr, size_t bytes, struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    ks_gpu_ptr from = (uintptr_t)ptr;
    const size_t step = scratch_bytes(g);
    int rc = ks_gpu_ready(g, err);

    if (rc == 0)
        rc = need_scratch(g, err);
    for (size_t at = 0; rc == 0 && at < bytes; at += step) {
        size_t n = bytes - at < step ? bytes - at : step;

        rc = ks_gpu_status(g, g->api.d2d(g->scratch, from + at, n, g->stream), KS_EDEVICE, err,
                           "reading a buffer");
    }
    return rc;
}

/* --- is it well? */

/* Where nothing holds the stream back, a fill must take longer than its launch: else the host's
 * pace would be measured, and a host that is busy be taken for a device that is disturbed. */
static int canary_block(struct ks_gpu_device *g, ks_gpu_ptr *at_out, size_t *bytes_out,
                        struct ks_err *err)
{
    int rc = g->has_gate ? need_scratch(g, err) : need_sweep(g, err);

    if (rc < 0)
        return rc;
    *at_out = g->has_gate ? g->scratch : g->sweep;
    *bytes_out = g->has_gate ? CANARY_BYTES : g->sweep_bytes;
    *bytes_out = *bytes_out < SWEEP_MIN ? *bytes_out : SWEEP_MIN;
    return 0;
}

static int canary_once(struct ks_gpu_device *g, double *ns_out, struct ks_err *err)
{
    ks_gpu_ptr at = 0;
    size_t bytes = 0;
    const unsigned n = g->has_gate ? CANARY_FILLS : CANARY_LONG;
    int rc = canary_block(g, &at, &bytes, err);

    if (rc < 0)
        return rc;
    gate_shut(g);
    rc = record(g, g->starts[0], err);
    for (unsigned i = 0; rc == 0 && i < n; i++)
        rc = ks_gpu_status(g, g->api.set32(at, SELF_PATTERN, bytes / 4, g->stream), KS_EDEVICE, err,
                           "canary");
    if (rc == 0)
        rc = record(g, g->stops[0], err);
    gate_set(g, true);
    return rc < 0 ? rc : elapsed(g, 0, ns_out, err);
}

/* A power cap lowers the clock under a heavy kernel, and the canary that follows it is slower in
 * proportion: that is the kernel's own doing, not a disturbance. So the time is that of the same
 * cycles at the highest clock; unscaled where a clock is not told. */
static double at_highest_clock(struct ks_gpu_device *g, double ns)
{
    const double mhz = g->props.clock_mhz > 0 ? ks_gpu_clock_mhz(g) : KS_UNKNOWN;

    return mhz > 0 ? ns * mhz / g->props.clock_mhz : ns;
}

/* The shortest of a few series of fills of a fixed block. */
int ks_gpu_canary(struct ks_device *dev, double *ns_out, struct ks_err *err)
{
    struct ks_gpu_device *g = ks_gpu_of(dev);
    double best = 0;
    int rc = ks_gpu_ready(g, err);

    if (rc == 0)
        rc = make_events(g, 1, err);
    for (int i = 0; rc == 0 && i < CANARY_ROUNDS; i++) {
        double ns = 0;

        rc = canary_once(g, &ns, err);
        if (rc == 0 && ns > 0 && (best <= 0 || ns < best))
            best = ns;
    }
    if (rc == 0 && best <= 0)
        rc =
            ks_fail(err, KS_EDEVICE, "the events' clock did not advance during the canary's fills");
    if (rc == 0)
        *ns_out = at_highest_clock(g, best);
    return rc;
}

/* Three equal parts: what was sent, a pattern, and a copy of the first two's seam. */
static int self_exchange(struct ks_gpu_device *g, void *mem, uint32_t *words, struct ks_err *err)
{
    const size_t bytes = SELF_WORDS * sizeof(*words);
    ks_gpu_ptr at = (uintptr_t)mem;
    int rc = g->base.ops->upload(&g->base, mem, words, 3 * bytes, err);

    if (rc == 0)
        rc = g->base.ops->fill(&g->base, (char *)mem + bytes, SELF_PATTERN, bytes, err);
    if (rc == 0)
        rc = ks_gpu_status(g, g->api.d2d(at + 2 * bytes, at + bytes / 2, bytes, g->stream),
                           KS_EDEVICE, err, "self test");
    memset(words, 0, 3 * bytes);
    return rc < 0 ? rc : g->base.ops->download(&g->base, words, mem, 3 * bytes, err);
}

static uint32_t self_word(uint32_t i)
{
    if (i >= 2 * SELF_WORDS)
        return self_word(i - 2 * SELF_WORDS + SELF_WORDS / 2);
    return i >= SELF_WORDS ? SELF_PATTERN : i * 2654435761u + 12345u;
}

int ks_gpu_self_test(struct ks_device *dev, struct ks_err *err)
{
    const size_t bytes = 3 * SELF_WORDS * sizeof(uint32_t);
    uint32_t *words = malloc(bytes);
    void *mem = NULL;
    int rc;

    if (words == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for the self test");
    rc = dev->ops->alloc(dev, bytes, &mem, err);
    for (uint32_t i = 0; i < 3 * SELF_WORDS; i++)
        words[i] = i < SELF_WORDS ? self_word(i) : ~i;
    if (rc == 0)
        rc = self_exchange(ks_gpu_of(dev), mem, words, err);
    for (uint32_t i = 0; rc == 0 && i < 3 * SELF_WORDS; i++) {
        if (words[i] != self_word(i))
            rc = ks_fail(err, KS_EDEVICE, "self test: word %u is %08x, not %08x", i, words[i],
                         self_word(i));
    }
    dev->ops->free(dev, mem);
    free(words);
    return rc;
}
