/* SPDX-License-Identifier: MIT */
/* test_bind.c - maps of ranks on machines that hwloc's texts or tests/data/topo describe */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "topo/bind.h"
#include "topo/machine.h"
#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 160 };

/* The devices of mi300.xml and of mi250.xml, in the order in which a process counts them. */
static const char *const mi300[] = { "0c", "1c", "2c", "3c", "4c", "5c", "6c", "7c" };
static const char *const mi250[] = { "c1", "c6", "c9", "ce", "d1", "d6", "d9", "de" };

enum { COORD = 1, OVER = 2, L3 = 4, SOCKET = 8, NO_PCI = 16, NO_LISTS = 32 };

struct row {
    const char *machine; /* synthetic, or the name of a file */
    uint32_t n;          /* ranks */
    int flags;           /* COORD: the first is rank 0, else ranks are 1, 2, ... */
    const char *masks;   /* a CPU list for each rank, "*" = all; the last goes for all further */
    const char *sees;    /* with devices: their digits for each rank, "-" none; last as above */
    const char *want;    /* per rank: "*" shared, device digit, "@" CPU, "." node, "!" far; "--" */
    const char *refusal; /* must stand in it, in this order, separated by "|"; NULL: it may run */
};

static void use_machine(const char *what)
{
    char path[512];

    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_XMLFILE");
    if (what && strchr(what, ':'))
        setenv("HWLOC_SYNTHETIC", what, 1);
    else if (what) {
        snprintf(path, sizeof(path), "%s/tests/data/topo/%s.xml", KS_SOURCE_DIR, what);
        setenv("HWLOC_XMLFILE", path, 1);
    }
}

/* "0-3,8" */
static void parse_cpus(const char *text, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (char *end; *text && *text != ' '; text = *end == ',' ? end + 1 : end) {
        unsigned long from = strtoul(text, &end, 10), to = from;
        if (*text == '*')
            from = 0, to = 1023, end++;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        for (; from <= to; from++)
            CPU_SET(from, out);
    }
}

static const char *next_word(const char *text)
{
    const char *blank = strchr(text, ' ');
    return blank ? blank + 1 : text;
}

static void see(const struct row *r, const char *digits, struct ks_bind_card *card)
{
    const char *const *bus = strcmp(r->machine, "mi250") == 0 ? mi250 : mi300;

    for (; *digits >= '0' && *digits <= '9'; digits++) {
        struct ks_bind_device *d = &card->devices[card->n_devices++];
        snprintf(d->unique, sizeof(d->unique), "GPU-%c", *digits);
        if (!(r->flags & NO_PCI))
            snprintf(d->pci, sizeof(d->pci), "0000:%s:00.0", bus[*digits - '0']);
    }
    if (!(r->flags & NO_LISTS))
        snprintf(card->lists, sizeof(card->lists), "ROCR_VISIBLE_DEVICES=%u", card->n_devices);
}

static void make_cards(const struct row *r, struct ks_bind_card *cards)
{
    const char *mask = r->masks, *sees = r->sees;

    memset(cards, 0, r->n * sizeof(*cards));
    for (uint32_t i = 0; i < r->n; i++) {
        cards[i].rank = i + !(r->flags & COORD);
        parse_cpus(mask, &cards[i].mask);
        mask = next_word(mask);
        if (!sees)
            continue;
        see(r, sees, &cards[i]);
        sees = next_word(sees);
    }
}

static void describe(const struct ks_bind_card *cards, const struct ks_bind_seat *seats, uint32_t n,
                     char *out, size_t cap)
{
    *out = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_bind_seat *s = &seats[i];
        size_t at = strlen(out);

        if (s->seat == KS_SEAT_NONE) {
            snprintf(out + at, cap - at, "-- ");
            continue;
        }
        snprintf(out + at, cap - at, "%s%s@%u.%s%s ", s->seat == KS_SEAT_SHARED ? "*" : "",
                 s->i_device < 0 ? "" : cards[i].devices[s->i_device].unique + 4, s->cores.cpu,
                 s->numa, s->is_far ? "!" : "");
    }
}

/* What must hold in every map, whatever it is. */
static void check_rules(const struct row *r, const struct ks_bind_card *cards,
                        const struct ks_bind_seat *seats)
{
    cpu_set_t both;

    for (uint32_t i = 0; i < r->n; i++) {
        const struct ks_bind_seat *s = &seats[i];
        assert_true(CPU_COUNT(&s->spare) > 0);
        if (s->seat == KS_SEAT_NONE)
            continue;
        assert_true(CPU_ISSET(s->cores.cpu, &s->cores.cpus));
        CPU_AND(&both, &s->cores.cpus, &cards[i].mask);
        assert_true(CPU_EQUAL(&both, &s->cores.cpus)); /* what the launcher allows */
        for (uint32_t k = 0; k < r->n; k++) {
            if (k == i || seats[k].seat == KS_SEAT_NONE)
                continue;
            CPU_AND(&both, &s->cores.cpus, &seats[k].cores.cpus);
            assert_true(CPU_COUNT(&both) == 0 || r->flags & OVER);
            CPU_AND(&both, &s->spare, &seats[k].cores.cpus); /* nobody beside a worker */
            assert_true(CPU_COUNT(&both) == 0 || CPU_EQUAL(&s->spare, &s->cores.cpus));
            if (s->i_device >= 0 && seats[k].i_device >= 0 && !(r->flags & OVER))
                assert_string_not_equal(cards[i].devices[s->i_device].unique,
                                        cards[k].devices[seats[k].i_device].unique);
        }
    }
}

static void check_refusal(const struct row *r, const struct ks_bind_map *map)
{
    char want[256], *rest = want, *part;
    const char *at = map->refusal;

    if (!r->refusal) {
        assert_string_equal(map->refusal, "");
        return;
    }
    snprintf(want, sizeof(want), "%s", r->refusal);
    while ((part = strsep(&rest, "|"))) {
        if (!strstr(at, part))
            fail_msg("'%s' is not in: %s", part, map->refusal);
        at = strstr(at, part) + strlen(part);
    }
    assert_true(strlen(map->refusal) < sizeof(map->refusal) - 1);
}

static void check_row(const struct row *r)
{
    struct ks_bind_card *cards = calloc(RANKS, sizeof(*cards));
    struct ks_bind_seat *seats = calloc(RANKS, sizeof(*seats));
    struct ks_bind_rules rules = { .has_devices = r->sees != NULL,
                                   .oversubscribe = r->flags & OVER,
                                   .domain = r->flags & L3       ? KS_DOMAIN_L3
                                             : r->flags & SOCKET ? KS_DOMAIN_SOCKET
                                                                 : KS_DOMAIN_CORE };
    struct ks_bind_map map;
    struct ks_err err = { 0 };
    char got[2048];

    assert_true(cards && seats && r->n <= RANKS);
    use_machine(r->machine);
    make_cards(r, cards);
    assert_int_equal(ks_bind(cards, r->n, &rules, seats, &map, &err), 0);
    describe(cards, seats, r->n, got, sizeof(got));
    if (r->want)
        assert_string_equal(got, r->want);
    check_rules(r, cards, seats);
    check_refusal(r, &map);
    use_machine(NULL);
    free(cards);
    free(seats);
}

#define TWO_BY_FOUR "package:2 core:4 pu:2" /* core k has CPUs 2k and 2k + 1 */
#define FOUR_L3     "package:1 l3:4 core:4 pu:1"

static void ranks_on_cores(void **state)
{
    static const struct row rows[] = {
        { TWO_BY_FOUR, 1, COORD, "*", NULL, "@0.0 ", NULL },
        { TWO_BY_FOUR, 4, COORD, "*", NULL, "@0.0 @2.0 @4.0 @6.0 ", NULL },
        /* rank 0 does without when there is one too many, the others help building */
        { TWO_BY_FOUR, 9, COORD, "*", NULL, "-- @0.0 @2.0 @4.0 @6.0 @8.0 @10.0 @12.0 @14.0 ",
          NULL },
        { "package:1 core:2 pu:1", 4, COORD, "*", NULL, "-- @0.0 @1.0 -- ", NULL },
        { "package:1 core:2 pu:1", 4, 0, "*", NULL, "@0.0 @1.0 -- -- ", NULL },
        { "package:1 core:2 pu:1", 4, COORD | OVER, "*", NULL, "*@0.0 *@0.0 *@1.0 *@1.0 ", NULL },
        { "package:1 core:2 pu:1", 3, OVER, "*", NULL, "*@0.0 @1.0 *@0.0 ", NULL },
        /* no cores in the topology */
        { "package:1 pu:3", 3, 0, "*", NULL, "@0.0 @1.0 @2.0 ", NULL },
        /* a control group: only what it leaves */
        { "cgroup", 6, 0, "*", NULL, "@2.0 @3.0 @4.0 @5.0 @6.0 @7.0 ", NULL },
        { "cgroup", 8, COORD, "*", NULL, "-- @2.0 @3.0 @4.0 @5.0 @6.0 @7.0 -- ", NULL },
        /* nearest memory */
        { "mi300", 3, 0, "0-15 16-31 112-127", NULL, "@0.0 @16.1 @112.7 ", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

static void ranks_that_were_bound(void **state)
{
    static const struct row rows[] = {
        { TWO_BY_FOUR, 4, COORD, "0-7 0-7 8-15 8-15", NULL, "@0.0 @2.0 @8.0 @10.0 ", NULL },
        { TWO_BY_FOUR, 3, COORD, "4,5 2,3 0,1", NULL, "@4.0 @2.0 @0.0 ", NULL },
        /* whoever may go elsewhere makes room */
        { TWO_BY_FOUR, 2, 0, "0-3 0,1", NULL, "@2.0 @0.0 ", NULL },
        { TWO_BY_FOUR, 3, 0, "0-5 0-3 0,1", NULL, "@4.0 @2.0 @0.0 ", NULL },
        { TWO_BY_FOUR, 1, COORD, "6", NULL, "@6.0 ", NULL },
        /* two hyperthreads of one core are one core */
        { TWO_BY_FOUR, 2, COORD, "0 1", NULL, "-- @1.0 ",
          "cores are shared|rank 0 is|CPU 0|7 of the node's cores|--bind-to "
          "none|--cpu-bind=none|start "
          "1 rank" },
        /* all on one core, by the launcher or by taskset */
        { TWO_BY_FOUR, 4, COORD, "3", NULL, "-- @3.0 -- -- ",
          "cores are shared: ranks 0, 2, 3 are bound to CPU 3|start 1 rank per "
          "node|--oversubscribe" },
        { TWO_BY_FOUR, 2, COORD | OVER, "3", NULL, "*@3.0 *@3.0 ", NULL },
        { "cgroup", 2, 0, "4", NULL, "@4.0 -- ", "rank 2 is bound to CPU 4|5 of the node's cores" },
        /* where the node has no more, it is no mistake */
        { "package:1 core:1 pu:2", 2, COORD, "0 1", NULL, "-- @1.0 ", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

static void domains(void **state)
{
    static const struct row rows[] = {
        { FOUR_L3, 4, L3, "*", NULL, "@0.0 @4.0 @8.0 @12.0 ", NULL },
        { FOUR_L3, 6, L3 | COORD, "*", NULL, "-- @0.0 @4.0 @8.0 @12.0 -- ", NULL },
        { FOUR_L3, 3, L3, "0-7 0-7 1", NULL, "@0.0 @4.0 -- ",
          "rank 3 is|CPU 1,|2 of the node's last-level caches are free" },
        { FOUR_L3, 2, L3, "2 6-7", NULL, "@2.0 @6.0 ", NULL },
        { FOUR_L3, 3, SOCKET, "*", NULL, "@0.0 -- -- ", NULL },
        { TWO_BY_FOUR, 3, SOCKET | COORD, "*", NULL, "-- @0.0 @8.0 ", NULL },
        { "core:4 pu:1", 3, SOCKET, "*", NULL, "@0.0 -- -- ", NULL },
        /* no cache is known: each core is on its own */
        { TWO_BY_FOUR, 3, L3, "*", NULL, "@0.0 @2.0 @4.0 ", NULL },
        { "package:1 l2:2 core:2 pu:1", 3, L3, "*", NULL, "@0.0 @2.0 -- ", NULL },
        { "cgroup", 3, L3, "*", NULL, "@2.0 @4.0 -- ", NULL },
        { "mi300", 8, L3, "*", NULL, "@0.0 @8.0 @16.1 @24.1 @32.2 @40.2 @48.3 @56.3 ", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

static void ranks_on_devices(void **state)
{
    static const struct row rows[] = {
        /* all see all, nobody is bound: by node-local rank, each beside its device */
        { "mi300", 8, COORD, "*", "01234567",
          "0@0.0 1@16.1 2@32.2 3@48.3 4@64.4 5@80.5 6@96.6 7@112.7 ", NULL },
        { "mi250", 8, COORD, "*", "01234567",
          "0@48.3 1@49.3 2@16.1 3@17.1 4@0.0 5@1.0 6@32.2 7@33.2 ", NULL },
        { "mi250", 2, COORD, "*", "01234567", "0@48.3 1@49.3 ", NULL },
        /* each was given its own */
        { "mi250", 4, COORD, "*", "6 5 1 2", "6@32.2 5@0.0 1@48.3 2@16.1 ", NULL },
        { "mi250", 3, 0, "*", "01 0 12", "1@48.3 0@49.3 2@16.1 ", NULL },
        /* bound to nodes: the nearest device */
        { "mi250", 4, 0, "0-15 16-31 32-47 48-63", "01234567", "4@0.0 2@16.1 6@32.2 0@48.3 ",
          NULL },
        { "mi250", 2, 0, "0-15 0-15", "01234567", "4@0.0 5@1.0 ", NULL },
        /* no near core is left for the third */
        { "mi250", 3, 0, "0-15", "01234567", "4@0.0 5@1.0 0@2.0! ", NULL },
        /* where devices are is not known */
        { "mi250", 2, NO_PCI, "*", "01", "0@0.0 1@1.0 ", NULL },
        /* nine ranks: rank 0 coordinates */
        { "mi300", 9, COORD, "*", "01234567",
          "-- 0@0.0 1@16.1 2@32.2 3@48.3 4@64.4 5@80.5 6@96.6 7@112.7 ", NULL },
        { "mi300", 9, COORD, "* 112-127 96-111 80-95 64-79 48-63 32-47 16-31 0-15", "01234567",
          "-- 7@112.7 6@96.6 5@80.5 4@64.4 3@48.3 2@32.2 1@16.1 0@0.0 ", NULL },
        { "mi300", 2, COORD, "*", "- 3", "-- 3@48.3 ", NULL },
        /* a node with one */
        { "mi300", 2, COORD | NO_LISTS, "*", "0", "-- 0@0.0 ", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

static void wrong_maps_of_devices(void **state)
{
    static const struct row rows[] = {
        { "mi300", 3, COORD, "*", "0", "-- 0@0.0 -- ",
          "two ranks on one device: ranks 0, 2 see only 0000:0c:00.0|ROCR_VISIBLE_DEVICES=1|rank 1 "
          "measures|--gres=gpu:N|--gpus-per-task=1" },
        { "mi300", 3, 0, "*", "0 0 1", "0@0.0 -- 1@16.1 ", "one device: rank 2 sees only" },
        { "mi300", 4, COORD, "*", "01", "-- 0@0.0 1@16.1 -- ",
          "no device for rank 3: 4 ranks on a node with 2 devices|--map-by "
          "ppr:2:node|--ntasks-per-node=2|--oversubscribe" },
        { "mi300", 4, COORD | OVER, "*", "01", "*0@0.0 *0@1.0 *1@16.1 *1@17.1 ", NULL },
        { "mi300", 2, 0, "*", "- 0", "-- 0@0.0 ",
          "rank 1: no device is visible|--gpus-per-task=1" },
        { "mi300", 1, COORD, "*", "-", "-- ", "rank 0: no device is visible" },
        { "mi300", 2, 0, "*", "-", "-- -- ", "ranks 1, 2: no device is visible" },
        { "mi300", 3, COORD, "16", "012", "1@16.1 -- -- ",
          "no core for ranks 1, 2|--bind-to none|--cpus-per-task" },
        { "mi300", 2, COORD | OVER, "16", "01", "*1@16.1 *0@16.1! ", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

/* 160 ranks on 128 cores: no rank is asked more than once, and it is over at once. */
static void many_ranks(void **state)
{
    static const struct row rows[] = {
        { "mi300", 128, 0, "*", NULL, NULL, NULL },
        { "mi300", 160, COORD, "*", NULL, NULL, NULL },
        { "mi300", 160, COORD | OVER, "*", NULL, NULL, NULL },
        { "mi300", 160, COORD, "0-126", NULL, NULL,
          "1 of the node's cores is free|start 127 ranks" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

/* What a seat says besides. */
static void seats_are_described(void **state)
{
    static const struct row row = { "mi250", 3, 0, "*", NULL, NULL, NULL };
    struct ks_bind_card cards[3];
    struct ks_bind_seat seats[3];
    struct ks_bind_rules rules = { .has_devices = false };
    struct ks_bind_map map;
    cpu_set_t want;

    (void)state;
    use_machine(row.machine);
    make_cards(&row, cards);
    assert_int_equal(ks_bind(cards, 3, &rules, seats, &map, NULL), 0);
    assert_string_equal(seats[1].cores.text, "1,65"); /* both hyperthreads */
    assert_int_equal(CPU_COUNT(&seats[1].cores.cpus), 2);
    assert_string_equal(seats[1].numa, "0");
    assert_int_equal(seats[1].nodes, 1);
    assert_int_equal(seats[1].n_neighbours, 3); /* one cache of 8 cores */
    assert_int_equal(seats[1].n_memory_neighbours, 3);
    for (unsigned i = 0; i < 3; i++)
        CPU_CLR(i, &cards[0].mask), CPU_CLR(i + 64, &cards[0].mask);
    assert_true(CPU_EQUAL(&seats[0].spare, &cards[0].mask));
    rules.domain = KS_DOMAIN_L3;
    assert_int_equal(ks_bind(cards + 1, 2, &rules, seats, &map, NULL), 0);
    assert_int_equal(seats[0].n_neighbours, 1);
    assert_int_equal(seats[0].n_memory_neighbours, 2); /* another cache, the same NUMA node */
    rules.domain = KS_DOMAIN_SOCKET;
    assert_int_equal(ks_bind(cards + 1, 2, &rules, seats, &map, NULL), 0);
    assert_int_equal(seats[0].n_memory_neighbours, 1);
    rules.domain = KS_DOMAIN_L3;
    assert_int_equal(ks_bind(cards + 1, 2, &rules, seats, &map, NULL), 0);
    assert_string_equal(seats[1].cores.text, "8,72");
    /* with nothing left but its own core, there it stays; hyperthreads it may not use are not its
     */
    rules.domain = KS_DOMAIN_CORE;
    parse_cpus("17", &want);
    cards[0].mask = want;
    assert_int_equal(ks_bind(cards, 1, &rules, seats, &map, NULL), 0);
    assert_true(CPU_EQUAL(&seats[0].spare, &want));
    assert_string_equal(seats[0].cores.text, "17");
    assert_int_equal(seats[0].nodes, 2);
    use_machine(NULL);
}

/* Kernels with threads have all CPUs of their domain, and nobody else is on them. */
static void threads_have_their_domain(void **state)
{
    static const struct {
        enum ks_host_domain domain;
        const char *first, *second, *spare;
    } rows[] = { { KS_DOMAIN_CORE, "0-1", "2-3", "4-15" },
                 { KS_DOMAIN_L3, "0-3", "4-7", "8-15" },
                 { KS_DOMAIN_SOCKET, "0-7", "8-15", "" } };
    struct ks_bind_card cards[2] = { { .rank = 0 }, { .rank = 1 } };
    char text[64];

    (void)state;
    use_machine("package:2 l3:2 core:2 pu:2");
    for (unsigned cpu = 0; cpu < 16; cpu++) {
        CPU_SET(cpu, &cards[0].mask);
        CPU_SET(cpu, &cards[1].mask);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_bind_rules rules = { .domain = rows[i].domain, .has_threads = true };
        struct ks_bind_seat seats[2];
        struct ks_bind_map map;
        struct ks_err err;

        assert_int_equal(ks_bind(cards, 2, &rules, seats, &map, &err), 0);
        ks_machine_cpu_text(&seats[0].domain, text, sizeof(text));
        assert_string_equal(text, rows[i].first);
        ks_machine_cpu_text(&seats[1].domain, text, sizeof(text));
        assert_string_equal(text, rows[i].second);
        assert_string_equal(seats[0].spare_text, rows[i].spare);
    }
    use_machine(NULL);
}

static void unused_devices_are_named(void **state)
{
    static const struct row row = { "mi250", 2, 0, "*", "012", NULL, NULL };
    struct ks_bind_card *cards = calloc(2, sizeof(*cards));
    struct ks_bind_seat seats[2];
    struct ks_bind_rules rules = { .has_devices = true };
    struct ks_bind_map map;

    (void)state;
    use_machine(row.machine);
    make_cards(&row, cards);
    assert_int_equal(ks_bind(cards, 2, &rules, seats, &map, NULL), 0);
    assert_int_equal(map.n_unused, 1);
    assert_string_equal(map.unused, "0000:c9:00.0");
    use_machine(NULL);
    free(cards);
}

/* This host, whatever it is: a worker's core and the spare ones do not meet. */
static void this_host(void **state)
{
    struct ks_topo_host h;
    struct ks_bind_card *cards = calloc(RANKS, sizeof(*cards));
    struct ks_bind_seat *seats = calloc(RANKS, sizeof(*seats));
    struct ks_bind_rules rules = { .has_devices = false };
    struct ks_bind_map map;

    (void)state;
    assert_int_equal(ks_topo_read(&h, NULL), 0);
    for (uint32_t n = 1; n <= h.n_cores + 1 && n <= RANKS; n++) {
        struct row r = { "this:", n, 0, "*", NULL, NULL, NULL };
        uint32_t n_seated = 0;
        make_cards(&r, cards);
        for (uint32_t i = 0; i < n; i++)
            sched_getaffinity(0, sizeof(cards[i].mask), &cards[i].mask);
        assert_int_equal(ks_bind(cards, n, &rules, seats, &map, NULL), 0);
        check_rules(&r, cards, seats);
        for (uint32_t i = 0; i < n; i++)
            n_seated += seats[i].seat == KS_SEAT_MEASURE;
        assert_int_equal(n_seated, n < h.n_cores ? n : h.n_cores);
    }
    free(cards);
    free(seats);
}

static void unreadable_topology_is_an_error(void **state)
{
    struct ks_bind_card card = { .rank = 0 };
    struct ks_bind_seat seat;
    struct ks_bind_rules rules = { .has_devices = false };
    struct ks_bind_map map;
    struct ks_err err = { 0 };

    (void)state;
    setenv("HWLOC_COMPONENTS", "xml,stop", 1);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    use_machine("nowhere");
    assert_int_equal(ks_bind(&card, 1, &rules, &seat, &map, &err), KS_EIO);
    use_machine(NULL);
    unsetenv("HWLOC_COMPONENTS");
    unsetenv("HWLOC_HIDE_ERRORS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_on_cores),
        cmocka_unit_test(ranks_that_were_bound),
        cmocka_unit_test(domains),
        cmocka_unit_test(ranks_on_devices),
        cmocka_unit_test(wrong_maps_of_devices),
        cmocka_unit_test(many_ranks),
        cmocka_unit_test(seats_are_described),
        cmocka_unit_test(threads_have_their_domain),
        cmocka_unit_test(unused_devices_are_named),
        cmocka_unit_test(this_host),
        cmocka_unit_test(unreadable_topology_is_an_error),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
