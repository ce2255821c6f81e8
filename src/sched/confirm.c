/* SPDX-License-Identifier: MIT */
/* confirm.c - cells that are done and are run once more, on another device. */
#include "base/array.h"
#include "sched/sched_impl.h"

static struct confirm *find(const struct active *a, uint32_t i_instance)
{
    for (uint32_t k = 0; k < a->n_confirms; k++)
        if (a->confirms[k].i_instance == i_instance)
            return &a->confirms[k];
    return NULL;
}

static bool has_other_device(struct ks_sched *s, uint32_t device)
{
    const struct device *d = ks_sched_device(s, device);
    return s->n_usable > (d && ks_sched_is_usable(d) ? 1u : 0u);
}

uint32_t ks_sched_excluded(const struct active *a, uint32_t i_instance)
{
    const struct confirm *c = a->mark[i_instance] & MARK_CONFIRM ? find(a, i_instance) : NULL;
    return c ? c->device : KS_NO_DEVICE;
}

bool ks_sched_may_confirm(const struct active *a, uint32_t device)
{
    for (uint32_t k = 0; a->n[CELL_CONFIRM] && k < a->n_confirms; k++)
        if (a->confirms[k].device != device &&
            ks_sched_state(a, a->confirms[k].i_instance) == CELL_CONFIRM)
            return true;
    return false;
}

bool ks_sched_is_urgent(struct ks_sched *s, const struct active *a)
{
    for (uint32_t k = 0; a->n[CELL_CONFIRM] && k < a->n_confirms; k++) {
        const struct device *d = ks_sched_device(s, a->confirms[k].device);
        if (d && d->is_paused)
            return true;
    }
    return false;
}

void ks_sched_list_confirms(struct ks_sched *s, struct active *a)
{
    bool want = a->n[CELL_CONFIRM] && (!a->n[CELL_FREE] || ks_sched_is_urgent(s, a));
    bool is_there = a->i_confirming != KS_NONE;
    if (want && !is_there) {
        a->i_confirming = s->n_confirming;
        s->confirming[s->n_confirming++] = a;
    } else if (!want && is_there) {
        struct active *last = s->confirming[--s->n_confirming];
        s->confirming[a->i_confirming] = last;
        last->i_confirming = a->i_confirming;
        a->i_confirming = KS_NONE;
    }
}

void ks_sched_take_confirms(struct ks_sched *s, struct ks_lease *l, uint32_t want)
{
    const struct active *a = s->problems[l->i_problem].a;
    l->is_confirm = true;
    for (uint32_t k = 0; k < a->n_confirms && l->n < want; k++)
        if (a->confirms[k].device != l->device &&
            ks_sched_state(a, a->confirms[k].i_instance) == CELL_CONFIRM)
            l->i_instance[l->n++] = a->confirms[k].i_instance;
}

void ks_sched_forget_confirm(struct active *a, uint32_t i_instance)
{
    struct confirm *c = a->mark[i_instance] & MARK_CONFIRM ? find(a, i_instance) : NULL;
    if (!c)
        return;
    *c = a->confirms[--a->n_confirms];
    a->mark[i_instance] &= (uint8_t)~MARK_CONFIRM;
}

int ks_sched_confirm(struct ks_sched *s, uint32_t i_problem, uint32_t i_instance, uint32_t device,
                     struct ks_err *err)
{
    struct problem *p = &s->problems[i_problem];
    if (!p->is_touched || !has_other_device(s, device))
        return 0;
    int rc = p->a ? 0 : ks_sched_open_again(s, i_problem, err);
    if (rc < 0)
        return rc;
    struct active *a = p->a;
    rc = ks_reserve32(&a->confirms, a->n_confirms + 1ul, &a->cap_confirms, sizeof(*a->confirms),
                      "entries of the scheduler", err);
    if (rc == 0 && ks_sched_state(a, i_instance) == CELL_DONE) {
        a->confirms[a->n_confirms++] = (struct confirm){ i_instance, device };
        a->mark[i_instance] = MARK_CONFIRM | CELL_DONE; /* losses so far are the first device's */
        ks_sched_set_state(s, a, i_instance, CELL_CONFIRM);
        ks_sched_disown(s, i_problem, i_instance);
        rc = 1;
    } else if (rc == 0) {
        rc = a->mark[i_instance] & MARK_CONFIRM ? 1 : 0;
    }
    ks_sched_update(s, a);
    return rc;
}

/* Backwards, because the last one takes the place of the one that is removed. */
static uint32_t give_up(struct ks_sched *s, struct active *a, uint32_t (*cells_out)[2],
                        uint32_t cap)
{
    uint32_t n = 0;
    for (uint32_t k = a->n_confirms; k-- > 0 && n < cap;) {
        struct confirm c = a->confirms[k];
        if (ks_sched_state(a, c.i_instance) == CELL_LEASED || has_other_device(s, c.device))
            continue;
        cells_out[n][0] = a->i_problem;
        cells_out[n++][1] = c.i_instance;
        ks_sched_forget_confirm(a, c.i_instance);
        ks_sched_set_state(s, a, c.i_instance, CELL_DONE);
    }
    return n;
}

uint32_t ks_sched_unconfirmable(struct ks_sched *s, uint32_t (*cells_out)[2], uint32_t cap)
{
    uint32_t n = 0;
    if (s->n_usable > 1) /* one of them may confirm */
        return 0;
    for (uint32_t i = s->n_open; i-- > 0 && n < cap;) {
        struct active *a = s->open[i];
        n += give_up(s, a, cells_out + n, cap - n);
        ks_sched_update(s, a);
    }
    return n;
}
