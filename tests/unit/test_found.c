/* SPDX-License-Identifier: MIT */
/* test_found.c - what is recorded of programs that time kernels themselves; which rows count */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "record/found.h"
#include "record/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ks_found_texts some = { "Kernel<256, 128, 32>", "ckprofiler",
                                            "program=ckprofiler name=...", "split_k=4\ntile=8\n" };

static void fill(struct ks_record *r)
{
    ks_record_init(r);
    r->cell = (struct ks_cell){ 1, 2, 3 };
    r->run_instance = 77;
    r->outcome = KS_O_OK;
    r->sample_ns[0] = 1250;
    r->n_samples = 1;
    r->split_k_used = 8;
    r->printed_flops_per_s = 1e12;
    r->worker = (struct ks_id128){ 5, 6 };
    snprintf(r->protocol, sizeof r->protocol, "ckprofiler repeats=50");
}

static void row_there_and_back(void **state)
{
    struct ks_record *r = malloc(sizeof *r), *back = malloc(sizeof *back);
    struct ks_found_texts t;
    struct ks_buf body, texts;

    (void)state;
    ks_buf_init(&body);
    ks_buf_init(&texts);
    fill(r);
    ks_found_encode(r, &some, &body);
    assert_int_equal(ks_found_decode(body.data, body.len, back, &t, &texts, NULL), 0);
    assert_int_equal(back->run_instance, 77);
    assert_int_equal(back->split_k_used, 8);
    assert_true(back->printed_flops_per_s > 9e11);
    assert_true(back->printed_bytes_per_s < 0);
    assert_string_equal(back->protocol, r->protocol);
    assert_string_equal(t.name, some.name);
    assert_string_equal(t.family, some.family);
    assert_string_equal(t.canonical, some.canonical);
    assert_string_equal(t.traits, some.traits);
    ks_buf_clear(&body); /* an ordinary record has no name */
    ks_record_encode(r, &body);
    assert_int_equal(ks_found_decode(body.data, body.len, back, &t, &texts, NULL), KS_EFORMAT);
    ks_buf_release(&body);
    ks_buf_release(&texts);
    free(r);
    free(back);
}

/* A name of any length, as long as a frame holds it. */
static void long_name(void **state)
{
    const size_t n = 200000;
    struct ks_record *r = malloc(sizeof *r), *back = malloc(sizeof *back);
    struct ks_found_texts t = some;
    struct ks_buf body, texts;
    char *name = calloc(1, n + 1);

    (void)state;
    memset(name, 'x', n);
    t.name = name;
    ks_buf_init(&body);
    ks_buf_init(&texts);
    fill(r);
    ks_found_encode(r, &t, &body);
    assert_true(body.len < KS_FRAME_BODY_MAX);
    assert_int_equal(ks_found_decode(body.data, body.len, back, &t, &texts, NULL), 0);
    assert_true(strlen(t.name) > 100000 && t.name[0] == 'x');
    assert_string_equal(t.family, some.family);
    ks_buf_release(&body);
    ks_buf_release(&texts);
    free(name);
    free(r);
    free(back);
}

static void which_rows_count(void **state)
{
    static const struct {
        struct ks_found_key row, done;
        bool has_done, counts;
    } rows[] = {
        { { 5, 1 }, { 5, 1 }, true, true },
        { { 5, 1 }, { 5, 1 }, false, false }, /* interrupted: no end frame */
        { { 5, 1 }, { 6, 1 }, true, false },  /* another process did it again */
        { { 5, 1 }, { 5, 2 }, true, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(ks_found_counts(&rows[i].row, rows[i].has_done ? &rows[i].done : NULL),
                         rows[i].counts);
}

static void other_frames(void **state)
{
    struct ks_program_run run = { .cell = { 1, 2, 3 },
                                  .attempt = 2,
                                  .worker = { 8, 9 },
                                  .n_told = -1,
                                  .n_rows = 4,
                                  .outcome = KS_O_OK,
                                  .exit_status = -11 };
    struct ks_program_run run_back;
    struct ks_program_piece piece = { .file = "01-02-1-0a.out.gz", .offset = 9, .is_last = 1 };
    struct ks_program_piece piece_back;
    struct ks_buf body;
    const void *bytes;
    size_t n;

    (void)state;
    ks_buf_init(&body);
    ks_program_run_encode(&run, &body);
    assert_int_equal(ks_program_run_decode(body.data, body.len, &run_back, NULL), 0);
    assert_memory_equal(&run, &run_back, sizeof run);
    ks_buf_clear(&body);
    ks_program_piece_encode(&piece, "abc", 3, &body);
    assert_int_equal(ks_program_piece_decode(body.data, body.len, &piece_back, &bytes, &n, NULL),
                     0);
    assert_memory_equal(&piece, &piece_back, sizeof piece);
    assert_int_equal(n, 3);
    ks_buf_clear(&body); /* no way out of the directory */
    snprintf(piece.file, sizeof piece.file, "../job.json");
    ks_program_piece_encode(&piece, "abc", 3, &body);
    assert_int_equal(ks_program_piece_decode(body.data, body.len, &piece_back, &bytes, &n, NULL),
                     KS_EFORMAT);
    ks_buf_release(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_there_and_back),
        cmocka_unit_test(long_name),
        cmocka_unit_test(which_rows_count),
        cmocka_unit_test(other_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
