/* SPDX-License-Identifier: MIT */
/* found.c - rows that programs printed, runs of programs, pieces of output: as frames */
#include "record/found.h"

#include "record/fields.h"
#include "record/frame.h"

#include <string.h>

/* ---- KS_F_FOUND: a record, and its texts under tags that no record has ---- */

enum { TAG_NAME = 1000, TAG_FAMILY, TAG_CANONICAL, TAG_TRAITS };
enum { TEXT_MAX = KS_FRAME_BODY_MAX / 8 };

static void put_text(struct ks_buf *b, uint16_t tag, const char *text)
{
    ks_tag_bytes(b, tag, text, strnlen(text, TEXT_MAX));
}

void ks_found_encode(const struct ks_record *r, const struct ks_found_texts *t,
                     struct ks_buf *body_out)
{
    ks_record_encode(r, body_out);
    put_text(body_out, TAG_NAME, t->name);
    put_text(body_out, TAG_FAMILY, t->family);
    put_text(body_out, TAG_CANONICAL, t->canonical);
    put_text(body_out, TAG_TRAITS, t->traits);
}

int ks_found_decode(const void *body, size_t n, struct ks_record *r_out,
                    struct ks_found_texts *t_out, struct ks_buf *texts, struct ks_err *err)
{
    static const uint16_t tags[] = { TAG_NAME, TAG_FAMILY, TAG_CANONICAL, TAG_TRAITS };
    size_t at[4];
    int rc = ks_record_decode(body, n, r_out, NULL, err);

    if (rc < 0)
        return rc;
    ks_buf_clear(texts);
    for (size_t i = 0; i < 4; i++) {
        struct ks_field f = { .n = 0 };

        if (!ks_fields_find(body, n, tags[i], &f) && i == 0)
            return ks_fail(err, KS_EFORMAT, "row of a program without a name");
        at[i] = texts->len;
        ks_buf_put(texts, f.bytes, f.n);
        ks_buf_u8(texts, 0);
    }
    if (!ks_buf_ok(texts))
        return ks_fail(err, KS_ENOMEM, "out of memory");
    const char *all = (const char *)texts->data;
    *t_out = (struct ks_found_texts){ all + at[0], all + at[1], all + at[2], all + at[3] };
    return 0;
}

bool ks_found_counts(const struct ks_found_key *row, const struct ks_found_key *done)
{
    return done && row->worker == done->worker && row->attempt == done->attempt;
}

/* ---- KS_F_PROGRAM ---- */

#define F(tag, kind, member, ...) KS_DEF(struct ks_program_run, tag, kind, member, __VA_ARGS__)
static const struct ks_def run_defs[] = {
    F(1, UINT, cell.problem, .required = true),
    F(2, UINT, cell.instance, .required = true),
    F(3, UINT, cell.condition, ),
    F(4, UINT, attempt, .lo = 1, .hi = UINT32_MAX, .required = true),
    F(5, ID128, worker, .required = true),
    F(6, TEXT, adapter, ),
    F(7, TEXT, version, ),
    F(8, TEXT, command, ),
    F(9, TEXT, file, ),
    F(10, BYTES, digest, ),
    F(11, UINT, n_bytes, ),
    F(12, UINT, n_kept, ),
    F(13, UINT, n_rows, ),
    F(14, UINT, n_other, ),
    F(15, UINT, n_cut, ),
    F(16, INT, n_told, .def = -1),
    F(17, UINT, outcome, .lo = 1, .hi = KS_O_LIMIT - 1, .required = true),
    F(18, UINT, wall_ns, ),
    F(19, INT, exit_status, ),
};
#undef F
static const struct ks_fields run_fields =
    KS_FIELDS(struct ks_program_run, "program run", run_defs);

void ks_program_run_encode(const struct ks_program_run *v, struct ks_buf *body_out)
{
    ks_fields_encode(&run_fields, v, body_out);
}

int ks_program_run_decode(const void *body, size_t n, struct ks_program_run *out,
                          struct ks_err *err)
{
    return ks_fields_decode(&run_fields, body, n, out, NULL, err);
}

/* ---- KS_F_MSG_OUTPUT; the bytes stand in the same body under this tag ---- */

#define PIECE_BYTES_TAG           15u
#define F(tag, kind, member, ...) KS_DEF(struct ks_program_piece, tag, kind, member, __VA_ARGS__)
static const struct ks_def piece_defs[] = {
    F(1, TEXT, file, .required = true),
    F(2, UINT, offset, ),
    F(3, UINT, is_last, .lo = 0, .hi = 1),
};
#undef F
static const struct ks_fields piece_fields =
    KS_FIELDS(struct ks_program_piece, "piece of output", piece_defs);

void ks_program_piece_encode(const struct ks_program_piece *v, const void *bytes, size_t n_bytes,
                             struct ks_buf *body_out)
{
    ks_fields_encode(&piece_fields, v, body_out);
    ks_tag_bytes(body_out, PIECE_BYTES_TAG, bytes, n_bytes);
}

int ks_program_piece_decode(const void *body, size_t n, struct ks_program_piece *out,
                            const void **bytes_out, size_t *n_bytes_out, struct ks_err *err)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz-.";
    struct ks_program_piece v;
    struct ks_field f;
    int rc = ks_fields_decode(&piece_fields, body, n, &v, NULL, err);

    if (rc < 0)
        return rc;
    if (v.file[0] == '.' || v.file[strspn(v.file, letters)] != '\0')
        return ks_fail(err, KS_EFORMAT, "invalid name '%s' of a program's output", v.file);
    if (!ks_fields_find(body, n, PIECE_BYTES_TAG, &f) || f.n > KS_PIECE_MAX)
        return ks_fail(err, KS_EFORMAT, "piece of output without bytes");
    *out = v;
    *bytes_out = f.bytes;
    *n_bytes_out = f.n;
    return 0;
}

/* ---- KS_F_REQ_PROGRAM ---- */

#define F(tag, kind, member, ...) KS_DEF(struct ks_req_program, tag, kind, member, __VA_ARGS__)
static const struct ks_def req_defs[] = {
    F(1, TEXT, adapter, .required = true),
    F(2, TEXT, path, .required = true),
    F(3, TEXT, options, ),
    F(4, TEXT, environment, ),
    F(5, TEXT, work_dir, .required = true),
    F(6, UINT, silence_s, ),
    F(7, UINT, timeout_s, ),
    F(8, UINT, repeat, ),
};
#undef F
static const struct ks_fields req_fields =
    KS_FIELDS(struct ks_req_program, "program request", req_defs);

void ks_req_program_encode(const struct ks_req_program *v, struct ks_buf *body_out)
{
    ks_fields_encode(&req_fields, v, body_out);
}

int ks_req_program_decode(const void *body, size_t n, struct ks_req_program *out,
                          struct ks_err *err)
{
    return ks_fields_decode(&req_fields, body, n, out, NULL, err);
}
