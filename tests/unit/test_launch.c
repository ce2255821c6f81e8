/* SPDX-License-Identifier: MIT */
/* test_launch.c - what variables of launchers mean, with a server that listens and without */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "mpi/launch.h"
#include "mpi/mpi_calls.h"
#include "mpi/segment.h"
#include "tests/unit/temp_dir.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const all[] = { "OMPI_COMM_WORLD_RANK",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "OMPI_COMM_WORLD_LOCAL_RANK",
                                   "PMIX_NAMESPACE",
                                   "PMIX_RANK",
                                   "PMIX_SERVER_URI",
                                   "PMIX_SERVER_URI2",
                                   "PMIX_SERVER_URI3",
                                   "PMIX_SERVER_URI4",
                                   "PMIX_SERVER_URI21",
                                   "PMIX_SERVER_URI41",
                                   "PMI_RANK",
                                   "PMI_SIZE",
                                   "HYDI_CONTROL_FD",
                                   "I_MPI_MPIRUN",
                                   "PALS_RANKID",
                                   "ALPS_APP_PE",
                                   "FLUX_TASK_RANK",
                                   "FLUX_JOB_SIZE",
                                   "MV2_COMM_WORLD_SIZE",
                                   "MV2_COMM_WORLD_RANK",
                                   "MPI_LOCALNRANKS",
                                   "SLURM_PROCID",
                                   "SLURM_LOCALID",
                                   "SLURM_STEP_NUM_TASKS" };

struct row {
    const char *env; /* "NAME=VALUE NAME=VALUE"; %u: the port */
    bool is_live, is_other, is_first_elsewhere;
    const char *refusal, *warning; /* NULL: none */
};

#define PMIX "PMIX_NAMESPACE=7 PMIX_SERVER_URI4=7.0;tcp4://127.0.0.1:%u "

/* With a server. */
static const struct row live[] = {
    { PMIX "PMIX_RANK=0 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", true, false, false, NULL,
      NULL },
    { PMIX "PMIX_RANK=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1", true, true, false,
      NULL, NULL },
    { PMIX "PMIX_RANK=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=0", true, true, true,
      NULL, NULL },
    { PMIX "PMIX_RANK=3 SLURM_PROCID=3 SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=4", true, true, true,
      NULL, NULL },
    { "PMIX_NAMESPACE=prterun-a-1@1 PMIX_RANK=1 OMPI_COMM_WORLD_RANK=1 " /* Open MPI 5 */
      "PMIX_SERVER_URI41=prterun-a-1@0.0;tcp4://127.0.0.1:%u",
      true, true, false, NULL, NULL },
    { "PMIX_NAMESPACE=7 PMIX_RANK=0 PMIX_SERVER_URI=7.0;usock:/tmp/x", true, false, false, NULL,
      NULL },
    { "PMIX_RANK=1 PMIX_SERVER_URI4=7.0;tcp4://127.0.0.1:%u", false, false, false, NULL,
      "PMIX_RANK=1" },
};

/* The same and others without one. */
static const struct row dead[] = {
    { "", false, false, false, NULL, NULL },
    { PMIX "PMIX_RANK=0 OMPI_COMM_WORLD_SIZE=1", false, false, false, NULL, "PMIX_RANK=0" },
    { PMIX "PMIX_RANK=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", false, true, false,
      "OMPI_COMM_WORLD_SIZE=2", NULL },
    { "OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_LOCAL_RANK=0", false, false, false, NULL,
      "OMPI_COMM_WORLD_RANK=7" },
    { "SLURM_PROCID=3 SLURM_LOCALID=0", false, false, false, NULL, "SLURM_PROCID=3" },
    { "SLURM_PROCID=0", false, false, false, NULL, NULL }, /* every batch script */
    { "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0", false, false, false, NULL, NULL },
    { "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3", false, true, false, "srun --mpi=pmix", NULL },
    { "PMI_RANK=0 PMI_SIZE=2", false, false, false, "another MPI", NULL },
    { "PMI_RANK=0 PMI_SIZE=1 HYDI_CONTROL_FD=7", false, false, false, NULL, /* alone */
      "PMI_RANK=0" },
    { "PMI_RANK=1 PMI_SIZE=2 HYDI_CONTROL_FD=7", false, true, false, "MPICH", NULL },
    { "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALNRANKS=2", false, true, false, "MPICH", NULL },
    { "PMI_RANK=1 PMI_SIZE=2 I_MPI_MPIRUN=mpirun MPI_LOCALNRANKS=2", false, true, false,
      "Intel MPI", NULL },
    { "PALS_RANKID=1 PMI_SIZE=2 PMI_RANK=1", false, true, false, "Cray PALS", NULL },
    { "PALS_RANKID=0", false, false, false, "Cray PALS", NULL },
    { "ALPS_APP_PE=2", false, true, false, "Cray ALPS", NULL },
    { "MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=1", false, true, false, "MVAPICH2", NULL },
    { "FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2 PMI_SIZE=2 PMI_RANK=1", false, true, false, "Flux", NULL },
    { "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3 PMI_SIZE=4 PMI_RANK=3", false, true, false, /* pmi2 */
      "srun --mpi=pmix", NULL },
};

static void set_all(const char *env, unsigned port)
{
    char text[300], *rest = text, *word;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        unsetenv(all[i]);
    snprintf(text, sizeof(text), "%s", env);
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '='), *at = value ? strstr(value, "%u") : NULL;

        if (!value)
            continue;
        *value++ = '\0';
        if (at) {
            char uri[100];

            snprintf(uri, sizeof(uri), "%.*s%u", (int)(at - value), value, port);
            setenv(word, uri, 1);
        } else {
            setenv(word, value, 1);
        }
    }
}

static void check(const struct row *r, unsigned port)
{
    struct ks_err err = { .text = "" };
    char warning[200];
    int rc;

    set_all(r->env, port);
    assert_int_equal(ks_launch_is_live(), r->is_live);
    assert_int_equal(ks_launch_is_other_rank(), r->is_other);
    assert_int_equal(ks_launch_is_first_elsewhere(), r->is_first_elsewhere);
    rc = ks_launch_check(warning, sizeof(warning), &err);
    assert_int_equal(rc, r->refusal ? KS_EINVAL : 0);
    if (r->refusal && !strstr(err.text, r->refusal))
        fail_msg("'%s': %s", r->env, err.text);
    if (r->refusal && !strstr(r->env, "OMPI") && !strstr(err.text, ks_launch_mpi()))
        fail_msg("'%s' does not name both: %s", r->env, err.text);
    if (r->warning ? !strstr(warning, r->warning) : warning[0] != '\0')
        fail_msg("'%s' warns '%s'", r->env, warning);
}

static void variables_count_while_a_server_listens(void **state)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    for (size_t i = 0; i < sizeof(dead) / sizeof(dead[0]); i++)
        check(&dead[i], ntohs(a.sin_port)); /* bound by us, so by nobody else, but silent */
    assert_int_equal(listen(fd, 1), 0);
    for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
        check(&live[i], ntohs(a.sin_port));
    close(fd);
}

static bool is_hidden(const char *name, const char *mapping)
{
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 40], maps[TEMP_DIR_MAX + 40],
        hidden[TEMP_DIR_MAX + 40] = "";
    FILE *f;

    temp_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    snprintf(maps, sizeof(maps), "%s/maps", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    f = fopen(maps, "w");
    assert_non_null(f);
    fprintf(f, "7f00-7f01 r--p 0 00:01 3 /lib/libc.so.6\n7f01-7f02 rw-s 0 00:19 4 %s/%s\n", dir,
            mapping);
    fclose(f);
    ks_segment_hide(maps, 1, hidden, sizeof(hidden));
    const bool is_gone = access(path, F_OK) < 0;
    assert_int_equal(is_gone, hidden[0] != '\0');
    unlink(path);
    unlink(maps);
    rmdir(dir);
    return is_gone;
}

static void segments_of_both_names_are_hidden(void **state)
{
    (void)state;
    assert_true(is_hidden("vader_segment.a.0.77.1", "vader_segment.a.0.77.1"));
    assert_true(is_hidden("sm_segment.a.0.77.1", "sm_segment.a.0.77.1"));  /* Open MPI 5 */
    assert_false(is_hidden("sm_segment.a.0.77.0", "sm_segment.a.0.77.0")); /* another rank's */
}

static void mpi_is_loaded_or_missed(void **state)
{
    const struct ks_mpi_calls *calls = NULL;
    struct ks_err err;

    (void)state;
    setenv("KSWEEP_MPI_MODULE", "/nowhere/libksweep-mpi.so", 1);
    assert_int_equal(ks_mpi_calls_load(&calls, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "/nowhere/libksweep-mpi.so"));
    setenv("KSWEEP_MPI_MODULE", "libm.so.6", 1); /* a library, but not ours */
    assert_int_equal(ks_mpi_calls_load(&calls, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "another version of ksweep"));
    assert_null(calls);
    unsetenv("KSWEEP_MPI_MODULE");
    assert_int_equal(ks_mpi_calls_load(&calls, &err), 0);
    assert_int_equal(calls->abi, KS_MPI_CALLS_ABI);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(variables_count_while_a_server_listens),
                                        cmocka_unit_test(segments_of_both_names_are_hidden),
                                        cmocka_unit_test(mpi_is_loaded_or_missed) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
