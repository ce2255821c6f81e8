/* SPDX-License-Identifier: MIT */
/* conv_signs.c - rows, columns and summands of the three directions of a convolution. */
#include "op/conv.h"
#include "op/signs.h"

static struct ks_sign_map blank(void)
{
    struct ks_sign_map m = { .has = { false } };

    for (int i = 0; i < KS_SIGN_AXES; i++)
        m.axis[i].extent = 1;
    return m;
}

/* [image][pixel][channel of all groups], or the last two the other way round. */
static struct ks_sign_map of_image(const struct ks_problem *p, int64_t channels, int64_t pixels,
                                   enum ks_sign_class by_image, enum ks_sign_class by_channel)
{
    struct ks_sign_map m = blank();
    int at_channel = p->layout == KS_NHWGC ? 3 : 2, at_pixel = p->layout == KS_NHWGC ? 2 : 3;

    m.axis[1].extent = p->dim[KS_CONV_N];
    m.axis[1].step[by_image] = 1;
    m.axis[at_pixel].extent = pixels;
    m.axis[at_channel].extent = channels;
    m.axis[at_channel].step[by_channel] = 1;
    m.has[by_image] = m.has[by_channel] = true;
    return m;
}

/* [group][k][tap][c], or the last two the other way round. */
static struct ks_sign_map of_weights(const struct ks_problem *p, enum ks_sign_class by_k,
                                     enum ks_sign_class by_c)
{
    const int64_t *d = p->dim;
    int64_t k = d[KS_CONV_K_TOTAL] / d[KS_CONV_G], c = d[KS_CONV_C_TOTAL] / d[KS_CONV_G];
    struct ks_sign_map m = blank();
    int at_c = p->layout == KS_NHWGC ? 3 : 2, at_tap = p->layout == KS_NHWGC ? 2 : 3;

    m.axis[0].extent = d[KS_CONV_G];
    m.axis[0].step[by_k] = k;
    m.axis[0].step[by_c] = c;
    m.axis[1].extent = k;
    m.axis[1].step[by_k] = 1;
    m.axis[at_tap].extent = d[KS_CONV_Z] * d[KS_CONV_Y] * d[KS_CONV_X];
    m.axis[at_c].extent = c;
    m.axis[at_c].step[by_c] = 1;
    m.has[by_k] = m.has[by_c] = true;
    return m;
}

/* What an operand is in each direction. */
enum part { INPUT, WEIGHTS, OUTPUT };
static const enum part parts[KS_N_DIRECTIONS][3] = {
    [KS_FORWARD] = { INPUT, WEIGHTS, OUTPUT },
    [KS_BACKWARD_DATA] = { OUTPUT, WEIGHTS, INPUT },
    [KS_BACKWARD_WEIGHT] = { INPUT, OUTPUT, WEIGHTS },
};
/* What images, input channels and output channels are: rows and columns of the result, or summed
 * over. */
struct roles {
    enum ks_sign_class image, c, k;
};
static const struct roles roles[KS_N_DIRECTIONS] = {
    [KS_FORWARD] = { KS_SIGN_ROW, KS_SIGN_SUM, KS_SIGN_COLUMN },
    [KS_BACKWARD_DATA] = { KS_SIGN_ROW, KS_SIGN_COLUMN, KS_SIGN_SUM },
    [KS_BACKWARD_WEIGHT] = { KS_SIGN_SUM, KS_SIGN_ROW, KS_SIGN_COLUMN },
};

void ks_conv_signs(const struct ks_problem *p, char operand, struct ks_sign_map *out)
{
    const struct roles *r = &roles[p->direction];
    const int64_t *d = p->dim;

    switch (parts[p->direction][operand - 'a']) {
    case INPUT:
        *out = of_image(p, d[KS_CONV_C_TOTAL], d[KS_CONV_DI] * d[KS_CONV_HI] * d[KS_CONV_WI],
                        r->image, r->c);
        break;
    case OUTPUT:
        *out = of_image(p, d[KS_CONV_K_TOTAL],
                        ks_conv_out(p, 0) * ks_conv_out(p, 1) * ks_conv_out(p, 2), r->image, r->k);
        break;
    case WEIGHTS:
        *out = of_weights(p, r->k, r->c);
        break;
    }
}
