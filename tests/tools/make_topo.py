#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_topo.py - writes tests/data/topo/*.xml, machines for tests/unit/test_bind.c as hwloc reads
them (HWLOC_XMLFILE): the shapes of real nodes, with nothing in them but cores, caches, memory and
GPUs."""
import os
import sys


def bits(numbers):
    value = sum(1 << n for n in numbers)
    words = []
    while value or not words:
        words.insert(0, "0x%08x" % (value & 0xFFFFFFFF))
        value >>= 32
    return ",".join(words)


class Writer:
    def __init__(self):
        self.lines = ['<?xml version="1.0" encoding="UTF-8"?>',
                      '<!DOCTYPE topology SYSTEM "hwloc2.dtd">', '<topology version="2.0">']
        self.depth, self.gp = 0, 0

    def open(self, name, /, close=False, **attributes):
        self.gp += 1
        text = "".join(' %s="%s"' % item for item in attributes.items())
        self.lines.append("%s<object type=\"%s\" gp_index=\"%d\"%s%s>" % (
            " " * (self.depth + 1), name, self.gp, text, "/" if close else ""))
        self.depth += 0 if close else 1

    def close(self):
        self.depth -= 1
        self.lines.append(" " * (self.depth + 1) + "</object>")

    def text(self):
        return "\n".join(self.lines + ["</topology>", ""])


def sets(pus, nodes):
    return dict(cpuset=bits(pus), complete_cpuset=bits(pus), nodeset=bits(nodes),
                complete_nodeset=bits(nodes))


def pus_of(m, core):
    """As Linux numbers them: second hyperthreads come after all the first ones."""
    return [core + k * m["cores"] for k in range(m["smt"])]


def write_core(w, m, core, node):
    pus = pus_of(m, core)
    w.open("Core", os_index=core, **sets(pus, [node]))
    for pu in pus:
        w.open("PU", close=True, os_index=pu, **sets([pu], [node]))
    w.close()


def write_gpu(w, m, i):
    bus = m["gpus"][i][0]
    w.open("Bridge", bridge_type="0-1", depth=0, bridge_pci="0000:[%02x-%02x]" % (bus, bus))
    w.open("PCIDev", close=True, pci_busid="0000:%02x:00.0" % bus,
           pci_type="0380 [1002:740c] [1002:0b0c] 01", pci_link_speed="32.000000")
    w.close()


def write_node(w, m, node):
    per = m["cores"] // m["nodes"]
    cores = range(node * per, (node + 1) * per)
    pus = [p for c in cores for p in pus_of(m, c)]
    w.open("Group", kind=0, subkind=0, **sets(pus, [node]))
    w.open("NUMANode", close=True, os_index=node, local_memory=1 << 36, **sets(pus, [node]))
    for first in range(cores[0], cores[-1] + 1, m["l3"]):
        pus = [p for c in range(first, first + m["l3"]) for p in pus_of(m, c)]
        w.open("L3Cache", cache_size=32 << 20, depth=3, cache_linesize=64, cache_associativity=16,
               cache_type=0, **sets(pus, [node]))
        for core in range(first, first + m["l3"]):
            write_core(w, m, core, node)
        w.close()
    for i, gpu in enumerate(m["gpus"]):
        if gpu[1] == node:
            write_gpu(w, m, i)
    w.close()


def write_machine(m):
    w = Writer()
    everything = sorted(p for c in range(m["cores"]) for p in pus_of(m, c))
    nodes = range(m["nodes"])
    allowed = [p for c in m.get("allowed", range(m["cores"])) for p in pus_of(m, c)]
    w.open("Machine", os_index=0, allowed_cpuset=bits(allowed), allowed_nodeset=bits(nodes),
           **sets(everything, nodes))
    per = m["nodes"] // m["packages"]
    for package in range(m["packages"]):
        own = range(package * per, (package + 1) * per)
        cores = range(package * m["cores"] // m["packages"],
                      (package + 1) * m["cores"] // m["packages"])
        w.open("Package", os_index=package,
               **sets([p for c in cores for p in pus_of(m, c)], own))
        for node in own:
            write_node(w, m, node)
        w.close()
    w.close()
    return w.text()


MACHINES = {
    # 8 modules, one to each of 8 NUMA nodes of two sockets.
    "mi300": dict(packages=2, cores=128, smt=1, nodes=8, l3=8,
                  gpus=[(0x0c + 0x10 * i, i) for i in range(8)]),
    # 8 dies, whose numbers do not go up with the NUMA nodes they hang at.
    "mi250": dict(packages=1, cores=64, smt=2, nodes=4, l3=8,
                  gpus=[(0xc1, 3), (0xc6, 3), (0xc9, 1), (0xce, 1), (0xd1, 0), (0xd6, 0),
                        (0xd9, 2), (0xde, 2)]),
    # A control group leaves 6 of 16 cores, of two caches.
    "cgroup": dict(packages=1, cores=16, smt=1, nodes=1, l3=4, gpus=[],
                   allowed=[2, 3, 4, 5, 6, 7]),
}


def main():
    to = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__),
                                                            "../data/topo")
    for name, machine in MACHINES.items():
        with open(os.path.join(to, name + ".xml"), "w", encoding="utf-8") as f:
            f.write(write_machine(machine))


if __name__ == "__main__":
    main()
