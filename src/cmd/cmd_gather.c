/* SPDX-License-Identifier: MIT */
/* cmd_gather.c - ksweep gather: writes results.h5 from journals and prints the totals */
#include "base/file.h"
#include "cmd/cmd_util.h"
#include "cmd/status_file.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>

struct config {
    const char *file;
};
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = offsetof(struct config, file),
      .arg = "FILE",
      .is_output = true,
      .help = "HDF5 file to write; default DIR/results.h5, with several directories ./results.h5" },
    KS_OPT_END
};

static void print_totals(const char *file, const struct ks_store_totals *t)
{
    ks_cmd_printf("%s: %" PRIu64 " of %" PRIu64 " cells", file, t->n_done, t->n_cells);
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (t->n_outcome[o])
            ks_cmd_printf(", %" PRIu64 " %s", t->n_outcome[o], ks_outcome_text(o));
    if (t->n_found)
        ks_cmd_printf("; %" PRIu64 " rows that programs printed, %" PRIu64 " pairs never appeared",
                      t->n_found, t->n_absent_pairs);
    if (t->n_pending)
        ks_cmd_printf(", %" PRIu64 " pending", t->n_pending);
    if (t->n_runs > 1)
        ks_cmd_printf("; %" PRIu32 " runs", t->n_runs);
    ks_cmd_printf("; %" PRIu64 " attempts, %" PRIu64 " samples\n", t->n_attempts, t->n_samples);
}

static void warn(const struct ks_log *log, const struct ks_store_totals *t)
{
    ks_cmd_warn_kept(log, t->kept_as);
    if (t->n_damaged_places)
        ks_logf(log, KS_WARN,
                "the journal is damaged in %" PRIu64 " places: run 'ksweep check' for the list",
                t->n_damaged_places);
    if (t->n_unreadable)
        ks_logf(log, KS_WARN, "%" PRIu64 " frames contain values that this version does not know",
                t->n_unreadable);
}

/* With several runs: how each of them stands. */
static int print_runs(const char *file, struct ks_err *err)
{
    struct ks_store_file *f;
    int rc = ks_store_open(file, &f, err);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < ks_store_info(f)->n_runs; i++) {
        const struct ks_run_row *r = ks_store_run(f, i);

        ks_cmd_printf("  %s: %s, %" PRIu64 " of %" PRIu64 " cells", r->dir, r->job_name, r->n_done,
                      r->n_cells);
        if (r->n_damaged_places)
            ks_cmd_printf(", %" PRIu64 " damaged places", r->n_damaged_places);
        ks_cmd_printf("\n");
    }
    ks_store_close(f);
    return 0;
}

/* The results may replace an older file, but no segment of a journal. */
static int check_place(const char *file, const char *const *dirs, size_t n, struct ks_err *err)
{
    char place[1100], journal[1100];
    int rc = 0;

    ks_path_dir(place, sizeof(place), file);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = ks_path_join(journal, sizeof(journal), dirs[i], "journal", err);
        if (rc == 0 && ks_path_is_same(place, journal))
            rc = ks_fail(err, KS_EINVAL,
                         "'%s' would be in the journal of '%s': choose another file with -o", file,
                         dirs[i]);
    }
    return rc;
}

static int gather(struct ks_call *call, struct ks_err *err)
{
    const struct ks_cmd_env *env = call->env;
    const struct config *c = call->cfg;
    const size_t n = (size_t)call->n_operands;
    struct ks_store_totals totals;
    char beside[1100];
    const char *file = c->file ? c->file : beside;
    int rc = 0;

    if (!c->file)
        rc = ks_path_join(beside, sizeof(beside), n > 1 ? "." : call->operands[0], "results.h5",
                          err);
    if (rc == 0)
        rc = check_place(file, call->operands, n, err);
    if (rc == 0)
        rc = ks_store_gather(call->operands, n, file, NULL, &totals, err);
    if (rc < 0)
        return rc;
    if (n == 1 && !c->file)
        rc = ks_status_gathered(call->operands[0], totals.n_found_need_look, err);
    if (rc < 0)
        return rc;
    warn(&env->log, &totals);
    print_totals(file, &totals);
    rc = totals.n_runs > 1 ? print_runs(file, err) : 0;
    return rc < 0 ? rc : KS_EXIT_OK;
}

const struct ks_command ks_cmd_gather = {
    .name = "gather",
    .summary = "Write results.h5 from one or more journals; can run at any time, and `ksweep run` "
               "does it at the end.",
    .usage = "gather DIR... [-o FILE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .run = gather,
};
