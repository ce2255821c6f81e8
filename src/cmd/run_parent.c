/* SPDX-License-Identifier: MIT */
/* run_parent.c - ksweep run -n N: checks the job, starts mpirun, concludes from what rank 0 left */
#include "cmd/run_parent.h"

#include "base/file.h"
#include "base/log.h"
#include "base/term.h"
#include "base/text.h"
#include "cmd/run_command.h"
#include "cmd/status_file.h"
#include "mpi/launch.h"
#include "mpi/preflight.h"
#include "mpi/show.h"
#include "spawn/front.h"
#include "spawn/mpirun.h"
#include "spawn/warden.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* status.json as it was before the ranks began. */
struct stamp {
    bool is_there;
    ino_t inode;
    struct timespec time;
};

static struct stamp stamp_of(const char *dir)
{
    char path[1100];
    struct stat st;

    if (ks_path_join(path, sizeof(path), dir, "status.json", NULL) < 0 || stat(path, &st) < 0)
        return (struct stamp){ .is_there = false };
    return (struct stamp){ true, st.st_ino, st.st_mtim };
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
    return a->is_there == b->is_there && a->inode == b->inode && a->time.tv_sec == b->time.tv_sec &&
           a->time.tv_nsec == b->time.tv_nsec;
}

/* Ranks on other hosts are another launcher's business. */
static void tell_allocation(const struct ks_log *log)
{
    const char *job = getenv("SLURM_JOB_ID"), *nodes = getenv("SLURM_JOB_NUM_NODES");

    if (job)
        ks_logf(
            log, KS_WARN,
            "in Slurm job %s%s%s%s: -n starts ranks on this host only; for the whole allocation "
            "use srun --mpi=pmix --no-kill --cpu-bind=none ksweep run ..., or ksweep slurm JOB",
            job, nodes ? " with " : "", nodes ? nodes : "", nodes ? " node(s)" : "");
}

static int refuse_launched(struct ks_err *err)
{
    if (!ks_launch_is_live())
        return 0;
    return ks_fail(err, KS_EINVAL,
                   "-n starts the ranks itself, but this process was started by mpirun or srun: "
                   "leave out either -n or the launcher");
}

/* Before any rank. A directory that was to be resumed says that it was refused. */
static int check(struct ks_cmd_env *env, const struct ks_run_options *o, char *dir_out, size_t cap,
                 struct ks_err *err)
{
    bool is_resumed;
    struct ks_err why;
    int rc = ks_run_preflight(o, env->warden, dir_out, cap, &is_resumed, err);

    if (rc < 0 && is_resumed && ks_code_exit(rc) == KS_EXIT_INPUT &&
        ks_status_refuse(dir_out, err->text, &why) < 0)
        ks_logf(&env->log, KS_ERROR, "%s", why.text);
    ks_warden_stop(env->warden);
    env->warden = NULL;
    return rc;
}

static int put_command(const struct ks_mpirun *m, const struct ks_opt *opts,
                       const struct ks_run_options *o, struct ks_words *to, struct ks_err *err)
{
    const char *words[KS_MPIRUN_OPTIONS];
    char storage[64], self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0)
        return ks_fail_errno(err, "/proc/self/exe");
    self[n] = '\0';
    ks_mpirun_options(m, o->n_ranks, geteuid() == 0, storage, words);
    ks_words_add(to, m->path);
    for (size_t i = 0; words[i]; i++)
        ks_words_add(to, words[i]);
    ks_words_add(to, self);
    ks_words_add(to, "run");
    ks_run_put_options(opts, o, to);
    return to->failed ? ks_fail(err, KS_ENOMEM, "out of memory") : 0;
}

/* Rank 0 writes into a pipe of mpirun: only its parent sees whether that ends on a terminal. */
static void choose_bar(const struct ks_log *log, struct ks_run_options *o)
{
    const struct ks_term term = ks_term_look(fileno(log->to));
    char width[16];

    if (o->progress != KS_SHOW_AUTO || !term.is_terminal || log->level < KS_INFO)
        return;
    snprintf(width, sizeof(width), "%u", term.width);
    (void)setenv("COLUMNS", width, 1);
    o->progress = KS_SHOW_BAR;
}

/* What a rank cannot know: how it was started. */
static int tell_ranks(const struct ks_opt *opts, const struct ks_run_options *o, const char *dir,
                      struct ks_err *err)
{
    struct ks_buf go_on;
    int rc = 0;

    ks_buf_init(&go_on);
    ks_run_put_resume(opts, o, dir, &go_on);
    if (!ks_buf_ok(&go_on) || setenv(KS_RUN_GO_ON_ENV, ks_buf_text(&go_on), 1) < 0)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    ks_buf_release(&go_on);
    ks_mpirun_environment();
    return rc;
}

/* Rank 0 died and cannot say how to go on. Where it has not begun there is nothing to resume. */
static void tell_go_on(const struct ks_log *log, const char *dir)
{
    const char *command = getenv(KS_RUN_GO_ON_ENV);
    char journal[1100];

    if (command && ks_path_join(journal, sizeof(journal), dir, "journal", NULL) == 0 &&
        ks_path_is_dir(journal))
        ks_logf(log, KS_WARN, "rank 0 died; the journal is intact, resume with: %s", command);
}

/* mpirun's own exit status says little: with --enable-recovery it is 0 whatever the ranks do. */
static int conclude(const struct ks_log *log, const struct ks_front_end *end,
                    const struct ks_mpirun *m, const char *dir, const struct stamp *before,
                    struct ks_err *err)
{
    const struct stamp now = stamp_of(dir);

    if (!is_same(before, &now))
        return ks_status_exit(dir);
    if (end->rank0_exit >= 0)
        return end->rank0_exit;
    if (end->n_signals)
        return KS_EXIT_INCOMPLETE;
    tell_go_on(log, dir);
    return ks_fail(
        err, KS_ECHILD,
        "'%s' ended with exit status %d before rank 0 had a result, see its messages above",
        m->path, end->launcher_exit);
}

static int start(struct ks_cmd_env *env, const struct ks_opt *opts, const struct ks_run_options *o,
                 const struct ks_mpirun *m, const char *dir, struct ks_err *err)
{
    const struct stamp before = stamp_of(dir);
    struct ks_words command = { .n = 0 };
    struct ks_front_end end;
    struct ks_run_options told = *o;
    int rc;

    choose_bar(&env->log, &told);
    rc = put_command(m, opts, &told, &command, err);
    if (rc == 0)
        rc = tell_ranks(opts, o, dir, err);
    if (rc == 0)
        rc = ks_front_run((const char *const *)command.word, &end, err);
    ks_words_release(&command);
    if (rc < 0)
        return rc;
    if (end.n_killed)
        ks_logf(&env->log, KS_WARN, "%u processes of the ranks were still running and were killed",
                end.n_killed);
    return conclude(&env->log, &end, m, dir, &before, err);
}

int ks_run_as_parent(struct ks_cmd_env *env, const struct ks_opt *opts,
                     const struct ks_run_options *o, struct ks_err *err)
{
    struct ks_mpirun *m = calloc(1, sizeof(*m));
    char dir[1024];
    int rc = m ? refuse_launched(err) : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = check(env, o, dir, sizeof(dir), err);
    if (rc == 0)
        rc = ks_mpirun_find(KSWEEP_MPIEXEC, ks_launch_mpi(), m, err);
    if (rc == 0)
        tell_allocation(&env->log);
    if (rc == 0)
        rc = start(env, opts, o, m, dir, err);
    free(m);
    return rc;
}
