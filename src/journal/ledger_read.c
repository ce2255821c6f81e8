/* SPDX-License-Identifier: MIT */
/* ledger_read.c - the ledger of a directory's journal. */
#include "journal/ledger.h"

struct reading {
    struct ks_ledger *ledger;
    ks_journal_damage_fn on_damage;
    void *ctx;
    uint64_t n_bad;
};

static int on_frame(void *ctx, const struct ks_journal_frame *f, struct ks_err *err)
{
    struct reading *r = ctx;
    int rc = ks_ledger_apply(r->ledger, f, err);
    if (rc == KS_EFORMAT) {
        r->n_bad++;
        return 0;
    }
    return rc;
}

static void on_damage(void *ctx, const struct ks_journal_damage *d)
{
    struct reading *r = ctx;
    if (r->on_damage)
        r->on_damage(r->ctx, d);
}

int ks_ledger_read(const char *dir, struct ks_ledger **l_out, ks_journal_damage_fn damage,
                   void *ctx, struct ks_journal_totals *totals_out, uint64_t *n_bad_out,
                   struct ks_err *err)
{
    struct reading r = { .on_damage = damage, .ctx = ctx };
    int rc = ks_ledger_create(&r.ledger, err);
    if (rc < 0)
        return rc;
    rc = ks_journal_read(dir, on_frame, on_damage, &r, totals_out, err);
    if (rc < 0) {
        ks_ledger_destroy(r.ledger);
        return rc;
    }
    if (n_bad_out)
        *n_bad_out = r.n_bad;
    *l_out = r.ledger;
    return 0;
}
