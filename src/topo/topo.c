/* SPDX-License-Identifier: MIT */
#include "topo/topo.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The machine as this process may use it. */
struct machine {
    hwloc_topology_t topology;
    hwloc_bitmap_t mask; /* the CPUs in question: the inherited mask, or one given */
};

static int open_machine(struct machine *m, const cpu_set_t *mask, struct ks_err *err)
{
    *m = (struct machine){ .mask = hwloc_bitmap_alloc() };
    if (!m->mask)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, mask))
            hwloc_bitmap_set(m->mask, i);
    if (hwloc_topology_init(&m->topology) < 0)
        return ks_fail(err, KS_EIO, "hwloc cannot start");
    if (hwloc_topology_load(m->topology) < 0)
        return ks_fail(err, KS_EIO, "hwloc cannot read the topology of this host");
    hwloc_bitmap_and(m->mask, m->mask, hwloc_topology_get_allowed_cpuset(m->topology));
    if (hwloc_bitmap_iszero(m->mask))
        return ks_fail(err, KS_ENODEVICE, "no CPU of the topology is allowed to this process");
    return 0;
}

static void close_machine(struct machine *m)
{
    if (m->topology)
        hwloc_topology_destroy(m->topology);
    hwloc_bitmap_free(m->mask);
}

static bool is_narrowed(const struct machine *m)
{
    return !hwloc_bitmap_isequal(m->mask, hwloc_topology_get_allowed_cpuset(m->topology));
}

static int inherited(cpu_set_t *mask_out, struct ks_err *err)
{
    if (sched_getaffinity(0, sizeof(*mask_out), mask_out) < 0)
        return ks_fail_errno(err, "sched_getaffinity");
    return 0;
}

/* Some virtual machines show logical CPUs only. */
static hwloc_obj_type_t core_type(const struct machine *m)
{
    bool has_cores = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_CORE) > 0;
    return has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/* The next core after `last` that has a usable CPU. */
static hwloc_obj_t next_core(const struct machine *m, hwloc_obj_t last)
{
    do
        last = hwloc_get_next_obj_by_type(m->topology, core_type(m), last);
    while (last && !hwloc_bitmap_intersects(last->cpuset, m->mask));
    return last;
}

static uint32_t count_cores(const struct machine *m)
{
    uint32_t n = 0;

    for (hwloc_obj_t c = next_core(m, NULL); c; c = next_core(m, c))
        n++;
    return n;
}

static hwloc_obj_t core_at(const struct machine *m, uint32_t i)
{
    hwloc_obj_t c = next_core(m, NULL);

    for (; c && i; i--)
        c = next_core(m, c);
    return c;
}

static uint32_t count_type(const struct machine *m, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(m->topology, type);
    return n > 0 ? (uint32_t)n : 0;
}

static uint64_t cache_bytes(const struct machine *m, hwloc_obj_type_t type)
{
    hwloc_obj_t core = next_core(m, NULL);
    hwloc_obj_t cache = core ? hwloc_get_ancestor_obj_by_type(m->topology, type, core) : NULL;

    return cache ? cache->attr->cache.size : 0;
}

static const char *cpu_model(const struct machine *m)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, 0);
    const char *s = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

    if (!s)
        s = hwloc_obj_get_info_by_name(hwloc_get_root_obj(m->topology), "CPUModel");
    return s ? s : "unknown";
}

int ks_topo_read(struct ks_topo_host *host_out, struct ks_err *err)
{
    struct machine m = { 0 };
    cpu_set_t mask;
    int rc = inherited(&mask, err);

    if (rc == 0)
        rc = open_machine(&m, &mask, err);
    if (rc < 0)
        goto out;
    *host_out = (struct ks_topo_host){
        .n_cores = count_cores(&m),
        .n_pus = (uint32_t)hwloc_bitmap_weight(m.mask),
        .n_machine_pus = count_type(&m, HWLOC_OBJ_PU),
        .n_packages = count_type(&m, HWLOC_OBJ_PACKAGE),
        .n_numa = count_type(&m, HWLOC_OBJ_NUMANODE),
        .is_narrowed = is_narrowed(&m),
        .l2_bytes = cache_bytes(&m, HWLOC_OBJ_L2CACHE),
        .l3_bytes = cache_bytes(&m, HWLOC_OBJ_L3CACHE),
    };
    snprintf(host_out->cpu_model, sizeof(host_out->cpu_model), "%s", cpu_model(&m));
out:
    close_machine(&m);
    return rc;
}

static void to_cpu_set(hwloc_const_bitmap_t from, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (hwloc_bitmap_isset(from, i))
            CPU_SET(i, out);
}

static int to_core_set(hwloc_const_bitmap_t cpus, struct ks_core_set *out, struct ks_err *err)
{
    int first = hwloc_bitmap_first(cpus);
    struct ks_core_set set = { .cpu = (uint32_t)first };

    if (first < 0 || first >= CPU_SETSIZE)
        return ks_fail(err, KS_ENODEVICE, "a core set without a usable CPU");
    to_cpu_set(cpus, &set.cpus);
    hwloc_bitmap_list_snprintf(set.text, sizeof(set.text), cpus);
    *out = set;
    return 0;
}

enum ks_seat ks_topo_assign(uint32_t n_sets, uint32_t local_rank, uint32_t n_local,
                            bool coordinates, bool oversubscribe, uint32_t *i_set_out)
{
    /* Whoever coordinates stands last in the queue for core sets. */
    uint32_t turn = !coordinates ? local_rank : local_rank ? local_rank - 1 : n_local - 1;
    uint32_t n_beyond = n_local > n_sets ? n_local - n_sets : 0;
    bool is_shared;

    if (!n_sets || (turn >= n_sets && !oversubscribe))
        return KS_SEAT_NONE;
    *i_set_out = turn % n_sets;
    /* The ranks beyond the sets go round robin, so they reach set i when there are more than i. */
    is_shared = oversubscribe && n_beyond > *i_set_out;
    return is_shared ? KS_SEAT_SHARED : KS_SEAT_MEASURE;
}

/* The ranks that inherited the same mask as `local_rank`: how many there are and which of them it
 * is. */
static uint32_t group_of(uint32_t local_rank, uint32_t n_local, const cpu_set_t *masks,
                         uint32_t *n_group_out)
{
    uint32_t index = 0, n = 0;

    for (uint32_t i = 0; i < n_local; i++) {
        if (!CPU_EQUAL(&masks[i], &masks[local_rank]))
            continue;
        if (i < local_rank)
            index++;
        n++;
    }
    *n_group_out = n;
    return index;
}

static int seat_in(const struct machine *m, uint32_t rank, uint32_t n_ranks, bool coordinates,
                   bool oversubscribe, enum ks_seat *seat_out, struct ks_core_set *set_out,
                   struct ks_err *err)
{
    struct ks_core_set set = { .text = "" };
    enum ks_seat seat = KS_SEAT_MEASURE;
    hwloc_bitmap_t cpus = hwloc_bitmap_dup(m->mask);
    uint32_t i_set = 0;
    int rc = 0;

    if (!cpus)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    if (n_ranks > 1 || !is_narrowed(m)) {
        seat = ks_topo_assign(count_cores(m), rank, n_ranks, coordinates, oversubscribe, &i_set);
        hwloc_bitmap_and(cpus, cpus, core_at(m, i_set)->cpuset);
    }
    if (seat != KS_SEAT_NONE)
        rc = to_core_set(cpus, &set, err);
    hwloc_bitmap_free(cpus);
    if (rc < 0)
        return rc;
    *seat_out = seat;
    *set_out = set;
    return 0;
}

int ks_topo_seat_among(uint32_t local_rank, uint32_t n_local, const cpu_set_t *masks,
                       bool coordinates, bool oversubscribe, enum ks_seat *seat_out,
                       struct ks_core_set *set_out, struct ks_err *err)
{
    struct machine m = { 0 };
    uint32_t n_group, index;
    int rc;

    if (local_rank >= n_local)
        return ks_fail(err, KS_EINVAL, "local rank %u of %u", local_rank, n_local);
    index = group_of(local_rank, n_local, masks, &n_group);
    rc = open_machine(&m, &masks[local_rank], err);
    if (rc == 0)
        rc = seat_in(&m, index, n_group, coordinates && CPU_EQUAL(&masks[0], &masks[local_rank]),
                     oversubscribe, seat_out, set_out, err);
    close_machine(&m);
    return rc;
}

int ks_topo_seat(uint32_t local_rank, uint32_t n_local, bool coordinates, bool oversubscribe,
                 enum ks_seat *seat_out, struct ks_core_set *set_out, struct ks_err *err)
{
    struct machine m = { 0 };
    cpu_set_t mask;
    int rc;

    if (local_rank >= n_local)
        return ks_fail(err, KS_EINVAL, "local rank %u of %u", local_rank, n_local);
    rc = inherited(&mask, err);
    if (rc == 0)
        rc = open_machine(&m, &mask, err);
    if (rc == 0 && is_narrowed(&m))
        rc = seat_in(&m, 0, 1, false, oversubscribe, seat_out, set_out, err);
    else if (rc == 0)
        rc = seat_in(&m, local_rank, n_local, coordinates, oversubscribe, seat_out, set_out, err);
    close_machine(&m);
    return rc;
}

int ks_topo_spare(uint32_t n_local, bool coordinates, cpu_set_t *cpus_out, struct ks_err *err)
{
    struct machine m = { 0 };
    uint32_t n_used = n_local;
    cpu_set_t mask;
    int rc = inherited(&mask, err);

    (void)coordinates; /* it moves who measures, not on how many core sets */
    if (rc == 0)
        rc = open_machine(&m, &mask, err);
    if (rc < 0)
        goto out;
    if (is_narrowed(&m) || count_cores(&m) <= n_used) {
        to_cpu_set(m.mask, cpus_out);
        goto out;
    }
    for (uint32_t i = 0; i < n_used; i++)
        hwloc_bitmap_andnot(m.mask, m.mask, core_at(&m, i)->cpuset);
    to_cpu_set(m.mask, cpus_out);
out:
    close_machine(&m);
    return rc;
}
