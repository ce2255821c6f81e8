/* SPDX-License-Identifier: MIT */
/* mpirun.c - finds Open MPI's mpirun, and makes its options and environment */
#include "spawn/mpirun.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ANSWER_NS 20000000000ull

/* ---- which one ---- */

static bool take(const char *dir, size_t n, const char *name, char *out, size_t cap)
{
    int k = snprintf(out, cap, "%.*s/%s", (int)n, dir, name);

    return k > 0 && (size_t)k < cap && access(out, X_OK) == 0 && !ks_path_is_dir(out);
}

/* Debian's mpirun may be that of another MPI (update-alternatives); mpirun.openmpi is not. */
static bool take_either(const char *dir, size_t n, char *out, size_t cap)
{
    return take(dir, n, "mpirun.openmpi", out, cap) || take(dir, n, "mpirun", out, cap);
}

static bool find_in_path(char *out, size_t cap)
{
    const char *path = getenv("PATH");

    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        const size_t n = strcspn(at, ":");

        if (n && take_either(at, n, out, cap))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static int find(const char *hint, char *out, size_t cap, struct ks_err *err)
{
    const char *named = getenv(KS_MPIRUN_ENV), *slash = hint ? strrchr(hint, '/') : NULL;

    if (named && *named) {
        if (strlen(named) >= cap || !strchr(named, '/') || access(named, X_OK) < 0)
            return ks_fail(err, KS_EINVAL,
                           "$" KS_MPIRUN_ENV " is '%.200s': no program at that path", named);
        snprintf(out, cap, "%s", named);
        return 0;
    }
    if ((slash && take_either(hint, (size_t)(slash - hint), out, cap)) || find_in_path(out, cap))
        return 0;
    return ks_fail(
        err, KS_ENOENT,
        "-n: mpirun was not found: install Open MPI (Debian: openmpi-bin), set $" KS_MPIRUN_ENV
        " to its path, or leave out -n to measure with one rank");
}

/* ---- of which MPI ---- */

/* The number behind the text, "4.1.4". */
static void version_after(const char *printed, const char *text, char *out, size_t cap)
{
    const char *at = strstr(printed, text);

    out[0] = '\0';
    if (!at)
        return;
    at += strlen(text);
    at += strcspn(at, "0123456789\n");
    snprintf(out, cap, "%.*s", (int)strspn(at, "0123456789.abcr"), at);
}

void ks_mpirun_parse(const char *printed, struct ks_mpirun *out)
{
    static const struct {
        const char *text, *before, *name; /* the number stands behind `before` */
        unsigned open_mpi;                /* major version of Open MPI; 1: as it says, 0: another */
    } known[] = { { "(Open MPI)", "(Open MPI)", "Open MPI", 1 },
                  { "(OpenRTE)", "(OpenRTE)", "Open MPI", 1 }, /* its mpirun by another name */
                  { "(PRRTE)", "(PRRTE)", "Open MPI's PRRTE", 5 },
                  { "HYDRA build details", "Version:", "MPICH (Hydra)", 0 },
                  { "Intel(R) MPI Library", "Version", "Intel MPI", 0 },
                  { "Spectrum MPI", "Spectrum MPI", "IBM Spectrum MPI", 0 },
                  { "PALS", "PALS", "Cray PALS", 0 } };
    char version[32];

    out->is_open_mpi = false;
    out->major = 0;
    snprintf(out->mpi, sizeof(out->mpi), "an unknown MPI");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!strstr(printed, known[i].text))
            continue;
        version_after(printed, known[i].before, version, sizeof(version));
        snprintf(out->mpi, sizeof(out->mpi), "%s%s%s", known[i].name, version[0] ? " " : "",
                 version);
        out->is_open_mpi = known[i].open_mpi > 0;
        out->major =
            known[i].open_mpi > 1 ? known[i].open_mpi : (unsigned)strtoul(version, NULL, 10);
        return;
    }
}

static void ask(const char *path, int answer)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null_fd >= 0) {
        (void)dup2(null_fd, STDIN_FILENO);
        (void)dup2(null_fd, STDERR_FILENO);
    }
    if (dup2(answer, STDOUT_FILENO) >= 0)
        (void)execl(path, path, "--version", (char *)NULL);
    _exit(127);
}

/* Reads until the end or until the time is over. */
static void read_answer(int fd, char *out, size_t cap)
{
    const uint64_t until = ks_now_ns() + ANSWER_NS;
    size_t n = 0;

    for (uint64_t now = ks_now_ns(); n + 1 < cap && now < until; now = ks_now_ns()) {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        if (poll(&p, 1, (int)((until - now) / 1000000u) + 1) <= 0)
            continue;
        const ssize_t k = read(fd, out + n, cap - 1 - n);
        if (k == 0 || (k < 0 && errno != EINTR))
            break;
        n += k > 0 ? (size_t)k : 0;
    }
    out[n] = '\0';
}

static int identify(struct ks_mpirun *m, struct ks_err *err)
{
    char printed[4096];
    int answer[2];
    pid_t pid;

    if (pipe2(answer, O_CLOEXEC) < 0)
        return ks_fail_errno(err, "pipe");
    pid = fork();
    if (pid == 0)
        ask(m->path, answer[1]);
    close(answer[1]);
    if (pid < 0) {
        close(answer[0]);
        return ks_fail_errno(err, "fork");
    }
    read_answer(answer[0], printed, sizeof(printed));
    close(answer[0]);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    ks_mpirun_parse(printed, m);
    return 0;
}

int ks_mpirun_find(const char *hint, const char *linked, struct ks_mpirun *out, struct ks_err *err)
{
    struct ks_mpirun m = { .is_open_mpi = false };
    int rc = find(hint, m.path, sizeof(m.path), err);

    if (rc == 0)
        rc = identify(&m, err);
    if (rc == 0 && !m.is_open_mpi)
        rc = ks_fail(err, KS_EINVAL,
                     "'%.200s' is the launcher of %s, but this ksweep is linked with %s: name Open "
                     "MPI's mpirun in $" KS_MPIRUN_ENV,
                     m.path, m.mpi, linked);
    if (rc == 0)
        *out = m;
    return rc;
}

/* ---- how it is started ---- */

/* Slots do not matter: ksweep itself refuses a map in which ranks would share a device. Open MPI 5
 * spells oversubscription as a qualifier. */
void ks_mpirun_options(const struct ks_mpirun *m, uint32_t n, bool is_root, char storage[64],
                       const char *words_out[KS_MPIRUN_OPTIONS])
{
    char *const host = storage, *const number = storage + 32;
    size_t k = 0;

    snprintf(host, 32, "localhost:%u", n);
    snprintf(number, 32, "%u", n);
    words_out[k++] = "-n";
    words_out[k++] = number;
    words_out[k++] = "--host";
    words_out[k++] = host;
    if (m->major >= 5) {
        words_out[k++] = "--map-by";
        words_out[k++] = ":OVERSUBSCRIBE";
    } else {
        words_out[k++] = "--oversubscribe";
    }
    words_out[k++] = "--bind-to";
    words_out[k++] = "none";
    words_out[k++] = "--enable-recovery";
    if (is_root)
        words_out[k++] = "--allow-run-as-root";
    words_out[k] = NULL;
}

static bool is_rank_variable(const char *entry)
{
    static const char *const prefixes[] = { "OMPI_COMM_WORLD_", "PMIX_SERVER_",
                                            "PMIX_NAMESPACE=", "PMIX_RANK=", "PMI_" };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void forget_ranks(void)
{
    for (char **e = environ; *e;) {
        char name[128];

        const char *const entry = *e;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
        if (is_rank_variable(entry))
            (void)unsetenv(name);
        e += *e == entry; /* one that was removed has made room for the next */
    }
}

void ks_mpirun_environment(void)
{
    static const char others[] = "^slurm,tm,lsf,gridengine,alps";

    forget_ranks();
    (void)setenv("OMPI_MCA_ras", others, 0); /* Open MPI 4 */
    (void)setenv("OMPI_MCA_plm", others, 0);
    (void)setenv("PRTE_MCA_ras", others, 0); /* Open MPI 5 */
    (void)setenv("PRTE_MCA_plm", others, 0);
}
