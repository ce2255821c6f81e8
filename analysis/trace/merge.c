/* SPDX-License-Identifier: MIT */
/* merge.c - trace merge: device times measured apart, put into a trace of the host */
#include "analysis/trace/counter_read.h"
#include "analysis/trace/merge_write.h"
#include "analysis/trace/verbs.h"
#include "analysis/trace/view.h"
#include "base/command.h"
#include "base/file.h"
#include "trace/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct config {
    const char *output, *truth;
    double latency_us, least_us;
    struct ks_opt_list drop;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .help = "trace to write; compressed with gzip if the name ends in .gz; must not be an input. "
              "For folders of ranks (rank0.json, rank1.json, ...): the folder to write" },
    { .name = "latency",
      .type = KS_OPT_F64,
      .offset = AT(latency_us),
      .def = "0",
      .min = 0,
      .max = 1e9,
      .arg = "US",
      .help = "time from the start of an operator to the start of its kernel on an idle queue" },
    { .name = "least",
      .type = KS_OPT_F64,
      .offset = AT(least_us),
      .def = "0",
      .min = 0,
      .max = 1e12,
      .arg = "US",
      .help = "leave out operators whose kernels take less time than this" },
    { .name = "drop",
      .type = KS_OPT_LIST,
      .offset = AT(drop),
      .arg = "NAME",
      .help = "leave out the operators with exactly this name; can be repeated" },
    { .name = "truth",
      .type = KS_OPT_STR,
      .offset = AT(truth),
      .arg = "TRACE",
      .help = "trace of the same run with its kernels: print how far the merged times are from its "
              "times" },
    KS_OPT_END
};
#undef AT

/* ---- the merged file ---- */

enum { CHUNK_BYTES = 1 << 16 };

/* Bytes of the host trace; at `at` the events go in. */
static int copy_with(struct ks_trace_source *s, uint64_t at, const struct ks_buf *events,
                     struct ks_trace_output *to, struct ks_err *err)
{
    char *chunk = malloc(CHUNK_BYTES);
    uint64_t done = 0;
    size_t n = 1;
    int rc = chunk ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    while (rc == 0 && n > 0) {
        size_t before;

        rc = ks_trace_source_read(s, chunk, CHUNK_BYTES, &n, err);
        before = rc == 0 && at >= done && at - done < n ? (size_t)(at - done) : n;
        if (rc < 0)
            break;
        rc = ks_trace_output_put(to, chunk, before, err);
        if (rc == 0 && before < n)
            rc = ks_trace_output_put(to, events->data, events->len, err);
        if (rc == 0)
            rc = ks_trace_output_put(to, chunk + before, n - before, err);
        done += n;
    }
    free(chunk);
    return rc;
}

static int write_merged(struct ks_trace_source *source, const struct config *c,
                        const struct ks_merge_ids *ids, const struct ks_buf *events,
                        struct ks_err *err)
{
    struct ks_trace_output *o = NULL;
    int rc = ks_trace_source_rewind(source, err);

    if (rc == 0)
        rc = ks_trace_output_open(c->output, NULL, 0, &o, err);
    if (rc == 0)
        rc = copy_with(source, ids->events_end, events, o, err);
    return ks_trace_output_close(o, rc, err);
}

static int check_output(const struct config *c, const char *const *inputs, size_t n,
                        struct ks_err *err)
{
    int rc;

    if (!c->output || !*c->output)
        return ks_fail(err, KS_EINVAL, "-o FILE is missing: the merged trace");
    rc = ks_trace_output_check(c->output, inputs, n, err);
    return rc == 0 && c->truth ? ks_trace_output_check(c->output, &c->truth, 1, err) : rc;
}

/* ---- what is said ---- */

static void note_unused(const struct ks_merge_kernels *k, const struct ks_merge_plan *p,
                        struct ks_buf *notes)
{
    enum { MOST_NAMED = 3 };
    unsigned n = 0;

    if (p->n_matched == p->n_entries)
        return;
    ks_buf_printf(notes,
                  "ksweep-analyze trace merge: %u of %u kernels have no operator in the host "
                  "trace:",
                  p->n_entries - p->n_matched, p->n_entries);
    for (uint32_t i = 0; i < k->keys.n && n < MOST_NAMED; i++)
        if (!k->at[i].is_used)
            ks_buf_printf(notes, "%s '%s'", n++ ? "," : "", ks_names_text(&k->keys, i));
    if (p->n_entries - p->n_matched > n)
        ks_buf_printf(notes, " and %u more", p->n_entries - p->n_matched - n);
    ks_buf_printf(notes, "\n");
}

static void note(const struct config *c, const struct ks_merge_kernels *k,
                 const struct ks_merge_plan *p, struct ks_buf *notes)
{
    ks_buf_printf(notes, "ksweep-analyze trace merge: %u slices, %.3f us, of %u kernels", p->n,
                  (double)p->total_ns / 1e3, p->n_entries);
    if (p->n_short || p->n_dropped)
        ks_buf_printf(notes, " (%u shorter than %g us and %u by name left out)", p->n_short,
                      c->least_us, p->n_dropped);
    ks_buf_printf(notes, "\n");
    note_unused(k, p, notes);
    if (p->n_excess)
        ks_buf_printf(notes,
                      "ksweep-analyze trace merge: %u operators take less time than the operators "
                      "within them, by %.3f us: their own time is set to 0\n",
                      p->n_excess, (double)p->excess_ns / 1e3);
    if (p->latency_bound_ns > 0)
        ks_buf_printf(notes,
                      "ksweep-analyze trace merge: %u synchronizing calls waited: the latency is "
                      "at least %.3f us%s\n",
                      p->n_waits, (double)p->latency_bound_ns / 1e3 + c->latency_us,
                      c->latency_us > 0 ? "" : " (--latency)");
}

static int find_error(const struct ks_trace *host, const struct ks_merge_plan *p, const char *path,
                      struct ks_merge_error *out, struct ks_err *err)
{
    struct ks_trace *truth = NULL;
    int rc = ks_trace_load(path, &truth, err);

    if (rc == 0)
        rc = ks_merge_error_of(host, p, truth, out, err);
    ks_trace_release(truth);
    return rc;
}

static int print_error(const struct ks_merge_error *e, struct ks_err *err)
{
    struct ks_buf b;
    int rc;

    ks_buf_init(&b);
    ks_buf_printf(&b,
                  "ids,ids_merged,start_error_mean_us,start_error_median_us,start_error_max_us,"
                  "busy_us,true_busy_us,busy_error_us,sum_us,true_sum_us\n"
                  "%u,%u,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n",
                  e->n_true, e->n_both, e->mean_ns / 1e3, e->median_ns / 1e3, e->max_ns / 1e3,
                  (double)e->busy_ns / 1e3, (double)e->true_busy_ns / 1e3,
                  ((double)e->busy_ns - (double)e->true_busy_ns) / 1e3, (double)e->sum_ns / 1e3,
                  (double)e->true_sum_ns / 1e3);
    rc = ks_emit(&b, NULL, err);
    ks_buf_release(&b);
    return rc;
}

/* ---- the verb ---- */

struct inputs {
    struct ks_trace_source *source;
    struct ks_trace *host;
    struct ks_merge_kernels kernels;
    struct ks_merge_ids ids;
};

static int read_inputs(const char *host, const char *kernels, struct inputs *in, struct ks_err *err)
{
    int rc = ks_trace_source_open(host, &in->source, err);

    if (rc == 0)
        rc = ks_merge_ids_find(in->source, &in->ids, err);
    if (rc == 0)
        rc = ks_trace_source_rewind(in->source, err);
    if (rc == 0)
        rc = ks_trace_read(in->source, &in->host, err);
    if (rc == 0)
        rc = ks_merge_kernels_read(kernels, &in->kernels, err);
    return rc;
}

static int merge_files(const struct config *c, struct inputs *in, struct ks_buf *notes,
                       struct ks_err *err)
{
    const struct ks_merge_rules rules = { .latency_ns = (int64_t)(c->latency_us * 1e3 + 0.5),
                                          .least_ns = (int64_t)(c->least_us * 1e3 + 0.5),
                                          .drop = c->drop.text,
                                          .n_drop = c->drop.n };
    struct ks_merge_plan plan = { 0 };
    struct ks_merge_error error;
    struct ks_buf events;
    int rc = ks_merge_plan_make(in->host, &in->kernels, &rules, &plan, err);

    ks_buf_init(&events);
    if (rc == 0 && plan.n_matched == 0)
        rc = ks_fail(err, KS_EFORMAT,
                     "none of the %u kernels belongs to an operator of the host trace; keys must "
                     "be <name>_<External id>_<number of the thread>",
                     plan.n_entries);
    if (rc == 0 && c->truth)
        rc = find_error(in->host, &plan, c->truth, &error, err);
    if (rc == 0) {
        ks_merge_events_put(in->host, &in->kernels, &plan, &in->ids, &events);
        rc = ks_buf_ok(&events) ? write_merged(in->source, c, &in->ids, &events, err)
                                : ks_fail(err, KS_ENOMEM, "out of memory for %u events", plan.n);
    }
    if (rc == 0) {
        ks_trace_note_dirt(in->host->path, &in->host->dirt, notes);
        note(c, &in->kernels, &plan, notes);
    }
    if (rc == 0 && c->truth)
        rc = print_error(&error, err);
    ks_buf_release(&events);
    ks_merge_plan_release(&plan);
    return rc;
}

static int merge_pair(const struct config *c, const char *const pair[2], struct ks_buf *notes,
                      struct ks_err *err)
{
    struct inputs in = { 0 };
    int rc = check_output(c, pair, 2, err);

    if (rc == 0)
        rc = read_inputs(pair[0], pair[1], &in, err);
    if (rc == 0)
        rc = merge_files(c, &in, notes, err);
    ks_merge_kernels_release(&in.kernels);
    ks_trace_release(in.host);
    ks_trace_source_close(in.source);
    return rc;
}

/* ---- a folder of ranks ---- */

static int64_t rank_of(const char *path)
{
    return ks_counter_rank_of(ks_path_base(path));
}

/* The only file of that rank. */
static int find_rank(const struct ks_paths *p, int64_t rank, const char *of, const char **out,
                     struct ks_err *err)
{
    *out = NULL;
    for (size_t i = 0; i < p->n; i++) {
        if (rank_of(p->path[i]) != rank)
            continue;
        if (*out)
            return ks_fail(err, KS_EINVAL, "'%s' and '%s' belong to the same rank", *out,
                           p->path[i]);
        *out = p->path[i];
    }
    return *out ? 0
                : ks_fail(err, KS_EINVAL,
                          "no file of kernels has the rank of '%s'; the file name must contain the "
                          "rank, as in rank3.json",
                          of);
}

static int merge_rank(const struct config *c, const struct ks_paths *kernels, const char *host,
                      bool is_check, struct ks_buf *notes, struct ks_err *err)
{
    struct config own = *c;
    const char *pair[2] = { host };
    char output[4096];
    int rc = rank_of(host) >= 0
                 ? find_rank(kernels, rank_of(host), host, &pair[1], err)
                 : ks_fail(err, KS_EINVAL,
                           "the name of '%s' must contain the rank, as in rank3.json", host);

    if (rc < 0 || is_check)
        return rc;
    rc = ks_path_join(output, sizeof(output), c->output, ks_path_base(host), err);
    own.output = output;
    return rc < 0 ? rc : merge_pair(&own, pair, notes, err);
}

/* All pairs are found before the first is merged. */
static int merge_folders(const struct config *c, const struct ks_paths *hosts,
                         const struct ks_paths *kernels, struct ks_buf *notes, struct ks_err *err)
{
    int rc = 0;

    if (c->truth)
        return ks_fail(err, KS_EINVAL, "--truth cannot be used with folders");
    if (!c->output || !*c->output)
        return ks_fail(err, KS_EINVAL, "-o DIR is missing: the folder for the merged traces");
    for (size_t i = 0; rc == 0 && i < hosts->n; i++)
        rc = merge_rank(c, kernels, hosts->path[i], true, notes, err);
    if (rc == 0)
        rc = ks_mkdirs(c->output, 0777, err);
    for (size_t i = 0; rc == 0 && i < hosts->n; i++)
        rc = merge_rank(c, kernels, hosts->path[i], false, notes, err);
    return rc;
}

static int merge(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                 struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_paths hosts = { 0 }, kernels = { 0 };
    int rc;

    if (!ks_path_is_dir(operands[0]))
        return merge_pair(c, operands, notes, err);
    rc = ks_paths_open(operands, n - 1, &hosts, err);
    if (rc == 0)
        rc = ks_paths_open(operands + 1, 1, &kernels, err);
    if (rc == 0)
        rc = merge_folders(c, &hosts, &kernels, notes, err);
    ks_paths_close(&hosts);
    ks_paths_close(&kernels);
    return rc;
}

const struct ks_analysis ks_trace_verb_merge = {
    .name = "trace merge",
    .summary = "Merge device times that were measured separately into a trace of the host.",
    .usage =
        "trace merge HOST|DIR KERNELS|DIR -o FILE|DIR [--latency US] [--least US] [--drop NAME]... "
        "[--truth TRACE]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 2,
    .n_max = 2,
    .run = merge,
};
