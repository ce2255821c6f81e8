/* SPDX-License-Identifier: MIT */
/* counter_formula.c - FLOPs, bytes and times from counters of NVIDIA's and AMD's GPUs */
/* Sources: NVIDIA Nsight Compute, section files SpeedOfLight_RooflineChart and
 * SpeedOfLight_HierarchicalDoubleRooflineChart; NERSC roofline-on-nvidia-gpus (tensor cores: 512
 * operations per instruction on sm_70 and sm_75, 2048 on sm_80 and sm_86); ROCm rocprof-compute
 * analysis configs "1700_L2_Cache" and roofline/calc_ai (MI200, MI300). */
#include "analysis/trace/counter_formula.h"

#include <stdlib.h>
#include <string.h>

const char *const ks_quantity_names[KS_N_QUANTITIES] = {
    [KS_Q_FLOP_FP16] = "flop_fp16",   [KS_Q_FLOP_FP32] = "flop_fp32",
    [KS_Q_FLOP_FP64] = "flop_fp64",   [KS_Q_FLOP_MATRIX] = "flop_matrix",
    [KS_Q_BYTES_DRAM] = "dram_bytes", [KS_Q_BYTES_L2] = "l2_bytes",
    [KS_Q_BYTES_L1] = "l1_bytes",     [KS_Q_BYTES_LDS] = "lds_bytes",
    [KS_Q_TIME_NS] = "time_ns"
};

/* One summand. Terms with the same quantity and alternative belong together and stand together;
 * all of them must have been collected. The first complete alternative counts. */
struct term {
    uint8_t quantity, alternative;
    uint8_t cc_min, cc_max; /* compute capability; both 0: any, also an unknown one */
    double weight;
    const char *counter, *unit;
};

#define SASS(type) "smsp__sass_thread_inst_executed_op_" type "_pred_on.sum"
#define VALU(kind) "SQ_INSTS_VALU_" kind
#define MOPS(type) "SQ_INSTS_VALU_MFMA_MOPS_" type
#define TENSOR     "sm__inst_executed_pipe_tensor.sum"
static const struct term terms[] = {
    { KS_Q_FLOP_FP16, 0, 0, 0, 2, SASS("hfma"), "inst" },
    { KS_Q_FLOP_FP16, 0, 0, 0, 1, SASS("hmul"), "inst" },
    { KS_Q_FLOP_FP16, 0, 0, 0, 1, SASS("hadd"), "inst" },
    { KS_Q_FLOP_FP16, 1, 0, 0, 64, VALU("ADD_F16"), "" },
    { KS_Q_FLOP_FP16, 1, 0, 0, 64, VALU("MUL_F16"), "" },
    { KS_Q_FLOP_FP16, 1, 0, 0, 128, VALU("FMA_F16"), "" },
    { KS_Q_FLOP_FP16, 1, 0, 0, 64, VALU("TRANS_F16"), "" },
    { KS_Q_FLOP_FP32, 0, 0, 0, 2, SASS("ffma"), "inst" },
    { KS_Q_FLOP_FP32, 0, 0, 0, 1, SASS("fmul"), "inst" },
    { KS_Q_FLOP_FP32, 0, 0, 0, 1, SASS("fadd"), "inst" },
    { KS_Q_FLOP_FP32, 1, 0, 0, 64, VALU("ADD_F32"), "" },
    { KS_Q_FLOP_FP32, 1, 0, 0, 64, VALU("MUL_F32"), "" },
    { KS_Q_FLOP_FP32, 1, 0, 0, 128, VALU("FMA_F32"), "" },
    { KS_Q_FLOP_FP32, 1, 0, 0, 64, VALU("TRANS_F32"), "" },
    { KS_Q_FLOP_FP64, 0, 0, 0, 2, SASS("dfma"), "inst" },
    { KS_Q_FLOP_FP64, 0, 0, 0, 1, SASS("dmul"), "inst" },
    { KS_Q_FLOP_FP64, 0, 0, 0, 1, SASS("dadd"), "inst" },
    { KS_Q_FLOP_FP64, 1, 0, 0, 64, VALU("ADD_F64"), "" },
    { KS_Q_FLOP_FP64, 1, 0, 0, 64, VALU("MUL_F64"), "" },
    { KS_Q_FLOP_FP64, 1, 0, 0, 128, VALU("FMA_F64"), "" },
    { KS_Q_FLOP_FP64, 1, 0, 0, 64, VALU("TRANS_F64"), "" },
    { KS_Q_FLOP_MATRIX, 0, 70, 75, 512, TENSOR, "inst" },
    { KS_Q_FLOP_MATRIX, 1, 80, 86, 2048, TENSOR, "inst" },
    { KS_Q_FLOP_MATRIX, 2, 0, 0, 512, MOPS("F16"), "" },
    { KS_Q_FLOP_MATRIX, 2, 0, 0, 512, MOPS("BF16"), "" },
    { KS_Q_FLOP_MATRIX, 2, 0, 0, 512, MOPS("F32"), "" },
    { KS_Q_FLOP_MATRIX, 2, 0, 0, 512, MOPS("F64"), "" },
    { KS_Q_BYTES_DRAM, 0, 0, 0, 1, "dram__bytes.sum", "byte" },
    { KS_Q_BYTES_DRAM, 1, 0, 0, 1, "dram__bytes_read.sum", "byte" },
    { KS_Q_BYTES_DRAM, 1, 0, 0, 1, "dram__bytes_write.sum", "byte" },
    { KS_Q_BYTES_DRAM, 2, 0, 0, 64, "TCC_EA_RDREQ_sum", "" }, /* MI200 */
    { KS_Q_BYTES_DRAM, 2, 0, 0, -32, "TCC_EA_RDREQ_32B_sum", "" },
    { KS_Q_BYTES_DRAM, 2, 0, 0, 32, "TCC_EA_WRREQ_sum", "" },
    { KS_Q_BYTES_DRAM, 2, 0, 0, 32, "TCC_EA_WRREQ_64B_sum", "" },
    { KS_Q_BYTES_DRAM, 3, 0, 0, 64, "TCC_BUBBLE_sum", "" }, /* MI300: 128 - 64 */
    { KS_Q_BYTES_DRAM, 3, 0, 0, 64, "TCC_EA0_RDREQ_sum", "" },
    { KS_Q_BYTES_DRAM, 3, 0, 0, -32, "TCC_EA0_RDREQ_32B_sum", "" },
    { KS_Q_BYTES_DRAM, 3, 0, 0, 32, "TCC_EA0_WRREQ_sum", "" },
    { KS_Q_BYTES_DRAM, 3, 0, 0, 32, "TCC_EA0_WRREQ_64B_sum", "" },
    { KS_Q_BYTES_L2, 0, 0, 0, 1, "lts__t_bytes.sum", "byte" },
    { KS_Q_BYTES_L2, 1, 0, 0, 32, "lts__t_sectors.sum", "sector" },
    { KS_Q_BYTES_L2, 2, 0, 0, 64, "TCP_TCC_READ_REQ_sum", "" },
    { KS_Q_BYTES_L2, 2, 0, 0, 64, "TCP_TCC_WRITE_REQ_sum", "" },
    { KS_Q_BYTES_L2, 2, 0, 0, 64, "TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "" },
    { KS_Q_BYTES_L2, 2, 0, 0, 64, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", "" },
    { KS_Q_BYTES_L1, 0, 0, 0, 1, "l1tex__t_bytes.sum", "byte" },
    { KS_Q_BYTES_L1, 1, 0, 0, 64, "TCP_TOTAL_CACHE_ACCESSES_sum", "" },
    { KS_Q_BYTES_LDS, 0, 0, 0, 128, "SQ_LDS_IDX_ACTIVE", "" }, /* 32 banks of 4 bytes */
    { KS_Q_BYTES_LDS, 0, 0, 0, -128, "SQ_LDS_BANK_CONFLICT", "" },
    { KS_Q_TIME_NS, 0, 0, 0, 1, "gpu__time_duration.sum", "ns" },
    { KS_Q_TIME_NS, 1, 0, 0, 1, "GPU Speed Of Light Throughput/Duration", "ns" },
};
enum { N_TERMS = sizeof(terms) / sizeof(terms[0]) };

/* Time and traffic that the profiler tells only as rates. */
static const char cycles[] = "sm__cycles_elapsed.avg",
                  clock_rate[] = "sm__cycles_elapsed.avg.per_second",
                  dram_rate[] = "Memory Workload Analysis/Memory Throughput";

struct ks_formulas {
    const struct ks_counter_table *t;
    uint32_t column[N_TERMS]; /* KS_TEXT_NONE: not collected */
    uint32_t cycles, clock_rate, dram_rate;
};

int ks_formulas_create(const struct ks_counter_table *t, struct ks_formulas **out,
                       struct ks_err *err)
{
    struct ks_formulas *f = calloc(1, sizeof(*f));

    if (!f)
        return ks_fail(err, KS_ENOMEM, "out of memory for the formulas of counters");
    f->t = t;
    for (size_t i = 0; i < N_TERMS; i++)
        f->column[i] = ks_counter_find(t, terms[i].counter, terms[i].unit);
    f->cycles = ks_counter_find(t, cycles, "cycle");
    f->clock_rate = ks_counter_find(t, clock_rate, "hz");
    if (f->clock_rate == KS_TEXT_NONE)
        f->clock_rate = ks_counter_find(t, clock_rate, "cycle/s");
    f->dram_rate = ks_counter_find(t, dram_rate, "byte/s");
    *out = f;
    return 0;
}

void ks_formulas_destroy(struct ks_formulas *f)
{
    free(f);
}

static bool counter(const struct ks_formulas *f, uint32_t row, uint32_t column, double *out)
{
    return column != KS_TEXT_NONE && ks_counter_get(f->t, row, column, out);
}

static bool is_together(const struct term *a, const struct term *b)
{
    return a->quantity == b->quantity && a->alternative == b->alternative;
}

/* The alternative that begins at term i: its sum; *next_out is the term behind it. */
static bool alternative(const struct ks_formulas *f, uint32_t row, size_t i, size_t *next_out,
                        double *sum_out)
{
    const struct term *first = &terms[i];
    const uint32_t cc = f->t->rows[row].cc;
    bool is_complete = first->cc_max == 0 || (cc >= first->cc_min && cc <= first->cc_max);
    double sum = 0, value = 0;

    for (; i < N_TERMS && is_together(first, &terms[i]); i++) {
        is_complete = is_complete && counter(f, row, f->column[i], &value);
        sum += terms[i].weight * value;
    }
    *next_out = i;
    *sum_out = sum;
    return is_complete;
}

static void find_time(const struct ks_formulas *f, uint32_t row, struct ks_quantities *q)
{
    const struct ks_counter_row *r = &f->t->rows[row];
    double n, rate;

    if (r->has_time) {
        q->value[KS_Q_TIME_NS] = r->time_ns;
        q->has[KS_Q_TIME_NS] = true;
    }
    if (!q->has[KS_Q_TIME_NS] && counter(f, row, f->cycles, &n) &&
        counter(f, row, f->clock_rate, &rate) && rate > 0) {
        q->value[KS_Q_TIME_NS] = n / rate * 1e9;
        q->has[KS_Q_TIME_NS] = true;
    }
}

void ks_formulas_row(const struct ks_formulas *f, uint32_t row, struct ks_quantities *out)
{
    struct ks_quantities q = { 0 };
    double sum, rate;
    size_t next;

    for (size_t i = 0; i < N_TERMS; i = next) {
        const uint8_t at = terms[i].quantity;

        if (alternative(f, row, i, &next, &sum) && !q.has[at]) {
            q.value[at] = sum;
            q.has[at] = true;
        }
    }
    find_time(f, row, &q);
    if (!q.has[KS_Q_BYTES_DRAM] && q.has[KS_Q_TIME_NS] && counter(f, row, f->dram_rate, &rate)) {
        q.value[KS_Q_BYTES_DRAM] = rate * q.value[KS_Q_TIME_NS] / 1e9;
        q.has[KS_Q_BYTES_DRAM] = true;
    }
    for (int i = KS_Q_FLOP_FP16; i <= KS_Q_FLOP_MATRIX; i++) {
        q.flop += q.has[i] ? q.value[i] : 0;
        q.has_flop |= q.has[i];
    }
    *out = q;
}
