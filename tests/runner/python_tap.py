# SPDX-License-Identifier: MIT
"""python_tap.py FILE - runs a unittest file and prints TAP; a file without unittest classes is run
as it is and prints what it wants."""
import importlib.util
import os
import runpy
import sys
import unittest


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.n = 0

    def line(self, ok, test, note=""):
        self.n += 1
        print(f"{'ok' if ok else 'not ok'} {self.n} - {test.id().split('.', 1)[-1]}{note}")

    def tell(self, test, error):
        self.line(False, test)
        for text in self._exc_info_to_string(error, test).splitlines():
            print("# " + text)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(True, test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(True, test, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.tell(subtest, err)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.line(True, test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.line(False, test, " (succeeded unexpectedly)")


def main(path):
    with open(path, encoding="utf-8") as f:
        is_unittest = "unittest" in f.read()
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv = [path]
    if not is_unittest:
        runpy.run_path(path, run_name="__main__")
        return 0
    spec = importlib.util.spec_from_file_location("t", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["t"] = module
    result = TapResult()
    try:
        spec.loader.exec_module(module)
    except unittest.SkipTest as why:  # a module that cannot import what it needs
        print(f"1..0 # SKIP {why}")
        return 77
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    print(f"1..{result.n}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
