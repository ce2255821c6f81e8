/* SPDX-License-Identifier: MIT */
#include "simt_wgmma.h"

#include <stdlib.h>
#include <string.h>

#define GROUP     4 /* warps */
#define MAX_AHEAD 64
#define MAX_SUMS  8
#define MAX_N     256
#define MAX_SLOTS (MAX_N / 2) /* results of a lane */
#define ROWS      16          /* of a warp */
#define K         16
#define UNDEFINED 0x7fc0deadu /* a NaN that no sum is */

/* An instruction under way. */
struct product {
    uint64_t a, b; /* descriptors */
    int n, form;
    unsigned group, sum;
    uint64_t digest; /* of the operands when it was issued */
};

/* Results that instructions under way add to. */
struct sum {
    unsigned n_ahead; /* instructions; 0: none */
    int n_slots;
    float *out[32];
    float v[32][MAX_SLOTS];
};

struct warp {
    bool is_fenced;
    unsigned n_products, n_groups;
    uint64_t trail; /* digest of all that it did */
    struct product products[MAX_AHEAD];
    struct sum sums[MAX_SUMS];
};

struct ks_simt_wgmma {
    int n_warps;
    bool is_used;
    struct warp warps[];
};

struct ks_simt_wgmma *ks_simt_wgmma_create(int n_threads)
{
    int n = n_threads % (32 * GROUP) ? 0 : n_threads / 32;
    struct ks_simt_wgmma *w = calloc(1, sizeof *w + (size_t)n * sizeof w->warps[0]);

    if (w)
        w->n_warps = n;
    return w;
}

void ks_simt_wgmma_destroy(struct ks_simt_wgmma *w)
{
    free(w);
}

void ks_simt_wgmma_start(struct ks_simt_wgmma *w)
{
    for (int i = 0; i < w->n_warps && w->is_used; i++) {
        struct warp *x = &w->warps[i];

        x->is_fenced = false;
        x->n_products = x->n_groups = 0;
        x->trail = 0;
        for (int s = 0; s < MAX_SUMS; s++)
            x->sums[s].n_ahead = 0;
    }
    w->is_used = false;
}

int ks_simt_wgmma_check(const struct ks_simt_wgmma *w, bool is_last)
{
    for (int i = 0; i < w->n_warps && w->is_used; i++) {
        if (w->warps[i].trail != w->warps[i - i % GROUP].trail)
            return KS_SIMT_SPLIT_GROUP;
        if (is_last && w->warps[i].n_products)
            return KS_SIMT_UNDER_WAY;
    }
    return KS_SIMT_OK;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* --- Operands in shared memory */

/* A descriptor: bits 0-13 start, 16-29 leading offset, 32-45 stride offset, all in units of 16
 * bytes; 49-51 base offset; 62-63 swizzle. */
struct layout {
    uint32_t start, leading, stride;
    uint32_t width; /* bytes of a row that are swizzled together; 16: none are */
};

static int decode(uint64_t d, struct layout *out)
{
    static const uint32_t widths[] = { 16, 128, 64, 32 };
    const uint64_t fields =
        UINT64_C(0xc000) << 48 | UINT64_C(0x3fff) << 32 | UINT64_C(0x3fff) << 16 | UINT64_C(0x3fff);

    out->start = (uint32_t)(d & 0x3fff) << 4;
    out->leading = (uint32_t)(d >> 16 & 0x3fff) << 4;
    out->stride = (uint32_t)(d >> 32 & 0x3fff) << 4;
    out->width = widths[d >> 62];
    if (d & ~fields) /* a base offset, or a bit that means nothing */
        return KS_SIMT_BAD_DESCRIPTOR;
    /* Without a base offset the pattern, eight rows, begins at a multiple of its size. */
    if (out->width > 16 && (out->start & (8 * out->width - 1) & ~(out->width - 1)))
        return KS_SIMT_BAD_DESCRIPTOR;
    return KS_SIMT_OK;
}

/* Address of the 16 bytes that hold element (row, k): eight along k, or, turned, along rows. */
static uint32_t address(const struct layout *l, bool is_turned, uint32_t row, uint32_t k)
{
    uint32_t w = l->width, at = l->start, chunks = w / 16;

    if (is_turned && w == 16)
        at += row / 8 * l->stride + k % 8 * 16 + k / 8 * l->leading;
    else if (is_turned)
        at += row / 8 % chunks * 16 + row / 8 / chunks * l->leading + k % 8 * w + k / 8 * l->stride;
    else if (w == 16)
        at += row % 8 * 16 + row / 8 * l->stride + k / 8 * l->leading;
    else
        at += row % 8 * w + row / 8 * l->stride + k / 8 * 16;
    return at ^ (at >> 7 & (chunks - 1)) << 4;
}

/* Rows of an operand, [n][K]; those of A begin at `first`. */
static int gather(const struct ks_simt_memory *m, uint64_t descriptor, bool is_turned, int first,
                  int n, uint16_t (*out)[K])
{
    struct layout l;
    int rc = decode(descriptor, &l);

    for (int row = 0; row < n && rc == KS_SIMT_OK; row += is_turned ? 8 : 1)
        for (int k = 0; k < K && rc == KS_SIMT_OK; k += is_turned ? 1 : 8) {
            uint32_t at = address(&l, is_turned, (uint32_t)(first + row), (uint32_t)k);
            uint16_t v[8];

            if (at < KS_SIMT_MAX_SHARED - m->bytes || at > KS_SIMT_MAX_SHARED - sizeof v)
                return KS_SIMT_BAD_DESCRIPTOR;
            memcpy(v, m->async + at, sizeof v);
            for (int e = 0; e < 8; e++)
                out[is_turned ? row + e : row][is_turned ? k : k + e] = v[e];
        }
    return rc;
}

struct operands {
    uint16_t a[ROWS][K], b[MAX_N][K];
};

static int read_operands(const struct ks_simt_memory *m, const struct product *p, int warp,
                         struct operands *out)
{
    int rc = gather(m, p->a, p->form & KS_SIMT_WGMMA_TURN_A, warp % GROUP * ROWS, ROWS, out->a);

    return rc ? rc : gather(m, p->b, p->form & KS_SIMT_WGMMA_TURN_B, 0, p->n, out->b);
}

static uint64_t digest(const struct operands *o, int n)
{
    uint64_t h = 0, x;

    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < K; k += 4) {
            memcpy(&x, &o->a[i][k], sizeof x);
            h = mix(h, x);
        }
    for (int j = 0; j < n; j++)
        for (int k = 0; k < K; k += 4) {
            memcpy(&x, &o->b[j][k], sizeof x);
            h = mix(h, x);
        }
    return h;
}

/* --- Sums: lane l has of row l / 4, and of row l / 4 + 8, two results side by side in each eight
 * columns. */

static int lane_of(int row, int col)
{
    return row % 8 * 4 + col % 8 / 2;
}

static int slot_of(int row, int col)
{
    return col / 8 * 4 + row / 8 * 2 + col % 2;
}

static void multiply(struct sum *s, const struct operands *o, int n, int dtype)
{
    float b[K][MAX_N], row[MAX_N];

    for (int j = 0; j < n; j++)
        for (int k = 0; k < K; k++)
            b[k][j] = ks_simt_element(&o->b[j][k], 0, dtype);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < n; j++)
            row[j] = s->v[lane_of(i, j)][slot_of(i, j)];
        for (int k = 0; k < K; k++) {
            float a = ks_simt_element(&o->a[i][k], 0, dtype);

            for (int j = 0; j < n; j += 8) /* at once */
                for (int e = 0; e < 8; e++)
                    row[j + e] += a * b[k][j + e];
        }
        for (int j = 0; j < n; j++)
            s->v[lane_of(i, j)][slot_of(i, j)] = row[j];
    }
}

static bool is_untouched(const struct sum *s)
{
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < s->n_slots; i++) {
            uint32_t u;

            memcpy(&u, &s->out[l][i], sizeof u);
            if (u != UNDEFINED)
                return false;
        }
    return true;
}

/* Takes the registers of all lanes over. */
static void take_sum(struct sum *s, const struct ks_simt_op *lanes, int n_slots)
{
    const uint32_t undefined = UNDEFINED;

    s->n_slots = n_slots;
    for (int l = 0; l < 32; l++) {
        s->out[l] = lanes[l].out;
        memcpy(s->v[l], s->out[l], (size_t)n_slots * sizeof(float));
        for (int i = 0; i < n_slots; i++)
            memcpy(&s->out[l][i], &undefined, sizeof undefined);
    }
}

/* The sum that an instruction adds to: one that is under way, or a new one, for which the registers
 * must be fenced. */
static int find_sum(struct warp *x, const struct ks_simt_op *lanes, unsigned *out)
{
    int n_slots = lanes[0].kind / 2;
    unsigned i = 0;

    while (i < MAX_SUMS && !(x->sums[i].n_ahead && x->sums[i].out[0] == lanes[0].out))
        i++;
    *out = i;
    if (i < MAX_SUMS)
        return x->sums[i].n_slots == n_slots && is_untouched(&x->sums[i]) ? KS_SIMT_OK
                                                                          : KS_SIMT_CHANGED;
    if (!x->is_fenced)
        return KS_SIMT_NO_FENCE;
    for (i = 0; i < MAX_SUMS && x->sums[i].n_ahead; i++)
        ;
    if (i == MAX_SUMS)
        return KS_SIMT_UNDER_WAY;
    take_sum(&x->sums[i], lanes, n_slots);
    *out = i;
    return KS_SIMT_OK;
}

/* --- Operations of a warp */

static int issue(struct warp *x, int warp, const struct ks_simt_op *lanes,
                 const struct ks_simt_memory *m)
{
    struct product p = { .a = lanes[0].descriptor[0],
                         .b = lanes[0].descriptor[1],
                         .n = lanes[0].kind,
                         .form = lanes[0].form,
                         .group = x->n_groups };
    struct operands o;
    int rc;

    if (p.n < 8 || p.n > MAX_N || p.n % 8 || (p.form & 3) == KS_SIMT_FP32)
        return KS_SIMT_BAD_WARP;
    for (int l = 1; l < 32; l++)
        if (lanes[l].descriptor[0] != p.a || lanes[l].descriptor[1] != p.b)
            return KS_SIMT_SPLIT_GROUP;
    if (x->n_products == MAX_AHEAD)
        return KS_SIMT_UNDER_WAY;
    rc = find_sum(x, lanes, &p.sum);
    if (rc == KS_SIMT_OK)
        rc = read_operands(m, &p, warp, &o);
    if (rc != KS_SIMT_OK)
        return rc;
    p.digest = digest(&o, p.n);
    x->products[x->n_products++] = p;
    x->sums[p.sum].n_ahead++;
    x->trail = mix(mix(x->trail, p.a), p.b);
    return KS_SIMT_OK;
}

static int complete(struct warp *x, int warp, const struct product *p,
                    const struct ks_simt_memory *m)
{
    struct sum *s = &x->sums[p->sum];
    struct operands o;
    int rc = read_operands(m, p, warp, &o);

    if (rc != KS_SIMT_OK)
        return rc;
    if (digest(&o, p->n) != p->digest || !is_untouched(s))
        return KS_SIMT_CHANGED;
    multiply(s, &o, p->n, p->form & 3);
    if (--s->n_ahead)
        return KS_SIMT_OK;
    for (int l = 0; l < 32; l++)
        memcpy(s->out[l], s->v[l], (size_t)s->n_slots * sizeof(float));
    x->is_fenced = false;
    return KS_SIMT_OK;
}

static int wait(struct warp *x, int warp, int n_pending, const struct ks_simt_memory *m)
{
    unsigned n = 0;

    while (n < x->n_products && x->products[n].group + (unsigned)n_pending < x->n_groups) {
        int rc = complete(x, warp, &x->products[n], m);

        if (rc != KS_SIMT_OK)
            return rc;
        n++;
    }
    x->n_products -= n;
    memmove(x->products, x->products + n, x->n_products * sizeof x->products[0]);
    return KS_SIMT_OK;
}

int ks_simt_wgmma_do(struct ks_simt_wgmma *w, int warp, const struct ks_simt_op *lanes,
                     const struct ks_simt_memory *m)
{
    struct warp *x = &w->warps[warp];

    if (warp >= w->n_warps)
        return KS_SIMT_BAD_WARP;
    w->is_used = true;
    x->trail = mix(x->trail, (uint64_t)lanes[0].what << 32 ^ (uint64_t)lanes[0].kind << 8 ^
                                 (uint64_t)lanes[0].form);
    switch (lanes[0].what) {
    case KS_SIMT_OP_WGMMA:
        return issue(x, warp, lanes, m);
    case KS_SIMT_OP_WGMMA_FENCE:
        x->is_fenced = true;
        return KS_SIMT_OK;
    case KS_SIMT_OP_WGMMA_COMMIT:
        x->n_groups++;
        return KS_SIMT_OK;
    default:
        return wait(x, warp, lanes[0].kind, m);
    }
}
