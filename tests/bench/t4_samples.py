#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""t4_samples.py FILE.json.gz - samples of a T4 result file (AutoTuningAssociation), one correct
configuration per line, ns, in the order they were taken. Configurations with another number of
samples than the first are left out."""
import gzip
import json
import sys

with gzip.open(sys.argv[1]) as f:
    rows = [r["times"]["runtimes"] for r in json.load(f)["results"] if r["invalidity"] == "correct"]
if not rows:
    sys.exit(f"{sys.argv[1]}: no correct configuration")
for times in rows:
    if len(times) == len(rows[0]) and min(times) > 0:
        print(",".join(f"{t * 1e6:.6f}" for t in times))
