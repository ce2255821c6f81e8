/* SPDX-License-Identifier: MIT */
/* check_output.c - kept outputs of programs against the journal's digests */
#include "store/check_output.h"

#include "base/hash.h"
#include "journal/journal.h"
#include "record/found.h"
#include "record/frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BLOCK_BYTES = 1 << 16 };

struct outputs {
    const char *dir;
    ks_output_finding_fn found;
    void *ctx;
    struct ks_program_run run; /* scratch */
    uint8_t block[BLOCK_BYTES];
};

/* Its bytes, decompressed. KS_EFORMAT: damaged or cut off. */
static int digest_file(struct outputs *o, const char *path, uint8_t digest_out[32], uint64_t *n_out)
{
    struct ks_sha256 sha;
    gzFile f = gzopen(path, "rbe");
    int n = 0;

    if (!f)
        return errno == ENOMEM ? KS_ENOMEM : KS_ENOENT;
    *n_out = 0;
    ks_sha256_init(&sha);
    while ((n = gzread(f, o->block, sizeof o->block)) > 0) {
        ks_sha256_add(&sha, o->block, (size_t)n);
        *n_out += (uint64_t)n;
    }
    ks_sha256_end(&sha, digest_out);
    return gzclose_r(f) != Z_OK || n < 0 ? KS_EFORMAT : 0;
}

static void check_output(struct outputs *o)
{
    const struct ks_program_run *r = &o->run;
    char path[1300], why[1500];
    uint8_t digest[32];
    uint64_t n = 0;
    int rc;

    snprintf(path, sizeof path, "%.1100s/output/%s", o->dir, r->file);
    rc = digest_file(o, path, digest, &n);
    if (rc == KS_ENOENT)
        snprintf(why, sizeof why, "%s: the output of a program is missing", path);
    else if (rc < 0)
        snprintf(why, sizeof why, "%s: the output of a program is damaged or truncated", path);
    else if (n != r->n_kept || memcmp(digest, r->digest, sizeof digest) != 0)
        snprintf(why, sizeof why,
                 "%s: its %" PRIu64 " bytes are not the %" PRIu64
                 " bytes whose digest is in the journal",
                 path, n, r->n_kept);
    else
        return;
    o->found(o->ctx, why);
}

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct outputs *o = ctx;

    (void)err;
    if (f->type == KS_F_PROGRAM && ks_program_run_decode(f->body, f->n, &o->run, NULL) == 0 &&
        o->run.file[0])
        check_output(o);
    return 0;
}

int ks_check_outputs(const char *dir, ks_output_finding_fn found, void *ctx, struct ks_err *err)
{
    struct outputs *o = malloc(sizeof *o);
    char journal[1300];
    int rc;

    if (!o)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    o->dir = dir;
    o->found = found;
    o->ctx = ctx;
    snprintf(journal, sizeof journal, "%.1200s/journal", dir);
    rc = ks_journal_read(journal, on_frame, NULL, o, NULL, err);
    free(o);
    return rc;
}
