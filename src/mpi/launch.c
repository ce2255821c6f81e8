/* SPDX-License-Identifier: MIT */
/* launch.c - which launcher started this process, and whether its ranks can find each other */
#include "mpi/launch.h"

#include "base/clock.h"
#include "base/file.h"

#include <ctype.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define SOCKETS          "/proc/net/tcp" /* and tcp6 */
#define LISTENING        "0A"            /* a state in it */
#define LINE_BYTES       150             /* of SOCKETS */
#define LONGEST_LEAVE_NS 2000000000ull
#define LOOK_NS          5000000ull

/* Does a socket of this host listen on the port? Lines: "sl local_address:PORT remote state ...",
 * in hexadecimal. Linux lists listening sockets first; behind them, and again at the end of the
 * file, it looks through a table of all connections, which takes 5 to 10 ms on a host with 24 GiB.
 * So the file is read a line at a time, and no further than needed. */
static bool has_listener(const char *table, uint32_t port)
{
    char line[256], one_line[LINE_BYTES], state[4];
    bool found = false;
    FILE *f = fopen(table, "re");
    unsigned at;

    if (!f)
        return false;
    setvbuf(f, one_line, _IOFBF, sizeof(one_line));
    while (!found && fgets(line, sizeof(line), f))
        found = sscanf(line, "%*d: %*[0-9A-Fa-f]:%x %*s %3s", &at, state) == 2 && at == port &&
                strcmp(state, LISTENING) == 0;
    fclose(f);
    return found;
}

/* "1884880896.0;tcp4://127.0.0.1:38689" */
static bool is_server_there(const char *uri)
{
    const char *tcp = strstr(uri, ";tcp"), *colon = strrchr(uri, ':');
    unsigned long port;

    if (!tcp || !colon || !isdigit((unsigned char)colon[1]) || access(SOCKETS, R_OK) < 0)
        return true;
    port = strtoul(colon + 1, NULL, 10);
    return port && port <= UINT16_MAX &&
           (has_listener(SOCKETS, (uint32_t)port) || has_listener(SOCKETS "6", (uint32_t)port));
}

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *ks_launch_mpi(void)
{
    return "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(
        OMPI_RELEASE_VERSION);
}

/* Open MPI 5 calls its shared memory sm, which was vader. */
#if OMPI_MAJOR_VERSION >= 5
#define SHARED_MEMORY "sm"
#else
#define SHARED_MEMORY "vader"
#endif

const char *ks_launch_transports(void)
{
    return "self," SHARED_MEMORY ",tcp";
}

bool ks_launch_is_live(void)
{
    static const char name[] = "PMIX_SERVER_URI";

    if (!getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK"))
        return false;
    for (char **e = environ; *e; e++) {
        const char *value = strchr(*e, '=');

        if (value && strncmp(*e, name, sizeof(name) - 1) == 0 && is_server_there(value + 1))
            return true;
    }
    return false;
}

static bool is_zero(const char *text)
{
    return strcmp(text, "0") == 0;
}

/* More than one, as a variable says. */
static bool is_several(const char *name)
{
    const char *text = getenv(name);

    return text && strtoul(text, NULL, 10) > 1;
}

/* Launchers that are not Open MPI's, by the variables that they set in each rank. The first row
 * that applies names the launcher: those whose variables others set, too, come last. */
struct launcher {
    const char *mark;       /* set by this launcher only; NULL: the size is enough */
    const char *size;       /* the number of ranks; NULL: it sets none, the mark is enough */
    const char *rank;       /* this one's number */
    const char *name, *fix; /* for people */
};
static const char use_mpirun[] = "use Open MPI's mpirun, or ksweep run JOB -n N on one host";
static const struct launcher launchers[] = {
    { NULL, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun without --mpi=pmix", "srun --mpi=pmix" },
    { "PALS_RANKID", NULL, "PALS_RANKID", "Cray PALS (PALS_RANKID)", use_mpirun },
    { "ALPS_APP_PE", NULL, "ALPS_APP_PE", "Cray ALPS (ALPS_APP_PE)", use_mpirun },
    { NULL, "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MVAPICH2 (MV2_COMM_WORLD_SIZE)",
      use_mpirun },
    { "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "Flux (FLUX_JOB_SIZE)",
      "flux run -o pmi=pmix, or Open MPI's mpirun" },
    { "I_MPI_MPIRUN", "PMI_SIZE", "PMI_RANK", "Intel MPI (PMI_SIZE)", use_mpirun },
    { "I_MPI_HYDRA_UUID", "PMI_SIZE", "PMI_RANK", "Intel MPI (PMI_SIZE)", use_mpirun },
    { "HYDI_CONTROL_FD", "PMI_SIZE", "PMI_RANK", "MPICH (Hydra, PMI_SIZE)", use_mpirun },
    { "MPI_LOCALNRANKS", "PMI_SIZE", "PMI_RANK", "MPICH (Hydra, PMI_SIZE)", use_mpirun },
    { NULL, "PMI_SIZE", "PMI_RANK", "another MPI than Open MPI (PMI_SIZE)", use_mpirun },
};

/* The launcher that has started several ranks, which cannot find each other; NULL: none. Valid
 * where no server of Open MPI's answers. */
static const struct launcher *foreign(void)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const struct launcher *l = &launchers[i];

        if ((!l->mark || getenv(l->mark)) && (!l->size || is_several(l->size)))
            return l;
    }
    return NULL;
}

/* As who counts ranks says; NULL when nobody does. */
static const char *rank_text(void)
{
    const struct launcher *l;

    if (ks_launch_is_live())
        return getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK")
                                              : getenv("PMIX_RANK");
    l = foreign();
    if (l)
        return getenv(l->rank);
    return is_several("OMPI_COMM_WORLD_SIZE") ? getenv("OMPI_COMM_WORLD_RANK") : NULL;
}

bool ks_launch_is_other_rank(void)
{
    const char *rank = rank_text();

    return rank && !is_zero(rank);
}

bool ks_launch_is_first_elsewhere(void)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

    if (!getenv("OMPI_COMM_WORLD_RANK"))
        local = getenv("SLURM_LOCALID");
    return local && is_zero(local) && ks_launch_is_live() && ks_launch_is_other_rank();
}

/* Are there children of our parent beside us? One that has ended is there until it is reaped: until
 * then the launcher does not know. */
static bool has_siblings(void)
{
    char path[80];
    struct ks_buf text;
    bool found = false;

    ks_buf_init(&text);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
    if (ks_file_read(path, &text, NULL) == 0)
        for (const char *at = ks_buf_text(&text); *at && !found;) {
            char *end;
            const long pid = strtol(at, &end, 10);

            found = pid > 0 && pid != getpid();
            at = end > at ? end + strspn(end, " \n") : "";
        }
    ks_buf_release(&text);
    return found;
}

void ks_launch_outlive_others(void)
{
    const uint64_t until = ks_now_ns() + LONGEST_LEAVE_NS;

    while (ks_launch_is_live() && has_siblings() && ks_now_ns() < until)
        ks_sleep_ns(LOOK_NS);
}

static int refuse_others(struct ks_err *err)
{
    const struct launcher *l = foreign();
    const char *size = l && l->size ? getenv(l->size) : "several";

    if (l)
        return ks_fail(err, KS_EINVAL,
                       "%s started %s ranks, but this ksweep is linked with %s, so the ranks "
                       "cannot find each other: %s",
                       l->name, size, ks_launch_mpi(), l->fix);
    if (is_several("OMPI_COMM_WORLD_SIZE"))
        return ks_fail(err, KS_EINVAL,
                       "OMPI_COMM_WORLD_SIZE=%s is set, but no launcher answers: start ksweep with "
                       "mpirun or srun --mpi=pmix, or unset the variable if it is left over",
                       getenv("OMPI_COMM_WORLD_SIZE"));
    return 0;
}

int ks_launch_check(char *warning_out, size_t cap, struct ks_err *err)
{
    static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                         "SLURM_PROCID" };
    int rc;

    warning_out[0] = '\0';
    if (ks_launch_is_live())
        return 0;
    rc = refuse_others(err);
    for (size_t i = 0; rc == 0 && !warning_out[0] && i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        const char *v = getenv(ranks[i]);

        if (v && (!is_zero(v) || strcmp(ranks[i], "SLURM_PROCID") != 0))
            snprintf(
                warning_out, cap,
                "%s=%s is set, but no launcher answers, so it is ignored: this is the only rank",
                ranks[i], v);
    }
    return rc;
}
