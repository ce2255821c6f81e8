/* SPDX-License-Identifier: MIT */
/* agent_suspect.c - what a dead worker had completed before: who may have killed it, and the
 * verdict once each of them has run alone between sentinels. */
#include "mpi/agent_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t later(const struct work *w, uint32_t i_instance, uint32_t attempt)
{
    return w->i_instance == i_instance && w->attempt > attempt ? w->attempt : attempt;
}

/* The highest attempt of a cell that was announced so far; a contaminated one has several. */
static uint32_t last_attempt(const struct ks_agent *a, uint32_t i_instance)
{
    const struct recovery *v = &a->recovery;
    uint32_t n = later(&v->culprit, i_instance, 0);
    for (uint32_t i = 0; i < v->n_completed; i++)
        n = later(&v->completed[i], i_instance, n);
    for (uint32_t i = 0; i < a->n_again; i++)
        n = later(&a->again[i], i_instance, n);
    return n;
}

static bool is_suspect(const struct recovery *v, uint32_t i_instance)
{
    for (uint32_t i = 0; i < v->n_suspects; i++)
        if (v->suspects[i].i_instance == i_instance)
            return true;
    return false;
}

void ks_suspects_accuse(struct ks_agent *a)
{
    struct recovery *v = &a->recovery;
    v->n_suspects = v->i_suspect = 0;
    v->was_killed = false;
    for (uint32_t i = 0; i < v->n_completed; i++) {
        struct work w = v->completed[i];
        if (is_suspect(v, w.i_instance))
            continue;
        w = ks_agent_anew(&w, last_attempt(a, w.i_instance) + 1);
        w.i_lease = NO_LEASE;
        v->suspects[v->n_suspects++] = w;
    }
}

/* What the C library's allocator, or a sanitizer's, prints before it aborts. */
static bool is_allocators_word(const struct ks_record *r)
{
    static const char *const words[] = { "double free or corruption",
                                         "corrupted size vs. prev_size",
                                         "corrupted double-linked list",
                                         "break adjusted to free malloc space",
                                         "free(): ",
                                         "malloc(): ",
                                         "realloc(): ",
                                         "malloc_consolidate(): ",
                                         "munmap_chunk(): ",
                                         "mremap_chunk(): ",
                                         "ERROR: AddressSanitizer: " };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (memmem(r->tail, r->n_tail, words[i], strlen(words[i])))
            return true;
    return false;
}

void ks_suspects_explain(struct ks_record *r)
{
    char how[64];
    if (r->outcome != KS_O_CRASHED)
        return;
    snprintf(how, sizeof(how), "%.63s", r->reason);
    if (is_allocators_word(r))
        snprintf(r->reason, sizeof(r->reason), "heap_corruption");
    else if (r->phase == KS_PH_EXIT)
        snprintf(r->reason, sizeof(r->reason), "%s at exit, in a destructor or an exit handler",
                 how);
}

static bool is_convicted(const struct ks_record *r)
{
    return ks_outcome_is_abnormal(r->outcome);
}

int ks_suspects_settle(struct ks_agent *a, struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    uint32_t n_guilty = 0;
    int rc = 0;
    for (uint32_t i = 0; i < v->n_suspects; i++)
        n_guilty += is_convicted(v->verdicts[i]);
    for (uint32_t i = 0; i < v->n_suspects && rc == 0; i++) {
        struct ks_record *r = v->verdicts[i];
        bool counts = is_convicted(r) || !n_guilty;
        if (is_convicted(r)) /* its first measurement had gone well */
            r->outcome_flags |= KS_FL_INTERMITTENT;
        else if (!n_guilty)
            r->outcome_flags |= KS_FL_SUSPECT;
        if (!counts)
            r->role = KS_ROLE_CONTROL;
        if (counts)
            rc = ks_agent_emit_start(a, &v->suspects[i], v->i_problem, KS_WHY_SUSPECT, err);
        if (rc == 0)
            rc = ks_agent_emit_record(a, r, err);
    }
    for (uint32_t i = 0; i < v->n_suspects; i++) {
        free(v->verdicts[i]);
        v->verdicts[i] = NULL;
    }
    v->n_suspects = 0;
    return rc;
}
