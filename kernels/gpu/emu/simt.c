/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "simt_async.h"
#include "simt_stack.h"
#include "simt_warp.h"
#include "simt_wgmma.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES     ((size_t)4096)
#define STACK_BYTES    ((size_t)256 << 10) /* of a fibre, without its guard page */
#define STACK_STRIDE   (STACK_BYTES + PAGE_BYTES)
#define STACK_SHIFT(i) ((size_t)(i) % 16 * 256) /* else all want the same lines of a cache */

/* --- State of a launch */

enum state { READY, AT_BLOCK, AT_NAMED, AT_WARP, DONE };

struct fibre {
    context ctx;
    char *stack;
    void *fake; /* the sanitizer's */
    enum state state;
    bool has_copied; /* in this block */
    int named;       /* the barrier, AT_NAMED */
};

struct ks_simt_run {
    context host;
    void *host_fake;
    const void *host_stack;
    size_t host_stack_bytes;
    ks_simt_body body;
    void **args;
    int warp, order, n_threads;
    int status;
    uint64_t random;
    char *stacks;
    struct ks_simt_memory shared; /* a page that cannot be touched behind each image */
    bool is_shared_set;
    struct ks_simt_wgmma *wgmma;
    struct ks_simt_maps maps;
    struct ks_simt_op *ops;        /* [n_threads] what a lane that is AT_WARP wants */
    int n_arrived[KS_SIMT_NAMED];  /* threads, at each barrier with a name */
    struct ks_simt_copies *copies; /* [n_threads] of those that have copied in this block */
    struct fibre fibres[];
};

_Thread_local struct ks_simt_cta ks_simt_cta;

const char *ks_simt_status_text(int status)
{
    static const char *const texts[] = {
        [KS_SIMT_OK] = "ok",
        [KS_SIMT_DIVERGED] = "threads wait at a barrier that others of the block never reach",
        [KS_SIMT_SPLIT_WARP] = "an operation of the whole warp by a part of it",
        [KS_SIMT_BAD_WARP] = "a matrix instruction in a warp of another size",
        [KS_SIMT_BAD_SHARED] = "shared memory over the limit, of two sizes, or none",
        [KS_SIMT_BAD_ALIGN] = "a copy or a row of a matrix that is not aligned to its size",
        [KS_SIMT_BAD_LAUNCH] = "a launch with sizes that no device takes",
        [KS_SIMT_NOMEM] = "no memory for the threads' stacks",
        [KS_SIMT_SPLIT_GROUP] = "the warps of a group do different wgmma",
        [KS_SIMT_BAD_DESCRIPTOR] = "a descriptor of no matrix in shared memory",
        [KS_SIMT_NO_FENCE] = "wgmma on registers that are not fenced",
        [KS_SIMT_CHANGED] = "operands or sums of wgmma changed while it was under way",
        [KS_SIMT_UNDER_WAY] = "wgmma that is never waited for, or too many at a time",
    };

    if (status < 0 || (size_t)status >= sizeof texts / sizeof *texts)
        return "unknown";
    return texts[status];
}

static uint64_t draw(struct ks_simt_run *run)
{
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    run->random ^= run->random << 17;
    return run->random >> 16;
}

/* The first n numbers in the launch's order. */
static void permute(struct ks_simt_run *run, uint16_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (uint16_t)(run->order == KS_SIMT_REVERSE ? n - 1 - i : i);
    for (int i = n - 1; run->order == KS_SIMT_SHUFFLE && i > 0; i--) {
        int j = (int)(draw(run) % ((uint64_t)i + 1));
        uint16_t t = out[i];

        out[i] = out[j];
        out[j] = t;
    }
}

/* --- On a fibre's side */

static struct fibre *current(void)
{
    return &ks_simt_cta.run->fibres[ks_simt_cta.tid];
}

static struct ks_simt_copies *copies(void)
{
    struct ks_simt_copies *c = &ks_simt_cta.run->copies[ks_simt_cta.tid];

    if (!current()->has_copied)
        c->n_written = c->n_handed = c->n = c->n_groups = 0;
    current()->has_copied = true;
    return c;
}

static struct ks_simt_op *wanted(void)
{
    return &ks_simt_cta.run->ops[ks_simt_cta.tid];
}

static void to_host(bool is_last)
{
    struct ks_simt_run *run = ks_simt_cta.run;
    struct fibre *f = current();

    stack_leave(is_last ? NULL : &f->fake, run->host_stack, run->host_stack_bytes);
    context_switch(&f->ctx, &run->host);
    stack_enter(f->fake, NULL, NULL);
}

static void fibre_main(void)
{
    struct ks_simt_run *run = ks_simt_cta.run;

    stack_enter(NULL, &run->host_stack, &run->host_stack_bytes);
    run->body(run->args);
    current()->state = DONE;
    to_host(true);
}

static void park(enum state s)
{
    current()->state = s;
    to_host(false);
}

/* The launch is over; this fibre is never resumed. */
static void fail(int status)
{
    ks_simt_cta.run->status = status;
    park(DONE);
}

void ks_simt_barrier(void)
{
    park(AT_BLOCK);
}

/* What thread i has copied precedes what others do behind a barrier. */
static void hand_over(struct ks_simt_run *run, int i)
{
    if (run->fibres[i].has_copied)
        ks_simt_copies_hand_over(&run->copies[i]);
}

/* Returns whether all are there; then those that wait go on. */
static bool arrive(int id, int n)
{
    struct ks_simt_run *run = ks_simt_cta.run;

    if (id < 1 || id >= KS_SIMT_NAMED || n % run->warp != 0 || n > run->n_threads)
        fail(KS_SIMT_DIVERGED);
    hand_over(run, ks_simt_cta.tid);
    if (++run->n_arrived[id] < n)
        return false;
    run->n_arrived[id] = 0;
    for (int i = 0; i < run->n_threads; i++)
        if (run->fibres[i].state == AT_NAMED && run->fibres[i].named == id)
            run->fibres[i].state = READY;
    return true;
}

void ks_simt_named_arrive(int id, int n)
{
    (void)arrive(id, n);
}

void ks_simt_named_sync(int id, int n)
{
    if (arrive(id, n))
        return;
    current()->named = id;
    park(AT_NAMED);
}

void ks_simt_mma(float *c, const void *a, const void *b, int kind, int dtype)
{
    *wanted() = (struct ks_simt_op){
        .what = KS_SIMT_OP_MATRIX, .kind = kind, .form = dtype, .out = c, .a = a, .b = b
    };
    park(AT_WARP);
}

static void need_aligned(const void *p, size_t bytes)
{
    if ((uintptr_t)p % bytes != 0)
        fail(KS_SIMT_BAD_ALIGN);
}

void ks_simt_ldmatrix(uint32_t *regs_out, const void *row, int n, int is_turned)
{
    need_aligned(row, 16);
    *wanted() = (struct ks_simt_op){
        .what = KS_SIMT_OP_LDMATRIX, .kind = n, .form = is_turned, .out = regs_out, .a = row
    };
    park(AT_WARP);
}

void *ks_simt_shared(size_t bytes)
{
    struct ks_simt_run *run = ks_simt_cta.run;
    struct ks_simt_memory *m = &run->shared;
    size_t whole = (bytes + 15) & ~(size_t)15;
    size_t first = KS_SIMT_MAX_SHARED - (whole < KS_SIMT_MAX_SHARED ? whole : 0);

    if (whole > KS_SIMT_MAX_SHARED || (m->bytes && m->bytes != whole))
        fail(KS_SIMT_BAD_SHARED);
    if (!run->is_shared_set) {
        if (!m->bytes)
            memory_close(m->seen, first);
        memset(m->seen + first, 0xff, whole);
        memset(m->async + first, 0xff, whole);
        m->bytes = whole;
        run->is_shared_set = true;
    }
    return m->seen + first;
}

uint32_t ks_simt_address(const void *p)
{
    const struct ks_simt_memory *m = &ks_simt_cta.run->shared;
    ptrdiff_t at = (const char *)p - m->seen;

    if (at < (ptrdiff_t)(KS_SIMT_MAX_SHARED - m->bytes) || at >= (ptrdiff_t)KS_SIMT_MAX_SHARED)
        fail(KS_SIMT_BAD_SHARED);
    return (uint32_t)at;
}

/* --- wgmma */

static void want(struct ks_simt_op op)
{
    *wanted() = op;
    park(AT_WARP);
}

void ks_simt_wgmma(float *d, uint64_t a, uint64_t b, int n, int form)
{
    want((struct ks_simt_op){
        .what = KS_SIMT_OP_WGMMA, .kind = n, .form = form, .out = d, .descriptor = { a, b } });
}

void ks_simt_wgmma_fence(void)
{
    want((struct ks_simt_op){ .what = KS_SIMT_OP_WGMMA_FENCE });
}

void ks_simt_wgmma_commit(void)
{
    want((struct ks_simt_op){ .what = KS_SIMT_OP_WGMMA_COMMIT });
}

void ks_simt_wgmma_wait(int n_pending)
{
    want((struct ks_simt_op){ .what = KS_SIMT_OP_WGMMA_WAIT, .kind = n_pending });
}

/* --- Copies that land late */

void ks_simt_copy_async(void *dst, const void *src, size_t bytes, int is_zero)
{
    static const char zeros[16];
    struct ks_simt_run *run = ks_simt_cta.run;
    bool is_late =
        run->order == KS_SIMT_REVERSE || (run->order == KS_SIMT_SHUFFLE && (draw(run) & 1));

    need_aligned(dst, bytes);
    need_aligned(src, bytes);
    ks_simt_copies_begin(copies(), &run->shared, ks_simt_address(dst), is_zero ? zeros : src,
                         (uint32_t)bytes, is_late);
}

void ks_simt_copy_commit(void)
{
    copies()->n_groups++;
}

void ks_simt_copy_wait(int n_pending)
{
    ks_simt_copies_wait(copies(), &ks_simt_cta.run->shared, n_pending);
}

void ks_simt_show_copies(void)
{
    struct ks_simt_run *run = ks_simt_cta.run;

    ks_simt_copies_show(copies(), &run->shared);
    for (int i = 0; i < run->n_threads; i++)
        if (run->fibres[i].has_copied)
            ks_simt_copies_show_handed(&run->copies[i], &run->shared);
}

/* --- The scheduler */

static void resume(struct ks_simt_run *run, int i)
{
    struct fibre *f = &run->fibres[i];

    ks_simt_cta.tid = i;
    stack_leave(&run->host_fake, f->stack, STACK_BYTES);
    context_switch(&run->host, &f->ctx);
    stack_enter(run->host_fake, NULL, NULL);
}

/* Does what a warp waits for, of which n_waiting lanes are there. */
static int do_op(struct ks_simt_run *run, int first, int n_waiting, int n_lanes)
{
    const struct ks_simt_op *ops = &run->ops[first];

    if (n_waiting != n_lanes || !ks_simt_is_one_op(ops, n_lanes))
        return KS_SIMT_SPLIT_WARP;
    if (ops->what < KS_SIMT_OP_WGMMA)
        return ks_simt_do_warp(&run->maps, ops, n_lanes, run->warp);
    if (run->warp != 32 || n_lanes != 32)
        return KS_SIMT_BAD_WARP;
    return ks_simt_wgmma_do(run->wgmma, first / 32, ops, &run->shared);
}

static int count(const struct ks_simt_run *run, int first, int n, enum state s)
{
    int sum = 0;

    for (int i = first; i < first + n; i++)
        sum += run->fibres[i].state == s;
    return sum;
}

/* Runs one warp until every lane waits for others of the block or is done. */
static int run_warp(struct ks_simt_run *run, int first, int n_lanes)
{
    uint16_t lanes[KS_SIMT_MAX_THREADS];

    for (;;) {
        int n_waiting, rc;

        permute(run, lanes, n_lanes);
        for (int j = 0; j < n_lanes && !run->status; j++)
            if (run->fibres[first + lanes[j]].state == READY)
                resume(run, first + lanes[j]);
        if (run->status)
            return run->status;
        if (count(run, first, n_lanes, READY)) /* the last one has let the others go on */
            continue;
        n_waiting = count(run, first, n_lanes, AT_WARP);
        if (!n_waiting)
            return KS_SIMT_OK;
        rc = do_op(run, first, n_waiting, n_lanes);
        if (rc != KS_SIMT_OK)
            return rc;
        for (int i = first; i < first + n_lanes; i++)
            run->fibres[i].state = READY;
    }
}

static void start_block(struct ks_simt_run *run)
{
    for (int i = 0; i < run->n_threads; i++) {
        struct fibre *f = &run->fibres[i];

        /* What a thread of the block before left there, which never returned. */
        memory_open(f->stack + STACK_BYTES - 2 * PAGE_BYTES, 2 * PAGE_BYTES);
        context_make(&f->ctx, f->stack, STACK_BYTES - STACK_SHIFT(i), fibre_main);
        f->state = READY;
        f->has_copied = false;
    }
    run->is_shared_set = false;
    memset(run->n_arrived, 0, sizeof run->n_arrived);
    ks_simt_wgmma_start(run->wgmma);
}

static int run_block(struct ks_simt_run *run)
{
    int n_warps = (run->n_threads + run->warp - 1) / run->warp;
    uint16_t warps[KS_SIMT_MAX_THREADS];

    start_block(run);
    for (;;) {
        int n_waiting, rc;

        permute(run, warps, n_warps);
        for (int w = 0; w < n_warps; w++) {
            int first = warps[w] * run->warp, left = run->n_threads - first;

            rc = run_warp(run, first, left < run->warp ? left : run->warp);
            if (rc != KS_SIMT_OK)
                return rc;
        }
        if (count(run, 0, run->n_threads, READY))
            continue;
        n_waiting = count(run, 0, run->n_threads, AT_BLOCK);
        if (count(run, 0, run->n_threads, AT_NAMED) || (n_waiting && n_waiting != run->n_threads))
            return KS_SIMT_DIVERGED;
        for (int i = 0; i < KS_SIMT_NAMED && !n_waiting; i++)
            if (run->n_arrived[i])
                return KS_SIMT_DIVERGED;
        rc = ks_simt_wgmma_check(run->wgmma, n_waiting == 0);
        if (rc != KS_SIMT_OK || !n_waiting)
            return rc;
        for (int i = 0; i < run->n_threads; i++) {
            hand_over(run, i);
            run->fibres[i].state = READY;
        }
    }
}

/* Blocks, too, come in the launch's order: shuffled means by steps that meet each block once. */
static int64_t block_step(const struct ks_simt_run *run, int64_t n_blocks)
{
    int64_t step = run->order == KS_SIMT_SHUFFLE ? n_blocks * 5 / 8 + 1 : 1;

    for (;; step++) {
        int64_t a = n_blocks, b = step % n_blocks;

        while (b) {
            int64_t t = a % b;

            a = b;
            b = t;
        }
        if (a == 1)
            return step;
    }
}

static int run_grid(struct ks_simt_run *run)
{
    const int *g = ks_simt_cta.gdim;
    int64_t n = (int64_t)g[0] * g[1] * g[2], step = block_step(run, n), at = 0;
    int rc = KS_SIMT_OK;

    for (int64_t i = 0; i < n && rc == KS_SIMT_OK; i++, at = (at + step) % n) {
        int64_t b = run->order == KS_SIMT_REVERSE ? n - 1 - at : at;

        ks_simt_cta.bid[0] = (int)(b % g[0]);
        ks_simt_cta.bid[1] = (int)(b / g[0] % g[1]);
        ks_simt_cta.bid[2] = (int)(b / g[0] / g[1]);
        rc = run_block(run);
    }
    return rc;
}

/* --- A launch */

static size_t stacks_bytes(const struct ks_simt_run *run)
{
    return (size_t)run->n_threads * STACK_STRIDE + PAGE_BYTES +
           2 * (KS_SIMT_MAX_SHARED + PAGE_BYTES);
}

static void run_destroy(struct ks_simt_run *run)
{
    if (run->stacks) {
        memory_open(run->stacks, stacks_bytes(run));
        munmap(run->stacks, stacks_bytes(run));
    }
    ks_simt_wgmma_destroy(run->wgmma);
    free(run->ops);
    free(run->copies);
    free(run);
}

/* A page that cannot be touched lies before each stack, and around the shared memory. */
static struct ks_simt_run *run_create(int n_threads)
{
    struct ks_simt_run *run = calloc(1, sizeof *run + (size_t)n_threads * sizeof(struct fibre));
    bool is_open = true;

    if (!run)
        return NULL;
    run->n_threads = n_threads;
    run->ops = calloc((size_t)n_threads, sizeof *run->ops);
    run->copies = calloc((size_t)n_threads, sizeof *run->copies);
    run->wgmma = ks_simt_wgmma_create(n_threads);
    run->stacks = mmap(NULL, stacks_bytes(run), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (run->stacks == MAP_FAILED)
        run->stacks = NULL;
    if (!run->ops || !run->copies || !run->wgmma || !run->stacks) {
        run_destroy(run);
        return NULL;
    }
    for (int i = 0; i < n_threads; i++) {
        run->fibres[i].stack = run->stacks + (size_t)i * STACK_STRIDE + PAGE_BYTES;
        is_open &= mprotect(run->fibres[i].stack, STACK_BYTES, PROT_READ | PROT_WRITE) == 0;
    }
    run->shared.seen = run->stacks + (size_t)n_threads * STACK_STRIDE + PAGE_BYTES;
    run->shared.async = run->shared.seen + KS_SIMT_MAX_SHARED + PAGE_BYTES;
    is_open &= mprotect(run->shared.seen, KS_SIMT_MAX_SHARED, PROT_READ | PROT_WRITE) == 0;
    is_open &= mprotect(run->shared.async, KS_SIMT_MAX_SHARED, PROT_READ | PROT_WRITE) == 0;
    if (!is_open) {
        run_destroy(run);
        return NULL;
    }
    return run;
}

void ks_simt_pool_release(struct ks_simt_pool *pool)
{
    if (pool->run)
        run_destroy(pool->run);
    pool->run = NULL;
}

static struct ks_simt_run *run_take(struct ks_simt_pool *pool, int n_threads)
{
    struct ks_simt_run *run = pool ? pool->run : NULL;

    if (!run || run->n_threads != n_threads)
        return run_create(n_threads);
    pool->run = NULL;
    memory_open(run->shared.seen, KS_SIMT_MAX_SHARED); /* the next kernel's may be larger */
    run->shared.bytes = 0;
    return run;
}

/* After an error its threads stand wherever they were. */
static void run_give(struct ks_simt_pool *pool, struct ks_simt_run *run, int rc)
{
    if (!pool || rc != KS_SIMT_OK) {
        run_destroy(run);
        return;
    }
    ks_simt_pool_release(pool);
    pool->run = run;
}

int ks_simt_launch(ks_simt_body body, void **args, const int grid[3], const int block[3], int warp,
                   int order, struct ks_simt_pool *pool)
{
    struct ks_simt_cta outer = ks_simt_cta;
    struct ks_simt_run *run;
    int64_t n_threads = 1;
    int rc;

    for (int i = 0; i < 3; i++) {
        if (grid[i] < 1 || block[i] < 1 || block[i] > KS_SIMT_MAX_THREADS)
            return KS_SIMT_BAD_LAUNCH;
        n_threads *= block[i];
    }
    if (n_threads > KS_SIMT_MAX_THREADS || warp < 1 || warp > KS_SIMT_MAX_THREADS || order < 0 ||
        order >= KS_SIMT_N_ORDERS)
        return KS_SIMT_BAD_LAUNCH;
    run = run_take(pool, (int)n_threads);
    if (!run)
        return KS_SIMT_NOMEM;
    run->body = body;
    run->args = args;
    run->warp = warp;
    run->order = order;
    run->random = 88172645463325252u;
    memcpy(ks_simt_cta.gdim, grid, sizeof ks_simt_cta.gdim);
    memcpy(ks_simt_cta.bdim, block, sizeof ks_simt_cta.bdim);
    ks_simt_cta.run = run;
    rc = run_grid(run);
    ks_simt_cta = outer;
    run_give(pool, run, rc);
    return rc;
}
