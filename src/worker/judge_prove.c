/* SPDX-License-Identifier: MIT */
/* judge_prove.c - before a judge is believed: its references are proved (V3), and it must find what
 * is planted and nothing else. */
#include "op/sample.h"
#include "worker/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROUND_CHUNK 4096u /* elements */
#define N_PLACES    3u

static void *output_of(const struct ks_workset *set)
{
    return ks_zone_device(&set->zone[KS_Z_C]);
}

/* ---- digests ---- */

int ks_judge_digest_inputs(struct ks_judge *j, const struct ks_workset *set, uint64_t *digests_out,
                           struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < KS_Z_INPUTS; i++) {
        const struct ks_zone *z = &set->zone[i];

        digests_out[i] = 0;
        if (z->mem != NULL)
            rc = ks_judge_digest(j, z->mem, z->bytes + 2 * KS_GUARD_BYTES, &digests_out[i], err);
    }
    return rc;
}

int ks_judge_digest_references(struct ks_judge *j, struct ks_reference_digests *out,
                               struct ks_err *err)
{
    struct ks_reference_digests d = { 0 };
    int rc = 0;

    if ((j->parts & KS_PART_EXACT) != 0)
        rc = ks_judge_digest(j, j->exact, j->n * j->element_bytes, &d.exact, err);
    if (rc == 0 && (j->parts & KS_PART_REAL) != 0)
        rc = ks_judge_digest(j, j->r, j->n * sizeof(double), &d.real, err);
    if (rc == 0 && (j->parts & KS_PART_REAL) != 0)
        rc = ks_judge_digest(j, j->abs, j->n * sizeof(double), &d.abs, err);
    if (rc == 0)
        *out = d;
    return rc;
}

/* Digests are right, and so is what was uploaded. */
static int check_upload(struct ks_judge *j, const struct ks_workset *set, struct ks_err *err)
{
    int rc = ks_judge_digest_inputs(j, set, j->inputs, err);

    for (size_t i = 0; rc == 0 && i < KS_Z_INPUTS; i++) {
        const struct ks_zone *z = &set->zone[i];

        if (z->mem != NULL &&
            j->inputs[i] != ks_judge_digest_host(z->view, z->bytes + 2 * KS_GUARD_BYTES))
            rc = ks_fail(
                err, KS_EDEVICE,
                "verification kernels: input %c on the device differs from what was uploaded",
                i % 2 == 0 ? 'a' : 'b');
    }
    return rc;
}

/* ---- proofs ---- */

/* What the judge must have rounded r to, and masked. */
static int digest_rounded(struct ks_judge *j, const double *r, uint32_t dtype, uint64_t *digest_out,
                          struct ks_err *err)
{
    uint32_t chunk[ROUND_CHUNK];
    size_t element = ks_dtype_bytes(dtype);
    struct ks_mask mask;
    uint64_t sum = 0;
    int rc = ks_vault_take(j->vault, &mask, err);

    for (size_t from = 0; rc == 0 && from < j->n; from += ROUND_CHUNK) {
        size_t m = j->n - from < ROUND_CHUNK ? j->n - from : ROUND_CHUNK;
        struct ks_masked d = ks_judge_masked(j, j->exact, from * element, chunk, &mask);

        ks_elements_round(r + from, (int64_t)m, dtype, chunk);
        ks_mask_apply(&mask, d.word, chunk, chunk, m * element);
        sum += ks_judge_digest_part(chunk, m * element, from * element);
    }
    ks_vault_forget(&mask);
    if (rc == 0)
        *digest_out = sum;
    return rc;
}

/* All of r is looked at by the host, then forgotten; *digest_out: of its rounded elements. */
static int prove_exact(struct ks_judge *j, const struct ks_workset *set, uint64_t *digest_out,
                       struct ks_err *err)
{
    const struct ks_problem *p = &set->problem;
    size_t bytes = j->n * sizeof(double);
    double *r = malloc(bytes);
    int rc;

    if (r == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu bytes to prove a reference", bytes);
    rc = ks_judge_fetch(j, j->r, 0, j->n, r, err);
    if (rc == 0)
        rc = set->op->prove_exact(p, ks_zone_host(&set->zone[KS_Z_EXACT_A]),
                                  ks_zone_host(&set->zone[KS_Z_EXACT_B]), r, p->id, err);
    if (rc == 0)
        rc = digest_rounded(j, r, p->dtype, digest_out, err);
    explicit_bzero(r, bytes);
    free(r);
    return rc;
}

/* The elements that the proof will look at. */
static int download_sample(struct ks_judge *j, const struct ks_problem *p, double *r, double *abs,
                           struct ks_err *err)
{
    uint64_t seed = p->id;
    int rc = 0;

    for (int i = 0; rc == 0 && i < KS_REFERENCE_SAMPLES; i++) {
        int64_t at = ks_sample_draw(&seed, j->n);

        rc = ks_judge_fetch(j, j->r, (size_t)at, 1, &r[at], err);
        if (rc == 0)
            rc = ks_judge_fetch(j, j->abs, (size_t)at, 1, &abs[at], err);
    }
    return rc;
}

static int prove_real(struct ks_judge *j, const struct ks_workset *set, struct ks_err *err)
{
    const struct ks_problem *p = &set->problem;
    size_t bytes = 2 * j->n * sizeof(double);
    /* Address space only: but for the sample no page of it is touched. */
    double *r = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int rc;

    if (r == MAP_FAILED)
        return ks_fail_errno(err, "allocating %zu bytes to prove a reference", bytes);
    rc = download_sample(j, p, r, r + j->n, err);
    if (rc == 0)
        rc = set->op->prove_real(p, ks_zone_host(&set->zone[KS_Z_REAL_A]),
                                 ks_zone_host(&set->zone[KS_Z_REAL_B]), r, r + j->n, p->id,
                                 KS_REFERENCE_SAMPLES, err);
    munmap(r, bytes);
    return rc;
}

/* ---- planted elements ---- */

/* An element of the output that one task is to find, and where. */
struct plant {
    struct ks_judge *j;
    const struct ks_workset *set;
    const struct ks_tolerance *t;
    size_t at;
    uint8_t was[4], is[4]; /* the element */
    struct ks_judged want; /* max_error NaN: any */
};

/* The slightest difference: one bit. */
static int change_bit(struct plant *p, struct ks_err *err)
{
    (void)err;
    p->is[0] ^= 1u;
    return 0;
}

static int change_to_nan(struct plant *p, struct ks_err *err)
{
    (void)err;
    ks_element_set(p->is, 0, p->set->problem.dtype, (double)NAN);
    return 0;
}

/* Hardly more than the tolerance away. */
static int change_beyond(struct plant *p, struct ks_err *err)
{
    struct ks_judge *j = p->j;
    uint32_t dtype = p->set->problem.dtype;
    double r = 0.0, abs = 0.0, tolerance, error;
    int rc = ks_judge_fetch(j, j->r, p->at, 1, &r, err);

    if (rc == 0)
        rc = ks_judge_fetch(j, j->abs, p->at, 1, &abs, err);
    if (rc < 0)
        return rc;
    tolerance = ks_tolerance_at(p->t, r, abs);
    for (double by = tolerance; fabs(ks_element_get(p->is, 0, dtype) - r) <= tolerance; by *= 1.05)
        ks_element_set(p->is, 0, dtype, r + by);
    error = fabs(ks_element_get(p->is, 0, dtype) - r) / tolerance;
    p->want.max_error = isfinite(error) ? fmax(p->want.max_error, error) : (double)NAN;
    return 0;
}

typedef int (*look_fn)(struct plant *p, struct ks_judged *out, struct ks_err *err);

static int look_exact(struct plant *p, struct ks_judged *out, struct ks_err *err)
{
    return ks_judge_exact(p->j, output_of(p->set), out, err);
}

static int look_written(struct plant *p, struct ks_judged *out, struct ks_err *err)
{
    return ks_judge_written(p->j, output_of(p->set), out, err);
}

static int look_real(struct plant *p, struct ks_judged *out, struct ks_err *err)
{
    return ks_judge_real(p->j, output_of(p->set), p->t, out, err);
}

static const struct trial {
    const char *name;
    look_fn look;
    int (*change)(struct plant *p, struct ks_err *err);
    uint32_t part;
    bool has_numbers; /* it says more than what is wrong */
} trials[] = {
    { "exact", look_exact, change_bit, KS_PART_EXACT, false },
    { "written", look_written, change_to_nan, KS_PART_EXACT, false },
    { "real", look_real, change_beyond, KS_PART_REAL, true },
};

static bool is_found(const struct trial *t, const struct ks_judged *got,
                     const struct ks_judged *want)
{
    bool is_same_error = got->max_error == want->max_error || isnan(want->max_error);

    return got->n_wrong == want->n_wrong && got->first == want->first &&
           (!t->has_numbers || (got->n_zero == want->n_zero && is_same_error));
}

static int not_found(const struct trial *t, const char *what, const struct ks_judged *got,
                     const struct ks_judged *want, struct ks_err *err)
{
    return ks_fail(err, KS_EDEVICE,
                   "verification kernel '%s', test '%s': it found %llu wrong from %lld, %llu "
                   "zeros, error %g; expected %llu from %lld, %llu zeros, error %g",
                   t->name, what, (unsigned long long)got->n_wrong, (long long)got->first,
                   (unsigned long long)got->n_zero, got->max_error,
                   (unsigned long long)want->n_wrong, (long long)want->first,
                   (unsigned long long)want->n_zero, want->max_error);
}

static int put_element(const struct plant *p, const uint8_t *element, struct ks_err *err)
{
    size_t bytes = p->j->element_bytes;

    return p->j->dev->ops->upload(p->j->dev, (uint8_t *)output_of(p->set) + p->at * bytes, element,
                                  bytes, err);
}

/* One wrong element is found where it is; then it is put right. */
static int try_plant(struct plant *p, const struct trial *t, const struct ks_judged *clean,
                     struct ks_err *err)
{
    size_t bytes = p->j->element_bytes;
    uint32_t dtype = p->set->problem.dtype;
    struct ks_judged got;
    int rc = p->j->dev->ops->download(p->j->dev, p->was,
                                      (uint8_t *)output_of(p->set) + p->at * bytes, bytes, err);

    memcpy(p->is, p->was, sizeof(p->is));
    p->want = (struct ks_judged){ 1, p->at, clean->n_zero, 0, clean->max_error };
    if (rc == 0)
        rc = t->change(p, err);
    p->want.n_zero -= ks_element_get(p->was, 0, dtype) == 0.0 ? 1 : 0;
    p->want.n_zero += ks_element_get(p->is, 0, dtype) == 0.0 ? 1 : 0;
    if (rc == 0)
        rc = put_element(p, p->is, err);
    if (rc == 0)
        rc = t->look(p, &got, err);
    if (rc == 0 && !is_found(t, &got, &p->want))
        rc = not_found(t, "one wrong element", &got, &p->want, err);
    return rc == 0 ? put_element(p, p->was, err) : rc;
}

/* Of NaN all elements are wrong and none is zero or has an error. */
static int try_poison(struct plant *p, const struct trial *t, struct ks_err *err)
{
    struct ks_zone c = p->set->zone[KS_Z_C];
    struct ks_judged got, want = { .n_wrong = p->j->n };
    int rc = ks_zone_fill(p->j->dev, &c, KS_PATTERN_NAN, err);

    if (rc == 0)
        rc = t->look(p, &got, err);
    if (rc == 0 && !is_found(t, &got, &want))
        rc = not_found(t, "only NaN", &got, &want, err);
    return rc;
}

/* Zeros are counted; how many of them are wrong is not known here. */
static int try_zeros(struct plant *p, const struct trial *t, struct ks_err *err)
{
    struct ks_zone c = p->set->zone[KS_Z_C];
    struct ks_judged got, want;
    int rc = t->has_numbers ? ks_zone_fill(p->j->dev, &c, 0, err) : 1;

    if (rc == 0)
        rc = t->look(p, &got, err);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    want = got;
    want.n_zero = p->j->n;
    return is_found(t, &got, &want) ? 0 : not_found(t, "only zeros", &got, &want, err);
}

/* The output holds what r rounds to. */
static int try_task(struct plant *p, const struct trial *t, struct ks_err *err)
{
    const size_t n = p->j->n, places[N_PLACES] = { 0, p->set->problem.id % n, n - 1 };
    struct ks_judged clean, want;
    int rc = ks_judge_round(p->j, output_of(p->set), err);

    if (rc == 0)
        rc = t->look(p, &clean, err);
    if (rc < 0)
        return rc;
    want = clean;
    want.n_wrong = 0;
    want.first = KS_JUDGE_NONE;
    if (!is_found(t, &clean, &want) || clean.max_error > 1.0)
        return not_found(t, "no wrong element", &clean, &want, err);
    for (size_t i = 0; rc == 0 && i < N_PLACES; i++) {
        p->at = places[i];
        rc = try_plant(p, t, &clean, err);
    }
    if (rc == 0)
        rc = try_poison(p, t, err);
    return rc == 0 ? try_zeros(p, t, err) : rc;
}

/* r holds the reference of one part. */
static int try_tasks(struct ks_judge *j, const struct ks_workset *set, uint32_t part,
                     struct ks_err *err)
{
    const struct ks_problem *problem = &set->problem;
    const struct ks_tolerance t =
        ks_tolerance_of(problem->dtype, set->op->reduction(problem), ks_u_acc(KS_NUMERICS_FP32));
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(trials) / sizeof(trials[0]); i++) {
        struct plant p = { .j = j, .set = set, .t = &t };

        if (trials[i].part == part)
            rc = try_task(&p, &trials[i], err);
    }
    return rc;
}

/* ---- signs ---- */

#define SIGNS_SEED 0x7369676e73ull /* of the set that is tried; any will do */
#define FLIP_FILL  0x3f803f80u     /* numbers of every type */

static int flip_differs(const char *what, struct ks_err *err)
{
    return ks_fail(err, KS_EDEVICE,
                   "verification kernel 'flip': the signs of the %s differ from the host's", what);
}

/* The output serves as scratch, and so does the host's copy of it. */
static int try_flip_output(struct ks_judge *j, struct ks_workset *set, struct ks_err *err)
{
    struct ks_zone *c = &set->zone[KS_Z_C];
    uint64_t got = 0;
    int rc = ks_zone_fill(j->dev, c, FLIP_FILL, err);

    if (rc == 0)
        rc = ks_judge_flip(j, &set->signs, 'c', output_of(set), err);
    if (rc == 0)
        rc = ks_judge_digest(j, output_of(set), c->bytes, &got, err);
    if (rc < 0)
        return rc;
    ks_zone_fill_view(c, FLIP_FILL);
    ks_signs_flip(&set->signs, 'c', set->problem.dtype, ks_zone_host(c));
    if (got != ks_judge_digest_host(ks_zone_host(c), c->bytes))
        rc = flip_differs("output", err);
    return rc;
}

/* An input with the signs changed and back, as the host does it with its copy. */
static int try_flip_input(struct ks_judge *j, struct ks_workset *set, enum ks_zone_name i,
                          struct ks_err *err)
{
    const struct ks_zone *z = &set->zone[i];
    const char operand = i == KS_Z_REAL_A ? 'a' : 'b';
    const size_t whole = z->bytes + 2 * KS_GUARD_BYTES;
    uint64_t got = 0, want;
    int rc = ks_judge_flip(j, &set->signs, operand, ks_zone_device(z), err);

    if (rc == 0)
        rc = ks_judge_digest(j, z->mem, whole, &got, err);
    ks_signs_flip(&set->signs, operand, set->problem.dtype, ks_zone_host(z));
    want = ks_judge_digest_host(z->view, whole);
    ks_signs_flip(&set->signs, operand, set->problem.dtype, ks_zone_host(z));
    if (rc == 0 && want != got)
        rc = flip_differs(operand == 'a' ? "input a" : "input b", err);
    return rc == 0 ? ks_judge_flip(j, &set->signs, operand, ks_zone_device(z), err) : rc;
}

static int try_flip(struct ks_judge *j, struct ks_workset *set, struct ks_err *err)
{
    int rc;

    ks_signs_between(&set->signs, 0, SIGNS_SEED);
    rc = try_flip_input(j, set, KS_Z_REAL_A, err);
    if (rc == 0)
        rc = try_flip_input(j, set, KS_Z_REAL_B, err);
    return rc == 0 ? try_flip_output(j, set, err) : rc;
}

/* ---- taking up ---- */

static int make_exact(struct ks_judge *j, const struct ks_workset *set, bool is_known,
                      struct ks_err *err)
{
    uint64_t want = 0, got = 0;
    int rc = ks_judge_reference(j, ks_zone_device(&set->zone[KS_Z_EXACT_A]),
                                ks_zone_device(&set->zone[KS_Z_EXACT_B]), err);

    if (rc == 0 && !is_known)
        rc = prove_exact(j, set, &want, err);
    if (rc == 0)
        rc = ks_judge_round(j, j->exact, err);
    if (rc == 0 && !is_known)
        rc = ks_judge_digest(j, j->exact, j->n * j->element_bytes, &got, err);
    if (rc == 0 && got != want)
        rc =
            ks_fail(err, KS_EDEVICE,
                    "the verification kernels round the exact reference differently from the host");
    return rc == 0 ? try_tasks(j, set, KS_PART_EXACT, err) : rc;
}

static int make_real(struct ks_judge *j, const struct ks_workset *set, bool is_known,
                     struct ks_err *err)
{
    int rc = ks_judge_reference(j, ks_zone_device(&set->zone[KS_Z_REAL_A]),
                                ks_zone_device(&set->zone[KS_Z_REAL_B]), err);

    if (rc == 0 && !is_known)
        rc = prove_real(j, set, err);
    return rc == 0 ? try_tasks(j, set, KS_PART_REAL, err) : rc;
}

int ks_judge_take_up(struct ks_judge *j, struct ks_workset *set,
                     const struct ks_reference_digests *known, struct ks_err *err)
{
    struct ks_reference_digests d = { 0 };
    int rc = check_upload(j, set, err);

    if (rc == 0 && (j->parts & KS_PART_REAL) != 0)
        rc = try_flip(j, set, err);
    if (rc == 0 && (j->parts & KS_PART_EXACT) != 0)
        rc = make_exact(j, set, known != NULL, err);
    if (rc == 0 && (j->parts & KS_PART_REAL) != 0)
        rc = make_real(j, set, known != NULL, err);
    if (rc == 0)
        rc = ks_judge_digest_references(j, &d, err);
    if (rc == 0 && known != NULL && memcmp(known, &d, sizeof(d)) != 0)
        rc = ks_fail(err, KS_EDEVICE,
                     "the device computed references that differ from the proved ones: their "
                     "digests differ");
    if (rc < 0)
        return rc;
    j->references = d;
    j->is_proved = true;
    return 0;
}
