/* SPDX-License-Identifier: MIT */
/* builder.c - the sign of life of those who build into a cache. */
#include "build/builder.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct identity {
    char host[64], boot[64];
    uint64_t space; /* of process numbers: containers of one host have one each */
    int pid;
    uint64_t start;
};

static void identify(struct identity *me)
{
    *me = (struct identity){ .pid = (int)getpid(), .space = ks_process_space() };
    ks_process_host(me->host, sizeof(me->host));
    ks_process_boot(me->boot, sizeof(me->boot));
    if (!ks_process_start(getpid(), &me->start))
        me->start = 0;
}

void ks_builder_init(struct ks_builder *b, const char *cache_dir)
{
    *b = (struct ks_builder){ .id = ks_id128_random() };
    snprintf(b->dir, sizeof(b->dir), "%s/builders", cache_dir);
}

static void path_of(const char *dir, struct ks_id128 id, char out[640])
{
    char hex[33];
    ks_hex128(id, hex);
    snprintf(out, 640, "%.600s/%s", dir, hex);
}

static int write_file(const struct ks_builder *b, struct ks_err *err)
{
    struct identity me;
    char path[640], text[320];
    identify(&me);
    path_of(b->dir, b->id, path);
    const int n = snprintf(text, sizeof(text),
                           "builder 1 host %s boot %s space %" PRIu64 " pid %d start %" PRIu64 "\n",
                           me.host, me.boot, me.space, me.pid, me.start);
    int rc = ks_mkdirs(b->dir, 0700, err);
    return rc < 0 ? rc : ks_file_replace(path, text, (size_t)n, err);
}

int ks_builder_beat(struct ks_builder *b, uint64_t now_ns, struct ks_err *err)
{
    char path[640];
    if (b->beat_ns && now_ns - b->beat_ns < KS_BUILDER_BEAT_NS)
        return 0;
    path_of(b->dir, b->id, path);
    /* The server's clock, where there is one. Gone: somebody took us for dead. */
    if (!b->beat_ns || utimensat(AT_FDCWD, path, NULL, 0) < 0) {
        int rc = write_file(b, err);
        if (rc < 0)
            return ks_err_context(err, rc, "build cache");
    }
    b->beat_ns = now_ns ? now_ns : 1;
    return 0;
}

void ks_builder_leave(struct ks_builder *b)
{
    char path[640];
    if (!b->beat_ns)
        return;
    path_of(b->dir, b->id, path);
    (void)unlink(path);
    b->beat_ns = 0;
}

void ks_builder_watch_release(struct ks_builder_watch *w)
{
    free(w->rows);
    *w = (struct ks_builder_watch){ .n = 0 };
}

static struct ks_builder_seen *find_seen(struct ks_builder_watch *w, struct ks_id128 id)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (ks_id128_eq(w->rows[i].id, id))
            return &w->rows[i];
    if (w->n == w->cap) {
        const uint32_t cap = w->cap ? 2 * w->cap : 16;
        struct ks_builder_seen *more = realloc(w->rows, cap * sizeof(*more));
        if (!more)
            return NULL;
        w->rows = more;
        w->cap = cap;
    }
    w->rows[w->n] = (struct ks_builder_seen){ .id = id };
    return &w->rows[w->n++];
}

/* Clocks of hosts differ: silence is what we have watched ourselves. */
static bool is_silent(struct ks_builder_watch *w, struct ks_id128 id, uint64_t touched_ns,
                      uint64_t now_ns)
{
    const uint64_t real_ns = ks_realtime_ns();
    if (real_ns > touched_ns && real_ns - touched_ns > KS_BUILDER_ANCIENT_NS)
        return true;
    struct ks_builder_seen *seen = w ? find_seen(w, id) : NULL;
    if (!seen)
        return false;
    if (seen->touched_ns != touched_ns)
        *seen = (struct ks_builder_seen){ id, touched_ns, now_ns };
    return now_ns - seen->since_ns >= KS_BUILDER_SILENT_NS;
}

/* One of this host and boot whose process does not run, or of an earlier boot. */
static bool is_known_dead(const char *text)
{
    struct identity me, it;
    uint64_t start;
    if (sscanf(text, "builder 1 host %63s boot %63s space %" SCNu64 " pid %d start %" SCNu64,
               it.host, it.boot, &it.space, &it.pid, &it.start) != 5)
        return false; /* not for us to decide: it becomes silent */
    identify(&me);
    if (strcmp(it.host, me.host) != 0)
        return false;
    if (strcmp(it.boot, me.boot) != 0)
        return true;
    return it.space == me.space && (!ks_process_start(it.pid, &start) || start != it.start);
}

bool ks_builder_is_gone(const char *dir, struct ks_id128 id, struct ks_builder_watch *w,
                        uint64_t now_ns)
{
    char path[640];
    struct ks_buf text;
    struct stat st;
    path_of(dir, id, path);
    if (stat(path, &st) < 0)
        return errno == ENOENT;
    ks_buf_init(&text);
    const bool is_dead = ks_file_read(path, &text, NULL) == 0 && is_known_dead(ks_buf_text(&text));
    ks_buf_release(&text);
    const uint64_t touched_ns =
        (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    return is_dead || is_silent(w, id, touched_ns, now_ns);
}

void ks_builder_sweep(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        char path[640];
        struct ks_id128 id;
        if (!ks_unhex128(e->d_name, &id) || !ks_builder_is_gone(dir, id, NULL, 0))
            continue;
        path_of(dir, id, path);
        (void)unlink(path);
    }
    if (d)
        closedir(d);
}
