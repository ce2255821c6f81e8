/* SPDX-License-Identifier: MIT */
/* gpu_judge_kit.c - opens the judge on the emulator in its variants, and asks it */
#include "gpu_judge_kit.h"

#include "gpu_emulator.h"
#include "op_cases.h"

#include <math.h>

int try_ask(const struct judges *j, const struct ask *q, struct ks_judge_part *parts)
{
    const struct gpu_instance *i = j->of[q->call.problem.dtype];
    struct gpu_emulator e = gpu_emulator_of(i->device, i->kernels, i->pool);
    const struct ks_abi_buffers buf = {
        .a = q->a, .b = q->b, .c = q->c, .workspace = parts, .gpu = &e.gpu
    };

    e.order = q->order;
    return i->entry->run(&q->call.problem, &buf);
}

struct ks_judge_part ask(const struct judges *j, const struct ask *q)
{
    const uint32_t n = q->call.n_parts;
    struct ks_judge_part *parts = malloc((n ? n : 1) * sizeof(*parts));
    struct ks_judge_part all = { .first = KS_JUDGE_NONE };

    assert_non_null(parts);
    memset(parts, 0xa5, (n ? n : 1) * sizeof(*parts));
    assert_int_equal(try_ask(j, q, parts), 0);
    for (uint32_t i = 0; i < n; i++) {
        all.n_wrong += parts[i].n_wrong;
        all.first = parts[i].first < all.first ? parts[i].first : all.first;
        all.n_zero += parts[i].n_zero;
        all.digest += parts[i].digest;
        all.max_error = fmax(all.max_error, parts[i].max_error);
    }
    free(parts);
    return all;
}

struct ask ask_of(uint32_t task, uint32_t dtype, uint64_t n, uint32_t n_parts)
{
    struct ks_problem p;
    struct ks_err err;
    struct ask q = { .call = { .task = task, .n = n, .n_parts = n_parts } };

    must(op_case("", &p, &err), &err);
    p.dtype = dtype;
    ks_operators[p.op]->to_abi(&p, &q.call.problem);
    q.call.problem.bytes = sizeof(q.call);
    return q;
}

void *array(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    assert_non_null(p);
    return p;
}

int judges_open(void **state)
{
    static struct judges j;
    const struct gpu_choice choice = { .config = "gpu_judge.json", .filter = "", .n = UINT32_MAX };

    gpu_set_open(&j.set, &choice);
    assert_int_equal(j.set.n, KS_N_DTYPES);
    for (uint32_t i = 0; i < j.set.n; i++)
        j.of[j.set.instances[i].domain.dtype] = &j.set.instances[i];
    for (uint32_t i = 0; i < KS_N_DTYPES; i++)
        assert_non_null(j.of[i]);
    *state = &j;
    return 0;
}

int judges_close(void **state)
{
    struct judges *j = *state;

    gpu_set_close(&j->set);
    return 0;
}
