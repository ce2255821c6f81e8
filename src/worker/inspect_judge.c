/* SPDX-License-Identifier: MIT */
/* inspect_judge.c - the judge looks, where the output is. What it finds wrong the host looks at
 * again: its verdict counts, and has the elements that a record shows. */
#include "worker/inspect.h"
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_ELEMENTS ((size_t)1 << 18) /* of a reference, on the host at a time */

static void *output(const struct ks_worker *w)
{
    return ks_zone_device(&w->set.zone[KS_Z_C]);
}

/* 8 KiB of each instead of all. */
static bool judge_guards(struct ks_worker *w, char *reason_out, size_t cap, int *rc_out,
                         struct ks_err *err)
{
    return ks_workset_check_guards(&w->set, false, reason_out, cap, rc_out, err);
}

/* What the judge said, as a verdict of nothing wrong. */
static struct ks_verdict clean(const struct ks_judged *j)
{
    return (struct ks_verdict){ .n_zero = j->n_zero, .max_error = j->max_error };
}

static int agree(const struct ks_judged *j, const struct ks_verdict *v, struct ks_err *err)
{
    uint64_t first = v->n_mismatches > 0 ? (uint64_t)v->mismatch[0].index : KS_JUDGE_NONE;

    if (j->n_wrong == v->n_wrong && j->first == first)
        return 0;
    return ks_fail(
        err, KS_EDEVICE,
        "the verification kernels find %llu elements wrong from %lld, the host %llu from %lld",
        (unsigned long long)j->n_wrong, (long long)j->first, (unsigned long long)v->n_wrong,
        (long long)first);
}

static int no_room(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for %zu elements of a reference", LOOK_ELEMENTS);
}

/* A piece of a reference, as it lies on the device, and how it is masked. */
static int fetch_piece(struct ks_worker *w, const void *array, size_t from, size_t bytes, void *to,
                       const struct ks_mask *mask, struct ks_masked *piece_out, struct ks_err *err)
{
    const struct ks_judge *j = &w->judge;

    *piece_out = ks_judge_masked(j, array, from, to, mask);
    return j->dev->ops->download(j->dev, to, (const uint8_t *)array + from, bytes, err);
}

/* References come in pieces: all of them would be five times the
 * output, and a worker's memory has a cap. */
static int look_again_exact(struct ks_worker *w, const struct ks_mask *mask, struct ks_verdict *out,
                            struct ks_err *err)
{
    const struct ks_judge *j = &w->judge;
    const size_t bytes = j->element_bytes;
    const uint8_t *got = ks_zone_host(&w->set.zone[KS_Z_C]);
    struct ks_masked want;
    void *room = malloc(LOOK_ELEMENTS * bytes);
    int rc = room != NULL ? 0 : no_room(err);

    ks_verify_begin(&w->shape, out);
    for (size_t from = 0; rc == 0 && from < j->n; from += LOOK_ELEMENTS) {
        size_t n = j->n - from < LOOK_ELEMENTS ? j->n - from : LOOK_ELEMENTS;

        rc = fetch_piece(w, j->exact, from * bytes, n * bytes, room, mask, &want, err);
        if (rc == 0)
            ks_verify_exact_more(got + from * bytes, &want, from, n, w->set.problem.dtype,
                                 &w->shape, out);
    }
    free(room);
    return rc;
}

static int look_again_real(struct ks_worker *w, const struct ks_tolerance *t,
                           const struct ks_mask *mask, struct ks_verdict *out, struct ks_err *err)
{
    const struct ks_judge *j = &w->judge;
    const uint8_t *got = ks_zone_host(&w->set.zone[KS_Z_C]);
    struct ks_masked r, abs;
    double *room = malloc(2 * LOOK_ELEMENTS * sizeof(*room));
    int rc = room != NULL ? 0 : no_room(err);

    ks_verify_begin(&w->shape, out);
    for (size_t from = 0; rc == 0 && from < j->n; from += LOOK_ELEMENTS) {
        size_t n = j->n - from < LOOK_ELEMENTS ? j->n - from : LOOK_ELEMENTS;
        size_t at = from * sizeof(*room), bytes = n * sizeof(*room);

        rc = fetch_piece(w, j->r, at, bytes, room, mask, &r, err);
        if (rc == 0)
            rc = fetch_piece(w, j->abs, at, bytes, room + LOOK_ELEMENTS, mask, &abs, err);
        if (rc == 0)
            ks_verify_real_more(got + from * j->element_bytes, &r, &abs, from, n,
                                w->set.problem.dtype, t, &w->shape, out);
    }
    free(room);
    return rc;
}

/* The host's comparison; t NULL: of exact data. */
static int look_again(struct ks_worker *w, const struct ks_tolerance *t, struct ks_verdict *out,
                      struct ks_err *err)
{
    struct ks_mask mask;
    int rc = ks_zone_pull(w->dev, &w->set.zone[KS_Z_C], err);

    if (rc == 0)
        rc = ks_vault_take(&w->vault, &mask, err);
    if (rc < 0)
        return rc;
    if (t != NULL)
        rc = look_again_real(w, t, &mask, out, err);
    else
        rc = look_again_exact(w, &mask, out, err);
    ks_vault_forget(&mask);
    return rc;
}

static int judge_exact(struct ks_worker *w, struct ks_verdict *out, struct ks_err *err)
{
    struct ks_judged said;
    int rc = ks_judge_exact(&w->judge, output(w), &said, err);

    if (rc < 0)
        return rc;
    *out = clean(&said);
    if (said.n_wrong == 0)
        return 0;
    rc = look_again(w, NULL, out, err);
    return rc == 0 ? agree(&said, out, err) : rc;
}

static int judge_written(struct ks_worker *w, struct ks_verdict *out, struct ks_err *err)
{
    struct ks_judged said;
    int rc = ks_judge_written(&w->judge, output(w), &said, err);

    if (rc < 0)
        return rc;
    *out = clean(&said);
    if (said.n_wrong == 0)
        return 0;
    rc = ks_zone_pull(w->dev, &w->set.zone[KS_Z_C], err);
    if (rc < 0)
        return rc;
    ks_verify_written(ks_zone_host(&w->set.zone[KS_Z_C]), w->judge.n, w->set.problem.dtype,
                      &w->shape, out);
    return agree(&said, out, err);
}

static int judge_real(struct ks_worker *w, const struct ks_tolerance *t, struct ks_verdict *out,
                      struct ks_err *err)
{
    struct ks_judged said;
    int rc = ks_judge_real(&w->judge, output(w), t, &said, err);

    if (rc < 0)
        return rc;
    *out = clean(&said);
    if (said.n_wrong == 0)
        return 0;
    rc = look_again(w, t, out, err);
    return rc == 0 ? agree(&said, out, err) : rc;
}

static int judge_hash(struct ks_worker *w, uint64_t *hash_out, struct ks_err *err)
{
    return ks_judge_digest(&w->judge, output(w), w->set.zone[KS_Z_C].bytes, hash_out, err);
}

/* The host's copies of inputs stay as they were made. */
static int judge_flip(struct ks_worker *w, enum ks_zone_name zone, struct ks_err *err)
{
    const char operand = zone == KS_Z_C ? 'c' : zone == KS_Z_REAL_A ? 'a' : 'b';

    return ks_judge_flip(&w->judge, &w->set.signs, operand, ks_zone_device(&w->set.zone[zone]),
                         err);
}

/* Which reference is not what it was; NULL: none. */
static const char *changed_reference(const struct ks_reference_digests *was,
                                     const struct ks_reference_digests *is)
{
    if (was->exact != is->exact)
        return "the exact reference";
    if (was->real != is->real)
        return "the reference";
    return was->abs != is->abs ? "the reference's bound" : NULL;
}

/* An input that the judge finds changed is made again; the host says where it was changed. */
static int remake_input(struct ks_worker *w, size_t i, char *reason_out, size_t cap,
                        struct ks_err *err)
{
    int rc = 0;

    if (ks_workset_check_input(&w->set, i, reason_out, cap, &rc, err))
        return ks_fail(err, KS_EDEVICE,
                       "the verification kernels find input %c changed, the host does not",
                       i % 2 == 0 ? 'a' : 'b');
    return rc;
}

/* 0: all is as it was; 1: inputs were made again or references are to be, reason_out says why. */
static int find_changes(struct ks_worker *w, char *reason_out, size_t cap, struct ks_err *err)
{
    uint64_t inputs[KS_Z_INPUTS] = { 0 };
    struct ks_reference_digests references = { 0 };
    const char *what;
    int rc = ks_judge_digest_inputs(&w->judge, &w->set, inputs, err);
    bool is_changed = false;

    if (rc == 0)
        rc = ks_judge_digest_references(&w->judge, &references, err);
    for (size_t i = 0; rc == 0 && i < KS_Z_INPUTS; i++) {
        char reason[160] = "";

        if (inputs[i] == w->judge.inputs[i])
            continue;
        rc = remake_input(w, i, reason, sizeof(reason), err);
        if (!is_changed)
            snprintf(reason_out, cap, "%s", reason);
        is_changed = true;
    }
    what = changed_reference(&w->judge.references, &references);
    if (rc == 0 && what != NULL && !is_changed)
        snprintf(reason_out, cap, "wrote to memory of ksweep: %s", what);
    return rc < 0 ? rc : is_changed || what != NULL;
}

static bool judge_inputs(struct ks_worker *w, char *reason_out, size_t cap, int *rc_out,
                         struct ks_err *err)
{
    const struct ks_reference_digests proved = w->judge.references;
    int rc = find_changes(w, reason_out, cap, err);

    *rc_out = rc < 0 ? rc : 0;
    if (rc <= 0)
        return rc == 0;
    if (w->cell_deadline_ns != 0) /* it takes as long as it took at first */
        w->cell_deadline_ns = ks_prepare_deadline(&w->set.problem);
    ks_worker_enter(w, KS_PH_VERIFY, w->cell_deadline_ns);
    *rc_out = ks_judge_take_up(&w->judge, &w->set, &proved, err);
    return false;
}

const struct ks_inspector ks_inspector_judge = {
    .guards = judge_guards,
    .exact = judge_exact,
    .written = judge_written,
    .real = judge_real,
    .hash = judge_hash,
    .flip = judge_flip,
    .inputs = judge_inputs,
};
