#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""flow.py - draws flow.svg beside this script: what goes into a sweep, who measures, what comes out."""
import pathlib

WIDTH, HEIGHT = 960, 330
BOX = {"in": "#eef3fa", "run": "#e6f4ee", "out": "#fdf3e1"}
EDGE = {"in": "#0b5cad", "run": "#1b6e4b", "out": "#a35b00"}
COLUMNS = {"in": ("Input", 20, 190), "run": ("ksweep run", 270, 380), "out": ("ksweep-analyze", 710, 230)}
# (column, x, y, width, height, title, lines below it)
BOXES = [
    ("in", 34, 62, 162, 68, "configs", ["instances to build,", "by their traits"]),
    ("in", 34, 144, 162, 68, "problem lists", ["CSV, MIOpen lists,", "PyTorch traces"]),
    ("in", 34, 226, 162, 68, "job file", ["device, measurement,", "limits"]),
    ("run", 286, 62, 348, 50, "build", ["each instance once; equal machine code is detected"]),
    ("run", 286, 126, 166, 86, "rank 0 ... N", ["lease cells; the sweep", "survives lost ranks", "and hosts"]),
    ("run", 468, 126, 166, 86, "workers", ["run, verify, time;", "a crash or hang costs", "one cell, not the run"]),
    ("run", 286, 226, 348, 68, "journal, then results.h5",
     ["a record counts once it is synced to disk;", "--resume continues an interrupted run"]),
    ("out", 726, 62, 198, 50, "report, timeline", ["page, text, trace"]),
    ("out", 726, 123, 198, 50, "table", ["CSV, Parquet, HDF5"]),
    ("out", 726, 184, 198, 50, "oracle, compare", ["best instance, changes"]),
    ("out", 726, 245, 198, 50, "train, validate, select", ["a selector as C source"]),
]
ARROWS = [(196, 96, 270, 96), (196, 178, 270, 178), (196, 260, 270, 260), (452, 169, 468, 169),
          (369, 112, 369, 126), (551, 212, 551, 226),
          (650, 87, 726, 87), (650, 148, 726, 148), (650, 209, 726, 209), (650, 270, 726, 270)]


def text(x, y, words, size, color="#1b2330", extra=""):
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}"{extra}>{words}</text>'


def draw():
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
           ' font-family="system-ui, Segoe UI, Roboto, Liberation Sans, Arial, sans-serif" role="img">',
           "<title>Configs, problem lists and a job file go into ksweep run, which builds, verifies and times, and"
           " writes results.h5; ksweep-analyze makes reports, tables and selectors from it</title>",
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0L8 4L0 8z" fill="#5a6675"/></marker></defs>',
           f'<rect width="{WIDTH}" height="{HEIGHT}" rx="14" fill="#ffffff"/>']
    for kind, (title, x, width) in COLUMNS.items():
        out.append(f'<rect x="{x}" y="20" width="{width}" height="290" rx="12" fill="{BOX[kind]}"/>')
        out.append(text(x + 14, 46, title, 15, EDGE[kind], ' font-weight="600"'))
    for x0, y0, x1, y1 in ARROWS:
        out.append(f'<path d="M{x0} {y0}L{x1} {y1}" stroke="#5a6675" stroke-width="1.4" marker-end="url(#tip)"/>')
    for kind, x, y, width, height, title, lines in BOXES:
        out.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="#ffffff"'
                   f' stroke="{EDGE[kind]}" stroke-opacity=".45"/>')
        out.append(text(x + 12, y + 21, title, 14, extra=' font-weight="600"'))
        out.extend(text(x + 12, y + 39 + 16 * i, line, 12.5, "#3d4856") for i, line in enumerate(lines))
    return "\n".join(out + ["</svg>", ""])


pathlib.Path(__file__).with_name("flow.svg").write_text(draw())
