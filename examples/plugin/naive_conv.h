/* SPDX-License-Identifier: MIT */
/* naive_conv.h - what both halves of the example share. */
#ifndef NAIVE_CONV_H
#define NAIVE_CONV_H

/* Index 0 is depth, 1 height, 2 width; c and k are per group. */
struct naive_args {
    int n, g, k, c;
    int in[3], out[3], filter[3], stride[3], dilation[3], pad[3];
    int n_outputs;
};

#endif
