/* SPDX-License-Identifier: MIT */
#include "analysis/out/report.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A name, on one line: that of a foreign file may hold line ends. */
static void put_name(struct ks_buf *b, const char *text)
{
    ks_text_put(b, text, strlen(text), KS_LINES_NONE);
}

/* At most `width` characters of a name, padded to that. */
static void put_padded(struct ks_buf *b, const char *text, int width)
{
    char line[1024];
    int n = 0;

    ks_text_escape(line, sizeof(line), text, strlen(text), KS_LINES_NONE);
    for (const char *p = line; *p; p++) {
        bool is_first = ((unsigned char)*p & 0xc0) != 0x80;

        if (is_first && n == width)
            break;
        n += is_first;
        ks_buf_u8(b, (uint8_t)*p);
    }
    ks_buf_printf(b, "%*s", width - n, "");
}

const char *ks_best_name(const struct ks_best *p)
{
    if (!p->problem)
        return "(name lost)";
    return p->problem->name[0] ? p->problem->name : p->problem->canonical;
}

static void print_problem(const struct ks_best *p, struct ks_buf *b)
{
    char speed[64] = "";

    put_padded(b, ks_best_name(p), 28);
    if (!p->kernel) {
        ks_buf_printf(b, "  no instance is ok (%" PRIu32 " rows)\n", p->n_rows);
        return;
    }
    if (p->gflops > 0)
        snprintf(speed, sizeof(speed), p->gflops_se < 0 ? "%.4g" : "%.4g +- %.2g", p->gflops,
                 p->gflops_se);
    ks_buf_printf(b, "  %-20s  ", speed);
    put_padded(b, p->kernel->name, 44);
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
        const struct ks_device_ref *d = s->ranks[i].device;

        char host[256], model[512];

        ks_text_escape(host, sizeof(host), d->host, strlen(d->host), KS_LINES_NONE);
        ks_text_escape(model, sizeof(model), d->model, strlen(d->model), KS_LINES_NONE);
        ks_buf_printf(b, "  rank %-4" PRIu32 " %-16s %-24s %s", d->rank, host, model,
                      d->core_set[0] ? "cores " : "");
        put_name(b, d->core_set[0] ? d->core_set : d->text);
        ks_buf_printf(b, " %10" PRIu64 " cells\n", s->ranks[i].n_cells);
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
    if (s->fixed) {
        ks_buf_printf(b, "\nbest fixed instance: ");
        put_name(b, s->fixed->name);
        ks_buf_printf(b, ", %.1f %% of the best of each problem", 100 * s->fixed_share);
    }
    ks_buf_printf(b, "\n");
}

/* ---- instances that are the same code ---- */

enum { GROUPS_SHOWN = 10, MEMBERS_SHOWN = 8 };

/* "INSTANCE in PROBLEM" */
static void put_place(struct ks_buf *b, const struct ks_instance_ref *k,
                      const struct ks_problem_ref *p)
{
    put_name(b, k ? k->name : "?");
    ks_buf_printf(b, " in ");
    put_name(b, p && p->name[0] ? p->name : "a problem without name");
}

static void print_controls(const struct ks_aliases_found *a, struct ks_buf *b)
{
    ks_buf_printf(b, "  controls: %" PRIu64 " aliases were measured all the same", a->n_controls);
    if (a->n_other_outcome)
        ks_buf_printf(b, "; %" PRIu64 " ENDED OTHERWISE than what stands for them",
                      a->n_other_outcome);
    if (a->n_compared) {
        ks_buf_printf(b, "; largest difference %.2f %% where noise explains %.2f %%, of ",
                      100 * a->difference, 100 * a->noise);
        put_place(b, a->control, a->problem);
        ks_buf_printf(b, "; %" PRIu64 " of %" PRIu64 " beyond noise", a->n_apart, a->n_compared);
    }
    ks_buf_printf(b, "\n");
}

static void print_group(const struct ks_code_group *g, struct ks_buf *b)
{
    ks_buf_printf(b, "  %4" PRIu32 " instances, %8" PRIu64 " cells aliased:\n", g->n, g->n_aliased);
    for (uint32_t i = 0; i < g->n && i < MEMBERS_SHOWN; i++) {
        ks_buf_printf(b, "       ");
        put_name(b, g->members[i]->name);
        ks_buf_printf(b, "\n");
    }
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
    if (p->n_compared) {
        ks_buf_printf(b,
                      "; %" PRIu64 " of %" PRIu64 " are faster than all that was kept, the best "
                      "reaches %.1f %% of that: ",
                      p->n_better, p->n_compared, 100 * p->ratio);
        put_place(b, p->control, p->problem);
    }
    ks_buf_printf(b, "\n");
}

void ks_report_text(const struct ks_summary *s, struct ks_buf *b)
{
    print_problems(s, b);
    print_counts(s, b);
    print_ranks(s, b);
    print_summary(s, b);
    print_aliases(&s->aliases, b);
    print_pruned(&s->pruned, b);
}
