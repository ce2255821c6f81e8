/* SPDX-License-Identifier: MIT */
/* rows.c - a printed line as a record. */
#include "base/clock.h"
#include "record/frame.h"
#include "runner/runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One condition per way of timing: never that of our own samples. */
static void describe(const struct ks_runner *r, const struct ks_profiler_protocol *p, char *out,
                     size_t cap)
{
    struct ks_buf b;

    ks_buf_init(&b);
    ks_buf_printf(&b, "%s", ks_profiler_name(ks_profiler_of(r->profiler)));
    if (p->version[0])
        ks_buf_printf(&b, " version=%s", p->version);
    if (p->n_warmup >= 0)
        ks_buf_printf(&b, " warmup=%d", p->n_warmup);
    if (p->n_repeats >= 0)
        ks_buf_printf(&b, " repeats=%d", p->n_repeats);
    if (p->cache[0])
        ks_buf_printf(&b, " cache=%s", p->cache);
    if (p->statistic[0])
        ks_buf_printf(&b, " statistic=%s", p->statistic);
    if (p->verified[0])
        ks_buf_printf(&b, " verified=%s", p->verified);
    snprintf(out, cap, "%s", ks_buf_text(&b));
    ks_buf_release(&b);
}

void ks_runner_rows_init(struct ks_runner_rows *rows, struct ks_runner *r,
                         const struct ks_req_cell *cell)
{
    *rows = (struct ks_runner_rows){ .runner = r, .cell = cell };
    ks_profiler_protocol_of(r->profiler, &r->problem, &rows->protocol);
    describe(r, &rows->protocol, rows->protocol_text, sizeof rows->protocol_text);
    rows->condition = ks_id64(rows->protocol_text, strlen(rows->protocol_text));
}

static void fill_record(struct ks_runner_rows *rows, const struct ks_profiler_row *row,
                        struct ks_record *f)
{
    const struct ks_runner *r = rows->runner;
    const struct ks_req_cell *c = rows->cell;

    ks_record_init(f);
    f->cell = (struct ks_cell){ c->cell.problem,
                                ks_profiler_instance_id(r->profiler, rows->protocol.version,
                                                        &r->problem, row),
                                rows->condition };
    f->run_instance = c->cell.instance;
    f->attempt = c->attempt;
    f->round_index = r->program.repeat;
    f->outcome = row->outcome;
    f->worker = r->setup.nonce;
    f->seq = ++rows->n;
    f->mpi_rank = r->setup.rank;
    f->device_id = r->setup.device_id;
    f->lease_id = c->lease_id;
    f->block_id = c->block_id;
    f->position = (uint32_t)(rows->n - 1);
    f->started_ns = ks_realtime_ns();
    snprintf(f->reason, sizeof f->reason, "%s", row->reason);
    snprintf(f->protocol, sizeof f->protocol, "%s", rows->protocol_text);
    f->output_line = row->line;
    if (row->split_k_used != KS_PROFILER_UNTOLD)
        f->split_k_used = row->split_k_used;
    if (row->flops_per_s > 0)
        f->printed_flops_per_s = row->flops_per_s;
    if (row->bytes_per_s > 0)
        f->printed_bytes_per_s = row->bytes_per_s;
    if (row->outcome != KS_O_OK || !(row->time_ns > 0) || !isfinite(row->time_ns))
        return;
    f->sample_ns[0] = row->time_ns;
    f->n_samples = 1;
    f->calls_per_sample = rows->protocol.n_repeats > 0 ? (uint32_t)rows->protocol.n_repeats : 1;
}

/* One line, whatever the program printed as JSON. */
static void put_line(struct ks_buf *to, const char *key, const char *value)
{
    ks_buf_printf(to, "%s=", key);
    for (; *value; value++)
        ks_buf_u8(to, *value == '\n' ? ' ' : (uint8_t)*value);
    ks_buf_u8(to, '\n');
}

static void put_traits(const struct ks_profiler_row *row, struct ks_buf *to)
{
    if (row->split_k_requested != KS_PROFILER_UNTOLD)
        ks_buf_printf(to, "split_k=%lld\n", (long long)row->split_k_requested);
    if (row->ordinal > 0)
        ks_buf_printf(to, "ordinal=%u\n", row->ordinal);
    for (size_t i = 0; i < row->n_traits; i++)
        put_line(to, row->traits[i].key, row->traits[i].value);
    if (row->rest[0])
        put_line(to, "rest", row->rest);
}

static int send(struct ks_runner_rows *rows, const struct ks_profiler_row *row, struct ks_err *err)
{
    struct ks_runner *r = rows->runner;
    struct ks_buf canonical, traits;
    struct ks_found_texts texts = { .name = row->instance,
                                    .family = ks_profiler_name(ks_profiler_of(r->profiler)) };

    ks_buf_init(&canonical);
    ks_buf_init(&traits);
    ks_profiler_instance_text(r->profiler, rows->protocol.version, &r->problem, row, &canonical);
    put_traits(row, &traits);
    texts.canonical = ks_buf_text(&canonical);
    texts.traits = ks_buf_text(&traits);
    ks_buf_clear(&r->body);
    ks_found_encode(&r->row, &texts, &r->body);
    const bool is_ok = ks_buf_ok(&canonical) && ks_buf_ok(&traits);
    ks_buf_release(&canonical);
    ks_buf_release(&traits);
    return is_ok ? ks_runner_send(r, KS_F_FOUND, err) : ks_fail(err, KS_ENOMEM, "out of memory");
}

int ks_runner_row(struct ks_runner_rows *rows, const struct ks_profiler_row *row,
                  struct ks_err *err)
{
    if (row->outcome == KS_O_NONE)
        return 0;
    fill_record(rows, row, &rows->runner->row);
    return send(rows, row, err);
}

int ks_runner_row_died(struct ks_runner_rows *rows, const char *name, uint32_t ordinal,
                       struct ks_err *err)
{
    const struct ks_record *done = &rows->runner->done;
    const struct ks_profiler_row row = { .instance = name,
                                         .n_instance = strlen(name),
                                         .ordinal = ordinal,
                                         .outcome = done->outcome,
                                         .split_k_requested = KS_PROFILER_UNTOLD,
                                         .split_k_used = KS_PROFILER_UNTOLD,
                                         .index = KS_PROFILER_UNTOLD,
                                         .reason = done->reason,
                                         .rest = "" };

    fill_record(rows, &row, &rows->runner->row);
    rows->runner->row.status_code = done->status_code;
    return send(rows, &row, err);
}
