/* SPDX-License-Identifier: MIT */
/* job_problems.c - reads the problem lists of a job: overrides, exclusions, samples */
#include "grid/job_problems.h"

#include <string.h>

/* One problem of a list in each wanted direction, with the job's layout and dtype. */
static int add_overridden(const struct ks_job_problems *list, const struct ks_problem *from,
                          struct ks_problem_set *to, struct ks_err *err)
{
    uint32_t mask = list->directions ? list->directions : (uint32_t)1 << from->direction;

    for (uint32_t d = 0; d < KS_N_DIRECTIONS; d++) {
        struct ks_problem p = *from;
        int rc;

        if (!(mask & (uint32_t)1 << d))
            continue;
        p.direction = d;
        if (list->dtype >= 0)
            p.dtype = (uint32_t)list->dtype;
        if (list->layout >= 0)
            p.layout = (uint32_t)list->layout;
        rc = ks_problem_finish(&p, err);
        if (rc == 0)
            rc = ks_problem_set_add(to, &p, err);
        if (rc < 0)
            return ks_err_context(err, rc, "problem '%s' of '%s'", from->name, list->file);
    }
    return 0;
}

/* A file as the entry wants it: overridden, so that ids are those of the job. */
static int read_file(const struct ks_job *job, const struct ks_job_problems *list, const char *file,
                     struct ks_problem_set *out, struct ks_err *err)
{
    const bool is_changed = list->directions || list->dtype >= 0 || list->layout >= 0;
    struct ks_problem_set raw;
    int rc;

    ks_problem_set_init(&raw);
    rc = ks_problem_set_read(&raw, file, "auto", true, err);
    for (uint32_t i = 0; rc == 0 && i < raw.n; i++) {
        const struct ks_problem p = ks_problem_table_get(&raw.problems, i);
        const char *op = ks_operators[p.op]->name;

        if (strcmp(op, job->op) != 0)
            rc = ks_fail(err, KS_EINVAL, "'%s' holds problems of operator %s, the job's is %s",
                         file, op, job->op);
        else if (is_changed)
            rc = add_overridden(list, &p, out, err);
    }
    if (rc == 0 && !is_changed)
        rc = ks_problem_set_take(out, &raw, err);
    ks_problem_set_release(&raw);
    return rc;
}

static int leave_out(const struct ks_job *job, const struct ks_job_problems *list,
                     struct ks_problem_set *out, uint32_t *n_out, struct ks_err *err)
{
    struct ks_problem_set others;
    int rc = 0;

    *n_out = 0;
    ks_problem_set_init(&others);
    for (uint32_t i = 0; rc == 0 && i < list->n_exclude; i++)
        rc = read_file(job, list, list->exclude[i], &others, err);
    if (rc == 0)
        rc = ks_problem_set_exclude(out, &others, n_out, err);
    ks_problem_set_release(&others);
    return rc;
}

int ks_job_problems_read(const struct ks_job *job, uint32_t i_list, struct ks_problem_set *out,
                         uint32_t *n_left_out_out, struct ks_err *err)
{
    const struct ks_job_problems *list = &job->problems[i_list];
    int rc = read_file(job, list, list->file, out, err);

    if (rc == 0)
        rc = leave_out(job, list, out, n_left_out_out, err);
    if (rc < 0 || list->sample == 0 || list->sample >= (int64_t)out->n)
        return rc;
    return list->is_stratified
               ? ks_problem_set_stratify(out, (uint32_t)list->sample, list->seed, err)
               : ks_problem_set_sample(out, (uint32_t)list->sample, list->seed, err);
}
