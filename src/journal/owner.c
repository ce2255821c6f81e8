/* SPDX-License-Identifier: MIT */
/* owner.c - tells by process or by heartbeats whether the owner of a journal is alive */
#include "base/clock.h"
#include "base/process.h"
#include "journal/journal.h"
#include "journal/segment.h"

#include <string.h>

struct signs {
    uint64_t last_beat_ns;
    bool is_closed;
};

static int look_for_signs(void *ctx, const struct ks_frame *f, struct ks_err *err)
{
    struct signs *s = ctx;
    struct ks_cur body = ks_cur(f->body, f->n);
    struct ks_field field;
    bool bad = false;

    (void)err;
    s->is_closed = f->type == KS_F_CLOSE;
    if (f->type != KS_F_HEARTBEAT)
        return 0;
    while (ks_body_next(&body, &field, &bad))
        if (field.tag == KS_HEARTBEAT_TAG && ks_field_u64(&field) > s->last_beat_ns)
            s->last_beat_ns = ks_field_u64(&field);
    return 0;
}

/* Segments written before the namespace was recorded, and hosts that do not tell, have 0. */
static bool is_same_space(const struct ks_segment *s, const struct ks_journal_here *here)
{
    const uint64_t space = here && here->pid_space ? here->pid_space : ks_process_space();

    return !s->pid_space || !space || s->pid_space == space;
}

static bool is_same_host(const struct ks_segment *s, const struct ks_journal_here *here)
{
    char host[sizeof(s->host)];

    ks_process_host(host, sizeof(host));
    return is_same_space(s, here) && strcmp(s->host, here && here->host ? here->host : host) == 0;
}

static bool is_same_boot(const struct ks_segment *s, const struct ks_journal_here *here)
{
    char boot_id[sizeof(s->boot_id)];

    ks_process_boot(boot_id, sizeof(boot_id));
    return strcmp(s->boot_id, here && here->boot_id ? here->boot_id : boot_id) == 0;
}

static bool is_process_there(const struct ks_segment *s)
{
    uint64_t start;

    return ks_process_start(s->pid, &start) && start == s->pid_start;
}

/* A beat from the future (clocks differ) counts as one of now. */
static bool is_silent(uint64_t last_beat_ns, const struct ks_journal_here *here)
{
    uint64_t now = here && here->now_ns ? here->now_ns : ks_realtime_ns();

    return now > last_beat_ns && now - last_beat_ns >= KS_JOURNAL_SILENT_NS;
}

static void classify(struct ks_journal_owner *o, const struct ks_journal_here *here)
{
    o->is_same_host = is_same_host(&o->segment, here);
    if (o->is_closed)
        o->is_alive = false;
    else if (o->is_same_host)
        o->is_alive = is_same_boot(&o->segment, here) && is_process_there(&o->segment);
    else
        o->is_alive = !is_silent(o->last_beat_ns, here);
}

int ks_journal_owner_from(const char *dir, const struct ks_journal_here *here,
                          struct ks_journal_owner *out, struct ks_err *err)
{
    struct ks_journal_owner o = { .last_beat_ns = 0 };
    struct signs signs = { .last_beat_ns = 0 };
    struct ks_scan how = { .on_frame = look_for_signs, .ctx = &signs, .limit = UINT64_MAX };
    char path[4096];
    uint32_t number;
    int rc = ks_segment_highest(dir, &number, err);

    if (rc < 0)
        return rc;
    if (number == 0)
        return ks_fail(err, KS_ENOENT, "journal '%s' has no segment", dir);
    rc = ks_segment_path(path, sizeof(path), dir, number, err);
    if (rc == 0)
        rc = ks_segment_header(path, &o.segment, err);
    if (rc == 0)
        o.segment.incarnation = number;
    if (rc > 0) {
        signs.last_beat_ns = o.segment.realtime_ns;
        rc = ks_segment_scan(path, &how, NULL, err);
        o.last_beat_ns = signs.last_beat_ns;
        o.is_closed = signs.is_closed;
        classify(&o, here);
    }
    if (rc == 0)
        *out = o;
    return rc;
}

int ks_journal_owner(const char *dir, struct ks_journal_owner *out, struct ks_err *err)
{
    return ks_journal_owner_from(dir, NULL, out, err);
}
