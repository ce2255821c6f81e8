/* SPDX-License-Identifier: MIT */
/* worker_fixture.c - compiled kernels, two problems and requests, for tests of ksweep-worker */
#include "tests/unit/worker_fixture.h"

#include "base/file.h"
#include "tests/unit/op_cases.h"
#include "tests/unit/so.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const struct ks_measure quick = { .warmup_ms = 0,
                                  .min_samples = 3,
                                  .max_samples = 6,
                                  .max_ms = 50,
                                  .target_rse = 0.01,
                                  .cache = KS_CACHE_WARM,
                                  .verify_exact = 1,
                                  .verify_elementwise = 1,
                                  .kernel_timeout_ms = 5000 };

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct ks_buf file = { 0 };
    struct ks_sha256 h;
    struct ks_err err = { 0 };

    assert_non_null(f);
    temp_dir_make(f->dir, sizeof(f->dir));
    so_build(f->dir, "kernels", "#include \"tests/unit/worker_kernels.c\"\n", f->so, sizeof(f->so));
    assert_int_equal(ks_file_read(f->so, &file, &err), 0);
    ks_sha256_init(&h);
    ks_sha256_add(&h, file.data, file.len);
    ks_sha256_end(&h, f->digest);
    ks_buf_release(&file);
    assert_int_equal(op_case("n=2 g=2 c_total=10 k_total=6", &f->problem, &err), 0);
    assert_int_equal(op_case("n=1 g=1 c_total=3 k_total=5", &f->other, &err), 0);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    temp_dir_remove(f->dir);
    free(f);
    return 0;
}

struct ks_req_setup host_setup(const struct ks_measure *m)
{
    return (struct ks_req_setup){ .backend = "host", .device_id = 0xd1, .rank = 3, .measure = *m };
}

void start_host(struct child *c, const struct ks_measure *m, int fd_reference)
{
    struct ks_req_setup s = host_setup(m);
    struct ks_ready ready;

    child_start(c, fd_reference);
    child_setup(c, &s, &ready);
    assert_true(ready.clock_ns > 0 && ready.canary_ns > 0 && ready.cpu >= 0);
    assert_true(ready.device[0] != '\0');
}

struct declared { /* by an instance of itself */
    enum ks_numerics numerics;
    uint32_t threads;
    uint32_t n_visit, is_again;
};

static void send(struct child *c, const struct fixture *f, const struct ks_problem *p,
                 const char *entry, uint32_t i_cell, struct declared declared)
{
    struct ks_req_cell req = { .cell = { p->id, 1000 + i_cell, 42 },
                               .i_cell = i_cell,
                               .attempt = 2,
                               .round = 1,
                               .role = KS_ROLE_ANCHOR,
                               .position = 10 + i_cell,
                               .numerics = declared.numerics,
                               .threads = declared.threads,
                               .n_visit = declared.n_visit,
                               .is_again = declared.is_again,
                               .lease_id = 7,
                               .block_id = 8,
                               .build_id = { 1, 2 },
                               .code_id = { 3, 4 } };
    struct ks_buf body = { 0 };

    snprintf(req.artefact, sizeof(req.artefact), "%s", f->so);
    snprintf(req.entry, sizeof(req.entry), "%s", entry);
    memcpy(req.digest, f->digest, sizeof(req.digest));
    ks_req_cell_encode(&req, &body);
    child_send(c, KS_F_REQ_CELL, &body);
    ks_buf_release(&body);
}

void send_cell(struct child *c, const struct fixture *f, const struct ks_problem *p,
               const char *entry, uint32_t i_cell)
{
    send_cell_of(c, f, p, entry, i_cell, KS_NUMERICS_FP32);
}

void send_cell_of(struct child *c, const struct fixture *f, const struct ks_problem *p,
                  const char *entry, uint32_t i_cell, enum ks_numerics numerics)
{
    send(c, f, p, entry, i_cell, (struct declared){ .numerics = numerics });
}

void send_visit(struct child *c, const struct fixture *f, const struct ks_problem *p,
                const char *entry, uint32_t i_cell, bool is_again)
{
    send(c, f, p, entry, i_cell, (struct declared){ .n_visit = 2, .is_again = is_again });
}

void send_threaded_cell(struct child *c, const struct fixture *f, const struct ks_problem *p,
                        const char *entry, uint32_t i_cell, uint32_t threads)
{
    send(c, f, p, entry, i_cell,
         (struct declared){ .numerics = KS_NUMERICS_FP32, .threads = threads });
}

static bool has_sample(const struct ks_record *r, double ns)
{
    for (uint32_t i = 0; i < r->n_samples; i++)
        if (r->sample_ns[i] == ns)
            return true;
    return false;
}

void check_good(const struct ks_record *r, const struct ks_measure *m)
{
    if (r->outcome != KS_O_OK)
        print_error("%s: %s\n", ks_outcome_text(r->outcome), r->reason);
    assert_int_equal(r->outcome, KS_O_OK);
    assert_string_equal(r->reason, "");
    assert_int_equal(r->phase, 0);
    assert_true(r->n_samples >= m->min_samples && r->n_samples <= m->max_samples);
    assert_true(r->calls_per_sample >= 1 && r->clock_resolution_ns > 0);
    assert_true(r->stop_reason == KS_STOP_MAX_SAMPLES || r->stop_reason == KS_STOP_MAX_TIME ||
                r->stop_reason == KS_STOP_TARGET);
    assert_true(has_sample(r, r->verified_sample_ns));
    assert_true(r->n_checked_launches >= 5 && r->check_seed != 0 && r->verified_over_timed > 0);
    assert_true(r->exact_check == 1 && r->tolerance_check == 1);
    assert_true(r->max_error >= 0 && r->max_error <= 1.0);
    assert_true(r->n_wrong == 0 && r->n_mismatches == 0 && r->n_box == 0);
    assert_int_equal(r->n_elements, 2 * 5 * 6 * 6);
    assert_int_equal(r->bitwise_reproducible, 1);
    assert_true(r->span_ns > 0 && r->cpu_ns > 0 && r->canary_ratio > 0);
    assert_int_equal(r->n_denied, 0);
    assert_true(r->wall_ns >= r->load_ns + r->exact_check_ns + r->warmup_ns + r->timing_ns +
                                  r->tolerance_check_ns);
}
