/* SPDX-License-Identifier: MIT */
/* bind_check.c - whether a map may run, and if not, which option mends it. */
#include "topo/bind_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* "rank 3", "ranks 0, 2 and 5", of those whose mark is set. */
static void name_ranks(const struct ks_bind *b, const bool *mark, char *out, size_t cap)
{
    enum { MOST = 8 };
    uint32_t n = 0, k = 0;
    size_t at;

    for (uint32_t i = 0; i < b->n; i++)
        n += mark[i];
    snprintf(out, cap, n == 1 ? "rank" : "ranks");
    for (uint32_t i = 0; i < b->n && k < MOST; i++) {
        if (!mark[i])
            continue;
        at = strlen(out);
        snprintf(out + at, cap - at, "%s %u", k++ == 0 ? "" : ",", b->cards[i].rank);
    }
    at = strlen(out);
    if (n > MOST)
        snprintf(out + at, cap - at, " and %u more", n - MOST);
}

static void refuse(struct ks_bind_map *map, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void refuse(struct ks_bind_map *map, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(map->refusal, sizeof(map->refusal), fmt, ap);
    va_end(ap);
}

/* Ranks for which `is_bad` holds. */
static uint32_t mark_ranks(const struct ks_bind *b,
                           bool (*is_bad)(const struct ks_bind *, uint32_t), char *names,
                           size_t cap)
{
    bool mark[1024] = { false };
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n && i < 1024; i++) {
        mark[i] = is_bad(b, i);
        n += mark[i];
    }
    if (n)
        name_ranks(b, mark, names, cap);
    return n;
}

static uint32_t n_free_places(const struct ks_bind *b)
{
    uint32_t n = 0;

    for (uint32_t p = 0; p < b->n_places; p++)
        n += b->place.n_on[p] == 0;
    return n;
}

static uint32_t n_seated(const struct ks_bind *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++)
        n += b->place.chair[i] >= 0 && b->core.chair[i] >= 0;
    return n;
}

/* ---- devices ---- */

/* Rank 0 may coordinate only, beside others. But one device named for it and for another rank alike
 * is a slip of the launch. */
static bool may_do_without(const struct ks_bind *b, uint32_t i)
{
    const struct ks_bind_card *card = &b->cards[i];

    return card->rank == 0 && b->n > 1 && (card->n_devices != 1 || !card->lists[0]);
}

static bool is_blind(const struct ks_bind *b, uint32_t i)
{
    return b->cards[i].n_devices == 0 && !may_do_without(b, i);
}

static bool has_no_device(const struct ks_bind *b, uint32_t i)
{
    return b->place.chair[i] < 0 && !may_do_without(b, i);
}

static bool has_no_core(const struct ks_bind *b, uint32_t i)
{
    return b->place.chair[i] >= 0 && b->core.chair[i] < 0;
}

static uint32_t first_such(const struct ks_bind *b,
                           bool (*is_bad)(const struct ks_bind *, uint32_t))
{
    uint32_t i = 0;

    while (i + 1 < b->n && !is_bad(b, i))
        i++;
    return i;
}

/* It sees less than the host's ranks together: its own list is what leaves it without. */
static bool is_short_sighted(const struct ks_bind *b, uint32_t i)
{
    return b->cards[i].n_devices < b->n_places || b->cards[i].n_devices == 1;
}

static void refuse_doubles(const struct ks_bind *b, const char *names, struct ks_bind_map *map)
{
    uint32_t i = first_such(b, has_no_device);
    const struct ks_bind_card *card = &b->cards[i];
    const struct ks_bind_device *d = &card->devices[0];
    uint32_t other = 0;

    for (uint32_t k = 0; k < b->n; k++)
        if (b->place.chair[k] >= 0 &&
            strcmp(b->devices[b->place.chair[k]].id->unique, d->unique) == 0)
            other = b->cards[k].rank;
    refuse(map,
           "two ranks on one device: %s %s only %s (%.60s), on which rank %u measures; let every "
           "rank see all devices of its node (srun --gres=gpu:N, unset *_VISIBLE_DEVICES), or give "
           "each its own (srun --gpus-per-task=1); --oversubscribe lets them share",
           names, strchr(names, ',') ? "see" : "sees", d->pci[0] ? d->pci : d->unique,
           card->lists[0] ? card->lists : "no *_VISIBLE_DEVICES", other);
}

static void check_devices(const struct ks_bind *b, struct ks_bind_map *map)
{
    char names[128];

    if (mark_ranks(b, is_blind, names, sizeof(names))) {
        const struct ks_bind_card *card = &b->cards[first_such(b, is_blind)];
        const char *lists = card->lists[0] ? card->lists : "no *_VISIBLE_DEVICES";
        if (card->is_unable)
            refuse(map, "%s: no device: %s", names, card->why);
        else
            refuse(map,
                   "%s: no device is visible (%.60s); request devices with srun --gpus-per-task=1 "
                   "or --gres=gpu:N, or under mpirun list them in *_VISIBLE_DEVICES%s%.300s",
                   names, lists, card->why[0] ? "; " : "", card->why);
    } else if (mark_ranks(b, has_no_device, names, sizeof(names))) {
        if (is_short_sighted(b, first_such(b, has_no_device)))
            refuse_doubles(b, names, map);
        else
            refuse(map,
                   "no device for %s: %u ranks on a node with %u device%s; start one rank per "
                   "device (mpirun --map-by ppr:%u:node, srun --ntasks-per-node=%u); "
                   "--oversubscribe lets them share",
                   names, b->n, b->n_places, b->n_places == 1 ? "" : "s", b->n_places, b->n_places);
    } else if (mark_ranks(b, has_no_core, names, sizeof(names))) {
        refuse(map,
               "no core for %s besides those of other ranks' workers; give each rank cores of its "
               "own (mpirun --bind-to none, srun --cpus-per-task=2 or --cpu-bind=none), or start "
               "fewer ranks; --oversubscribe lets them share",
               names);
    }
}

static void list_unused(const struct ks_bind *b, struct ks_bind_map *map)
{
    for (uint32_t p = 0; p < b->n_places; p++) {
        const struct ks_bind_device *d = b->devices[p].id;
        size_t at = strlen(map->unused);

        if (b->place.n_on[p])
            continue;
        snprintf(map->unused + at, sizeof(map->unused) - at, "%s%s", map->n_unused++ ? " " : "",
                 d->pci[0] ? d->pci : d->unique);
    }
}

/* ---- cores ---- */

static bool is_standing(const struct ks_bind *b, uint32_t i)
{
    return b->place.chair[i] < 0;
}

/* Ranks beyond the cores help building. Those that could have one, had they not been bound to what
 * others measure on, are a mistake of the launch. */
static void check_cores(const struct ks_bind *b, struct ks_bind_map *map)
{
    static const char *const what[] = { "cores", "last-level caches", "packages" };
    char names[128], cpus[64];
    uint32_t n = mark_ranks(b, is_standing, names, sizeof(names)), n_free = n_free_places(b);

    if (!n || !n_free)
        return;
    ks_machine_cpu_text(&b->cards[first_such(b, is_standing)].mask, cpus, sizeof(cpus));
    refuse(map,
           "cores are shared: %s %s bound to CPU %.40s, where other ranks measure, while %u of the "
           "node's %s %s free; use mpirun --bind-to none, srun --cpu-bind=none, or start %u rank%s "
           "per node; --oversubscribe lets them share",
           names, n == 1 ? "is" : "are", cpus, n_free, what[b->rules->domain],
           n_free == 1 ? "is" : "are", n_seated(b), n_seated(b) == 1 ? "" : "s");
}

void ks_bind_check(const struct ks_bind *b, struct ks_bind_map *map)
{
    *map = (struct ks_bind_map){ .n_unused = 0 };
    if (b->rules->has_devices) {
        list_unused(b, map);
        check_devices(b, map);
    } else {
        check_cores(b, map);
    }
}
