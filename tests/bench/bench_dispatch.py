#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast cells go out and records come in: 8 ranks, the worker is tests/bench/dispatch_worker.c.

usage: bench_dispatch.py KSWEEP WORKER DIR    lines "key value"; DIR: an empty directory

Everything but the worker is the product's: agents, MPI, coordinator, journal, fsync. Beside it, in the
same run: tasks that do nothing through mpi4py.futures (Debian: python3-mpi4py), chunksize 1, 8 workers.
"""
import json
import os
import signal
import subprocess
import sys
import time

RANKS = 8
HEADER = ("operator,direction,dtype,layout,ndim,n,g,c_total,k_total,di,hi,wi,z,y,x,stride_d,stride_h,"
          "stride_w,dilation_d,dilation_h,dilation_w,pad_d_lo,pad_h_lo,pad_w_lo,pad_d_hi,pad_h_hi,"
          "pad_w_hi,count,name")
FUTURES = """
import sys, time
from mpi4py.futures import MPIPoolExecutor
def task(i):
    return None
if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=%d) as pool:
        list(pool.map(task, range(200)))
        start = time.monotonic()
        list(pool.map(task, range(20000), chunksize=1))
        print("RATE", 20000 / (time.monotonic() - start))
"""


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def make_job(where, name, cell_us, n_problems, n_instances):
    """A job for `n_problems` x `n_instances` cells of cell_us microseconds; its path."""
    values = lambda n: list(range(n))
    traits = [{"name": n, "macro": "KT_" + n.upper(), "kind": "int", "values": values(v), "default": 0,
               "help": "a number"} for n, v in (("hundreds", 20), ("rest", 100))]
    family = {"name": "dispatch", "why": "instances without kernels", "operator": "grouped_conv",
              "direction": "forward", "dtype": "fp32", "layout": "nhwgc", "backend": "host",
              "source": "none.k", "name_pattern": "none_{hundreds}_{rest}", "traits": traits}
    config = {"family": "none.family.json", "why": "many instances", "instances": [
        {"hundreds": values(max(1, n_instances // 100)), "rest": values(min(100, n_instances))}]}
    job = {"name": name, "why": "records as fast as they come", "operator": "grouped_conv",
           "kernels": [{"config": "none.json"}], "problems": [{"file": name + ".csv"}],
           "device": {"backend": "sim", "arch": f"us={cell_us}"},
           "measure": {"warmup_ms": 1, "min_samples": 5, "max_samples": 30, "contention": {
               "retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
           "isolate": {"batch": 10000}, "verify": {"exact": False, "elementwise": False}}
    write(f"{where}/none.k", "")
    write(f"{where}/none.family.json", json.dumps(family))
    write(f"{where}/{name}-none.json", json.dumps(config))
    job["kernels"][0]["config"] = f"{name}-none.json"
    rows = [f"grouped_conv,forward,fp32,nhwgc,2,1,1,16,16,1,{1 + i // 50},{1 + i % 50},1,1,1,1,1,1,1,1,1,"
            f"0,0,0,0,0,0,1,p{i}" for i in range(n_problems)]
    write(f"{where}/{name}.csv", "\n".join([HEADER] + rows) + "\n")
    write(f"{where}/{name}.json", json.dumps(job))
    return f"{where}/{name}.json"


def launcher(n):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", "-n", str(n), "--oversubscribe", "--bind-to", "none", "--enable-recovery"] + root


def rank_pids(out):
    """{rank: pid} of the ranks of the run into `out`."""
    pids = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if out.encode() not in f.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() != "ksweep":
                    continue
            with open(f"/proc/{pid}/environ", "rb") as f:
                env = dict(e.split(b"=", 1) for e in f.read().split(b"\0") if b"=" in e)
            pids[int(env[b"OMPI_COMM_WORLD_RANK"])] = int(pid)
        except (OSError, KeyError):
            continue
    return pids


def cpu_s(pid):
    """Of all threads that live; in ns, while /proc/PID/stat counts ticks of 10 ms."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total * 1e-9


def run(ksweep, worker, job, out, limit_s, sample=None):
    """A sweep; sample = (after_s, for_s): {rank: share of a core} meanwhile."""
    env = dict(os.environ, KSWEEP_WORKER=worker)
    process = subprocess.Popen(
        launcher(RANKS) + [ksweep, "run", job, "--out", out, "--max-time", f"{limit_s}s"], env=env,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    shares = {}
    try:
        if sample:
            time.sleep(sample[0])
            before, start = {r: (p, cpu_s(p)) for r, p in rank_pids(out).items()}, time.monotonic()
            time.sleep(sample[1])
            for rank, (pid, cpu) in before.items():
                shares[rank] = (cpu_s(pid) - cpu) / (time.monotonic() - start)
        said = process.communicate(timeout=limit_s + 120)[0]
    except Exception:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    if not os.path.exists(out + "/results.h5"):
        sys.exit(said.decode())
    return shares


def results(out):
    import h5py
    import numpy

    with h5py.File(out + "/results.h5") as f:
        rows, events = f["attempts"][:], f["events"][:]
    rows = rows[rows["role"] == 0]
    total = {"ack_p99_us": 0, "wait_ns": 0, "worker_ns": 0}
    for e in events[events["kind_text"] == b"rank_summary"]:
        said = dict(w.split("=") for w in e["text"].decode().split())
        total["ack_p99_us"] = max(total["ack_p99_us"], int(said["ack_p99_us"]))
        total["wait_ns"] += int(said["wait_ns"])
        total["worker_ns"] += int(said["worker_ns"])
    began = numpy.sort(rows["started_ns"])
    return len(rows), float(began[-1] - began[0]) * 1e-9, total


def futures_rate(where):
    write(f"{where}/futures.py", FUTURES % RANKS)
    said = subprocess.run(launcher(RANKS + 1) + ["/usr/bin/python3", "-m", "mpi4py.futures",
                                                 f"{where}/futures.py"],
                          capture_output=True, text=True, timeout=300)
    rate = [float(line.split()[1]) for line in said.stdout.splitlines() if line.startswith("RATE")]
    return rate[0] if rate else sys.exit("mpi4py.futures: " + said.stderr)


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    ksweep, worker, where = argv
    job = make_job(where, "fast", 0, 300, 2000)
    run(ksweep, worker, job, f"{where}/fast-out", 60)
    n, seconds, total = results(f"{where}/fast-out")
    print("cells", n)
    print("cells_per_s", n / seconds)
    print("ack_p99_ms", total["ack_p99_us"] / 1000)
    job = make_job(where, "paced", 500, 200, 2000)
    shares = run(ksweep, worker, job, f"{where}/paced-out", 10, (3, 5))
    n, seconds, total = results(f"{where}/paced-out")
    print("offered_cells_per_s", n / seconds)
    print("offered_ack_p99_ms", total["ack_p99_us"] / 1000)
    print("rank0_core", shares[0])
    job = make_job(where, "slow", 10000, 100, 200)
    run(ksweep, worker, job, f"{where}/slow-out", 10)
    total = results(f"{where}/slow-out")[2]
    print("wait_share", total["wait_ns"] / (total["wait_ns"] + total["worker_ns"]))
    job = make_job(where, "idle", 8000000, 1, 1)
    shares = run(ksweep, worker, job, f"{where}/idle-out", 60, (4, 4))
    print("idle_core", sorted(s for r, s in shares.items() if r)[RANKS // 2 - 1])
    print("idle_rank0_core", shares[0])
    print("futures_per_s", futures_rate(where))


if __name__ == "__main__":
    main(sys.argv[1:])
