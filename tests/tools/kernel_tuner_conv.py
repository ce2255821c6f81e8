#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernel_tuner_conv.py N C H W K Y X - tunes a direct convolution in C with Kernel Tuner and its C backend, and
prints one line of JSON per configuration: a real program that times kernels on a CPU, for tests of the
adapter `lines`. Unit stride, no padding."""
import json
import sys

import numpy
from kernel_tuner import tune_kernel

SOURCE = r"""
#include <time.h>
extern "C" float convolve(float *out, const float *in, const float *wei)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int n = 0; n < N; n++)
        for (int k0 = 0; k0 < K; k0 += tile_k)
            for (int h = 0; h < HO; h++)
                for (int w = 0; w < WO; w++)
                    for (int k = k0; k < k0 + tile_k && k < K; k++) {
                        float sum = 0;
                        for (int y = 0; y < Y; y++)
                            for (int x = 0; x < X; x++)
                                for (int c0 = 0; c0 < C; c0 += tile_c)
                                    for (int c = c0; c < c0 + tile_c && c < C; c++)
                                        sum += in[((n * H + h + y) * W + w + x) * C + c] *
                                               wei[((k * Y + y) * X + x) * C + c];
                        out[((n * HO + h) * WO + w) * K + k] = sum;
                    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (float)((end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) * 1e-6);
}
"""


def main():
    n, c, h, w, k, y, x = map(int, sys.argv[1:8])
    ho, wo = h - y + 1, w - x + 1
    sizes = dict(N=n, C=c, H=h, W=w, K=k, Y=y, X=x, HO=ho, WO=wo)
    source = "".join(f"#define {name} {value}\n" for name, value in sizes.items()) + SOURCE
    rng = numpy.random.default_rng(1)
    data = [numpy.zeros(n * ho * wo * k, numpy.float32), rng.random(n * h * w * c, numpy.float32),
            rng.random(k * y * x * c, numpy.float32)]
    results, _ = tune_kernel("convolve", source, 1, data, dict(tile_k=[1, 4, 16], tile_c=[1, 8]), lang="C",
                             compiler="g++", compiler_options=["-O3", "-march=native"], iterations=5, quiet=True)
    flops = 2.0 * n * ho * wo * k * c * y * x
    for r in results:
        if isinstance(r["time"], float):
            print(json.dumps({"name": f"convolve<tile_k={r['tile_k']}, tile_c={r['tile_c']}>", "ms": r["time"],
                              "gflops": flops / r["time"] * 1e-6, "tile_k": r["tile_k"], "tile_c": r["tile_c"]}),
                  flush=True)
    print("done")


main()
