/* SPDX-License-Identifier: MIT */
/* cell_view.c - find a cell in a journal and print what is known of it. */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cmd/cell.h"
#include "cmd/cell_find.h"
#include "journal/journal.h"
#include "journal/ledger.h"
#include "record/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keep_record(struct ks_cell_view *v, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_record *more = realloc(v->records, (v->n_records + 1) * sizeof(*more));
    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    v->records = more;
    int rc = ks_record_decode(f->body, f->n, &more[v->n_records], NULL, err);
    if (rc < 0)
        return rc == KS_EFORMAT ? 0 : rc; /* `ksweep check` tells of it */
    if (ks_cell_compare(&more[v->n_records].cell, &v->cell) == 0)
        v->n_records++;
    return 0;
}

static int keep_program(struct ks_cell_view *v, const struct ks_journal_frame *f,
                        struct ks_err *err)
{
    struct ks_program_run *p = malloc(sizeof(*p));
    if (!p)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    if (ks_program_run_decode(f->body, f->n, p, NULL) < 0 ||
        ks_cell_compare(&p->cell, &v->cell) != 0) {
        free(p);
        return 0;
    }
    free(v->program);
    v->program = p;
    return 0;
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct ks_cell_view *v = ctx;
    struct ks_output o;
    const void *bytes;
    size_t n;
    if (f->type == KS_F_DONE)
        return keep_record(v, f, err);
    if (f->type == KS_F_PROGRAM)
        return keep_program(v, f, err);
    if (f->type != KS_F_OUTPUT || ks_output_decode(f->body, f->n, &o, &bytes, &n, NULL) < 0 ||
        ks_cell_compare(&o.cell, &v->cell) != 0)
        return 0;
    ks_buf_clear(&v->output);
    ks_buf_put(&v->output, bytes, n);
    return 0;
}

/* The job, the cell that is meant, and which of its attempts counts. */
static int load_job(struct ks_cell_view *v, const char *journal, const char *name,
                    struct ks_err *err)
{
    struct ks_ledger *l = NULL;
    struct ks_journal_totals totals;
    const char *text;
    int rc = ks_ledger_read(journal, &l, NULL, NULL, &totals, NULL, err);
    if (rc < 0)
        return rc;
    if (!ks_ledger_job(l, &text))
        rc = ks_fail(err, KS_EFORMAT, "'%s': the journal does not contain the job", v->dir);
    else
        rc = ks_grid_load_text(text, "job in the journal", &v->grid, err);
    if (rc == 0)
        rc = ks_cell_find(v, l, journal, name, err);
    const struct ks_ledger_cell *c = rc == 0 ? ks_ledger_find(l, &v->cell) : NULL;
    v->attempt = ks_ledger_is_final(c) ? c->attempt : 0;
    ks_ledger_destroy(l);
    return rc;
}

/* A pair of a problem and an instance need not be a cell. */
static int check_exists(const struct ks_cell_view *v, const char *name, struct ks_err *err)
{
    struct ks_buf why;
    int rc = 0;
    if (ks_grid_has_cell(&v->grid, v->i_problem, v->i_instance))
        return 0;
    ks_buf_init(&why);
    ks_grid_no_cell(&v->grid, v->i_problem, v->i_instance, &why);
    rc = ks_fail(err, KS_EINVAL, "'%.100s' is not a cell of '%.100s': %s", name, v->dir,
                 ks_buf_text(&why));
    ks_buf_release(&why);
    return rc;
}

int ks_cell_open(const char *dir, const char *name, struct ks_cell_view *v, struct ks_err *err)
{
    char journal[1100];
    struct ks_journal_totals totals;
    memset(v, 0, sizeof(*v));
    ks_buf_init(&v->output);
    if (strlen(dir) >= sizeof(v->dir))
        return ks_fail(err, KS_EINVAL, "the directory's path is longer than %zu bytes",
                       sizeof(v->dir) - 1);
    snprintf(v->dir, sizeof(v->dir), "%s", dir);
    int rc = ks_path_is_dir(dir)
                 ? ks_path_join(journal, sizeof(journal), dir, "journal", err)
                 : ks_fail(err, KS_ENOENT, "'%s' is missing or not the directory of a run", dir);
    if (rc == 0)
        rc = load_job(v, journal, name, err);
    if (rc == 0)
        rc = ks_journal_read(journal, on_frame, NULL, v, &totals, err);
    if (rc == 0 && v->n_records == 0)
        rc = check_exists(v, name, err);
    if (rc < 0)
        ks_cell_close(v);
    return rc;
}

void ks_cell_close(struct ks_cell_view *v)
{
    ks_grid_release(&v->grid);
    free(v->records);
    free(v->program);
    ks_buf_release(&v->output);
    memset(v, 0, sizeof(*v));
}

static void print_times(const struct ks_record *r, struct ks_buf *to)
{
    double scratch[KS_SAMPLES_MAX];
    struct ks_stats s;
    if (!r->n_samples)
        return;
    ks_stats(r->sample_ns, r->n_samples, r->clock_resolution_ns,
             r->calls_per_sample ? r->calls_per_sample : 1, scratch, &s);
    ks_buf_printf(
        to, "  time      median %.1f ns, se %.2f ns, 95 %% [%.1f, %.1f], min %.1f, MAD %.2f\n",
        s.median, s.se, s.lo95, s.hi95, s.min, s.mad);
    ks_buf_printf(to, "  samples   %u of %u calls each, stopped by %s\n", r->n_samples,
                  r->calls_per_sample, ks_stop_text(r->stop_reason));
}

/* What the device said of itself while it was timed, as far as it says anything. */
static void print_device(const struct ks_record *r, struct ks_buf *to)
{
    static const char first[] = "  device    ", next[] = ", ";
    const char *between = first;
    if (r->before.clock_mhz >= 0 && r->after.clock_mhz >= 0) {
        ks_buf_printf(to, "%sclock %.0f MHz before, %.0f after", between, r->before.clock_mhz,
                      r->after.clock_mhz);
        between = next;
    }
    if (r->clock_timed_mhz >= 0) {
        ks_buf_printf(to, "%s%.0f MHz while timed", between, r->clock_timed_mhz);
        between = next;
    }
    if (r->clock_min_mhz >= 0) {
        ks_buf_printf(to, "%slowest %.0f MHz", between, r->clock_min_mhz);
        between = next;
    }
    if (r->power_max_w >= 0) {
        ks_buf_printf(to, "%sup to %.0f W", between, r->power_max_w);
        between = next;
    }
    if (r->after.temperature_c >= 0) {
        ks_buf_printf(to, "%s%.0f degrees", between, r->after.temperature_c);
        between = next;
    }
    if (r->throttle_reasons > 0) {
        ks_buf_printf(to, "%sthrottled (reasons 0x%llx)", between,
                      (unsigned long long)r->throttle_reasons);
        between = next;
    }
    if (between != first)
        ks_buf_printf(to, "\n");
}

static const char *verdict(uint32_t v)
{
    static const char *const text[] = { "not run", "passed", "failed" };
    return v < 3 ? text[v] : "?";
}

static void print_checks(const struct ks_record *r, struct ks_buf *to)
{
    ks_buf_printf(to, "  checks    output of %u launches checked, seed %016llx",
                  r->n_checked_launches, (unsigned long long)r->check_seed);
    if (r->verified_over_timed > 0)
        ks_buf_printf(to, ", verified samples take %.3f times as long as the others",
                      r->verified_over_timed);
    ks_buf_printf(to, "\n");
}

static void print_verification(const struct ks_record *r, struct ks_buf *to)
{
    if (!r->exact_check && !r->tolerance_check)
        return;
    ks_buf_printf(to, "  verify    exact %s, elementwise %s (max error %.3f of the tolerance)\n",
                  verdict(r->exact_check), verdict(r->tolerance_check), r->max_error);
    if (r->n_checked_launches)
        print_checks(r, to);
    if (r->n_wrong)
        ks_buf_printf(to, "  wrong     %llu of %llu elements\n", (unsigned long long)r->n_wrong,
                      (unsigned long long)r->n_elements);
    for (uint32_t i = 0; i < r->n_mismatches; i++)
        ks_buf_printf(to, "    [%lld] got %.9g, want %.9g +- %.3g\n",
                      (long long)r->mismatch[i].index, r->mismatch[i].got, r->mismatch[i].want,
                      r->mismatch[i].tolerance);
    for (uint32_t i = 0; i < r->n_box; i++)
        ks_buf_printf(to, "%s%lld..%lld%s", i ? ", " : "  box       ", (long long)r->box_lo[i],
                      (long long)r->box_hi[i], i + 1 == r->n_box ? "\n" : "");
}

static void print_death(const struct ks_record *r, struct ks_buf *to)
{
    if (r->fault_address)
        ks_buf_printf(to, "  fault at  0x%llx\n", (unsigned long long)r->fault_address);
    if (r->n_denied)
        ks_buf_printf(to, "  denied    %u system calls, last number %d\n", r->n_denied,
                      r->denied_call);
    if (r->peak_bytes)
        ks_buf_printf(to, "  memory    peak %.1f MiB\n", (double)r->peak_bytes / (1 << 20));
    if (r->n_tail) {
        ks_buf_printf(to, "  printed   ");
        ks_text_put(to, r->tail, r->n_tail, KS_LINES_INDENT);
        ks_buf_u8(to, '\n');
    }
}

void ks_cell_print(const struct ks_record *r, struct ks_buf *to)
{
    static const char *const roles[] = { "", " (anchor)", " (canary)", " (control)" };
    char flags[160], when[32], code[24] = "";
    ks_flags_text(r->outcome_flags, flags, sizeof(flags));
    ks_utc_text(r->started_ns, when, sizeof(when));
    if (r->outcome == KS_O_CRASHED || r->outcome == KS_O_EXITED || r->outcome == KS_O_LAUNCH_FAILED)
        snprintf(code, sizeof(code), "(%d)", r->status_code);
    ks_buf_printf(to, "attempt %u, round %u%s: %s%s", r->attempt, r->round_index,
                  r->role < 4 ? roles[r->role] : "", ks_outcome_text(r->outcome), code);
    if (r->reason[0]) {
        ks_buf_printf(to, ": ");
        ks_text_put(to, r->reason, strlen(r->reason), KS_LINES_NONE);
    }
    if (flags[0])
        ks_buf_printf(to, " [%s]", flags);
    if (r->outcome == KS_O_ALIASED) { /* nothing was run */
        ks_buf_printf(to, "\n");
        return;
    }
    ks_buf_printf(to, "\n  where     rank %u, pid %d, cpu %d, block %016llx position %u, %s\n",
                  r->mpi_rank, r->pid, r->cpu, (unsigned long long)r->block_id, r->position, when);
    if (ks_outcome_needs_look(r->outcome))
        ks_buf_printf(to, "  phase     %s\n", ks_phase_text(r->phase));
    print_times(r, to);
    print_device(r, to);
    print_verification(r, to);
    print_death(r, to);
}
