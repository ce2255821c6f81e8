#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lazy.py DIR PROBLEMS AXES... - how much memory and time the coordinator wants before the first cell
of a grid of PROBLEMS x product of AXES cells. Makes the job in DIR, runs it for some seconds with
the `sim` device, and prints `key value` lines: cells, start_s (from the start until there is a
worker), memory_mib (most that rank 0 held until then and for two seconds after). `ksweep` and
`ksweep-worker` are looked for in PATH."""
import json
import os
import subprocess
import sys
import time

HEADER = ("operator,direction,dtype,layout,ndim,n,g,c_total,k_total,di,hi,wi,z,y,x,stride_d,stride_h,"
          "stride_w,dilation_d,dilation_h,dilation_w,pad_d_lo,pad_h_lo,pad_w_lo,pad_d_hi,pad_h_hi,"
          "pad_w_hi,count,name\n")


def write(path, value):
    with open(path, "w") as f:
        json.dump(value, f)


def make(where, n_problems, axes):
    traits = [{"name": f"a{i}", "macro": f"KT_A{i}", "kind": "int", "values": list(range(n)),
               "default": 0, "help": "nothing"} for i, n in enumerate(axes)]
    write(f"{where}/lazy.family.json", {
        "name": "lazy", "why": "many", "operator": "grouped_conv", "direction": "forward",
        "dtype": "fp32", "layout": "nhwgc", "backend": "host", "source": "lazy.k",
        "name_pattern": "lazy" + "".join(f"_{{a{i}}}" for i in range(len(axes))), "traits": traits})
    write(f"{where}/lazy.json", {
        "family": "lazy.family.json", "why": "many",
        "instances": [{f"a{i}": list(range(n)) for i, n in enumerate(axes)}]})
    open(f"{where}/lazy.k", "w").close()
    with open(f"{where}/problems.csv", "w") as f:
        f.write(HEADER)
        for i in range(n_problems):
            f.write(f"grouped_conv,forward,fp32,nhwgc,2,1,1,{1 + i % 1000},4,1,{1 + i // 1000},8,"
                    f"1,1,1,1,1,1,1,1,1,0,0,0,0,0,0,1,p{i}\n")
    write(f"{where}/job.json", {
        "name": "lazy", "why": "a grid that is never stored", "operator": "grouped_conv",
        "kernels": [{"config": "lazy.json"}], "problems": [{"file": "problems.csv"}],
        "device": {"backend": "sim", "arch": "seed=1,ns=20000"},
        "measure": {"warmup_ms": 1, "min_samples": 5, "max_samples": 10},
        "verify": {"exact": False, "elementwise": False}})


def has_worker(session):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                name, _, rest = f.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name.startswith("ksweep-worker") and rest.split()[3] == str(session):
            return True
    return False


def most_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM"))


def main():
    where, n_problems, axes = sys.argv[1], int(sys.argv[2]), [int(a) for a in sys.argv[3:]]
    make(where, n_problems, axes)
    begun = time.monotonic()
    run = subprocess.Popen(["ksweep", "run", f"{where}/job.json", "--out", f"{where}/run",
                            "--max-time", "60s"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while not has_worker(run.pid):
            if run.poll() is not None or time.monotonic() - begun > 60:
                print("lazy.py: no worker was started", file=sys.stderr)
                return 1
            time.sleep(0.02)
        start_s = time.monotonic() - begun
        time.sleep(2)
        memory = most_mib(run.pid)
    finally:
        run.kill()
        run.wait()
    cells = n_problems
    for n in axes:
        cells *= n
    print(f"cells {cells}\nstart_s {start_s:.2f}\nmemory_mib {memory:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
