/* SPDX-License-Identifier: MIT */
/* machine.h - a loaded topology and its cores; private to src/topo. */
#ifndef KS_TOPO_MACHINE_H
#define KS_TOPO_MACHINE_H

#include "base/err.h"

#include <hwloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* This host; hwloc leaves out what a control group takes away. */
struct ks_machine {
    hwloc_topology_t topology;
    uint32_t n_cores;
    struct ks_machine_core *cores; /* [n_cores] in hwloc's order: neighbours share caches */
};

struct ks_machine_core {
    hwloc_obj_t obj;
    cpu_set_t cpus;
};

/* with_pci: look for PCI devices, too, which takes longer. KS_EIO; KS_ENODEVICE: no core. */
int ks_machine_open(struct ks_machine *m, bool with_pci, struct ks_err *err);
void ks_machine_close(struct ks_machine *m);

void ks_machine_to_cpus(hwloc_const_bitmap_t from, cpu_set_t *out);
/* "0-3,8", cut at cap. */
void ks_machine_cpu_text(const cpu_set_t *cpus, char *out, size_t cap);

/* The nearest object around a core of the kind; the last-level cache where type is L3 and there is
 * no L3; NULL: none. */
hwloc_obj_t ks_machine_around(const struct ks_machine *m, uint32_t core, hwloc_obj_type_t type);
/* CPUs nearest to a PCI device; false: not known, and then *out holds all. */
bool ks_machine_near(const struct ks_machine *m, const char *pci, cpu_set_t *out);

#endif
