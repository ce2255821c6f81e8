#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of GPU kernels from their machine code; no GPU is needed.

usage: machine_code.py measure BENCH_UNITS SETS OUT [ARCH...]   compiles and counts; the table goes to OUT
       machine_code.py compare KEPT OUT                         what has grown since KEPT; exit status 1: something has
       machine_code.py summary OUT                              a line for each arch, family and matrix instruction
       machine_code.py keys KEPT OUT                            "key value" lines for the table of run.sh

SETS: JSON, a list of { "arch": [..], "operator", "problems", "config", "filter" }, as in a job; paths are
relative to it. An arch without its compiler or disassembler is left out, and a line that begins with '#' says
why. Figures of another compiler than KEPT's are compared within wider limits; `keys` leaves them out. Exit status
77: nothing can be measured (compared).

AMD: the compiler's assembly text. NVIDIA: cuobjdump, in PATH, $CUDA_HOME/bin, or a Python package
(nvidia-cuda-cuobjdump); KSWEEP_CUOBJDUMP names one.

The hot loop of a kernel is the innermost loop with the most products. Its figures, per step of tile_k:
  instr     instructions              branch  branches, the one back to the top included
  mma       matrix instructions (of simt multiply-adds)
  load      loads from memory, asynchronous copies   lds  accesses of LDS
  wait      waits and barriers        local   accesses of scratch memory
Of the whole kernel: regs (AMD: vector registers, accumulation registers included), spills (registers; NVIDIA:
0, see scratch), scratch (bytes a thread), lds_bytes, code_bytes.
"""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

COLUMNS = ("instr", "branch", "mma", "load", "lds", "wait", "local", "steps", "regs", "spills",
           "scratch", "lds_bytes", "code")
# That of the kept figures, where there is a choice, and the archs that it does not know.
AMD_COMPILER, NEWER = "clang-19", ("gfx950",)
# What may not grow, and how much of it is still no growth: a share, and an absolute number.
LIMITS = {"instr": (0.02, 2), "branch": (0, 0), "local": (0, 0), "wait": (0.05, 1), "regs": (0, 8),
          "spills": (0, 0), "scratch": (0, 0), "lds_bytes": (0, 0)}
# Between two compilers: what follows from the kernel's source, and that nothing spills; not how the rest is arranged.
OTHER_LIMITS = {"instr": (0.25, 4), "mma": (0, 0), "load": (0, 0), "local": (0, 0), "regs": (0.25, 8), "spills": (0, 0),
                "scratch": (0, 0), "lds_bytes": (0, 0)}


class Kernel:
    """Instructions as texts; where the branches among them lead; figures of the whole kernel."""

    def __init__(self):
        self.code, self.targets, self.whole = [], {}, {}


# --- what the tools print

def amd_kernels(text):
    """{name: Kernel} of the compiler's assembly text."""
    out, k, labels, jumps = {}, None, {}, []
    for line in text.splitlines():
        m = re.match(r"(k\d+_kernel\d+):", line)
        if m:
            k = out[m[1]] = Kernel()
            labels, jumps = {}, []
        elif k and line.startswith(".Lfunc_end"):
            for at, label in jumps:
                k.targets[at] = labels[label]
            k = None
        elif k and re.match(r"\.L\w+:", line):
            labels[line.split(":")[0]] = len(k.code)
        elif k and re.match(r"\t[a-z]", line):
            word = line.split(";")[0].split("//")[0].strip()
            m = re.match(r"s_c?branch\w* (\.L\w+)", word)
            if m:
                jumps.append((len(k.code), m[1]))
            k.code.append(word)
    for part in text.split("amdhsa.kernels:")[-1].split("  - .agpr_count:")[1:] or \
            text.split("amdhsa.kernels:")[-1].split("  - .args:")[1:]:
        amd_metadata("    .agpr_count:" + part, out)
    return out


def amd_metadata(part, kernels):
    get = dict(re.findall(r"^    \.(\w+): +(\S+)", part, re.M))
    k = kernels.get(get.get("name"))
    if k:
        k.whole = {"regs": int(get["vgpr_count"]),
                   "spills": int(get["vgpr_spill_count"]) + int(get["sgpr_spill_count"]),
                   "scratch": int(get["private_segment_fixed_size"]),
                   "lds_bytes": int(get["group_segment_fixed_size"])}


def cuda_kernels(sass, usage):
    """{name: Kernel} of what cuobjdump -sass and -res-usage print."""
    out, k, jumps = {}, None, []
    for line in sass.splitlines():
        m = re.match(r"\s+Function : (\S+)", line)
        if m:
            k = out[m[1]] = Kernel()
            jumps.append((k, {}, []))
        m = k and re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line)
        if m and m[2] != "NOP":
            jumps[-1][1][int(m[1], 16)] = len(k.code)
            to = re.search(r"\bBRA\b.* 0x([0-9a-f]+)$", m[2])
            if to:
                jumps[-1][2].append((len(k.code), int(to[1], 16)))
            k.code.append(m[2])
    for k, places, all_jumps in jumps:
        k.targets = {at: places[to] for at, to in all_jumps if to in places}
    for name, regs, stack in re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", usage):
        out[name].whole = {"regs": int(regs), "spills": 0, "scratch": int(stack)}
    return out


# --- the hot loop

def is_end(word):
    return bool(re.match(r"(s_branch|s_endpgm|s_setpc|EXIT|BRA 0x|RET)", word))


def flow(k):
    """For each instruction those that may follow it."""
    after = []
    for at, word in enumerate(k.code):
        to = [] if is_end(word) or at + 1 == len(k.code) else [at + 1]
        after.append(to + [k.targets[at]] if at in k.targets else to)
    return after


def cycles(nodes, after):
    """Strongly connected components of more than one instruction (Tarjan 1972, without recursion)."""
    index, low, stack, on_stack, out = {}, {}, [], set(), []
    for root in nodes:
        todo = [] if root in index else [(root, 0)]
        while todo:
            at, i = todo.pop()
            if i == 0:
                index[at] = low[at] = len(index)
                stack.append(at)
                on_stack.add(at)
            follow = [x for x in after[at] if x in nodes]
            if i > 0:
                low[at] = min(low[at], low[follow[i - 1]])
            while i < len(follow) and follow[i] in index:
                if follow[i] in on_stack:
                    low[at] = min(low[at], index[follow[i]])
                i += 1
            if i < len(follow):
                todo += [(at, i + 1), (follow[i], 0)]
            elif low[at] == index[at]:
                found = set()
                while at not in found:
                    found.add(stack.pop())
                on_stack -= found
                if len(found) > 1:
                    out.append(found)
    return out


def hot_loop(k, worth):
    """The innermost loop that has as many products as any."""
    after, best, nodes = flow(k), set(), set(range(len(k.code)))
    while True:
        value = lambda body: sum(worth[i] for i in body)
        found = max(cycles(nodes, after), key=lambda body: (value(body), -len(body)), default=set())
        if not found or value(found) < max(value(best), 1):
            return best
        best = found
        entries = {x for at in range(len(k.code)) if at not in best for x in after[at] if x in best}
        nodes = best - (entries or {0})


def product(word):
    """Multiply-adds of a wave's matrix instruction; 0 of others."""
    m = re.search(r"(?:mfma|wmma|smfmac)_\w*?f32_(\d+)x(\d+)x(\d+)", word)
    if m:
        return int(m[1]) * int(m[2]) * int(m[3])
    m = re.search(r"\bHGMMA\.(\d+)x(\d+)x(\d+)", word)
    if m:
        return int(m[1]) * int(m[2]) * int(m[3])
    m = re.search(r"\bHMMA\.(16|8)(8)(8|16|32)\b", word)
    return int(m[1]) * int(m[2]) * int(m[3]) if m else 0


def plain_product(word):
    """Multiply-adds of a thread, or products that are added elsewhere."""
    if re.search("v_pk_(fma|mul)_f32", word):
        return 2
    return len(re.findall(r"v_(?:dual_)?(?:fma|fmac|mac|fma_mix|fmamk|fmaak)_f32|\bFFMA\b", word))


# Vector memory of AMD: buffer_, flat_, global_ load; scratch_ is the frame's. Of NVIDIA as it is called there.
KINDS = (("load", r"^(buffer|global|flat)_load|\b(LDG|LDGSTS)\b"),
         ("lds", r"^ds_(read|write|load|store)|\b(LDS|STS|LDSM)\b"),
         ("wait", r"^s_(wait\w*|barrier\w*)\b|\b(BAR|DEPBAR|LDGDEPBAR|WARPSYNC|WARPGROUP)\b"),
         ("local", r"^scratch_|\b(LDL|STL)\b"))
BRANCH = re.compile(r"^s_c?branch|\b(BRA|BRX|JMP|CALL)\b")


def figures(k, traits):
    """{column: figure}; None: no loop has products."""
    is_simt = traits["KT_MMA"] == 0
    worth = [plain_product(w) if is_simt else product(w) for w in k.code]
    best = hot_loop(k, worth)
    done = sum(worth[i] for i in best)
    if not done:
        return None
    share = traits["KT_THREAD_M"] * traits["KT_THREAD_N"] if is_simt else \
        traits["KT_TILE_M"] * traits["KT_TILE_N"] // (traits["KT_WAVE_M"] * traits["KT_WAVE_N"])
    steps = done / (share * traits["KT_TILE_K"])
    body = [k.code[i] for i in best]
    body = [re.sub(r"^@!?U?P\w+ +", "", w) for w in body]
    out = {"instr": len(body), "branch": sum(bool(BRANCH.search(w)) for w in body),
           "mma": sum(worth[i] > 0 for i in best)}
    for kind, pattern in KINDS:
        out[kind] = sum(bool(re.search(pattern, w)) for w in body)
    out = {key: round(value / steps, 1) for key, value in out.items()}
    out.update(k.whole, steps=round(steps, 2), code=len(k.code))
    return out


# --- units

def read(path):
    with open(path) as f:
        return f.read()


def traits_of(device):
    """{kN: {macro: value}} of a unit's device half."""
    out, macros = {}, {}
    for name, value in re.findall(r"^#define (KT_\w+|KS_PREFIX) (\S+)$", device, re.M):
        if name == "KS_PREFIX":
            out[value], macros = macros, {}
        else:
            macros[name] = int(value)
    return out


def names_of(unit):
    """[(instance, kN)]: each instance and the kernels that it launches."""
    kernels = re.findall(r'"(k\d+)"', unit.split("const char *const kernels[]")[1].split("}")[0])
    return list(zip(re.findall(r'^#define KS_NAME "(.*)"$', unit, re.M), kernels))


def shared_of(traits):
    """Bytes of shared memory of a kernel of NVIDIA's: its size is in the launch, so by tile.h."""
    element = 4 if traits["KT_DTYPE"] == 0 else 2
    buffers = {2: 2, 4: traits["KT_PREFETCH"], 5: traits["KT_PREFETCH"]}.get(traits["KT_PIPE"], 1)
    pad = traits["KT_LDS_PAD"]
    return buffers * (traits["KT_TILE_M"] + traits["KT_TILE_N"]) * (traits["KT_TILE_K"] * element + pad)


def find_cuobjdump():
    named = os.environ.get("KSWEEP_CUOBJDUMP")
    homes = [os.environ.get(v, "") + "/bin/cuobjdump" for v in ("CUDA_HOME", "CUDA_PATH")]
    wheels = [f for d in sys.path for f in glob.glob(d + "/nvidia/cu*/bin/cuobjdump")]
    for path in [named] if named else [shutil.which("cuobjdump")] + homes + wheels:
        if path and os.access(path, os.X_OK):
            return path
    return None


def compile_unit(directory, is_amd):
    """Runs the command of the device's half; what the tools print of it."""
    command = device_command(directory)
    if is_amd:
        command = command.replace("'-o' 'device.img'", "'-S' '-o' 'device.img'")
    run = subprocess.run(["sh", "-c", command], cwd=directory, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"machine_code.py: {directory}: {run.stderr[-500:]}")
    if is_amd:
        return amd_kernels(read(directory + "/device.img"))
    say = lambda what: subprocess.run([find_cuobjdump(), what, "device.img"], cwd=directory, check=True,
                                      capture_output=True, text=True).stdout
    return cuda_kernels(say("-sass"), say("-res-usage"))


def rows_of_unit(directory, arch):
    """[(instance, figures)] of each distinct kernel."""
    is_amd, out, done = arch.startswith("gfx"), [], set()
    traits = traits_of(read(directory + "/device.c"))
    if any("KT_MMA" not in t for t in traits.values()):
        return out  # the judge
    kernels = compile_unit(directory, is_amd)
    for instance, k in names_of(read(directory + "/unit.c")):
        if k in done:
            continue
        done.add(k)
        f = figures(kernels[k + "_kernel0"], traits[k])
        if f is None:
            sys.exit(f"machine_code.py: {arch} {instance}: no loop has products")
        if not is_amd:
            f["lds_bytes"] = shared_of(traits[k])
        out.append((instance, f))
    return out


def device_command(directory):
    return next(l for l in read(directory + "/compile.sh").splitlines() if "device.c" in l)


def put_job(path, s, arch, here):
    at = lambda name: os.path.normpath(os.path.join(here, name))
    kernels = {"config": at(s["config"])}
    if s.get("filter"):
        kernels["filter"] = s["filter"]
    job = {"name": "code", "operator": s["operator"], "kernels": [kernels],
           "problems": [dict(s["problems"], file=at(s["problems"]["file"]), sample=1, seed=1)],
           "device": {"backend": "hip" if arch.startswith("gfx") else "cuda", "arch": arch}}
    with open(path, "w") as f:
        json.dump(job, f)


def put_units(bench_units, s, arch, here, work):
    """The sources of a set in work/units, none where no compiler is; what bench_units says against it."""
    put_job(work + "/job.json", s, arch, here)
    env = dict(os.environ)
    if arch.startswith("gfx") and arch not in NEWER and shutil.which(AMD_COMPILER):
        env.setdefault("KSWEEP_HIPCC", AMD_COMPILER)
    return subprocess.run([bench_units, work + "/job.json", work + "/units", "8"], capture_output=True,
                          text=True, env=env).stderr


def rows_of_set(bench_units, s, arch, here, work):
    said = put_units(bench_units, s, arch, here, work)
    units = sorted(os.path.dirname(f) for f in glob.glob(work + "/units/*/device.c"))
    if not units:
        sys.exit(f"machine_code.py: {arch}, {s['config']}: {said}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for of_unit in pool.map(lambda d: rows_of_unit(d, arch), units) for row in of_unit]
    shutil.rmtree(work + "/units")
    return rows


# --- commands

def version_of(directory):
    """What the compiler of a unit's device half says of itself."""
    command = shlex.split(device_command(directory))[0]
    said = subprocess.run([command, "--version"], capture_output=True, text=True).stdout.splitlines()
    return next((l for l in said if "release" in l or "version" in l), said[0]).split(" (")[0]


def look(arch, bench_units, s, here, work):
    """(the compiler's version, why an arch cannot be measured here or None)"""
    if arch.startswith("sm_") and not find_cuobjdump():
        return "", "cuobjdump is not installed (pip install nvidia-cuda-cuobjdump, or KSWEEP_CUOBJDUMP)"
    said = put_units(bench_units, s, arch, here, work)
    found = glob.glob(work + "/units/*/device.c")
    version = version_of(os.path.dirname(found[0])) if found else ""
    shutil.rmtree(work + "/units", ignore_errors=True)
    return version, None if found else said.strip() or "no compiler here builds for it"


def measure(bench_units, sets_file, out, archs):
    here = os.path.dirname(os.path.abspath(sets_file))
    sets = json.loads(read(sets_file))
    work = out + ".work"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    lines, n = [], 0
    for arch in archs or sorted({a for s in sets for a in s["arch"]}):
        mine = [s for s in sets if arch in s["arch"]]
        version, why = look(arch, bench_units, mine[0], here, work) if mine else ("", "no set names it")
        lines.append(f"# {arch}: " + (f"left out: {why}" if why else version))
        if why:
            continue
        lines.append("# " + " ".join(["arch", "instance", *COLUMNS]))
        rows = {}
        for s in mine:
            rows.update(rows_of_set(bench_units, s, arch, here, work))
        for instance, f in rows.items():
            lines.append(" ".join([arch, instance, *(f"{f[c]:g}" for c in COLUMNS)]))
            n += 1
    shutil.rmtree(work)
    with open(out, "w") as f:
        f.write("\n".join(lines) + "\n")
    return 0 if n else 77


def table(path):
    """({(arch, instance): {column: number}}, {arch: what is said of it})"""
    out, said = {}, {}
    for line in read(path).splitlines():
        w = line.split()
        m = re.match(r"# (\w+): (.*)", line)
        if m:
            said[m[1]] = m[2]
        elif w and w[0] != "#":
            out[w[0], w[1]] = dict(zip(COLUMNS, map(float, w[2:])))
    return out, said


def comparable(kept_file, new_file):
    """(kept, new) of the archs whose compiler is that of the kept figures; says which are left out."""
    (kept, kept_said), (new, said) = table(kept_file), table(new_file)
    for arch in sorted(said):
        if said[arch] != kept_said.get(arch):
            print(f"not compared: {arch}: {said[arch]}; kept: {kept_said.get(arch, 'nothing')}", file=sys.stderr)
            new = {key: f for key, f in new.items() if key[0] != arch}
    return kept, new


def growth(was, f, limits=LIMITS):
    """[(column, before, now)] of what has grown."""
    return [(c, was[c], f[c]) for c, (share, number) in limits.items()
            if f[c] > max(was[c] * (1 + share), was[c] + number)]


def compare(kept_file, new_file):
    (kept, kept_said), (new, said) = table(kept_file), table(new_file)
    is_other = {arch: said[arch] != kept_said.get(arch) for arch in said}
    n_grown = n_unknown = 0
    for arch in sorted({arch for arch, _ in new if is_other[arch]}):
        print(f"another compiler, wider limits: {arch}: {said[arch]}; kept: {kept_said.get(arch, 'nothing')}")
    for key, f in new.items():
        if key not in kept:
            print(f"not kept: {' '.join(key)}")
            n_unknown += 1
        for column, before, now in growth(kept.get(key, f), f, OTHER_LIMITS if is_other[key[0]] else LIMITS):
            print(f"grown: {' '.join(key)}: {column} {before:g} -> {now:g}")
            n_grown += 1
    print(f"{len(new)} kernels compared: {n_grown} figures have grown, {n_unknown} kernels are not kept")
    return 1 if n_grown or n_unknown else 0 if new else 77


def keys(kept_file, new_file):
    kept, same = comparable(kept_file, new_file)
    new = table(new_file)[0]
    for arch in sorted({arch for arch, _ in new}):
        rows = [f for key, f in new.items() if key[0] == arch]
        instr = sorted(f["instr"] for f in rows)
        values = {"kernels": len(rows), "instr": instr[len(instr) // 2], "branch": max(f["branch"] for f in rows),
                  "spilling": sum(f["spills"] + f["scratch"] > 0 for f in rows),
                  "compared": sum(key[0] == arch and key in kept for key in same),
                  "grown": sum(bool(growth(kept[key], f)) for key, f in same.items() if key[0] == arch and key in kept)}
        for key, value in values.items():
            print(f"{arch}.{key} {value:g}")
    return 0


def summary(path):
    groups = {}
    for (arch, instance), f in table(path)[0].items():
        m = re.search(r"_(simt|mfma\w+?|wmma\w+?|mma\w+?|wgmma\w+?)(?:_|$)", instance)
        family = re.match(r"gemm|grouped_conv_(?:backward_data|backward_weight|forward)", instance)
        groups.setdefault((arch, family[0], m[1]), []).append(f)
    print("arch family instruction kernels instr_median instr_most branch_most spilling local_most regs_most")
    for key, rows in sorted(groups.items()):
        instr = sorted(f["instr"] for f in rows)
        most = lambda column: max(f[column] for f in rows)
        spilling = sum(f["spills"] + f["scratch"] > 0 for f in rows)
        print(*key, len(rows), f"{instr[len(instr) // 2]:g} {instr[-1]:g} {most('branch'):g} {spilling} "
              f"{most('local'):g} {most('regs'):g}")
    return 0


def main(argv):
    if len(argv) >= 4 and argv[0] == "measure":
        return measure(argv[1], argv[2], argv[3], argv[4:])
    if len(argv) == 3 and argv[0] in ("compare", "keys"):
        return {"compare": compare, "keys": keys}[argv[0]](argv[1], argv[2])
    if len(argv) == 2 and argv[0] == "summary":
        return summary(argv[1])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
