# SPDX-License-Identifier: MIT
# group: hdf5py
"""label_floor.py of the benches, on lists whose errors are known."""
import math
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
try:
    import label_floor  # noqa: E402
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    label_floor = None

FIELDS = ("operator=grouped_conv direction=forward dtype=fp32 layout=ncdhw ndim=2 n={n} g=1 c_total={c} k_total=64 "
          "di=1 hi=8 wi=8 z={z} y=1 x=1 stride_d=1 stride_h=1 stride_w=1 dilation_d=1 dilation_h=1 dilation_w=1 "
          "pad_d_lo=0 pad_h_lo=0 pad_w_lo=0 pad_d_hi=0 pad_h_hi=0 pad_w_hi=0")


def problem(n, times, c=64, z=1):
    p = label_floor.Problem({"canonical": FIELDS.format(n=n, c=c, z=z)})
    p.time = dict(enumerate(times))
    return p


def figures(problems, near=0.2, seed=1):
    groups = label_floor.connected(label_floor.chains(problems))
    return {line[0]: line[2] for line in label_floor.floor_of(groups, near, 100, seed)}


def made(sd, slope=0.0, n_chains=150, seed=7):
    """Chains of ten batches of two instances; their ln of times cross where `slope` says, and have errors.
    The model picks without errors; its mean loss, by the labels with errors, is returned, too."""
    chance, problems, lost = random.Random(seed), [], []
    for k in range(n_chains):
        gap = chance.uniform(-0.5, 0.5)
        for n in range(200, 300, 10):
            exact = [0.0, gap + slope * math.log(n / 250)]
            p = problem(n, [math.exp(t + chance.gauss(0, sd)) for t in exact], z=k + 1)
            p.loss = label_floor.loss(p, exact.index(min(exact)))  # as if this were the model's pick
            problems.append(p)
            lost.append(p.loss)
    return problems, sum(lost) / len(lost)


@unittest.skipIf(label_floor is None, "python3-numpy is not installed")
class Floor(unittest.TestCase):
    def test_loss_of_a_pick_without_errors(self):
        for sd in (0.05, 0.1):
            problems, lost = made(sd)
            got = figures(problems)
            for what, most in ("one twin", 0.15), ("two twins", 0.15), ("linear", 0.3):
                self.assertAlmostEqual(got["exact, " + what] / lost, 1, delta=most)
            self.assertAlmostEqual(got["share, two twins"], 1, delta=0.15)

    def test_what_changes_with_the_distance_is_no_error(self):
        got = figures(made(0.0, slope=2.0)[0])
        self.assertGreater(got["distance 0.10 to 0.20"], 0.01)
        self.assertLess(got["at 0, one twin"], 0.002)
        self.assertLess(abs(got["two twins"]), 0.001)

    def test_no_errors_no_loss(self):
        got = figures(made(0.0)[0])
        self.assertEqual([v for v in got.values() if abs(v) > 1e-12], [])

    def test_problems_of_other_alignment_are_no_twins(self):
        two = [problem(32, [1, 2], c=32 * (2 * k + odd)) if odd else problem(32, [2, 1], c=64 * k)
               for k in range(8, 14) for odd in (0, 1)]
        got = figures(two)
        self.assertEqual(set(v for what, v in got.items() if what.startswith("distance")), {0.0})

    def test_chains_that_share_a_problem_are_one_group(self):
        # a chain of batches, one of channels from its second problem, one of its own far from both
        batches = [problem(n, [1, 2]) for n in (8, 16, 32)]
        channels = [problem(16, [1, 2], c=c) for c in (192, 320)]
        far = [problem(n, [1, 2], c=c, z=3) for n, c in ((8, 64), (16, 64), (800, 64), (1600, 64))]
        groups = label_floor.connected(label_floor.chains(batches + channels + far))
        self.assertEqual(sorted(len(g) for g in groups), [1, 1, 2])
        self.assertEqual(sorted(len({id(p) for c in g for _, p in c}) for g in groups), [2, 2, 5])

    def test_copies_of_a_group_do_not_narrow_the_interval(self):
        problems = made(0.1, n_chains=40)[0]
        groups = label_floor.connected(label_floor.chains(problems))
        several = [[c for c in g for _ in range(9)] for g in groups]

        def width(groups):
            samples = {line[0]: line[3] for line in label_floor.floor_of(groups, 0.2, 100, 1)}["two twins"]
            return max(samples) - min(samples)

        self.assertAlmostEqual(width(several), width(groups))
        few = label_floor.floor_of(groups[:9], 0.2, 100, 1)
        self.assertTrue(all(math.isnan(s) for line in few for s in line[3]))

    def test_an_instance_that_is_not_measured_is_not_picked(self):
        a, b = problem(100, [1, 2, 3]), problem(104, [9, 4, 2])
        del b.time[0]
        self.assertEqual(label_floor.pick(a.time, b), 1)
        self.assertEqual([r[1] for r in label_floor.one_twin([(4.60, a), (4.64, b)], 0.2)],
                         [1 - 1 / 3, 1 - 2 / 4])


if __name__ == "__main__":
    unittest.main()
