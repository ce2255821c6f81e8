/* SPDX-License-Identifier: MIT */
/* report_text.c - a report as text and as Markdown: problems, outcomes, ranks, sentences */
#include "analysis/out/report.h"

#include "base/text.h"
#include "base/wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A name, on one line: that of a foreign file may hold line ends. */
static void put_name(struct ks_buf *b, const char *text)
{
    ks_text_put(b, text, strlen(text), KS_LINES_NONE);
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
    if (s->n_contaminated)
        ks_buf_printf(b,
                      "  %" PRIu64
                      " of them are contaminated: other processes used the machine meanwhile\n",
                      s->n_contaminated);
    else
        ks_buf_printf(b, "  none of them is contaminated\n");
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

static void put_sentence(const char *text, unsigned width, struct ks_buf *b)
{
    ks_buf_printf(b, "  ");
    ks_wrap_put(b, text, 2, 4, width);
    ks_buf_u8(b, '\n');
}

/* "One fixed instance would reach 41 % of the best: choosing per problem is 2.4 times as fast" */
static void say_fixed(const struct ks_summary *s, char *out, size_t cap)
{
    char gain[80] = "";

    if (s->fixed_share < 0.995)
        snprintf(gain, sizeof(gain), ": choosing per problem is %.*g times as fast",
                 s->fixed_share < 0.5 ? 2 : 3, 1 / s->fixed_share);
    snprintf(out, cap, "would reach %.0f %% of the best%s", 100 * s->fixed_share, gain);
}

/* What the numbers say, in sentences. */
static void print_summary(const struct ks_summary *s, unsigned width, struct ks_buf *b)
{
    char text[300], fixed[160];

    ks_buf_printf(b, "\ngain from choosing an instance per problem\n");
    snprintf(text, sizeof(text),
             "%" PRIu32 " kernels%s ran correctly; %" PRIu32
             " of them %s the best of a problem without a tie.",
             s->n_codes, s->n_codes_unknown ? "" : " with different machine code", s->n_winners,
             s->n_winners == 1 ? "is" : "are");
    put_sentence(text, width, b);
    if (s->median_worst_over_best > 0) {
        snprintf(text, sizeof(text),
                 "On the median problem the slowest working instance takes %.2f times as long as "
                 "the best.",
                 s->median_worst_over_best);
        put_sentence(text, width, b);
    }
    if (!s->fixed) {
        put_sentence("No instance works on every problem, so none can be used for all.", width, b);
        return;
    }
    say_fixed(s, fixed, sizeof(fixed));
    snprintf(text, sizeof(text), "One fixed instance %s. It is", fixed);
    put_sentence(text, width, b);
    ks_buf_printf(b, "    ");
    put_name(b, s->fixed->name);
    ks_buf_printf(b, "\n");
}

/* ---- instances that are the same code ---- */

/* "INSTANCE in PROBLEM" */
static void put_place(struct ks_buf *b, const struct ks_instance_ref *k,
                      const struct ks_problem_ref *p)
{
    put_name(b, k ? k->name : "?");
    ks_buf_printf(b, " in ");
    put_name(b, p && p->name[0] ? p->name : "a problem without a name");
}

static void print_controls(const struct ks_aliases_found *a, struct ks_buf *b)
{
    ks_buf_printf(b, "  controls: %" PRIu64 " aliases were measured for comparison", a->n_controls);
    if (a->n_other_outcome)
        ks_buf_printf(b, "; %" PRIu64 " HAVE ANOTHER OUTCOME than their representative",
                      a->n_other_outcome);
    if (a->n_compared) {
        ks_buf_printf(b, "; largest difference %.2f %% (noise explains up to %.2f %%): ",
                      100 * a->difference, 100 * a->noise);
        put_place(b, a->control, a->problem);
        ks_buf_printf(b, "; %" PRIu64 " of %" PRIu64 " beyond noise", a->n_apart, a->n_compared);
    }
    ks_buf_printf(b, "\n");
}

static void print_group(const struct ks_code_group *g, struct ks_buf *b)
{
    ks_buf_printf(b, "  %4" PRIu32 " instances, %8" PRIu64 " cells aliased:\n", g->n, g->n_aliased);
    for (uint32_t i = 0; i < g->n; i++) {
        ks_buf_printf(b, "       ");
        put_name(b, g->members[i]->name);
        ks_buf_printf(b, "\n");
    }
}

static void print_aliases(const struct ks_aliases_found *a, struct ks_buf *b)
{
    if (!a->n_groups)
        return;
    ks_buf_printf(b, "\nsame machine code\n");
    if (a->n_controls)
        print_controls(a, b);
    for (size_t i = 0; i < a->n_groups; i++)
        print_group(&a->groups[i], b);
}

static void print_pruned(const struct ks_pruned_found *p, struct ks_buf *b)
{
    if (!p->n_left_out && !p->n_controls)
        return;
    ks_buf_printf(b,
                  "\npruned because the kernel spills registers\n  %" PRIu64
                  " cells; controls: %" PRIu64 " were measured for comparison",
                  p->n_left_out, p->n_controls);
    if (p->n_compared) {
        ks_buf_printf(b,
                      "; %" PRIu64 " of %" PRIu64
                      " are faster than every instance that was kept; the best has %.1f %% of the "
                      "speed of the best kept one: ",
                      p->n_better, p->n_compared, 100 * p->ratio);
        put_place(b, p->control, p->problem);
    }
    ks_buf_printf(b, "\n");
}

int ks_report_text(const struct ks_summary *s, unsigned width, struct ks_buf *b, struct ks_err *err)
{
    int rc = ks_report_rows_text(s, width, b, err);

    print_counts(s, b);
    print_ranks(s, b);
    print_summary(s, width, b);
    print_aliases(&s->aliases, b);
    print_pruned(&s->pruned, b);
    return rc;
}

/* The same facts without a layout: a list behind the table. */
void ks_report_markdown(const struct ks_summary *s, struct ks_buf *b)
{
    ks_report_rows_markdown(s, b);
    ks_buf_printf(b, "\n| outcome | cells |\n|---|--:|\n");
    for (uint32_t o = 0; o < KS_O_LIMIT; o++)
        if (s->outcome[o])
            ks_buf_printf(b, "| %s%s | %" PRIu64 " |\n", ks_outcome_text(o),
                          ks_outcome_needs_look(o) ? " (needs a look)" : "", s->outcome[o]);
    if (s->n_pending)
        ks_buf_printf(b, "| pending | %" PRIu64 " |\n", s->n_pending);
    ks_buf_printf(b, "| contaminated, of these | %" PRIu64 " |\n\n", s->n_contaminated);
    if (s->fixed) {
        char fixed[160];

        say_fixed(s, fixed, sizeof(fixed));
        ks_buf_printf(b, "One fixed instance, ");
        ks_markdown_put(b, s->fixed->name);
        ks_buf_printf(b, ", %s.\n", fixed);
    }
}
