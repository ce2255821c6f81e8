/* SPDX-License-Identifier: MIT */
#include "analysis/analyze.h"
#include "analysis/summary.h"
#include "base/hash.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct config {
    bool json;
    unsigned merge;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    { .name = "merge",
      .type = KS_OPT_ENUM,
      .offset = AT(merge),
      .def = "newest",
      .choices = ks_merge_names,
      .arg = "HOW",
      .help = "of several runs with the same cell: every row, that of the newest run, or the one "
              "with the median time" },
    KS_OPT_END
};
#undef AT

/* ---- text ---- */

/* At most `width` characters, padded to that. */
static void put_padded(struct ks_buf *b, const char *text, int width)
{
    int n = 0;

    for (const char *p = text; *p; p++) {
        bool is_first = ((unsigned char)*p & 0xc0) != 0x80;

        if (is_first && n == width)
            break;
        n += is_first;
        ks_buf_u8(b, (uint8_t)*p);
    }
    ks_buf_printf(b, "%*s", width - n, "");
}

static const char *name_of(const struct ks_best *p)
{
    if (!p->problem)
        return "(name lost)";
    return p->problem->problem_name[0] ? p->problem->problem_name : p->problem->canonical;
}

static void print_problem(const struct ks_best *p, struct ks_buf *b)
{
    char speed[64] = "";

    put_padded(b, name_of(p), 28);
    if (!p->kernel) {
        ks_buf_printf(b, "  no instance is ok (%" PRIu32 " rows)\n", p->n_rows);
        return;
    }
    if (p->gflops > 0)
        snprintf(speed, sizeof(speed), "%.4g +- %.2g", p->gflops, p->gflops_se);
    ks_buf_printf(b, "  %-20s  ", speed);
    put_padded(b, p->kernel->instance_name, 44);
    ks_buf_printf(b, "  %10.2f  %4" PRIu32 "  %4" PRIu32 "/%" PRIu32 "\n", p->worst_over_best,
                  p->n_tied, p->n_ok, p->n_rows);
}

static void print_problems(const struct ks_summary *s, struct ks_buf *b)
{
    put_padded(b, "problem", 28);
    ks_buf_printf(b, "  %-20s  ", "GFLOP/s");
    put_padded(b, "best instance", 44);
    ks_buf_printf(b, "  %10s  %4s  %s\n", "worst/best", "tied", "ok/all");
    for (size_t i = 0; i < s->n_problems; i++)
        print_problem(&s->problems[i], b);
}

static void print_counts(const struct ks_summary *s, struct ks_buf *b)
{
    uint64_t n_rows = 0;

    ks_buf_printf(b, "\ncells by outcome\n");
    for (uint32_t o = 0; o < KS_O_LIMIT; o++) {
        n_rows += s->outcome[o];
        if (s->outcome[o])
            ks_buf_printf(b, "  %-16s %10" PRIu64 "%s\n", ks_outcome_text(o), s->outcome[o],
                          ks_outcome_needs_look(o) ? "  needs a look" : "");
    }
    if (s->n_pending)
        ks_buf_printf(b, "  %-16s %10" PRIu64 "\n", "pending", s->n_pending);
    if (s->n_dropped)
        ks_buf_printf(b, "  %-16s %10" PRIu64 "\n", "of other runs", s->n_dropped);
    ks_buf_printf(b, "  %-16s %10" PRIu64 "\n", "sum", n_rows + s->n_pending + s->n_dropped);
    ks_buf_printf(b, "contaminated       %10" PRIu64 "\n", s->n_contaminated);
}

static void print_ranks(const struct ks_summary *s, struct ks_buf *b)
{
    ks_buf_printf(b, "\nmeasured by\n");
    for (size_t i = 0; i < s->n_ranks; i++) {
        const struct ks_device_rec *d = &s->ranks[i].device->rec;

        ks_buf_printf(b, "  rank %-4" PRIu32 " %-16s %-24s %s%s%s %10" PRIu64 " cells\n", d->rank,
                      d->host, d->model, d->core_set[0] ? "cores " : "", d->core_set,
                      d->core_set[0] ? "" : d->text, s->ranks[i].n_cells);
    }
}

static void print_summary(const struct ks_summary *s, struct ks_buf *b)
{
    ks_buf_printf(b,
                  "\n%" PRIu32 " distinct codes; %" PRIu32 " instances are the best somewhere "
                  "beyond ties",
                  s->n_codes, s->n_winners);
    if (s->median_worst_over_best > 0)
        ks_buf_printf(b, "; median worst/best %.2f", s->median_worst_over_best);
    if (s->fixed)
        ks_buf_printf(b, "\nbest fixed instance: %s, %.1f %% of the best of each problem",
                      s->fixed->instance_name, 100 * s->fixed_share);
    ks_buf_printf(b, "\n");
}

/* ---- instances that are the same code ---- */

enum { GROUPS_SHOWN = 10, MEMBERS_SHOWN = 8 };

static void print_controls(const struct ks_aliases_found *a, struct ks_buf *b)
{
    const char *problem = a->problem ? a->problem->problem_name : "";

    ks_buf_printf(b, "  controls: %" PRIu64 " aliases were measured all the same", a->n_controls);
    if (a->n_other_outcome)
        ks_buf_printf(b, "; %" PRIu64 " ENDED OTHERWISE than what stands for them",
                      a->n_other_outcome);
    if (a->n_compared)
        ks_buf_printf(b,
                      "; largest difference %.2f %% where noise explains %.2f %%, of %s in %s; "
                      "%" PRIu64 " of %" PRIu64 " beyond noise",
                      100 * a->difference, 100 * a->noise,
                      a->control ? a->control->instance_name : "?",
                      problem[0] ? problem : "a problem without name", a->n_apart, a->n_compared);
    ks_buf_printf(b, "\n");
}

static void print_group(const struct ks_code_group *g, struct ks_buf *b)
{
    ks_buf_printf(b, "  %4" PRIu32 " instances, %8" PRIu64 " cells aliased:\n", g->n, g->n_aliased);
    for (uint32_t i = 0; i < g->n && i < MEMBERS_SHOWN; i++)
        ks_buf_printf(b, "       %s\n", g->members[i]->instance_name);
    if (g->n > MEMBERS_SHOWN)
        ks_buf_printf(b, "       ... and %" PRIu32 " more\n", g->n - MEMBERS_SHOWN);
}

static void print_aliases(const struct ks_aliases_found *a, struct ks_buf *b)
{
    if (!a->n_groups)
        return;
    ks_buf_printf(b, "\nsame machine code\n");
    if (a->n_controls)
        print_controls(a, b);
    for (size_t i = 0; i < a->n_groups && i < GROUPS_SHOWN; i++)
        print_group(&a->groups[i], b);
    if (a->n_groups > GROUPS_SHOWN)
        ks_buf_printf(b, "  ... and %zu more groups (--json has all)\n",
                      a->n_groups - GROUPS_SHOWN);
}

static void print_pruned(const struct ks_pruned_found *p, struct ks_buf *b)
{
    if (!p->n_left_out && !p->n_controls)
        return;
    ks_buf_printf(b,
                  "\nleft out because they spill\n  %" PRIu64 " cells; controls: %" PRIu64
                  " were measured all the same",
                  p->n_left_out, p->n_controls);
    if (p->n_compared)
        ks_buf_printf(b,
                      "; %" PRIu64 " of %" PRIu64 " are faster than all that was kept, the best "
                      "reaches %.1f %% of that: %s in %s",
                      p->n_better, p->n_compared, 100 * p->ratio, p->control->instance_name,
                      p->problem && p->problem->problem_name[0] ? p->problem->problem_name
                                                                : "a problem without name");
    ks_buf_printf(b, "\n");
}

/* ---- JSON ---- */

static void put_real(struct ks_jw *w, const char *key, double v)
{
    if (v >= 0)
        ks_jw_real(w, key, v);
    else
        ks_jw_null(w, key);
}

static void put_id(struct ks_jw *w, const char *key, uint64_t id)
{
    char text[17];

    ks_hex64(id, text);
    ks_jw_str(w, key, text);
}

static void json_problem(struct ks_jw *w, const struct ks_best *p)
{
    ks_jw_open(w, NULL, '{');
    if (p->problem)
        put_id(w, "problem_id", p->problem->problem_id);
    ks_jw_str(w, "name", name_of(p));
    ks_jw_str(w, "best_instance", p->kernel ? p->kernel->instance_name : NULL);
    if (p->kernel)
        put_id(w, "instance_id", p->kernel->instance_id);
    put_real(w, "gflops", p->gflops);
    put_real(w, "gflops_se", p->gflops_se);
    put_real(w, "gflops_lo95", p->gflops_lo95);
    put_real(w, "gflops_hi95", p->gflops_hi95);
    put_real(w, "time_median_ns", p->median_ns);
    put_real(w, "time_se_ns", p->se_ns);
    put_real(w, "worst_over_best", p->worst_over_best);
    ks_jw_u64(w, "n_tied", p->n_tied);
    ks_jw_u64(w, "n_ok", p->n_ok);
    ks_jw_u64(w, "n_codes", p->n_codes);
    ks_jw_u64(w, "n_rows", p->n_rows);
    ks_jw_close(w, '}');
}

static void json_counts(struct ks_jw *w, const struct ks_summary *s)
{
    ks_jw_u64(w, "n_cells", s->n_cells);
    ks_jw_u64(w, "n_pending", s->n_pending);
    ks_jw_u64(w, "n_dropped", s->n_dropped);
    ks_jw_u64(w, "n_contaminated", s->n_contaminated);
    ks_jw_open(w, "outcomes", '{');
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (s->outcome[o])
            ks_jw_u64(w, ks_outcome_text(o), s->outcome[o]);
    ks_jw_close(w, '}');
}

static void json_ranks(struct ks_jw *w, const struct ks_summary *s)
{
    ks_jw_open(w, "ranks", '[');
    for (size_t i = 0; i < s->n_ranks; i++) {
        const struct ks_device_rec *d = &s->ranks[i].device->rec;

        ks_jw_open(w, NULL, '{');
        ks_jw_u64(w, "rank", d->rank);
        ks_jw_str(w, "host", d->host);
        put_id(w, "device_id", d->device_id);
        ks_jw_str(w, "model", d->model);
        ks_jw_str(w, "core_set", d->core_set);
        ks_jw_u64(w, "n_cells", s->ranks[i].n_cells);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
}

static void json_controls(struct ks_jw *w, const struct ks_aliases_found *a)
{
    ks_jw_open(w, "controls", '{');
    ks_jw_u64(w, "n", a->n_controls);
    ks_jw_u64(w, "n_other_outcome", a->n_other_outcome);
    ks_jw_u64(w, "n_compared", a->n_compared);
    ks_jw_u64(w, "n_apart", a->n_apart);
    if (a->n_compared) {
        put_real(w, "difference", a->difference);
        put_real(w, "noise", a->noise);
        ks_jw_str(w, "problem", a->problem ? a->problem->problem_name : NULL);
        ks_jw_str(w, "instance", a->control ? a->control->instance_name : NULL);
        ks_jw_str(w, "alias_of", a->first ? a->first->instance_name : NULL);
    }
    ks_jw_close(w, '}');
}

static void json_aliases(struct ks_jw *w, const struct ks_aliases_found *a)
{
    ks_jw_open(w, "aliases", '{');
    ks_jw_u64(w, "n_aliased", a->n_aliased);
    json_controls(w, a);
    ks_jw_open(w, "groups", '[');
    for (size_t i = 0; i < a->n_groups; i++) {
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "code_id", a->groups[i].members[0]->code_id);
        ks_jw_u64(w, "n_aliased", a->groups[i].n_aliased);
        ks_jw_open(w, "instances", '[');
        for (uint32_t k = 0; k < a->groups[i].n; k++)
            ks_jw_str(w, NULL, a->groups[i].members[k]->instance_name);
        ks_jw_close(w, ']');
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
    ks_jw_close(w, '}');
}

static void json_pruned(struct ks_jw *w, const struct ks_pruned_found *p)
{
    ks_jw_open(w, "pruned", '{');
    ks_jw_u64(w, "n_left_out", p->n_left_out);
    ks_jw_u64(w, "n_controls", p->n_controls);
    ks_jw_u64(w, "n_compared", p->n_compared);
    ks_jw_u64(w, "n_better", p->n_better);
    if (p->n_compared) {
        put_real(w, "ratio", p->ratio);
        ks_jw_str(w, "problem", p->problem ? p->problem->problem_name : NULL);
        ks_jw_str(w, "instance", p->control->instance_name);
    }
    ks_jw_close(w, '}');
}

static void print_json(const struct ks_summary *s, const char *file, struct ks_buf *b)
{
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_str(&w, "file", file);
    json_counts(&w, s);
    json_ranks(&w, s);
    ks_jw_u64(&w, "n_codes", s->n_codes);
    ks_jw_u64(&w, "n_winners", s->n_winners);
    put_real(&w, "median_worst_over_best", s->median_worst_over_best);
    ks_jw_str(&w, "fixed_instance", s->fixed ? s->fixed->instance_name : NULL);
    put_real(&w, "fixed_share", s->fixed ? s->fixed_share : KS_MISSING);
    json_aliases(&w, &s->aliases);
    json_pruned(&w, &s->pruned);
    ks_jw_open(&w, "problems", '[');
    for (size_t i = 0; i < s->n_problems; i++)
        json_problem(&w, &s->problems[i]);
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(b, "\n");
}

static int report(const void *cfg, const char *const *operands, int n, struct ks_analysis_out *out,
                  struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_view *v = NULL;
    struct ks_summary s = { 0 };
    struct ks_buf *b = &out->text;
    int rc;

    (void)n;
    rc = ks_view_open(operands[0], c->merge, &v, err);
    if (rc == 0)
        rc = ks_summary_make(v, &s, err);
    if (rc == 0 && c->json) {
        print_json(&s, operands[0], b);
    } else if (rc == 0) {
        print_problems(&s, b);
        print_counts(&s, b);
        print_ranks(&s, b);
        print_summary(&s, b);
        print_aliases(&s.aliases, b);
        print_pruned(&s.pruned, b);
    }
    ks_summary_release(&s);
    ks_view_close(v);
    return rc;
}

const struct ks_analysis ks_analysis_report = {
    .name = "report",
    .summary = "The best instance of every problem, every outcome counted, and who measured.",
    .usage = "report FILE [--json] [--merge all|newest|median]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = report,
};
