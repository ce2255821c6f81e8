/* SPDX-License-Identifier: MIT */
/* peer_lt.c - matrix products of cuBLASLt and hipBLASLt */
/* cuBLASLt and hipBLASLt through dlopen, with prototypes of our own: the two have the same calls,
 * and other numbers (cublasLt.h of CUDA 13, hipblaslt.h of ROCm 6). */
#include "tests/gpu/peer_lt.h"
#include "tests/gpu/peer_library.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREF_WORKSPACE 1 /* ..._MATMUL_PREF_MAX_WORKSPACE_BYTES of both */
#define TYPE_FP32      0

struct vendor {
    const char *name, *prefix, *variable, *sonames[5]; /* ends with NULL */
    int compute;                                       /* in fp32 */
    int op_n, op_t;
    int attr_a, attr_b;    /* whether an operand is transposed */
    size_t algorithm_size; /* of the first member of a result */
    size_t result_size;
};
static const struct vendor vendors[] = {
    { .name = "cublaslt",
      .prefix = "cublasLt",
      .variable = "KSWEEP_CUBLASLT",
      .sonames = { "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                   "libcublasLt.so" },
      .compute = 68,
      .op_n = 0,
      .op_t = 1,
      .attr_a = 3,
      .attr_b = 4,
      .algorithm_size = 64,
      .result_size = 96 },
    { .name = "hipblaslt",
      .prefix = "hipblasLt",
      .variable = "KSWEEP_HIPBLASLT",
      .sonames = { "libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so" },
      .compute = 2,
      .op_n = 111,
      .op_t = 112,
      .attr_a = 0,
      .attr_b = 1,
      .algorithm_size = 24,
      .result_size = 56 },
};
#define N_VENDORS  (sizeof(vendors) / sizeof(vendors[0]))
#define RESULT_MAX 96

/* X(slot, symbol behind the prefix, prototype) */
#define CALLS(X)                                                                                   \
    X(create, "Create", int (*)(void **))                                                          \
    X(destroy, "Destroy", int (*)(void *))                                                         \
    X(desc, "MatmulDescCreate", int (*)(void **, int, int))                                        \
    X(no_desc, "MatmulDescDestroy", int (*)(void *))                                               \
    X(set_desc, "MatmulDescSetAttribute", int (*)(void *, int, const void *, size_t))              \
    X(layout, "MatrixLayoutCreate", int (*)(void **, int, uint64_t, uint64_t, int64_t))            \
    X(no_layout, "MatrixLayoutDestroy", int (*)(void *))                                           \
    X(pref, "MatmulPreferenceCreate", int (*)(void **))                                            \
    X(no_pref, "MatmulPreferenceDestroy", int (*)(void *))                                         \
    X(set_pref, "MatmulPreferenceSetAttribute", int (*)(void *, int, const void *, size_t))        \
    X(heuristic, "MatmulAlgoGetHeuristic",                                                         \
      int (*)(void *, void *, void *, void *, void *, void *, void *, int, void *, int *))         \
    X(matmul, "Matmul",                                                                            \
      int (*)(void *, void *, const void *, const void *, void *, const void *, void *,            \
              const void *, const void *, void *, void *, void *, const void *, void *, size_t,    \
              void *))

struct lt {
    const struct vendor *vendor;
    void *handle;
    char name[128];
    struct {
#define X(slot, symbol, prototype) __typeof__((prototype)0) slot;
        CALLS(X)
#undef X
    } f;
};

static int take_symbol(void *library, const struct vendor *v, const char *rest, void *slot,
                       struct ks_err *err)
{
    char symbol[80];

    snprintf(symbol, sizeof(symbol), "%s%s", v->prefix, rest);
    return peer_symbol(library, symbol, slot, err);
}

static int take_symbols(struct lt *lt, void *library, struct ks_err *err)
{
    int rc = 0;

#define X(slot, symbol, prototype)                                                                 \
    rc = rc == 0 ? take_symbol(library, lt->vendor, symbol, &lt->f.slot, err) : rc;
    CALLS(X)
#undef X
    return rc;
}

int lt_open(const char *vendor, struct lt **out, struct ks_err *err)
{
    struct lt *lt = calloc(1, sizeof(*lt));
    void *library;
    int rc;

    if (lt == NULL)
        return ks_fail(err, KS_ENOMEM, "a vendor's library");
    for (size_t i = 0; i < N_VENDORS; i++)
        if (strcmp(vendors[i].name, vendor) == 0)
            lt->vendor = &vendors[i];
    library =
        lt->vendor != NULL ? peer_library(lt->vendor->variable, lt->vendor->sonames, err) : NULL;
    if (lt->vendor == NULL)
        rc = ks_fail(err, KS_EINVAL, "no library of matrix products is called '%s'", vendor);
    else
        rc = library != NULL ? take_symbols(lt, library, err) : KS_ENOENT;
    if (rc == 0 && lt->f.create(&lt->handle) != 0)
        rc = ks_fail(err, KS_EDEVICE, "%sCreate failed", lt->vendor->prefix);
    if (rc < 0) {
        free(lt); /* libraries stay: vendors' are not made to be closed */
        return rc;
    }
    snprintf(lt->name, sizeof(lt->name), "%s", lt->vendor->prefix);
    *out = lt;
    return 0;
}

void lt_close(struct lt *lt)
{
    if (lt == NULL)
        return;
    (void)lt->f.destroy(lt->handle);
    free(lt);
}

const char *lt_name(const struct lt *lt)
{
    return lt->name;
}

static int run(const struct peer_call *call, const struct ks_abi_buffers *buf)
{
    const struct lt_call *c = (const struct lt_call *)(const void *)call;
    const float one = 1.0f, zero = 0.0f;

    /* The library's matrices are by columns: C' = op(B)' op(A)'. */
    return c->lt->f.matmul(c->lt->handle, c->desc, &one, buf->b, c->b, buf->a, c->a, &zero, buf->c,
                           c->c, buf->c, c->c, c->algorithm, c->workspace, PEER_WORKSPACE,
                           buf->stream);
}

static int describe(const struct lt *lt, const struct ks_abi_problem *p, struct lt_call *c)
{
    static const int types[] = { [KS_ABI_FP32] = TYPE_FP32, [KS_ABI_FP16] = 2, [KS_ABI_BF16] = 14 };
    const struct vendor *v = lt->vendor;
    const bool a_turned = (p->flags & KS_ABI_TRANS_A) != 0,
               b_turned = (p->flags & KS_ABI_TRANS_B) != 0;
    const int64_t m = p->out[1], n = p->k, k = p->c;
    const int op_a = a_turned ? v->op_t : v->op_n, op_b = b_turned ? v->op_t : v->op_n;
    const int type = types[p->dtype];
    /* Rows and columns of what is stored, by columns. */
    const int64_t a_rows = a_turned ? m : k, a_columns = a_turned ? k : m;
    const int64_t b_rows = b_turned ? k : n, b_columns = b_turned ? n : k;

    return lt->f.desc(&c->desc, v->compute, TYPE_FP32) ||
           lt->f.set_desc(c->desc, v->attr_a, &op_b, sizeof(op_b)) ||
           lt->f.set_desc(c->desc, v->attr_b, &op_a, sizeof(op_a)) ||
           lt->f.layout(&c->a, type, (uint64_t)a_rows, (uint64_t)a_columns, a_rows) ||
           lt->f.layout(&c->b, type, (uint64_t)b_rows, (uint64_t)b_columns, b_rows) ||
           lt->f.layout(&c->c, type, (uint64_t)n, (uint64_t)m, n);
}

static int propose(const struct lt *lt, const struct lt_call *c, uint8_t *results, int *n_out)
{
    const uint64_t bytes = PEER_WORKSPACE;
    void *pref = NULL;
    int rc = lt->f.pref(&pref);

    if (rc == 0)
        rc = lt->f.set_pref(pref, PREF_WORKSPACE, &bytes, sizeof(bytes));
    if (rc == 0)
        rc = lt->f.heuristic(lt->handle, c->desc, c->b, c->a, c->c, c->c, pref, PEER_CALLS, results,
                             n_out);
    if (pref != NULL)
        (void)lt->f.no_pref(pref);
    return rc;
}

int lt_plan(const struct lt *lt, const struct ks_abi_problem *p, void *workspace,
            struct lt_call *calls_out, int *n_out, struct ks_err *err)
{
    struct lt_call c = { .call = { .problem = *p, .run = run }, .lt = lt, .workspace = workspace };
    uint64_t results[PEER_CALLS * RESULT_MAX / 8] = { 0 };
    int rc;

    if (p->op != KS_ABI_GEMM || p->n != 1)
        return ks_fail(err, KS_EUNSUPPORTED, "not a single matrix product");
    *n_out = 0;
    rc = describe(lt, p, &c);
    if (rc == 0)
        rc = propose(lt, &c, (uint8_t *)results, n_out);
    if (rc != 0 || *n_out < 1) {
        lt_release(&c);
        return ks_fail(err, KS_EUNSUPPORTED, "it proposes no algorithm (status %d)", rc);
    }
    for (int i = 0; i < *n_out; i++) {
        calls_out[i] = c;
        memcpy(calls_out[i].algorithm, (uint8_t *)results + (size_t)i * lt->vendor->result_size,
               lt->vendor->algorithm_size);
    }
    return 0;
}

void lt_release(struct lt_call *c)
{
    void *const layouts[] = { c->a, c->b, c->c };

    for (size_t i = 0; i < 3; i++)
        if (layouts[i] != NULL)
            (void)c->lt->f.no_layout(layouts[i]);
    if (c->desc != NULL)
        (void)c->lt->f.no_desc(c->desc);
}
