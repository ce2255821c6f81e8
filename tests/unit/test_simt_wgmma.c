/* SPDX-License-Identifier: MIT */
/* test_simt_wgmma.c - the emulator's matrix instructions of a group of warps */
/* Where operands lie, who has which result, and what becomes of a kernel that forgets one of the
 * things that they want. */
#include "kernels/gpu/emu/simt.h"
#include "kernels/gpu/mma.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N      128 /* columns; two of an operand's widest panels */
#define K      32  /* two instructions */
#define A_AT   0
#define B_AT   16384
#define SHARED 32768
#define WARP   32
#define GROUP  128

enum fault {
    NOTHING,
    NO_SHOW,
    LANE_0_SHOWS,        /* before the barrier */
    LANE_0_SHOWS_BEHIND, /* behind it: no fault */
    NO_BARRIER,
    NO_FENCE,
    NO_WAIT,
    NO_COMMIT,
    OVERWRITTEN,
    TOUCHED,
    ONE_LANE,
    ONE_WARP,
    CROOKED,
    BASE_OFFSET,
    OUTSIDE,
    OTHER_SWIZZLE,
    HALF_A_GROUP,
    COLUMNS,
};

struct product {
    enum fault fault;
    int dtype, width; /* of the swizzle: 16 (none), 32, 64, 128 bytes */
    bool a_turned, b_turned;
    uint16_t a[64][K], b[N][K];
    float c[64][N], out[2][64][N]; /* of each group */
};

/* --- Layouts, by lines of an operand: along k of each row, or, turned, along rows of each k */

/* Byte of the tile where the 16 bytes begin that hold `at` of a line, of n_lines. */
static int place(int width, int n_lines, int line, int at)
{
    const int panel = 2 * at / width, chunk = 2 * at % width / 16;
    const int turn = line * width / 128 % (width / 16);
    return panel * n_lines * width + line * width + (chunk ^ turn) * 16;
}

/* A descriptor of the operand of which `byte` is the first. */
static uint64_t describe(const struct product *p, bool is_turned, int n_lines, uint32_t byte)
{
    static const struct {
        int width;
        uint64_t mode;
    } modes[] = { { 16, 0 }, { 128, 1 }, { 64, 2 }, { 32, 3 } };
    const uint64_t panel = (uint64_t)(n_lines * p->width), eight = (uint64_t)(8 * p->width);
    /* Without a swizzle the offsets of operands that are turned stand the other way round. */
    const bool is_swapped = is_turned && p->width == 16;
    const uint64_t leading = is_swapped ? eight : panel, stride = is_swapped ? panel : eight;
    uint64_t mode = 0;
    for (int i = 0; i < 4; i++)
        if (modes[i].width == p->width)
            mode = modes[i].mode;
    return (byte & 0x3ffff) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
}

/* --- A product, every step of which can be left out */

/* Copies n_at elements, `step` apart, to a line of a tile; they lie in `chunks` until then. */
static void copy_line(const struct product *p, char *to, uint16_t (*chunks)[8], int n_lines,
                      int line, int n_at, const uint16_t *from, int step)
{
    for (int at = 0; at < n_at; at += 8) {
        for (int e = 0; e < 8; e++)
            chunks[at / 8][e] = from[(at + e) * step];
        ks_simt_copy_async(to + place(p->width, n_lines, line, at), chunks[at / 8], 16, 0);
    }
}

static void copy_operands(const struct product *p, char *shared)
{
    _Alignas(16) static _Thread_local uint16_t chunks[2][2 * GROUP][N / 8][8];
    const int t = ks_simt_tid(), line = t % GROUP;
    if (line < (p->a_turned ? K : 64))
        copy_line(p, shared + A_AT, chunks[0][t], p->a_turned ? K : 64, line, p->a_turned ? 64 : K,
                  p->a_turned ? &p->a[0][line] : p->a[line], p->a_turned ? K : 1);
    if (line < (p->b_turned ? K : N))
        copy_line(p, shared + B_AT, chunks[1][t], p->b_turned ? K : N, line, p->b_turned ? N : K,
                  p->b_turned ? &p->b[0][line] : p->b[line], p->b_turned ? K : 1);
    ks_simt_copy_commit();
    ks_simt_copy_wait(0);
}

/* Descriptors of step k. */
static void describe_step(const struct product *p, const char *shared, int k, uint64_t d[2])
{
    const int at = p->a_turned ? place(p->width, K, k, 0) : place(p->width, 64, 0, k);
    const int bt = p->b_turned ? place(p->width, K, k, 0) : place(p->width, N, 0, k);
    d[0] = describe(p, p->a_turned, p->a_turned ? K : 64, ks_simt_address(shared + A_AT + at));
    d[1] = describe(p, p->b_turned, p->b_turned ? K : N, ks_simt_address(shared + B_AT + bt));
    if (p->fault == ONE_LANE && ks_simt_tid() == 37)
        d[0] += 64;
    if (p->fault == ONE_WARP && ks_simt_tid() / WARP == 2)
        d[0] += 64;
    if (p->fault == CROOKED)
        d[1] += 16;
    if (p->fault == BASE_OFFSET)
        d[1] |= UINT64_C(1) << 49;
    if (p->fault == OUTSIDE)
        d[1] += 0x400;
    if (p->fault == OTHER_SWIZZLE)
        d[1] ^= UINT64_C(3) << 62;
}

static void multiply(const struct product *p, char *shared, float *c)
{
    const int form = p->dtype | (p->a_turned ? KS_SIMT_WGMMA_TURN_A : 0) |
                     (p->b_turned ? KS_SIMT_WGMMA_TURN_B : 0);
    if (p->fault != NO_FENCE)
        ks_simt_wgmma_fence();
    for (int k = 0; k < K; k += 16) {
        uint64_t d[2];
        describe_step(p, shared, k, d);
        ks_simt_wgmma(c, d[0], d[1], p->fault == COLUMNS ? N + 4 : N, form);
    }
    if (p->fault != NO_COMMIT)
        ks_simt_wgmma_commit();
    if (p->fault == TOUCHED)
        c[3] = 0;
    if (p->fault == OVERWRITTEN && ks_simt_tid() == 9)
        ks_simt_copy_async(shared + B_AT, shared, 16, 1);
    if (p->fault != NO_WAIT)
        ks_simt_wgmma_wait(0);
}

static void product_body(void **args)
{
    struct product *p = args[0];
    char *shared = ks_simt_shared(SHARED);
    const int t = ks_simt_tid(), l = t % GROUP;
    float c[N / 2];
    for (int i = 0; i < N / 2; i++)
        c[i] = p->c[KS_MMA8_c_row(l, i)][KS_MMA8_c_col(l, i)];
    copy_operands(p, shared);
    if (p->fault != NO_SHOW && p->fault != LANE_0_SHOWS_BEHIND &&
        (p->fault != LANE_0_SHOWS || t % WARP == 0))
        ks_simt_show_copies();
    if (p->fault != NO_BARRIER)
        ks_simt_barrier();
    if (p->fault == LANE_0_SHOWS_BEHIND && t % WARP == 0)
        ks_simt_show_copies();
    if (p->fault != HALF_A_GROUP || l < 64)
        multiply(p, shared, c);
    for (int i = 0; i < N / 2; i++)
        p->out[t / GROUP][KS_MMA8_c_row(l, i)][KS_MMA8_c_col(l, i)] = c[i];
}

/* --- Checks */

static uint16_t number(float v, int dtype)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if (dtype == KS_SIMT_FP16 && v != 0)
        return (uint16_t)((u >> 16 & 0x8000) | ((u >> 23 & 255) - 112) << 10 | (u >> 13 & 1023));
    return (uint16_t)(u >> 16);
}

static float value_a(int i, int k)
{
    return (float)((i * 7 + k * 11 + 3) % 23 - 11) / 4;
}

static float value_b(int j, int k)
{
    return (float)((j * 5 + k * 3 + 1) % 19 - 9) / 4;
}

static void fill(struct product *p)
{
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < 64; i++)
            p->a[i][k] = number(value_a(i, k), p->dtype);
        for (int j = 0; j < N; j++)
            p->b[j][k] = number(value_b(j, k), p->dtype);
    }
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < N; j++)
            p->c[i][j] = (float)((i + 3 * j) % 13);
}

static int run(struct product *p, int n_threads, int warp, int order)
{
    void *args[] = { p };
    const int grid[3] = { 2, 1, 1 }, block[3] = { n_threads, 1, 1 };
    return ks_simt_launch(product_body, args, grid, block, warp, order, NULL);
}

static int n_wrong(const struct product *p, int n_groups)
{
    int n = 0;
    for (int g = 0; g < n_groups; g++)
        for (int i = 0; i < 64; i++)
            for (int j = 0; j < N; j++) {
                float want = p->c[i][j];
                for (int k = 0; k < K; k++)
                    want += value_a(i, k) * value_b(j, k);
                n += !(p->out[g][i][j] == want);
            }
    return n;
}

static void test_products_of_every_layout(void **state)
{
    static const int widths[] = { 16, 32, 64, 128 };
    (void)state;
    for (int what = 0; what < 4 * 4 * 2; what++) {
        struct product p = { .width = widths[what % 4],
                             .a_turned = what / 4 % 2,
                             .b_turned = what / 8 % 2,
                             .dtype = what / 16 ? KS_SIMT_BF16 : KS_SIMT_FP16 };
        fill(&p);
        const int rc = run(&p, 2 * GROUP, WARP, what % KS_SIMT_N_ORDERS);
        if (rc != KS_SIMT_OK)
            fail_msg("%d: %s", what, ks_simt_status_text(rc));
        if (n_wrong(&p, 2))
            fail_msg("width %d, turned %d %d: %d are wrong", p.width, p.a_turned, p.b_turned,
                     n_wrong(&p, 2));
    }
}

static void test_what_is_forgotten_shows(void **state)
{
    static const struct {
        enum fault fault;
        int status; /* OK: it is the results that are wrong */
    } rows[] = {
        { NO_SHOW, KS_SIMT_OK },
        { LANE_0_SHOWS, KS_SIMT_OK },
        { NO_BARRIER, KS_SIMT_OK },
        { NO_FENCE, KS_SIMT_NO_FENCE },
        { NO_WAIT, KS_SIMT_UNDER_WAY },
        { NO_COMMIT, KS_SIMT_UNDER_WAY },
        { OVERWRITTEN, KS_SIMT_CHANGED },
        { TOUCHED, KS_SIMT_CHANGED },
        { ONE_LANE, KS_SIMT_SPLIT_GROUP },
        { ONE_WARP, KS_SIMT_SPLIT_GROUP },
        { CROOKED, KS_SIMT_BAD_DESCRIPTOR },
        { BASE_OFFSET, KS_SIMT_BAD_DESCRIPTOR },
        { OUTSIDE, KS_SIMT_BAD_DESCRIPTOR },
        { OTHER_SWIZZLE, KS_SIMT_OK },
        { HALF_A_GROUP, KS_SIMT_SPLIT_GROUP },
        { COLUMNS, KS_SIMT_BAD_WARP },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int order = 0; order < KS_SIMT_N_ORDERS; order++) {
            struct product p = { .fault = rows[i].fault, .width = 128, .dtype = KS_SIMT_BF16 };
            fill(&p);
            const int rc = run(&p, GROUP, WARP, order);
            if (rc != rows[i].status)
                fail_msg("fault %d, order %d: %s", rows[i].fault, order, ks_simt_status_text(rc));
            if (n_wrong(&p, 1) == 0)
                fail_msg("fault %d, order %d: nothing is wrong", rows[i].fault, order);
        }
}

/* A fence behind a barrier shows what other threads had copied before it. */
static void test_a_fence_behind_a_barrier(void **state)
{
    (void)state;
    for (int order = 0; order < KS_SIMT_N_ORDERS; order++) {
        struct product p = { .fault = LANE_0_SHOWS_BEHIND, .width = 128, .dtype = KS_SIMT_BF16 };
        fill(&p);
        assert_int_equal(run(&p, GROUP, WARP, order), KS_SIMT_OK);
        assert_int_equal(n_wrong(&p, 1), 0);
    }
}

/* --- Barriers with a name: the last warp hands numbers over, one at a time */

#define FULL    1
#define FREE    2
#define N_GIVEN 5

struct handing {
    int full, free; /* barriers of those that take */
    int n_last;     /* threads that the last FREE is for */
    int slot, sum[3 * WARP];
};

static void handing_body(void **args)
{
    struct handing *h = args[0];
    const int t = ks_simt_tid();
    for (int i = 0; i < N_GIVEN; i++) {
        if (t >= 2 * WARP) {
            if (i > 0)
                ks_simt_named_sync(FREE, 3 * WARP);
            h->slot = 1 << i;
            ks_simt_named_arrive(FULL, 3 * WARP);
        } else {
            ks_simt_named_sync(h->full, 3 * WARP);
            h->sum[t] += h->slot;
            if (i + 1 < N_GIVEN || h->n_last)
                ks_simt_named_arrive(h->free, i + 1 < N_GIVEN ? 3 * WARP : h->n_last);
        }
    }
}

static void test_barriers_with_a_name(void **state)
{
    static const struct {
        struct handing h;
        int status;
    } rows[] = {
        { { .full = FULL, .free = FREE, .n_last = 0 }, KS_SIMT_OK },
        { { .full = FULL, .free = 3, .n_last = 0 },
          KS_SIMT_DIVERGED }, /* one side waits for ever */
        { { .full = FULL, .free = FREE, .n_last = 3 * WARP },
          KS_SIMT_DIVERGED }, /* some arrive where nobody comes */
        { { .full = 0, .free = FREE, .n_last = 0 }, KS_SIMT_DIVERGED },     /* no such barrier */
        { { .full = FULL, .free = FREE, .n_last = 40 }, KS_SIMT_DIVERGED }, /* no whole warps */
    };
    const int grid[3] = { 2, 1, 1 }, block[3] = { 3 * WARP, 1, 1 };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int order = 0; order < KS_SIMT_N_ORDERS; order++) {
            struct handing h = rows[i].h;
            void *args[] = { &h };
            assert_int_equal(ks_simt_launch(handing_body, args, grid, block, WARP, order, NULL),
                             rows[i].status);
            for (int t = 0; t < 2 * WARP && rows[i].status == KS_SIMT_OK; t++)
                assert_int_equal(h.sum[t], 2 * ((1 << N_GIVEN) - 1));
        }
}

static void test_only_whole_groups_of_32_lanes(void **state)
{
    struct product p = { .width = 128, .dtype = KS_SIMT_BF16 };
    (void)state;
    fill(&p);
    assert_int_equal(run(&p, GROUP, 64, 0), KS_SIMT_BAD_WARP);
    assert_int_equal(run(&p, 96, WARP, 0), KS_SIMT_BAD_WARP);
    p.dtype = KS_SIMT_FP32;
    assert_int_equal(run(&p, GROUP, WARP, 0), KS_SIMT_BAD_WARP);
}

/* --- Groups: what is waited for is there, what follows stays under way */

struct chain {
    int n_pending;
    bool is_same; /* both instructions add to the same sums */
    float out[GROUP][2];
};

static void chain_body(void **args)
{
    struct chain *x = args[0];
    char *shared = ks_simt_shared(SHARED);
    _Alignas(16) static const uint16_t ones[8] = { 0x3f80, 0x3f80, 0x3f80, 0x3f80,
                                                   0x3f80, 0x3f80, 0x3f80, 0x3f80 };
    const struct product p = { .width = 128 };
    const int t = ks_simt_tid();
    float c[2][4] = { { 0 } };
    for (int i = 0; i < 8; i++)
        ks_simt_copy_async(shared + t * 128 + i * 16, ones, 16, 0);
    ks_simt_copy_wait(0); /* nothing is committed, so nothing is waited for */
    ks_simt_copy_commit();
    ks_simt_copy_wait(0);
    ks_simt_show_copies();
    ks_simt_barrier();
    ks_simt_wgmma_fence();
    for (int i = 0; i < 2; i++) {
        const uint64_t d = describe(&p, false, 64, ks_simt_address(shared));
        ks_simt_wgmma(c[x->is_same ? 0 : i], d, d, 8, KS_SIMT_BF16);
        ks_simt_wgmma_commit();
    }
    ks_simt_wgmma_wait(x->n_pending);
    x->out[t][0] = c[0][0];
    x->out[t][1] = c[1][0];
    ks_simt_wgmma_wait(0);
}

static void test_groups_are_waited_for_in_order(void **state)
{
    void *args[1];
    const int grid[3] = { 1, 1, 1 }, block[3] = { GROUP, 1, 1 };
    (void)state;
    for (int what = 0; what < 6; what++) {
        struct chain x = { .n_pending = what % 3, .is_same = what / 3 };
        args[0] = &x;
        assert_int_equal(ks_simt_launch(chain_body, args, grid, block, WARP, what % 3, NULL),
                         KS_SIMT_OK);
        for (int t = 0; t < GROUP; t++) {
            const bool is_first_there = x.is_same ? x.n_pending == 0 : x.n_pending <= 1;
            if (is_first_there)
                assert_float_equal(x.out[t][0], x.is_same ? 32 : 16, 0);
            else
                assert_true(isnan(x.out[t][0]));
            if (x.is_same || x.n_pending == 0)
                assert_float_equal(x.out[t][1], x.is_same ? 0 : 16, 0);
            else
                assert_true(isnan(x.out[t][1]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_every_layout),
        cmocka_unit_test(test_what_is_forgotten_shows),
        cmocka_unit_test(test_a_fence_behind_a_barrier),
        cmocka_unit_test(test_barriers_with_a_name),
        cmocka_unit_test(test_only_whole_groups_of_32_lanes),
        cmocka_unit_test(test_groups_are_waited_for_in_order),
    };
    return cmocka_run_group_tests_name("simt_wgmma", tests, NULL, NULL);
}
