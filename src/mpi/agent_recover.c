/* SPDX-License-Identifier: MIT */
/* agent_recover.c - abnormal ends: attribution, the canary, the retry alone.
 *
 * The record of a death is held back until its retry has ended, so that the journal never holds one
 * without the other. A suspect is convicted by a violated sentinel or by dying in its sentinel
 * worker, the exit included; whether that was damage to the heap is said by the sentinel or by the
 * allocator. */
#include "base/clock.h"
#include "mpi/agent_impl.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ks_record *copy_record(const struct ks_record *r, struct ks_err *err)
{
    struct ks_record *copy = malloc(sizeof(*copy));
    if (!copy) {
        ks_fail(err, KS_ENOMEM, "recovery: out of memory");
        return NULL;
    }
    *copy = *r;
    return copy;
}

/* Of what was printed since the last record: the rest is another cell's. */
static void take_tail(const struct worker *w, struct ks_record *r)
{
    const struct ks_status *s = w->status;
    uint64_t total = s->ring_bytes, fresh = total > w->printed ? total - w->printed : 0;
    uint64_t n = fresh < KS_TAIL_MAX ? fresh : KS_TAIL_MAX;
    for (uint64_t i = 0; i < n; i++)
        r->tail[i] = (char)s->ring[(total - n + i) % KS_STATUS_RING];
    r->n_tail = (uint32_t)n;
}

/* The cap is one of address space, which says nothing where it has none. */
static bool is_at_cap(const struct ks_agent *a, uint64_t peak_space_bytes)
{
    const struct ks_job *job = &a->c.grid->job;
    uint64_t cap = (uint64_t)job->isolate.memory_mib << 20;
    return cap && ks_worker_caps_address_space(job) && peak_space_bytes >= cap / 100 * 95;
}

static void outcome_of_exit(const struct ks_agent *a, int code, struct ks_record *r)
{
    r->outcome = KS_O_EXITED;
    r->status_code = code;
    bool is_kernels = r->phase >= KS_PH_LOAD && r->phase <= KS_PH_VERIFY; /* any status may be */
    if (a->worker.status->pipe_broken ||
        (!is_kernels && (code == KS_WORKER_EXIT_PIPE || code == KS_WORKER_EXIT_PROTOCOL))) {
        r->outcome = KS_O_WORKER_LOST;
        snprintf(r->reason, sizeof(r->reason),
                 "the worker's pipes were closed, by the kernel or by its library");
    } else if (!is_kernels && code == KS_WORKER_EXIT_SETUP) {
        r->outcome = KS_O_WORKER_LOST;
        snprintf(r->reason, sizeof(r->reason), "the worker could not be set up");
    } else if (!is_kernels && code == KS_WORKER_EXIT_DEVICE) {
        r->outcome = KS_O_DEVICE_LOST;
        snprintf(r->reason, sizeof(r->reason), "the worker lost its device");
    }
}

static void outcome_of_end(const struct ks_agent *a, const struct ks_child_end *end,
                           struct ks_record *r)
{
    const struct ks_job *job = &a->c.grid->job;
    switch (end->how) {
    case KS_END_EXITED:
        outcome_of_exit(a, end->code, r);
        return;
    case KS_END_SIGNALED:
        r->outcome = KS_O_CRASHED;
        r->status_code = end->code;
        snprintf(r->reason, sizeof(r->reason), "%s", strsignal(end->code));
        return;
    case KS_END_DEADLINE:
        r->outcome = KS_O_TIMEOUT;
        snprintf(r->reason, sizeof(r->reason), "deadline passed in phase %s (kernel_timeout_s %u)",
                 ks_phase_text(r->phase), job->isolate.kernel_timeout_s);
        return;
    case KS_END_MEMORY:
        r->outcome = KS_O_OUT_OF_MEMORY;
        return;
    case KS_END_ABANDONED:
        r->outcome = KS_O_DEVICE_LOST;
        snprintf(r->reason, sizeof(r->reason), "the worker could not be killed: the device hangs");
        return;
    default:
        r->outcome = KS_O_WORKER_LOST;
        snprintf(r->reason, sizeof(r->reason), "%s", ks_end_text(end->how));
    }
}

static void set_outcome(const struct ks_agent *a, const struct ks_child_end *end,
                        struct ks_record *r)
{
    if (a->worker.is_lying) {
        r->outcome = KS_O_WORKER_LOST;
        snprintf(r->reason, sizeof(r->reason), "%s",
                 a->worker.has_lost_record
                     ? "its record did not arrive"
                     : "the record pipe contains data that the worker did not write");
        return;
    }
    outcome_of_end(a, end, r);
    bool died = r->outcome == KS_O_CRASHED || r->outcome == KS_O_EXITED;
    if (died && is_at_cap(a, a->worker.status->peak_space_bytes)) {
        r->outcome = KS_O_OUT_OF_MEMORY;
        r->status_code = 0;
        snprintf(r->reason, sizeof(r->reason),
                 "reached its memory limit of %u MiB (isolate.memory_mib)",
                 a->c.grid->job.isolate.memory_mib);
    }
}

static void take_phase(const struct ks_status *s, struct ks_record *r)
{
    uint32_t phase = s->phase; /* a kernel may have written anything there */
    r->phase = phase <= KS_PH_EXIT ? phase : KS_PH_IDLE;
}

/* What a worker's end means for the cell in flight. */
static void classify(const struct ks_agent *a, const struct ks_child_end *end, struct ks_record *r)
{
    const struct ks_status *s = a->worker.status;
    take_phase(s, r);
    r->pid = end->pid;
    r->worker = a->worker.nonce;
    r->started_ns = ks_realtime_ns();
    r->fault_address = s->fault_address;
    r->peak_bytes = s->peak_bytes;
    if (ks_job_is_gpu(&a->c.grid->job))
        r->denied_call = KS_DENIED_UNCOUNTED;
    if (s->n_denied > a->worker.n_denied) { /* those before are in their own records */
        r->n_denied = s->n_denied - a->worker.n_denied;
        r->denied_call = s->denied_call;
        r->outcome_flags |= KS_FL_DENIED_CALLS;
    }
    take_tail(&a->worker, r);
    set_outcome(a, end, r);
}

static void fill_record(const struct ks_agent *a, const struct work *w,
                        const struct ks_child_end *end, struct ks_record *r)
{
    ks_record_init(r);
    r->cell = ks_agent_cell(a, a->session.i_problem, w->i_instance);
    r->attempt = w->attempt;
    r->round_index = w->round;
    r->n_visit = w->n_visit;
    r->role = w->role;
    r->mpi_rank = a->c.rank;
    r->device_id = a->c.device_id;
    r->block_id = a->session.block_id;
    r->position = w->position;
    r->lease_id = w->i_lease == NO_LEASE ? 0 : a->leases[w->i_lease].m.lease;
    r->seq = a->worker.seq + 1;
    if (a->c.build) {
        const struct ks_artefact *art = ks_build_artefact(a->c.build, w->i_instance);
        r->build_id = art->build_id;
        r->code_id = art->code_id;
    }
    r->outcome_flags = KS_FL_UNCONFIRMED | (a->c.is_oversubscribed ? KS_FL_OVERSUBSCRIBED : 0);
    ks_agent_mark_alias(a, w, r);
    classify(a, end, r);
}

/* Cells that were sent but never begun are sent again, as they were. */
static int requeue_unstarted(struct ks_agent *a, uint32_t from, struct ks_err *err)
{
    const struct session *s = &a->session;
    for (uint32_t k = from; k < s->n_sent; k++) {
        if (s->sent[k].role == KS_ROLE_ANCHOR) {
            a->block.is_waiting = false;
            if (!a->block.has_anchor && a->block.i_candidate)
                a->block.i_candidate--;
            continue;
        }
        if (a->n_again == MAX_AGAIN)
            return ks_fail(err, KS_ENOMEM, "agent: more than %u cells to repeat", MAX_AGAIN);
        a->again[a->n_again++] = s->sent[k];
    }
    return 0;
}

static void note_completed(struct ks_agent *a)
{
    struct recovery *v = &a->recovery;
    v->n_completed = 0;
    for (uint32_t k = 0; k < a->session.n_done; k++)
        if (a->session.sent[k].role == KS_ROLE_CELL)
            v->completed[v->n_completed++] = a->session.sent[k];
}

/* The worker had reported all it began. The page is trusted only that far: whatever happens before
 * the first record is the first cell's. */
static bool is_between_cells(const struct ks_agent *a)
{
    uint64_t i = a->worker.status->i_cell;
    return a->session.n_done && !a->worker.is_lying && (i == UINT64_MAX || i < a->session.n_done);
}

/* A GPU that a kernel has wronged is lost to the process, and to that one only; so is the key of
 * the references that a kernel took away. The worker reports the cell, ends and says so. It tells
 * nothing of the cells before. */
static bool has_left_device(const struct ks_agent *a, const struct ks_child_end *end)
{
    return end->how == KS_END_EXITED && end->code == KS_WORKER_EXIT_DEVICE && is_between_cells(a);
}

/* The worker ended because the cell that it reported last had left threads or timers behind. The
 * record says so: nobody is suspected. */
static bool has_left_remains(const struct ks_agent *a, const struct ks_child_end *end)
{
    return end->how == KS_END_EXITED && end->code == KS_WORKER_EXIT_REMAINS && is_between_cells(a);
}

/* The next worker opens the device anew, and tests it before it is given another cell. */
static int device_left_in_normal(struct ks_agent *a, struct ks_err *err)
{
    const struct session *s = &a->session;
    a->recovery = (struct recovery){
        .is_on = true, .needs_canary = true, .i_problem = s->i_problem, .block_id = s->block_id
    };
    return requeue_unstarted(a, s->n_done, err);
}

static int death_in_normal(struct ks_agent *a, const struct ks_child_end *end, struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    struct session *s = &a->session;
    bool has_culprit = s->n_done < s->n_sent && !is_between_cells(a);
    struct work w = has_culprit ? s->sent[s->n_done] : (struct work){ 0 };
    *v = (struct recovery){
        .is_on = true, .needs_canary = true, .i_problem = s->i_problem, .block_id = s->block_id
    };
    note_completed(a);
    if (!has_culprit) { /* it died between cells or at its exit */
        ks_suspects_accuse(a);
        return requeue_unstarted(a, s->n_done, err);
    }
    int rc = requeue_unstarted(a, s->n_done + 1, err);
    if (rc < 0)
        return rc;
    fill_record(a, &w, end, a->record);
    rc = ks_worker_emit_output(a, &a->record->cell, &w, a->worker.status->ring_bytes, err);
    if (rc < 0)
        return rc;
    if (w.role == KS_ROLE_ANCHOR) {
        if (a->leases[w.i_lease].stage == STAGE_CLOSE)
            ks_suspects_accuse(a);
        return ks_agent_take(a, &w, a->record, err);
    }
    a->block.rec.n_cells++;
    ks_agent_drop_passes(a, &w);
    if (w.n_deaths >= a->c.grid->job.isolate.retries) {
        rc = ks_agent_emit_record(a, a->record, err);
        if (rc == 0)
            ks_agent_settle(a, &w);
        return rc;
    }
    v->first = copy_record(a->record, err);
    if (!v->first)
        return KS_ENOMEM;
    v->has_culprit = v->retry_is_due = true;
    v->culprit = ks_agent_anew(&w, w.attempt + 1);
    v->culprit.n_deaths++;
    return 0;
}

/* A kernel that got no memory says launch_failed, too. */
static bool is_shortage(const struct ks_record *r)
{
    return r->outcome == KS_O_OUT_OF_MEMORY || r->outcome == KS_O_LOAD_FAILED ||
           r->outcome == KS_O_LAUNCH_FAILED;
}

static bool is_bad_data(const struct ks_record *r)
{
    return r->outcome == KS_O_WRONG_RESULT || r->outcome == KS_O_OUT_OF_BOUNDS ||
           r->outcome == KS_O_NONDETERMINISTIC;
}

bool ks_recover_is_doubtful(const struct ks_agent *a, const struct work *w,
                            const struct ks_record *r)
{
    bool is_first = a->session.n_done <= 1 || r->phase == KS_PH_REFERENCE; /* no kernel before it */
    if (r->outcome == KS_O_UNTRUSTED) /* noise looks like that, too: whoever was before it */
        return !w->n_deaths && !a->is_draining;
    return (is_shortage(r) || is_bad_data(r)) && !is_first && !a->is_draining &&
           w->n_deaths < a->c.grid->job.isolate.retries;
}

/* Wrong behind another cell and right alone: the clean attempt is the label, and the cell before it
 * is suspected of having spoiled the other. */
static void weigh_doubt(struct ks_agent *a, const struct ks_record *r)
{
    struct recovery *v = &a->recovery;
    if (!is_bad_data(v->first) || r->outcome != KS_O_OK)
        return;
    v->first->outcome_flags |= KS_FL_INTERMITTENT;
    ks_suspects_accuse(a);
}

/* The cell that ran before the one in doubt, unless it was an anchor, or a contaminated attempt of
 * the same cell. */
static void note_predecessor(struct ks_agent *a)
{
    const struct session *s = &a->session;
    const struct work *before = s->n_done >= 2 ? &s->sent[s->n_done - 2] : NULL;
    if (before && before->role == KS_ROLE_CELL &&
        before->i_instance != a->recovery.culprit.i_instance)
        a->recovery.completed[a->recovery.n_completed++] = *before;
}

int ks_recover_doubt(struct ks_agent *a, const struct work *w, const struct ks_record *r,
                     struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    struct ks_record *first = copy_record(r, err);
    if (!first)
        return KS_ENOMEM;
    first->outcome_flags |= KS_FL_UNCONFIRMED;
    *v = (struct recovery){ .is_on = true,
                            .is_doubt = true,
                            .has_culprit = true,
                            .retry_is_due = true,
                            .needs_canary = ks_job_is_gpu(&a->c.grid->job),
                            .culprit = ks_agent_anew(w, w->attempt + 1),
                            .i_problem = a->session.i_problem,
                            .block_id = a->session.block_id,
                            .first = first };
    note_predecessor(a);
    ks_agent_drop_passes(a, w);
    v->culprit.n_deaths++;
    a->worker.is_retired = true;
    return ks_warden_kill(a->c.warden, a->worker.child, err);
}

/* Journal the death and then what its retry gave. */
static int settle_retry(struct ks_agent *a, const struct ks_record *r, bool is_repeated,
                        struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    struct work w = v->culprit;
    if (v->is_doubt)
        weigh_doubt(a, r);
    int rc = ks_agent_emit_start(a, &w, v->i_problem, KS_WHY_RETRY, err);
    if (rc == 0)
        rc = ks_agent_emit_record(a, v->first, err);
    if (rc < 0)
        return rc;
    free(v->first);
    v->first = NULL;
    if (is_repeated && w.n_deaths < a->c.grid->job.isolate.retries) {
        v->first = copy_record(r, err);
        if (!v->first)
            return KS_ENOMEM;
        v->culprit.attempt++;
        v->culprit.n_deaths++;
        return 0;
    }
    v->retry_is_due = v->has_culprit = false;
    if (!is_repeated && !v->is_doubt)
        ks_suspects_accuse(a);
    rc = ks_agent_emit_record(a, r, err);
    if (rc == 0)
        ks_agent_settle(a, &w);
    return rc;
}

/* ": " and the last line that the worker printed; "" when it said nothing. */
static void put_last_words(struct ks_agent *a, char *out, size_t cap)
{
    const struct ks_record *r = a->record;
    take_tail(&a->worker, a->record);
    uint32_t end = r->n_tail;
    while (end && r->tail[end - 1] == '\n')
        end--;
    uint32_t from = end;
    while (from && r->tail[from - 1] != '\n')
        from--;
    snprintf(out, cap, "%s%.*s", end ? ": " : "", (int)(end - from), r->tail + from);
}

/* Its worker opens the device and takes up the problem first: what stops it there says why. */
static int canary_failed(struct ks_agent *a, struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    char said[160];
    v->needs_canary = true;
    put_last_words(a, said, sizeof(said));
    if (++v->n_canary_deaths < 2)
        return ks_agent_emit_event(a, KS_EV_WORKER_DEATH, err,
                                   "the canary failed once after an abnormal end%s", said);
    /* The cell that did this must be known: else it would do the same to the next device, and to
     * all others. Its outcome is void until another device has reproduced it. */
    int rc = v->first && !v->is_doubt ? ks_agent_emit_record(a, v->first, err) : 0;
    if (rc == 0)
        rc = ks_agent_emit_event(a, KS_EV_QUARANTINE, err,
                                 "the canary failed twice: device quarantined%s", said);
    ks_agent_break(a, "the canary failed twice%s", said);
    return rc;
}

/* Its worker reported the cell, and then did not end in order: only what the cell left behind can
 * have done that. */
static void end_after_record(const struct ks_agent *a, const struct ks_child_end *end,
                             struct ks_record *r)
{
    take_phase(a->worker.status, r);
    take_tail(&a->worker, r);
    r->outcome_flags |= KS_FL_UNCONFIRMED;
    set_outcome(a, end, r);
    ks_suspects_explain(r);
}

/* The record of the one cell of a retry or suspect session: what its worker sent (kept in
 * verdicts[slot]), else what its end means. */
static int session_record(struct ks_agent *a, const struct ks_child_end *end, bool is_abnormal,
                          uint32_t slot, struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    if (v->verdicts[slot]) {
        if (is_abnormal)
            end_after_record(a, end, v->verdicts[slot]);
        return 0;
    }
    fill_record(a, &a->session.sent[0], end, a->record);
    if (a->session.kind == SESSION_SUSPECT)
        ks_suspects_explain(a->record);
    v->verdicts[slot] = copy_record(a->record, err);
    return v->verdicts[slot] ? 0 : KS_ENOMEM;
}

static bool is_abnormal_end(const struct ks_agent *a, const struct ks_child_end *end)
{
    if (has_left_remains(a, end) && !a->worker.is_lying)
        return false;
    return a->worker.is_lying || end->how != KS_END_EXITED || end->code != 0 ||
           a->session.n_done < a->session.n_sent || !a->session.is_ended;
}

static int end_of_retry(struct ks_agent *a, const struct ks_child_end *end, bool is_abnormal,
                        struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    if (v->needs_canary) /* it has not passed: wrong or dead */
        return canary_failed(a, err);
    if (!a->session.n_sent)
        return 0;
    v->needs_canary = has_left_device(a, end);
    int rc = session_record(a, end, is_abnormal && !v->needs_canary, 0, err);
    if (rc < 0)
        return rc;
    struct ks_record *r = v->verdicts[0];
    v->verdicts[0] = NULL;
    rc = settle_retry(a, r, is_abnormal, err);
    free(r);
    return rc;
}

/* SIGKILL comes from outside, from the OOM killer for one, and tells nothing of a suspect: it runs
 * once more. */
static int end_of_suspect(struct ks_agent *a, const struct ks_child_end *end, bool is_abnormal,
                          struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    v->was_killed = end->how == KS_END_SIGNALED && end->code == SIGKILL && !v->was_killed;
    v->needs_canary = has_left_device(a, end);
    if (!v->was_killed)
        return session_record(a, end, is_abnormal && !v->needs_canary, v->i_suspect++, err);
    free(v->verdicts[v->i_suspect]);
    v->verdicts[v->i_suspect] = NULL;
    return 0;
}

int ks_recover_death(struct ks_agent *a, const struct ks_child_end *end, struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    bool is_abnormal = is_abnormal_end(a, end);
    if (a->worker.is_retired && end->how != KS_END_ABANDONED)
        return requeue_unstarted(a, a->session.n_done, err);
    if (is_abnormal)
        a->totals.n_deaths++;
    if (end->how == KS_END_NO_EXEC) {
        ks_agent_break(a, "cannot start %s: %s", a->c.worker_path, strerror(end->code));
        return 0;
    }
    if (end->how == KS_END_ABANDONED) {
        int rc = ks_agent_emit_event(
            a, KS_EV_ABANDONED, err,
            "worker %d hangs in the operating system's kernel and was abandoned", end->pid);
        if (rc == 0 && a->session.kind == SESSION_NORMAL && !a->worker.is_retired)
            rc = death_in_normal(a, end, err);
        if (rc == 0 && v->first)
            rc = ks_agent_emit_record(a, v->first, err);
        ks_agent_break(a, "the device hangs: worker %d could not be killed", end->pid);
        return rc;
    }
    switch (a->session.kind) {
    case SESSION_NORMAL:
        if (has_left_device(a, end))
            return device_left_in_normal(a, err);
        return is_abnormal ? death_in_normal(a, end, err)
                           : requeue_unstarted(a, a->session.n_done, err);
    case SESSION_RETRY:
        return end_of_retry(a, end, is_abnormal, err);
    case SESSION_SUSPECT:
        return end_of_suspect(a, end, is_abnormal, err);
    }
    return 0;
}

int ks_recover_record(struct ks_agent *a, const struct work *w, struct ks_record *r,
                      struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    uint32_t slot = a->session.kind == SESSION_SUSPECT ? v->i_suspect : 0;
    (void)w;
    if (a->session.kind == SESSION_RETRY && v->needs_canary) /* said by a device that is wrong */
        return 0;
    (void)ks_agent_flag_noise(a, r);
    v->verdicts[slot] = copy_record(r, err);
    return v->verdicts[slot] ? 0 : KS_ENOMEM;
}

int ks_recover_canary(struct ks_agent *a, const struct ks_record *r, struct ks_err *err)
{
    if (r->outcome == KS_O_OK) {
        a->recovery.needs_canary = false;
        ks_buf_clear(&a->body);
        ks_msg_numbers_put(1, 0, &a->body);
        return ks_agent_emit(a, KS_F_MSG_BEAT, err);
    }
    return ks_warden_kill(a->c.warden, a->worker.child, err);
}

int ks_recover_next(struct ks_agent *a, bool *is_ready_out, struct ks_err *err)
{
    struct recovery *v = &a->recovery;
    *is_ready_out = true;
    a->session = (struct session){ .i_problem = v->i_problem, .block_id = v->block_id };
    if (v->needs_canary || v->retry_is_due) {
        a->session.kind = SESSION_RETRY;
        a->session.needs_canary = v->needs_canary;
        return 0;
    }
    if (v->i_suspect < v->n_suspects) {
        a->session.kind = SESSION_SUSPECT;
        return 0;
    }
    *is_ready_out = false;
    v->is_on = false;
    return ks_suspects_settle(a, err);
}

void ks_recover_forget(struct ks_agent *a)
{
    struct recovery *v = &a->recovery;
    free(v->first);
    v->first = NULL;
    for (uint32_t i = 0; i < MAX_SENT; i++) {
        free(v->verdicts[i]);
        v->verdicts[i] = NULL;
    }
    v->n_suspects = 0;
    v->is_on = v->retry_is_due = false;
}

int ks_agent_child_ended(struct ks_agent *a, const struct ks_child_end *end, struct ks_err *err)
{
    if (!a->worker.is_alive || end->child != a->worker.child)
        return 0;
    int rc = ks_worker_read(a, err);
    a->totals.worker_ns += end->wall_ns;
    a->totals.n_warden_wakes += end->n_wakes;
    if (rc == 0 && !a->is_killed)
        rc = ks_recover_death(a, end, err);
    if (rc == 0 && a->session.n_done && !a->worker.is_retired &&
        a->worker.status->ring_bytes > a->worker.printed) {
        const struct work *w = &a->session.sent[a->session.n_done - 1];
        struct ks_cell cell = ks_agent_cell(a, a->session.i_problem, w->i_instance);
        rc = ks_worker_emit_output(a, &cell, w, a->worker.status->ring_bytes, err);
    }
    a->is_killed = false;
    ks_worker_release(a);
    if (!a->n_leases)
        a->idle_since_ns = ks_now_ns();
    return rc < 0 ? rc : 1;
}
