/* SPDX-License-Identifier: MIT */
/* launch.c - one kernel on one problem in this process */
#include "tests/gpu/launch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int launch_device(const struct ks_grid *g, const struct ks_device_ops **ops_out,
                  struct ks_device **dev_out, struct ks_err *err)
{
    const char *backend = ks_job_backend(&g->job)->name;
    const struct ks_device_ops *ops = ks_device_find(backend);
    int rc;

    if (ops == NULL)
        return ks_fail(err, KS_ENODEVICE, "unknown device backend '%s'", backend);
    rc = ks_device_check(ops, err);
    if (rc == 0)
        rc = ops->open("", dev_out, err);
    if (rc == 0)
        *ops_out = ops;
    return rc;
}

static int upload_operand(struct launch *l, int i, struct ks_err *err)
{
    void *host = calloc(1, l->bytes[i]);
    int rc;

    if (host == NULL)
        return ks_fail(err, KS_ENOMEM, "an operand");
    ks_problem_inputs(&l->what, KS_DATA_EXACT, i == 0 ? 'a' : 'b', host);
    rc = l->ops->upload(l->dev, l->mem[i], host, l->bytes[i], err);
    free(host);
    return rc;
}

static int allocate(struct launch *l, struct ks_err *err)
{
    const struct ks_extents e = ks_operators[l->what.op]->extents(&l->what);
    const size_t element = ks_dtype_bytes(l->what.dtype);
    const int64_t workspace = l->entry->workspace_bytes(&l->problem);
    const size_t bytes[4] = { (size_t)e.a * element, (size_t)e.b * element, (size_t)e.c * element,
                              workspace > 0 ? (size_t)workspace : 0 };
    int rc = 0;

    for (int i = 0; rc == 0 && i < 4; i++) {
        l->bytes[i] = (bytes[i] + 3) / 4 * 4; /* fill() wants whole words */
        if (l->bytes[i] > 0)
            rc = l->ops->alloc(l->dev, l->bytes[i], &l->mem[i], err);
        if (rc == 0 && l->bytes[i] > 0)
            rc = i < 2 ? upload_operand(l, i, err)
                       : l->ops->fill(l->dev, l->mem[i], 0xffffffffu, l->bytes[i], err);
    }
    return rc;
}

int launch_open(struct launch *l, const struct ks_device_ops *ops, struct ks_device *dev,
                const struct ks_abi_entry *entry, const struct ks_problem *p, struct ks_err *err)
{
    const char *why;
    int rc;

    *l = (struct launch){ .ops = ops, .dev = dev, .entry = entry, .what = *p };
    ks_operators[p->op]->to_abi(p, &l->problem);
    why = entry->unsupported(&l->problem);
    if (why != NULL)
        return ks_fail(err, KS_EUNSUPPORTED, "%s", why);
    rc = allocate(l, err);
    l->buf = (struct ks_abi_buffers){
        .a = l->mem[0], .b = l->mem[1], .c = l->mem[2], .workspace = l->mem[3]
    };
    if (rc < 0)
        launch_close(l);
    return rc;
}

void launch_close(struct launch *l)
{
    for (int i = 0; i < 4; i++)
        l->ops->free(l->dev, l->mem[i]);
    memset(l->mem, 0, sizeof(l->mem));
}

int launch_time(const struct launch *l, uint32_t calls, uint32_t n, bool is_cold, double *ns_out,
                struct ks_err *err)
{
    const struct ks_timing t = { .entry = l->entry,
                                 .problem = &l->problem,
                                 .buf = &l->buf,
                                 .calls = calls,
                                 .n_samples = n,
                                 .is_cold = is_cold };
    int kernel_rc = 0, rc = l->ops->time_samples(l->dev, &t, ns_out, &kernel_rc, err);

    for (uint32_t i = 0; rc == 0 && i < n; i++)
        if (!(ns_out[i] > 0) || !isfinite(ns_out[i]))
            rc = ks_fail(err, KS_EDEVICE, "sample %" PRIu32 " is %g ns", i, ns_out[i]);
    return rc;
}

struct outputs { /* of one problem, on the host; all owned */
    void *a, *b, *got, *want;
    double *exact;
};

static int compare(const struct launch *l, const struct outputs *o, int64_t n, struct ks_err *err)
{
    const size_t element = ks_dtype_bytes(l->what.dtype);
    const char *got = o->got, *want = o->want;

    for (int64_t i = 0; i < n; i++)
        if (memcmp(got + (size_t)i * element, want + (size_t)i * element, element) != 0)
            return ks_fail(
                err, KS_EDEVICE, "element %" PRId64 " of %" PRId64 " is %g, the reference %g", i, n,
                ks_element_get(got, i, l->what.dtype), ks_element_get(want, i, l->what.dtype));
    return 0;
}

static int check_against(const struct launch *l, struct outputs *o, int64_t n, struct ks_err *err)
{
    int rc;

    if (o->a == NULL || o->b == NULL || o->got == NULL || o->want == NULL || o->exact == NULL)
        return ks_fail(err, KS_ENOMEM, "a reference");
    ks_problem_inputs(&l->what, KS_DATA_EXACT, 'a', o->a);
    ks_problem_inputs(&l->what, KS_DATA_EXACT, 'b', o->b);
    rc = ks_operators[l->what.op]->reference(&l->what, o->a, o->b, o->exact, NULL, err);
    if (rc == 0)
        rc = l->ops->download(l->dev, o->got, l->mem[2], l->bytes[2], err);
    if (rc == 0) {
        ks_elements_round(o->exact, n, l->what.dtype, o->want);
        rc = compare(l, o, n, err);
    }
    return rc;
}

int launch_check(const struct launch *l, enum ks_numerics numerics, struct ks_err *err)
{
    const int64_t n = ks_operators[l->what.op]->extents(&l->what).c;
    struct outputs o;
    int rc;

    if (numerics == KS_NUMERICS_V2_ONLY)
        return ks_fail(err, KS_EUNSUPPORTED, "the instance does not promise exact sums");
    if (ks_problem_flops(&l->what) > LAUNCH_CHECK_FLOPS)
        return ks_fail(err, KS_EUNSUPPORTED, "more than %.0f GFLOP", 1e-9 * LAUNCH_CHECK_FLOPS);
    o = (struct outputs){ .a = calloc(1, l->bytes[0]),
                          .b = calloc(1, l->bytes[1]),
                          .got = calloc(1, l->bytes[2]),
                          .want = calloc(1, l->bytes[2]),
                          .exact = calloc((size_t)n, sizeof(*o.exact)) };
    rc = check_against(l, &o, n, err);
    free(o.a);
    free(o.b);
    free(o.got);
    free(o.want);
    free(o.exact);
    return rc;
}
