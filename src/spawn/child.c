/* SPDX-License-Identifier: MIT */
/* child.c - watching a living child, and the truth about a dead one. */
#include "spawn/child.h"

#include "base/text.h"
#include "record/outcome.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS                1000000ull
#define LOOK_NS           (50 * MS)  /* how often a child with a page is looked at */
#define LOOK_NEAR_NS      (20 * MS)  /* with a deadline within a second, or a limit to watch */
#define LOOK_MEASURING_NS (250 * MS) /* while it measures: the look costs its core some 20 us */
#define LOOK_MEMORY_NS    (125 * MS) /* and has a limit to watch */
#define DRAIN_READS       16

static void note_memory(struct ks_child *c)
{
    struct ks_proc_memory m;

    if (!c->page || ks_proc_memory(c->pid, &m, NULL) < 0)
        return;
    if (m.peak_bytes > c->page->peak_bytes)
        c->page->peak_bytes = m.peak_bytes;
    if (m.peak_space_bytes > c->page->peak_space_bytes)
        c->page->peak_space_bytes = m.peak_space_bytes;
}

void ks_child_kill(struct ks_child *c, enum ks_end why, uint64_t now_ns)
{
    if (c->killed_ns || c->is_reaped)
        return;
    note_memory(c);
    c->killed_ns = now_ns;
    c->why = why;
    /* Not reaped yet, so neither number can belong to somebody else. The second call is for a child
     * that has not reached its setpgid. */
    (void)kill(-c->pid, SIGKILL);
    (void)kill(c->pid, SIGKILL);
}

/* The position is the warden's own count: what a kernel scribbles on the page cannot lead it
 * astray.
 */
static void keep_ring(struct ks_child *c, const char *bytes, size_t n)
{
    size_t at = (size_t)(c->n_printed % KS_STATUS_RING), first = KS_STATUS_RING - at;

    if (first > n)
        first = n;
    memcpy(c->page->ring + at, bytes, first);
    memcpy(c->page->ring, bytes + first, n - first);
    c->n_printed += n;
    c->page->ring_bytes = c->n_printed;
}

void ks_child_drain(struct ks_child *c)
{
    char chunk[16384];
    _Static_assert(sizeof(chunk) <= KS_STATUS_RING, "a chunk wraps at most once");

    for (int i = 0; i < DRAIN_READS && c->output_fd >= 0; i++) {
        ssize_t n = read(c->output_fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close(c->output_fd);
            c->output_fd = -1;
            return;
        }
        if (c->page)
            keep_ring(c, chunk, (size_t)n);
        else
            c->n_tail = ks_tail_keep(c->tail, c->n_tail, KS_CHILD_TAIL, chunk, (size_t)n);
    }
}

static void sample_memory(struct ks_child *c, uint64_t now_ns)
{
    c->sampled_ns = now_ns;
    note_memory(c);
    if (c->rss_limit_bytes && ks_proc_tree_rss(c->pid) > c->rss_limit_bytes)
        ks_child_kill(c, KS_END_MEMORY, now_ns);
}

static uint64_t deadline_of(const struct ks_child *c)
{
    uint64_t a = c->deadline_ns, b = c->page_deadline_ns;

    if (!a || !b)
        return a ? a : b;
    return a < b ? a : b;
}

void ks_child_count_wake(struct ks_child *c)
{
    if (c->page && !c->is_reaped && c->page->phase == KS_PH_TIMING)
        c->n_wakes++;
}

void ks_child_watch(struct ks_child *c, uint64_t now_ns)
{
    if (c->is_reaped || c->killed_ns)
        return;
    /* A page overwritten by a wild store keeps the last deadline it had. */
    if (c->page && c->page->magic == KS_STATUS_MAGIC)
        c->page_deadline_ns = c->page->deadline_ns;
    uint64_t deadline = deadline_of(c);
    if (deadline && now_ns >= deadline)
        ks_child_kill(c, KS_END_DEADLINE, now_ns);
    else if ((c->page || c->rss_limit_bytes) && now_ns - c->sampled_ns >= LOOK_NEAR_NS)
        sample_memory(c, now_ns);
}

uint64_t ks_child_next_look(const struct ks_child *c, uint64_t now_ns)
{
    uint64_t deadline = deadline_of(c), step = LOOK_NS;

    if (c->is_abandoned)
        return UINT64_MAX;
    if (c->is_reaped)
        return now_ns + 5 * MS; /* its leftovers are dying */
    if (c->killed_ns)
        return c->killed_ns + KS_REAP_LIMIT_NS;
    if (!c->page && !c->rss_limit_bytes)
        return deadline ? deadline : UINT64_MAX;
    if (c->rss_limit_bytes || (deadline && deadline < now_ns + 1000 * MS))
        step = LOOK_NEAR_NS;
    if (c->page && c->page->is_measuring)
        step = c->rss_limit_bytes ? LOOK_MEMORY_NS : LOOK_MEASURING_NS;
    return deadline && deadline < now_ns + step ? deadline : now_ns + step;
}

/* How it ended, from what the kernel says and what the warden did. */
static enum ks_end classify(const struct ks_child *c, int exec_errno, int *code_out)
{
    *code_out = 0;
    if (!c->is_reaped)
        return KS_END_ABANDONED;
    if (exec_errno) {
        *code_out = exec_errno;
        return KS_END_NO_EXEC;
    }
    if (WIFEXITED(c->wait_status)) {
        *code_out = WEXITSTATUS(c->wait_status);
        return KS_END_EXITED;
    }
    *code_out = WTERMSIG(c->wait_status);
    return c->killed_ns && *code_out == SIGKILL ? c->why : KS_END_SIGNALED;
}

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void ks_child_report(struct ks_child *c, struct ks_child_end *out)
{
    int exec_errno = 0;

    ks_child_drain(c);
    if (read(c->exec_fd, &exec_errno, sizeof(exec_errno)) != (ssize_t)sizeof(exec_errno))
        exec_errno = 0; /* closed by exec */
    *out = (struct ks_child_end){ .child = c->id,
                                  .pid = c->pid,
                                  .n_leftover = c->n_leftover,
                                  .n_wakes = c->n_wakes,
                                  .wall_ns = c->ended_ns - c->started_ns,
                                  .peak_rss_bytes = (uint64_t)c->usage.ru_maxrss * 1024u,
                                  .user_ns = timeval_ns(c->usage.ru_utime),
                                  .system_ns = timeval_ns(c->usage.ru_stime),
                                  .n_tail = c->n_tail };
    memcpy(out->tail, c->tail, c->n_tail);
    out->how = classify(c, exec_errno, &out->code);
}
