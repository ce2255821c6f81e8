/* SPDX-License-Identifier: MIT */
/* judge.c - one launch of the judge at a time, and what it answers. */
#include "worker/judge.h"

#include "op/clones.h"

#include <math.h>
#include <string.h>

/* Elements or bytes of a block, where there are enough of them. */
#define PART_SHARE 2048u
/* From so many on, sums of random data come near the largest fp16 number. */
#define FP16_PRODUCTS ((int64_t)1 << 26)
/* What parts hold before a launch: as a count more than there can be of anything. */
#define POISON 0xa5a5a5a5u

/* ---- digests by the host ---- */

/* ks_mix64() of base/hash.h, where the compiler can see it in a loop. */
static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

KS_CLONES static uint64_t digest_words(const uint8_t *bytes, size_t n_words, uint64_t first)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n_words; i++) {
        uint32_t w;

        memcpy(&w, bytes + i * sizeof(w), sizeof(w));
        sum += mix((first + i) << 32 | w);
    }
    return sum;
}

uint64_t ks_judge_digest_part(const void *bytes, size_t n, size_t before)
{
    const uint8_t *p = bytes;
    size_t n_words = n / sizeof(uint32_t), whole = n_words * sizeof(uint32_t);
    uint64_t first = before / sizeof(uint32_t), sum = digest_words(p, n_words, first);
    uint8_t last[sizeof(uint32_t)] = { 0 };

    if (whole == n)
        return sum;
    memcpy(last, p + whole, n - whole);
    return sum + digest_words(last, 1, first + n_words);
}

uint64_t ks_judge_digest_host(const void *bytes, size_t n)
{
    return ks_judge_digest_part(bytes, n, 0);
}

/* ---- launches ---- */

static const char *const task_names[KS_JUDGE_N_TASKS] = {
    [KS_JUDGE_REFERENCE] = "reference", [KS_JUDGE_ROUND] = "round",
    [KS_JUDGE_EXACT] = "exact",         [KS_JUDGE_REAL] = "real",
    [KS_JUDGE_WRITTEN] = "written",     [KS_JUDGE_DIGEST] = "digest",
    [KS_JUDGE_FLIP] = "flip",           [KS_JUDGE_CLOCK] = "clock"
};

static bool needs_key(uint32_t task)
{
    return task == KS_JUDGE_REFERENCE || task == KS_JUDGE_ROUND || task == KS_JUDGE_EXACT ||
           task == KS_JUDGE_REAL;
}

/* The key is in *call while the judge runs. */
static int launch_with_key(struct ks_judge *j, struct ks_judge_call *call,
                           const struct ks_timing *t, int *kernel_rc, struct ks_err *err)
{
    double ns = 0.0;
    struct ks_mask mask;
    int rc;

    if (!needs_key(call->task))
        return j->dev->ops->time_samples(j->dev, t, &ns, kernel_rc, err);
    rc = ks_vault_take(j->vault, &mask, err);
    if (rc < 0)
        return rc;
    memcpy(call->mask, mask.key, sizeof(call->mask));
    rc = j->dev->ops->time_samples(j->dev, t, &ns, kernel_rc, err);
    explicit_bzero(call->mask, sizeof(call->mask));
    ks_vault_forget(&mask);
    return rc;
}

static int launch(struct ks_judge *j, struct ks_judge_call *call, const void *a, const void *b,
                  void *c, struct ks_err *err)
{
    const struct ks_abi_buffers buf = {
        .a = a, .b = b, .c = c, .workspace = ks_zone_device(&j->answers)
    };
    const struct ks_timing t = { .entry = j->entry,
                                 .problem = &call->problem,
                                 .buf = &buf,
                                 .calls = 1,
                                 .n_samples = 1,
                                 .is_untimed = true };
    struct ks_err why = { 0 };
    int kernel_rc = 0, rc = launch_with_key(j, call, &t, &kernel_rc, &why);

    if (rc == 0)
        return 0;
    if (j->is_proved && ks_judge_is_refusal(rc)) /* no word on the kernel in hand */
        rc = KS_EDEVICE;
    return ks_fail(err, (enum ks_code)rc, "verification kernel '%s': %s", task_names[call->task],
                   why.text);
}

static uint32_t parts_for(uint64_t n)
{
    uint64_t parts = (n + PART_SHARE - 1) / PART_SHARE;

    if (parts == 0)
        return 1;
    return parts < KS_JUDGE_PARTS ? (uint32_t)parts : KS_JUDGE_PARTS;
}

/* A part that a block has written, and that can be true of n things. */
static bool is_possible(const struct ks_judge_part *p, uint64_t n)
{
    bool has_first = p->first < n, has_none = p->first == KS_JUDGE_NONE;

    if (p->n_wrong > n || p->n_zero > n)
        return false;
    if (p->n_wrong > 0) /* the host looks again; a bound that a kernel changed may be any number */
        return has_first;
    return has_none && isfinite(p->max_error) && p->max_error >= 0.0;
}

static bool is_untouched(const struct ks_judge_part *parts, size_t n)
{
    const uint8_t *p = (const uint8_t *)parts, poison = (uint8_t)(POISON & 0xffu);

    for (size_t i = 0; i < n * sizeof(*parts); i++)
        if (p[i] != poison)
            return false;
    return true;
}

static int add_up(const struct ks_judge_call *call, const struct ks_judge_part *parts,
                  struct ks_judged *out, struct ks_err *err)
{
    struct ks_judged sum = { .first = KS_JUDGE_NONE };
    const char *task = task_names[call->task];

    for (uint32_t i = 0; i < call->n_parts; i++) {
        const struct ks_judge_part *p = &parts[i];

        if (is_untouched(p, 1))
            return ks_fail(err, KS_EDEVICE,
                           "verification kernel '%s': block %u of %u wrote no result", task, i,
                           call->n_parts);
        if (!is_possible(p, call->n))
            return ks_fail(err, KS_EDEVICE,
                           "verification kernel '%s': block %u wrote an impossible result", task,
                           i);
        sum.n_wrong += p->n_wrong;
        sum.n_zero += p->n_zero;
        sum.digest += p->digest;
        sum.first = p->first < sum.first ? p->first : sum.first;
        sum.max_error = fmax(sum.max_error, p->max_error);
    }
    if (sum.n_wrong > call->n || sum.n_zero > call->n)
        return ks_fail(err, KS_EDEVICE,
                       "verification kernel '%s': it counted more elements than there are", task);
    *out = sum;
    return 0;
}

/* A task with an answer, in memory that held none before, whatever a kernel wrote there. */
static int ask(struct ks_judge *j, enum ks_judge_task task, const struct ks_abi_buffers *buf,
               struct ks_judge_call *call, struct ks_judged *out, struct ks_err *err)
{
    const struct ks_judge_part *parts = ks_zone_host(&j->answers);
    int64_t at = 0;
    size_t whole = j->answers.bytes + 2 * KS_GUARD_BYTES;
    int rc = j->dev->ops->fill(j->dev, j->answers.mem, POISON, whole, err);

    call->task = task;
    call->n_parts = parts_for(call->n);
    if (rc == 0)
        rc = launch(j, call, buf->a, buf->b, buf->c, err);
    if (rc == 0)
        rc = ks_zone_pull(j->dev, &j->answers, err);
    if (rc < 0)
        return rc;
    if (!ks_zone_is_intact(&j->answers, &at) ||
        !is_untouched(parts + call->n_parts, KS_JUDGE_PARTS - call->n_parts))
        return ks_fail(err, KS_EDEVICE,
                       "verification kernel '%s': it wrote results beyond its %u blocks",
                       task_names[task], call->n_parts);
    return add_up(call, parts, out, err);
}

int ks_judge_exact(struct ks_judge *j, const void *output, struct ks_judged *out,
                   struct ks_err *err)
{
    struct ks_judge_call call = j->call;
    const struct ks_abi_buffers buf = { .a = output, .b = j->exact };

    return ask(j, KS_JUDGE_EXACT, &buf, &call, out, err);
}

int ks_judge_written(struct ks_judge *j, const void *output, struct ks_judged *out,
                     struct ks_err *err)
{
    struct ks_judge_call call = j->call;
    const struct ks_abi_buffers buf = { .a = output };

    return ask(j, KS_JUDGE_WRITTEN, &buf, &call, out, err);
}

int ks_judge_real(struct ks_judge *j, const void *output, const struct ks_tolerance *t,
                  struct ks_judged *out, struct ks_err *err)
{
    struct ks_judge_call call = j->call;
    const struct ks_abi_buffers buf = { .a = output };

    call.u_out = t->u_out;
    call.scale_a = t->scale_a;
    call.tiny = t->tiny;
    return ask(j, KS_JUDGE_REAL, &buf, &call, out, err);
}

int ks_judge_digest(struct ks_judge *j, const void *bytes, size_t n, uint64_t *digest_out,
                    struct ks_err *err)
{
    struct ks_judge_call call = j->call;
    const struct ks_abi_buffers buf = { .a = bytes };
    struct ks_judged sum = { 0 };
    int rc;

    call.n = n;
    rc = ask(j, KS_JUDGE_DIGEST, &buf, &call, &sum, err);
    if (rc == 0 && sum.n_wrong + sum.n_zero > 0)
        rc = ks_fail(err, KS_EDEVICE, "verification kernel 'digest': it counted elements");
    if (rc == 0)
        *digest_out = sum.digest;
    return rc;
}

int ks_judge_reference(struct ks_judge *j, const void *a, const void *b, struct ks_err *err)
{
    size_t bytes = j->n * sizeof(double);
    struct ks_judge_call call = j->call;
    int rc = j->dev->ops->fill(j->dev, j->r, KS_PATTERN_NAN, bytes, err);

    call.task = KS_JUDGE_REFERENCE;
    if (rc == 0)
        rc = j->dev->ops->fill(j->dev, j->abs, KS_PATTERN_NAN, bytes, err);
    return rc == 0 ? launch(j, &call, a, b, NULL, err) : rc;
}

int ks_judge_round(struct ks_judge *j, void *elements, struct ks_err *err)
{
    struct ks_judge_call call = j->call;
    size_t whole = j->n * j->element_bytes / sizeof(uint32_t) * sizeof(uint32_t);
    int rc = whole > 0 ? j->dev->ops->fill(j->dev, elements, KS_PATTERN_NAN, whole, err) : 0;

    call.task = KS_JUDGE_ROUND;
    call.is_c_masked = elements == j->exact;
    return rc == 0 ? launch(j, &call, NULL, NULL, elements, err) : rc;
}

/* ---- references on the host ---- */

struct ks_masked ks_judge_masked(const struct ks_judge *j, const void *array, size_t byte,
                                 const void *copy, const struct ks_mask *mask)
{
    uint64_t base = array == j->r     ? KS_JUDGE_MASK_R
                    : array == j->abs ? KS_JUDGE_MASK_ABS
                                      : KS_JUDGE_MASK_EXACT;

    return (struct ks_masked){ .at = copy, .word = base + byte / sizeof(uint64_t), .mask = mask };
}

int ks_judge_fetch(struct ks_judge *j, const double *array, size_t first, size_t n, double *to,
                   struct ks_err *err)
{
    struct ks_masked d;
    struct ks_mask mask;
    int rc = j->dev->ops->download(j->dev, to, array + first, n * sizeof(*to), err);

    if (rc == 0)
        rc = ks_vault_take(j->vault, &mask, err);
    if (rc < 0)
        return rc;
    d = ks_judge_masked(j, array, first * sizeof(*to), to, &mask);
    ks_mask_apply(&mask, d.word, to, to, n * sizeof(*to));
    ks_vault_forget(&mask);
    return 0;
}

/* ---- signs ---- */

static size_t n_signs(const struct ks_signs *s)
{
    size_t n = 0;

    for (int c = 0; c < KS_SIGN_CLASSES; c++)
        n += (size_t)s->n[c];
    return n;
}

_Static_assert(KS_JUDGE_AXES == KS_SIGN_AXES && KS_JUDGE_CLASSES == KS_SIGN_CLASSES,
               "kernels/judge.h and op/signs.h mean the same by signs");

int ks_judge_flip(struct ks_judge *j, const struct ks_signs *signs, char operand, void *elements,
                  struct ks_err *err)
{
    const struct ks_sign_map *map = &signs->map[operand - 'a'];
    const struct ks_abi_buffers buf = { .c = elements };
    struct ks_judge_call call = j->call;
    struct ks_judged sum = { 0 };
    int rc = 0;

    /* Signs are set anew before every sample that needs them: no kernel runs between that and the
     * last flip by them. */
    if (j->n_set != signs->n_set || j->n_set == 0)
        rc = j->dev->ops->upload(j->dev, j->signs, signs->byte[0], n_signs(signs), err);
    j->n_set = rc == 0 ? signs->n_set : 0;
    call.n = 1;
    for (int k = 0; k < KS_SIGN_AXES; k++) {
        call.n *= (uint64_t)map->axis[k].extent;
        call.signs.extent[k] = map->axis[k].extent;
        memcpy(call.signs.step[k], map->axis[k].step, sizeof(call.signs.step[k]));
    }
    for (int c = 0; c < KS_SIGN_CLASSES; c++)
        if (map->has[c])
            call.signs.byte[c] = j->signs + (signs->byte[c] - signs->byte[0]);
    return rc == 0 ? ask(j, KS_JUDGE_FLIP, &buf, &call, &sum, err) : rc;
}

/* ---- buffers ---- */

bool ks_judge_is_refusal(int rc)
{
    return rc == KS_EDEVMEM || rc == KS_EUNSUPPORTED || rc == KS_ELOAD;
}

static int allocate(struct ks_judge *j, const struct ks_signs *signs, struct ks_err *err)
{
    int64_t asked = j->entry->workspace_bytes(&j->call.problem);
    size_t answers = KS_JUDGE_PARTS * sizeof(struct ks_judge_part);
    void *at = NULL;
    int rc;

    if (asked > (int64_t)answers)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "the verification kernels need %lld bytes for results, which have %zu",
                       (long long)asked, answers);
    rc = ks_zone_resize(j->dev, &j->answers, answers, POISON, err);
    if (rc == 0)
        rc = j->dev->ops->alloc(j->dev, n_signs(signs), &at, err);
    j->signs = rc == 0 ? at : NULL;
    at = NULL;
    if (rc == 0 && (j->parts & KS_PART_EXACT) != 0)
        rc = j->dev->ops->alloc(j->dev, j->n * j->element_bytes, &j->exact, err);
    if (rc == 0 && j->parts != 0)
        rc = j->dev->ops->alloc(j->dev, j->n * sizeof(double), &at, err);
    j->r = rc == 0 ? at : NULL;
    if (rc == 0 && j->parts != 0)
        rc = j->dev->ops->alloc(j->dev, j->n * sizeof(double), &at, err);
    j->abs = rc == 0 ? at : NULL;
    j->call.r = j->r;
    j->call.abs = j->abs;
    return rc;
}

int ks_judge_open(const struct ks_abi_entry *entry, const struct ks_workset *set, uint32_t parts,
                  const struct ks_vault *vault, struct ks_judge *judge_out, struct ks_err *err)
{
    struct ks_judge j = { .dev = set->dev,
                          .vault = vault,
                          .entry = entry,
                          .parts = parts,
                          .n = (size_t)set->extents.c,
                          .element_bytes = set->element_bytes };
    const char *why;
    int rc;

    j.call.problem = set->abi;
    j.call.problem.bytes = sizeof(j.call);
    j.call.n = j.n;
    j.call.n_parts = KS_JUDGE_PARTS;
    why = entry->unsupported(&j.call.problem);
    if (why == NULL && set->problem.dtype == KS_FP16 &&
        set->op->reduction(&set->problem) >= FP16_PRODUCTS)
        why = "sums of so many products may be infinite in fp16, so the verification kernels "
              "cannot be tested";
    if (why != NULL)
        return ks_fail(err, KS_EUNSUPPORTED, "%s", why);
    rc = allocate(&j, &set->signs, err);
    if (rc < 0) {
        ks_judge_close(&j);
        return rc;
    }
    *judge_out = j;
    return 0;
}

void ks_judge_close(struct ks_judge *j)
{
    if (j->dev != NULL) {
        ks_zone_release(j->dev, &j->answers);
        j->dev->ops->free(j->dev, j->signs);
        j->dev->ops->free(j->dev, j->exact);
        j->dev->ops->free(j->dev, j->r);
        j->dev->ops->free(j->dev, j->abs);
    }
    memset(j, 0, sizeof(*j));
}
