/* SPDX-License-Identifier: MIT */
/* fuzz_problem.c - any text as a problem: refused with a reason, or printed as the same text */
#include "tests/fuzz/fuzz.h"

#include "op/op.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void check_geometry(const struct ks_problem *p)
{
    const struct ks_operator *op = ks_operators[p->op];
    struct ks_extents e = op->extents(p);
    struct ks_abi_problem q;
    int64_t shape[6], product = 1;
    int n = op->shape_c(p, shape), exact_q = ks_problem_exact_q(p);

    demand(e.a >= 1 && e.b >= 1 && e.c >= 1);
    demand(n >= 1 && n <= 6);
    for (int i = 0; i < n; i++)
        product *= shape[i];
    demand(product == e.c);
    demand(op->reduction(p) >= 1 && op->reduction(p) <= (int64_t)1 << 40);
    demand(ks_problem_flops(p) >= 2 && ks_problem_min_bytes(p) >= 6);
    demand(exact_q >= 0 && exact_q <= 3);
    op->to_abi(p, &q);
    demand(q.bytes == sizeof(q) && q.n * q.g * q.c * q.k >= 1);
}

static void check_text(const struct ks_problem *p, const char *text)
{
    struct ks_problem again = *p;
    struct ks_buf b;

    ks_buf_init(&b);
    ks_problem_canonical(p, &b);
    demand(strcmp(ks_buf_text(&b), text) == 0);
    ks_problem_csv_row(p, &b);
    demand(ks_buf_ok(&b));
    ks_buf_release(&b);
    demand(ks_problem_finish(&again, NULL) == 0 && memcmp(&again, p, sizeof(again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_problem p = { .id = 42 };
    struct ks_err err = { 0 };
    char *text = calloc(n + 1, 1);
    int rc;

    demand(text != NULL);
    if (n)
        memcpy(text, bytes, n);
    rc = ks_problem_parse(text, &p, &err);
    if (rc < 0) {
        demand((rc == KS_EFORMAT || rc == KS_EINVAL) && *err.text && p.id == 42);
    } else {
        check_geometry(&p);
        check_text(&p, text);
    }
    free(text);
    return 0;
}
