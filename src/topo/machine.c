/* SPDX-License-Identifier: MIT */
/* machine.c - a host's topology from hwloc: cores, what is around them, where a PCI device is */
#include "topo/machine.h"

#include <stdio.h>
#include <stdlib.h>

void ks_machine_to_cpus(hwloc_const_bitmap_t from, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (hwloc_bitmap_isset(from, i))
            CPU_SET(i, out);
}

void ks_machine_cpu_text(const cpu_set_t *cpus, char *out, size_t cap)
{
    size_t used = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < CPU_SETSIZE && used + 1 < cap; i++) {
        unsigned last = i;
        int n;

        if (!CPU_ISSET(i, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        n = snprintf(out + used, cap - used, last == i ? "%s%u" : "%s%u-%u", used ? "," : "", i,
                     last);
        used += n > 0 ? (size_t)n : 0;
        i = last;
    }
}

/* Some virtual machines show logical CPUs only. */
static hwloc_obj_type_t core_type(const struct ks_machine *m)
{
    bool has_cores = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_CORE) > 0;
    return has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

static int find_cores(struct ks_machine *m, struct ks_err *err)
{
    hwloc_obj_t c = NULL;
    int n = hwloc_get_nbobjs_by_type(m->topology, core_type(m));

    m->cores = calloc(n > 0 ? (size_t)n : 1u, sizeof(*m->cores));
    if (!m->cores)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    while ((c = hwloc_get_next_obj_by_type(m->topology, core_type(m), c))) {
        struct ks_machine_core *k = &m->cores[m->n_cores];

        k->obj = c;
        ks_machine_to_cpus(c->cpuset, &k->cpus);
        m->n_cores += CPU_COUNT(&k->cpus) > 0;
    }
    return m->n_cores
               ? 0
               : ks_fail(err, KS_ENODEVICE, "this process may not run on any core of this host");
}

/* PCI devices only, from sysfs: what looks for the rest would start the vendors' runtimes here. */
static void look_for_pci(hwloc_topology_t t)
{
    static const char *const without[] = { "pci",  "opencl", "cuda",     "nvml",
                                           "rsmi", "gl",     "levelzero" };

    hwloc_topology_set_type_filter(t, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
        hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, without[i]);
}

int ks_machine_open(struct ks_machine *m, bool with_pci, struct ks_err *err)
{
    int rc = 0;

    *m = (struct ks_machine){ .n_cores = 0 };
    if (hwloc_topology_init(&m->topology) < 0)
        return ks_fail(err, KS_EIO, "hwloc cannot start");
    if (with_pci)
        look_for_pci(m->topology);
    if (hwloc_topology_load(m->topology) < 0)
        rc = ks_fail(err, KS_EIO, "hwloc cannot read the topology of this host");
    if (rc == 0)
        rc = find_cores(m, err);
    if (rc < 0)
        ks_machine_close(m);
    return rc;
}

void ks_machine_close(struct ks_machine *m)
{
    if (m->topology)
        hwloc_topology_destroy(m->topology);
    free(m->cores);
    *m = (struct ks_machine){ .n_cores = 0 };
}

hwloc_obj_t ks_machine_around(const struct ks_machine *m, uint32_t core, hwloc_obj_type_t type)
{
    hwloc_obj_t from = m->cores[core].obj, found = NULL;

    if (type != HWLOC_OBJ_L3CACHE)
        return hwloc_get_ancestor_obj_by_type(m->topology, type, from);
    for (hwloc_obj_t o = from; o; o = o->parent)
        if (hwloc_obj_type_is_dcache(o->type))
            found = o;
    return found;
}

bool ks_machine_near(const struct ks_machine *m, const char *pci, cpu_set_t *out)
{
    hwloc_obj_t dev = pci[0] ? hwloc_get_pcidev_by_busidstring(m->topology, pci) : NULL;
    hwloc_obj_t at = dev ? hwloc_get_non_io_ancestor_obj(m->topology, dev) : NULL;

    ks_machine_to_cpus(
        at && at->cpuset ? at->cpuset : hwloc_topology_get_topology_cpuset(m->topology), out);
    return at && at->cpuset;
}
