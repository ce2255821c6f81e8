/* SPDX-License-Identifier: MIT */
/* prepare.c - take up a problem: operands, references, tolerances. */
#include "base/clock.h"
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Generous: a limit for hangs, not a prediction. */
#define PREPARE_NS         60000000000ull
#define PREPARE_NS_FLOP    20.0
#define PREPARE_NS_ELEMENT 200.0

void ks_worker_drop_problem(struct ks_worker *w)
{
    ks_references_release(&w->refs);
    ks_judge_close(&w->judge);
    ks_meter_close(&w->meter);
    if (w->has_problem)
        ks_workset_release(&w->set);
    w->has_problem = false;
    w->problem_outcome = KS_O_NONE;
    w->problem_reason[0] = '\0';
    w->prepare_ns = w->input_ns = w->reference_ns = 0;
    w->no_judge[0] = '\0';
}

/* What every cell of this problem ends as. */
static void give_up(struct ks_worker *w, enum ks_outcome outcome, const char *reason)
{
    w->problem_outcome = outcome;
    snprintf(w->problem_reason, sizeof(w->problem_reason), "%.*s",
             (int)sizeof(w->problem_reason) - 1, reason);
}

static uint32_t wanted_parts(const struct ks_worker *w)
{
    const struct ks_measure *m = &w->setup.measure;

    if (w->dev->ops->is_virtual)
        return 0;
    return (m->verify_exact ? (uint32_t)KS_PART_EXACT : 0u) |
           (m->verify_elementwise ? (uint32_t)KS_PART_REAL : 0u);
}

uint64_t ks_prepare_deadline(const struct ks_problem *p)
{
    struct ks_extents e = ks_operators[p->op]->extents(p);
    double elements = (double)e.a + (double)e.b + (double)e.c;

    return ks_now_ns() + PREPARE_NS +
           (uint64_t)(PREPARE_NS_FLOP * ks_problem_flops(p) + PREPARE_NS_ELEMENT * elements);
}

/* A worker before this one filled the memfd; one that died after sealing has done the work, too. */
static bool has_shared(const struct ks_worker *w, uint32_t mode)
{
    return mode == 2 || (mode == 1 && ks_references_are_sealed(w->fd_reference));
}

/* Made by a judge: only what identifies them is there. */
static bool has_digests(const struct ks_worker *w, uint32_t mode)
{
    return has_shared(w, mode) && (ks_references_parts(w->fd_reference) & KS_PART_DIGESTS) != 0;
}

static int host_references(struct ks_worker *w, uint32_t mode, uint32_t parts, struct ks_err *err)
{
    const struct ks_problem *p = &w->set.problem;
    struct ks_reference_inputs in = { .exact_a = ks_zone_host(&w->set.zone[KS_Z_EXACT_A]),
                                      .exact_b = ks_zone_host(&w->set.zone[KS_Z_EXACT_B]),
                                      .real_a = ks_zone_host(&w->set.zone[KS_Z_REAL_A]),
                                      .real_b = ks_zone_host(&w->set.zone[KS_Z_REAL_B]) };
    bool is_private = mode == 0 || has_digests(w, mode);
    struct ks_mask mask;
    int rc;

    if (has_shared(w, mode) && !is_private)
        return ks_references_open(p, parts, w->fd_reference, &w->refs, err);
    rc = ks_vault_take(&w->vault, &mask, err);
    if (rc < 0)
        return rc;
    rc = ks_references_compute(p, &in, parts, is_private ? -1 : w->fd_reference, &mask, &w->refs,
                               err);
    ks_vault_forget(&mask);
    return rc;
}

static int judge_references(struct ks_worker *w, uint32_t mode, uint32_t parts, struct ks_err *err)
{
    const struct ks_problem *p = &w->set.problem;
    struct ks_reference_digests known;
    bool is_known = parts != 0 && has_shared(w, mode);
    int rc = 0;

    if (is_known)
        rc = ks_references_open_digests(p, parts, w->fd_reference, &known, err);
    if (rc == 0)
        rc = ks_judge_take_up(&w->judge, &w->set, is_known ? &known : NULL, err);
    if (rc == 0 && parts != 0 && mode == 1 && !is_known)
        rc = ks_references_keep_digests(p, parts, w->fd_reference, &w->judge.references, err);
    return rc;
}

/* Whether a judge is to be asked: a kernel's output is not where the host sees it, and the host has
 * not made the references of the workers before. */
static bool wants_judge(struct ks_worker *w, const struct ks_req_problem *req, uint32_t parts)
{
    if (req->judge_entry[0] == '\0' || !ks_workset_is_hidden(&w->set))
        return false;
    if (parts == 0 || !has_shared(w, req->references) || has_digests(w, req->references))
        return true;
    snprintf(w->no_judge, sizeof(w->no_judge), "the host did so for the previous worker");
    return false;
}

static int take_judge(struct ks_worker *w, const struct ks_req_problem *req, uint32_t parts,
                      struct ks_err *err)
{
    const struct ks_abi_entry *entry = NULL;
    int rc = ks_artefacts_entry(&w->artefacts, req->judge_artefact, req->judge_digest,
                                req->judge_entry, &entry, err);

    if (rc == 0)
        rc = ks_judge_open(entry, &w->set, parts, &w->vault, &w->judge, err);
    if (rc == 0)
        rc = judge_references(w, req->references, parts, err);
    if (rc == 0)
        rc = ks_meter_open(w->dev, entry, &w->set.abi, w->props.n_units, &w->meter, err);
    (void)ks_cage_after_kernel(&w->cage); /* constructors may do as kernels do */
    if (rc == 0)
        w->inspector = &ks_inspector_judge;
    else
        ks_judge_close(&w->judge);
    return rc;
}

/* The judge's, else the host's. */
static int get_references(struct ks_worker *w, const struct ks_req_problem *req, uint32_t parts,
                          struct ks_err *err)
{
    struct ks_err why = { 0 };
    int rc;

    if (wants_judge(w, req, parts)) {
        rc = take_judge(w, req, parts, &why);
        if (rc < 0 && !ks_judge_is_refusal(rc)) {
            *err = why;
            ks_err_context(err, rc, "verify.judge"); /* what switches it off */
        }
        if (rc == 0 || !ks_judge_is_refusal(rc))
            return rc;
        snprintf(w->no_judge, sizeof(w->no_judge), "%.*s", (int)sizeof(w->no_judge) - 1, why.text);
        rc = ks_workset_push_inputs(&w->set, err); /* it may have left them half tried */
        if (rc < 0)
            return rc;
        ks_worker_enter(w, KS_PH_REFERENCE, ks_prepare_deadline(&w->set.problem));
    }
    return parts != 0 ? host_references(w, req->references, parts, err) : 0;
}

/* Sort a failure into what ends the cells and what ends the worker. */
static int settle(struct ks_worker *w, int rc, const struct ks_err *cause, struct ks_err *err)
{
    switch (rc) {
    case 0:
        return 0;
    case KS_ENOMEM:
    case KS_EDEVMEM:
        give_up(w, KS_O_OUT_OF_MEMORY, cause->text);
        return 0;
    default:
        *err = *cause;
        return rc;
    }
}

static int make_operands(struct ks_worker *w, const struct ks_problem *p, uint32_t parts,
                         struct ks_err *err)
{
    uint64_t from = ks_now_ns();
    int rc = ks_workset_create(w->dev, p, (parts & KS_PART_EXACT) != 0, &w->set, err);

    w->input_ns = ks_now_ns() - from;
    if (rc < 0) /* the identity alone, so that cells can be answered */
        w->set = (struct ks_workset){ .dev = w->dev, .problem = *p, .op = ks_operators[p->op] };
    w->has_problem = true;
    w->inspector = &ks_inspector_host;
    w->shape.n_dims = w->set.op->shape_c(p, w->shape.dim);
    w->work = w->set.op->work(p);
    return rc;
}

static int make_references(struct ks_worker *w, const struct ks_req_problem *req, uint32_t parts,
                           struct ks_err *err)
{
    uint64_t from = ks_now_ns();
    int rc = get_references(w, req, parts, err);

    w->reference_ns = ks_now_ns() - from;
    return rc;
}

/* Puts the key of the request, or one of this worker's own, where no kernel finds it. */
static int lock_key(struct ks_worker *w, struct ks_req_problem *req, struct ks_err *err)
{
    bool is_shared = req->references != 0;

    if (is_shared && w->fd_reference < 0)
        return ks_fail(err, KS_EPROTO,
                       "references cannot be shared: their descriptor is not a memfd, or was "
                       "closed with the first problem");
    if (is_shared && ks_id128_is_zero(req->key))
        return ks_fail(err, KS_EPROTO, "shared references need a key");
    if (!is_shared)
        req->key = ks_id128_random();
    return ks_vault_put(&w->vault, &req->key, err);
}

/* From now on no descriptor of this process leads to the references. */
static void close_references(struct ks_worker *w)
{
    if (w->fd_reference >= 0)
        close(w->fd_reference);
    w->fd_reference = -1;
}

static int take_up(struct ks_worker *w, struct ks_req_problem *req, const struct ks_problem *p,
                   struct ks_err *err)
{
    uint64_t from = ks_now_ns();
    uint32_t parts = wanted_parts(w);
    struct ks_err cause = { 0 };
    int rc;

    ks_worker_drop_problem(w);
    ks_worker_enter(w, KS_PH_REFERENCE, ks_prepare_deadline(p));
    rc = lock_key(w, req, &cause);
    if (rc == 0)
        rc = make_operands(w, p, parts, &cause);
    if (rc == 0)
        rc = make_references(w, req, parts, &cause);
    close_references(w);
    w->prepare_ns = ks_now_ns() - from;
    rc = settle(w, rc, &cause, err);
    ks_worker_enter(w, KS_PH_IDLE, 0);
    return rc;
}

int ks_worker_prepare(struct ks_worker *w, struct ks_req_problem *req, struct ks_err *err)
{
    struct ks_err cause = { 0 };
    struct ks_problem p;
    int rc = 0;

    if (!w->has_problem || w->set.problem.id != req->problem) {
        rc = ks_problem_parse(req->canonical, &p, &cause);
        if (rc < 0)
            rc = ks_fail(err, KS_EPROTO, "problem: %s", cause.text);
        else if (p.id != req->problem)
            rc = ks_fail(err, KS_EPROTO, "problem %016llx has the id %016llx in the request",
                         (unsigned long long)p.id, (unsigned long long)req->problem);
        else
            rc = take_up(w, req, &p, err);
    }
    explicit_bzero(&req->key, sizeof(req->key));
    return rc;
}
