# SPDX-License-Identifier: MIT
"""coverage.py BUILD_DIR SOURCE_DIR LEAST UNCOVERED - sums gcov's counts over all objects of a build.

A line counts once per file, however many objects compiled it, and is covered when any of them ran
it. Prints a row per file and the total; writes the lines that none ran; ends with 1 when the total
is under LEAST percent."""
import collections
import glob
import json
import os
import subprocess
import sys

BATCH = 50


def gcov_texts(build, notes):
    """JSON of gcov for some .gcno files; one without counts is all zeros."""
    done = subprocess.run(["gcov", "--json-format", "--stdout"] + notes, cwd=build, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for text in done.stdout.decode().splitlines():
        if text.strip():
            yield json.loads(text)


def notes_of(build):
    found = []
    for where, _, names in os.walk(build):
        found += [os.path.abspath(os.path.join(where, n)) for n in names if n.endswith(".gcno")]
    return sorted(found)


def count_lines(build, root, source):
    """{file: {line: runs}} of the files below source, relative to root."""
    lines = collections.defaultdict(lambda: collections.defaultdict(int))
    notes = notes_of(build)
    for i in range(0, len(notes), BATCH):
        for text in gcov_texts(build, notes[i:i + BATCH]):
            for f in text["files"]:
                path = os.path.normpath(os.path.join(text["current_working_directory"], f["file"]))
                name = os.path.relpath(path, root)
                if not name.startswith(source + os.sep):
                    continue
                for line in f["lines"]:
                    lines[name][line["line_number"]] += line["count"]
    return lines


def ranges(numbers):
    out = []
    for n in numbers:
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def without_objects(build, root, source):
    """Sources that no object of the build comes from: they would be missing from the sum. One that
    has only data has an object and no lines."""
    for where, _, names in os.walk(os.path.join(root, source)):
        below = os.path.relpath(where, root)
        for n in names:
            notes = os.path.join(build, below, "CMakeFiles", "*.dir", n + ".gcno")
            if n.endswith(".c") and not glob.glob(notes):
                yield os.path.join(below, n)


def main(build, source, least, uncovered):
    root = os.getcwd()
    lines = count_lines(build, root, source)
    n_all = n_run = 0
    with open(uncovered, "w", encoding="utf-8") as rest:
        for name in sorted(lines):
            of = lines[name]
            run = sum(1 for n in of.values() if n)
            n_all, n_run = n_all + len(of), n_run + run
            print(f"{100 * run / len(of):6.1f} %  {run:5} of {len(of):5}  {name}")
            if run < len(of):
                rest.write(f"{name}: {ranges(sorted(n for n, c in of.items() if not c))}\n")
    missing = sorted(without_objects(build, root, source))
    for name in missing:
        print(f"   no object of the build comes from {name}")
    total = 100 * n_run / n_all if n_all else 0
    print(f"{total:6.1f} %  {n_run:5} of {n_all:5}  total of {source}/, {least} % are wanted; "
          f"the rest: {uncovered}")
    return 0 if total >= float(least) and not missing else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
