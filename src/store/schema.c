/* SPDX-License-Identifier: MIT */
#include "store/schema.h"
#include "store/rows.h"

#define AT(S, member)   .offset = offsetof(S, member)
#define SIZE(S, member) .cap = sizeof(((S *)0)->member)

/* Name in the file, member of the struct; the macro's last letters tell the type. */
#define TX(name_, S, member)                                                                       \
    {                                                                                              \
        .name = (name_), .type = KS_COL_TEXT, AT(S, member), SIZE(S, member), .units = ""          \
    }
#define NUM(name_, S, member, type_, units_)                                                       \
    {                                                                                              \
        .name = (name_), .type = KS_COL_##type_, AT(S, member), .units = (units_)                  \
    }
#define OPT(name_, S, member, type_, units_, missing_)                                             \
    {                                                                                              \
        .name = (name_), .type = KS_COL_##type_, .fill = KS_FILL_MISSING, AT(S, member),           \
        .missing = (missing_), .units = (units_)                                                   \
    }

#define ROW ((double)KS_NO_ROW)
#define DIM ((double)KS_MISSING_DIM)

#define S struct ks_run_row
static const struct ks_column runs[] = {
    TX("run_id", S, run_id),
    TX("name", S, name),
    TX("dir", S, dir),
    TX("version", S, version),
    NUM("grid_digest", S, grid_digest, U64, ""),
    NUM("condition_id", S, condition_id, U64, ""),
    NUM("n_problems", S, n_problems, U64, ""),
    NUM("n_instances", S, n_instances, U64, ""),
    NUM("n_cells", S, n_cells, U64, ""),
    NUM("n_done", S, n_done, U64, ""),
    NUM("n_pending", S, n_pending, U64, ""),
    NUM("started_ns", S, started_ns, U64, "ns since 1970"),
    NUM("last_ns", S, last_ns, U64, "ns since 1970"),
    NUM("n_segments", S, n_segments, U32, ""),
    NUM("n_frames", S, n_frames, U64, ""),
    NUM("n_records", S, n_records, U64, ""),
    NUM("n_unreadable", S, n_unreadable, U64, ""),
    NUM("n_unknown_frames", S, n_unknown_frames, U64, ""),
    NUM("n_damaged_places", S, n_damaged_places, U64, ""),
    NUM("n_torn_tails", S, n_torn_tails, U64, ""),
    NUM("end_segment", S, end_segment, U32, ""),
    NUM("end_offset", S, end_offset, U64, "bytes"),
    { .name = "job", .type = KS_COL_POINTER, AT(S, job), .units = "" },
};
#undef S

#define S struct ks_host_row
static const struct ks_column hosts[] = {
    NUM("run", S, run, U32, ""),
    NUM("rank", S, rank, U32, ""),
    NUM("segment", S, segment, U32, ""),
    TX("host", S, host),
    TX("key", S, key),
    TX("value", S, value),
};
#undef S

#define S struct ks_device_row
static const struct ks_column devices[] = {
    NUM("run", S, run, U32, ""),
    NUM("device_id", S, rec.device_id, U64, ""),
    NUM("device_class_id", S, rec.device_class, U64, ""),
    NUM("rank", S, rec.rank, U32, ""),
    NUM("local_rank", S, rec.local_rank, U32, ""),
    TX("host", S, rec.host),
    TX("text", S, rec.text),
    TX("backend", S, rec.backend),
    TX("arch", S, rec.arch),
    TX("model", S, rec.model),
    TX("core_set", S, rec.core_set),
    TX("boot_id", S, rec.boot_id),
    OPT("idle_switches_per_s", S, rec.idle_switches_per_s, F64, "1/s", KS_MISSING),
    OPT("idle_stolen", S, rec.idle_stolen, F64, "1", KS_MISSING),
    TX("pci", S, rec.pci),
    TX("numa_nodes", S, rec.numa),
    TX("host_domain", S, rec.host_domain),
    OPT("cache_neighbours", S, rec.n_neighbours, U32, "", 0),
    OPT("memory_neighbours", S, rec.n_memory_neighbours, U32, "", 0),
    OPT("units", S, rec.n_units, U32, "", 0),
    OPT("memory_bytes", S, rec.memory_bytes, U64, "bytes", 0),
    TX("driver", S, rec.driver),
};
#undef S

#define S struct ks_problem_row
static const struct ks_column problems[] = {
    NUM("problem_id", S, problem_id, U64, ""),
    TX("operator", S, op),
    TX("direction", S, direction),
    TX("dtype", S, dtype),
    TX("layout", S, layout),
    TX("name", S, name),
    NUM("count", S, count, I64, ""),
    OPT("flops", S, flops, F64, "flop", KS_MISSING),
    OPT("min_bytes", S, min_bytes, F64, "bytes", KS_MISSING),
    OPT("reduction", S, reduction, I64, "", DIM),
    OPT("out_d", S, out_d, I64, "", DIM),
    OPT("out_h", S, out_h, I64, "", DIM),
    OPT("out_w", S, out_w, I64, "", DIM),
    TX("canonical", S, canonical),
};
#undef S

#define S struct ks_kernel_row
static const struct ks_column kernels[] = {
    NUM("run", S, run, U32, ""),
    NUM("instance_id", S, instance_id, U64, ""),
    NUM("i_instance", S, i_instance, U32, ""),
    TX("name", S, name),
    TX("family", S, family),
    NUM("outcome", S, outcome, U8, ""),
    TX("outcome_text", S, outcome_text),
    TX("reason", S, reason),
    TX("build_id", S, build_id),
    TX("code_id", S, code_id),
    OPT("code_group", S, code_group, U32, "", ROW),
    NUM("is_cached", S, is_cached, U8, ""),
    NUM("compile_ns", S, compile_ns, U64, "ns"),
    NUM("object_bytes", S, object_bytes, U64, "bytes"),
    TX("compiler", S, compiler),
    TX("canonical", S, canonical),
    TX("target", S, code.target),
    OPT("vgprs", S, code.vgprs, I32, "", -1),
    OPT("agprs", S, code.agprs, I32, "", -1),
    OPT("sgprs", S, code.sgprs, I32, "", -1),
    OPT("vgpr_spills", S, code.vgpr_spills, I32, "", -1),
    OPT("sgpr_spills", S, code.sgpr_spills, I32, "", -1),
    OPT("lds_bytes", S, code.lds_bytes, I64, "bytes", -1),
    OPT("scratch_bytes", S, code.scratch_bytes, I64, "bytes", -1),
    OPT("kernarg_bytes", S, code.kernarg_bytes, I64, "bytes", -1),
    OPT("wave", S, code.wave, I32, "", -1),
    OPT("max_threads", S, code.max_threads, I32, "", -1),
    OPT("code_bytes", S, code.code_bytes, I64, "bytes", -1),
};
#undef S

#define S struct ks_trait_row
static const struct ks_column traits[] = {
    NUM("instance_id", S, instance_id, U64, ""),
    TX("family", S, family),
    TX("key", S, key),
    TX("value", S, value),
};
#undef S

#define S struct ks_block_row
static const struct ks_column blocks[] = {
    NUM("run", S, run, U32, ""),
    NUM("block_id", S, rec.block_id, U64, ""),
    NUM("problem_id", S, rec.problem, U64, ""),
    NUM("device_id", S, rec.device_id, U64, ""),
    OPT("anchor_instance_id", S, rec.anchor, U64, "", 0),
    NUM("rank", S, rec.rank, U32, ""),
    NUM("n_cells", S, rec.n_cells, U32, ""),
    NUM("is_closed", S, rec.is_closed, U32, ""),
    OPT("open_ns", S, rec.open_ns, F64, "ns", KS_MISSING),
    OPT("open_lo_ns", S, rec.open_lo_ns, F64, "ns", KS_MISSING),
    OPT("open_hi_ns", S, rec.open_hi_ns, F64, "ns", KS_MISSING),
    OPT("close_ns", S, rec.close_ns, F64, "ns", KS_MISSING),
    OPT("close_lo_ns", S, rec.close_lo_ns, F64, "ns", KS_MISSING),
    OPT("close_hi_ns", S, rec.close_hi_ns, F64, "ns", KS_MISSING),
    OPT("anchor_ns", S, anchor_ns, F64, "ns", KS_MISSING),
    OPT("anchor_drift", S, anchor_drift, F64, "1", KS_MISSING),
    NUM("opened_ns", S, rec.opened_ns, U64, "ns since 1970"),
    OPT("closed_ns", S, rec.closed_ns, U64, "ns since 1970", 0),
};
#undef S

#define S struct ks_event_row
static const struct ks_column events[] = {
    NUM("run", S, run, U32, ""),
    NUM("kind", S, kind, U8, ""),
    TX("kind_text", S, kind_text),
    NUM("rank", S, rec.rank, U32, ""),
    NUM("realtime_ns", S, rec.realtime_ns, U64, "ns since 1970"),
    TX("host", S, rec.host),
    TX("text", S, rec.text),
};
#undef S

/* Columns that /measurements and /attempts share. */
#define S struct ks_row
#define IDENTITY                                                                                   \
    NUM("run", S, run, U32, ""), OPT("problem", S, problem, U32, "", ROW),                         \
        OPT("kernel", S, kernel, U32, "", ROW), OPT("device", S, device, U32, "", ROW),            \
        OPT("block", S, block, U32, "", ROW), NUM("problem_id", S, problem_id, U64, ""),           \
        NUM("instance_id", S, instance_id, U64, ""), NUM("condition_id", S, condition_id, U64, "")
#define OUTCOME                                                                                    \
    NUM("outcome", S, outcome, U8, ""), TX("outcome_text", S, outcome_text),                       \
        OPT("code", S, code, I32, "", KS_MISSING_CODE), NUM("flags", S, flags, U32, ""),           \
        NUM("phase", S, phase, U8, ""), NUM("stop_reason", S, stop, U8, ""),                       \
        TX("reason", S, reason), OPT("alias_instance_id", S, alias_id, U64, "", 0)
#define WHERE                                                                                      \
    OPT("block_id", S, block_id, U64, "", 0), OPT("position", S, position, U32, "", ROW),          \
        NUM("rank", S, rank, U32, ""), OPT("device_id", S, device_id, U64, "", 0),                 \
        NUM("pid", S, pid, I32, ""), OPT("started_ns", S, started_ns, U64, "ns since 1970", 0)
#define TIMING                                                                                     \
    NUM("n_samples", S, n_samples, U32, ""), OPT("calls_per_sample", S, calls, U32, "", 0),        \
        OPT("time_median_ns", S, median_ns, F32, "ns", KS_MISSING),                                \
        OPT("time_se_ns", S, se_ns, F32, "ns", KS_MISSING),                                        \
        OPT("poison_sample_ns", S, poison_sample_ns, F32, "ns", KS_MISSING),                       \
        OPT("clock_ns", S, clock_ns, F32, "ns", KS_MISSING)
#define TRUTH                                                                                      \
    NUM("v1", S, v1, U8, ""), NUM("v2", S, v2, U8, ""),                                            \
        OPT("max_error", S, max_error, F32, "tolerances", KS_MISSING),                             \
        NUM("n_wrong", S, n_wrong, U64, ""), NUM("n_zero", S, n_zero, U64, ""),                    \
        OPT("n_elements", S, n_elements, U64, "", 0),                                              \
        NUM("bitwise_stable", S, bitwise_stable, U8, "")
#define COST                                                                                       \
    NUM("wall_ns", S, wall_ns, U64, "ns"), NUM("warmup_ns", S, warmup_ns, U64, "ns"),              \
        NUM("timing_ns", S, timing_ns, U64, "ns"),                                                 \
        OPT("peak_bytes", S, peak_bytes, U64, "bytes", 0),                                         \
        NUM("workspace_bytes", S, workspace_bytes, I64, "bytes")
#define NOISE                                                                                      \
    NUM("involuntary_switches", S, involuntary_switches, U64, ""),                                 \
        NUM("cpu_ns", S, cpu_ns, U64, "ns"), NUM("span_ns", S, span_ns, U64, "ns"),                \
        OPT("canary_ratio", S, canary_ratio, F32, "1", KS_MISSING)
#define DEVICE                                                                                     \
    OPT("clock_before_mhz", S, before.clock_mhz, F32, "MHz", KS_MISSING),                          \
        OPT("clock_after_mhz", S, after.clock_mhz, F32, "MHz", KS_MISSING),                        \
        OPT("clock_min_mhz", S, min_clock_mhz, F32, "MHz", KS_MISSING),                            \
        OPT("power_max_w", S, max_power_w, F32, "W", KS_MISSING),                                  \
        OPT("temperature_after_c", S, after.temperature_c, F32, "Celsius", KS_MISSING),            \
        OPT("busy_before", S, before.busy, F32, "1", KS_MISSING),                                  \
        OPT("throttle", S, throttle, I64, "", -1)
#define TRUST                                                                                      \
    OPT("n_checked", S, n_checked, U32, "", 0),                                                    \
        OPT("wrong_share_hi95", S, wrong_share_hi95, F32, "1", KS_MISSING),                        \
        OPT("verified_over_timed", S, verified_over_timed, F32, "1", KS_MISSING),                  \
        OPT("floor_ns", S, floor_ns, F32, "ns", KS_MISSING),                                       \
        OPT("disturbance", S, disturbance, F32, "1", KS_MISSING)

static const struct ks_column measurements[] = {
    IDENTITY,
    OUTCOME,
    NUM("attempt", S, attempt, U32, ""),
    NUM("n_attempts", S, n_attempts, U32, ""),
    NUM("n_rounds", S, n_rounds, U32, ""),
    NUM("confirmed", S, confirmed, U8, ""),
    WHERE,
    TIMING,
    OPT("time_mad_ns", S, mad_ns, F32, "ns", KS_MISSING),
    OPT("time_lo95_ns", S, lo95_ns, F32, "ns", KS_MISSING),
    OPT("time_hi95_ns", S, hi95_ns, F32, "ns", KS_MISSING),
    OPT("time_min_ns", S, min_ns, F32, "ns", KS_MISSING),
    OPT("time_p10_ns", S, p10_ns, F32, "ns", KS_MISSING),
    OPT("time_p90_ns", S, p90_ns, F32, "ns", KS_MISSING),
    OPT("time_max_ns", S, max_ns, F32, "ns", KS_MISSING),
    OPT("time_mean_ns", S, mean_ns, F32, "ns", KS_MISSING),
    OPT("anchor_open_ns", S, anchor_open_ns, F32, "ns", KS_MISSING),
    OPT("anchor_close_ns", S, anchor_close_ns, F32, "ns", KS_MISSING),
    OPT("time_over_anchor", S, time_over_anchor, F32, "1", KS_MISSING),
    TRUTH,
    COST,
    NOISE,
    NUM("attempt_row", S, attempt_row, U64, ""),
    DEVICE,
    TRUST,
};

static const struct ks_column attempts[] = {
    IDENTITY,
    NUM("role", S, role, U8, ""),
    NUM("attempt", S, attempt, U32, ""),
    NUM("round", S, round, U32, ""),
    NUM("is_final", S, is_final, U8, ""),
    OUTCOME,
    WHERE,
    NUM("cpu", S, cpu, I32, ""),
    OPT("lease_id", S, lease_id, U64, "", 0),
    OPT("worker", S, worker, U64, "", 0),
    OPT("seq", S, seq, U64, "", 0),
    TIMING,
    NUM("sample_offset", S, sample_offset, U64, ""),
    TRUTH,
    COST,
    NUM("input_ns", S, input_ns, U64, "ns"),
    NUM("reference_ns", S, reference_ns, U64, "ns"),
    NUM("load_ns", S, load_ns, U64, "ns"),
    NUM("exact_ns", S, exact_ns, U64, "ns"),
    NUM("verify_ns", S, verify_ns, U64, "ns"),
    NOISE,
    NUM("journal_segment", S, segment, U32, ""),
    NUM("journal_offset", S, offset, U64, "bytes"),
    DEVICE,
    TRUST,
    OPT("memory_clock_before_mhz", S, before.memory_clock_mhz, F32, "MHz", KS_MISSING),
    OPT("memory_clock_after_mhz", S, after.memory_clock_mhz, F32, "MHz", KS_MISSING),
    OPT("power_before_w", S, before.power_w, F32, "W", KS_MISSING),
    OPT("power_after_w", S, after.power_w, F32, "W", KS_MISSING),
    OPT("temperature_before_c", S, before.temperature_c, F32, "Celsius", KS_MISSING),
    OPT("busy_after", S, after.busy, F32, "1", KS_MISSING),
};
#undef S

#define S struct ks_failure_row
static const struct ks_column failures[] = {
    NUM("attempt_row", S, attempt_row, U64, ""),
    NUM("fault_address", S, fault_address, U64, ""),
    NUM("n_denied", S, n_denied, U32, ""),
    OPT("denied_call", S, denied_call, I32, "", -1),
    NUM("n_wrong", S, n_wrong, U64, ""),
    TX("wrong_box", S, wrong_box),
    TX("tail", S, tail),
};
#undef S

#define S struct ks_mismatch_row
static const struct ks_column mismatches[] = {
    NUM("attempt_row", S, attempt_row, U64, ""),
    NUM("i", S, rank_in_attempt, U32, ""),
    NUM("element", S, index, I64, ""),
    NUM("got", S, got, F64, ""),
    NUM("want", S, want, F64, ""),
    NUM("tolerance", S, tolerance, F64, ""),
};
#undef S

#define TABLE(path_, title_, columns_, S)                                                          \
    {                                                                                              \
        .path = (path_), .title = (title_), .columns = (columns_),                                 \
        .n_columns = sizeof(columns_) / sizeof((columns_)[0]), .row_size = sizeof(S)               \
    }
const struct ks_table_def ks_table_defs[KS_T_COUNT] = {
    [KS_T_RUNS] = TABLE("/runs", "runs gathered here", runs, struct ks_run_row),
    [KS_T_HOSTS] = TABLE("/hosts", "provenance of hosts", hosts, struct ks_host_row),
    [KS_T_DEVICES] = TABLE("/devices", "devices that measured", devices, struct ks_device_row),
    [KS_T_PROBLEMS] = TABLE("/problems", "problems", problems, struct ks_problem_row),
    [KS_T_KERNELS] = TABLE("/kernels", "instances as built", kernels, struct ks_kernel_row),
    [KS_T_TRAITS] =
        TABLE("/kernel_traits/long", "traits, one row each", traits, struct ks_trait_row),
    [KS_T_BLOCKS] = TABLE("/blocks", "blocks and their anchors", blocks, struct ks_block_row),
    [KS_T_EVENTS] = TABLE("/events", "events of the runs", events, struct ks_event_row),
    [KS_T_MEASUREMENTS] =
        TABLE("/measurements", "final view, one row per cell", measurements, struct ks_row),
    [KS_T_ATTEMPTS] = TABLE("/attempts", "every attempt and round", attempts, struct ks_row),
    [KS_T_FAILURES] =
        TABLE("/failures", "what failed attempts left behind", failures, struct ks_failure_row),
    [KS_T_MISMATCHES] =
        TABLE("/mismatches", "first wrong elements", mismatches, struct ks_mismatch_row),
};

size_t ks_col_bytes(uint8_t type)
{
    static const size_t bytes[] = { 1, 4, 8, 4, 8, 8, 4, 0, 0 };

    return bytes[type];
}
