# SPDX-License-Identifier: MIT
"""mutants.py: where breaks are made, which, and that a list that no longer fits is noticed."""
import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutants  # noqa: E402

SOURCE = """/* SPDX-License-Identifier: MIT */
#define LIMIT 3 /* n < 3 */

static int n_calls = 7;

int first(int a, int b)
{
    if (a < b && b != 0) /* a < b */
        note("a < b");
    return a + 1;
}

void second(int a)
{
    while (a > 1)
        a = first(a - 1,
                  2);
}
"""
SHELL = """#!/bin/sh
one() { echo "$1"; }
two() {
    echo 2
}
"""
NAMED = """# a comment
[calls-nobody]
file src/x/a.c
function first
test unit.a
- note("a < b");
+
"""


@unittest.skipUnless(shutil.which("ctags"), "ctags is not installed")
class Mutants(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.was = os.getcwd()
        os.chdir(self.dir)
        for d in ("src/x", "tests/unit", "tests/e2e"):
            os.makedirs(d)
        mutants.write("src/x/a.c", SOURCE)
        mutants.write("src/x/CMakeLists.txt", "ks_test(b DEPS x)\nforeach(t a none)\n  ks_test(${t})\n")
        mutants.write("one.sh", SHELL)
        mutants.write(mutants.LIST, NAMED)
        for t in "ab":
            mutants.write(f"tests/unit/test_{t}.c", "")

    def tearDown(self):
        os.chdir(self.was)
        shutil.rmtree(self.dir)

    def check(self, text):
        mutants.write(mutants.LIST, text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            rc = mutants.check()
        return rc, out.getvalue()

    def test_extents(self):
        names = [(n, SOURCE[a:b].count("\n")) for n, a, b in mutants.functions("src/x/a.c")]
        self.assertEqual(names, [("first", 6), ("second", 6)])
        names = [(n, SHELL[a:b]) for n, a, b in mutants.functions("one.sh")]
        self.assertEqual(names, [("one", 'one() { echo "$1"; }\n'), ("two", "two() {\n    echo 2\n}\n")])

    def test_operators(self):
        made = mutants.mutants_of("src/x/a.c")
        changes = {k: [(m.function, m.old.split(":", 1)[1], m.new) for m in v] for k, v in made.items()}
        self.assertEqual(changes, {
            "compare": [("first", "<", "<="), ("first", "!=", "=="), ("second", ">", ">=")],
            "and-or": [("first", "&&", "||")],
            "negate": [("first", "(a < b && b != 0)", "(!(a < b && b != 0))"),
                       ("second", "(a > 1)", "(!(a > 1))")],
            "remove-call": [("first", 'note("a < b");', ";")],
            "off-by-one": [("first", " + 1", ""), ("second", " - 1", "")],
            "constant": [("first", "0", "1"), ("first", "1", "0"), ("second", "1", "0"),
                         ("second", "1", "0"), ("second", "2", "3")],
            "return": [("first", "a + 1", "0")],
        })

    def test_each_is_applied_where_it_was_found(self):
        for m in mutants.generate(1, ["src/x/a.c"]):
            mutants.write("src/x/a.c", SOURCE)
            self.assertEqual(mutants.apply(m), 0)
            text = mutants.read("src/x/a.c")
            self.assertNotEqual(text, SOURCE)
            line = int(m.name.split(":")[1])
            self.assertEqual([i for i, (a, b) in enumerate(zip(SOURCE.splitlines(), text.splitlines()), 1)
                              if a != b], [line])

    def test_a_seed_is_an_order(self):
        order = [list(mutants.generate(seed, ["src/x/a.c"])) for seed in (1, 1, 2)]
        self.assertEqual(order[0], order[1])
        self.assertNotEqual(order[0], order[2])
        self.assertEqual(sorted(order[0]), sorted(order[2]))

    def test_tests_of_a_file(self):
        self.assertEqual(mutants.tests_of("src/x/a.c"), ["unit.a", "unit.b"])
        self.assertEqual(mutants.tests_of("src/x/room/c.c"), ["unit.b", "unit.a"])
        mutants.write("tests/unit/test_b.c", "/* x */\n/* quick: no */\n")
        self.assertEqual(mutants.tests_of("src/x/a.c"), ["unit.a"])
        self.assertEqual(mutants.tests_of("kernels/host/gconv_bwd_data_x.k"), ["unit.kernels_bwd_data"])
        self.assertEqual(mutants.tests_of("kernels/host/gconv_direct.k"), ["unit.kernels"])

    def test_list_fits(self):
        rc, out = self.check(NAMED)
        self.assertEqual((rc, out.splitlines()[0]), (0, "1..2"))

    def test_list_does_not_fit(self):
        for old, new, why in (("function first", "function third", "no function third"),
                              ("function first", "function second", "stands 0 times in second()"),
                              ('- note("a < b");', "- a > b", "'a > b' stands 0 times"),
                              ('- note("a < b");', "- b", "'b' stands 5 times"),
                              ("unit.a", "unit.c", "no test unit.c"),
                              ("function first\n", "", "has no function"),
                              ("# a comment", "nothing", ":1: not understood"),
                              ("# a comment", NAMED, "stands 2 times")):
            rc, out = self.check(NAMED.replace(old, new))
            self.assertEqual(rc, 1, old)
            self.assertIn(why, out)


if __name__ == "__main__":
    unittest.main()
