/* SPDX-License-Identifier: MIT */
/* run.c - one run: start, read, deadlines, and what became of it. */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "profiler/find.h"
#include "record/frame.h"
#include "runner/runner.h"
#include "runner/surround.h"
#include "spawn/procfs.h"
#include "spawn/tty_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define S_NS           1000000000ull
#define MEMORY_LOOK_NS 100000000ull
#define LOOK_MS        50 /* whether the program has exited: what it left behind may hold the terminal */
enum { CHUNK = 65536 };

/* What ended the program. */
enum why { WHY_EXIT, WHY_SILENCE, WHY_TIMEOUT, WHY_MEMORY };

/* An instance of a listing, which is run alone. */
struct chosen {
    int64_t index;
    char *name; /* owned */
};

struct run {
    struct ks_runner *r;
    struct ks_runner_rows rows;
    struct ks_profiler_reader *reader;
    struct ks_keep *kept[2]; /* standard output, standard error */
    char file[2][128];
    char err_tail[KS_TAIL_MAX]; /* of standard error */
    uint32_t n_tail;
    uint64_t heard_ns, weighed_ns; /* last output; last look at its memory */
    struct chosen *chosen;         /* [n_chosen] owned */
    size_t n_chosen, cap_chosen;
    bool is_listing;
    struct ks_program_run end;
};

/* ---- output ---- */

static int send_piece(struct run *run, int which, uint64_t offset, const void *bytes, size_t n,
                      bool is_last, struct ks_err *err)
{
    struct ks_program_piece piece = { .offset = offset, .is_last = is_last };

    memcpy(piece.file, run->file[which], sizeof piece.file);
    ks_buf_clear(&run->r->body);
    ks_program_piece_encode(&piece, bytes, n, &run->r->body);
    return ks_runner_send(run->r, KS_F_MSG_OUTPUT, err);
}

static int on_out_piece(void *ctx, uint64_t offset, const void *bytes, size_t n, bool is_last,
                        struct ks_err *err)
{
    return send_piece(ctx, 0, offset, bytes, n, is_last, err);
}

static int on_err_piece(void *ctx, uint64_t offset, const void *bytes, size_t n, bool is_last,
                        struct ks_err *err)
{
    return send_piece(ctx, 1, offset, bytes, n, is_last, err);
}

static int choose(struct run *run, const struct ks_profiler_row *row, struct ks_err *err)
{
    char *name = strdup(row->instance);
    int rc = name ? ks_reserve(&run->chosen, run->n_chosen + 1, &run->cap_chosen,
                               sizeof *run->chosen, "instances", err)
                  : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc < 0)
        free(name);
    else
        run->chosen[run->n_chosen++] = (struct chosen){ row->index, name };
    return rc;
}

/* A listing may also time the instance that the program would choose: it is run like the others. */
static int on_row(void *ctx, const struct ks_profiler_row *row, struct ks_err *err)
{
    struct run *run = ctx;

    if (!run->is_listing)
        return ks_runner_row(&run->rows, row, err);
    return row->outcome == KS_O_NONE && row->index != KS_PROFILER_UNTOLD ? choose(run, row, err)
                                                                         : 0;
}

/* What is there now. The end of either stream closes its descriptor. */
static int take(struct run *run, int *fd, int which, struct ks_err *err)
{
    char bytes[CHUNK];
    ssize_t n = read(*fd, bytes, sizeof bytes);
    int rc = 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0) { /* EIO: nobody has the terminal open any more */
        ks_fd_close(fd);
        return 0;
    }
    run->heard_ns = ks_now_ns();
    rc = ks_keep_add(run->kept[which], bytes, (size_t)n, err);
    if (which == 1)
        run->n_tail = ks_tail_keep(run->err_tail, run->n_tail, KS_TAIL_MAX, bytes, (size_t)n);
    else if (rc == 0)
        rc = ks_profiler_reader_feed(run->reader, bytes, (size_t)n, err);
    return rc;
}

/* Both streams to their ends, after everything that wrote to them is dead. A process that could
 * not be killed must not hold this one up. */
static int drain(struct run *run, struct ks_tty_child *c, struct ks_err *err)
{
    int rc = 0;

    for (int which = 0; rc == 0 && which < 2; which++) {
        int *fd = which ? &c->err_fd : &c->out_fd;
        struct pollfd p = { .fd = *fd, .events = POLLIN };

        while (rc == 0 && *fd >= 0 && poll(&p, 1, 0) > 0)
            rc = take(run, fd, which, err);
        ks_fd_close(fd);
    }
    return rc;
}

/* ---- one process ---- */

/* Ended here and not by the warden, which would end this process, too, with the rows it holds. */
static bool is_too_large(struct run *run, const struct ks_tty_child *c, uint64_t now)
{
    const uint64_t most = run->r->setup.memory_bytes;

    if (!most || now < run->weighed_ns + MEMORY_LOOK_NS)
        return false;
    run->weighed_ns = now;
    return ks_proc_tree_rss(c->pid) > most;
}

static enum why why_end(struct run *run, const struct ks_tty_child *c, uint64_t now)
{
    const struct ks_req_program *p = &run->r->program;

    if (now >= run->r->deadline_ns)
        return WHY_TIMEOUT;
    if (p->silence_s && now > run->heard_ns + p->silence_s * S_NS)
        return WHY_SILENCE;
    return is_too_large(run, c, now) ? WHY_MEMORY : WHY_EXIT;
}

static int watch(struct run *run, struct ks_tty_child *c, enum why *why_out, struct ks_err *err)
{
    *why_out = WHY_EXIT;
    run->heard_ns = ks_now_ns();
    while (!ks_tty_child_has_exited(c)) {
        struct pollfd polls[2] = { { .fd = c->out_fd, .events = POLLIN },
                                   { .fd = c->err_fd, .events = POLLIN } };
        int rc = 0;

        *why_out = why_end(run, c, ks_now_ns());
        if (*why_out != WHY_EXIT)
            return 0;
        (void)poll(polls, 2, LOOK_MS);
        if (polls[0].revents)
            rc = take(run, &c->out_fd, 0, err);
        if (rc == 0 && polls[1].revents)
            rc = take(run, &c->err_fd, 1, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The last line of standard error, for a reason. */
static void last_line(const struct run *run, char *out, size_t cap)
{
    uint32_t end = run->n_tail, begin;

    while (end > 0 && (run->err_tail[end - 1] == '\n' || run->err_tail[end - 1] == '\r'))
        end--;
    begin = end;
    while (begin > 0 && run->err_tail[begin - 1] != '\n')
        begin--;
    ks_text_escape(out, cap, run->err_tail + begin, end - begin, KS_LINES_NONE);
}

static bool lacks_library(const struct run *run)
{
    static const char text[] = "error while loading shared libraries";

    return memmem(run->err_tail, run->n_tail, text, sizeof text - 1) != NULL;
}

static void fail(struct ks_record *d, uint32_t outcome, int code, const char *reason)
{
    d->outcome = outcome;
    d->status_code = code;
    snprintf(d->reason, sizeof d->reason, "%.159s", reason);
}

/* The exit status alone says little: ckProfiler ends with 1 when one instance of hundreds was
 * wrong, and when it has no code for a layout. */
static void classify_exit(struct run *run, int code)
{
    const struct ks_profiler_summary *s = ks_profiler_reader_summary(run->reader);
    struct ks_record *d = &run->r->done;
    char line[sizeof d->reason];

    last_line(run, line, sizeof line);
    if (s->is_unimplemented && s->n_rows == s->n_unsupported)
        fail(d, KS_O_UNSUPPORTED, 0, s->reason);
    else if (code == 127 && lacks_library(run))
        fail(d, KS_O_LOAD_FAILED, 0, line);
    else if (code && !(s->has_end && s->n_rows > 0))
        fail(d, KS_O_EXITED, code, s->reason[0] ? s->reason : line);
    else if (s->n_rows == 0)
        fail(d, KS_O_UNSUPPORTED, 0,
             s->reason[0] ? s->reason : "the program printed no result of an instance");
}

static void classify(struct run *run, enum why why, int status)
{
    const struct ks_req_program *p = &run->r->program;
    struct ks_record *d = &run->r->done;
    char text[sizeof d->reason];

    d->outcome = KS_O_OK;
    if (why == WHY_SILENCE) {
        snprintf(text, sizeof text, "printed nothing for %u s (silence_s)", p->silence_s);
        fail(d, KS_O_TIMEOUT, 0, text);
    } else if (why == WHY_TIMEOUT) {
        snprintf(text, sizeof text, "not done after %u s (timeout_s)", p->timeout_s);
        fail(d, KS_O_TIMEOUT, 0, text);
    } else if (why == WHY_MEMORY) {
        snprintf(text, sizeof text, "more than %llu MiB resident (isolate.memory_mib)",
                 (unsigned long long)(run->r->setup.memory_bytes >> 20));
        fail(d, KS_O_OUT_OF_MEMORY, 0, text);
    } else if (WIFSIGNALED(status)) {
        fail(d, KS_O_CRASHED, WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        classify_exit(run, WEXITSTATUS(status));
    }
}

/* ---- a run of one or more processes ---- */

static int open_reader(struct run *run, const struct ks_profiler_choice *choice, struct ks_err *err)
{
    ks_profiler_reader_close(run->reader);
    run->reader = NULL;
    return ks_profiler_reader_open(run->r->profiler, &run->r->problem, choice, on_row, run,
                                   &run->reader, err);
}

static void add_up(struct run *run)
{
    const struct ks_profiler_summary *s = ks_profiler_reader_summary(run->reader);

    run->end.n_other += s->n_other_lines;
    run->end.n_cut += s->n_cut_lines;
    if (s->n_found >= 0)
        run->end.n_told = s->n_found;
}

static int run_process(struct run *run, const struct ks_profiler_command *command,
                       struct ks_surroundings *s, struct ks_err *err)
{
    struct ks_record *d = &run->r->done;
    struct ks_tty_child c;
    enum why why = WHY_EXIT;
    int status = 0;
    int rc = ks_tty_child_start(command->words, s->env, s->dir, &c, err);

    if (rc < 0)
        return rc;
    if (!c.exec_errno)
        rc = watch(run, &c, &why, err);
    ks_tty_child_end(&c, &status);
    const int drained = drain(run, &c, rc == 0 ? err : NULL);
    if (rc == 0)
        rc = drained;
    if (rc == 0)
        rc = ks_profiler_reader_end(run->reader, err);
    if (rc < 0)
        return rc;
    if (c.exec_errno)
        fail(d, KS_O_LOAD_FAILED, 0, strerror(c.exec_errno));
    else
        classify(run, why, status);
    run->end.exit_status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    add_up(run);
    const char *running = ks_profiler_reader_running(run->reader);
    return running && ks_outcome_is_abnormal(d->outcome) && d->outcome != KS_O_EXITED
               ? ks_runner_row_died(&run->rows, running,
                                    ks_profiler_reader_running_ordinal(run->reader), err)
               : 0;
}

static void note_command(struct run *run, const struct ks_profiler_command *command)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_shell_words(&text, (const char *const *)command->words);
    if (!run->end.command[0])
        snprintf(run->end.command, sizeof run->end.command, "%s", ks_buf_text(&text));
    ks_buf_release(&text);
}

/* In a directory of its own. If that cannot be made (a full disk, say), this run has failed, and
 * the next one may succeed. */
static int run_surrounded(struct run *run, const struct ks_profiler_command *command,
                          const struct ks_profiler_choice *choice, struct ks_err *err)
{
    struct ks_surroundings s;
    struct ks_err why = { 0 };
    int rc = ks_surround(run->r, &s, &why);

    if (rc == 0) {
        rc = open_reader(run, choice, err);
        if (rc == 0)
            rc = run_process(run, command, &s, err);
    } else if (rc == KS_ENOMEM) {
        (void)ks_fail(err, rc, "%s", why.text);
    } else {
        fail(&run->r->done, KS_O_LOAD_FAILED, 0, why.text);
        rc = 0;
    }
    ks_surroundings_release(&s);
    return rc;
}

/* One command. KS_EUNSUPPORTED of its words is the outcome. */
static int run_command(struct run *run, const char *program, const struct ks_profiler_choice *c,
                       struct ks_err *err)
{
    const struct ks_runner *r = run->r;
    struct ks_profiler_command command = { .n = 0 };
    struct ks_err why = { 0 };
    int rc = run->is_listing
                 ? ks_profiler_list_command(r->profiler, &r->problem, program, &command, &why)
                 : ks_profiler_command(r->profiler, &r->problem, program, c, &command, &why);

    if (rc == KS_EUNSUPPORTED) {
        fail(&run->r->done, KS_O_UNSUPPORTED, 0, why.text);
        return 0;
    }
    if (rc < 0)
        return ks_fail(err, rc, "%s", why.text);
    note_command(run, &command);
    rc = run_surrounded(run, &command, c, err);
    ks_profiler_command_release(&command);
    return rc;
}

/* Nothing has gone wrong yet. */
static void clear_verdict(struct ks_record *d)
{
    d->outcome = KS_O_OK;
    d->status_code = 0;
    d->reason[0] = '\0';
}

static int run_choice(struct run *run, const char *program, const struct chosen *one,
                      struct ks_err *err)
{
    const struct ks_profiler_choice choice = { .index = one->index, .name = one->name };

    clear_verdict(&run->r->done);
    if (ks_now_ns() < run->r->deadline_ns)
        return run_command(run, program, &choice, err);
    classify(run, WHY_TIMEOUT, 0);
    return 0;
}

/* Each instance alone: what goes wrong with one says nothing of the next. The run is what the last
 * one that went wrong is; without any row, what the last one is. */
static int run_all(struct run *run, const char *program, struct ks_err *err)
{
    struct ks_record *d = &run->r->done;
    char reason[sizeof d->reason] = "";
    uint32_t outcome = KS_O_OK;
    int32_t status_code = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < run->n_chosen; i++) {
        rc = run_choice(run, program, &run->chosen[i], err);
        if (rc < 0 || !ks_outcome_needs_look(d->outcome))
            continue;
        outcome = d->outcome;
        status_code = d->status_code;
        memcpy(reason, d->reason, sizeof reason);
        if (ks_now_ns() >= run->r->deadline_ns)
            break;
    }
    if (rc == 0 && (outcome != KS_O_OK || run->rows.n > 0))
        fail(d, outcome, status_code, reason);
    return rc;
}

/* A listing, then its instances. A listing that is whole counts, whatever the program did then. */
static int run_choices(struct run *run, const char *program, struct ks_err *err)
{
    int rc;

    run->is_listing = true;
    rc = run_command(run, program, NULL, err);
    run->is_listing = false;
    if (rc < 0)
        return rc;
    if (run->n_chosen == 0 && run->r->done.outcome == KS_O_OK)
        fail(&run->r->done, KS_O_UNSUPPORTED, 0, "the program listed no instance");
    if (run->n_chosen == 0)
        return 0;
    if (ks_outcome_needs_look(run->r->done.outcome) && run->end.n_told != (int64_t)run->n_chosen)
        return 0;
    return run_all(run, program, err);
}

static int open_keeps(struct run *run, const struct ks_req_cell *cell, struct ks_err *err)
{
    static const char *const ends[2] = { "out.gz", "err.gz" };
    static const ks_keep_piece_fn pieces[2] = { on_out_piece, on_err_piece };
    char problem[17], instance[17], nonce[17];
    int rc = 0;

    ks_hex64(cell->cell.problem, problem);
    ks_hex64(cell->cell.instance, instance);
    ks_hex64(run->r->setup.nonce.hi, nonce);
    for (int i = 0; rc == 0 && i < 2; i++) {
        snprintf(run->file[i], sizeof run->file[i], "%s-%s-%u-%s.%s", problem, instance,
                 cell->attempt, nonce, ends[i]);
        rc = ks_keep_open(KS_PROGRAM_KEPT_MAX, pieces[i], run, &run->kept[i], err);
    }
    return rc;
}

static int send_end(struct run *run, const struct ks_req_cell *cell, struct ks_err *err)
{
    const struct ks_runner *r = run->r;
    struct ks_program_run *e = &run->end;
    int rc = 0;

    for (int i = 0; rc == 0 && i < 2; i++)
        rc = ks_keep_end(run->kept[i], err);
    if (rc < 0)
        return rc;
    e->cell = cell->cell;
    e->attempt = cell->attempt;
    e->worker = r->setup.nonce;
    snprintf(e->adapter, sizeof e->adapter, "%s", ks_profiler_name(ks_profiler_of(r->profiler)));
    memcpy(e->version, run->rows.protocol.version, sizeof e->version);
    ks_keep_digest(run->kept[0], e->digest, &e->n_bytes, &e->n_kept);
    if (e->n_kept)
        memcpy(e->file, run->file[0], sizeof e->file);
    e->n_rows = run->rows.n;
    e->outcome = r->done.outcome;
    e->wall_ns = r->done.wall_ns;
    ks_buf_clear(&run->r->body);
    ks_program_run_encode(e, &run->r->body);
    return ks_runner_send(run->r, KS_F_PROGRAM, err);
}

int ks_runner_run(struct ks_runner *r, const struct ks_req_cell *cell, struct ks_err *err)
{
    struct run *run = calloc(1, sizeof *run);
    const uint64_t from = ks_now_ns();
    char program[1200];
    struct ks_err why = { 0 };
    int rc;

    if (!run)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    run->r = r;
    run->end.n_told = -1;
    r->deadline_ns = from + r->program.timeout_s * S_NS;
    ks_runner_rows_init(&run->rows, r, cell);
    rc = open_keeps(run, cell, err);
    r->done.outcome = KS_O_OK;
    if (rc == 0 && ks_profiler_find_program(r->profiler, &r->problem, r->program.path, program,
                                            sizeof program, &why) < 0)
        fail(&r->done, KS_O_LOAD_FAILED, 0, why.text);
    else if (rc == 0 && ks_profiler_runs_by_choice(r->profiler))
        rc = run_choices(run, program, err);
    else if (rc == 0)
        rc = run_command(run, program, NULL, err);
    r->done.wall_ns = r->done.timing_ns = ks_now_ns() - from;
    if (rc == 0 && r->done.outcome != KS_O_OK) {
        r->done.n_tail = run->n_tail;
        memcpy(r->done.tail, run->err_tail, run->n_tail);
    }
    if (rc == 0)
        rc = send_end(run, cell, err);
    ks_profiler_reader_close(run->reader);
    ks_keep_close(run->kept[0]);
    ks_keep_close(run->kept[1]);
    for (size_t i = 0; i < run->n_chosen; i++)
        free(run->chosen[i].name);
    free(run->chosen);
    free(run);
    return rc;
}
