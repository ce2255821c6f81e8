/* SPDX-License-Identifier: MIT */
/* fake_worker.c - a worker that misbehaves on demand */
/* It speaks the protocol of record/request.h and misbehaves by the first word of the instance's
 * name ("crash_b" crashes); what must happen only once leaves a file in $FAKE_DIR. $FAKE_CANARY:
 * wrong, dead, wrong_once, dead_once, dead_loud. $FAKE_SETUP: fail, limits. */
#include "base/clock.h"
#include "base/file.h"
#include "record/frame.h"
#include "record/request.h"
#include "record/status.h"
#include "tests/fake/once.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fake {
    struct ks_req_setup setup;
    struct ks_status *status;
    struct ks_record r;
    struct ks_req_cell cell;
    uint64_t seq;
    bool is_poisoned, dies_at_exit, dies_between, stops_between, is_hoarded;
    bool is_deaf, leaves_device, leaves_threads, says_why, holds_back; /* one frame, once */
    int exit_status;
    struct ks_buf body, frame;
};

static void die(int signo)
{
    signal(signo, SIG_DFL);
    raise(signo);
    _exit(99);
}

static void send_frame(struct fake *f, uint16_t type)
{
    ks_frame_put(&f->frame, type, f->body.data, f->body.len);
    bool is_held = f->holds_back;
    f->holds_back = false;
    if (is_held)
        return;
    if (ks_write_all(KS_FD_RECORD, f->frame.data, f->frame.len, NULL) < 0) {
        f->status->pipe_broken = 1;
        _exit(KS_WORKER_EXIT_PIPE);
    }
    ks_buf_clear(&f->frame);
}

static void send_record(struct fake *f)
{
    f->r.worker = f->setup.nonce;
    f->r.seq = ++f->seq;
    f->r.started_ns = ks_realtime_ns();
    ks_buf_clear(&f->body);
    ks_record_encode(&f->r, &f->body);
    send_frame(f, KS_F_DONE);
}

/* ---- what cells do; most end with a record that says ok ---- */

static void do_ok(struct fake *f)
{
    (void)f;
}

static void do_crash(struct fake *f)
{
    (void)f;
    die(SIGSEGV);
}

static void do_abort(struct fake *f)
{
    (void)f;
    die(SIGABRT);
}

static void do_exit(struct fake *f)
{
    _exit((int)strtol(strchr(f->cell.entry, '_') + 1, NULL, 10));
}

static void do_hang(struct fake *f)
{
    f->status->deadline_ns = ks_now_ns() + 100000000u;
    while (pause())
        ;
}

static void do_garbage(struct fake *f)
{
    (void)f;
    (void)ks_write_all(KS_FD_RECORD, "this is not a frame, whatever it may look like", 46, NULL);
}

static void do_close(struct fake *f)
{
    (void)f;
    for (int fd = 0; fd < 10; fd++)
        close(fd);
}

static void do_mem(struct fake *f)
{
    f->status->peak_space_bytes = f->setup.memory_bytes;
    die(SIGSEGV);
}

static void do_scribble(struct fake *f)
{
    f->status->phase = 0xffffu;
    f->status->n_denied = 7;
    f->status->denied_call = -5;
    die(SIGSEGV);
}

static void do_nonce(struct fake *f)
{
    f->setup.nonce.lo++;
}

static void do_seq(struct fake *f)
{
    f->seq++;
}

static void do_other(struct fake *f)
{
    f->r.cell.instance++;
}

static void do_flaky(struct fake *f)
{
    if (is_first(f->cell.entry))
        die(SIGSEGV);
}

/* Lives the second time only. */
static void do_flip(struct fake *f)
{
    (void)f;
    if (is_first("flip_1") || !is_first("flip_2"))
        die(SIGSEGV);
}

static void do_poison(struct fake *f)
{
    f->is_poisoned = true;
    if (f->setup.is_sentinel) {
        f->r.outcome = KS_O_CRASHED;
        snprintf(f->r.reason, sizeof(f->r.reason), "heap_corruption");
    }
}

static const char allocator[] = "corrupted size vs. prev_size\n";

/* The allocator itself finds the damage: while the sentinels are checked. */
static void do_venom(struct fake *f)
{
    f->is_poisoned = true;
    if (!f->setup.is_sentinel)
        return;
    (void)ks_write_all(2, allocator, sizeof(allocator) - 1, NULL);
    die(SIGABRT);
}

/* Between the sentinels somebody else kills it, once. */
static void do_shot(struct fake *f)
{
    if (f->setup.is_sentinel && is_first(f->cell.entry))
        die(SIGKILL);
}

static void do_late(struct fake *f)
{
    f->dies_at_exit = f->says_why = true;
}

/* An exit handler of its own aborts. */
static void do_lateabort(struct fake *f)
{
    f->dies_at_exit = true;
}

static void do_lateexit(struct fake *f)
{
    f->exit_status = 3;
}

/* Its record arrives, the next request does not. */
static void do_unread(struct fake *f)
{
    f->is_deaf = true;
}

/* Its record goes elsewhere, and the worker waits for the next request. */
static void do_lost(struct fake *f)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)f;
    (void)dup2(fd, KS_FD_RECORD);
}

static void do_denied(struct fake *f)
{
    f->status->n_denied += 2;
    f->status->denied_call = 57;
    f->r.n_denied = 2;
    f->r.denied_call = 57;
    f->r.outcome_flags = KS_FL_DENIED_CALLS;
}

static void do_truncate(struct fake *f)
{
    (void)f;
    if (ftruncate(KS_FD_STATUS, 0) == 0)
        _exit(95);
}

static void do_overcount(struct fake *f)
{
    f->status->n_done = UINT64_MAX;
}

/* Loses the device, as a GPU's kernel does: says so, and the worker ends. */
static void do_sticky(struct fake *f)
{
    f->r.outcome = KS_O_LAUNCH_FAILED;
    f->leaves_device = true;
}

/* The same once: alone it is well. */
static void do_unlucky(struct fake *f)
{
    if (is_first(f->cell.entry))
        do_sticky(f);
}

/* Leaves threads behind, which its runtime declares or not: the worker ends. */
static void do_pool(struct fake *f)
{
    f->leaves_threads = true;
}

static void do_thread(struct fake *f)
{
    f->r.outcome = KS_O_UNTRUSTED;
    f->leaves_threads = true;
}

/* Reserves more addresses than any limit on them would allow, as the runtime of a GPU does. */
static void do_vast(struct fake *f)
{
    if (mmap(NULL, 1ull << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
        MAP_FAILED)
        f->r.outcome = KS_O_OUT_OF_MEMORY;
}

/* Has twice its limit resident, and stays. */
static void do_fat(struct fake *f)
{
    (void)mmap(NULL, 2 * f->setup.memory_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    for (;;)
        pause();
}

/* Keeps all memory; then the next one that wants some gets none. */
static void do_hoard(struct fake *f)
{
    f->is_hoarded = true;
}

static void do_needy(struct fake *f)
{
    if (f->is_hoarded)
        f->r.outcome = KS_O_OUT_OF_MEMORY;
}

/* Its result is wrong once a cell before it has kept memory. */
static void do_misled(struct fake *f)
{
    if (f->is_hoarded)
        f->r.outcome = KS_O_WRONG_RESULT;
}

/* Writes where the one before it keeps its memory. */
static void do_stray(struct fake *f)
{
    f->r.outcome = f->is_hoarded ? KS_O_OUT_OF_BOUNDS : KS_O_WRONG_RESULT;
}

/* Prints, and the warden has it before the record comes. */
static void do_say(struct fake *f)
{
    (void)f;
    (void)ks_write_all(1, f->cell.entry, strlen(f->cell.entry), NULL);
    ks_sleep_ns(200000000);
}

static void do_victim(struct fake *f)
{
    if (f->is_poisoned)
        die(SIGSEGV);
}

static void do_between(struct fake *f)
{
    f->dies_between = is_first(f->cell.entry);
}

static void do_pause(struct fake *f)
{
    f->stops_between = is_first(f->cell.entry);
}

/* Untrusted once: it was noise. */
static void do_misjudged(struct fake *f)
{
    if (is_first(f->cell.entry))
        f->r.outcome = KS_O_UNTRUSTED;
}

static void do_noisy(struct fake *f)
{
    if (f->cell.attempt == 1)
        f->r.canary_ratio = 3;
}

static void do_noisyall(struct fake *f)
{
    f->r.canary_ratio = 3;
}

/* Disturbed at first, wrong at second. */
static void do_noisywrong(struct fake *f)
{
    do_noisy(f);
    if (f->cell.attempt == 2)
        f->r.outcome = KS_O_WRONG_RESULT;
}

/* Disturbed at first; then it damages the heap of the next one. */
static void do_noisypoison(struct fake *f)
{
    do_noisy(f);
    do_poison(f);
}

static void do_slow(struct fake *f)
{
    (void)f;
    ks_sleep_ns(30000000);
}

static void do_print(struct fake *f)
{
    char line[101];
    (void)f;
    memset(line, 'x', sizeof(line));
    line[100] = '\n';
    for (int i = 0; i < 700; i++)
        (void)ks_write_all(i % 2 + 1, line, sizeof(line), NULL);
    ks_sleep_ns(200000000); /* the warden has drained the pipe before the record comes */
}

static const struct {
    const char *name;
    void (*run)(struct fake *f);
} acts[] = {
    { "ok", do_ok },
    { "crash", do_crash },
    { "abort", do_abort },
    { "exit", do_exit },
    { "hang", do_hang },
    { "garbage", do_garbage },
    { "close", do_close },
    { "mem", do_mem },
    { "scribble", do_scribble },
    { "nonce", do_nonce },
    { "seq", do_seq },
    { "other", do_other },
    { "flaky", do_flaky },
    { "poison", do_poison },
    { "venom", do_venom },
    { "late", do_late },
    { "shot", do_shot },
    { "victim", do_victim },
    { "between", do_between },
    { "pause", do_pause },
    { "misjudged", do_misjudged },
    { "noisy", do_noisy },
    { "slow", do_slow },
    { "noisyall", do_noisyall },
    { "print", do_print },
    { "flip", do_flip },
    { "noisypoison", do_noisypoison },
    { "noisywrong", do_noisywrong },
    { "lateexit", do_lateexit },
    { "lateabort", do_lateabort },
    { "pool", do_pool },
    { "thread", do_thread },
    { "unread", do_unread },
    { "lost", do_lost },
    { "denied", do_denied },
    { "hoard", do_hoard },
    { "needy", do_needy },
    { "misled", do_misled },
    { "stray", do_stray },
    { "say", do_say },
    { "truncate", do_truncate },
    { "overcount", do_overcount },
    { "sticky", do_sticky },
    { "unlucky", do_unlucky },
    { "vast", do_vast },
    { "fat", do_fat },
};

static const struct {
    const char *name;
    uint32_t outcome;
} failures[] = {
    { "wrong", KS_O_WRONG_RESULT },    { "doubted", KS_O_UNTRUSTED },
    { "refuse", KS_O_UNSUPPORTED },    { "greedy", KS_O_OUT_OF_MEMORY },
    { "refused", KS_O_LAUNCH_FAILED },
};

static bool is_act(const struct fake *f, const char *name)
{
    size_t len = strcspn(f->cell.entry, "_");
    return strlen(name) == len && strncmp(name, f->cell.entry, len) == 0;
}

static void act(struct fake *f)
{
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (is_act(f, failures[i].name)) {
            f->r.outcome = failures[i].outcome;
            return;
        }
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        if (is_act(f, acts[i].name)) {
            acts[i].run(f);
            return;
        }
    _exit(98);
}

static void on_cell(struct fake *f, const struct ks_frame *q)
{
    struct ks_record *r = &f->r;
    if (ks_req_cell_decode(q->body, q->n, &f->cell, NULL) < 0)
        _exit(KS_WORKER_EXIT_PROTOCOL);
    f->status->i_cell = f->cell.i_cell;
    f->status->phase = KS_PH_TIMING;
    ks_record_init(r);
    r->cell = f->cell.cell;
    r->attempt = f->cell.attempt;
    r->round_index = f->cell.round;
    r->n_visit = f->cell.n_visit;
    r->role = f->cell.role;
    r->position = f->cell.position;
    r->lease_id = f->cell.lease_id;
    r->block_id = f->cell.block_id;
    r->outcome = KS_O_OK;
    r->n_samples = 5;
    r->calls_per_sample = 1;
    for (uint32_t i = 0; i < 5; i++)
        r->sample_ns[i] = 1000 + i + 10 * f->cell.position;
    uint64_t printed = f->status->ring_bytes, begun = ks_now_ns();
    act(f);
    r->wall_ns = ks_now_ns() - begun;
    r->n_printed = f->status->ring_bytes - printed;
    if (r->outcome != KS_O_OK)
        r->n_samples = 0;
    send_record(f);
    f->status->n_done++;
    f->status->phase = KS_PH_IDLE;
    f->status->i_cell = UINT64_MAX;
    if (f->leaves_device)
        _exit(KS_WORKER_EXIT_DEVICE);
    if (f->leaves_threads)
        _exit(KS_WORKER_EXIT_REMAINS);
    if (f->dies_between)
        die(SIGKILL);
    if (f->stops_between)
        raise(SIGSTOP);
}

static void on_canary(struct fake *f)
{
    const char *how = getenv("FAKE_CANARY");
    bool is_bad = how && (!strstr(how, "once") || is_first("canary"));
    f->status->phase = KS_PH_CANARY;
    if (is_bad && strstr(how, "loud"))
        fprintf(stderr, "before\nthe canary is silent\n");
    if (is_bad && strncmp(how, "dead", 4) == 0)
        die(SIGABRT);
    ks_record_init(&f->r);
    f->r.role = KS_ROLE_CANARY;
    f->r.outcome = is_bad ? KS_O_DEVICE_LOST : KS_O_OK;
    f->holds_back = is_bad; /* its cell has run before the agent knows */
    send_record(f);
}

/* The first worker of a problem makes its references, the later ones find them. */
static void on_problem(const struct ks_frame *q)
{
    static struct ks_req_problem p;
    char byte = 0;
    if (ks_req_problem_decode(q->body, q->n, &p, NULL) < 0)
        _exit(KS_WORKER_EXIT_PROTOCOL);
    int seals = fcntl(KS_FD_REFERENCE, F_GET_SEALS);
    if (p.references == 2 &&
        (!(seals & F_SEAL_WRITE) || pread(KS_FD_REFERENCE, &byte, 1, 0) != 1 || byte != 'r'))
        _exit(97);
    if (p.references == 1 && (seals || pwrite(KS_FD_REFERENCE, "r", 1, 0) != 1 ||
                              fcntl(KS_FD_REFERENCE, F_ADD_SEALS, F_SEAL_WRITE) < 0))
        _exit(96);
}

/* $FAKE_SETUP limits: every worker but the first must be told what that one said first. */
static void on_setup(struct fake *f, const struct ks_frame *q)
{
    const char *how = getenv("FAKE_SETUP");
    if (ks_req_setup_decode(q->body, q->n, &f->setup, NULL) < 0)
        _exit(KS_WORKER_EXIT_PROTOCOL);
    if (how && strcmp(how, "fail") == 0)
        _exit(KS_WORKER_EXIT_SETUP);
    const bool tells = how && strcmp(how, "limits") == 0;
    if (tells && !is_first("limits") && f->setup.limits.n_levels != 3)
        _exit(98);
    struct ks_ready ready = { .nonce = f->setup.nonce, .pid = getpid(), .limits.n_levels = 3 };
    do { /* the second one as a kernel may write it */
        ks_buf_clear(&f->body);
        ks_ready_encode(&ready, &f->body);
        send_frame(f, KS_F_READY);
    } while (tells && ++ready.limits.n_levels == 4);
    f->status->deadline_ns = 0;
}

static void end(const struct fake *f)
{
    f->status->phase = KS_PH_EXIT;
    if (f->says_why)
        (void)ks_write_all(2, allocator, sizeof(allocator) - 1, NULL);
    if (f->dies_at_exit)
        die(SIGABRT);
    _exit(f->exit_status);
}

static void serve(struct fake *f, const struct ks_frame *q)
{
    if (f->is_deaf) {
        f->status->pipe_broken = 1;
        _exit(KS_WORKER_EXIT_PIPE);
    }
    if (q->type == KS_F_REQ_SETUP)
        on_setup(f, q);
    else if (q->type == KS_F_REQ_PROBLEM)
        on_problem(q);
    else if (q->type == KS_F_REQ_CELL)
        on_cell(f, q);
    else if (q->type == KS_F_REQ_CANARY)
        on_canary(f);
    else if (q->type == KS_F_REQ_END)
        end(f);
    else
        _exit(KS_WORKER_EXIT_PROTOCOL);
}

int main(void)
{
    static struct fake f;
    struct ks_frame_reader in;
    struct ks_frame q;
    char bytes[4096];
    ssize_t n;
    signal(SIGPIPE, SIG_IGN);
    ks_frame_reader_init(&in);
    f.status = mmap(NULL, sizeof(*f.status), PROT_READ | PROT_WRITE, MAP_SHARED, KS_FD_STATUS, 0);
    if (f.status == MAP_FAILED)
        return KS_WORKER_EXIT_SETUP;
    f.status->i_cell = UINT64_MAX;
    while ((n = read(KS_FD_REQUEST, bytes, sizeof(bytes))) > 0) {
        if (ks_frame_feed(&in, bytes, (size_t)n, NULL) < 0)
            return KS_WORKER_EXIT_SETUP;
        while (ks_frame_next(&in, &q) == 1)
            serve(&f, &q);
    }
    _exit(n < 0 ? KS_WORKER_EXIT_PROTOCOL : KS_WORKER_EXIT_OK);
}
