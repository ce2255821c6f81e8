/* SPDX-License-Identifier: MIT */
/* seat.c - which device and cores a rank gets, checked against what its worker sees */
#include "mpi/seat.h"

#include "grid/arch.h"
#include "mpi/provenance.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The devices are listed by a probe; else cores are what there is. */
static bool has_devices(const struct ks_job *job)
{
    if (ks_job_is(job, KS_BACKEND_VIRTUAL))
        return strstr(job->device.arch_text, "n_devices=") != NULL;
    return ks_job_is(job, KS_BACKEND_DEVICES);
}

bool ks_seat_is_limited(const struct ks_job *job)
{
    return has_devices(job) || !ks_job_is(job, KS_BACKEND_VIRTUAL);
}

static void own_lists(const char *lists[KS_VISIBLE_N])
{
    for (int i = 0; i < KS_VISIBLE_N; i++)
        lists[i] = getenv(ks_visible_names[i]);
}

/* What a child sees that is given as much as this process was. */
static int see(const struct ks_job *job, struct ks_warden *warden, struct ks_bind_card *card,
               struct ks_err *err)
{
    const char *lists[KS_VISIBLE_N];
    struct ks_visible_env visible;
    struct ks_probe p;

    own_lists(lists);
    ks_visible_env(ks_job_backend(job), lists, -1, &visible);
    int rc = ks_probe(job, &visible, warden, &p, err);
    if (rc < 0)
        return rc;
    card->n_devices = p.n_devices;
    memcpy(card->devices, p.devices, sizeof(card->devices));
    memcpy(card->arch, p.first.arch, sizeof(card->arch));
    memcpy(card->why, p.why, sizeof(card->why));
    card->is_unable = !p.has_looked;
    return 0;
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
        rc = see(job, warden, &card, err);
    if (rc == 0)
        *card_out = card;
    return rc;
}

bool ks_seat_is_asked(const struct ks_job *job)
{
    return ks_job_is_gpu(job) && strcmp(job->device.arch_text, KS_ARCH_NATIVE) == 0;
}

int ks_seat_native(struct ks_job *job, const struct ks_bind_card *card, struct ks_err *err)
{
    if (!ks_seat_is_asked(job))
        return 0;
    if (card->n_devices && card->arch[0]) {
        snprintf(job->device.arch_text, sizeof(job->device.arch_text), "%s", card->arch);
        job->device.arch = job->device.arch_text;
        return 0;
    }
    return ks_fail(err, KS_EINVAL,
                   "device.arch: name one, such as %s, in the job or with --arch: 'native' needs a "
                   "device, and none is visible here: %s",
                   ks_arch_example(ks_job_backend(job)->archs),
                   card->why[0]     ? card->why
                   : card->lists[0] ? card->lists
                                    : "no *_VISIBLE_DEVICES");
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
    ks_visible_env(ks_job_backend(job), lists, s->bind.i_device, &s->visible);
}

static int take(const struct ks_job *job, const struct ks_bind_card *cards, uint32_t n,
                uint32_t local_rank, const struct ks_seat_options *o, struct ks_rank_seat *out,
                struct ks_err *err)
{
    struct ks_bind_rules rules = { .domain = o->domain,
                                   .has_devices = has_devices(job),
                                   .oversubscribe = o->oversubscribe,
                                   .has_threads = o->has_threads };
    struct ks_rank_seat s = { .domain = o->domain, .has_threads = o->has_threads };
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

int ks_seat_rehearse(const struct ks_job *job, const struct ks_bind_card *card, uint32_t n,
                     const struct ks_seat_options *o, struct ks_err *err)
{
    struct ks_rank_seat seat = { .has_threads = o->has_threads };
    struct ks_bind_card *cards;
    int rc = 0;

    if (!ks_seat_is_limited(job))
        return 0;
    cards = calloc(n, sizeof(*cards));
    if (!cards)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++) {
        cards[i] = *card;
        cards[i].rank = i;
    }
    rc = take(job, cards, n, 0, o, &seat, err);
    free(cards);
    return rc < 0 ? rc : ks_seat_check(&seat, err);
}

/* The worker of this rank is to get the device that the map gave it, and no other. */
static int check_device(const struct ks_job *job, const struct ks_rank_seat *s,
                        const struct ks_probe *p, struct ks_err *err)
{
    const struct ks_bind_device *want = &s->device, *have = &p->devices[0];
    const char *arch = job->device.arch_text;

    if (p->n_devices != 1)
        return ks_fail(err, KS_ENODEVICE, "a worker restricted to %s (%s) sees %u devices%s%s",
                       want->pci, s->visible.text[0], p->n_devices, p->why[0] ? ": " : "", p->why);
    if (strcmp(have->unique, want->unique) != 0 || strcmp(have->pci, want->pci) != 0)
        return ks_fail(
            err, KS_ENODEVICE,
            "a worker restricted to %s at %s (%s) sees %s at %s instead: two ranks would share it",
            want->unique, want->pci, s->visible.text[0], have->unique, have->pci);
    if (ks_job_is_gpu(job) && strcmp(p->first.arch, arch) != 0)
        return ks_fail(err, KS_EINVAL,
                       "the device at %s (%s) is %s, but the job is for %s: use --arch %s, or "
                       "leave out this host; a sweep measures one arch",
                       want->pci, p->first.name, p->first.arch, arch, p->first.arch);
    return 0;
}

int ks_seat_identify(const struct ks_job *job, struct ks_warden *warden, struct ks_rank_seat *s,
                     struct ks_err *err)
{
    char host[64] = "";
    struct ks_probe p;

    if (s->bind.seat == KS_SEAT_NONE || !s->device.unique[0])
        return 0;
    int rc = ks_probe(job, &s->visible, warden, &p, err);
    if (rc == 0)
        rc = check_device(job, s, &p, err);
    if (rc < 0) {
        gethostname(host, sizeof(host) - 1);
        return ks_err_context(err, rc, "%s", host);
    }
    s->own = p.first;
    return 0;
}

/* Leaves only this device on the card; its number on the whole one. */
static int keep_device(struct ks_bind_card *card, uint64_t device_id, int32_t *i_out,
                       struct ks_err *err)
{
    for (uint32_t i = 0; i < card->n_devices; i++)
        if (ks_provenance_gpu(card->devices[i].unique) == device_id) {
            card->devices[0] = card->devices[i];
            card->n_devices = 1;
            *i_out = (int32_t)i;
            return 0;
        }
    return ks_fail(err, KS_ENODEVICE, "its GPU is not one of the %u that are visible here%s%s%s",
                   card->n_devices, card->lists[0] ? " (" : "", card->lists,
                   card->lists[0] ? ")" : "");
}

static int take_alone(const struct ks_job *job, uint64_t device_id, bool has_threads,
                      struct ks_warden *warden, struct ks_rank_seat *out, struct ks_err *err)
{
    struct ks_seat_options o = { .oversubscribe = true, .has_threads = has_threads };
    struct ks_bind_card card, one;
    int32_t i_device = 0;
    int rc = ks_seat_card(job, warden, &card, err);
    if (rc < 0)
        return rc;
    one = card;
    const bool is_chosen = device_id && ks_job_is_gpu(job) && card.n_devices;
    if (is_chosen)
        rc = keep_device(&one, device_id, &i_device, err);
    if (rc == 0)
        rc = take(job, &one, 1, 0, &o, out, err);
    if (rc == 0 && is_chosen) {
        out->bind.i_device = i_device;
        describe(job, &card, out);
    }
    return rc;
}

int ks_seat_alone(const struct ks_job *job, uint64_t device_id, bool has_threads,
                  struct ks_warden *warden, struct ks_rank_seat *out, struct ks_err *err)
{
    struct ks_rank_seat s = { .bind = { .seat = KS_SEAT_MEASURE, .i_device = -1 } };
    int rc = ks_seat_is_limited(job) ? take_alone(job, device_id, has_threads, warden, &s, err) : 0;

    if (rc == 0)
        rc = ks_seat_check(&s, err);
    if (rc == 0)
        rc = ks_seat_identify(job, warden, &s, err);
    if (rc == 0)
        *out = s;
    return rc;
}

cpu_set_t ks_seat_cpus(const struct ks_rank_seat *s, bool is_gpu)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    if (is_gpu)
        CPU_OR(&cpus, &s->bind.cores.cpus, &s->bind.spare);
    else if (s->has_threads)
        CPU_OR(&cpus, &cpus, &s->bind.domain);
    else
        CPU_SET(s->bind.cores.cpu, &cpus);
    return cpus;
}

/* All threads: the heartbeat's and those of MPI wake now and then, too. */
static void settle_threads(const cpu_set_t *cpus)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *d;

    (void)sched_setaffinity(0, sizeof(*cpus), cpus);
    while (tasks && (d = readdir(tasks)))
        if (d->d_name[0] != '.')
            (void)sched_setaffinity((pid_t)strtol(d->d_name, NULL, 10), sizeof(*cpus), cpus);
    if (tasks)
        closedir(tasks);
}

void ks_seat_settle(const struct ks_rank_seat *s, struct ks_warden *warden)
{
    if (CPU_COUNT(&s->bind.spare) == 0) /* anywhere */
        return;
    settle_threads(&s->bind.spare);
    if (warden)
        (void)sched_setaffinity(ks_warden_pid(warden), sizeof(s->bind.spare), &s->bind.spare);
}
