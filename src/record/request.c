/* SPDX-License-Identifier: MIT */
/* request.c - the frames between agent and worker: set-up, problem, cell, ready */
#include "record/request.h"
#include "op/op.h"
#include "record/fields.h"

/* struct ks_device_limits: tags 40 to 51 of the set-up and of READY */
#define KS_LIMITS_DEFS(F)                                                                          \
    F(40, REAL, limits.flops_per_s, .rule = KS_FINITE),                                            \
        F(41, UINT, limits.n_levels, .lo = 0, .hi = KS_MEMORY_LEVELS),                             \
        F(42, UINT, limits.level[0].bytes, ),                                                      \
        F(43, REAL, limits.level[0].bytes_per_s, .rule = KS_FINITE),                               \
        F(44, UINT, limits.level[1].bytes, ),                                                      \
        F(45, REAL, limits.level[1].bytes_per_s, .rule = KS_FINITE),                               \
        F(46, UINT, limits.level[2].bytes, ),                                                      \
        F(47, REAL, limits.level[2].bytes_per_s, .rule = KS_FINITE),                               \
        F(48, UINT, limits.level[3].bytes, ),                                                      \
        F(49, REAL, limits.level[3].bytes_per_s, .rule = KS_FINITE),                               \
        F(50, UINT, limits.level[4].bytes, ),                                                      \
        F(51, REAL, limits.level[4].bytes_per_s, .rule = KS_FINITE)
_Static_assert(KS_MEMORY_LEVELS == 5, "KS_LIMITS_DEFS names each level");

/* KS_F_REQ_SETUP */
#define F(tag, kind, member, ...) KS_DEF(struct ks_req_setup, tag, kind, member, __VA_ARGS__)
static const struct ks_def setup_defs[] = {
    F(1, ID128, nonce, .required = true),
    F(2, TEXT, backend, .required = true),
    F(3, TEXT, device, ),
    F(4, UINT, device_id, ),
    F(5, UINT, memory_bytes, ),
    F(6, UINT, rank, ),
    F(7, UINT, is_sentinel, .lo = 0, .hi = 1),
    F(8, REAL, canary_baseline_ns, .rule = KS_FINITE),
    F(20, UINT, measure.warmup_ms, ),
    F(21, UINT, measure.min_samples, .lo = 0, .hi = KS_SAMPLES_MAX),
    F(22, UINT, measure.max_samples, .lo = 0, .hi = KS_SAMPLES_MAX),
    F(23, UINT, measure.max_ms, ),
    F(24, REAL, measure.target_rse, .rule = KS_FINITE),
    F(25, UINT, measure.cache, .lo = 0, .hi = KS_CACHE_COLD),
    F(26, UINT, measure.verify_exact, .lo = 0, .hi = 1),
    F(27, UINT, measure.verify_elementwise, .lo = 0, .hi = 1),
    F(28, UINT, measure.kernel_timeout_ms, ),
    F(29, UINT, measure.min_sample_us, ),
    KS_LIMITS_DEFS(F),
};
#undef F
static const struct ks_fields setup_fields = KS_FIELDS(struct ks_req_setup, "set-up", setup_defs);

/* KS_F_REQ_PROBLEM */
#define F(tag, kind, member, ...) KS_DEF(struct ks_req_problem, tag, kind, member, __VA_ARGS__)
static const struct ks_def problem_defs[] = {
    F(1, UINT, problem, .required = true),
    F(2, TEXT, canonical, .required = true),
    F(3, UINT, references, .lo = 0, .hi = 2),
    F(4, BYTES, judge_digest, ),
    F(5, TEXT, judge_artefact, ),
    F(6, TEXT, judge_entry, ),
    F(7, ID128, key, ),
};
#undef F
static const struct ks_fields problem_fields =
    KS_FIELDS(struct ks_req_problem, "problem request", problem_defs);

/* KS_F_REQ_CELL */
#define F(tag, kind, member, ...) KS_DEF(struct ks_req_cell, tag, kind, member, __VA_ARGS__)
static const struct ks_def cell_defs[] = {
    F(1, UINT, cell.problem, .required = true),
    F(2, UINT, cell.instance, .required = true),
    F(3, UINT, cell.condition, ),
    F(4, UINT, i_cell, ),
    F(5, UINT, attempt, .lo = 1, .hi = UINT32_MAX, .required = true),
    F(6, UINT, round, ),
    F(7, UINT, role, .lo = 0, .hi = KS_ROLE_CONTROL),
    F(8, UINT, position, ),
    F(9, UINT, lease_id, ),
    F(10, UINT, block_id, ),
    F(11, ID128, build_id, ),
    F(12, ID128, code_id, ),
    F(13, BYTES, digest, ),
    F(14, TEXT, artefact, ),
    F(15, TEXT, entry, ),
    F(16, UINT, numerics, .lo = 0, .hi = KS_N_NUMERICS - 1),
    F(20, UINT, threads, ),
    F(21, UINT, n_visit, ),
    F(22, UINT, is_again, .lo = 0, .hi = 1),
};
#undef F
static const struct ks_fields cell_fields =
    KS_FIELDS(struct ks_req_cell, "cell request", cell_defs);

/* KS_F_READY */
#define F(tag, kind, member, ...) KS_DEF(struct ks_ready, tag, kind, member, __VA_ARGS__)
static const struct ks_def ready_defs[] = {
    F(1, ID128, nonce, .required = true),
    F(2, INT, pid, ),
    F(3, INT, cpu, .def = -1),
    F(4, TEXT, device, ),
    F(5, REAL, clock_ns, .rule = KS_FINITE),
    F(6, REAL, canary_ns, .rule = KS_FINITE),
    F(7, UINT, memory_nodes, ),
    F(8, TEXT, locator, ),
    KS_LIMITS_DEFS(F),
};
#undef F
static const struct ks_fields ready_fields = KS_FIELDS(struct ks_ready, "ready", ready_defs);

void ks_req_setup_encode(const struct ks_req_setup *v, struct ks_buf *body_out)
{
    ks_fields_encode(&setup_fields, v, body_out);
}

int ks_req_setup_decode(const void *body, size_t n, struct ks_req_setup *out, struct ks_err *err)
{
    return ks_fields_decode(&setup_fields, body, n, out, NULL, err);
}

void ks_req_problem_encode(const struct ks_req_problem *v, struct ks_buf *body_out)
{
    ks_fields_encode(&problem_fields, v, body_out);
}

int ks_req_problem_decode(const void *body, size_t n, struct ks_req_problem *out,
                          struct ks_err *err)
{
    return ks_fields_decode(&problem_fields, body, n, out, NULL, err);
}

void ks_req_cell_encode(const struct ks_req_cell *v, struct ks_buf *body_out)
{
    ks_fields_encode(&cell_fields, v, body_out);
}

int ks_req_cell_decode(const void *body, size_t n, struct ks_req_cell *out, struct ks_err *err)
{
    return ks_fields_decode(&cell_fields, body, n, out, NULL, err);
}

void ks_ready_encode(const struct ks_ready *v, struct ks_buf *body_out)
{
    ks_fields_encode(&ready_fields, v, body_out);
}

int ks_ready_decode(const void *body, size_t n, struct ks_ready *out, struct ks_err *err)
{
    return ks_fields_decode(&ready_fields, body, n, out, NULL, err);
}
