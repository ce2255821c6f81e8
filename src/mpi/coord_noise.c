/* SPDX-License-Identifier: MIT */
/* coord_noise.c - busy machines: warnings at the start, once a third of the rows are contaminated,
 * and at the end. */
#include "mpi/coord_impl.h"

#include <stdio.h>
#include <string.h>

#define BUSY_PART   0.5 /* of the job's limit: a core whose baseline is above is busy */
#define LEAST_ROWS  12u /* before that a share says nothing */
#define REASON      "contaminated: "
#define OTHER_CAUSE "another cause"

void ks_coord_warn_busy(const struct ks_coord *c, uint32_t rank, const struct ks_device_rec *d)
{
    const struct ks_job *job = &c->c.grid->job;
    const struct ks_job_contention *most = &job->contention;

    if (ks_job_is_gpu(job) || ks_job_is(job, KS_BACKEND_VIRTUAL) ||
        (d->idle_switches_per_s <= BUSY_PART * most->switches_per_s &&
         d->idle_stolen <= BUSY_PART * most->stolen))
        return;
    ks_logf(c->c.log, KS_WARN,
            "rank %u on %s: its core was busy before the first measurement: %.0f involuntary "
            "context switches per second (limit %g), %.0f %% of the processor time taken by others "
            "(limit %g %%): expect contaminated rows; stop other work, or use fewer ranks",
            rank, c->ranks[rank].host, d->idle_switches_per_s > 0 ? d->idle_switches_per_s : 0,
            most->switches_per_s, d->idle_stolen > 0 ? 100 * d->idle_stolen : 0,
            100 * most->stolen);
}

/* Texts come from records: causes that the list has no place for are counted together. */
static void count_cause(struct noise_books *n, const char *reason)
{
    const size_t skip = strlen(REASON);
    const char *why = strncmp(reason, REASON, skip) == 0 ? reason + skip : OTHER_CAUSE;
    uint32_t i = 0;

    while (i < n->n_causes && strcmp(n->cause[i].text, why) != 0)
        i++;
    if (i == NOISE_CAUSES) {
        n->n_others++;
        return;
    }
    if (i == n->n_causes)
        snprintf(n->cause[n->n_causes++].text, sizeof(n->cause[i].text), "%s", why);
    n->cause[i].n++;
}

static void put_causes(const struct noise_books *n, struct ks_buf *to)
{
    for (uint32_t i = 0; i < n->n_causes; i++)
        ks_buf_printf(to, "%s%s (%llu attempt%s)", i ? ", " : "", n->cause[i].text,
                      (unsigned long long)n->cause[i].n, n->cause[i].n == 1 ? "" : "s");
    if (n->n_others)
        ks_buf_printf(to, ", other causes (%llu attempt%s)", (unsigned long long)n->n_others,
                      n->n_others == 1 ? "" : "s");
}

static void tell(const struct ks_coord *c, const struct ks_ledger_counts *n, const char *advice)
{
    struct ks_buf causes;

    ks_buf_init(&causes);
    put_causes(&c->noise, &causes);
    ks_logf(
        c->c.log, KS_WARN,
        "%llu of %llu measured cells are contaminated: the machine is busy%s%s; their times may "
        "be too long; %s",
        (unsigned long long)n->n_contaminated, (unsigned long long)n->outcome[KS_O_OK],
        causes.len ? ": " : "", ks_buf_text(&causes), advice);
    ks_buf_release(&causes);
}

void ks_coord_note_noise(struct ks_coord *c, const struct ks_record *r)
{
    struct ks_ledger_counts n;

    if (r->role != KS_ROLE_CELL || !(r->outcome_flags & KS_FL_CONTAMINATED))
        return;
    count_cause(&c->noise, r->reason);
    ks_ledger_counts(c->c.ledger, &n);
    if (c->noise.has_told || n.outcome[KS_O_OK] < LEAST_ROWS ||
        3 * n.n_contaminated < n.outcome[KS_O_OK])
        return;
    c->noise.has_told = true;
    tell(c, &n,
         "stop other work on it, or interrupt this run and resume it with fewer ranks; at its end "
         "the run prints the command to measure them again");
}

void ks_coord_tell_noise(const struct ks_coord *c, const char *command)
{
    struct ks_ledger_counts n;
    struct ks_buf advice;

    ks_ledger_counts(c->c.ledger, &n);
    if (!n.n_contaminated)
        return;
    ks_buf_init(&advice);
    ks_buf_printf(&advice,
                  "measure them again when the machine is idle: %s (docs/measurement.md, Noise)",
                  command);
    tell(c, &n, ks_buf_text(&advice));
    ks_buf_release(&advice);
}
