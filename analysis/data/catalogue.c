/* SPDX-License-Identifier: MIT */
#include "analysis/data/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* /measurements: name, unit, name in the file, further members. */
#define ROW(name_, unit_, file_, ...)                                                              \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .from = KS_FROM_ROW, .file = (file_), __VA_ARGS__        \
    }
#define SAME(name_, unit_)     ROW(name_, unit_, name_, .show = KS_AS_NUMBER)
#define FLOAT(name_, unit_)    ROW(name_, unit_, name_, .show = KS_AS_F32)
#define UNSIGNED(name_, unit_) ROW(name_, unit_, name_, .show = KS_AS_UNSIGNED)
#define ID(name_, file_)       ROW(name_, "", file_, .show = KS_AS_HEX)
#define MS(name_, file_)       ROW(name_, "ms", file_, .is_ms = true)

/* Joined tables: name, unit, table, how the member is held, struct and member. */
#define AT(S, member) .offset = offsetof(S, member)
#define TEXT(name_, from_, S, member)                                                              \
    {                                                                                              \
        .name = (name_), .unit = "", .from = KS_FROM_##from_, .type = KS_DF_TEXT,                  \
        .held = KS_HELD_TEXT, AT(S, member)                                                        \
    }
#define NUMBER(name_, unit_, from_, held_, S, member, ...)                                         \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .from = KS_FROM_##from_, .type = KS_DF_I64,              \
        .held = KS_HELD_##held_, AT(S, member), __VA_ARGS__                                        \
    }
#define REAL(name_, unit_, from_, S, member)                                                       \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .from = KS_FROM_##from_, .type = KS_DF_F64,              \
        .held = KS_HELD_F64, AT(S, member), .has_missing = true, .missing = KS_MISSING             \
    }
#define NEEDS(v) .has_missing = true, .missing = (v)
#define CODE(name_, unit_, held_, member)                                                          \
    NUMBER(name_, unit_, KERNEL, held_, struct ks_kernel_row, member, NEEDS(-1))
#define DERIVED(name_, unit_, type_, show_)                                                        \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .from = KS_FROM_LEARN, .type = KS_DF_##type_,            \
        .show = (show_)                                                                            \
    }
#define NO_DIM ((double)KS_MISSING_DIM)

/* The columns of training.csv, but for dimensions and traits, which go before the columns named
 * below. */
static const struct ks_source training[] = {
    TEXT("run_id", RUN, struct ks_run_row, run_id),
    ID("problem_id", "problem_id"),
    TEXT("problem_name", PROBLEM, struct ks_problem_row, name),
    TEXT("operator", PROBLEM, struct ks_problem_row, op),
    TEXT("direction", PROBLEM, struct ks_problem_row, direction),
    TEXT("dtype", PROBLEM, struct ks_problem_row, dtype),
    TEXT("layout", PROBLEM, struct ks_problem_row, layout),
    NUMBER("out_d", "", PROBLEM, I64, struct ks_problem_row, out_d, NEEDS(NO_DIM)),
    NUMBER("out_h", "", PROBLEM, I64, struct ks_problem_row, out_h, NEEDS(NO_DIM)),
    NUMBER("out_w", "", PROBLEM, I64, struct ks_problem_row, out_w, NEEDS(NO_DIM)),
    NUMBER("count", "", PROBLEM, I64, struct ks_problem_row, count, .has_missing = false),
    REAL("flops", "flop", PROBLEM, struct ks_problem_row, flops),
    REAL("min_bytes", "bytes", PROBLEM, struct ks_problem_row, min_bytes),
    ID("instance_id", "instance_id"),
    TEXT("instance_name", KERNEL, struct ks_kernel_row, name),
    TEXT("family", KERNEL, struct ks_kernel_row, family),
    /* what its code needs: features like the traits */
    CODE("vgprs", "", I32, code.vgprs),
    CODE("agprs", "", I32, code.agprs),
    CODE("sgprs", "", I32, code.sgprs),
    CODE("vgpr_spills", "", I32, code.vgpr_spills),
    CODE("sgpr_spills", "", I32, code.sgpr_spills),
    CODE("lds_bytes", "bytes", I64, code.lds_bytes),
    CODE("scratch_bytes", "bytes", I64, code.scratch_bytes),
    CODE("kernarg_bytes", "bytes", I64, code.kernarg_bytes),
    CODE("wave", "", I32, code.wave),
    CODE("max_threads", "", I32, code.max_threads),
    CODE("code_bytes", "bytes", I64, code.code_bytes),
    ID("condition_id", "condition_id"),
    ROW("outcome", "", "outcome_text", .show = KS_AS_NUMBER),
    SAME("code", ""),
    SAME("reason", ""),
    ROW("flags", "", "flags", .spelled = KS_SPELLED_FLAGS),
    SAME("confirmed", ""),
    SAME("attempt", ""),
    SAME("n_attempts", ""),
    SAME("n_rounds", ""),
    ROW("stop_reason", "", "stop_reason", .spelled = KS_SPELLED_STOP),
    SAME("n_samples", ""),
    SAME("calls_per_sample", ""),
    FLOAT("time_median_ns", "ns"),
    FLOAT("time_mad_ns", "ns"),
    FLOAT("time_se_ns", "ns"),
    ROW("lo95_ns", "ns", "time_lo95_ns", .show = KS_AS_F32),
    ROW("hi95_ns", "ns", "time_hi95_ns", .show = KS_AS_F32),
    FLOAT("time_min_ns", "ns"),
    FLOAT("time_p10_ns", "ns"),
    FLOAT("time_p90_ns", "ns"),
    FLOAT("time_max_ns", "ns"),
    FLOAT("time_mean_ns", "ns"),
    FLOAT("time_over_anchor", "1"),
    FLOAT("anchor_open_ns", "ns"),
    FLOAT("anchor_close_ns", "ns"),
    REAL("anchor_drift", "1", BLOCK, struct ks_block_row, anchor_drift),
    DERIVED("gflops", "Gflop/s", F64, KS_AS_NUMBER),
    DERIVED("gbytes_per_s", "GB/s", F64, KS_AS_NUMBER),
    UNSIGNED("block_id", ""),
    SAME("position", ""),
    ID("device_id", "device_id"),
    NUMBER("device_class_id", "", DEVICE, U64, struct ks_device_row, rec.device_class,
           .show = KS_AS_HEX),
    TEXT("device_model", DEVICE, struct ks_device_row, rec.model),
    TEXT("arch", DEVICE, struct ks_device_row, rec.arch),
    TEXT("host", DEVICE, struct ks_device_row, rec.host),
    SAME("rank", ""),
    NUMBER("cache_neighbours", "", DEVICE, U32, struct ks_device_row, rec.n_neighbours, NEEDS(0)),
    NUMBER("memory_neighbours", "", DEVICE, U32, struct ks_device_row, rec.n_memory_neighbours,
           NEEDS(0)),
    ROW("v1", "", "v1", .spelled = KS_SPELLED_CHECK),
    ROW("v2", "", "v2", .spelled = KS_SPELLED_CHECK),
    FLOAT("max_error", "tolerances"),
    ROW("n_wrong", "", "n_wrong", .show = KS_AS_UNSIGNED, .when = KS_IF_CHECKED),
    ROW("n_zero", "", "n_zero", .show = KS_AS_UNSIGNED, .when = KS_IF_ELEMENTWISE),
    UNSIGNED("n_elements", ""),
    ROW("bitwise_stable", "", "bitwise_stable", .spelled = KS_SPELLED_YES_NO),
    FLOAT("poison_sample_ns", "ns"),
    SAME("n_checked", ""),
    FLOAT("wrong_share_hi95", "1"),
    FLOAT("verified_over_timed", "1"),
    FLOAT("floor_ns", "ns"),
    FLOAT("clock_ns", "ns"),
    FLOAT("canary_ratio", "1"),
    FLOAT("disturbance", "1"),
    FLOAT("clock_before_mhz", "MHz"),
    FLOAT("clock_after_mhz", "MHz"),
    FLOAT("clock_min_mhz", "MHz"),
    FLOAT("power_max_w", "W"),
    FLOAT("temperature_after_c", "Celsius"),
    FLOAT("busy_before", "1"),
    SAME("throttle", ""),
    ROW("involuntary_switches", "", "involuntary_switches", .show = KS_AS_UNSIGNED,
        .when = KS_IF_TIMED),
    MS("warmup_ms", "warmup_ns"),
    MS("timing_ms", "timing_ns"),
    MS("wall_ms", "wall_ns"),
    UNSIGNED("peak_bytes", "bytes"),
    ROW("workspace_bytes", "bytes", "workspace_bytes", .when = KS_IF_RUN),
    ID("alias_of", "alias_instance_id"),
    DERIVED("code_outcome", "", TEXT, KS_AS_NUMBER),
    DERIVED("code_time_ns", "ns", F64, KS_AS_F32),
    DERIVED("code_time_over_anchor", "1", F64, KS_AS_F32),
    TEXT("code_id", KERNEL, struct ks_kernel_row, code_id),
    TEXT("build_id", KERNEL, struct ks_kernel_row, build_id),
    ROW("started_ns", "ns since 1970", "started_ns", .show = KS_AS_UNSIGNED),
};
#define DIMS_BEFORE   "out_d"
#define TRAITS_BEFORE "vgprs"

/* What training.csv does not show and analysis/learn or a report needs. */
static const struct ks_source others[] = {
    ROW("run_row", "", "run", .show = KS_AS_NUMBER),
    ROW("problem_row", "", "problem", .show = KS_AS_NUMBER),
    ROW("kernel_row", "", "kernel", .show = KS_AS_NUMBER),
    ROW("device_row", "", "device", .show = KS_AS_NUMBER),
    ROW("block_row", "", "block", .show = KS_AS_NUMBER),
    ROW("outcome_number", "", "outcome", .show = KS_AS_NUMBER),
    ROW("flag_bits", "", "flags", .show = KS_AS_NUMBER),
    ROW("elementwise_check", "", "v2", .show = KS_AS_NUMBER),
    REAL("anchor_ns", "ns", BLOCK, struct ks_block_row, anchor_ns),
    TEXT("problem_canonical", PROBLEM, struct ks_problem_row, canonical),
    NUMBER("has_problem", "", PROBLEM, U32, struct ks_problem_row, has_problem,
           .has_missing = false),
    NUMBER("problem_key", "", PROBLEM, U64, struct ks_problem_row, problem_id, .show = KS_AS_HEX),
    NUMBER("kernel_key", "", KERNEL, U64, struct ks_kernel_row, instance_id, .show = KS_AS_HEX),
    NUMBER("config_order", "", KERNEL, U32, struct ks_kernel_row, i_instance, .has_missing = false),
    NUMBER("code_group", "", KERNEL, U32, struct ks_kernel_row, code_group,
           NEEDS((double)KS_NO_ROW)),
    NUMBER("device_key", "", DEVICE, U64, struct ks_device_row, rec.device_id, .show = KS_AS_HEX),
    NUMBER("device_rank", "", DEVICE, U32, struct ks_device_row, rec.rank, .has_missing = false),
    TEXT("device_text", DEVICE, struct ks_device_row, rec.text),
    TEXT("core_set", DEVICE, struct ks_device_row, rec.core_set),
};

#define N(a) (sizeof(a) / sizeof((a)[0]))

static const struct ks_source *find_in(const struct ks_source *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

const struct ks_source *ks_source_find(const char *name)
{
    const struct ks_source *s = find_in(training, N(training), name);

    return s ? s : find_in(others, N(others), name);
}

/* ---- names ---- */

void ks_names_release(struct ks_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    *names = (struct ks_names){ 0 };
}

int ks_names_add(struct ks_names *names, const char *name, struct ks_err *err)
{
    char *copy;

    if (names->n == names->cap) {
        size_t cap = names->cap ? 2 * names->cap : 64;
        char **at = realloc(names->at, cap * sizeof(*at));

        if (!at)
            return ks_fail(err, KS_ENOMEM, "out of memory");
        names->at = at;
        names->cap = cap;
    }
    copy = strdup(name);
    if (!copy)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    names->at[names->n++] = copy;
    return 0;
}

int ks_names_need(struct ks_names *names, const char *name, struct ks_err *err)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return 0;
    return ks_names_add(names, name, err);
}

static int add_dims(const struct ks_store_file *f, struct ks_names *names, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < ks_store_info(f)->n_dims; i++)
        rc = ks_names_add(names, ks_store_dim_name(f, i), err);
    return rc;
}

/* Distinct keys in order of first appearance. */
static int add_traits(const struct ks_store_file *f, struct ks_names *names, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < ks_store_info(f)->n_traits; i++) {
        char name[sizeof(KS_TRAIT_PREFIX) + sizeof(ks_store_trait(f, i)->key)];

        snprintf(name, sizeof(name), KS_TRAIT_PREFIX "%s", ks_store_trait(f, i)->key);
        rc = ks_names_need(names, name, err);
    }
    return rc;
}

int ks_training_columns(const struct ks_store_file *f, struct ks_names *names_out,
                        struct ks_err *err)
{
    struct ks_names names = { 0 };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N(training); i++) {
        if (strcmp(training[i].name, DIMS_BEFORE) == 0)
            rc = add_dims(f, &names, err);
        if (rc == 0 && strcmp(training[i].name, TRAITS_BEFORE) == 0)
            rc = add_traits(f, &names, err);
        if (rc == 0)
            rc = ks_names_add(&names, training[i].name, err);
    }
    if (rc < 0)
        ks_names_release(&names);
    else
        *names_out = names;
    return rc;
}
