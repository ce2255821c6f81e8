/* SPDX-License-Identifier: MIT */
#include "record/record.h"
#include "base/order.h"
#include "record/fields.h"
#include "record/frame.h"

/* Mismatch: an element of the list under tag 61. */
#define F(tag, kind, member, ...) KS_DEF(struct ks_mismatch, tag, kind, member, __VA_ARGS__)
static const struct ks_def mismatch_defs[] = {
    F(1, INT, index, ),
    F(2, REAL, got, ), /* as the kernel left it: may be NaN */
    F(3, REAL, want, ),
    F(4, REAL, tolerance, ),
};
#undef F
static const struct ks_fields mismatch_fields =
    KS_FIELDS(struct ks_mismatch, "mismatch", mismatch_defs);

/* KS_F_DONE. Units as in record.h: the name of the member says them. */
#define F(tag, kind, member, ...) KS_DEF(struct ks_record, tag, kind, member, __VA_ARGS__)
#define COUNT(member)             .count = offsetof(struct ks_record, member)
#define READING(tag, at)                                                                           \
    F(tag, REAL, at.clock_mhz, .rule = KS_FINITE, .def = -1),                                      \
        F((tag) + 1, REAL, at.memory_clock_mhz, .rule = KS_FINITE, .def = -1),                     \
        F((tag) + 2, REAL, at.power_w, .rule = KS_FINITE, .def = -1),                              \
        F((tag) + 3, REAL, at.temperature_c, .rule = KS_FINITE, .def = -1),                        \
        F((tag) + 4, REAL, at.busy, .rule = KS_FINITE, .def = -1)
static const struct ks_def record_defs[] = {
    /* what */
    F(1, UINT, cell.problem, .required = true),
    F(2, UINT, cell.instance, .required = true),
    F(3, UINT, cell.condition, ),
    F(4, UINT, attempt, .lo = 1, .hi = UINT32_MAX, .def = 1, .required = true),
    F(5, UINT, round, ),
    F(6, UINT, role, .lo = 0, .hi = KS_ROLE_CONTROL),
    F(7, UINT, outcome, .lo = 1, .hi = KS_O_LIMIT - 1, .required = true),
    F(8, INT, code, ),
    F(9, UINT, flags, ),
    F(10, UINT, phase, .lo = 0, .hi = KS_PH_EXIT),
    F(11, UINT, stop, .lo = 0, .hi = KS_STOP_FAILED),
    F(12, TEXT, reason, ),
    F(13, UINT, alias, ),
    /* where and when */
    F(20, UINT, lease_id, ),
    F(21, UINT, block_id, ),
    F(22, UINT, position, ),
    F(23, UINT, rank, ),
    F(24, UINT, device_id, ),
    F(25, ID128, worker, ),
    F(26, UINT, seq, ),
    F(27, INT, pid, ),
    F(28, INT, cpu, .def = -1),
    F(29, UINT, started_ns, ),
    F(30, ID128, build_id, ),
    F(31, ID128, code_id, ),
    /* timing */
    F(40, UINT, calls, ),
    F(41, REALS, sample_ns, COUNT(n_samples), .rule = KS_POSITIVE),
    F(42, REAL, poison_sample_ns, .rule = KS_FINITE, .def = -1),
    F(43, REAL, clock_ns, .rule = KS_FINITE),
    F(44, UINT, wall_ns, ),
    F(45, UINT, input_ns, ),
    F(46, UINT, reference_ns, ),
    F(47, UINT, load_ns, ),
    F(48, UINT, exact_ns, ),
    F(49, UINT, warmup_ns, ),
    F(50, UINT, timing_ns, ),
    F(51, UINT, verify_ns, ),
    /* verification */
    F(55, UINT, v1, .lo = 0, .hi = 2),
    F(56, UINT, v2, .lo = 0, .hi = 2),
    F(57, REAL, max_error, ), /* NaN or infinite where the output is */
    F(58, UINT, n_wrong, ),
    F(59, UINT, n_zero, ),
    F(60, UINT, n_elements, ),
    F(61, EACH, mismatch, COUNT(n_mismatches), .each = &mismatch_fields),
    F(62, INTS, box_lo, COUNT(n_box)),
    F(63, INTS, box_hi, COUNT(n_box)),
    F(64, UINT, is_bitwise_stable, .lo = 0, .hi = 2),
    F(65, UINT, n_checked, ),
    F(66, REAL, verified_over_timed, .rule = KS_FINITE, .def = -1),
    F(67, REAL, floor_ns, .rule = KS_FINITE, .def = -1),
    F(68, UINT, check_seed, ),
    /* noise */
    F(70, UINT, involuntary_switches, ),
    F(71, UINT, cpu_ns, ),
    F(72, UINT, span_ns, ),
    F(73, REAL, canary_ratio, .rule = KS_FINITE),
    F(74, REAL, disturbance, .rule = KS_FINITE, .def = -1),
    /* abnormal ends */
    F(80, UINT, fault_address, ),
    F(81, UINT, peak_bytes, ),
    F(82, UINT, n_denied, ),
    F(83, INT, denied_call, .def = -1),
    F(84, RAW, tail, COUNT(n_tail)),
    F(85, INT, workspace_bytes, ),
    F(86, UINT, n_printed, ),
    /* the device */
    READING(90, before),
    READING(95, after),
    F(100, REAL, min_clock_mhz, .rule = KS_FINITE, .def = -1),
    F(101, REAL, max_power_w, .rule = KS_FINITE, .def = -1),
    F(102, INT, throttle, .def = -1),
};
#undef F
#undef READING
#undef COUNT
static const struct ks_fields record_fields = KS_FIELDS(struct ks_record, "record", record_defs);

void ks_record_init(struct ks_record *r)
{
    ks_fields_init(&record_fields, r);
}

void ks_record_encode(const struct ks_record *r, struct ks_buf *body_out)
{
    ks_fields_encode(&record_fields, r, body_out);
}

int ks_record_decode(const void *body, size_t n, struct ks_record *r_out, uint32_t *n_unknown,
                     struct ks_err *err)
{
    return ks_fields_decode(&record_fields, body, n, r_out, n_unknown, err);
}

/* The last field of a tag counts. */
void ks_record_set_disturbance(struct ks_buf *body, double disturbance)
{
    ks_tag_f64(body, 74, disturbance);
}

/* In the order of the tags, which are those of record_defs. */
#define F(tag, kind, member, ...) KS_DEF(struct ks_record_head, tag, kind, member, __VA_ARGS__)
static const struct ks_def head_defs[] = {
    F(1, UINT, cell.problem, ),
    F(2, UINT, cell.instance, ),
    F(3, UINT, cell.condition, ),
    F(4, UINT, attempt, .def = 1),
    F(5, UINT, round, ),
    F(6, UINT, role, ),
    F(7, UINT, outcome, ),
    F(9, UINT, flags, ),
    F(23, UINT, rank, ),
    F(24, UINT, device_id, ),
    F(25, ID128, worker, ),
    F(26, UINT, seq, ),
    F(29, UINT, started_ns, ),
    F(31, ID128, code_id, ),
    F(44, UINT, wall_ns, ),
    F(50, UINT, timing_ns, ),
    F(70, UINT, involuntary_switches, ),
    F(71, UINT, cpu_ns, ),
    F(72, UINT, span_ns, ),
    F(73, REAL, canary_ratio, ),
    F(74, REAL, disturbance, .def = -1),
    F(82, UINT, n_denied, ),
    F(86, UINT, n_printed, ),
};
#undef F
static const struct ks_fields head_fields = KS_FIELDS(struct ks_record_head, "record", head_defs);

int ks_record_peek(const void *body, size_t n, struct ks_record_head *out, struct ks_err *err)
{
    return ks_fields_peek(&record_fields, &head_fields, body, n, out, err);
}

void ks_record_head_of(const struct ks_record *r, struct ks_record_head *out)
{
    *out = (struct ks_record_head){
        .cell = r->cell,
        .attempt = r->attempt,
        .round = r->round,
        .role = r->role,
        .outcome = r->outcome,
        .flags = r->flags,
        .rank = r->rank,
        .device_id = r->device_id,
        .worker = r->worker,
        .seq = r->seq,
        .started_ns = r->started_ns,
        .code_id = r->code_id,
        .wall_ns = r->wall_ns,
        .timing_ns = r->timing_ns,
        .involuntary_switches = r->involuntary_switches,
        .cpu_ns = r->cpu_ns,
        .span_ns = r->span_ns,
        .canary_ratio = r->canary_ratio,
        .disturbance = r->disturbance,
        .n_denied = r->n_denied,
        .n_printed = r->n_printed,
    };
}

int ks_cell_compare(const struct ks_cell *a, const struct ks_cell *b)
{
    int d = ks_compare_u64(a->problem, b->problem);

    if (d == 0)
        d = ks_compare_u64(a->instance, b->instance);
    return d ? d : ks_compare_u64(a->condition, b->condition);
}
