#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much is there to predict? Figures from a training table.

usage: bench_oracle.py training.csv [--json] [--check]

Per problem the oracle is the fastest ok instance. Printed: how many instances win somewhere beyond
ties, the median of worst / best, and what fraction of the oracle (geometric mean over problems) the
best fixed choice reaches. A fixed choice is one instance, or, since few instances run everything, one
instance with a second one where the first is not applicable. --check compares with the limits that
the kernel set promises: 8 winners, worst / best 1.5, fixed choice at most 0.92.
"""
import csv
import json
import math
import statistics
import sys

LIMITS = {"winners": 8, "worst_over_best": 1.5, "fixed": 0.92}


def read_table(path):
    """{problem_id: {instance: (median, lo, hi)}} of the ok rows, and all outcomes counted."""
    cells, outcomes = {}, {}
    with open(path, newline="") as f:
        table = csv.DictReader(f)
        for row in table:
            outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + 1
            if row["outcome"] not in ("ok", "aliased") or not row["time_median_ns"]:
                continue
            t = tuple(float(row[k]) for k in ("time_median_ns", "time_ci95_lo_ns", "time_ci95_hi_ns"))
            cells.setdefault(row["problem_id"], {})[row["instance_name"]] = t
    return cells, outcomes


def clear_winner(times):
    """The fastest instance if its 95 % interval lies below all others', else None."""
    best = min(times, key=lambda i: times[i][0])
    if all(times[best][2] < t[1] for i, t in times.items() if i != best):
        return best
    return None


def geomean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else 0.0


def efficiency(cells, choose):
    """Geometric mean of best / chosen; 0 when the choice cannot run some problem."""
    ratios = []
    for times in cells.values():
        chosen = choose(times)
        if chosen is None:
            return 0.0
        ratios.append(min(t[0] for t in times.values()) / times[chosen][0])
    return geomean(ratios)


def best_fixed(cells, instances):
    """Best single instance, and best pair (first, else second)."""
    single = max(((efficiency(cells, lambda t: i if i in t else None), i) for i in instances),
                 default=(0.0, ""))
    everywhere = [i for i in instances if all(i in t for t in cells.values())]
    pairs = ((efficiency(cells, lambda t: i if i in t else (j if j in t else None)), i, j)
             for i in instances for j in everywhere)
    return single, max(pairs, default=(0.0, "", ""))


def figures(cells):
    instances = sorted({i for t in cells.values() for i in t})
    fastest, clear = {}, {}
    for times in cells.values():
        first = min(times, key=lambda i: times[i][0])
        fastest[first] = fastest.get(first, 0) + 1
        winner = clear_winner(times)
        if winner:
            clear[winner] = clear.get(winner, 0) + 1
    spread = [max(v[0] for v in t.values()) / min(v[0] for v in t.values()) for t in cells.values()]
    single, pair = best_fixed(cells, instances)
    return {"problems": len(cells), "instances": len(instances), "fastest_somewhere": fastest,
            "winners_beyond_ties": clear, "worst_over_best_median": statistics.median(spread),
            "fixed_single": {"fraction": single[0], "instance": single[1]},
            "fixed_pair": {"fraction": pair[0], "first": pair[1], "else": pair[2]}}


def print_text(f):
    print(f"problems {f['problems']}, instances that ran {f['instances']}")
    print(f"worst / best, median over problems: {f['worst_over_best_median']:.2f}")
    print(f"best fixed instance: {f['fixed_single']['fraction']:.1%} of the oracle "
          f"({f['fixed_single']['instance'] or 'none runs everything'})")
    pair = f["fixed_pair"]
    print(f"best fixed pair:     {pair['fraction']:.1%} of the oracle "
          f"({pair['first']}, else {pair['else']})")
    print(f"fastest somewhere: {len(f['fastest_somewhere'])}, "
          f"beyond ties: {len(f['winners_beyond_ties'])}")
    for name, n in sorted(f["winners_beyond_ties"].items(), key=lambda x: (-x[1], x[0])):
        print(f"  {n:4d}  {name}")


def failures(f):
    bad = []
    if len(f["winners_beyond_ties"]) < LIMITS["winners"]:
        bad.append(f"winners beyond ties: {len(f['winners_beyond_ties'])} < {LIMITS['winners']}")
    if f["worst_over_best_median"] < LIMITS["worst_over_best"]:
        bad.append(f"median worst / best below {LIMITS['worst_over_best']}")
    if max(f["fixed_single"]["fraction"], f["fixed_pair"]["fraction"]) > LIMITS["fixed"]:
        bad.append(f"a fixed choice reaches more than {LIMITS['fixed']:.0%} of the oracle")
    return bad


def main(argv):
    paths = [a for a in argv if not a.startswith("--")]
    if len(paths) != 1 or set(argv) - set(paths) - {"--json", "--check"}:
        print(__doc__, file=sys.stderr)
        return 2
    cells, outcomes = read_table(paths[0])
    if not cells:
        print(f"{paths[0]}: no ok row", file=sys.stderr)
        return 2
    f = figures(cells)
    f["outcomes"] = outcomes
    if "--json" in argv:
        print(json.dumps(f, indent=1, sort_keys=True))
    else:
        print_text(f)
    bad = failures(f) if "--check" in argv else []
    for line in bad:
        print("not reached: " + line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
