# SPDX-License-Identifier: MIT
"""lightgbm_predict.py MODEL ROWS - LightGBM's predictions against those at the beginning of each line."""
import sys

import lightgbm
import numpy

table = numpy.loadtxt(sys.argv[2])
want, rows = table[:, 0], table[:, 1:]
got = lightgbm.Booster(model_file=sys.argv[1]).predict(rows, num_threads=1)
worst = abs(got - want).max()
if not worst <= 1e-6:
    sys.exit(f"LightGBM differs by {worst}")
