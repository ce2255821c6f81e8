/* SPDX-License-Identifier: MIT */
#include "tests/gpu/references.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int references_init(struct references *r, struct ks_err *err)
{
    r->of = calloc(r->grid->n_problems + 1u, sizeof(*r->of));
    if (r->of == NULL)
        return ks_fail(err, KS_ENOMEM, "references");
    for (uint32_t i = 0; i < r->grid->n_problems; i++)
        r->of[i] =
            (struct reference){ .fd = -1, .link = { .to = -1, .from = -1, .status_fd = -1 } };
    return 0;
}

void references_drop(struct references *r, uint32_t i_problem)
{
    struct reference *ref = &r->of[i_problem];

    if (ref->fd >= 0)
        close(ref->fd);
    if (ref->state == REFERENCE_RUNNING)
        link_release(&ref->link);
    ref->fd = -1;
}

void references_release(struct references *r)
{
    for (uint32_t i = 0; r->of != NULL && i < r->grid->n_problems; i++)
        references_drop(r, i);
    free(r->of);
    r->of = NULL;
}

static int start(struct references *r, uint32_t i, struct ks_err *err)
{
    struct reference *ref = &r->of[i];
    int rc = link_references(&ref->fd, err);

    if (rc == 0)
        rc = link_start(&ref->link, r->warden, r->program, "host", r->measure, ref->fd, err);
    if (rc < 0)
        return rc;
    ref->state = REFERENCE_RUNNING;
    rc = link_problem(&ref->link, &r->grid->problems[i], 1, err);
    return rc == 0 ? link_finish(&ref->link, err) : rc;
}

int references_want(struct references *r, uint32_t i_problem, struct ks_err *err)
{
    uint32_t end = i_problem + REFERENCES_AHEAD, n_running = 0;
    int rc = 0;

    end = end < r->grid->n_problems ? end : r->grid->n_problems;
    for (uint32_t i = i_problem; i < end; i++)
        n_running += r->of[i].state == REFERENCE_RUNNING ? 1 : 0;
    for (uint32_t i = i_problem; rc == 0 && i < end && n_running < r->n_parallel; i++) {
        if (r->of[i].state != REFERENCE_NONE)
            continue;
        rc = start(r, i, err);
        n_running++;
    }
    return rc;
}

bool references_ended(struct references *r, const struct ks_child_end *end)
{
    for (uint32_t i = 0; i < r->grid->n_problems; i++) {
        struct reference *ref = &r->of[i];
        bool is_good = end->how == KS_END_EXITED && end->code == KS_WORKER_EXIT_OK;

        if (ref->state != REFERENCE_RUNNING || ref->link.child != end->child)
            continue;
        ref->link.is_alive = false;
        ref->state = is_good ? REFERENCE_READY : REFERENCE_FAILED;
        link_release(&ref->link);
        return true;
    }
    return false;
}
