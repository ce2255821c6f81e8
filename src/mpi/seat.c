/* SPDX-License-Identifier: MIT */
#include "mpi/seat.h"

#include "base/clock.h"
#include "mpi/agent.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_NS 60000000000ull /* GPU runtimes take seconds */

static const char *backend_of(const struct ks_job *job)
{
    return ks_job_backends[job->device.backend];
}

/* The devices are listed by a probe; else cores are what there is. */
static bool has_devices(const struct ks_job *job)
{
    if (strcmp(backend_of(job), "sim") == 0)
        return strstr(job->device.arch_text, "n_devices=") != NULL;
    return strcmp(backend_of(job), "host") != 0;
}

bool ks_seat_is_limited(const struct ks_job *job)
{
    return has_devices(job) || strcmp(backend_of(job), "sim") != 0;
}

static void own_lists(const char *lists[KS_VISIBLE_N])
{
    for (int i = 0; i < KS_VISIBLE_N; i++)
        lists[i] = getenv(ks_visible_names[i]);
}

static int await_end(struct ks_warden *w, uint32_t child, struct ks_child_end *end_out,
                     struct ks_err *err)
{
    int rc;

    while ((rc = ks_warden_next(w, end_out, err)) >= 0) {
        struct pollfd p = { .fd = ks_warden_fd(w), .events = POLLIN };
        if (rc == 1 && end_out->child == child)
            return 0;
        if (rc == 0 && poll(&p, 1, -1) < 0 && errno != EINTR)
            return ks_fail_errno(err, "waiting for a probe");
    }
    return rc;
}

/* "device=3 0000:c1:00.0 GPU-1234" */
static bool take_line(const char *line, struct ks_bind_card *card)
{
    struct ks_bind_device d;
    unsigned i = 0;

    if (sscanf(line, "device=%u %15s %63s", &i, d.pci, d.unique) != 3 || i != card->n_devices ||
        i >= KS_BIND_DEVICES)
        return false;
    if (strcmp(d.pci, "-") == 0)
        d.pci[0] = '\0';
    card->devices[card->n_devices++] = d;
    return true;
}

/* What the probe printed; else why it is of no use goes where the lists would stand. */
static void take_probe(const struct ks_child_end *end, struct ks_bind_card *card)
{
    char text[sizeof(end->tail) + 1], *rest = text, *line;
    unsigned n = 0;
    bool is_good = end->how == KS_END_EXITED && end->code == 0;

    snprintf(text, sizeof(text), "%.*s", (int)end->n_tail, end->tail);
    if (!is_good)
        snprintf(card->lists, sizeof(card->lists), "probe %s %d: %.90s", ks_end_text(end->how),
                 end->code, text + (strncmp(text, "ksweep-worker: ", 15) == 0 ? 15 : 0));
    card->lists[strcspn(card->lists, "\n")] = '\0';
    while (is_good && (line = strsep(&rest, "\n"))) {
        if (strncmp(line, "count=", 6) == 0)
            n = (unsigned)strtoul(line + 6, NULL, 10);
        else if (strncmp(line, "device=", 7) == 0)
            is_good = take_line(line, card);
    }
    if (is_good && card->n_devices == n)
        return;
    card->n_devices = 0;
    if (is_good)
        snprintf(card->lists, sizeof(card->lists), "the probe listed less than %u devices", n);
}

static int probe(const struct ks_job *job, struct ks_warden *warden, struct ks_bind_card *card,
                 struct ks_err *err)
{
    const char *lists[KS_VISIBLE_N], *env[KS_VISIBLE_N + 1] = { NULL };
    bool is_sim = strcmp(backend_of(job), "sim") == 0;
    struct ks_visible_env visible;
    struct ks_child_end end;
    char worker[1024];
    uint32_t child;
    int rc = ks_agent_find_worker(worker, sizeof(worker), err);

    if (rc < 0)
        return rc;
    own_lists(lists);
    ks_visible_env(backend_of(job), lists, -1, &visible);
    for (uint32_t i = 0; i < visible.n; i++)
        env[i] = visible.text[i];
    const char *argv[] = { worker, "--probe", backend_of(job), is_sim ? job->device.arch_text : "",
                           NULL };
    struct ks_spawn what = { .argv = argv,
                             .env = env,
                             .fds = { -1, -1, -1, -1 },
                             .status_fd = -1,
                             .deadline_ns = ks_now_ns() + PROBE_NS };
    rc = ks_warden_spawn(warden, &what, &child, err);
    if (rc == 0)
        rc = await_end(warden, child, &end, err);
    if (rc == 0)
        take_probe(&end, card);
    return rc;
}

int ks_seat_card(const struct ks_job *job, struct ks_warden *warden, struct ks_bind_card *card_out,
                 struct ks_err *err)
{
    const char *lists[KS_VISIBLE_N];
    struct ks_bind_card card = { .n_devices = 0 };
    int rc = 0;

    if (sched_getaffinity(0, sizeof(card.mask), &card.mask) < 0)
        return ks_fail_errno(err, "sched_getaffinity");
    own_lists(lists);
    ks_visible_text(lists, card.lists, sizeof(card.lists));
    if (has_devices(job))
        rc = probe(job, warden, &card, err);
    if (rc == 0)
        *card_out = card;
    return rc;
}

static void describe(const struct ks_job *job, const struct ks_bind_card *card,
                     struct ks_rank_seat *s)
{
    const char *lists[KS_VISIBLE_N];

    s->is_pinned = s->bind.seat != KS_SEAT_NONE;
    if (s->bind.i_device < 0)
        return;
    s->device = card->devices[s->bind.i_device];
    own_lists(lists);
    ks_visible_env(backend_of(job), lists, s->bind.i_device, &s->visible);
}

static int take(const struct ks_job *job, const struct ks_bind_card *cards, uint32_t n,
                uint32_t local_rank, const struct ks_seat_options *o, struct ks_rank_seat *out,
                struct ks_err *err)
{
    struct ks_bind_rules rules = { .domain = o->domain,
                                   .has_devices = has_devices(job),
                                   .oversubscribe = o->oversubscribe };
    struct ks_rank_seat s = { .domain = o->domain };
    struct ks_bind_seat *seats = calloc(n, sizeof(*seats));

    if (!seats)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    int rc = ks_bind(cards, n, &rules, seats, &s.map, err);
    if (rc == 0) {
        s.bind = seats[local_rank];
        describe(job, &cards[local_rank], &s);
        *out = s;
    }
    free(seats);
    return rc;
}

int ks_seat_take(const struct ks_job *job, const struct ks_net *net,
                 const struct ks_seat_options *o, struct ks_rank_seat *out, struct ks_err *err)
{
    if (!ks_seat_is_limited(job)) {
        *out = (struct ks_rank_seat){ .bind = { .seat = KS_SEAT_MEASURE, .i_device = -1 } };
        return 0;
    }
    return take(job, ks_net_cards(net), ks_net_n_local(net), ks_net_local_rank(net), o, out, err);
}

int ks_seat_check(const struct ks_rank_seat *s, struct ks_err *err)
{
    char host[64] = "";

    if (!s->map.refusal[0])
        return 0;
    gethostname(host, sizeof(host) - 1);
    return ks_fail(err, KS_EINVAL, "%s: %s", host, s->map.refusal);
}

int ks_seat_alone(const struct ks_job *job, struct ks_warden *warden, struct ks_rank_seat *out,
                  struct ks_err *err)
{
    struct ks_seat_options o = { .oversubscribe = true };
    struct ks_bind_card card;
    struct ks_rank_seat s = { .bind = { .seat = KS_SEAT_MEASURE, .i_device = -1 } };
    int rc = 0;

    if (ks_seat_is_limited(job))
        rc = ks_seat_card(job, warden, &card, err);
    if (rc == 0 && ks_seat_is_limited(job))
        rc = take(job, &card, 1, 0, &o, &s, err);
    if (rc == 0)
        rc = ks_seat_check(&s, err);
    if (rc == 0)
        *out = s;
    return rc;
}

void ks_seat_settle(const struct ks_rank_seat *s, struct ks_warden *warden)
{
    if (CPU_COUNT(&s->bind.spare) == 0) /* anywhere */
        return;
    (void)sched_setaffinity(0, sizeof(s->bind.spare), &s->bind.spare);
    if (warden)
        (void)sched_setaffinity(ks_warden_pid(warden), sizeof(s->bind.spare), &s->bind.spare);
}
