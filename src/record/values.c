/* SPDX-License-Identifier: MIT */
/* values.c - frames of the journal beside records: job, device, build, start, block, race, event */
#include "record/fields.h"
#include "record/frame.h"
#include "record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(S, member) .count = offsetof(S, member)

/* KS_F_SEGMENT */
#define F(tag, kind, member, ...) KS_DEF(struct ks_fence, tag, kind, member, __VA_ARGS__)
static const struct ks_def fence_defs[] = {
    F(1, UINT, segment, .lo = 1, .hi = UINT32_MAX, .required = true),
    F(2, UINT, n_bytes, ),
};
#undef F
static const struct ks_fields fence_fields = KS_FIELDS(struct ks_fence, "fence", fence_defs);

#define F(tag, kind, member, ...) KS_DEF(struct ks_segment, tag, kind, member, __VA_ARGS__)
static const struct ks_def segment_defs[] = {
    F(1, ID128, run_id, .required = true),
    F(2, UINT, incarnation, .lo = 1, .hi = UINT32_MAX, .required = true),
    F(3, INT, pid, ),
    F(4, UINT, pid_start, ),
    F(5, TEXT, host, ),
    F(6, TEXT, boot_id, ),
    F(7, TEXT, version, ),
    F(8, UINT, realtime_ns, ),
    F(9, EACH, fences, COUNT(struct ks_segment, n_fences), .each = &fence_fields),
    F(10, UINT, pid_space, ),
};
#undef F
static const struct ks_fields segment_fields =
    KS_FIELDS(struct ks_segment, "segment", segment_defs);

/* KS_F_JOB; the resolved job's text stands in the same body under this tag. */
#define JOB_TEXT_TAG              15u
#define F(tag, kind, member, ...) KS_DEF(struct ks_job_rec, tag, kind, member, __VA_ARGS__)
static const struct ks_def job_defs[] = {
    F(1, UINT, grid_digest, ), F(2, UINT, condition, ), F(3, UINT, n_problems, ),
    F(4, UINT, n_instances, ), F(5, UINT, n_absent, ),
};
#undef F
static const struct ks_fields job_fields = KS_FIELDS(struct ks_job_rec, "job", job_defs);

/* KS_F_DEVICE */
#define F(tag, kind, member, ...) KS_DEF(struct ks_device_rec, tag, kind, member, __VA_ARGS__)
static const struct ks_def device_defs[] = {
    F(1, UINT, device_id, .required = true),
    F(2, UINT, device_class, ),
    F(3, UINT, rank, ),
    F(4, UINT, local_rank, ),
    F(5, TEXT, host, ),
    F(6, TEXT, text, ),
    F(7, TEXT, backend, ),
    F(8, TEXT, arch, ),
    F(9, TEXT, model, ),
    F(10, TEXT, core_set, ),
    F(11, TEXT, boot_id, ),
    F(12, REAL, idle_switches_per_s, .rule = KS_FINITE),
    F(13, REAL, idle_stolen, .rule = KS_FINITE),
    F(14, TEXT, pci, ),
    F(15, TEXT, numa, ),
    F(16, TEXT, host_domain, ),
    F(17, UINT, n_neighbours, ),
    F(18, UINT, n_units, ),
    F(19, UINT, memory_bytes, ),
    F(20, TEXT, driver, ),
    F(21, UINT, n_memory_neighbours, ),
};
#undef F
static const struct ks_fields device_fields =
    KS_FIELDS(struct ks_device_rec, "device", device_defs);

/* KS_F_BUILD */
#define F(tag, kind, member, ...) KS_DEF(struct ks_build_rec, tag, kind, member, __VA_ARGS__)
static const struct ks_def build_defs[] = {
    F(1, UINT, instance, .required = true),
    F(2, UINT, outcome, .lo = 1, .hi = KS_O_LIMIT - 1, .required = true),
    F(3, UINT, is_cached, .lo = 0, .hi = 1),
    F(4, ID128, build_id, ),
    F(5, ID128, code_id, ),
    F(6, UINT, compile_ns, ),
    F(7, UINT, object_bytes, ),
    F(8, TEXT, reason, ),
    F(9, TEXT, compiler, ),
    F(20, TEXT, code.target, ),
    F(21, INT, code.vgprs, .def = -1),
    F(22, INT, code.agprs, .def = -1),
    F(23, INT, code.sgprs, .def = -1),
    F(24, INT, code.vgpr_spills, .def = -1),
    F(25, INT, code.sgpr_spills, .def = -1),
    F(26, INT, code.lds_bytes, .def = -1),
    F(27, INT, code.scratch_bytes, .def = -1),
    F(28, INT, code.kernarg_bytes, .def = -1),
    F(29, INT, code.wave, .def = -1),
    F(30, INT, code.max_threads, .def = -1),
    F(31, INT, code.code_bytes, .def = -1),
};
#undef F
static const struct ks_fields build_fields = KS_FIELDS(struct ks_build_rec, "build", build_defs);

/* KS_F_START */
#define F(tag, kind, member, ...) KS_DEF(struct ks_start_cell, tag, kind, member, __VA_ARGS__)
static const struct ks_def start_cell_defs[] = {
    F(1, UINT, cell.problem, .required = true),
    F(2, UINT, cell.instance, .required = true),
    F(3, UINT, cell.condition, ),
    F(4, UINT, attempt, .lo = 1, .hi = UINT32_MAX, .required = true),
    F(5, UINT, round, ),
    F(6, UINT, role, .lo = 0, .hi = KS_ROLE_CONTROL),
};
#undef F
static const struct ks_fields start_cell_fields =
    KS_FIELDS(struct ks_start_cell, "start cell", start_cell_defs);

#define F(tag, kind, member, ...) KS_DEF(struct ks_start, tag, kind, member, __VA_ARGS__)
static const struct ks_def start_defs[] = {
    F(1, UINT, lease_id, ),
    F(2, UINT, block_id, ),
    F(3, UINT, device_id, ),
    F(4, UINT, rank, ),
    F(5, UINT, why, ), /* a reason that a later version added is kept as a number */
    F(6, EACH, cells, COUNT(struct ks_start, n_cells), .each = &start_cell_fields),
};
#undef F
static const struct ks_fields start_fields = KS_FIELDS(struct ks_start, "start", start_defs);

/* KS_F_OUTPUT; the bytes stand in the same body under this tag. */
#define OUTPUT_BYTES_TAG          15u
#define F(tag, kind, member, ...) KS_DEF(struct ks_output, tag, kind, member, __VA_ARGS__)
static const struct ks_def output_defs[] = {
    F(1, UINT, cell.problem, .required = true),
    F(2, UINT, cell.instance, .required = true),
    F(3, UINT, cell.condition, ),
    F(4, UINT, attempt, .lo = 1, .hi = UINT32_MAX, .required = true),
    F(5, UINT, round, ),
    F(6, UINT, n_total, ),
};
#undef F
static const struct ks_fields output_fields = KS_FIELDS(struct ks_output, "output", output_defs);

/* KS_F_BLOCK */
#define F(tag, kind, member, ...) KS_DEF(struct ks_block, tag, kind, member, __VA_ARGS__)
static const struct ks_def block_defs[] = {
    F(1, UINT, block_id, .required = true),
    F(2, UINT, problem, ),
    F(3, UINT, device_id, ),
    F(4, UINT, anchor, ),
    F(5, UINT, rank, ),
    F(6, UINT, n_cells, ),
    F(7, UINT, is_closed, .lo = 0, .hi = 1),
    F(8, REAL, open_ns, .rule = KS_FINITE),
    F(9, REAL, close_ns, .rule = KS_FINITE),
    F(10, REAL, open_lo_ns, .rule = KS_FINITE),
    F(11, REAL, open_hi_ns, .rule = KS_FINITE),
    F(12, REAL, close_lo_ns, .rule = KS_FINITE),
    F(13, REAL, close_hi_ns, .rule = KS_FINITE),
    F(14, UINT, opened_ns, ),
    F(15, UINT, closed_ns, ),
};
#undef F
static const struct ks_fields block_fields = KS_FIELDS(struct ks_block, "block", block_defs);

/* KS_F_RACE; a reason to stop that a later version added is kept as a number. */
#define F(tag, kind, member, ...) KS_DEF(struct ks_race_rec, tag, kind, member, __VA_ARGS__)
static const struct ks_def race_defs[] = {
    F(1, UINT, problem, .required = true),
    F(2, UINT, condition, ),
    F(3, UINT, device_id, ),
    F(4, UINT, label, ),
    F(5, UINT, stop, .required = true),
    F(6, UINT, n_rounds, ),
    F(7, UINT, n_members, ),
    F(8, UINT, n_contenders, ),
    F(9, REAL, time_ns, .rule = KS_FINITE),
    F(10, REAL, lo_ns, .rule = KS_FINITE),
    F(11, REAL, hi_ns, .rule = KS_FINITE),
    F(12, REAL, regret_bound, ),
    F(13, UINT, spent_ns, ),
    F(14, UINT, paired.squares, ),
    F(15, UINT, paired.freedom, ),
    F(16, UINT, first.squares, ),
    F(17, UINT, first.freedom, ),
    F(18, UINT, level.squares, ),
    F(19, UINT, level.freedom, ),
    F(20, UINT, i_class, ),
    F(21, UINT, n_seen, ),
    F(22, UINT, statistic, ),
    F(23, UINT, n_losses, ),
    F(24, UINT, n_unclosed, ),
};
#undef F
static const struct ks_fields race_fields = KS_FIELDS(struct ks_race_rec, "race", race_defs);

/* KS_F_EVENT; a kind that a later version added is kept as a number. */
#define F(tag, kind, member, ...) KS_DEF(struct ks_event_rec, tag, kind, member, __VA_ARGS__)
static const struct ks_def event_defs[] = {
    F(1, UINT, kind, .required = true),
    F(2, UINT, rank, ),
    F(3, UINT, realtime_ns, ),
    F(4, TEXT, host, ),
    F(5, TEXT, text, ),
};
#undef F
static const struct ks_fields event_fields = KS_FIELDS(struct ks_event_rec, "event", event_defs);

/* KS_F_PROBLEM, KS_F_INSTANCE, KS_F_HOST */
#define F(tag, kind, member, ...) KS_DEF(struct ks_name_rec, tag, kind, member, __VA_ARGS__)
static const struct ks_def name_defs[] = {
    F(1, UINT, id, .required = true), F(2, INT, count, ), F(3, TEXT, name, ), F(4, TEXT, text, ),
    F(5, UINT, n_absent, ),
};
#undef F
static const struct ks_fields name_fields = KS_FIELDS(struct ks_name_rec, "name", name_defs);

const char *ks_event_text(uint32_t kind)
{
    static const char *const texts[] = {
        [KS_EV_INFO] = "info",
        [KS_EV_RANK_LOST] = "rank_lost",
        [KS_EV_WARDEN_LOST] = "warden_lost",
        [KS_EV_WORKER_DEATH] = "worker_death",
        [KS_EV_QUARANTINE] = "quarantine",
        [KS_EV_RESUMED] = "resumed",
        [KS_EV_SIGNAL] = "signal",
        [KS_EV_CHANGED_KEY] = "changed_key",
        [KS_EV_IDLE_RANK] = "idle_rank",
        [KS_EV_ABANDONED] = "abandoned",
        [KS_EV_MAX_TIME] = "max_time",
        [KS_EV_RANK_SUMMARY] = "rank_summary",
        [KS_EV_OVERDUE] = "overdue",
    };

    return kind < sizeof(texts) / sizeof(texts[0]) ? texts[kind] : "?";
}

void ks_segment_encode(const struct ks_segment *v, struct ks_buf *body_out)
{
    ks_fields_encode(&segment_fields, v, body_out);
}

int ks_segment_decode(const void *body, size_t n, struct ks_segment *out, struct ks_err *err)
{
    return ks_fields_decode(&segment_fields, body, n, out, NULL, err);
}

void ks_job_rec_encode(const struct ks_job_rec *v, const char *text, struct ks_buf *body_out)
{
    ks_fields_encode(&job_fields, v, body_out);
    ks_tag_text(body_out, JOB_TEXT_TAG, text);
}

uint64_t ks_job_rec_n_cells(const struct ks_job_rec *v)
{
    uint64_t pairs = v->n_problems * v->n_instances;

    return pairs > v->n_absent ? pairs - v->n_absent : 0;
}

int ks_job_rec_decode(const void *body, size_t n, struct ks_job_rec *out, char **text_out,
                      struct ks_err *err)
{
    struct ks_field f;
    struct ks_job_rec job;
    char *text;
    int rc = ks_fields_decode(&job_fields, body, n, &job, NULL, err);

    if (rc < 0)
        return rc;
    if (!ks_fields_find(body, n, JOB_TEXT_TAG, &f))
        return ks_fail(err, KS_EFORMAT, "job without its text");
    if (memchr(f.bytes, 0, f.n))
        return ks_fail(err, KS_EFORMAT, "job: its text contains a NUL byte");
    text = malloc(f.n + 1);
    if (!text)
        return ks_fail(err, KS_ENOMEM, "no memory for a job of %zu bytes", f.n);
    ks_field_text(&f, text, f.n + 1);
    *out = job;
    *text_out = text;
    return 0;
}

void ks_device_rec_encode(const struct ks_device_rec *v, struct ks_buf *body_out)
{
    ks_fields_encode(&device_fields, v, body_out);
}

int ks_device_rec_decode(const void *body, size_t n, struct ks_device_rec *out, struct ks_err *err)
{
    return ks_fields_decode(&device_fields, body, n, out, NULL, err);
}

void ks_build_rec_init(struct ks_build_rec *v)
{
    ks_fields_init(&build_fields, v);
}

void ks_build_rec_encode(const struct ks_build_rec *v, struct ks_buf *body_out)
{
    ks_fields_encode(&build_fields, v, body_out);
}

int ks_build_rec_decode(const void *body, size_t n, struct ks_build_rec *out, struct ks_err *err)
{
    return ks_fields_decode(&build_fields, body, n, out, NULL, err);
}

void ks_start_encode(const struct ks_start *v, struct ks_buf *body_out)
{
    ks_fields_encode(&start_fields, v, body_out);
}

int ks_start_decode(const void *body, size_t n, struct ks_start *out, struct ks_err *err)
{
    return ks_fields_decode(&start_fields, body, n, out, NULL, err);
}

void ks_output_encode(const struct ks_output *v, const void *bytes, size_t n_bytes,
                      struct ks_buf *body_out)
{
    size_t drop = n_bytes > KS_OUTPUT_MAX ? n_bytes - KS_OUTPUT_MAX : 0;

    ks_fields_encode(&output_fields, v, body_out);
    ks_tag_bytes(body_out, OUTPUT_BYTES_TAG, n_bytes ? (const char *)bytes + drop : NULL,
                 n_bytes - drop);
}

int ks_output_decode(const void *body, size_t n, struct ks_output *out, const void **bytes_out,
                     size_t *n_bytes_out, struct ks_err *err)
{
    struct ks_field f;
    struct ks_output v;
    int rc = ks_fields_decode(&output_fields, body, n, &v, NULL, err);

    if (rc < 0)
        return rc;
    if (!ks_fields_find(body, n, OUTPUT_BYTES_TAG, &f))
        return ks_fail(err, KS_EFORMAT, "output without bytes");
    if (f.n > KS_OUTPUT_MAX)
        return ks_fail(err, KS_EFORMAT, "output of %zu bytes is longer than fits", f.n);
    *out = v;
    *bytes_out = f.bytes;
    *n_bytes_out = f.n;
    return 0;
}

void ks_block_encode(const struct ks_block *v, struct ks_buf *body_out)
{
    ks_fields_encode(&block_fields, v, body_out);
}

int ks_block_decode(const void *body, size_t n, struct ks_block *out, struct ks_err *err)
{
    return ks_fields_decode(&block_fields, body, n, out, NULL, err);
}

double ks_block_anchor_ns(const struct ks_block *v)
{
    const double open_ns = isfinite(v->open_ns) ? v->open_ns : 0;
    const double close_ns = isfinite(v->close_ns) ? v->close_ns : 0;

    if (open_ns > 0 && close_ns > 0)
        return (open_ns + close_ns) / 2;
    return open_ns > 0 ? open_ns : close_ns;
}

bool ks_race_rec_is_newer(const struct ks_race_rec *a, const struct ks_race_rec *b)
{
    if (a->n_members != b->n_members)
        return a->n_members > b->n_members;
    if (a->n_seen != b->n_seen)
        return a->n_seen > b->n_seen;
    if (a->spent_ns != b->spent_ns)
        return a->spent_ns > b->spent_ns;
    if (a->n_losses + a->n_unclosed != b->n_losses + b->n_unclosed)
        return a->n_losses + a->n_unclosed > b->n_losses + b->n_unclosed;
    if ((a->stop == KS_RACE_REC_CUT) != (b->stop == KS_RACE_REC_CUT))
        return b->stop == KS_RACE_REC_CUT;
    return a->label && !b->label;
}

void ks_race_rec_encode(const struct ks_race_rec *v, struct ks_buf *body_out)
{
    ks_fields_encode(&race_fields, v, body_out);
}

int ks_race_rec_decode(const void *body, size_t n, struct ks_race_rec *out, struct ks_err *err)
{
    return ks_fields_decode(&race_fields, body, n, out, NULL, err);
}

void ks_event_encode(const struct ks_event_rec *v, struct ks_buf *body_out)
{
    ks_fields_encode(&event_fields, v, body_out);
}

int ks_event_decode(const void *body, size_t n, struct ks_event_rec *out, struct ks_err *err)
{
    return ks_fields_decode(&event_fields, body, n, out, NULL, err);
}

void ks_name_rec_encode(const struct ks_name_rec *v, struct ks_buf *body_out)
{
    ks_fields_encode(&name_fields, v, body_out);
}

int ks_name_rec_decode(const void *body, size_t n, struct ks_name_rec *out, struct ks_err *err)
{
    return ks_fields_decode(&name_fields, body, n, out, NULL, err);
}
