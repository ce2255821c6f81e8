/* SPDX-License-Identifier: MIT */
/* record.c - the record of a measurement: encoded, decoded, and its head alone */
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

/* KS_F_DONE: the rows of KS_MEASURED that have a tag. */
#define COUNT(member)                              .count = offsetof(struct ks_record, member)
#define R(tag, kind, path, ...)                    KS_DEF(struct ks_record, tag, kind, path, __VA_ARGS__),
#define T(tag, bytes, name, role, where, doc, ...) R(tag, TEXT, name, __VA_ARGS__)
#define M(tag, rtype, type, name, show, units, missing, role, where, doc, ...)                     \
    R(tag, rtype, name, __VA_ARGS__)
#define P(tag, kind, path, type, name, show, units, missing, role, where, doc, ...)                \
    R(tag, kind, path, __VA_ARGS__)
static const struct ks_def record_defs[] = { KS_MEASURED(M, T, P, R, KS_NOTHING, KS_NOTHING) };
#undef COUNT
#undef R
#undef T
#undef M
#undef P
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

/* The members of the head: in the order of their tags, which are those of record_defs. */
#define HEAD(F)                                                                                    \
    F(1, UINT, cell.problem, )                                                                     \
    F(2, UINT, cell.instance, )                                                                    \
    F(3, UINT, cell.condition, )                                                                   \
    F(4, UINT, attempt, .def = 1)                                                                  \
    F(5, UINT, round_index, )                                                                      \
    F(6, UINT, role, )                                                                             \
    F(7, UINT, outcome, )                                                                          \
    F(9, UINT, outcome_flags, )                                                                    \
    F(21, UINT, block_id, )                                                                        \
    F(22, UINT, position, )                                                                        \
    F(23, UINT, mpi_rank, )                                                                        \
    F(24, UINT, device_id, )                                                                       \
    F(25, ID128, worker, )                                                                         \
    F(26, UINT, seq, )                                                                             \
    F(29, UINT, started_ns, )                                                                      \
    F(31, ID128, code_id, )                                                                        \
    F(44, UINT, wall_ns, )                                                                         \
    F(50, UINT, timing_ns, )                                                                       \
    F(70, UINT, involuntary_switches, )                                                            \
    F(71, UINT, cpu_ns, )                                                                          \
    F(72, UINT, span_ns, )                                                                         \
    F(73, REAL, canary_ratio, )                                                                    \
    F(74, REAL, disturbance, .def = -1)                                                            \
    F(82, UINT, n_denied, )                                                                        \
    F(86, UINT, n_printed, )                                                                       \
    F(103, UINT, n_visit, )
#define F(tag, kind, member, ...) KS_DEF(struct ks_record_head, tag, kind, member, __VA_ARGS__),
static const struct ks_def head_defs[] = { HEAD(F) };
#undef F
static const struct ks_fields head_fields = KS_FIELDS(struct ks_record_head, "record", head_defs);

int ks_record_peek(const void *body, size_t n, struct ks_record_head *out, struct ks_err *err)
{
    return ks_fields_peek(&record_fields, &head_fields, body, n, out, err);
}

void ks_record_head_of(const struct ks_record *r, struct ks_record_head *out)
{
    *out = (struct ks_record_head){ .attempt = 0 };
#define F(tag, kind, member, ...) out->member = r->member;
    HEAD(F)
#undef F
}

int ks_cell_compare(const struct ks_cell *a, const struct ks_cell *b)
{
    int d = ks_compare_u64(a->problem, b->problem);

    if (d == 0)
        d = ks_compare_u64(a->instance, b->instance);
    return d ? d : ks_compare_u64(a->condition, b->condition);
}
