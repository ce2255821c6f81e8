/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "cmd/cmd_util.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
    const char *file;
};
static const struct ks_opt opts[] = { { .name = "output",
                                        .letter = 'o',
                                        .type = KS_OPT_STR,
                                        .offset = offsetof(struct config, file),
                                        .arg = "FILE",
                                        .help = "the HDF5 file; default DIR/results.h5, with "
                                                "several directories ./results.h5" },
                                      KS_OPT_END };

static void print_totals(const char *file, const struct ks_store_totals *t)
{
    ks_cmd_printf("%s: %" PRIu64 " of %" PRIu64 " cells", file, t->n_done, t->n_cells);
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (t->n_outcome[o])
            ks_cmd_printf(", %" PRIu64 " %s", t->n_outcome[o], ks_outcome_text(o));
    if (t->n_pending)
        ks_cmd_printf(", %" PRIu64 " pending", t->n_pending);
    if (t->n_runs > 1)
        ks_cmd_printf("; %" PRIu32 " runs", t->n_runs);
    ks_cmd_printf("; %" PRIu64 " attempts, %" PRIu64 " samples\n", t->n_attempts, t->n_samples);
}

static void warn(const struct ks_log *log, const struct ks_store_totals *t)
{
    if (t->n_damaged_places)
        ks_logf(log, KS_WARN, "%" PRIu64 " damaged places in the journal: ksweep check says where",
                t->n_damaged_places);
    if (t->n_unreadable)
        ks_logf(log, KS_WARN, "%" PRIu64 " frames hold values this program does not know",
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

static int gather(struct ks_cmd_ctx *ctx, int argc, char **argv)
{
    const char **dirs = calloc((size_t)argc + 1, sizeof(*dirs));
    struct ks_store_totals totals;
    struct config c;
    char file[1100];
    int n = 0, rc;

    if (!dirs)
        return ks_fail(&ctx->err, KS_ENOMEM, "out of memory");
    rc = ks_cmd_parse(&ks_cmd_gather, &c, argc, argv, dirs, 1, 0, &n, &ctx->err);
    if (rc == 0)
        rc = ks_path_join(file, sizeof(file), c.file || n > 1 ? "." : dirs[0],
                          c.file ? c.file : "results.h5", &ctx->err);
    if (rc == 0)
        rc = ks_store_gather(dirs, (size_t)n, c.file ? c.file : file, NULL, &totals, &ctx->err);
    free(dirs);
    if (rc < 0)
        return rc;
    warn(&ctx->log, &totals);
    print_totals(c.file ? c.file : file, &totals);
    rc = totals.n_runs > 1 ? print_runs(c.file ? c.file : file, &ctx->err) : 0;
    return rc < 0 ? rc : KS_EXIT_OK;
}

const struct ks_command ks_cmd_gather = {
    .name = "gather",
    .summary = "Makes results.h5 of one or more journals, at any time; run does it at the end.",
    .usage = "gather DIR... [-o FILE]",
    .opts = opts,
    .run = gather,
};
