/* SPDX-License-Identifier: MIT */
/* preflight.c - loads a job and checks what can be checked before any rank starts */
#include "mpi/preflight.h"

#include "build/libraries.h"
#include "mpi/agent.h"
#include "mpi/directory.h"
#include "mpi/prune.h"
#include "mpi/seat.h"

#include <stdio.h>
#include <stdlib.h>

static int open_job(const struct ks_run_options *o, struct ks_warden *warden, struct ks_job *job,
                    struct ks_bind_card *card, struct ks_grid *grid, struct ks_err *err)
{
    int rc = ks_job_load(o->job, job, err);

    if (rc == 0)
        rc = ks_job_choose(job, o->backend, o->arch, err);
    if (rc == 0)
        rc = ks_agent_check_limits(job, err);
    if (rc == 0 && o->repeat)
        rc = ks_job_repeat(job, o->repeat, err);
    ks_prune_choose(o->prune, &job->prune.by);
    if (rc == 0)
        rc = ks_seat_card(job, warden, card, err);
    if (rc == 0)
        rc = ks_seat_native(job, card, err);
    if (rc == 0)
        rc = ks_grid_load_job(job, grid, err);
    return rc < 0 ? rc : ks_libraries_check(grid, warden, err);
}

int ks_run_load(const struct ks_run_options *o, struct ks_warden *warden,
                struct ks_bind_card *card_out, struct ks_grid *grid_out, struct ks_err *err)
{
    struct ks_job *job = calloc(1, sizeof(*job));
    int rc = job ? open_job(o, warden, job, card_out, grid_out, err)
                 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (job)
        ks_job_release(job);
    free(job);
    return rc;
}

static int check(const struct ks_run_options *o, const struct ks_bind_card *card,
                 const struct ks_grid *grid, struct ks_err *err)
{
    const struct ks_seat_options seat = { .domain = (enum ks_host_domain)o->host_domain,
                                          .oversubscribe = o->oversubscribe,
                                          .has_threads = ks_grid_has_threads(grid) };
    int rc = ks_seat_rehearse(&grid->job, card, o->n_ranks, &seat, err);

    return rc < 0 ? rc : ks_directory_check(o, grid, err);
}

int ks_run_preflight(const struct ks_run_options *o, struct ks_warden *warden, char *dir_out,
                     size_t cap, bool *is_resumed_out, struct ks_err *err)
{
    struct ks_bind_card *card = calloc(1, sizeof(*card));
    struct ks_grid grid;
    char resumed[1024];
    int rc;

    dir_out[0] = '\0';
    *is_resumed_out = false;
    if (!card)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    rc = ks_run_load(o, warden, card, &grid, err);
    if (rc == 0) {
        if (o->dir)
            snprintf(dir_out, cap, "%s", o->dir);
        else
            snprintf(dir_out, cap, "%s.ksweep", grid.job.name);
        ks_directory_resumed(o, &grid.job, resumed, sizeof(resumed));
        *is_resumed_out = resumed[0] != '\0';
        rc = check(o, card, &grid, err);
        ks_grid_release(&grid);
    }
    free(card);
    return rc;
}
