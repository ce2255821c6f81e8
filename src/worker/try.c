/* SPDX-License-Identifier: MIT */
/* try.c - loads and unloads an object once, and says which step ended the process */
#include "worker/try.h"

#include "base/file.h"
#include "base/process.h"
#include "device/so_table.h"
#include "record/request.h"
#include "worker/cage.h"
#include "worker/remains.h"
#include "worker/sealed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Unbuffered: the next thing may be the end. */
static void tell(const char *step)
{
    (void)ks_write_all(STDERR_FILENO, step, strlen(step), NULL);
    (void)ks_write_all(STDERR_FILENO, "\n", 1, NULL);
}

/* What an object starts when it is loaded would be blamed on whichever cell loads it first. */
static int check_left(struct ks_remains *remains, bool keeps_threads, struct ks_err *err)
{
    struct ks_left left;
    char text[96];

    ks_remains_find(remains, keeps_threads ? UINT32_MAX : 0, &left);
    if (keeps_threads)
        left.n_threads = 0;
    if (!ks_left_anything(&left))
        return 0;
    ks_left_text(&left, text, sizeof(text));
    return ks_fail(err, KS_ELOAD, "a constructor %s", text);
}

static int load_and_unload(const struct ks_sealed *copy, bool keeps_threads, struct ks_err *err)
{
    struct ks_remains remains;
    struct ks_so_table so;

    ks_remains_note(&remains);
    tell(KS_TRY_LOADING);
    if (ks_so_table_open(copy->path, &so, err) < 0)
        return KS_WORKER_EXIT_UNLOADABLE;
    if (check_left(&remains, keeps_threads, err) < 0) /* not unloaded: a thread may run in it */
        return KS_WORKER_EXIT_REMAINS;
    tell(KS_TRY_UNLOADING);
    ks_so_table_close(&so);
    tell(KS_TRY_EXITING);
    return KS_WORKER_EXIT_TRIED;
}

int ks_worker_try(const char *path, bool keeps_threads, struct ks_err *err)
{
    struct ks_status *status = calloc(1, sizeof(*status)); /* lives as long as the handlers */
    struct ks_cage cage;
    struct ks_sealed copy;
    int rc =
        status != NULL ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the status of a load test");

    if (rc == 0)
        rc = ks_sealed_open(path, &copy, err);
    if (rc == 0)
        rc = ks_cage_open(&cage, status, err);
    if (rc == 0)
        rc = ks_cage_close(&cage, err);
    if (rc == KS_EUNSUPPORTED && ks_process_is_bare())
        rc = 0;
    if (rc < 0)
        return KS_WORKER_EXIT_SETUP;
    rc = load_and_unload(&copy, keeps_threads, err);
    if (rc != KS_WORKER_EXIT_TRIED)
        ks_sealed_blame(&copy, path, err);
    return rc;
}
