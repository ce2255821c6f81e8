/* SPDX-License-Identifier: MIT */
/* retime_job.c - writes a job that measures a model's picks and the oracle's together */
#include "analysis/cmd/retime_job.h"
#include "analysis/data/view.h"
#include "analysis/learn/retime.h"
#include "base/new_dir.h"
#include "grid/family.h"
#include "grid/job.h"
#include "grid/kernel_export.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A round has every instance once; later ones alternate between those that may be the best. */
#define ROUNDS 4

struct writer {
    const struct ks_retime_want *want;
    bool *is_needed; /* [n_instances] pick or oracle of a problem, and in no config yet */
    size_t n_problems, n_needed, n_instances;
    struct ks_job job; /* of the first run that has one */
    bool has_job;
    struct ks_job_kernels *kernels; /* [n_kernels] of the new job */
    uint32_t n_kernels;
    char tmp[KS_NEW_DIR_BYTES];
};

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a job");
}

/* ---- what to measure ---- */

static bool is_listed(const struct ks_retime_want *w, size_t problem)
{
    return w->is_wanted[problem] && (ks_retime_differs(w->cells, &w->picks[0][problem]) ||
                                     ks_retime_differs(w->cells, &w->picks[1][problem]));
}

static int list_needed(struct writer *w, struct ks_err *err)
{
    const struct ks_cells *c = w->want->cells;

    w->is_needed = calloc(c->n_instances + 1, sizeof(*w->is_needed));
    w->kernels = calloc(KS_JOB_LISTS, sizeof(*w->kernels));
    if (!w->is_needed || !w->kernels)
        return no_memory(err);
    for (size_t i = 0; i < c->n_problems; i++) {
        if (!is_listed(w->want, i))
            continue;
        w->n_problems++;
        w->is_needed[c->cells[c->problems[i].best].instance] = true;
        for (int k = 0; k < 2; k++)
            w->is_needed[c->cells[w->want->picks[k][i].cell].instance] = true;
    }
    for (size_t i = 0; i < c->n_instances; i++)
        w->n_instances += w->is_needed[i];
    w->n_needed = w->n_instances;
    return w->n_problems ? 0
                         : ks_fail(err, KS_EINVAL,
                                   "--write-retime: the model picks the oracle's instance "
                                   "everywhere, so there is nothing to measure again");
}

/* ---- kernel configs ---- */

/* Keeps the instances of the set that are needed and in no config yet. */
static void keep_needed(struct writer *w, struct ks_kernel_set *set)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < set->n_instances; i++) {
        const uint32_t at = ks_cells_find_instance(w->want->cells, set->instances[i].id);

        if (at == UINT32_MAX || !w->is_needed[at])
            continue;
        w->is_needed[at] = false;
        w->n_needed--;
        set->instances[n++] = set->instances[i];
    }
    set->n_instances = n;
}

static int put_config(struct writer *w, const struct ks_kernel_set *set,
                      const struct ks_job_kernels *from, const char *arch, struct ks_err *err)
{
    const char *const files[] = { from->config, NULL };
    struct ks_job_kernels *to = &w->kernels[w->n_kernels];
    struct ks_buf text;
    int rc;

    if (w->n_kernels == KS_JOB_LISTS)
        return ks_fail(err, KS_EINVAL, "the instances are from more than %d kernel configs",
                       KS_JOB_LISTS);
    *to = (struct ks_job_kernels){ .filter = "" };
    snprintf(to->config, sizeof(to->config), "kernels-%u.json", w->n_kernels);
    snprintf(to->plugin, sizeof(to->plugin), "%s", from->plugin);
    ks_buf_init(&text);
    rc = ks_kernel_export(set, files, arch, &text, err);
    if (rc == 0)
        rc = ks_new_dir_put(w->tmp, to->config, &text, err);
    ks_buf_release(&text);
    w->n_kernels++;
    return rc;
}

static int add_kernels(struct writer *w, const struct ks_job *job, uint32_t i, struct ks_err *err)
{
    const struct ks_job_kernels *from = &job->kernels[i];
    struct ks_kernel_set set = { .has_plugin = from->plugin[0] != '\0' };
    int rc = ks_kernel_set_add(&set, from->config, from->filter, NULL, err);

    if (rc == 0)
        keep_needed(w, &set);
    if (rc == 0 && set.n_instances)
        rc = put_config(w, &set, from, job->device.arch, err);
    ks_kernel_set_release(&set);
    return rc;
}

static int add_run(struct writer *w, const struct ks_run_row *run, const char *file,
                   struct ks_err *err)
{
    struct ks_job job;
    int rc;

    if (!run->job || !run->job[0] || w->n_needed == 0)
        return 0;
    rc = ks_job_parse_resolved(run->job, strlen(run->job), file, &job, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; rc == 0 && i < job.n_kernels; i++)
        rc = add_kernels(w, &job, i, err);
    if (w->has_job)
        ks_job_release(&job);
    else
        w->job = job;
    w->job.device.arch = w->job.device.arch_text;
    w->has_job = true;
    return rc < 0 ? ks_err_context(err, rc, "the job of run %s in '%s'", run->run_id, file) : 0;
}

static int add_file(struct writer *w, const char *path, struct ks_err *err)
{
    struct ks_store_file *f = NULL;
    char results[KS_PATH_BYTES];
    int rc = ks_results_path(path, results, sizeof(results), err);

    if (rc == 0)
        rc = ks_store_open(results, &f, err);
    for (uint32_t i = 0; rc == 0 && i < ks_store_info(f)->n_runs; i++)
        rc = add_run(w, ks_store_run(f, i), path, err);
    ks_store_close(f);
    return rc;
}

/* The first instance that no job has. */
static int not_found(const struct writer *w, struct ks_err *err)
{
    uint32_t i = 0;

    if (!w->has_job)
        return ks_fail(
            err, KS_EINVAL,
            "--write-retime: '%s' has no job that could be repeated (are these imported results?)",
            w->want->files[0]);
    while (!w->is_needed[i])
        i++;
    return ks_fail(err, KS_EINVAL,
                   "--write-retime: instance '%s' is not in the kernel configs of the runs: "
                   "restore the configs as they were measured",
                   w->want->cells->instances[i].name);
}

static int put_kernels(struct writer *w, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < w->want->n_files; i++)
        rc = add_file(w, w->want->files[i], err);
    return rc == 0 && w->n_needed ? not_found(w, err) : rc;
}

/* ---- problems and job ---- */

static int put_problems(const struct writer *w, struct ks_err *err)
{
    const struct ks_cells *c = w->want->cells;
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    ks_problem_csv_header(c->problems[0].problem.op, &text);
    for (size_t i = 0; i < c->n_problems; i++)
        if (is_listed(w->want, i))
            ks_problem_csv_row(&c->problems[i].problem, &text);
    rc = ks_new_dir_put(w->tmp, "problems.csv", &text, err);
    ks_buf_release(&text);
    return rc;
}

static int put_job(struct writer *w, struct ks_err *err)
{
    struct ks_job_problems list = { .file = "problems.csv", .layout = -1, .dtype = -1 };
    struct ks_job job = w->job; /* borrows all but its lists */
    struct ks_buf text;
    int rc;

    job.device.arch = w->job.device.arch_text;
    snprintf(job.name, sizeof(job.name), "%.55s-retime", w->job.name);
    snprintf(job.why, sizeof(job.why),
             "new times for the picks and for the oracle, for validate --retime");
    job.kernels = w->kernels;
    job.n_kernels = w->n_kernels;
    job.problems = &list;
    job.n_problems = 1;
    job.prune.by = 0;
    if (job.rounds.max < ROUNDS)
        job.rounds.max = ROUNDS;
    ks_buf_init(&text);
    ks_job_print(&job, &text);
    rc = ks_new_dir_put(w->tmp, "job.json", &text, err);
    ks_buf_release(&text);
    return rc;
}

static void note(const struct writer *w, const char *dir, struct ks_buf *notes)
{
    ks_buf_printf(
        notes,
        "ksweep-analyze validate: %s/job.json measures the %zu problems on which the model or the "
        "best baseline does not pick the oracle, with %zu instances: run 'ksweep run %s/job.json "
        "--out RUN', then 'ksweep-analyze validate ... --retime RUN'\n",
        dir, w->n_problems, w->n_instances, dir);
}

int ks_retime_job_write(const char *dir, const struct ks_retime_want *want, struct ks_buf *notes,
                        struct ks_err *err)
{
    struct writer w = { .want = want };
    int rc = ks_new_dir_check(dir, err);

    if (rc == 0)
        rc = list_needed(&w, err);
    if (rc == 0)
        rc = ks_new_dir_begin(dir, w.tmp, err);
    if (rc == 0) {
        rc = put_kernels(&w, err);
        if (rc == 0)
            rc = put_problems(&w, err);
        if (rc == 0)
            rc = put_job(&w, err);
        rc = ks_new_dir_end(dir, w.tmp, rc, err);
    }
    if (rc == 0)
        note(&w, dir, notes);
    if (w.has_job)
        ks_job_release(&w.job);
    free(w.is_needed);
    free(w.kernels);
    return rc;
}
