/* SPDX-License-Identifier: MIT */
/* judge_host.h - host half of the judge: which references it computes, and its launches. */
#ifndef KS_GPU_JUDGE_HOST_H
#define KS_GPU_JUDGE_HOST_H

#include "host.h"
#include "judge.h"
#include "judge_sums.h"

#define KS_JUDGE_EASKED   22     /* run() was asked for what is not in judge.h: EINVAL */
#define KS_JUDGE_PRODUCTS 0x1p46 /* of a problem, at most */
/* Of a launch, so that none takes longer than a second or two. A test has smaller ones. */
#ifndef KS_JUDGE_LAUNCH_PRODUCTS
#define KS_JUDGE_LAUNCH_PRODUCTS (INT64_C(1) << 37)
#define KS_JUDGE_LAUNCH_BLOCKS   (INT64_C(1) << 22)
#endif

_Static_assert(
    sizeof(struct ks_judge_share) == sizeof(struct ks_judge_part) &&
        offsetof(struct ks_judge_share, n_wrong) == offsetof(struct ks_judge_part, n_wrong) &&
        offsetof(struct ks_judge_share, first) == offsetof(struct ks_judge_part, first) &&
        offsetof(struct ks_judge_share, n_zero) == offsetof(struct ks_judge_part, n_zero) &&
        offsetof(struct ks_judge_share, digest) == offsetof(struct ks_judge_part, digest) &&
        offsetof(struct ks_judge_share, max_error) == offsetof(struct ks_judge_part, max_error),
    "both halves mean the same by a part");
_Static_assert(sizeof(struct ks_judge_moment) == sizeof(struct ks_judge_tick) &&
                   offsetof(struct ks_judge_moment, cycles) ==
                       offsetof(struct ks_judge_tick, cycles) &&
                   offsetof(struct ks_judge_moment, ns) == offsetof(struct ks_judge_tick, ns),
               "both halves mean the same by a tick");
_Static_assert(KS_JUDGE_BASE_R == KS_JUDGE_MASK_R && KS_JUDGE_BASE_ABS == KS_JUDGE_MASK_ABS &&
                   KS_JUDGE_MASK_EXACT == 0,
               "both halves mean the same by a mask");

/* --- What it computes */

KS_HOST const char *ks_judge_too_large(const struct ks_abi_problem *p)
{
    const int64_t extent[] = { p->n,
                               p->g,
                               p->c,
                               p->k,
                               ks_volume(p->in),
                               ks_volume(p->filter),
                               ks_volume(p->out),
                               ks_judge_reduction(p) };
    for (size_t i = 0; i < sizeof(extent) / sizeof(*extent); i++)
        if (extent[i] > KS_GPU_INT_MAX)
            return "an extent or a sum above 2^30";
    for (int i = 0; i < 3; i++)
        if ((p->filter[i] - 1) * p->dilation[i] + p->in[i] + p->pad_lo[i] + p->pad_hi[i] +
                p->stride[i] >
            KS_GPU_INT_MAX / 4)
            return "a window wider than 2^28 pixels";
    if ((double)ks_judge_outputs(p) * (double)ks_judge_reduction(p) > KS_JUDGE_PRODUCTS)
        return "more than 2^46 products";
    return NULL;
}

KS_HOST const char *ks_judge_unsupported(const struct ks_abi_problem *p, uint32_t dtype)
{
    if (p->bytes < sizeof(*p))
        return "problem struct of an older ABI";
    if (p->op != KS_ABI_GROUPED_CONV && p->op != KS_ABI_GEMM)
        return "has no reference of this operator";
    if (p->dtype != dtype)
        return "judges another data type";
    if (p->direction > KS_ABI_BACKWARD_WEIGHT || p->layout > KS_ABI_NGCHW)
        return "has no reference of this direction or layout";
    if (p->op == KS_ABI_GEMM && (p->direction != KS_ABI_FORWARD || p->layout != KS_ABI_NHWGC))
        return "a gemm has one direction and one layout";
    return ks_judge_too_large(p);
}

/* --- Launches; only NVIDIA's shared memory is dynamic */

KS_HOST struct ks_abi_launch ks_judge_launch(uint32_t kernel, int64_t blocks, uint32_t lds)
{
    const struct ks_abi_launch l = { .kernel = kernel,
                                     .grid = { (uint32_t)blocks, 1, 1 },
                                     .block = KS_JUDGE_BLOCK,
                                     .shared_bytes = KS_GPU_TARGET == 2 ? lds : 0 };
    return l;
}

KS_HOST int ks_judge_reference(const struct ks_judge_call *call, const struct ks_abi_buffers *buf)
{
    const struct ks_abi_problem *const p = &call->problem;
    struct ks_judge_sums s = ks_judge_sums_of(p);
    int64_t blocks = KS_JUDGE_LAUNCH_PRODUCTS / ks_judge_reduction(p) >> s.log2_outputs;
    blocks = blocks < 1 ? 1 : blocks < KS_JUDGE_LAUNCH_BLOCKS ? blocks : KS_JUDGE_LAUNCH_BLOCKS;
    s.abs = call->abs;
    s.mask[0] = call->mask[0];
    s.mask[1] = call->mask[1];
    for (; s.first < s.n; s.first += blocks << s.log2_outputs) {
        const int64_t left = ks_up(s.n - s.first, INT64_C(1) << s.log2_outputs);
        const int rc = ks_gpu_start(
            buf,
            ks_judge_launch(KS_JUDGE_REFERENCE, left < blocks ? left : blocks, KS_JUDGE_SUMS_LDS),
            buf->a, buf->b, call->r, &s);
        if (rc != 0)
            return rc;
    }
    return 0;
}

KS_HOST int ks_judge_look(const struct ks_judge_call *call, const struct ks_abi_buffers *buf)
{
    const int is_real = call->task == KS_JUDGE_REAL;
    struct ks_judge_look look = { .abs = is_real ? call->abs : NULL,
                                  .n = (long)call->n,
                                  .stride = (long)call->n_parts * KS_JUDGE_BLOCK,
                                  .u_out = call->u_out,
                                  .scale_a = call->scale_a,
                                  .tiny = call->tiny,
                                  .mask = { call->mask[0], call->mask[1] } };
    return ks_gpu_start(buf, ks_judge_launch(call->task, call->n_parts, KS_JUDGE_LOOK_LDS), buf->a,
                        is_real ? call->r : buf->b, buf->workspace, &look);
}

KS_HOST int ks_judge_round(const struct ks_judge_call *call, const struct ks_abi_buffers *buf)
{
    if (call->n == 0)
        return 0;
    const int64_t wanted = ks_up((int64_t)call->n, KS_JUDGE_BLOCK);
    const int64_t blocks = wanted < KS_JUDGE_PARTS ? wanted : KS_JUDGE_PARTS;
    struct ks_judge_look look = { .n = (long)call->n,
                                  .stride = blocks * KS_JUDGE_BLOCK,
                                  .mask = { call->mask[0], call->mask[1] },
                                  .is_c_masked = call->is_c_masked != 0 };
    return ks_gpu_start(buf, ks_judge_launch(KS_JUDGE_ROUND, blocks, 0), call->r, NULL, buf->c,
                        &look);
}

_Static_assert(KS_JUDGE_N_AXES == KS_JUDGE_AXES && KS_JUDGE_N_CLASSES == KS_JUDGE_CLASSES,
               "both halves mean the same by signs");

KS_HOST int ks_judge_flip(const struct ks_judge_call *call, const struct ks_abi_buffers *buf)
{
    const struct ks_judge_signs *const s = &call->signs;
    struct ks_judge_turn turn = { .elements = buf->c,
                                  .n = (long)call->n,
                                  .stride = (long)call->n_parts * KS_JUDGE_BLOCK };
    for (int k = 0; k < KS_JUDGE_AXES; k++) {
        turn.extent[k] = (int)s->extent[k];
        for (int i = 0; i < KS_JUDGE_CLASSES; i++)
            turn.step[k][i] = (long)s->step[k][i];
    }
    for (int i = 0; i < KS_JUDGE_CLASSES; i++)
        turn.byte[i] = s->byte[i];
    return ks_gpu_start(buf, ks_judge_launch(KS_JUDGE_FLIP, call->n_parts, KS_JUDGE_LOOK_LDS), NULL,
                        NULL, buf->workspace, &turn);
}

KS_HOST int ks_judge_clock(const struct ks_judge_call *call, const struct ks_abi_buffers *buf)
{
    struct ks_judge_look none = { .n = 0 };
    return ks_gpu_start(buf, ks_judge_launch(KS_JUDGE_CLOCK, call->n_parts, 0), NULL, NULL,
                        buf->workspace, &none);
}

KS_HOST int ks_judge_is_array(const struct ks_judge_signs *s, uint64_t n)
{
    uint64_t product = 1;
    for (int k = 0; k < KS_JUDGE_AXES; k++) {
        if (s->extent[k] < 1 || s->extent[k] > KS_GPU_INT_MAX || product > n)
            return 0;
        product *= (uint64_t)s->extent[k];
    }
    return product == n;
}

/* Whether a call is as judge.h says. */
KS_HOST int ks_judge_is_whole(const struct ks_judge_call *call, const struct ks_abi_buffers *buf)
{
    if (call->n > INT64_MAX / 16)
        return 0;
    switch (call->task) {
    case KS_JUDGE_REFERENCE:
        return buf->a && buf->b && call->r && call->n == (uint64_t)ks_judge_outputs(&call->problem);
    case KS_JUDGE_ROUND:
        return call->r && buf->c;
    case KS_JUDGE_EXACT:
        return buf->a && buf->b;
    case KS_JUDGE_REAL: /* without `tiny` a tolerance could be zero */
        return buf->a && call->r && call->abs && call->tiny > 0;
    case KS_JUDGE_WRITTEN:
        return buf->a != NULL;
    case KS_JUDGE_DIGEST:
        return buf->a && (uintptr_t)buf->a % 4 == 0;
    case KS_JUDGE_FLIP:
        return buf->c && call->n > 0 && ks_judge_is_array(&call->signs, call->n);
    case KS_JUDGE_CLOCK:
        return 1;
    default:
        return 0;
    }
}

KS_HOST int ks_judge_run(const struct ks_abi_problem *p, const struct ks_abi_buffers *buf,
                         uint32_t dtype)
{
    const struct ks_judge_call *const call = (const struct ks_judge_call *)p;
    if (p->bytes != sizeof(*call) || ks_judge_unsupported(p, dtype) ||
        !ks_judge_is_whole(call, buf))
        return KS_JUDGE_EASKED;
    if (call->task == KS_JUDGE_REFERENCE)
        return ks_judge_reference(call, buf);
    if (call->task == KS_JUDGE_ROUND)
        return ks_judge_round(call, buf);
    if (call->n_parts < 1 || call->n_parts > KS_JUDGE_PARTS || !buf->workspace)
        return KS_JUDGE_EASKED;
    if (call->task == KS_JUDGE_CLOCK)
        return ks_judge_clock(call, buf);
    return call->task == KS_JUDGE_FLIP ? ks_judge_flip(call, buf) : ks_judge_look(call, buf);
}

#endif
