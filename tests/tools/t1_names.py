#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""t1_names.py FILE - the valid configurations of a T1 file, evaluated by Python, under the names
that ksweep gives them: parameters of one value are left out."""
import ast
import itertools
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        doc = json.load(f)
    space = doc["ConfigurationSpace"]
    names = [p["Name"] for p in space["TuningParameters"]]
    values = [ast.literal_eval(p["Values"]) for p in space["TuningParameters"]]
    conditions = [compile(c["Expression"], c["Expression"], "eval") for c in space["Conditions"]]
    kernel = "t1_" + doc["KernelSpecification"]["KernelName"].lower()
    for combination in itertools.product(*values):
        config = dict(zip(names, combination))
        if all(eval(c, {"__builtins__": {}}, config) for c in conditions):
            print("_".join([kernel] + [f"{n}{v}" for n, v, all_ in
                                       zip(names, combination, values) if len(all_) > 1]))


if __name__ == "__main__":
    main()
