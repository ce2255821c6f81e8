#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""structure.py - draws two pictures beside this script: cell.svg, what is measured when, and processes.svg,
which process starts which."""
import pathlib

INK, SOFT, LINE = "#1b2330", "#3d4856", "#5a6675"
FILL = {"blue": "#eef3fa", "green": "#e6f4ee", "amber": "#fdf3e1", "gray": "#f1f3f5", "white": "#ffffff"}
EDGE = {"blue": "#0b5cad", "green": "#1b6e4b", "amber": "#a35b00", "gray": "#5a6675", "white": "#5a6675"}


def text(x, y, words, size=12.5, color=SOFT, weight=400, anchor="start"):
    return (f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" font-weight="{weight}"'
            f' text-anchor="{anchor}">{words}</text>')


def box(x, y, width, height, color, title, lines=(), size=13):
    out = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" fill="{FILL[color]}"'
           f' stroke="{EDGE[color]}" stroke-opacity=".5"/>']
    first = y + height / 2 + 4.5 - 8 * len(lines)
    out.append(text(x + width / 2, first, title, size, INK, 600, "middle"))
    out += [text(x + width / 2, first + 16 * (i + 1), line, 11.5, anchor="middle") for i, line in enumerate(lines)]
    return out


def arrow(*points, dash=False):
    path = "L".join(f"{x} {y}" for x, y in points)
    style = ' stroke-dasharray="4 4"' if dash else ""
    return f'<path d="M{path}" fill="none" stroke="{LINE}" stroke-width="1.4"{style} marker-end="url(#tip)"/>'


def save(name, width, height, title, parts):
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="system-ui, Segoe UI, Roboto, Liberation Sans, Arial, sans-serif" role="img">',
            f"<title>{title}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="14" fill="#ffffff"/>']
    pathlib.Path(__file__).with_name(name).write_text("\n".join(head + parts + ["</svg>", ""]))


def row(y, height, x, gap, boxes):
    """Boxes side by side: (width, color, title, lines...)."""
    out = []
    for width, color, title, *lines in boxes:
        out += box(x, y, width, height, color, title, lines)
        x += width + gap
    return out


def zoom(y, x0, x1):
    """From a box above to the whole row below."""
    return [f'<path d="M{x0} {y}L20 {y + 34}L940 {y + 34}L{x1} {y}z" fill="{FILL["gray"]}"/>']


def cell():
    parts = [text(20, 30, "A block: one problem on one device", 14.5, INK, 600),
             text(20, 330, "Rounds: with visits, the instances that can still be the best are measured again, later,"
                  " in a fresh worker", 14.5, INK, 600)]
    parts += zoom(90, 248, 358)
    parts += row(42, 48, 20, 8, [(100, "amber", "anchor"), (104, "blue", "cell A"), (110, "green", "cell B"),
                                 (110, "blue", "cell C"), (234, "blue", "... all instances of the problem"),
                                 (110, "blue", "cell N"), (100, "amber", "anchor")])
    parts += zoom(190, 474, 712)
    parts += row(124, 66, 20, 8, [(92, "white", "load", "sealed object"), (112, "white", "applicable?", "unsupported"),
                                  (126, "white", "exact (V1)", "integers,", "bit for bit"), (92, "white", "warm-up"),
                                  (238, "green", "timing (V2)", "samples, some of them checked"),
                                  (108, "white", "final checks", "guards, noise,", "floor"),
                                  (100, "white", "record", "to the journal")])
    parts += row(224, 66, 20, 6, [(70, "white", "sample"), (70, "white", "sample"),
                                  (190, "green", "verified sample", "new inputs, poisoned output;", "every element compared"),
                                  (70, "white", "sample"),
                                  (166, "green", "fresh sample", "the other inputs;", "digest compared"),
                                  (70, "white", "sample"),
                                  (172, "green", "placebo sample", "same memory traffic,", "nothing changes"),
                                  (64, "white", "...")])
    parts += row(344, 48, 20, 8, [(296, "blue", "round 0: all cells of the block"), (296, "gray", "other problems, at least gap_s"),
                                  (312, "green", "visit: anchor, A B C C B A, anchor")])
    save("cell.svg", 960, 412, "A block measures all instances of a problem between two anchors; a cell loads, checks, warms"
         " up, samples with checks between the samples, and sends its record; visits repeat the best ones later", parts)


def processes():
    parts = row(30, 58, 20, 0, [(190, "gray", "ksweep run -n N", "parent, one host only; no MPI")])
    parts += row(30, 58, 300, 0, [(160, "gray", "mpirun or srun", "starts the ranks")])
    parts += [arrow((210, 59), (300, 59)), arrow((380, 88), (380, 112), (205, 112), (205, 140)),
              arrow((380, 112), (700, 112), (700, 140))]
    for x, title, note in ((20, "rank 0", "coordinates, owns the journal; measures, too"),
                           (515, "rank 1 ... N-1", "one device each")):
        parts += box(x, 140, 370, 56, "blue", title, [note])
        parts += box(x, 236, 370, 56, "green", "warden",
                     ["forked before MPI_Init; starts, limits and kills processes"])
        parts += row(332, 58, x, 8, [(120, "amber", "worker", "ksweep-worker"), (118, "white", "compilers", "before timing"),
                                     (116, "white", "profiler", "other programs")])
        parts += [arrow((x + 185, 196), (x + 185, 236))]
        parts += [arrow((x + at, 292), (x + at, 332)) for at in (60, 187, 312)]
    parts += [arrow((515, 160), (390, 160)), arrow((390, 180), (515, 180)),
              text(452, 152, "records (MPI)", 11.5, anchor="middle"), text(452, 196, "leases", 11.5, anchor="middle"),
              arrow((20, 361), (8, 361), (8, 168), (20, 168), dash=True), text(26, 222, "records (pipe)", 11.5),
              text(20, 424, "A worker runs the kernels: it may crash or hang without affecting its rank. Links: ksweep loads MPI"
                   " under a launcher only,", 12), text(20, 442, "ksweep-worker loads the GPU runtime; no process loads both.", 12)]
    save("processes.svg", 905, 458, "mpirun starts the ranks; each rank has a warden, which starts workers, compilers and"
         " profilers; rank 0 gives leases and receives records", parts)


cell()
processes()
