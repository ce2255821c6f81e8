/* SPDX-License-Identifier: MIT */
/* topo.c - counts the cores, sockets and caches that this process may use */
#include "topo/topo.h"

#include "topo/machine.h"

#include <stdio.h>

static uint32_t count_type(const struct ks_machine *m, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(m->topology, type);
    return n > 0 ? (uint32_t)n : 0;
}

static uint64_t cache_bytes(const struct ks_machine *m, uint32_t core, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_ancestor_obj_by_type(m->topology, type, m->cores[core].obj);

    return cache ? cache->attr->cache.size : 0;
}

static const char *cpu_model(const struct ks_machine *m)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, 0);
    const char *s = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

    if (!s)
        s = hwloc_obj_get_info_by_name(hwloc_get_root_obj(m->topology), "CPUModel");
    return s ? s : "unknown";
}

/* The cores that the mask leaves, and the first of them. */
static void count_cores(const struct ks_machine *m, const cpu_set_t *mask,
                        struct ks_topo_host *host, uint32_t *first_out)
{
    cpu_set_t both;

    for (uint32_t i = m->n_cores; i-- > 0;) {
        CPU_AND(&both, &m->cores[i].cpus, mask);
        if (CPU_COUNT(&both) == 0)
            continue;
        host->n_cores++;
        host->n_pus += (uint32_t)CPU_COUNT(&both);
        *first_out = i;
    }
}

int ks_topo_read(struct ks_topo_host *host_out, struct ks_err *err)
{
    struct ks_topo_host host = { .n_cores = 0 };
    struct ks_machine m;
    uint32_t first = 0;
    cpu_set_t mask;
    int rc;

    if (sched_getaffinity(0, sizeof(mask), &mask) < 0)
        return ks_fail_errno(err, "sched_getaffinity");
    rc = ks_machine_open(&m, false, err);
    if (rc < 0)
        return rc;
    count_cores(&m, &mask, &host, &first);
    host.n_machine_pus = count_type(&m, HWLOC_OBJ_PU);
    host.n_packages = count_type(&m, HWLOC_OBJ_PACKAGE);
    host.n_numa = count_type(&m, HWLOC_OBJ_NUMANODE);
    host.is_narrowed =
        (int)host.n_pus < hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(m.topology));
    host.l2_bytes = cache_bytes(&m, first, HWLOC_OBJ_L2CACHE);
    host.l3_bytes = cache_bytes(&m, first, HWLOC_OBJ_L3CACHE);
    snprintf(host.cpu_model, sizeof(host.cpu_model), "%s", cpu_model(&m));
    ks_machine_close(&m);
    if (!host.n_cores)
        return ks_fail(err, KS_ENODEVICE, "no CPU of the topology is allowed to this process");
    *host_out = host;
    return 0;
}
