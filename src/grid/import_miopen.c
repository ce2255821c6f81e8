/* SPDX-License-Identifier: MIT */
/* import_miopen.c - imports command lists of MIOpenDriver and logs of MIOPEN_ENABLE_LOGGING_CMD */
/* Sources, all of ROCm/MIOpen: driver/conv_driver.hpp (flags, weight shape, padding modes),
 * driver/InputFlags.cpp (long and short flags mix, the last one counts), src/convolution.cpp
 * GetForwardOutputTensorWithLayout (output extents), src/driver_arguments.cpp (what a log line
 * prints). */
#include "base/opt.h"
#include "grid/import.h"
#include "grid/miopen_flags.h"
#include "op/conv.h"

#include <stdio.h>
#include <string.h>

#define PROGRAM "MIOpenDriver"

enum { ALL_DIRECTIONS = 7 };

/* One command on its way: where the scan stands, and what the flags said. */
struct command {
    struct ks_import *im;
    struct ks_miopen_flags flags;
    int dtype;
    bool is_log; /* printed by the library, not typed for the driver */
};

struct base_name {
    const char *name;
    int dtype;       /* -1: refused */
    const char *why; /* then */
};
static const struct base_name bases[] = {
    { "conv", KS_FP32, NULL },
    { "convfp16", KS_FP16, NULL },
    { "convbfp16", KS_BF16, NULL },
    { "convint8", -1, "int8 convolutions are not supported" },
    { "convint8x4", -1, "int8x4 convolutions are not supported" },
    { "convfp8", -1, "fp8 convolutions are not supported" },
    { "convbfp8", -1, "bf8 convolutions are not supported" },
};
enum { N_BASES = sizeof bases / sizeof bases[0] };

/* The problem that a command describes, as a plain convolution.
 *
 * Mode trans is the same geometry read backwards. With x = [n][c][hi..] and weights
 * [c][k/g][y][x] the transposed forward produces [n][k][out..],
 *     out = stride (in - 1) + 1 + dilation (filter - 1) - 2 pad + trans_output_pad,
 * which is d_input of the convolution that maps k channels of extent out to c channels of extent
 * in. So input and output channels change places, the extents are those of the transposed output,
 * and forward and backward data change places; backward weight stays. */
static bool is_transposed(const struct command *c)
{
    return strcmp(c->flags.text[KS_MIO_MODE], "trans") == 0;
}

static int64_t flag(const struct command *c, enum ks_miopen_flag which)
{
    return c->flags.value[which];
}

/* Axis 0 depth, 1 height, 2 width; a triple of flags begins at its depth. */
static int64_t axis_flag(const struct command *c, enum ks_miopen_flag first, int axis)
{
    return c->flags.value[(int)first + axis];
}

static bool is_all_one(const struct command *c, enum ks_miopen_flag first, int first_axis)
{
    for (int axis = first_axis; axis < 3; axis++)
        if (axis_flag(c, first, axis) != 1)
            return false;
    return true;
}

/* Padding modes hold where MIOpen applies them: not transposed, and all dilations or all filter
 * extents 1. "same" makes the output ceil(in / stride); MIOpen stores half of what it needs,
 * rounded down, and lets the kernel read the rest behind the end: here the rest is pad_hi. */
static void set_padding(const struct command *c, int axis, bool has_mode, int64_t *dim)
{
    const char *mode = c->flags.text[KS_MIO_PAD_MODE];
    int64_t in = axis_flag(c, KS_MIO_IN_D, axis), filter = axis_flag(c, KS_MIO_FIL_D, axis);
    int64_t stride = axis_flag(c, KS_MIO_STRIDE_D, axis);
    int64_t lo = axis_flag(c, KS_MIO_PAD_D, axis), all;

    if (!has_mode || strcmp(mode, "default") == 0) {
        all = 2 * lo;
    } else if (strcmp(mode, "valid") == 0) {
        lo = all = 0;
    } else {
        all = filter - (in % stride ? in % stride : stride);
        all = all < 0 ? 0 : all;
        lo = all / 2;
    }
    dim[KS_CONV_PAD_D_LO + axis] = lo;
    dim[KS_CONV_PAD_D_HI + axis] = all - lo;
}

static int64_t input_extent(const struct command *c, int axis)
{
    int64_t in = axis_flag(c, KS_MIO_IN_D, axis);

    if (!is_transposed(c))
        return in;
    return axis_flag(c, KS_MIO_STRIDE_D, axis) * (in - 1) + 1 +
           axis_flag(c, KS_MIO_DILATION_D, axis) * (axis_flag(c, KS_MIO_FIL_D, axis) - 1) -
           2 * axis_flag(c, KS_MIO_PAD_D, axis) + axis_flag(c, KS_MIO_TRANS_PAD_D, axis);
}

/* The driver's -k counts all groups. A log line of a transposed convolution prints the second
 * extent of the weights, which is k of one group. */
static void set_channels(const struct command *c, int64_t *dim)
{
    int64_t g = flag(c, KS_MIO_GROUPS), k = flag(c, KS_MIO_K);

    if (c->is_log && is_transposed(c))
        k *= g;
    dim[KS_CONV_G] = g;
    dim[KS_CONV_C_TOTAL] = is_transposed(c) ? k : flag(c, KS_MIO_C);
    dim[KS_CONV_K_TOTAL] = is_transposed(c) ? flag(c, KS_MIO_C) : k;
}

static void set_dims(const struct command *c, struct ks_problem *p)
{
    int n_axes = (int)flag(c, KS_MIO_SPATIAL);
    int first = 3 - n_axes;
    bool has_mode = !is_transposed(c) &&
                    (is_all_one(c, KS_MIO_DILATION_D, first) || is_all_one(c, KS_MIO_FIL_D, first));

    p->dim[KS_CONV_NDIM] = n_axes;
    p->dim[KS_CONV_N] = flag(c, KS_MIO_N);
    set_channels(c, p->dim);
    for (int axis = first; axis < 3; axis++) {
        p->dim[KS_CONV_DI + axis] = input_extent(c, axis);
        p->dim[KS_CONV_Z + axis] = axis_flag(c, KS_MIO_FIL_D, axis);
        p->dim[KS_CONV_STRIDE_D + axis] = axis_flag(c, KS_MIO_STRIDE_D, axis);
        p->dim[KS_CONV_DILATION_D + axis] = axis_flag(c, KS_MIO_DILATION_D, axis);
        set_padding(c, axis, has_mode, p->dim);
    }
}

static uint32_t direction_of(const struct command *c, int bit)
{
    if (bit == 2)
        return KS_BACKWARD_WEIGHT;
    return (bit == 0) == is_transposed(c) ? KS_BACKWARD_DATA : KS_FORWARD;
}

/* An absent layout is the driver's default, NCHW or NCDHW; -1: unknown. */
static int layout_from(const char *text)
{
    if (!text[0] || strcmp(text, "NCHW") == 0 || strcmp(text, "NCDHW") == 0)
        return KS_NGCHW;
    return strcmp(text, "NHWC") == 0 || strcmp(text, "NDHWC") == 0 ? KS_NHWGC : -1;
}

/* The problem's layout is the input's. Weights must have it too, and so must the output where the
 * input's is named; lists of networks name the output's alone, which says nothing of the operands
 * that are read. NULL: *layout_out is set. */
static const char *read_layout(const struct command *c, uint32_t *layout_out)
{
    const char *in_text = c->flags.text[KS_MIO_IN_LAYOUT];
    int in = layout_from(in_text), filter = layout_from(c->flags.text[KS_MIO_FIL_LAYOUT]);
    int out = layout_from(c->flags.text[KS_MIO_OUT_LAYOUT]);

    if (in < 0 || filter < 0 || out < 0)
        return "layout is not one of NCHW, NCDHW, NHWC, NDHWC";
    if (in != filter)
        return "layouts of input and weights differ (an absent one is NCHW)";
    if (in_text[0] && in != out)
        return "layouts of input and output differ (an absent one is NCHW)";
    *layout_out = (uint32_t)in;
    return NULL;
}

/* What stands in the way before any geometry is computed; NULL: nothing. */
static const char *find_obstacle(const struct command *c)
{
    const char *mode = c->flags.text[KS_MIO_MODE], *pad = c->flags.text[KS_MIO_PAD_MODE];
    int64_t n_axes = flag(c, KS_MIO_SPATIAL);

    if (n_axes != 2 && n_axes != 3)
        return "spatial_dim must be 2 or 3";
    if (flag(c, KS_MIO_FORW) < 0 || flag(c, KS_MIO_FORW) > ALL_DIRECTIONS)
        return "forw must be a mask between 0 and 7";
    if (strcmp(mode, "conv") != 0 && strcmp(mode, "trans") != 0)
        return "mode must be conv or trans";
    if (strcmp(pad, "default") != 0 && strcmp(pad, "same") != 0 && strcmp(pad, "valid") != 0)
        return "pad_mode must be default, same or valid";
    if (flag(c, KS_MIO_TENSOR_VECT) != 0)
        return "vectorised layouts are not supported";
    for (int i = KS_MIO_IN_CAST; i <= KS_MIO_WEI_CAST; i++)
        if (strcmp(c->flags.text[i], "-1") != 0)
            return "conversions to other types are not supported";
    for (int axis = 3 - (int)n_axes; axis < 3; axis++) {
        if (axis_flag(c, KS_MIO_STRIDE_D, axis) < 1)
            return "a stride is below 1";
        if (is_transposed(c) &&
            axis_flag(c, KS_MIO_TRANS_PAD_D, axis) >= axis_flag(c, KS_MIO_STRIDE_D, axis))
            return "trans_output_pad must be smaller than the stride";
    }
    return NULL;
}

static int take_command(struct command *c)
{
    struct ks_problem p[KS_N_DIRECTIONS];
    struct ks_err why;
    uint32_t layout = KS_NGCHW;
    const char *obstacle = find_obstacle(c);
    int64_t mask = flag(c, KS_MIO_FORW) ? flag(c, KS_MIO_FORW) : ALL_DIRECTIONS;
    size_t n = 0;

    if (!obstacle)
        obstacle = read_layout(c, &layout);
    if (obstacle)
        return ks_import_refuse(c->im, "%s", obstacle);
    for (int bit = 0; bit < KS_N_DIRECTIONS; bit++) {
        int rc;

        if (!(mask & (int64_t)1 << bit))
            continue;
        rc = ks_import_blank_conv(c->im, &p[n]);
        if (rc < 0)
            return rc;
        p[n].direction = direction_of(c, bit);
        p[n].dtype = (uint32_t)c->dtype;
        p[n].layout = layout;
        set_dims(c, &p[n]);
        if (ks_problem_finish(&p[n], &why) < 0)
            return ks_import_refuse_err(c->im, &why);
        n++;
    }
    return ks_import_take(c->im, p, n);
}

static const struct base_name *find_base(const char *word)
{
    for (int i = 0; i < N_BASES; i++)
        if (strcmp(bases[i].name, word) == 0)
            return &bases[i];
    return NULL;
}

static int read_command(struct ks_import *im, const char *base, char *args, bool is_log)
{
    struct command c = { .im = im, .is_log = is_log };
    const struct base_name *b = find_base(base);
    char why[160];

    if (!b)
        return ks_import_refuse(im, "unknown convolution '%.40s'", base);
    if (b->dtype < 0)
        return ks_import_refuse(im, "%s: %s", base, b->why);
    c.dtype = b->dtype;
    if (!ks_miopen_flags_parse(args, &c.flags, why, sizeof why))
        return ks_import_refuse(im, "%s", why);
    return take_command(&c);
}

static bool is_log_line(const char *line)
{
    return strstr(line, "[LogCmd") || strstr(line, "Algorithm:");
}

static bool is_conv(const char *word)
{
    return strncmp(word, "conv", 4) == 0;
}

static int read_line(struct ks_import *im, char *at)
{
    bool is_log = at && is_log_line(at), has_command = false;
    struct ks_import_command c;
    int rc = 0;

    while (rc == 0 && ks_import_next_command(&at, PROGRAM, is_conv, &c)) {
        has_command = true;
        rc = read_command(im, c.word, c.args, is_log);
    }
    im->set->n_other += !has_command;
    return rc;
}

static bool miopen_sniff(const char *text, size_t len)
{
    return memmem(text, len, PROGRAM, sizeof PROGRAM - 1) != NULL;
}

static int miopen_read(struct ks_problem_set *set, const char *text, size_t len, const char *name,
                       bool strict, struct ks_err *err)
{
    struct ks_import im;
    int rc;

    ks_import_start(&im, set, text, len, name, strict, err);
    rc = ks_import_command_lines(&im, PROGRAM, read_line);
    ks_import_stop(&im);
    return rc;
}

const struct ks_importer ks_import_miopen = { .name = "miopen",
                                              .sniff = miopen_sniff,
                                              .read = miopen_read };
