/* SPDX-License-Identifier: MIT */
#include "journal/journal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "journal/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ks_journal {
    struct ks_journal_sys sys;
    struct ks_segment segment;
    char *dir, path[4096];
    int fd;
    dev_t dev; /* of the open file, to notice that its name is gone */
    ino_t ino;
    struct ks_buf pending; /* appended, not yet written */
    uint64_t durable;
    uint64_t last_beat_ns;
    int broken; /* 0, or the code of the first failure */
    struct ks_err why;
};

static int sys_open(void *ctx, const char *path, int flags, unsigned mode)
{
    (void)ctx;
    return open(path, flags, (mode_t)mode);
}

static long sys_write(void *ctx, int fd, const void *bytes, size_t n)
{
    (void)ctx;
    return (long)write(fd, bytes, n);
}

static int sys_fdatasync(void *ctx, int fd)
{
    (void)ctx;
    return fdatasync(fd);
}

const struct ks_journal_sys ks_journal_sys_default = { .open = sys_open,
                                                       .write = sys_write,
                                                       .fdatasync = sys_fdatasync };

/* Remembers the first failure: what comes after it can no longer be promised. */
static int break_with(struct ks_journal *j, int rc, const struct ks_err *why, struct ks_err *err)
{
    j->broken = rc;
    j->why = *why;
    if (err)
        *err = *why;
    return rc;
}

static int is_broken(const struct ks_journal *j, struct ks_err *err)
{
    if (j->broken < 0 && err)
        *err = j->why;
    return j->broken;
}

static int check_memory(struct ks_journal *j, struct ks_err *err)
{
    struct ks_err why;

    if (ks_buf_ok(&j->pending))
        return 0;
    ks_fail(&why, KS_ENOMEM, "out of memory for journal '%s'", j->path);
    return break_with(j, KS_ENOMEM, &why, err);
}

static uint64_t position(const struct ks_journal *j)
{
    return j->durable + j->pending.len;
}

int ks_journal_append(struct ks_journal *j, uint16_t type, const void *body, size_t n,
                      uint64_t *position_out, struct ks_err *err)
{
    int rc = is_broken(j, err);

    assert(type < KS_F_REQ_SETUP);
    if (rc == 0) {
        ks_frame_put(&j->pending, type, body, n);
        rc = check_memory(j, err);
    }
    if (rc == 0 && position_out)
        *position_out = position(j);
    return rc;
}

int ks_journal_append_raw(struct ks_journal *j, const void *frames, size_t n,
                          uint64_t *position_out, struct ks_err *err)
{
    int rc = is_broken(j, err);

    if (rc == 0) {
        ks_buf_put(&j->pending, frames, n);
        rc = check_memory(j, err);
    }
    if (rc == 0 && position_out)
        *position_out = position(j);
    return rc;
}

static int write_pending(struct ks_journal *j, struct ks_err *err)
{
    size_t at = 0;

    while (at < j->pending.len) {
        long n = j->sys.write(j->sys.ctx, j->fd, j->pending.data + at, j->pending.len - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, "writing journal '%s'", j->path);
        if (n == 0)
            return ks_fail(err, KS_EIO, "journal '%s' accepts no more data after a failed write",
                           j->path);
        at += (size_t)n;
    }
    if (j->sys.fdatasync(j->sys.ctx, j->fd) < 0)
        return ks_fail_errno(err, "syncing journal '%s'", j->path);
    return 0;
}

/* Writing to a file whose name is gone succeeds and is lost when it is closed. */
static int check_name(const struct ks_journal *j, struct ks_err *err)
{
    struct stat st = { .st_ino = 0 };

    if (stat(j->path, &st) < 0 && errno != ENOENT && errno != ENOTDIR)
        return ks_fail_errno(err, "journal '%s'", j->path);
    if (st.st_dev != j->dev || st.st_ino != j->ino)
        return ks_fail(err, KS_EIO, "journal directory disappeared: '%s' was removed or replaced",
                       j->path);
    return 0;
}

static int check_highest(const struct ks_journal *j, struct ks_err *err)
{
    struct ks_err why;
    uint32_t highest;
    int rc = ks_segment_highest(j->dir, &highest, &why);

    if (rc == KS_ENOENT)
        return ks_fail(err, KS_EIO, "journal directory disappeared: '%s'", j->dir);
    if (rc < 0) /* it could be read once: no longer an error of the input */
        return ks_fail(err, rc == KS_EINVAL ? KS_EIO : why.code, "%s", why.text);
    if (highest > j->segment.incarnation)
        return ks_fail(err, KS_EOWNER,
                       "journal '%s' was taken over by another process (segment %" PRIu32
                       " after our %" PRIu32 ")",
                       j->dir, highest, j->segment.incarnation);
    return 0;
}

/* The look before writing keeps an owner that was stopped for long from writing at all; only the
 * one after the sync makes acknowledging safe. */
static int sync_pending(struct ks_journal *j, struct ks_err *err)
{
    int rc = check_name(j, err);

    if (rc == 0)
        rc = check_highest(j, err);
    if (rc == 0)
        rc = write_pending(j, err);
    if (rc == 0)
        rc = check_name(j, err);
    if (rc == 0)
        rc = check_highest(j, err);
    return rc;
}

int ks_journal_sync(struct ks_journal *j, uint64_t *durable_out, struct ks_err *err)
{
    struct ks_err why;
    int rc = is_broken(j, err);

    if (rc < 0)
        return rc;
    if (j->pending.len) {
        rc = sync_pending(j, &why);
        if (rc < 0)
            return break_with(j, rc, &why, err);
        j->durable += j->pending.len;
        ks_buf_clear(&j->pending);
    }
    if (durable_out)
        *durable_out = j->durable;
    return 0;
}

uint64_t ks_journal_pending(const struct ks_journal *j)
{
    return j->pending.len;
}

const struct ks_segment *ks_journal_segment(const struct ks_journal *j)
{
    return &j->segment;
}

int ks_journal_beat(struct ks_journal *j, uint64_t now_ns, struct ks_err *err)
{
    struct ks_buf body;
    int rc;

    /* A clock that was set back must not silence the owner. */
    if (now_ns >= j->last_beat_ns && now_ns - j->last_beat_ns < KS_JOURNAL_BEAT_NS)
        return is_broken(j, err);
    ks_buf_init(&body);
    ks_tag_u64(&body, KS_HEARTBEAT_TAG, now_ns);
    rc = ks_buf_ok(&body) ? ks_journal_append(j, KS_F_HEARTBEAT, body.data, body.len, NULL, err)
                          : ks_fail(err, KS_ENOMEM, "out of memory for a heartbeat");
    ks_buf_release(&body);
    if (rc == 0)
        j->last_beat_ns = now_ns;
    return rc;
}

void ks_journal_abandon(struct ks_journal *j)
{
    if (!j)
        return;
    if (j->fd >= 0)
        close(j->fd);
    ks_buf_release(&j->pending);
    free(j->dir);
    free(j);
}

int ks_journal_close(struct ks_journal *j, struct ks_err *err)
{
    int rc;

    if (!j)
        return 0;
    rc = ks_journal_append(j, KS_F_CLOSE, NULL, 0, NULL, err);
    if (rc == 0)
        rc = ks_journal_sync(j, NULL, err);
    if (close(j->fd) < 0 && rc == 0)
        rc = ks_fail_errno(err, "closing journal '%s'", j->path);
    j->fd = -1;
    ks_journal_abandon(j);
    return rc;
}

/* ---- creation ---- */

static int refuse_owner(const struct ks_journal_owner *o, const char *dir, uint64_t now_ns,
                        struct ks_err *err)
{
    uint64_t age_s = now_ns > o->last_beat_ns ? (now_ns - o->last_beat_ns) / 1000000000u : 0;

    if (o->is_same_host)
        return ks_fail(err, KS_EOWNER,
                       "journal '%s' is in use by process %" PRId32
                       " on this host (last sign of life %" PRIu64
                       " s ago): stop that process first, or use --take-over",
                       dir, o->segment.pid, age_s);
    return ks_fail(
        err, KS_EOWNER,
        "journal '%s' is in use by process %" PRId32
        " on host '%s' or in another container (last sign of life %" PRIu64
        " s ago): stop that process, wait until it was silent for 60 s, or use --take-over",
        dir, o->segment.pid, o->segment.host, age_s);
}

/* The run of the newest segment that says one; zero when none does. */
static int find_run(const char *dir, const struct ks_segment_list *l, struct ks_id128 *run_id_out,
                    struct ks_err *err)
{
    char path[4096];

    *run_id_out = (struct ks_id128){ 0, 0 };
    for (size_t i = l->n; i > 0; i--) {
        struct ks_segment s;
        int rc = ks_segment_path(path, sizeof(path), dir, l->number[i - 1], err);

        if (rc == 0)
            rc = ks_segment_header(path, &s, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        *run_id_out = s.run_id;
        return 0;
    }
    return 0;
}

static int choose_run(const struct ks_journal_open *how, const struct ks_segment_list *l,
                      struct ks_segment *s, struct ks_err *err)
{
    char ours[33], theirs[33];
    struct ks_id128 found;
    int rc = find_run(how->dir, l, &found, err);

    if (rc < 0)
        return rc;
    s->run_id = how->run_id;
    if (ks_id128_is_zero(s->run_id))
        s->run_id = ks_id128_is_zero(found) ? ks_id128_random() : found;
    if (ks_id128_is_zero(found) || ks_id128_eq(found, s->run_id))
        return 0;
    ks_hex128(found, theirs);
    ks_hex128(s->run_id, ours);
    return ks_fail(err, KS_EEXIST, "journal '%s' belongs to run %s, not %s", how->dir, theirs,
                   ours);
}

/* Number and run of the segment to create. */
static int plan_segment(const struct ks_journal_open *how, struct ks_segment *s, struct ks_err *err)
{
    struct ks_segment_list l;
    struct ks_journal_owner owner;
    int rc = ks_segment_list(how->dir, &l, err);

    if (rc < 0)
        return rc;
    s->incarnation = l.n ? l.number[l.n - 1] + 1 : 1;
    rc = choose_run(how, &l, s, err);
    if (rc == 0 && l.n && !how->take_over) {
        rc = ks_journal_owner_from(how->dir, how->here, &owner, err);
        if (rc == 0 && owner.is_alive)
            rc = refuse_owner(&owner, how->dir, s->realtime_ns, err);
    }
    ks_segment_list_release(&l);
    return rc;
}

/* Fences down to the newest segment with a header; those below it are fenced by that header. A
 * segment without one was given up while it was created and holds nothing, unless it was damaged.
 */
static int set_fences(const char *dir, struct ks_segment *s, struct ks_err *err)
{
    char path[4096];
    int rc = 0;

    for (uint32_t number = s->incarnation - 1; rc == 0 && number > 0; number--) {
        struct ks_segment older;
        struct ks_fence fence = { .segment = number };

        rc = ks_segment_path(path, sizeof(path), dir, number, err);
        rc = rc < 0 ? rc : ks_segment_size(path, &fence.n_bytes, err);
        if (rc == KS_ENOENT) { /* reported by whoever reads */
            rc = 0;
            continue;
        }
        rc = rc < 0 ? rc : ks_segment_header(path, &older, err);
        if (rc == 1 && older.incarnation != number) /* a copy, whose fences are of another place */
            rc = 0;
        if (fence.n_bytes == 0 || rc < 0)
            continue;
        if (rc == 1 && s->n_fences == KS_FENCES_MAX)
            s->n_fences--;
        if (s->n_fences < KS_FENCES_MAX)
            s->fences[s->n_fences++] = fence;
    }
    return rc < 0 ? rc : 0;
}

static void fill_identity(const struct ks_journal_here *here, struct ks_segment *s)
{
    s->pid = (int32_t)getpid();
    if (!ks_process_start(getpid(), &s->pid_start))
        s->pid_start = 0;
    ks_process_host(s->host, sizeof(s->host));
    ks_process_boot(s->boot_id, sizeof(s->boot_id));
    if (here && here->host)
        snprintf(s->host, sizeof(s->host), "%s", here->host);
    if (here && here->boot_id)
        snprintf(s->boot_id, sizeof(s->boot_id), "%s", here->boot_id);
    s->pid_space = here && here->pid_space ? here->pid_space : ks_process_space();
    snprintf(s->version, sizeof(s->version), "%s", KS_VERSION);
    s->realtime_ns = here && here->now_ns ? here->now_ns : ks_realtime_ns();
}

static int open_segment(struct ks_journal *j, struct ks_err *err)
{
    struct stat st;
    int rc = ks_segment_path(j->path, sizeof(j->path), j->dir, j->segment.incarnation, err);

    if (rc < 0)
        return rc;
    j->fd =
        j->sys.open(j->sys.ctx, j->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (j->fd < 0 && errno == EEXIST)
        return ks_fail(err, KS_EOWNER, "journal '%s' was just taken over by another process",
                       j->dir);
    if (j->fd < 0 && errno == EROFS) /* a disk that failed: the run can be resumed elsewhere */
        return ks_fail_errno(err, "creating journal '%s'", j->path);
    if (j->fd < 0)
        return ks_fail_path(err, "creating journal '%s'", j->path);
    if (fstat(j->fd, &st) < 0)
        return ks_fail_errno(err, "journal '%s'", j->path);
    j->dev = st.st_dev;
    j->ino = st.st_ino;
    return 0;
}

static int sync_name(const struct ks_journal *j, struct ks_err *err)
{
    char parent[4096];
    int rc = ks_file_sync_dir(j->dir, err);

    ks_path_dir(parent, sizeof(parent), j->dir);
    return rc < 0 ? rc : ks_file_sync_dir(parent, err);
}

static int write_header(struct ks_journal *j, struct ks_err *err)
{
    struct ks_buf body;
    int rc;

    ks_buf_init(&body);
    ks_segment_encode(&j->segment, &body);
    rc = ks_buf_ok(&body) ? ks_journal_append(j, KS_F_SEGMENT, body.data, body.len, NULL, err)
                          : ks_fail(err, KS_ENOMEM, "out of memory for a header");
    ks_buf_release(&body);
    if (rc == 0)
        rc = ks_journal_sync(j, NULL, err);
    return rc;
}

int ks_journal_create(const struct ks_journal_open *how, struct ks_journal **j_out,
                      struct ks_err *err)
{
    struct ks_journal *j = calloc(1, sizeof(*j));
    int rc;

    if (!j)
        return ks_fail(err, KS_ENOMEM, "out of memory for a journal");
    j->fd = -1;
    j->sys = how->sys ? *how->sys : ks_journal_sys_default;
    ks_buf_init(&j->pending);
    j->dir = strdup(how->dir);
    fill_identity(how->here, &j->segment);
    j->last_beat_ns = j->segment.realtime_ns;
    rc = j->dir ? ks_mkdirs(how->dir, 0777, err) : ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc == 0)
        rc = plan_segment(how, &j->segment, err);
    if (rc == 0)
        rc = open_segment(j, err);
    if (rc == 0)
        rc = set_fences(j->dir, &j->segment, err);
    if (rc == 0)
        rc = write_header(j, err);
    if (rc == 0)
        rc = sync_name(j, err);
    if (rc < 0) {
        ks_journal_abandon(j);
        return rc;
    }
    *j_out = j;
    return 0;
}
