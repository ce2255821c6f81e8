/* SPDX-License-Identifier: MIT */
#include "analysis/columns.h"
#include "base/hash.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a row refers to; NULL where the file does not know it. */
struct joined {
    const struct ks_row *row;
    const struct ks_row *code; /* the row itself, or the one an alias points to */
    const struct ks_run_row *run;
    const struct ks_problem_row *problem;
    const struct ks_kernel_row *kernel;
    const struct ks_device_row *device;
    const struct ks_block_row *block;
    const struct ks_store_file *file;
};

enum source { ROW, RUN, PROBLEM, KERNEL, DEVICE, BLOCK, N_SOURCES };
enum kind {
    TEXT,
    HEX,
    U8,
    U32,
    U64,
    I32,
    I64,
    F32,
    F64,
    MS,
    FLAGS,
    STOP,
    PASSED,
    STABLE,
    COMPUTED
};

struct column {
    const char *name;
    enum source source;
    enum kind kind;
    size_t offset;
    bool has_missing;
    double missing; /* this value is no value */
    /* COMPUTED: appends the value, or nothing */
    void (*put)(const struct joined *j, struct ks_buf *out);
};

static bool is_ok(const struct joined *j)
{
    return j->row->outcome == KS_O_OK && j->row->median_ns > 0;
}

static void put_f64(struct ks_buf *out, double v)
{
    char text[32];

    ks_f64_text(v, text);
    ks_buf_printf(out, "%s", text);
}

/* flop/ns = Gflop/s, bytes/ns = GB/s. */
static void put_gflops(const struct joined *j, struct ks_buf *out)
{
    if (is_ok(j) && j->problem && j->problem->flops > 0)
        put_f64(out, j->problem->flops / j->row->median_ns);
}

static void put_gbytes(const struct joined *j, struct ks_buf *out)
{
    if (is_ok(j) && j->problem && j->problem->min_bytes > 0)
        put_f64(out, j->problem->min_bytes / j->row->median_ns);
}

/* Counts that mean nothing unless the check or the timing they belong to took place. */
static void put_n_wrong(const struct joined *j, struct ks_buf *out)
{
    if (j->row->v1 || j->row->v2)
        ks_buf_printf(out, "%" PRIu64, j->row->n_wrong);
}

static void put_n_zero(const struct joined *j, struct ks_buf *out)
{
    if (j->row->v2)
        ks_buf_printf(out, "%" PRIu64, j->row->n_zero);
}

static void put_switches(const struct joined *j, struct ks_buf *out)
{
    if (j->row->span_ns)
        ks_buf_printf(out, "%" PRIu64, j->row->involuntary_switches);
}

static void put_workspace(const struct joined *j, struct ks_buf *out)
{
    if (j->row->device_id)
        ks_buf_printf(out, "%" PRId64, j->row->workspace_bytes);
}

/* How the machine code did, whichever instance it was measured as. */
static void put_code_outcome(const struct joined *j, struct ks_buf *out)
{
    if (j->code)
        ks_buf_printf(out, "%s", j->code->outcome_text);
}

static void put_f32(double v, struct ks_buf *out)
{
    char text[32];

    ks_f32_text(v, text);
    if (v > 0)
        ks_buf_printf(out, "%s", text);
}

static void put_code_time(const struct joined *j, struct ks_buf *out)
{
    if (j->code)
        put_f32(j->code->median_ns, out);
}

static void put_code_over_anchor(const struct joined *j, struct ks_buf *out)
{
    if (j->code)
        put_f32(j->code->time_over_anchor, out);
}

#define COL(name_, source_, kind_, S, member)                                                      \
    {                                                                                              \
        .name = (name_), .source = (source_), .kind = (kind_), .offset = offsetof(S, member)       \
    }
#define OPT(name_, source_, kind_, S, member, missing_)                                            \
    {                                                                                              \
        .name = (name_), .source = (source_), .kind = (kind_), .offset = offsetof(S, member),      \
        .has_missing = true, .missing = (missing_)                                                 \
    }
#define R(name_, kind_, member)       COL(name_, ROW, kind_, struct ks_row, member)
#define RT(name_, member)             OPT(name_, ROW, F32, struct ks_row, member, KS_MISSING)
#define P(name_, kind_, member)       COL(name_, PROBLEM, kind_, struct ks_problem_row, member)
#define PO(name_, kind_, member, no_) OPT(name_, PROBLEM, kind_, struct ks_problem_row, member, no_)
#define DO(name_, put_)                                                                            \
    {                                                                                              \
        .name = (name_), .kind = COMPUTED, .put = (put_)                                           \
    }
#define NO_DIM ((double)KS_MISSING_DIM)

static const struct column before_dims[] = {
    COL("run_id", RUN, TEXT, struct ks_run_row, run_id),
    R("problem_id", HEX, problem_id),
    P("problem_name", TEXT, name),
    P("operator", TEXT, op),
    P("direction", TEXT, direction),
    P("dtype", TEXT, dtype),
    P("layout", TEXT, layout),
};
static const struct column before_traits[] = {
    PO("out_d", I64, out_d, NO_DIM),
    PO("out_h", I64, out_h, NO_DIM),
    PO("out_w", I64, out_w, NO_DIM),
    P("count", I64, count),
    PO("flops", F64, flops, KS_MISSING),
    PO("min_bytes", F64, min_bytes, KS_MISSING),
    R("instance_id", HEX, instance_id),
    COL("instance_name", KERNEL, TEXT, struct ks_kernel_row, name),
    COL("family", KERNEL, TEXT, struct ks_kernel_row, family),
};
static const struct column after_traits[] = {
    /* what its code needs: features like the traits */
    OPT("vgprs", KERNEL, I32, struct ks_kernel_row, code.vgprs, -1),
    OPT("agprs", KERNEL, I32, struct ks_kernel_row, code.agprs, -1),
    OPT("sgprs", KERNEL, I32, struct ks_kernel_row, code.sgprs, -1),
    OPT("vgpr_spills", KERNEL, I32, struct ks_kernel_row, code.vgpr_spills, -1),
    OPT("sgpr_spills", KERNEL, I32, struct ks_kernel_row, code.sgpr_spills, -1),
    OPT("lds_bytes", KERNEL, I64, struct ks_kernel_row, code.lds_bytes, -1),
    OPT("scratch_bytes", KERNEL, I64, struct ks_kernel_row, code.scratch_bytes, -1),
    OPT("kernarg_bytes", KERNEL, I64, struct ks_kernel_row, code.kernarg_bytes, -1),
    OPT("wave", KERNEL, I32, struct ks_kernel_row, code.wave, -1),
    OPT("max_threads", KERNEL, I32, struct ks_kernel_row, code.max_threads, -1),
    OPT("code_bytes", KERNEL, I64, struct ks_kernel_row, code.code_bytes, -1),
    R("condition_id", HEX, condition_id),
    R("outcome", TEXT, outcome_text),
    OPT("code", ROW, I32, struct ks_row, code, KS_MISSING_CODE),
    R("reason", TEXT, reason),
    R("flags", FLAGS, flags),
    R("confirmed", U8, confirmed),
    R("attempt", U32, attempt),
    R("n_attempts", U32, n_attempts),
    R("n_rounds", U32, n_rounds),
    R("stop_reason", STOP, stop),
    R("n_samples", U32, n_samples),
    OPT("calls_per_sample", ROW, U32, struct ks_row, calls, 0),
    RT("time_median_ns", median_ns),
    RT("time_mad_ns", mad_ns),
    RT("time_se_ns", se_ns),
    RT("lo95_ns", lo95_ns),
    RT("hi95_ns", hi95_ns),
    RT("time_min_ns", min_ns),
    RT("time_p10_ns", p10_ns),
    RT("time_p90_ns", p90_ns),
    RT("time_max_ns", max_ns),
    RT("time_mean_ns", mean_ns),
    RT("time_over_anchor", time_over_anchor),
    RT("anchor_open_ns", anchor_open_ns),
    RT("anchor_close_ns", anchor_close_ns),
    OPT("anchor_drift", BLOCK, F64, struct ks_block_row, anchor_drift, KS_MISSING),
    DO("gflops", put_gflops),
    DO("gbytes_per_s", put_gbytes),
    OPT("block_id", ROW, U64, struct ks_row, block_id, 0),
    OPT("position", ROW, U32, struct ks_row, position, (double)KS_NO_ROW),
    OPT("device_id", ROW, HEX, struct ks_row, device_id, 0),
    COL("device_class_id", DEVICE, HEX, struct ks_device_row, rec.device_class),
    COL("device_model", DEVICE, TEXT, struct ks_device_row, rec.model),
    COL("arch", DEVICE, TEXT, struct ks_device_row, rec.arch),
    COL("host", DEVICE, TEXT, struct ks_device_row, rec.host),
    R("rank", U32, rank),
    OPT("cache_neighbours", DEVICE, U32, struct ks_device_row, rec.n_neighbours, 0),
    OPT("memory_neighbours", DEVICE, U32, struct ks_device_row, rec.n_memory_neighbours, 0),
    R("v1", PASSED, v1),
    R("v2", PASSED, v2),
    RT("max_error", max_error),
    DO("n_wrong", put_n_wrong),
    DO("n_zero", put_n_zero),
    OPT("n_elements", ROW, U64, struct ks_row, n_elements, 0),
    R("bitwise_stable", STABLE, bitwise_stable),
    RT("poison_sample_ns", poison_sample_ns),
    OPT("n_checked", ROW, U32, struct ks_row, n_checked, 0),
    RT("wrong_share_hi95", wrong_share_hi95),
    RT("verified_over_timed", verified_over_timed),
    RT("floor_ns", floor_ns),
    RT("clock_ns", clock_ns),
    RT("canary_ratio", canary_ratio),
    RT("disturbance", disturbance),
    RT("clock_before_mhz", before.clock_mhz),
    RT("clock_after_mhz", after.clock_mhz),
    RT("clock_min_mhz", min_clock_mhz),
    RT("power_max_w", max_power_w),
    RT("temperature_after_c", after.temperature_c),
    RT("busy_before", before.busy),
    OPT("throttle", ROW, I64, struct ks_row, throttle, -1),
    DO("involuntary_switches", put_switches),
    OPT("warmup_ms", ROW, MS, struct ks_row, warmup_ns, 0),
    OPT("timing_ms", ROW, MS, struct ks_row, timing_ns, 0),
    OPT("wall_ms", ROW, MS, struct ks_row, wall_ns, 0),
    OPT("peak_bytes", ROW, U64, struct ks_row, peak_bytes, 0),
    DO("workspace_bytes", put_workspace),
    OPT("alias_of", ROW, HEX, struct ks_row, alias_id, 0),
    DO("code_outcome", put_code_outcome),
    DO("code_time_ns", put_code_time),
    DO("code_time_over_anchor", put_code_over_anchor),
    COL("code_id", KERNEL, TEXT, struct ks_kernel_row, code_id),
    COL("build_id", KERNEL, TEXT, struct ks_kernel_row, build_id),
    OPT("started_ns", ROW, U64, struct ks_row, started_ns, 0),
};

struct ks_columns {
    const struct ks_store_file *file;
    const char **traits; /* [n_traits] distinct keys in order of first appearance; borrowed */
    size_t n_traits;
};

void ks_f32_text(double v, char text_out[32])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text_out, 32, "%.*g", digits, v);
        if (strtof(text_out, NULL) == (float)v)
            return;
    }
}

static double number_at(const struct column *c, const void *at)
{
    switch (c->kind) {
    case U8:
        return *(const uint8_t *)at;
    case U32:
        return *(const uint32_t *)at;
    case I32:
        return *(const int32_t *)at;
    case I64:
        return (double)*(const int64_t *)at;
    case U64:
    case HEX:
    case MS:
        return (double)*(const uint64_t *)at;
    default:
        return *(const double *)at;
    }
}

static void put_word(struct ks_buf *out, uint8_t v, const char *no, const char *first,
                     const char *second)
{
    const char *const words[] = { no, first, second };

    ks_buf_printf(out, "%s", v < 3 ? words[v] : "");
}

static void put_value(const struct column *c, const void *at, struct ks_buf *out)
{
    char text[128];

    switch (c->kind) {
    case TEXT:
        ks_csv_put(out, at);
        break;
    case HEX:
        ks_hex64(*(const uint64_t *)at, text);
        ks_buf_printf(out, "%s", text);
        break;
    case U64:
        ks_buf_printf(out, "%" PRIu64, *(const uint64_t *)at);
        break;
    case I64:
        ks_buf_printf(out, "%" PRId64, *(const int64_t *)at);
        break;
    case F32:
        ks_f32_text(*(const double *)at, text);
        ks_buf_printf(out, "%s", text);
        break;
    case F64:
        put_f64(out, *(const double *)at);
        break;
    case MS:
        put_f64(out, (double)*(const uint64_t *)at / 1e6);
        break;
    case FLAGS:
        ks_flags_text(*(const uint32_t *)at, text, sizeof(text));
        ks_buf_printf(out, "%s", text);
        break;
    case STOP:
        if (*(const uint8_t *)at != KS_STOP_NONE)
            ks_buf_printf(out, "%s", ks_stop_text(*(const uint8_t *)at));
        break;
    case PASSED:
        put_word(out, *(const uint8_t *)at, "", "passed", "failed");
        break;
    case STABLE:
        put_word(out, *(const uint8_t *)at, "", "yes", "no");
        break;
    default:
        ks_buf_printf(out, "%.0f", number_at(c, at));
        break;
    }
}

static void put_column(const struct column *c, const struct joined *j, struct ks_buf *out)
{
    const void *sources[N_SOURCES] = { j->row, j->run, j->problem, j->kernel, j->device, j->block };
    const char *at = sources[c->source];

    if (c->kind == COMPUTED) {
        c->put(j, out);
    } else if (at) {
        double missing = c->missing;

        at += c->offset;
        if (!c->has_missing || number_at(c, at) < missing || number_at(c, at) > missing)
            put_value(c, at, out);
    }
    ks_buf_u8(out, ',');
}

static void put_columns(const struct column *c, size_t n, const struct joined *j,
                        struct ks_buf *out)
{
    for (size_t i = 0; i < n; i++)
        put_column(&c[i], j, out);
}

static struct joined join(const struct ks_store_file *f, const struct ks_row *row,
                          const struct ks_row *code)
{
    const struct ks_store_info *n = ks_store_info(f);
    struct joined j = { .row = row, .code = code, .file = f };

    j.run = row->run < n->n_runs ? ks_store_run(f, row->run) : NULL;
    j.problem = row->problem < n->n_problems ? ks_store_problem(f, row->problem) : NULL;
    j.kernel = row->kernel < n->n_kernels ? ks_store_kernel(f, row->kernel) : NULL;
    j.device = row->device < n->n_devices ? ks_store_device(f, row->device) : NULL;
    j.block = row->block < n->n_blocks ? ks_store_block(f, row->block) : NULL;
    return j;
}

#define N(a) (sizeof(a) / sizeof((a)[0]))

void ks_columns_row(const struct ks_columns *c, const struct ks_row *row, const struct ks_row *code,
                    struct ks_buf *out)
{
    struct joined j = join(c->file, row, code);

    put_columns(before_dims, N(before_dims), &j, out);
    for (uint32_t i = 0; i < ks_store_info(c->file)->n_dims; i++) {
        if (j.problem && j.problem->dim[i] != KS_MISSING_DIM)
            ks_buf_printf(out, "%" PRId64, j.problem->dim[i]);
        ks_buf_u8(out, ',');
    }
    put_columns(before_traits, N(before_traits), &j, out);
    for (size_t i = 0; i < c->n_traits; i++) {
        const char *value = ks_store_trait_value(c->file, row->instance_id, c->traits[i]);

        if (value)
            ks_csv_put(out, value);
        ks_buf_u8(out, ',');
    }
    put_columns(after_traits, N(after_traits), &j, out);
    if (ks_buf_ok(out))
        out->data[out->len - 1] = '\n';
}

static void put_names(const struct column *c, size_t n, struct ks_buf *out)
{
    for (size_t i = 0; i < n; i++)
        ks_buf_printf(out, "%s,", c[i].name);
}

void ks_columns_header(const struct ks_columns *c, struct ks_buf *out)
{
    put_names(before_dims, N(before_dims), out);
    for (uint32_t i = 0; i < ks_store_info(c->file)->n_dims; i++)
        ks_buf_printf(out, "%s,", ks_store_dim_name(c->file, i));
    put_names(before_traits, N(before_traits), out);
    for (size_t i = 0; i < c->n_traits; i++)
        ks_buf_printf(out, "trait_%s,", c->traits[i]);
    put_names(after_traits, N(after_traits), out);
    if (ks_buf_ok(out))
        out->data[out->len - 1] = '\n';
}

static bool is_known(const struct ks_columns *c, const char *key)
{
    for (size_t i = 0; i < c->n_traits; i++)
        if (strcmp(c->traits[i], key) == 0)
            return true;
    return false;
}

int ks_columns_create(const struct ks_store_file *f, struct ks_columns **c_out, struct ks_err *err)
{
    struct ks_columns *c = calloc(1, sizeof(*c));

    if (!c)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    c->file = f;
    for (uint32_t i = 0; i < ks_store_info(f)->n_traits; i++) {
        const char *key = ks_store_trait(f, i)->key;
        const char **traits;

        if (is_known(c, key))
            continue;
        traits = realloc(c->traits, (c->n_traits + 1) * sizeof(*traits));
        if (!traits) {
            ks_columns_destroy(c);
            return ks_fail(err, KS_ENOMEM, "out of memory");
        }
        c->traits = traits;
        traits[c->n_traits++] = key;
    }
    *c_out = c;
    return 0;
}

void ks_columns_destroy(struct ks_columns *c)
{
    if (!c)
        return;
    free(c->traits);
    free(c);
}
