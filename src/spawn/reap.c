/* SPDX-License-Identifier: MIT */
/* reap.c - collecting the dead, and whatever they left behind. The warden is a subreaper: orphans
 * of its children become its own children, also those that left the group and the session. */
#include "spawn/reap.h"
#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child that has not been reaped: after that its number may be anybody's. */
static struct ks_child *find_pid(const struct ks_loop *l, pid_t pid)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->children[i]->pid == pid && !l->children[i]->is_reaped)
            return l->children[i];
    return NULL;
}

#define MARK_LOOKS  4
#define MARK_GAP_NS 1000000u

/* A process in the middle of exec has no environment for a moment: one without a mark is looked at
 * again. */
static uint32_t mark_of(pid_t pid)
{
    uint32_t mark = ks_proc_mark(pid, getpid());

    for (int i = 1; mark == 0 && i < MARK_LOOKS; i++) {
        ks_sleep_ns(MARK_GAP_NS);
        mark = ks_proc_mark(pid, getpid());
    }
    return mark;
}

/* The child whose group or mark an orphan carries; NULL when it carries none (it exec'ed with an
 * empty environment). A group's number is not given away while it has a member. */
static struct ks_child *owner_of(const struct ks_loop *l, const struct ks_process *p)
{
    uint32_t mark;

    for (size_t i = 0; i < l->n; i++)
        if (l->children[i]->pid == p->group)
            return l->children[i];
    mark = mark_of(p->pid);
    for (size_t i = 0; i < l->n; i++)
        if (l->children[i]->id == mark)
            return l->children[i];
    return NULL;
}

static bool is_new(struct ks_child *c, pid_t pid)
{
    for (uint32_t i = 0; i < c->n_leftover && i < KS_CHILD_LEFTOVER; i++)
        if (c->leftover[i] == pid)
            return false;
    if (c->n_leftover < KS_CHILD_LEFTOVER)
        c->leftover[c->n_leftover] = pid;
    return true;
}

/* Members of a group the warden itself killed are dying, not left over. */
static bool is_counted(struct ks_child *c, const struct ks_process *p)
{
    bool is_killed_with_it = p->group == c->pid && c->killed_ns;

    return !is_killed_with_it && is_new(c, p->pid);
}

static void kill_leftover(struct ks_child *c, const struct ks_process *p)
{
    if (is_counted(c, p))
        c->n_leftover++;
    if (p->group == c->pid) /* pinned by this member */
        (void)kill(-c->pid, SIGKILL);
    (void)kill(p->pid, SIGKILL);
}

/* Kill what the ended child c left behind. true when nothing is there any more. An orphan without
 * an owner is blamed on the child that just ended. */
static bool kill_leftovers(struct ks_loop *l, struct ks_child *c)
{
    struct ks_process *list;
    bool is_clean = true;
    size_t n;

    if (ks_proc_children(&list, &n, NULL) < 0)
        return true; /* nothing can be learnt here */
    for (size_t i = 0; i < n; i++) {
        const struct ks_process *p = &list[i];
        const struct ks_child *owner;

        if (p->state == 'Z' || p->state == 'X' || find_pid(l, p->pid))
            continue;
        owner = owner_of(l, p);
        if (owner && owner != c)
            continue;
        is_clean = false;
        kill_leftover(c, p);
    }
    free(list);
    return is_clean;
}

static void reap_one(struct ks_loop *l, pid_t pid)
{
    struct ks_child *c = find_pid(l, pid);

    if (!c) { /* an orphan */
        (void)waitpid(pid, NULL, WNOHANG);
        return;
    }
    if (wait4(pid, &c->wait_status, WNOHANG, &c->usage) == pid) {
        c->is_reaped = true;
        c->ended_ns = ks_now_ns();
    }
}

/* false when there is no child at all, dead or alive. */
static bool reap_dead(struct ks_loop *l)
{
    for (;;) {
        siginfo_t si = { 0 };
        if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0)
            return false;
        if (si.si_pid == 0)
            return true;
        reap_one(l, si.si_pid);
    }
}

/* Report c when all is known about it. true when it can be forgotten, too: an abandoned child is
 * kept until the kernel gives it back. */
static bool settle(struct ks_loop *l, struct ks_child *c, uint64_t now_ns)
{
    struct ks_child_end end;

    if (c->is_abandoned)
        return c->is_reaped;
    if (c->is_reaped) {
        if (!kill_leftovers(l, c) && now_ns - c->ended_ns < KS_REAP_LIMIT_NS)
            return false;
        ks_child_clean(c);
    } else {
        if (!c->killed_ns || now_ns - c->killed_ns < KS_REAP_LIMIT_NS)
            return false;
        c->ended_ns = now_ns;
        c->is_abandoned = true;
    }
    ks_child_report(c, &end);
    ks_loop_post_end(l, &end);
    return c->is_reaped;
}

void ks_loop_reap(struct ks_loop *l)
{
    uint64_t now_ns;
    size_t kept = 0;

    (void)reap_dead(l);
    now_ns = ks_now_ns();
    for (size_t i = 0; i < l->n; i++)
        l->children[i]->is_over = settle(l, l->children[i], now_ns);
    for (size_t i = 0; i < l->n; i++) {
        if (l->children[i]->is_over)
            ks_child_destroy(l->children[i]);
        else
            l->children[kept++] = l->children[i];
    }
    l->n = kept;
}

static void kill_everything(const struct ks_loop *l)
{
    struct ks_process *list;
    size_t n;

    for (size_t i = 0; i < l->n; i++)
        if (!l->children[i]->is_reaped)
            (void)kill(-l->children[i]->pid, SIGKILL);
    if (ks_proc_children(&list, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        (void)kill(list[i].pid, SIGKILL);
    free(list);
}

void ks_loop_kill_all(struct ks_loop *l)
{
    uint64_t end_ns = ks_now_ns() + KS_REAP_LIMIT_NS;

    /* Each round uncovers the orphans of those who died in the one before. */
    do {
        kill_everything(l);
        ks_sleep_ns(500000);
    } while (reap_dead(l) && ks_now_ns() < end_ns);
    for (size_t i = 0; i < l->n; i++)
        ks_child_clean(l->children[i]);
}
