#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py - breaks of source files, for tests/mutate.sh.

    mutants.py named [PATTERN...]    the entries of tests/mutations.txt, one line each:
                                     name, file, function, test, old, new (tab-separated)
    mutants.py check                 whether each of them fits the sources; TAP
    mutants.py generate SEED [FILE...]
                                     all breaks that the operators below make of the functions in
                                     these files (default: all of src), in an order drawn by SEED,
                                     in the same form; the test is "-"
    mutants.py apply FILE FUNCTION OLD NEW
                                     makes the change; OLD is TEXT or @OFFSET:TEXT (of a generated
                                     one: where it stands in the file)
    mutants.py tests FILE            the tests that cover the file, unit tests first

Run in the source tree. Where a function begins and ends is told by universal-ctags."""
import collections
import fnmatch
import glob
import os
import random
import re
import subprocess
import sys

LIST = "tests/mutations.txt"

# End-to-end tests of a directory, behind the unit tests of its CMakeLists.txt.
END_TO_END = {
    "analysis": ["30-results", "31-trace", "44-aliases"],
    "src/base": ["40-run", "67-files"],
    "src/build": ["22-build", "27-gpu-build", "44-aliases"],
    "src/cmd": ["40-run", "20-problems", "21-kernels", "25-jobs", "29-outside", "86-cell-command"],
    "src/device": ["80-fake-hip", "85-fake-hip-timed"],
    "src/grid": ["21-kernels", "20-problems", "25-jobs", "28-plugins"],
    "src/journal": ["62-durable", "41-resume"],
    "src/json": ["25-jobs", "40-run"],
    "src/mpi": ["40-run", "44-aliases", "41-resume", "63-ends"],
    "src/op": ["40-run"],
    "src/record": ["40-run", "30-results"],
    "src/sched": ["40-run", "47-lazy"],
    "src/spawn": ["50-faults"],
    "src/store": ["30-results", "67-merge"],
    "src/topo": ["46-binding"],
    "src/trace": ["31-trace"],
    "src/worker": ["50-faults", "53-cheats"],
}

# Tests of kernels, by how the file's name begins.
KERNELS = {
    "kernels/host": [("gconv_bwd_data", ["kernels_bwd_data"]), ("gconv_bwd_weight", ["kernels_bwd_weight"]),
                     ("gconv_bwd", ["kernels_bwd_data", "kernels_bwd_weight"]), ("gemm", ["kernels_gemm"]),
                     ("gconv", ["kernels"]), ("", ["kernels", "kernels_bwd_data"])],
    "kernels/gpu": [("gconv_bwd_data", ["gpu_kernels_bwd_data"]), ("bwd_data", ["gpu_kernels_bwd_data"]),
                    ("gconv_bwd_weight", ["gpu_kernels_bwd_weight"]), ("gemm", ["gpu_kernels_gemm"]),
                    ("judge", ["gpu_judge", "gpu_judge_look"]), ("", ["gpu_kernels_fwd"])],
}

Mutant = collections.namedtuple("Mutant", "name file function test old new")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


# --- functions

def end_of_shell_function(lines, first):
    """Line number of the last line of a shell function that begins in line `first`."""
    if lines[first - 1].rstrip().endswith("}"):
        return first
    for n in range(first, len(lines)):
        if lines[n].rstrip() == "}":
            return n + 1
    return first


def functions(path):
    """[(name, first, end)]: offsets into the text of the file; a name may stand there twice."""
    command = ["ctags", "-D", "KS_FN(x)=x", "--langmap=C:+.k.h,Sh:+.sbatch", "--kinds-C=f",
               "--kinds-Sh=f", "--fields=+ne", "--sort=no", "-f", "-", path]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
    text = read(path)
    lines = text.splitlines()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for row in out.splitlines():
        fields = dict(f.split(":", 1) for f in row.split("\t")[3:] if ":" in f)
        if "line" not in fields:
            continue
        first = int(fields["line"])
        last = int(fields["end"]) if "end" in fields else end_of_shell_function(lines, first)
        found.append((row.split("\t")[0], starts[first - 1], starts[last]))
    return found


# --- named breaks

def parse_list():
    """(mutants, errors): what is complete, and a line for each mistake."""
    done, errors, now = [], [], {}

    def flush():
        if not now:
            return
        lacking = [k for k in ("file", "function", "test", "old", "new") if k not in now]
        if lacking:
            errors.append(f"{LIST}: [{now['name']}] has no {', '.join(lacking)}")
        else:
            done.append(Mutant(**now))
        now.clear()

    for n, line in enumerate(read(LIST).splitlines(), 1):
        word, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            flush()
            now["name"] = line[1:-1]
        elif now and word in ("file", "function", "test"):
            now[word] = rest
        elif now and word in ("-", "+"):
            now["old" if word == "-" else "new"] = rest
        else:
            errors.append(f"{LIST}:{n}: not understood")
    flush()
    return done, errors


def place(m):
    """Offset of what is to be changed, or a text that says why there is none."""
    text = read(m.file)
    if m.old.startswith("@"):
        at, old = m.old[1:].split(":", 1)
        return int(at) if text.startswith(old, int(at)) else "the file has changed"
    extents = [(a, b) for name, a, b in functions(m.file) if name == m.function]
    if not extents:
        return f"no function {m.function} in {m.file}"
    found = [a + i.start() for a, b in extents for i in re.finditer(re.escape(m.old), text[a:b])]
    if len(found) != 1:
        return f"'{m.old}' stands {len(found)} times in {m.function}() of {m.file}"
    return found[0]


def why_it_does_not_fit(m):
    kind, _, test = m.test.replace("unit.", "unit/", 1).partition("/")
    if not os.path.isfile(m.file):
        return f"no file {m.file}"
    if m.old == m.new:
        return "it changes nothing"
    if not os.path.isfile({"unit": f"tests/unit/test_{test}.c",
                           "e2e": f"tests/e2e/{test}.sh"}.get(kind, "")):
        return f"no test {m.test}"
    at = place(m)
    return at if isinstance(at, str) else None


def check():
    mutants, errors = parse_list()
    names = collections.Counter(m.name for m in mutants)
    errors += [f"{LIST}: [{name}] stands {n} times" for name, n in names.items() if n > 1]
    print(f"1..{len(mutants) + 1}")
    print(f"{'not ok' if errors else 'ok'} 1 - the list is well formed")
    for e in errors:
        print(f"# {e}")
    bad = len(errors)
    for n, m in enumerate(mutants, 2):
        why = why_it_does_not_fit(m)
        print(f"{'not ok' if why else 'ok'} {n} - {m.name}")
        if why:
            print(f"# {why}")
            bad += 1
    return 1 if bad else 0


def apply(m):
    at = place(m)
    if isinstance(at, str):
        print(at, file=sys.stderr)
        return 1
    old = m.old.split(":", 1)[1] if m.old.startswith("@") else m.old
    text = read(m.file)
    write(m.file, text[:at] + m.new + text[at + len(old):])
    return 0


# --- generated breaks

def blank(text):
    """The text with its comments, strings, characters and preprocessor lines blanked out."""
    pattern = (r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
               r'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*')
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                  flags=re.DOTALL | re.MULTILINE)


def closing(text, at):
    """Offset of the parenthesis that closes the one at `at`; -1: none."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def by_pattern(operator, pattern, new):
    """A maker of changes: each match of the pattern's first group becomes what new(match) says."""
    def make(code, first, end):
        for m in re.compile(pattern, re.MULTILINE).finditer(code, first, end):
            yield operator, m.start(1), m.end(1), new(m)
    return make


def negated_conditions(code, first, end):
    for m in re.compile(r"\b(?:if|while) (\()").finditer(code, first, end):
        last = closing(code, m.start(1))
        if 0 < last < end:
            yield "negate", m.start(1), last + 1, None


FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPERATORS = [
    by_pattern("compare", r" (<=|>=|==|!=|<|>) ", lambda m: FLIPPED[m.group(1)]),
    by_pattern("off-by-one", r"\w\)?( [+-] 1)\b(?!\.)", lambda m: ""),
    negated_conditions,
    by_pattern("remove-call", r"^[ \t]+((?:\(void\))?(?!return\b|sizeof\b)[a-z_]\w*\([^;{}]*\);)$",
               lambda m: ";"),
    by_pattern("and-or", r" (&&|\|\|)(?=\s)", lambda m: "||" if m.group(1) == "&&" else "&&"),
    by_pattern("constant", r"(?<![\w.\[])((?:0|[1-9]\d*)|true|false)(?![\w.\]])",
               lambda m: {"true": "false", "false": "true", "0": "1", "1": "0"}.get(
                   m.group(1)) or str(int(m.group(1)) + 1)),
    by_pattern("return", r"\breturn ((?!0;)[^;]+);", lambda m: "0"),
]


def mutants_of(path):
    """{operator: [Mutant]} of a file."""
    text, made = read(path), collections.defaultdict(list)
    code = blank(text)
    for function, first, end in functions(path):
        body = code.find("{", first, end)
        for operator in OPERATORS if body >= 0 else []:
            for kind, a, b, new in operator(code, body, end):
                old = text[a:b]
                new = "(!" + old + ")" if new is None else new
                if "\n" in old or "\t" in old or old == new:
                    continue
                name = f"{path}:{text.count(chr(10), 0, a) + 1}:{function}:{kind}"
                made[kind].append(Mutant(name, path, function, "-", f"@{a}:{old}", new))
    return made


def generate(seed, paths):
    """Operators take turns, so that the many constants do not crowd out the others."""
    rng = random.Random(seed)
    piles = collections.defaultdict(list)
    for path in paths:
        for kind, mutants in mutants_of(path).items():
            piles[kind] += mutants
    for kind in sorted(piles):
        rng.shuffle(piles[kind])
    while piles:
        kinds = sorted(piles)
        rng.shuffle(kinds)
        for kind in kinds:
            yield piles[kind].pop()
            if not piles[kind]:
                del piles[kind]


# --- tests of a file

def unit_tests(directory):
    """Names in ks_test() of a CMakeLists.txt, but not those that --quick leaves out; a loop's variable
    stands for its words."""
    path, names, loops = os.path.join(directory, "CMakeLists.txt"), [], {}
    for line in read(path).splitlines() if os.path.isfile(path) else []:
        m = re.match(r"\s*foreach\((\w+) ([^)]*)", line)
        if m:
            loops[m.group(1)] = m.group(2).split()
        m = re.match(r"\s*ks_test\((\S+?)[\s)]", line)
        if m:
            v = re.fullmatch(r"\$\{(\w+)\}", m.group(1))
            names += loops.get(v.group(1), []) if v else [m.group(1)]
    names = [n for n in names if os.path.isfile(f"tests/unit/test_{n}.c") and
             "\n/* quick: no */" not in read(f"tests/unit/test_{n}.c")]
    return sorted(set(names), key=names.index)


def tests_of(path):
    """Those named after the file first, then those of its directory, then end-to-end tests."""
    directory, base = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    words = set(base.split("_"))
    for prefix, names in KERNELS.get(directory, []):
        if base.startswith(prefix):
            return [f"unit.{n}" for n in names]
    while directory and not os.path.isfile(os.path.join(directory, "CMakeLists.txt")):
        directory = os.path.dirname(directory)
    units = unit_tests(directory)
    units.sort(key=lambda n: (n != base, -len(words & set(n.split("_")))))
    while directory and directory not in END_TO_END:
        directory = os.path.dirname(directory)
    return [f"unit.{n}" for n in units] + [f"e2e/{n}" for n in END_TO_END.get(directory, [])]


def put(m):
    print("\t".join(m))


def main(argv):
    what, rest = argv[0] if argv else "", argv[1:]
    if what == "named":
        mutants, errors = parse_list()
        for m in mutants:
            if not rest or any(fnmatch.fnmatch(m.name, f"*{p}*") for p in rest):
                put(m)
        for e in errors:
            print(e, file=sys.stderr)
        return 1 if errors else 0
    if what == "check":
        return check()
    if what == "generate":
        for m in generate(int(rest[0]), rest[1:] or sorted(glob.glob("src/**/*.c", recursive=True))):
            put(m)
        return 0
    if what == "apply":
        return apply(Mutant("", rest[0], rest[1], "-", rest[2], rest[3]))
    if what == "tests":
        print("\n".join(tests_of(rest[0])))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
