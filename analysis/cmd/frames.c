/* SPDX-License-Identifier: MIT */
/* frames.c - batches of a table's rows with derived columns, from results or from a table */
#include "analysis/cmd/frames.h"
#include "analysis/data/reader.h"
#include "analysis/import/made.h"
#include "analysis/learn/derive.h"
#include "analysis/learn/feature_frame.h"

#include <stdlib.h>

struct ks_frames {
    struct ks_view *view; /* borrowed; NULL: a table */
    const char *path;     /* of either; borrowed */
    struct ks_sources sources;
    size_t n_columns;
    struct ks_reader *reader;
    struct ks_derive *derive;
    struct ks_chances *chances; /* borrowed; NULL: no columns of the oracle */
    struct ks_made *made;
    bool has_features;
    size_t n_unread; /* rows without features */
    struct ks_feature_spec spec;
    struct ks_feature_frame featured;
};

static int begin(struct ks_frames *f, struct ks_err *err)
{
    int rc;

    if (!f->view)
        return ks_made_open(f->path, &f->made, err);
    rc = ks_reader_open(f->view, &f->sources, 0, &f->reader, err);
    return rc == 0 ? ks_derive_create(&f->derive, err) : rc;
}

static void finish(struct ks_frames *f)
{
    ks_reader_close(f->reader);
    ks_derive_destroy(f->derive);
    ks_made_close(f->made);
    f->reader = NULL;
    f->derive = NULL;
    f->made = NULL;
}

/* ---- features ---- */

/* The file's first device, as training takes it. */
static struct ks_fx_device first_device(const struct ks_store_file *file)
{
    const struct ks_device_row *d =
        ks_store_info(file)->n_devices ? ks_store_device(file, 0) : NULL;

    return ks_feature_device(d ? d->rec.arch : NULL, d ? d->rec.n_units : 0);
}

/* From all rows: which features there are. */
static int choose_features(struct ks_frames *f, struct ks_err *err)
{
    const struct ks_fx_device device = first_device(ks_view_file(f->view));
    struct ks_feature_basis basis = { 0 };
    struct ks_df *df;
    int rc;

    while ((rc = ks_frames_next(f, &df, err)) > 0) {
        rc = ks_feature_basis_add(&basis, df, err);
        if (rc < 0)
            break;
    }
    f->n_unread = basis.n_unread;
    if (rc == 0 && basis.n_problems == 0)
        rc =
            ks_fail(err, KS_EFORMAT,
                    "%s: no row has a problem that can be read, so there are no features", f->path);
    if (rc == 0)
        rc = ks_feature_spec_create(basis.problems, basis.n_problems, &basis.traits, &device,
                                    &f->spec, err);
    ks_feature_basis_release(&basis);
    if (rc == 0)
        rc = ks_frames_rewind(f, err);
    if (rc == 0) /* its columns, before the first row */
        rc = ks_feature_frame_set(&f->featured, &f->spec, ks_reader_df(f->reader), f->n_columns,
                                  err);
    f->has_features = rc == 0;
    return rc;
}

int ks_frames_open(struct ks_view *v, enum ks_columns_version version, const char *path,
                   const struct ks_frames_more *more, struct ks_frames **frames_out,
                   struct ks_err *err)
{
    struct ks_frames *f = calloc(1, sizeof(*f));
    int rc = f ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc < 0)
        return rc;
    f->view = v;
    f->path = path;
    f->chances = more->chances;
    if (v) {
        rc = ks_sources_training(&f->sources, ks_view_file(v), version, err);
        if (rc == 0 && more->chances)
            rc = ks_sources_oracle(&f->sources, err);
        f->n_columns = f->sources.n;
        if (rc == 0)
            rc = ks_derive_need(&f->sources, ks_view_file(v), err);
        if (rc == 0 && more->has_features)
            rc = ks_features_need(&f->sources, ks_view_file(v), err);
    }
    if (rc == 0)
        rc = begin(f, err);
    if (rc == 0 && v && more->has_features)
        rc = choose_features(f, err);
    if (rc < 0) {
        ks_frames_close(f);
        return rc;
    }
    *frames_out = f;
    return 0;
}

void ks_frames_close(struct ks_frames *f)
{
    if (!f)
        return;
    finish(f);
    ks_sources_release(&f->sources);
    ks_feature_frame_release(&f->featured);
    ks_feature_spec_release(&f->spec);
    free(f);
}

const struct ks_df *ks_frames_df(const struct ks_frames *f, size_t *n_columns_out)
{
    const struct ks_df *df = f->made ? ks_made_df(f->made) : ks_reader_df(f->reader);

    if (f->has_features) {
        *n_columns_out = f->featured.f.n_columns;
        return &f->featured.f;
    }
    *n_columns_out = f->made ? df->n_columns : f->n_columns;
    return df;
}

size_t ks_frames_n_unread(const struct ks_frames *f)
{
    return f->n_unread;
}

int ks_frames_next(struct ks_frames *f, struct ks_df **frame_out, struct ks_err *err)
{
    int rc, failed = 0;

    if (f->made)
        return ks_made_next(f->made, frame_out, err);
    rc = ks_reader_next(f->reader, frame_out, err);
    if (rc > 0)
        failed = ks_derive(f->derive, *frame_out, err);
    if (rc > 0 && failed == 0 && f->chances)
        failed = ks_chances_fill(f->chances, *frame_out, err);
    if (rc > 0 && failed == 0 && f->has_features) {
        failed = ks_feature_frame_set(&f->featured, &f->spec, *frame_out, f->n_columns, err);
        *frame_out = &f->featured.f;
    }
    return failed < 0 ? failed : rc;
}

int ks_frames_rewind(struct ks_frames *f, struct ks_err *err)
{
    finish(f);
    return begin(f, err);
}
