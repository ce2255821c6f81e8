/* SPDX-License-Identifier: MIT */
/* test_simt.c - the emulator of GPU threads: who runs, waits, is refused; instructions of a warp */
#include "kernels/gpu/emu/simt.h"
#include "kernels/gpu/mma.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int run(ks_simt_body body, void *arg, int n_blocks, int n_threads, int warp, int order)
{
    void *args[] = { arg };
    const int grid[3] = { n_blocks, 1, 1 }, block[3] = { n_threads, 1, 1 };

    return ks_simt_launch(body, args, grid, block, warp, order, NULL);
}

/* --- Threads and blocks */

static void count_body(void **args)
{
    const struct ks_simt_cta *c = &ks_simt_cta;
    int b = (c->bid[2] * c->gdim[1] + c->bid[1]) * c->gdim[0] + c->bid[0];
    int n = c->bdim[0] * c->bdim[1] * c->bdim[2];

    ((int *)args[0])[b * n + ks_simt_tid()]++;
}

static void test_every_thread_runs_once(void **state)
{
    static const int grid[3] = { 3, 2, 4 }, block[3] = { 5, 2, 3 };

    (void)state;
    for (int order = 0; order < KS_SIMT_N_ORDERS; order++) {
        int seen[24 * 30] = { 0 };
        void *args[] = { seen };

        assert_int_equal(ks_simt_launch(count_body, args, grid, block, 8, order, NULL), KS_SIMT_OK);
        for (int i = 0; i < 24 * 30; i++)
            assert_int_equal(seen[i], 1);
    }
}

struct trace {
    int n, at[256];
};

static void trace_body(void **args)
{
    struct trace *t = args[0];

    t->at[t->n++] = ks_simt_cta.bid[0] * 64 + ks_simt_tid();
}

static void test_orders_differ(void **state)
{
    struct trace t[KS_SIMT_N_ORDERS] = { { 0 } };

    (void)state;
    for (int order = 0; order < KS_SIMT_N_ORDERS; order++)
        assert_int_equal(run(trace_body, &t[order], 4, 64, 16, order), KS_SIMT_OK);
    for (int i = 0; i < 256; i++) {
        assert_int_equal(t[KS_SIMT_FORWARD].at[i], i);
        assert_int_equal(t[KS_SIMT_REVERSE].at[i], 255 - i);
    }
    assert_memory_not_equal(&t[0], &t[KS_SIMT_SHUFFLE], sizeof t[0]);
    assert_memory_not_equal(&t[1], &t[KS_SIMT_SHUFFLE], sizeof t[0]);
}

/* --- Barriers and shared memory */

struct turn {
    bool is_missing;
    float out[3 * 96];
};

/* Each thread reads what its opposite wrote. */
static void turn_body(void **args)
{
    struct turn *t = args[0];
    float *shared = ks_simt_shared(96 * sizeof(float));
    int tid = ks_simt_tid(), block = ks_simt_cta.bid[0];

    shared[tid] = (float)(1000 * block + tid);
    if (!t->is_missing)
        ks_simt_barrier();
    t->out[96 * block + tid] = shared[95 - tid];
}

static void test_a_missing_barrier_shows(void **state)
{
    struct turn with[KS_SIMT_N_ORDERS] = { { 0 } }, without[KS_SIMT_N_ORDERS] = { { 0 } };

    (void)state;
    for (int order = 0; order < KS_SIMT_N_ORDERS; order++) {
        without[order].is_missing = true;
        assert_int_equal(run(turn_body, &with[order], 3, 96, 32, order), KS_SIMT_OK);
        assert_int_equal(run(turn_body, &without[order], 3, 96, 32, order), KS_SIMT_OK);
        for (int i = 0; i < 3 * 96; i++)
            assert_float_equal(with[order].out[i], (float)(i / 96 * 1000 + 95 - i % 96), 0);
    }
    assert_memory_not_equal(&without[0], &without[1], sizeof without[0]);
    assert_memory_not_equal(&without[0], &without[2], sizeof without[0]);
    assert_true(isnan(without[0].out[96])); /* also of a later block, which finds no leftovers */
}

enum fault {
    DIVERGE,
    LEAVE_EARLY,
    HALF_A_WARP,
    MIXED_OPERATIONS,
    MIXED_SHAPES,
    TWO_SIZES,
    TOO_MUCH_SHARED,
    UNKNOWN_MATRIX,
    MATRIX_IN_SMALL_WARP,
    LDMATRIX_IN_WIDE_WARP,
    CROOKED_ROW,
    CROOKED_SOURCE,
    CROOKED_TARGET,
};

static void fault_body(void **args)
{
    enum fault f = *(enum fault *)args[0];
    int tid = ks_simt_tid();
    float c[16] = { 0 };
    _Alignas(16) uint16_t a[16] = { 0 };
    uint16_t b[16] = { 0 };
    uint32_t regs[4];

    if (f == DIVERGE && tid % 2)
        ks_simt_mma(c, a, b, KS_SIMT_MFMA_32X32X8, KS_SIMT_BF16);
    if (f == DIVERGE || (f == LEAVE_EARLY && tid < 32))
        ks_simt_barrier();
    if (f == HALF_A_WARP && tid % 64 < 32)
        ks_simt_mma(c, a, b, KS_SIMT_MFMA_32X32X8, KS_SIMT_BF16);
    if (f == MIXED_OPERATIONS) {
        if (tid % 2)
            ks_simt_ldmatrix(regs, a, 1, 0);
        else
            ks_simt_mma(c, a, b, 1, 0); /* numbers that the other has, too */
    }
    if (f == MIXED_SHAPES)
        ks_simt_mma(c, a, b, tid % 2 ? KS_SIMT_MFMA_32X32X8 : KS_SIMT_MFMA_16X16X16, KS_SIMT_FP16);
    if (f == TWO_SIZES)
        ks_simt_shared(tid == 5 ? 64 : 128);
    if (f == TOO_MUCH_SHARED)
        ks_simt_shared(KS_SIMT_MAX_SHARED + 1);
    if (f == UNKNOWN_MATRIX)
        ks_simt_mma(c, a, b, 77, KS_SIMT_FP16);
    if (f == MATRIX_IN_SMALL_WARP)
        ks_simt_mma(c, a, b, KS_SIMT_MMA_M16N8K16, KS_SIMT_FP16);
    if (f == LDMATRIX_IN_WIDE_WARP)
        ks_simt_ldmatrix(regs, a, 1, 0);
    if (f == CROOKED_ROW)
        ks_simt_ldmatrix(regs, a + 4, 4, 0);
    if (f == CROOKED_SOURCE) /* although nothing is read */
        ks_simt_copy_async(a, a + 1, 8, 1);
    if (f == CROOKED_TARGET)
        ks_simt_copy_async(a + 2, a, 8, 0);
}

static void test_faults_are_errors(void **state)
{
    static const struct {
        enum fault fault;
        int n_threads, status;
    } rows[] = {
        { DIVERGE, 128, KS_SIMT_SPLIT_WARP },
        { LEAVE_EARLY, 128, KS_SIMT_DIVERGED },
        { HALF_A_WARP, 128, KS_SIMT_SPLIT_WARP },
        { MIXED_OPERATIONS, 128, KS_SIMT_SPLIT_WARP },
        { MIXED_SHAPES, 128, KS_SIMT_SPLIT_WARP },
        { TWO_SIZES, 128, KS_SIMT_BAD_SHARED },
        { TOO_MUCH_SHARED, 128, KS_SIMT_BAD_SHARED },
        { UNKNOWN_MATRIX, 128, KS_SIMT_BAD_WARP },
        { MATRIX_IN_SMALL_WARP, 128, KS_SIMT_BAD_WARP },
        { LDMATRIX_IN_WIDE_WARP, 128, KS_SIMT_BAD_WARP },
        { CROOKED_ROW, 128, KS_SIMT_BAD_ALIGN },
        { CROOKED_SOURCE, 128, KS_SIMT_BAD_ALIGN },
        { CROOKED_TARGET, 128, KS_SIMT_BAD_ALIGN },
        { HALF_A_WARP, 32, KS_SIMT_BAD_WARP }, /* the block is only half a warp */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int order = 0; order < KS_SIMT_N_ORDERS; order++) {
            enum fault f = rows[i].fault;
            int rc = run(fault_body, &f, 2, rows[i].n_threads, 64, order);

            if (rc != rows[i].status)
                fail_msg("row %zu, order %d: %s", i, order, ks_simt_status_text(rc));
        }
}

static void test_launches_that_are_refused(void **state)
{
    static const struct {
        int grid[3], block[3], warp, order;
    } rows[] = {
        { { 0, 1, 1 }, { 1, 1, 1 }, 1, 0 },    { { 1, 1, -1 }, { 1, 1, 1 }, 1, 0 },
        { { 1, 1, 1 }, { 0, 1, 1 }, 1, 0 },    { { 1, 1, 1 }, { 1025, 1, 1 }, 1, 0 },
        { { 1, 1, 1 }, { 513, 2, 1 }, 64, 0 }, { { 1, 1, 1 }, { 1, 1, 1 }, 0, 0 },
        { { 1, 1, 1 }, { 1, 1, 1 }, 2000, 0 }, { { 1, 1, 1 }, { 1, 1, 1 }, 1, 3 },
        { { 1, 1, 1 }, { 1, 1, 1 }, 1, -1 },
    };
    struct trace t = { 0 };
    void *args[] = { &t };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(ks_simt_launch(trace_body, args, rows[i].grid, rows[i].block, rows[i].warp,
                                        rows[i].order, NULL),
                         KS_SIMT_BAD_LAUNCH);
    assert_int_equal(t.n, 0);
    assert_string_equal(ks_simt_status_text(99), "unknown");
}

/* --- Deaths: in a child each */

static void behind_body(void **args)
{
    volatile char *p = ks_simt_shared(100);

    (void)args;
    p[112] = 1; /* 100 bytes end at 112 */
}

#if defined(KSWEEP_SANITIZED)
static void before_body(void **args)
{
    volatile char *p = ks_simt_shared(100);

    (void)args;
    p[-1] = 1;
}
#endif

static int dive(volatile char *from, int depth)
{
    volatile char here[4096];

    here[0] = from[0];
    return (depth > 0 ? dive(here, depth - 1) : 0) + here[0];
}

static void overflow_body(void **args)
{
    char start = 0;

    (void)args;
    dive(&start, 100); /* stacks are 256 KiB */
}

static int end_of(ks_simt_body body)
{
    const struct rlimit none = { 0, 0 };
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        alarm(20);
        run(body, NULL, 1, 64, 64, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_what_lies_behind_cannot_be_touched(void **state)
{
    (void)state;
    assert_int_equal(end_of(behind_body), SIGSEGV);
    assert_int_equal(end_of(overflow_body), SIGSEGV);
#if defined(KSWEEP_SANITIZED)
    assert_int_not_equal(end_of(before_body), 0);
#endif
}

/* --- Copies that land late */

struct late {
    int n_pending; /* of the wait before the read; -1: none */
    float from[2 * 64], out[64];
};

static void late_body(void **args)
{
    struct late *l = args[0];
    float *shared = ks_simt_shared(2 * 64 * sizeof(float));
    int tid = ks_simt_tid();

    for (int i = 0; i < 2; i++) {
        ks_simt_copy_async(&shared[64 * i + tid], &l->from[64 * i + tid], sizeof(float), 0);
        ks_simt_copy_commit();
    }
    if (l->n_pending >= 0)
        ks_simt_copy_wait(l->n_pending);
    ks_simt_barrier();
    l->out[tid] = shared[63 - tid] + (l->n_pending == 0 ? shared[127 - tid] : 0);
}

static void test_copies_land_when_they_are_waited_for(void **state)
{
    (void)state;
    for (int order = 0; order < KS_SIMT_N_ORDERS; order++)
        for (int n_pending = -1; n_pending < 3; n_pending++) {
            struct late l = { .n_pending = n_pending };
            int n_wrong = 0;

            for (int i = 0; i < 128; i++)
                l.from[i] = (float)i;
            assert_int_equal(run(late_body, &l, 1, 64, 32, order), KS_SIMT_OK);
            for (int i = 0; i < 64; i++)
                n_wrong += l.out[i] != (float)(63 - i + (n_pending == 0 ? 127 - i : 0));
            if (n_pending == 0 || n_pending == 1 || order == KS_SIMT_FORWARD)
                assert_int_equal(n_wrong, 0);
            else
                assert_true(n_wrong > 0);
        }
}

/* --- What a warp does together. Lanes know by kernels/gpu/mma.h what they hold; the emulator by a
 * table of its own. */

#define MAPPED(X)                                                                                  \
    X(1, MFMA_32X32X8)                                                                             \
    X(2, MFMA_16X16X16)                                                                            \
    X(3, WMMA_16X16X16)                                                                            \
    X(4, MMA_M16N8K16) X(5, MFMA_32X32X16) X(6, MFMA_16X16X32) X(10, WMMA_GFX12)

struct shape {
    int kind, m, n, k, lanes, na, nb, nc;
    int (*a_row)(int, int), (*a_k)(int, int), (*b_col)(int, int), (*b_k)(int, int);
    int (*c_row)(int, int), (*c_col)(int, int);
};
#define MAP(kind, what)                                                                            \
    static int what##_##kind(int l, int i)                                                         \
    {                                                                                              \
        (void)l, (void)i;                                                                          \
        return KS_MMA##kind##_##what(l, i);                                                        \
    }
#define MAPS(kind, name)                                                                           \
    MAP(kind, a_row)                                                                               \
    MAP(kind, a_k) MAP(kind, b_col) MAP(kind, b_k) MAP(kind, c_row) MAP(kind, c_col)
MAPPED(MAPS)
#define SHAPE(kind, name)                                                                          \
    { KS_SIMT_##name,       KS_MMA##kind##_M,  KS_MMA##kind##_N,  KS_MMA##kind##_K,                \
      KS_MMA##kind##_LANES, KS_MMA##kind##_NA, KS_MMA##kind##_NB, KS_MMA##kind##_NC,               \
      a_row_##kind,         a_k_##kind,        b_col_##kind,      b_k_##kind,                      \
      c_row_##kind,         c_col_##kind },
static const struct shape shapes[] = { MAPPED(SHAPE) };

struct product {
    const struct shape *s;
    int dtype;
    float a[1024], b[1024], c[1024]; /* [m][k], [n][k], [m][n] */
    float out[2][1024];              /* of each warp */
};

/* Small multiples of 1/4: exact in all types, and as sums. */
static void put(void *p, int i, float v, int dtype)
{
    uint32_t u;
    uint16_t h;

    memcpy(&u, &v, sizeof u);
    if (dtype == KS_SIMT_FP32) {
        memcpy((char *)p + 4 * i, &u, 4);
        return;
    }
    h = (uint16_t)(u >> 16);
    if (dtype == KS_SIMT_FP16 && v != 0)
        h = (uint16_t)((u >> 16 & 0x8000) | ((u >> 23 & 255) - 112) << 10 | (u >> 13 & 1023));
    memcpy((char *)p + 2 * i, &h, 2);
}

static void product_body(void **args)
{
    struct product *p = args[0];
    const struct shape *s = p->s;
    int l = ks_simt_tid() % s->lanes;
    uint32_t a[16], b[16];
    float c[16];

    for (int i = 0; i < s->na; i++)
        put(a, i, p->a[s->a_row(l, i) * s->k + s->a_k(l, i)], p->dtype);
    for (int i = 0; i < s->nb; i++)
        put(b, i, p->b[s->b_col(l, i) * s->k + s->b_k(l, i)], p->dtype);
    for (int i = 0; i < s->nc; i++)
        c[i] = p->c[s->c_row(l, i) * s->n + s->c_col(l, i)];
    ks_simt_mma(c, a, b, s->kind, p->dtype);
    for (int i = 0; i < s->nc; i++)
        p->out[ks_simt_tid() / s->lanes][s->c_row(l, i) * s->n + s->c_col(l, i)] = c[i];
}

static void check_product(const struct shape *s, int dtype, int order)
{
    struct product p = { .s = s, .dtype = dtype };
    float want[1024];

    for (int i = 0; i < 1024; i++) {
        p.a[i] = (float)((i * 7 + 3) % 23 - 11) / 4;
        p.b[i] = (float)((i * 5 + 1) % 19 - 9) / 4;
        p.c[i] = (float)(i % 13);
    }
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) {
            want[i * s->n + j] = p.c[i * s->n + j];
            for (int k = 0; k < s->k; k++)
                want[i * s->n + j] += p.a[i * s->k + k] * p.b[j * s->k + k];
        }
    assert_int_equal(run(product_body, &p, 1, 2 * s->lanes, s->lanes, order), KS_SIMT_OK);
    for (int i = 0; i < s->m * s->n; i++)
        if (p.out[0][i] != want[i] || p.out[1][i] != want[i])
            fail_msg("instruction %d, dtype %d: element %d is %g, not %g", s->kind, dtype, i,
                     (double)p.out[0][i], (double)want[i]);
}

static void test_matrix_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int dtype = 0; dtype < 3; dtype++)
            for (int order = 0; order < KS_SIMT_N_ORDERS; order++)
                check_product(&shapes[i], dtype, order);
}

static int lane_row_32(int l, int i)
{
    return l % 32 + 0 * i;
}
static int lane_k_32(int l, int i)
{
    return l / 32 + i;
}
static int lane_row_16(int l, int i)
{
    return l % 16 + 0 * i;
}
static int lane_k_16(int l, int i)
{
    return l / 16 + i;
}

static void test_matrix_instructions_of_fp32(void **state)
{
    static const struct shape fp32[] = {
        { KS_SIMT_MFMA_32X32X2, 32, 32, 2, 64, 1, 1, 16, lane_row_32, lane_k_32, lane_row_32,
          lane_k_32, c_row_1, c_col_1 },
        { KS_SIMT_MFMA_16X16X4, 16, 16, 4, 64, 1, 1, 4, lane_row_16, lane_k_16, lane_row_16,
          lane_k_16, c_row_2, c_col_2 },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++)
        check_product(&fp32[i], KS_SIMT_FP32, KS_SIMT_SHUFFLE);
}

static void half_body(void **args)
{
    float *out = args[0];
    static const uint16_t halves[] = { 0x3c00, 0xc000, 0x7bff, 0x0001, 0x83ff, 0x7c00, 0x7e00, 0 };
    uint16_t a[4] = { 0 }, b[4] = { 0 };
    float c[4] = { 0 };
    int l = ks_simt_tid();

    /* row r of A is halves[r], 0, ...; B is 1 in k = 0 */
    if (l < 16) {
        a[0] = l < 8 ? halves[l] : 0;
        b[0] = 0x3c00;
    }
    ks_simt_mma(c, a, b, KS_SIMT_MFMA_16X16X16, KS_SIMT_FP16);
    for (int i = 0; i < 4 && l % 16 == 0; i++)
        out[l / 16 * 4 + i] = c[i];
}

static void test_halves(void **state)
{
    float out[16];

    (void)state;
    assert_int_equal(run(half_body, out, 1, 64, 64, 0), KS_SIMT_OK);
    assert_float_equal(out[0], 1, 0);
    assert_float_equal(out[1], -2, 0);
    assert_float_equal(out[2], 65504, 0);
    assert_true(out[3] == ldexpf(1, -24));
    assert_true(out[4] == ldexpf(-1023, -24));
    assert_true(isinf(out[5]));
    assert_true(isnan(out[6]));
    assert_true(out[7] == 0);
}

struct ldmatrix {
    int is_turned;
    _Alignas(16) uint16_t rows[32][8];
    uint16_t out[32][8];
};

static void ldmatrix_body(void **args)
{
    struct ldmatrix *x = args[0];
    int l = ks_simt_tid();
    uint32_t regs[4];

    ks_simt_ldmatrix(regs, x->rows[l], 4, x->is_turned);
    memcpy(x->out[l], regs, sizeof regs);
}

static void test_ldmatrix(void **state)
{
    (void)state;
    for (int is_turned = 0; is_turned < 2; is_turned++) {
        struct ldmatrix x = { .is_turned = is_turned };

        for (int i = 0; i < 256; i++)
            x.rows[i / 8][i % 8] = (uint16_t)i;
        assert_int_equal(run(ldmatrix_body, &x, 1, 32, 32, KS_SIMT_REVERSE), KS_SIMT_OK);
        for (int l = 0; l < 32; l++)
            for (int e = 0; e < 8; e++) {
                int row = l / 4, col = l % 4 * 2 + e % 2;

                assert_int_equal(x.out[l][e],
                                 e / 2 * 64 + (is_turned ? col * 8 + row : row * 8 + col));
            }
    }
}

/* --- Several launches at once */

static void *launch_often(void *arg)
{
    struct turn *t = arg;

    for (int i = 0; i < 20; i++)
        if (run(turn_body, t, 3, 96, 32, i % KS_SIMT_N_ORDERS) != KS_SIMT_OK)
            return NULL;
    return t;
}

static void test_threads_of_the_host_launch_apart(void **state)
{
    struct turn t[2] = { { 0 } };
    pthread_t threads[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &t[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *result = NULL;

        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &t[i]);
        assert_float_equal(t[i].out[96], 1095, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_thread_runs_once),
        cmocka_unit_test(test_orders_differ),
        cmocka_unit_test(test_a_missing_barrier_shows),
        cmocka_unit_test(test_faults_are_errors),
        cmocka_unit_test(test_launches_that_are_refused),
        cmocka_unit_test(test_what_lies_behind_cannot_be_touched),
        cmocka_unit_test(test_copies_land_when_they_are_waited_for),
        cmocka_unit_test(test_matrix_instructions),
        cmocka_unit_test(test_matrix_instructions_of_fp32),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_ldmatrix),
        cmocka_unit_test(test_threads_of_the_host_launch_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
