/* SPDX-License-Identifier: MIT */
/* test_mpirun.c - which launcher `ksweep run -n N` starts, how it is told apart, and its options */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "spawn/mpirun.h"
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *printed, *mpi;
    bool is_open_mpi;
    unsigned major;
} versions[] = {
    { "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
      "Open MPI 4.1.4", true, 4 },
    { "mpirun (Open MPI) 5.0.3\n\nReport bugs to https://www.open-mpi.org/community/help/\n",
      "Open MPI 5.0.3", true, 5 },
    { "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
      "Open MPI 4.1.4", true, 4 },
    { "prterun (PRRTE) 3.0.5\n", "Open MPI's PRRTE 3.0.5", true, 5 },
    { "HYDRA build details:\n    Version:                                 4.0.2\n",
      "MPICH (Hydra) 4.0.2", false, 4 },
    { "Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005\n", "Intel MPI 2021.11",
      false, 2021 },
    { "mpiexec (PALS) 1.3.2\n", "Cray PALS 1.3.2", false, 1 },
    { "mpirun (IBM Spectrum MPI) 10.4.0\n", "IBM Spectrum MPI 10.4.0", false, 10 },
    { "", "an unknown MPI", false, 0 },
};

static void launchers_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct ks_mpirun m = { .major = 77 };

        ks_mpirun_parse(versions[i].printed, &m);
        assert_string_equal(m.mpi, versions[i].mpi);
        assert_int_equal(m.is_open_mpi, versions[i].is_open_mpi);
        assert_int_equal(m.major, versions[i].major);
    }
}

static const struct {
    unsigned major;
    bool is_root;
    const char *words;
} options[] = {
    { 4, false, "-n 3 --host localhost:3 --oversubscribe --bind-to none --enable-recovery" },
    { 4, true,
      "-n 3 --host localhost:3 --oversubscribe --bind-to none --enable-recovery "
      "--allow-run-as-root" },
    { 5, true,
      "-n 3 --host localhost:3 --map-by :OVERSUBSCRIBE --bind-to none --enable-recovery "
      "--allow-run-as-root" },
};

static void options_follow_the_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const struct ks_mpirun m = { .is_open_mpi = true, .major = options[i].major };
        const char *words[KS_MPIRUN_OPTIONS];
        char storage[64], text[300] = "";

        ks_mpirun_options(&m, 3, options[i].is_root, storage, words);
        for (size_t k = 0; words[k]; k++) {
            strncat(text, k ? " " : "", 2);
            strncat(text, words[k], 40);
        }
        assert_string_equal(text, options[i].words);
    }
}

static void write_script(const char *path, const char *says)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\necho '%s'\n", says);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static void it_is_found_or_refused(void **state)
{
    char dir[TEMP_DIR_MAX], script[TEMP_DIR_MAX + 16], hint[TEMP_DIR_MAX + 16];
    struct ks_mpirun m = { .major = 77 };
    struct ks_err err;

    (void)state;
    temp_dir_make(dir, sizeof(dir));
    snprintf(script, sizeof(script), "%s/mpirun", dir);
    snprintf(hint, sizeof(hint), "%s/mpiexec", dir);
    unsetenv(KS_MPIRUN_ENV);
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(ks_mpirun_find(NULL, "Open MPI 4.1.4", &m, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "openmpi-bin"));
    write_script(script, "HYDRA build details: Version: 4.0.2");
    assert_int_equal(ks_mpirun_find(hint, "Open MPI 4.1.4", &m, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "MPICH (Hydra) 4.0.2"));
    assert_non_null(strstr(err.text, "linked with Open MPI 4.1.4"));
    assert_int_equal(m.major, 77);
    write_script(script, "mpirun (Open MPI) 5.0.3");
    setenv("PATH", dir, 1);
    assert_int_equal(ks_mpirun_find(NULL, "Open MPI 4.1.4", &m, &err), 0);
    assert_string_equal(m.path, script);
    assert_int_equal(m.major, 5);
    setenv(KS_MPIRUN_ENV, "/nowhere/mpirun", 1);
    assert_int_equal(ks_mpirun_find(hint, "Open MPI 4.1.4", &m, &err), KS_EINVAL);
    unsetenv(KS_MPIRUN_ENV);
    unlink(script);
    rmdir(dir);
}

static void a_batch_system_and_other_ranks_are_forgotten(void **state)
{
    (void)state;
    setenv("PMI_RANK", "1", 1);
    setenv("PMIX_SERVER_URI41", "x", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    setenv("PMIX_MCA_gds", "hash", 1);
    ks_mpirun_environment();
    assert_null(getenv("PMI_RANK"));
    assert_null(getenv("PMIX_SERVER_URI41"));
    assert_null(getenv("OMPI_COMM_WORLD_SIZE"));
    assert_string_equal(getenv("PMIX_MCA_gds"), "hash");
    assert_non_null(strstr(getenv("OMPI_MCA_ras"), "^slurm"));
    assert_non_null(strstr(getenv("PRTE_MCA_plm"), "^slurm"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_are_told_apart),
        cmocka_unit_test(options_follow_the_version),
        cmocka_unit_test(it_is_found_or_refused),
        cmocka_unit_test(a_batch_system_and_other_ranks_are_forgotten),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("mpirun", tests, NULL, NULL);
}
