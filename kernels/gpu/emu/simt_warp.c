/* SPDX-License-Identifier: MIT */
#include "simt_warp.h"

#include <string.h>

/* --- Matrix instructions. Which lane and slot holds an element, from the vendors' tables; kernels
 * have the inverse, which element a lane and slot holds, so that a slip in either shows. */

struct matrix {
    int kind, m, n, k, lanes, na, nb, nc;
};

static const struct matrix *find_matrix(int kind)
{
    static const struct matrix all[] = {
#define X(name, kind_, m_, n_, k_, lanes_, na_, nb_, nc_)                                          \
    { kind_, m_, n_, k_, lanes_, na_, nb_, nc_ },
        KS_SIMT_MATRIX(X)
#undef X
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].kind == kind)
            return &all[i];
    return NULL;
}

static struct ks_simt_place place(int lane, int slot)
{
    return (struct ks_simt_place){ (uint8_t)lane, (uint8_t)slot };
}

static struct ks_simt_place place_a(const struct matrix *x, int i, int k)
{
    if (x->kind == KS_SIMT_MMA_M16N8K16)
        return place(i % 8 * 4 + k % 8 / 2, k % 2 + (i / 8) * 2 + (k / 8) * 4);
    if (x->kind == KS_SIMT_WMMA_16X16X16) /* both halves of the wave hold all of it */
        return place(i + 16 * (k & 1), k);
    return place(i + x->m * (k / x->na), k % x->na);
}

static struct ks_simt_place place_b(const struct matrix *x, int j, int k)
{
    if (x->kind == KS_SIMT_MMA_M16N8K16)
        return place(j * 4 + k % 8 / 2, k % 2 + (k / 8) * 2);
    if (x->kind == KS_SIMT_WMMA_16X16X16)
        return place(j + 16 * (k >> 3), k);
    return place(j + x->n * (k / x->nb), k % x->nb);
}

static struct ks_simt_place place_c(const struct matrix *x, int i, int j)
{
    if (x->kind == KS_SIMT_MMA_M16N8K16)
        return place(i % 8 * 4 + j / 2, j % 2 + (i / 8) * 2);
    if (x->kind == KS_SIMT_WMMA_16X16X16)
        return place(j + 16 * (i % 2), i / 2);
    if (x->kind == KS_SIMT_WMMA_GFX12)
        return place(j + 16 * (i / 8), i % 8);
    if (x->m == 32)
        return place(j + 32 * (i / 4 % 2), i / 8 * 4 + i % 4);
    return place(j + 16 * (i / 4), i % 4);
}

static void map_matrix(struct ks_simt_maps *maps, const struct matrix *x)
{
    for (int i = 0; i < x->m; i++) {
        for (int k = 0; k < x->k; k++)
            maps->at_a[i * x->k + k] = place_a(x, i, k);
        for (int j = 0; j < x->n; j++)
            maps->at_c[i * x->n + j] = place_c(x, i, j);
    }
    for (int k = 0; k < x->k; k++)
        for (int j = 0; j < x->n; j++)
            maps->at_b[k * x->n + j] = place_b(x, j, k);
    maps->kind = x->kind;
}

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, u;
    float f;

    if (e == 0) { /* zero or subnormal: m 2^-24 */
        f = (float)m / 16777216.0f;
        return sign ? -f : f;
    }
    u = sign | (e == 31 ? 255u : e + 112u) << 23 | m << 13;
    memcpy(&f, &u, sizeof f);
    return f;
}

float ks_simt_element(const void *p, int i, int dtype)
{
    uint16_t h;
    uint32_t u;
    float f;

    if (dtype == KS_SIMT_FP32) {
        memcpy(&f, (const char *)p + 4 * i, sizeof f);
        return f;
    }
    memcpy(&h, (const char *)p + 2 * i, sizeof h);
    if (dtype == KS_SIMT_FP16)
        return half_to_float(h);
    u = (uint32_t)h << 16;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* row[n] += a b[n]; eight at a time, which every n here is a multiple of and compilers know how to
 * do at once. */
static void add_products(float *restrict row, float a, const float *restrict b, int n)
{
    for (int j = 0; j < n; j += 8)
        for (int e = 0; e < 8; e++)
            row[j + e] += a * b[j + e];
}

static int do_matrix(struct ks_simt_maps *maps, const struct ks_simt_op *lanes, int n_lanes,
                     int warp)
{
    const struct matrix *x = find_matrix(lanes[0].kind);
    int dtype = lanes[0].form;
    float a[KS_SIMT_MAX_ELEMENTS], b[KS_SIMT_MAX_ELEMENTS], row[32];

    if (!x || n_lanes != x->lanes || warp != x->lanes)
        return KS_SIMT_BAD_WARP;
    if (maps->kind != x->kind)
        map_matrix(maps, x);
    for (int e = 0; e < x->m * x->k; e++)
        a[e] = ks_simt_element(lanes[maps->at_a[e].lane].a, maps->at_a[e].slot, dtype);
    for (int e = 0; e < x->n * x->k; e++)
        b[e] = ks_simt_element(lanes[maps->at_b[e].lane].b, maps->at_b[e].slot, dtype);
    for (int i = 0; i < x->m; i++) {
        const struct ks_simt_place *at = &maps->at_c[i * x->n];

        for (int j = 0; j < x->n; j++)
            row[j] = ((const float *)lanes[at[j].lane].out)[at[j].slot];
        for (int k = 0; k < x->k; k++)
            add_products(row, a[i * x->k + k], &b[k * x->n], x->n);
        for (int j = 0; j < x->n; j++)
            ((float *)lanes[at[j].lane].out)[at[j].slot] = row[j];
    }
    return KS_SIMT_OK;
}

/* --- The other operations of a warp */

/* Lane l gets of matrix j elements (l / 4, 2 (l % 4)) and the next, turned (2 (l % 4), l / 4). */
static int do_ldmatrix(const struct ks_simt_op *lanes, int n_lanes, int warp)
{
    int n = lanes[0].kind, is_turned = lanes[0].form;

    if (n_lanes != 32 || warp != 32 || (n != 1 && n != 2 && n != 4))
        return KS_SIMT_BAD_WARP;
    for (int l = 0; l < n_lanes; l++)
        for (int j = 0; j < n; j++)
            for (int e = 0; e < 2; e++) {
                int row = is_turned ? l % 4 * 2 + e : l / 4,
                    col = is_turned ? l / 4 : l % 4 * 2 + e;
                const char *from = lanes[j * 8 + row].a;

                memcpy((char *)lanes[l].out + 4 * j + 2 * e, from + 2 * col, 2);
            }
    return KS_SIMT_OK;
}

bool ks_simt_is_one_op(const struct ks_simt_op *lanes, int n_lanes)
{
    for (int i = 1; i < n_lanes; i++)
        if (lanes[i].what != lanes[0].what || lanes[i].kind != lanes[0].kind ||
            lanes[i].form != lanes[0].form)
            return false;
    return true;
}

int ks_simt_do_warp(struct ks_simt_maps *maps, const struct ks_simt_op *lanes, int n_lanes,
                    int warp)
{
    if (lanes[0].what == KS_SIMT_OP_LDMATRIX)
        return do_ldmatrix(lanes, n_lanes, warp);
    return do_matrix(maps, lanes, n_lanes, warp);
}
