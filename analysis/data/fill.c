/* SPDX-License-Identifier: MIT */
/* fill.c - copies one member of packed rows to a column; spells out numbers that have names */
#include "analysis/data/fill.h"
#include "record/outcome.h"

#include <stdlib.h>
#include <string.h>

static const char *const needs[][2] = {
    [KS_WHEN_ALWAYS] = { NULL, NULL },
    [KS_WHEN_CHECKED] = { "exact_check", "tolerance_check" },
    [KS_WHEN_TOLERANCED] = { "tolerance_check", NULL },
    [KS_WHEN_TIMED] = { "span_ns", NULL },
    [KS_WHEN_RUN] = { "device_id", NULL },
};

static bool is_real(uint8_t col_type)
{
    return col_type == KS_COL_F32 || col_type == KS_COL_F64;
}

int ks_fill_init(struct ks_fill *c, const struct ks_source *source, const struct ks_batch *b,
                 struct ks_err *err)
{
    const char *const *needed = needs[source->is_ms ? KS_WHEN_ALWAYS : source->def.when];
    int rc;

    *c = (struct ks_fill){ .source = source, .type = ks_source_type(source) };
    c->is_word = c->type == KS_DF_TEXT && source->def.type != KS_COL_TEXT;
    rc = ks_batch_place(b, source->def.name, &c->at, err);
    for (size_t i = 0; rc == 0 && i < 2 && needed[i]; i++)
        rc = ks_batch_place(b, needed[i], &c->needs[c->n_needs++], err);
    return rc;
}

void ks_fill_release(struct ks_fill *c)
{
    ks_words_release(&c->words);
    free(c->spelling);
    free(c->values.f64);
    free(c->missing);
    free(c->code);
    *c = (struct ks_fill){ 0 };
}

int ks_fill_reserve(struct ks_fill *c, size_t cap, struct ks_err *err)
{
    bool is_text = c->type == KS_DF_TEXT;

    free(c->values.f64);
    free(c->missing);
    free(c->code);
    c->values.f64 = is_text ? NULL : malloc(cap * sizeof(double));
    c->missing = is_text ? NULL : malloc(cap);
    c->code = is_text ? malloc(cap * sizeof(*c->code)) : NULL;
    if (is_text ? c->code != NULL : c->values.f64 && c->missing)
        return 0;
    return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows of '%s'", cap, c->source->name);
}

/* ---- numbers ---- */

int64_t ks_integer_at(uint8_t type, const void *at)
{
    uint32_t u32;
    int32_t i32;
    int64_t i64;

    switch (type) {
    case KS_COL_U8:
        return *(const uint8_t *)at;
    case KS_COL_U32:
        memcpy(&u32, at, sizeof(u32));
        return u32;
    case KS_COL_I32:
        memcpy(&i32, at, sizeof(i32));
        return i32;
    default:
        memcpy(&i64, at, sizeof(i64));
        return i64;
    }
}

int64_t ks_place_i64(const struct ks_place *p, const uint8_t *row)
{
    if (p->at == KS_NO_PLACE)
        return p->has_missing ? (int64_t)p->missing : 0;
    return ks_integer_at(p->type, row + p->at);
}

static double place_f64(const struct ks_place *p, const uint8_t *row)
{
    float f32;
    double f64;

    if (p->at == KS_NO_PLACE)
        return p->has_missing ? p->missing : 0;
    if (p->type == KS_COL_F32) {
        memcpy(&f32, row + p->at, sizeof(f32));
        return (double)f32;
    }
    memcpy(&f64, row + p->at, sizeof(f64));
    return f64;
}

static void fill_f32(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n)
{
    float missing = (float)c->at.missing, v;

    for (size_t i = 0; i < n; i++, row += stride) {
        memcpy(&v, row + c->at.at, sizeof(v));
        c->values.f64[i] = (double)v;
        c->missing[i] = c->at.has_missing && !(v < missing) && !(v > missing);
    }
}

static void fill_reals(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n)
{
    const struct ks_place *p = &c->at;

    if (p->type == KS_COL_F32 && p->at != KS_NO_PLACE) {
        fill_f32(c, row, stride, n);
        return;
    }
    for (size_t i = 0; i < n; i++, row += stride) {
        double v = place_f64(p, row);

        c->values.f64[i] = v;
        c->missing[i] = p->has_missing && !(v < p->missing) && !(v > p->missing);
    }
}

static void fill_i64(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n)
{
    int64_t missing = c->at.has_missing ? (int64_t)c->at.missing : 0, v;

    for (size_t i = 0; i < n; i++, row += stride) {
        memcpy(&v, row + c->at.at, sizeof(v));
        c->values.i64[i] = v;
        c->missing[i] = c->at.has_missing && v == missing;
    }
}

static void fill_integers(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n)
{
    const struct ks_place *p = &c->at;
    int64_t missing = p->has_missing ? (int64_t)p->missing : 0;

    if (p->len == sizeof(int64_t) && p->at != KS_NO_PLACE) {
        fill_i64(c, row, stride, n);
        return;
    }
    for (size_t i = 0; i < n; i++, row += stride) {
        int64_t v = ks_place_i64(p, row);

        c->values.i64[i] = v;
        c->missing[i] = p->has_missing && v == missing;
    }
}

static void fill_ms(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n)
{
    for (size_t i = 0; i < n; i++, row += stride) {
        uint64_t ns = (uint64_t)ks_place_i64(&c->at, row);

        c->values.f64[i] = (double)ns / 1e6;
        c->missing[i] = ns == 0;
    }
}

static void drop_unneeded(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n)
{
    for (size_t i = 0; i < n; i++, row += stride) {
        bool is_any = false;

        for (size_t k = 0; k < c->n_needs; k++)
            is_any = is_any || ks_place_i64(&c->needs[k], row) != 0;
        c->missing[i] = c->missing[i] || !is_any;
    }
}

/* ---- texts ---- */

static int fill_texts(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n,
                      struct ks_err *err)
{
    const struct ks_place *p = &c->at;
    const char *before = NULL;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++, row += stride) {
        const char *text = (const char *)row + p->at;

        if (p->at == KS_NO_PLACE || !text[0])
            c->code[i] = KS_DF_NONE;
        else if (before && memcmp(before, text, p->len) == 0)
            c->code[i] = c->code[i - 1];
        else
            rc = ks_words_add(&c->words, text, p->len, &c->code[i], err);
        before = p->at == KS_NO_PLACE ? NULL : text;
    }
    return rc;
}

static void word_of(uint8_t show, uint32_t number, char *out, uint32_t cap)
{
    static const char *const checks[] = { "", "passed", "failed" };
    static const char *const yes_no[] = { "", "yes", "no" };
    const char *word = "";

    if (show == KS_SHOW_FLAGS) {
        ks_flags_text(number, out, cap);
        return;
    }
    if (show == KS_SHOW_OUTCOME)
        word = ks_outcome_text(number);
    else if (show == KS_SHOW_STOP)
        word = number == KS_STOP_NONE ? "" : ks_stop_text(number);
    else if (number < 3)
        word = show == KS_SHOW_YES_NO ? yes_no[number] : checks[number];
    memcpy(out, word, strlen(word) + 1);
}

static int spell(struct ks_fill *c, uint32_t number, uint32_t *code_out, struct ks_err *err)
{
    struct ks_spelling *more;
    char word[256];
    int rc = 0;

    for (size_t i = 0; i < c->n_spellings; i++)
        if (c->spelling[i].number == number) {
            *code_out = c->spelling[i].code;
            return 0;
        }
    more = realloc(c->spelling, (c->n_spellings + 1) * sizeof(*more));
    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    c->spelling = more;
    word_of(c->source->def.show, number, word, sizeof(word));
    *code_out = KS_DF_NONE;
    if (word[0])
        rc = ks_words_add(&c->words, word, sizeof(word), code_out, err);
    if (rc == 0)
        c->spelling[c->n_spellings++] = (struct ks_spelling){ number, *code_out };
    return rc;
}

static int fill_spelled(struct ks_fill *c, const uint8_t *row, size_t stride, size_t n,
                        struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++, row += stride)
        rc = spell(c, (uint32_t)ks_place_i64(&c->at, row), &c->code[i], err);
    return rc;
}

static void move(struct ks_fill *c, ptrdiff_t by)
{
    c->values.f64 = c->values.f64 ? c->values.f64 + by : NULL;
    c->missing = c->missing ? c->missing + by : NULL;
    c->code = c->code ? c->code + by : NULL;
}

static int fill(struct ks_fill *c, const uint8_t *packed, size_t stride, size_t n,
                struct ks_err *err)
{
    if (c->is_word)
        return fill_spelled(c, packed, stride, n, err);
    if (c->type == KS_DF_TEXT)
        return fill_texts(c, packed, stride, n, err);
    if (c->source->is_ms)
        fill_ms(c, packed, stride, n);
    else if (is_real(c->at.type))
        fill_reals(c, packed, stride, n);
    else
        fill_integers(c, packed, stride, n);
    if (c->n_needs)
        drop_unneeded(c, packed, stride, n);
    return 0;
}

int ks_fill_rows(struct ks_fill *c, const uint8_t *packed, size_t stride, size_t at, size_t n,
                 struct ks_err *err)
{
    int rc;

    move(c, (ptrdiff_t)at);
    rc = fill(c, packed + at * stride, stride, n, err);
    move(c, -(ptrdiff_t)at);
    return rc;
}
