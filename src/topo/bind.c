/* SPDX-License-Identifier: MIT */
/* bind.c - gives the ranks of a host their devices, cores and memory */
#include "topo/bind.h"

#include "topo/bind_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ks_host_domains[] = { "core", "l3", "socket", NULL };

static bool meet(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_COUNT(&both) > 0;
}

static bool may_use(const struct ks_bind *b, uint32_t rank, uint32_t core)
{
    return meet(&b->cards[rank].mask, &b->m.cores[core].cpus);
}

/* ---- places: what goes to one rank each: devices, or domains of cores ---- */

static hwloc_obj_t domain_of(const struct ks_bind *b, uint32_t core)
{
    static const hwloc_obj_type_t types[] = {
        [KS_DOMAIN_CORE] = HWLOC_OBJ_CORE,
        [KS_DOMAIN_L3] = HWLOC_OBJ_L3CACHE,
        [KS_DOMAIN_SOCKET] = HWLOC_OBJ_PACKAGE,
    };
    hwloc_obj_t own = b->m.cores[core].obj, around;

    if (b->rules->domain == KS_DOMAIN_CORE)
        return own;
    around = ks_machine_around(&b->m, core, types[b->rules->domain]);
    if (around)
        return around;
    /* Some virtual machines show no packages: then it is one. */
    return b->rules->domain == KS_DOMAIN_SOCKET ? hwloc_get_root_obj(b->m.topology) : own;
}

/* The place of each core; neighbours stand together, so a new object is a new place. */
static void find_domains(struct ks_bind *b)
{
    hwloc_obj_t last = NULL;

    for (uint32_t c = 0; c < b->m.n_cores; c++) {
        hwloc_obj_t o = domain_of(b, c);
        b->n_places += o != last;
        b->place_of_core[c] = b->n_places - 1;
        last = o;
    }
}

static int find_device(const struct ks_bind *b, const struct ks_bind_device *d)
{
    for (uint32_t i = 0; i < b->n_places; i++)
        if (strcmp(b->devices[i].id->unique, d->unique) == 0)
            return (int)i;
    return -1;
}

static int find_devices(struct ks_bind *b, struct ks_err *err)
{
    size_t most = 1;

    for (uint32_t i = 0; i < b->n; i++)
        most += b->cards[i].n_devices;
    b->devices = calloc(most, sizeof(*b->devices));
    if (!b->devices)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t k = 0; k < b->cards[i].n_devices; k++) {
            const struct ks_bind_device *d = &b->cards[i].devices[k];
            struct ks_bind_place *p = &b->devices[b->n_places];
            if (find_device(b, d) >= 0)
                continue;
            p->id = d;
            p->is_known = ks_machine_near(&b->m, d->pci, &p->near);
            b->n_places++;
        }
    return 0;
}

/* ---- seating ---- */

/* Ranks in order; rank 0, which can do without, last when asked. true: all have one. */
static bool seat_all(struct ks_bind *b, struct ks_match *m, bool is_last)
{
    bool all = true;

    for (uint32_t i = 0; i < b->n; i++)
        if (!is_last || b->cards[i].rank != 0)
            all &= ks_match_seat(m, i);
    for (uint32_t i = 0; is_last && i < b->n; i++)
        if (b->cards[i].rank == 0)
            all &= ks_match_seat(m, i);
    return all;
}

static void allow_devices(struct ks_bind *b, bool only_near)
{
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t k = 0; k < b->cards[i].n_devices; k++) {
            uint32_t p = (uint32_t)find_device(b, &b->cards[i].devices[k]);
            if (!only_near || meet(&b->cards[i].mask, &b->devices[p].near))
                ks_match_allow(&b->place, i, p);
        }
}

static void allow_domains(struct ks_bind *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t c = 0; c < b->m.n_cores; c++)
            if (may_use(b, i, c))
                ks_match_allow(&b->place, i, b->place_of_core[c]);
}

static bool try_places(struct ks_bind *b, bool is_last)
{
    ks_match_clear(&b->place);
    if (b->rules->has_devices) {
        allow_devices(b, true);
        (void)seat_all(b, &b->place, is_last);
        allow_devices(b, false);
    } else {
        allow_domains(b);
    }
    return seat_all(b, &b->place, is_last);
}

static void seat_on_places(struct ks_bind *b)
{
    if (!try_places(b, false))
        (void)try_places(b, true);
    for (uint32_t i = 0; b->rules->oversubscribe && i < b->n; i++)
        if (b->place.chair[i] < 0)
            ks_match_share(&b->place, i);
}

/* A rank on a domain has the first core of it that it may use. */
static void core_of_domain(struct ks_bind *b, uint32_t rank)
{
    for (uint32_t c = 0; c < b->m.n_cores; c++)
        if (b->place.chair[rank] == (int32_t)b->place_of_core[c] && may_use(b, rank, c))
            ks_match_allow(&b->core, rank, c);
}

static void cores_of_device(struct ks_bind *b, uint32_t rank, bool only_near)
{
    int32_t p = b->place.chair[rank];

    for (uint32_t c = 0; p >= 0 && c < b->m.n_cores; c++)
        if (may_use(b, rank, c) && (!only_near || meet(&b->devices[p].near, &b->m.cores[c].cpus)))
            ks_match_allow(&b->core, rank, c);
}

static void seat_on_cores(struct ks_bind *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->rules->has_devices)
            cores_of_device(b, i, true);
        else
            core_of_domain(b, i);
    (void)seat_all(b, &b->core, false);
    for (uint32_t i = 0; b->rules->has_devices && i < b->n; i++)
        cores_of_device(b, i, false);
    (void)seat_all(b, &b->core, false);
    for (uint32_t i = 0; b->rules->oversubscribe && i < b->n; i++)
        if (b->core.chair[i] < 0 && b->place.chair[i] >= 0)
            ks_match_share(&b->core, i);
}

/* ---- what a seat says ---- */

static void describe_core(const struct ks_bind *b, uint32_t rank, struct ks_bind_seat *s)
{
    uint32_t c = (uint32_t)b->core.chair[rank];
    hwloc_bitmap_t nodes = hwloc_bitmap_dup(b->m.cores[c].obj->nodeset);

    CPU_AND(&s->cores.cpus, &b->m.cores[c].cpus, &b->cards[rank].mask);
    while (!CPU_ISSET(s->cores.cpu, &s->cores.cpus))
        s->cores.cpu++;
    ks_machine_cpu_text(&s->cores.cpus, s->cores.text, sizeof(s->cores.text));
    if (!nodes)
        return;
    hwloc_bitmap_and(nodes, nodes, hwloc_topology_get_allowed_nodeset(b->m.topology));
    hwloc_bitmap_list_snprintf(s->numa, sizeof(s->numa), nodes);
    if (hwloc_bitmap_last(nodes) < 64)
        for (int i = hwloc_bitmap_first(nodes); i >= 0; i = hwloc_bitmap_next(nodes, i))
            s->nodes |= UINT64_C(1) << i;
    hwloc_bitmap_free(nodes);
}

static void describe_domain(const struct ks_bind *b, uint32_t rank, struct ks_bind_seat *s)
{
    cpu_set_t mine;

    s->domain = s->cores.cpus;
    for (uint32_t c = 0; !b->rules->has_devices && c < b->m.n_cores; c++)
        if (b->place.chair[rank] == (int32_t)b->place_of_core[c]) {
            CPU_AND(&mine, &b->m.cores[c].cpus, &b->cards[rank].mask);
            CPU_OR(&s->domain, &s->domain, &mine);
        }
}

static uint32_t count_neighbours(const struct ks_bind *b, uint32_t rank)
{
    hwloc_obj_t cache = ks_machine_around(&b->m, (uint32_t)b->core.chair[rank], HWLOC_OBJ_L3CACHE);
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++)
        n += i == rank ||
             (cache && b->core.chair[i] >= 0 &&
              ks_machine_around(&b->m, (uint32_t)b->core.chair[i], HWLOC_OBJ_L3CACHE) == cache);
    return n;
}

static uint32_t count_memory_neighbours(const struct ks_bind *b, uint32_t rank)
{
    hwloc_const_nodeset_t own = b->m.cores[b->core.chair[rank]].obj->nodeset;
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++)
        n += i == rank || (b->core.chair[i] >= 0 &&
                           hwloc_bitmap_intersects(own, b->m.cores[b->core.chair[i]].obj->nodeset));
    return n;
}

static int32_t own_number(const struct ks_bind *b, uint32_t rank)
{
    const struct ks_bind_card *card = &b->cards[rank];
    uint32_t k = 0;

    if (!b->rules->has_devices || b->place.chair[rank] < 0)
        return -1;
    while (k + 1 < card->n_devices && find_device(b, &card->devices[k]) != b->place.chair[rank])
        k++;
    return (int32_t)k;
}

static void describe_seat(const struct ks_bind *b, uint32_t rank, struct ks_bind_seat *s)
{
    int32_t p = b->place.chair[rank], c = b->core.chair[rank];

    *s = (struct ks_bind_seat){ .seat = KS_SEAT_NONE, .i_device = own_number(b, rank) };
    if (p < 0 || c < 0)
        return;
    s->seat = b->place.n_on[p] > 1 || b->core.n_on[c] > 1 ? KS_SEAT_SHARED : KS_SEAT_MEASURE;
    s->is_far = b->rules->has_devices && b->devices[p].is_known &&
                !meet(&b->devices[p].near, &b->m.cores[c].cpus);
    s->n_neighbours = count_neighbours(b, rank);
    s->n_memory_neighbours = count_memory_neighbours(b, rank);
    describe_core(b, rank, s);
    describe_domain(b, rank, s);
}

/* What a rank may use and no worker of the host does. */
static void find_spare(const struct ks_bind *b, struct ks_bind_seat *seats)
{
    cpu_set_t used, both;

    CPU_ZERO(&used);
    for (uint32_t c = 0; c < b->m.n_cores; c++)
        if (b->core.n_on[c])
            CPU_OR(&used, &used, &b->m.cores[c].cpus);
    for (uint32_t i = 0; b->rules->has_threads && i < b->n; i++)
        CPU_OR(&used, &used, &seats[i].domain);
    for (uint32_t i = 0; i < b->n; i++) {
        struct ks_bind_seat *s = &seats[i];

        CPU_AND(&both, &b->cards[i].mask, &used);
        CPU_XOR(&s->spare, &b->cards[i].mask, &both);
        ks_machine_cpu_text(&s->spare, s->spare_text, sizeof(s->spare_text));
        if (CPU_COUNT(&s->spare) == 0)
            s->spare = s->seat == KS_SEAT_NONE ? b->cards[i].mask : s->cores.cpus;
    }
}

static int reserve(struct ks_bind *b, struct ks_err *err)
{
    int rc = ks_machine_open(&b->m, b->rules->has_devices, err);

    if (rc < 0)
        return rc;
    b->place_of_core = calloc(b->m.n_cores, sizeof(*b->place_of_core));
    if (!b->place_of_core)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    if (b->rules->has_devices)
        rc = find_devices(b, err);
    else
        find_domains(b);
    if (rc == 0)
        rc = ks_match_init(&b->place, b->n, b->n_places, err);
    return rc < 0 ? rc : ks_match_init(&b->core, b->n, b->m.n_cores, err);
}

int ks_bind(const struct ks_bind_card *cards, uint32_t n, const struct ks_bind_rules *rules,
            struct ks_bind_seat *seats_out, struct ks_bind_map *map_out, struct ks_err *err)
{
    struct ks_bind b = { .cards = cards, .n = n, .rules = rules };
    int rc = reserve(&b, err);

    if (rc < 0)
        goto out;
    seat_on_places(&b);
    seat_on_cores(&b);
    for (uint32_t i = 0; i < n; i++)
        describe_seat(&b, i, &seats_out[i]);
    find_spare(&b, seats_out);
    ks_bind_check(&b, map_out);
out:
    ks_match_release(&b.place);
    ks_match_release(&b.core);
    free(b.devices);
    free(b.place_of_core);
    ks_machine_close(&b.m);
    return rc;
}
