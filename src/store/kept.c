/* SPDX-License-Identifier: MIT */
/* kept.c - finds results files that know more of a run than its journal does */
#include "store/kept.h"
#include "base/file.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#define MOST_KEPT 1000u

/* Each row of /runs has the place of the last frame that the file was made from. */
static bool has_lost(const struct ks_run_row *old, const struct ks_index *x)
{
    char journal[KS_PATH_BYTES + 16];

    for (size_t i = 0; i < x->runs.n; i++) {
        const struct ks_run_row *r = ks_list_at(&x->runs, i);

        if (strcmp(r->run_id, old->run_id) != 0)
            continue;
        snprintf(journal, sizeof(journal), "%s/journal", r->path);
        return !ks_journal_reaches(journal, old->end_segment, old->end_offset);
    }
    return false;
}

static int free_name(const char *out_path, char *name_out, size_t cap, struct ks_err *err)
{
    for (unsigned n = 1; n < MOST_KEPT; n++) {
        if ((size_t)snprintf(name_out, cap, "%s.%u", out_path, n) >= cap)
            return ks_fail(err, KS_EINVAL, "the path '%s' is too long", out_path);
        if (!ks_path_exists(name_out))
            return 0;
    }
    return ks_fail(err, KS_EEXIST,
                   "'%s' has measurements that its journal has lost, and there are %u such files "
                   "beside it: move them away",
                   out_path, MOST_KEPT - 1);
}

int ks_kept_name(const char *out_path, const struct ks_index *x, char *name_out, size_t cap,
                 struct ks_err *err)
{
    struct ks_store_file *f = NULL;
    struct ks_err why;
    bool is_kept = false;
    int rc = ks_path_exists(out_path) ? ks_store_open(out_path, &f, &why) : KS_ENOENT;

    name_out[0] = '\0';
    if (rc == KS_ENOMEM)
        return ks_fail(err, rc, "%s", why.text);
    for (uint32_t i = 0; rc == 0 && i < ks_store_info(f)->n_runs && !is_kept; i++)
        is_kept = has_lost(ks_store_run(f, i), x);
    ks_store_close(f);
    return is_kept ? free_name(out_path, name_out, cap, err) : 0;
}
