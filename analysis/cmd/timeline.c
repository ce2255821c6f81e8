/* SPDX-License-Identifier: MIT */
/* timeline.c - ksweep-analyze timeline: writes a sweep as a trace for Perfetto */
#include "analysis/report/timeline.h"
#include "analysis/cmd/analyze.h"

#include <inttypes.h>

static const char *const choices[] = { "auto", "yes", "no", NULL }; /* enum ks_timeline_samples */

struct config {
    const char *output;
    unsigned samples;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .is_output = true,
      .help = "trace to write; compressed with gzip if the name ends in .gz" },
    { .name = "samples",
      .type = KS_OPT_ENUM,
      .offset = AT(samples),
      .def = "auto",
      .choices = choices,
      .arg = "WHEN",
      .help = "include every sample; auto: only if there are at most 200,000" },
    KS_OPT_END
};
#undef AT

static int timeline(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                    struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_timeline_counts k;
    int rc;

    (void)n;
    if (!c->output)
        return ks_fail(err, KS_EINVAL, "no output file: add -o FILE, such as -o sweep.json.gz");
    rc = ks_timeline_write(operands[0], c->output, c->samples, &k, err);
    if (rc < 0)
        return rc;
    ks_buf_printf(notes,
                  "ksweep-analyze timeline: %" PRIu64 " cells, %" PRIu64 " samples, %" PRIu64
                  " leases, %" PRIu64 " workers, %" PRIu64 " builds, %" PRIu64
                  " events in %s; open it at ui.perfetto.dev or in chrome://tracing\n",
                  k.n_cells, k.n_samples, k.n_leases, k.n_workers, k.n_builds, k.n_events,
                  c->output);
    if (k.n_samples_left_out)
        ks_buf_printf(notes,
                      "ksweep-analyze timeline: left out %" PRIu64
                      " samples; --samples yes draws them\n",
                      k.n_samples_left_out);
    return 0;
}

const struct ks_analysis ks_analysis_timeline = {
    .name = "timeline",
    .summary =
        "Write a sweep as a trace for Perfetto: ranks, leases, workers, cells, samples, losses.",
    .usage = "timeline DIR|FILE -o FILE [--samples auto|yes|no]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = timeline,
};
