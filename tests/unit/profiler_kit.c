/* SPDX-License-Identifier: MIT */
/* profiler_kit.c - reads outputs of programs through an adapter, as text to compare */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/text.h"
#include "profiler_kit.h"
#include "record/outcome.h"

#include <inttypes.h>
#include <string.h>

static struct ks_profiler_setup *setup_of(const char *adapter, const char *options)
{
    const struct ks_profiler *a = NULL;
    struct ks_profiler_setup *s = NULL;
    struct ks_err err = { 0 };

    if (ks_profiler_find(adapter, &a, &err) < 0 ||
        ks_profiler_setup_parse(a, options, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void put_told(struct ks_buf *b, const char *what, int64_t v)
{
    if (v != KS_PROFILER_UNTOLD)
        ks_buf_printf(b, "%s%" PRId64, what, v);
}

static int put_row(void *context, const struct ks_profiler_row *row, struct ks_err *err)
{
    struct ks_buf *b = context;

    (void)err;
    assert_int_equal(row->n_instance, strlen(row->instance));
    ks_buf_printf(b, "%s \"%s\" #%" PRIu32, row->outcome ? ks_outcome_text(row->outcome) : "listed",
                  row->instance, row->ordinal);
    if (row->time_ns > 0)
        ks_buf_printf(b, " t=%.12g", row->time_ns);
    if (row->flops_per_s > 0)
        ks_buf_printf(b, " f=%.12g", row->flops_per_s);
    if (row->bytes_per_s > 0)
        ks_buf_printf(b, " b=%.12g", row->bytes_per_s);
    put_told(b, " k=", row->split_k_requested);
    put_told(b, "/", row->split_k_used);
    put_told(b, " i=", row->index);
    if (row->is_verified)
        ks_buf_printf(b, " v");
    if (row->reason[0])
        ks_buf_printf(b, " ?%s", row->reason);
    for (size_t i = 0; i < row->n_traits; i++)
        ks_buf_printf(b, " %s=%s", row->traits[i].key, row->traits[i].value);
    if (row->rest[0])
        ks_buf_printf(b, " +%s", row->rest);
    ks_buf_u8(b, '\n');
    return 0;
}

static void put_summary(const struct ks_profiler_reader *r, struct ks_buf *b)
{
    const struct ks_profiler_summary *s = ks_profiler_reader_summary(r);
    const char *running = ks_profiler_reader_running(r);

    assert_int_equal(s->n_rows,
                     s->n_ok + s->n_unsupported + s->n_wrong + s->n_untrusted + s->n_listed);
    ks_buf_printf(
        b,
        "= %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "%s%s",
        s->n_rows, s->n_ok, s->n_unsupported, s->n_wrong, s->n_untrusted, s->n_listed,
        s->n_other_lines, s->has_end ? " end" : "", s->is_unimplemented ? " unimplemented" : "");
    if (s->n_found >= 0)
        ks_buf_printf(b, " found %" PRId64, s->n_found);
    if (s->n_valid >= 0)
        ks_buf_printf(b, " valid %" PRId64, s->n_valid);
    if (s->best[0])
        ks_buf_printf(b, " best %s %.12g", s->best, s->best_time_ns);
    if (running)
        ks_buf_printf(b, " running %s", running);
    if (running && ks_profiler_reader_running_ordinal(r))
        ks_buf_printf(b, " #%" PRIu32, ks_profiler_reader_running_ordinal(r));
    if (s->reason[0])
        ks_buf_printf(b, " says %s", s->reason);
}

void profiler_read(const char *adapter, const char *options, const struct ks_problem *p,
                   const struct ks_profiler_choice *choice, const void *bytes, size_t n,
                   size_t chunk, struct ks_buf *out)
{
    struct ks_profiler_setup *s = setup_of(adapter, options);
    struct ks_profiler_reader *r = NULL;
    const char *at = bytes;
    struct ks_err err = { 0 };

    assert_int_equal(ks_profiler_reader_open(s, p, choice, put_row, out, &r, &err), 0);
    for (size_t some; n > 0; at += some, n -= some) {
        some = n < chunk ? n : chunk;
        if (ks_profiler_reader_feed(r, at, some, &err) < 0)
            fail_msg("%s", err.text);
    }
    assert_int_equal(ks_profiler_reader_end(r, &err), 0);
    put_summary(r, out);
    ks_profiler_reader_close(r);
    ks_profiler_setup_destroy(s);
}

void profiler_expect(const char *adapter, const char *options, const char *output, const char *want)
{
    static const size_t chunks[] = { SIZE_MAX, 1, 3, 64 };

    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        struct ks_buf got;

        ks_buf_init(&got);
        profiler_read(adapter, options, NULL, NULL, output, strlen(output), chunks[i], &got);
        if (strcmp(ks_buf_text(&got), want) != 0)
            fail_msg("output\n%s\ngives\n%s\nnot\n%s", output, ks_buf_text(&got), want);
        ks_buf_release(&got);
    }
}

struct ks_problem profiler_problem(const char *canonical)
{
    struct ks_problem p;
    struct ks_err err = { 0 };

    if (ks_problem_parse(canonical, &p, &err) < 0)
        fail_msg("%s: %s", canonical, err.text);
    return p;
}

void profiler_words(const char *adapter, const char *options, const struct ks_problem *p,
                    const char *program, const struct ks_profiler_choice *choice,
                    struct ks_buf *out)
{
    struct ks_profiler_setup *s = setup_of(adapter, options);
    struct ks_profiler_command c = { 0 };
    struct ks_err err = { 0 };
    int rc = ks_profiler_command(s, p, program, choice, &c, &err);

    if (rc == 0)
        ks_shell_words(out, (const char *const *)c.words);
    else
        ks_buf_printf(out, "! %s", err.text);
    assert_true(rc == 0 || rc == KS_EUNSUPPORTED);
    ks_profiler_command_release(&c);
    ks_profiler_setup_destroy(s);
}

void profiler_refuses(const char *adapter, const char *options, const char *want)
{
    const struct ks_profiler *a = NULL;
    struct ks_profiler_setup *s = NULL;
    struct ks_err err = { 0 };

    assert_int_equal(ks_profiler_find(adapter, &a, &err), 0);
    if (ks_profiler_setup_parse(a, options, &s, &err) == 0)
        fail_msg("%s: taken", options);
    if (!strstr(err.text, want))
        fail_msg("%s: '%s' is not in '%s'", options, want, err.text);
    assert_null(s);
}
