/* SPDX-License-Identifier: MIT */
/* rows.c - rows of cells: from records, to CSV and back, and summed up for people */
#include "tests/gpu/rows.h"

#include "base/file.h"
#include "base/text.h"
#include "record/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char header[] =
    "problem,instance,outcome,n_samples,calls,median_ns,mad_ns,lo95_ns,hi95_ns,sampled_ns,"
    "max_error,wall_ns,input_ns,reference_ns,load_ns,exact_ns,warmup_ns,timing_ns,verify_ns,clock_"
    "mhz,timed_mhz,min_clock_mhz,"
    "max_power_w,temperature_c,throttle,flags,reason\n";

/* A device that counts energy tells a mean over the samples instead of readings. */
static double most_power_w(const struct ks_record *r)
{
    return r->power_max_w >= 0 ? r->power_max_w : r->after.power_w;
}

void row_take(struct row *row, const struct ks_record *r)
{
    double scratch[KS_SAMPLES_MAX];
    struct ks_stats s = { .median = 0 };

    if (r->n_samples > 0)
        ks_stats(r->sample_ns, r->n_samples, r->clock_resolution_ns, r->calls_per_sample, scratch,
                 &s);
    *row = (struct row){ .problem = r->cell.problem,
                         .instance = r->cell.instance,
                         .is_known = true,
                         .outcome = r->outcome,
                         .n_samples = r->n_samples,
                         .calls = r->calls_per_sample,
                         .median_ns = s.median,
                         .mad_ns = s.mad,
                         .lo95_ns = s.lo95,
                         .hi95_ns = s.hi95,
                         .max_error = r->max_error,
                         .wall_ns = r->wall_ns,
                         .input_ns = r->input_ns,
                         .reference_ns = r->reference_ns,
                         .load_ns = r->load_ns,
                         .exact_ns = r->exact_check_ns,
                         .warmup_ns = r->warmup_ns,
                         .timing_ns = r->timing_ns,
                         .verify_ns = r->tolerance_check_ns,
                         .clock_mhz = r->after.clock_mhz,
                         .timed_mhz = r->clock_timed_mhz,
                         .min_clock_mhz = r->clock_min_mhz,
                         .max_power_w = most_power_w(r),
                         .temperature_c = r->after.temperature_c,
                         .throttle = r->throttle_reasons,
                         .flags = r->outcome_flags };
    for (uint32_t i = 0; i < r->n_samples; i++)
        row->sampled_ns += r->sample_ns[i] * r->calls_per_sample;
    snprintf(row->reason, sizeof(row->reason), "%s", r->reason);
}

void row_end(struct row *row, const struct ks_grid *g, uint32_t i_cell, uint32_t outcome,
             const char *reason)
{
    *row = (struct row){ .problem = ks_problem_table_id(&g->problems, i_cell / g->n_instances),
                         .instance = g->instances[i_cell % g->n_instances].id,
                         .is_known = true,
                         .outcome = outcome,
                         .clock_mhz = KS_UNKNOWN,
                         .timed_mhz = KS_UNKNOWN,
                         .min_clock_mhz = KS_UNKNOWN,
                         .max_power_w = KS_UNKNOWN,
                         .temperature_c = KS_UNKNOWN,
                         .throttle = -1 };
    snprintf(row->reason, sizeof(row->reason), "%.159s", reason);
}

static void put_row(const struct row *r, struct ks_buf *out)
{
    char problem[17], instance[17];

    ks_hex64(r->problem, problem);
    ks_hex64(r->instance, instance);
    ks_buf_printf(out, "%s,%s,%s,%" PRIu32 ",%" PRIu32 ",%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,", problem,
                  instance, ks_outcome_text(r->outcome), r->n_samples, r->calls, r->median_ns,
                  r->mad_ns, r->lo95_ns, r->hi95_ns, r->sampled_ns, r->max_error);
    ks_buf_printf(out,
                  "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                  ",%" PRIu64 ",%.6g,%.6g,%.6g,%.6g,%.6g,%" PRId64 ",%" PRIu32 ",",
                  r->wall_ns, r->input_ns, r->reference_ns, r->load_ns, r->exact_ns, r->warmup_ns,
                  r->timing_ns, r->verify_ns, r->clock_mhz, r->timed_mhz, r->min_clock_mhz,
                  r->max_power_w, r->temperature_c, r->throttle, r->flags);
    ks_csv_put(out, r->reason);
    ks_buf_u8(out, '\n');
}

void rows_csv(const struct row *rows, uint64_t n, struct ks_buf *out)
{
    ks_buf_printf(out, "%s", header);
    for (uint64_t i = 0; i < n; i++)
        put_row(&rows[i], out);
}

uint64_t rows_n_bad(const struct row *rows, uint64_t n)
{
    uint64_t n_bad = 0;

    for (uint64_t i = 0; i < n; i++)
        n_bad += ks_outcome_needs_look(rows[i].outcome) ? 1 : 0;
    return n_bad;
}

/* ---- the summary ---- */

static void put_outcomes(const struct row *rows, uint64_t n, struct ks_buf *out)
{
    for (uint32_t o = KS_O_NONE + 1; o < KS_O_LIMIT; o++) {
        uint64_t count = 0;
        const char *reason = "";

        for (uint64_t i = 0; i < n; i++) {
            if (rows[i].outcome != o)
                continue;
            reason = count == 0 ? rows[i].reason : reason;
            count++;
        }
        if (count > 0)
            ks_buf_printf(out, "%-16s %6" PRIu64 "  %s\n", ks_outcome_text(o), count, reason);
    }
}

/* Half of the 95 % interval over the median, of all cells that are ok. */
static void put_spread(const struct row *rows, uint64_t n, struct ks_buf *out)
{
    double *v = calloc(n + 1, sizeof(*v));
    uint64_t k = 0;

    for (uint64_t i = 0; v != NULL && i < n; i++)
        if (rows[i].outcome == KS_O_OK)
            v[k++] = (rows[i].hi95_ns - rows[i].lo95_ns) / 2 / rows[i].median_ns;
    if (k > 0) {
        ks_stats_sort(v, k);
        ks_buf_printf(out, "95 %% interval, half, of the median: P50 %.3f %%, P90 %.3f %%\n",
                      100 * v[k / 2], 100 * v[k * 9 / 10]);
    }
    free(v);
}

void rows_pack(const struct ks_grid *g, struct row *rows)
{
    uint64_t n = 0;

    for (uint32_t p = 0; p < g->n_problems; p++)
        for (uint32_t i = 0; i < g->n_instances; i++)
            if (ks_grid_has_cell(g, p, i))
                rows[n++] = rows[(uint64_t)p * g->n_instances + i];
}

double rows_warmup_cap_ns(const struct ks_sampling *m)
{
    return m->warmup_ms > 0 ? 1e6 * fmax(KS_WARM_FLAT_MAX_MS, m->warmup_ms) : 0.0;
}

static void sum_up(const struct row *rows, uint64_t n, const struct totals *t, double *sampled_out,
                   double *warm_out)
{
    *sampled_out = *warm_out = 0;
    for (uint64_t i = 0; i < n; i++) {
        *sampled_out += rows[i].sampled_ns;
        *warm_out += fmin((double)rows[i].warmup_ns, t->warmup_cap_ns);
    }
}

double rows_share(const struct row *rows, uint64_t n, const struct totals *t)
{
    double sampled, warm;

    sum_up(rows, n, t, &sampled, &warm);
    return t->device_ns > 0 ? (sampled + warm) / (double)t->device_ns : 0.0;
}

static void put_time(const struct row *rows, uint64_t n, const struct totals *t, struct ks_buf *out)
{
    double sampled, warm, input = 0, reference = 0, exact = 0, verify = 0, timing = 0, load = 0;

    sum_up(rows, n, t, &sampled, &warm);
    for (uint64_t i = 0; i < n; i++) {
        input += (double)rows[i].input_ns;
        reference += (double)rows[i].reference_ns;
        exact += (double)rows[i].exact_ns;
        verify += (double)rows[i].verify_ns;
        timing += (double)rows[i].timing_ns;
        load += (double)rows[i].load_ns;
    }
    ks_buf_printf(out,
                  "device time %.1f s in %" PRIu32 " workers (%" PRIu32
                  " deaths): samples %.1f s, warm-up %.1f s, the rest of timing %.1f s, inputs "
                  "%.1f s, references %.1f s, exact %.1f s, verify %.1f s, load %.1f s\n",
                  1e-9 * (double)t->device_ns, t->n_workers, t->n_deaths, 1e-9 * sampled,
                  1e-9 * warm, 1e-9 * fmax(0, timing - sampled), 1e-9 * input, 1e-9 * reference,
                  1e-9 * exact, 1e-9 * verify, 1e-9 * load);
    ks_buf_printf(out, "share of device time in samples and warm-up: %.1f %%\n",
                  100 * rows_share(rows, n, t));
}

static void put_best(const struct ks_grid *g, const struct row *rows, struct ks_buf *out)
{
    struct table t = { .n = ks_grid_n_cells(g) };

    t.rows = (struct row *)(uintptr_t)rows;
    for (uint32_t i = 0; i < g->n_problems; i++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);
        const struct row *best = table_best(&t, p.id);
        int64_t k = best != NULL ? ks_grid_instance(g, best->instance) : -1;

        if (k < 0)
            ks_buf_printf(out, "%-24s no instance is ok\n", p.name);
        else
            ks_buf_printf(out, "%-24s %10.1f us %8.2f TFLOP/s  %s\n", p.name,
                          1e-3 * best->median_ns, 1e-3 * ks_problem_flops(&p) / best->median_ns,
                          g->instances[k].name);
    }
}

void rows_summary(const struct ks_grid *g, const struct row *rows, const struct totals *t,
                  struct ks_buf *out)
{
    uint64_t n = ks_grid_n_cells(g);

    ks_buf_printf(out, "%" PRIu32 " problems x %" PRIu32 " instances, %" PRIu64 " cells\n",
                  g->n_problems, g->n_instances, n);
    put_outcomes(rows, n, out);
    if (t->n_left > 0)
        ks_buf_printf(out, "no time was left for %" PRIu32 " of them\n", t->n_left);
    put_spread(rows, n, out);
    put_time(rows, n, t, out);
    put_best(g, rows, out);
}

/* ---- reading ---- */

static int read_row(char *line, struct row *out, struct ks_err *err)
{
    char *field[6];

    for (size_t i = 0; i < 6; i++)
        field[i] = strsep(&line, ",");
    if (line == NULL || !ks_unhex64(field[0], &out->problem) ||
        !ks_unhex64(field[1], &out->instance))
        return ks_fail(err, KS_EFORMAT, "not a row of a sweep");
    out->outcome = ks_outcome_from(field[2]);
    out->median_ns = strtod(field[5], NULL);
    out->is_known = out->outcome != KS_O_NONE;
    return out->is_known ? 0 : ks_fail(err, KS_EFORMAT, "no outcome is called '%s'", field[2]);
}

int table_read(const char *path, struct table *out, struct ks_err *err)
{
    struct ks_buf text = { 0 };
    struct table t = { .rows = NULL };
    char *rest, *copy = NULL, *line;
    int rc = ks_file_read(path, &text, err);

    if (rc == 0) {
        copy = strdup(ks_buf_text(&text));
        t.rows = calloc(text.len / 32 + 1, sizeof(*t.rows)); /* no row is so short */
        rc = copy != NULL && t.rows != NULL ? 0 : ks_fail(err, KS_ENOMEM, "'%s'", path);
    }
    rest = copy;
    if (rc == 0 && strncmp(copy, header, sizeof(header) - 1) != 0)
        rc = ks_fail(err, KS_EFORMAT, "'%s' is not of a sweep", path);
    if (rc == 0)
        (void)strsep(&rest, "\n");
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL && *line != '\0')
        rc = read_row(line, &t.rows[t.n++], err);
    ks_buf_release(&text);
    free(copy);
    if (rc < 0) {
        table_release(&t);
        return ks_err_context(err, rc, "%s", path);
    }
    *out = t;
    return 0;
}

void table_release(struct table *t)
{
    free(t->rows);
    *t = (struct table){ .rows = NULL };
}

const struct row *table_find(const struct table *t, uint64_t problem, uint64_t instance)
{
    for (uint64_t i = 0; i < t->n; i++)
        if (t->rows[i].problem == problem && t->rows[i].instance == instance)
            return &t->rows[i];
    return NULL;
}

const struct row *table_best(const struct table *t, uint64_t problem)
{
    const struct row *best = NULL;

    for (uint64_t i = 0; i < t->n; i++) {
        const struct row *r = &t->rows[i];

        if (r->problem == problem && r->outcome == KS_O_OK &&
            (best == NULL || r->median_ns < best->median_ns))
            best = r;
    }
    return best;
}
