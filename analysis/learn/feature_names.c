/* SPDX-License-Identifier: MIT */
/* feature_names.c - name, unit and meaning of what feature_core.h computes. */
#include "analysis/learn/features_impl.h"

#include <stdio.h>

struct row {
    const char *name, *unit, *meaning;
};

static const struct row quantities[KS_FX_N_QUANTITIES] = {
    [KS_FX_DIRECTION] = { "direction", "", "number of the direction" },
    [KS_FX_DTYPE] = { "dtype", "", "number of the data type" },
    [KS_FX_LAYOUT] = { "layout", "", "number of the layout" },
    [KS_FX_M] = { "m", "1", "rows of the matrix product, per group" },
    [KS_FX_N] = { "n", "1", "columns of the matrix product, per group" },
    [KS_FX_K] = { "k", "1", "terms of a sum of the matrix product" },
    [KS_FX_GROUPS] = { "groups", "1", "groups, or the batch of a matrix product" },
    [KS_FX_C] = { "c_per_group", "1", "input channels per group" },
    [KS_FX_F] = { "k_per_group", "1", "output channels per group" },
    [KS_FX_OUT_D] = { "out_d", "1", "output depth" },
    [KS_FX_OUT_H] = { "out_h", "1", "output height" },
    [KS_FX_OUT_W] = { "out_w", "1", "output width" },
    [KS_FX_TAPS] = { "taps", "1", "filter positions" },
    [KS_FX_FLOPS] = { "flops", "flop", "2 per multiply-add" },
    [KS_FX_BYTES_IN] = { "bytes_in", "bytes", "size of the input, or of matrix A" },
    [KS_FX_BYTES_WEIGHTS] = { "bytes_weights", "bytes", "size of the weights, or of matrix B" },
    [KS_FX_BYTES_OUT] = { "bytes_out", "bytes", "size of the output" },
    [KS_FX_BYTES] = { "bytes", "bytes", "size of all operands" },
    [KS_FX_INTENSITY] = { "intensity", "flop/byte", "flops over bytes" },
    [KS_FX_ALIGN_C] = { "align_c", "1", "largest power of two up to 64 that divides c_per_group" },
    [KS_FX_ALIGN_F] = { "align_k", "1", "largest power of two up to 64 that divides k_per_group" },
    [KS_FX_ALIGN_W] = { "align_w", "1", "largest power of two up to 64 that divides out_w" },
    [KS_FX_PAD_C8] = { "pad8_c", "1", "c_per_group padded to 8 / c_per_group" },
    [KS_FX_PAD_C16] = { "pad16_c", "1", "c_per_group padded to 16 / c_per_group" },
    [KS_FX_PAD_C32] = { "pad32_c", "1", "c_per_group padded to 32 / c_per_group" },
    [KS_FX_PAD_F8] = { "pad8_k", "1", "k_per_group padded to 8 / k_per_group" },
    [KS_FX_PAD_F16] = { "pad16_k", "1", "k_per_group padded to 16 / k_per_group" },
    [KS_FX_PAD_F32] = { "pad32_k", "1", "k_per_group padded to 32 / k_per_group" },
    [KS_FX_SHAPE] = { "m_over_n", "1", "m / n" },
    [KS_FX_CHANNELS] = { "c_over_k", "1", "c_per_group / k_per_group" },
    [KS_FX_REACH] = { "border", "1", "padding / (padding + dilated filter), largest axis" },
    [KS_FX_IS_POINTWISE] = { "is_pointwise", "", "1: one tap and no padding" },
    [KS_FX_IS_DEPTHWISE] = { "is_depthwise", "", "1: several groups of one input channel" },
    [KS_FX_IS_UNIT] = { "is_unit_step", "", "1: no stride and no dilation above 1" },
};

static const struct row pairs[KS_FX_N_PAIRS] = {
    [KS_FX_TILES_M] = { "tiles_m", "1", "tiles along m" },
    [KS_FX_TILES_N] = { "tiles_n", "1", "tiles along n" },
    [KS_FX_STEPS_K] = { "steps_k", "1", "steps along k of one part of the sum" },
    [KS_FX_TILES] = { "tiles", "1", "tiles of all groups and parts of the sum" },
    [KS_FX_WAVES] = { "waves", "1", "tiles over units and resident blocks" },
    [KS_FX_TAIL] = { "tail", "1", "whole waves / waves" },
    [KS_FX_WASTE_M] = { "waste_m", "1", "rows of all tiles / m" },
    [KS_FX_WASTE_N] = { "waste_n", "1", "columns of all tiles / n" },
    [KS_FX_WASTE_K] = { "waste_k", "1", "terms of all steps / k" },
    [KS_FX_WASTE] = { "waste", "1", "products computed / needed" },
    [KS_FX_TILE_FLOPS] = { "tile_flops", "flop", "of one tile" },
    [KS_FX_TILE_BYTES] = { "tile_bytes", "bytes", "read and written by one tile" },
    [KS_FX_TILE_INTENSITY] = { "tile_intensity", "flop/byte", "tile_flops / tile_bytes" },
    [KS_FX_FOOTPRINT] = { "footprint", "1", "LDS or cache of a tile / capacity of a unit" },
    [KS_FX_TRAFFIC] = { "traffic", "1", "bytes of all tiles / bytes of the operands" },
    [KS_FX_LOOSE_A] = { "loose_a", "1", "channels beyond whole vectors of operand A / channels" },
    [KS_FX_LOOSE_B] = { "loose_b", "1", "channels beyond whole vectors of operand B / channels" },
    [KS_FX_LOOSE_C] = { "loose_c", "1", "channels beyond whole vectors of the result / channels" },
    [KS_FX_LOOSE_G] = { "loose_groups", "1", "groups padded to whole merged ones / groups" },
    [KS_FX_BOUND] = { "model_bound", "", "modelled limit: 0 compute, 1 memory, 2 caches" },
    [KS_FX_ROOF_NS] = { "roof_ns", "ns", "compute or memory roof" },
    [KS_FX_MODEL_NS] = { "model_ns", "ns", "time by the analytic model" },
    [KS_FX_EXPECT] = { "log2_expected_ns", "1", "analytic model with the instance's bias" },
};

const char *ks_feature_quantity_name(uint32_t op, uint32_t index)
{
    return index < KS_FX_DIMS ? ks_operators[op]->dim_names[index] : quantities[index].name;
}

void ks_feature_describe(uint32_t op, enum ks_feature_kind kind, uint32_t index,
                         struct ks_feature *out)
{
    const bool is_problem = kind == KS_FEATURE_PROBLEM;
    const struct row *r = is_problem ? &quantities[index] : &pairs[index];
    const bool is_log = is_problem ? ks_fx_is_log((int)index) : ks_fx_is_log_pair((int)index);
    uint32_t n_dims = 0;

    *out = (struct ks_feature){ .kind = kind, .index = index };
    while (ks_operators[op]->dim_names[n_dims])
        n_dims++;
    if (is_problem && index < KS_FX_DIMS) {
        if (index < n_dims)
            snprintf(out->name, sizeof(out->name), "dim_%s", ks_operators[op]->dim_names[index]);
        snprintf(out->meaning, sizeof(out->meaning), "dimension of the problem");
        return;
    }
    snprintf(out->name, sizeof(out->name), "%s%s", is_log ? "log2_" : "", r->name);
    snprintf(out->unit, sizeof(out->unit), "%s%s", is_log ? "log2 " : "", r->unit);
    snprintf(out->meaning, sizeof(out->meaning), "%s", r->meaning);
}
