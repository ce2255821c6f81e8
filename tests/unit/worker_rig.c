/* SPDX-License-Identifier: MIT */
/* worker_rig.c - a worker in the test's process, on a device like a GPU, with planned faults */
#include "tests/unit/worker_rig.h"

#include "base/file.h"
#include "device/backends.h"
#include "tests/unit/op_cases.h"
#include "tests/unit/so.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct rig *rig_of(struct ks_device *dev)
{
    return (struct rig *)(uintptr_t)dev->ops; /* ops is its first member */
}

static int spy_download(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                        struct ks_err *err)
{
    struct rig *r = rig_of(dev);
    const struct ks_zone *z = &r->w->set.zone[KS_Z_C];
    const uint8_t *from = src, *payload = ks_zone_device(z);

    r->bytes_down += bytes;
    if (payload != NULL && from < payload + z->bytes && from + bytes > payload)
        r->n_output_down++;
    else if (bytes > r->largest_down)
        r->largest_down = bytes;
    return r->inner->download(dev, dst, src, bytes, err);
}

static int spy_upload(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                      struct ks_err *err)
{
    rig_of(dev)->bytes_up += bytes;
    return rig_of(dev)->inner->upload(dev, dst, src, bytes, err);
}

static int spy_module_entry(struct ks_device *dev, struct ks_module *mod, const char *name,
                            const struct ks_abi_entry **entry_out, struct ks_err *err)
{
    struct rig *r = rig_of(dev);

    for (size_t i = 0; r->extra != NULL && r->extra[i] != NULL; i++)
        if (strcmp(r->extra[i]->name, name) == 0) {
            *entry_out = r->extra[i];
            return 0;
        }
    return r->inner->module_entry(dev, mod, name, entry_out, err);
}

static int judge_launch(struct rig *r, struct ks_device *dev, const struct ks_timing *t,
                        double *ns_out, int *kernel_rc_out, struct ks_err *err)
{
    struct ks_abi_buffers buf = *t->buf;
    struct ks_timing on = *t;
    const struct ks_judge_call *call = (const struct ks_judge_call *)(const void *)t->problem;
    uint32_t task = call->task;

    buf.gpu = r->gpu;
    on.buf = &buf;
    r->n_tasks[task]++;
    r->n_keys[task] += call->mask[0] != 0 || call->mask[1] != 0;
    r->has_no_deadline |= atomic_load(&r->w->status->deadline_ns) == 0;
    r->has_timed_judge |= !t->is_untimed;
    for (uint32_t i = 0; task == KS_JUDGE_CLOCK && r->clock_mhz > 0 && i < call->n_parts; i++)
        ((struct ks_judge_tick *)buf.workspace)[i] = (struct ks_judge_tick){ i, 1, 0 };
    if (r->judge_fault.nth == 0 || r->judge_fault.task != task ||
        r->judge_fault.nth != r->n_tasks[task])
        return r->inner->time_samples(dev, &on, ns_out, kernel_rc_out, err);
    ns_out[0] = 1e3;
    return r->judge_fault.rc == 0
               ? 0
               : ks_fail(err, (enum ks_code)r->judge_fault.rc, "planned failure of the judge");
}

/* What the judge's clock would have found before and after samples of a millisecond. */
static void tick(struct rig *r, const struct ks_timing *t)
{
    const struct ks_judge_call *call = (const struct ks_judge_call *)t->clock->problem;
    const bool is_timing = atomic_load(&r->w->status->phase) == KS_PH_TIMING;
    const double mhz = is_timing && r->n_timed++ > 0 ? r->later_mhz : r->clock_mhz;

    for (int end = 0; end < 2; end++)
        for (uint32_t i = 0; i < call->n_parts; i++)
            ((struct ks_judge_tick *)t->clock->buf[end].workspace)[i] =
                (struct ks_judge_tick){ i, end == 0 ? 1 : 1 + (uint64_t)(1e3 * mhz),
                                        end == 0 ? 0 : 1000000 };
}

static int spy_time_samples(struct ks_device *dev, const struct ks_timing *t, double *ns_out,
                            int *kernel_rc_out, struct ks_err *err)
{
    struct rig *r = rig_of(dev);
    int rc;

    if (t->problem->bytes == sizeof(struct ks_judge_call))
        return judge_launch(r, dev, t, ns_out, kernel_rc_out, err);
    r->n_kernels++;
    rc = r->inner->time_samples(dev, t, ns_out, kernel_rc_out, err);
    if (t->clock != NULL)
        tick(r, t);
    if (r->scribble != NULL)
        *r->scribble ^= r->scribble_bits != 0 ? r->scribble_bits : 0x10u;
    r->scribble = NULL;
    if (rc == 0 && t->calls == 1 && r->single_ns > 0)
        ns_out[0] = r->single_ns;
    return rc;
}

static void spy_on(struct rig *r, struct ks_device *dev)
{
    r->inner = dev->ops;
    r->ops = *dev->ops;
    r->ops.download = spy_download;
    r->ops.upload = spy_upload;
    r->ops.time_samples = spy_time_samples;
    r->ops.module_entry = spy_module_entry;
    dev->ops = &r->ops;
}

void open_rig(struct rig *r, const struct shared *s, const struct ks_fault_plan *plan)
{
    struct ks_fault_plan p = *plan;
    struct ks_err err = { 0 };

    p.is_hidden = true;
    p.queue = 16;
    memset(r, 0, sizeof(*r));
    r->s = s;
    assert_int_equal(ks_device_host.open("", &r->host, &err), 0);
    r->w = calloc(1, sizeof(*r->w));
    assert_non_null(r->w);
    r->w->status = (struct ks_status *)(uintptr_t)&s->status;
    r->w->cage = s->cage;
    r->w->fd_reference = -1;
    assert_int_equal(ks_vault_open(&r->w->vault, &err), 0);
    r->w->setup = host_setup(&quick);
    assert_int_equal(ks_fault_wrap(r->host, &p, &r->w->dev, &err), 0);
    assert_int_equal(r->w->dev->ops->props(r->w->dev, &r->w->props, &err), 0);
    r->w->artefacts.dev = r->w->dev;
    r->w->canary_ns = 1.0;
    spy_on(r, r->w->dev);
}

static void *view(struct ks_device *dev, void *ptr)
{
    (void)dev;
    return ptr;
}

void show_memory(struct rig *r)
{
    r->ops.host_view = view;
}

void close_rig(struct rig *r)
{
    ks_worker_drop_problem(r->w);
    ks_vault_close(&r->w->vault);
    if (r->w->fd_reference >= 0)
        close(r->w->fd_reference);
    ks_artefacts_release(&r->w->artefacts);
    r->inner->close(r->w->dev);
    r->host->ops->close(r->host);
    free(r->w);
}

int take_problem(struct rig *r, const struct ks_problem *p, const char *entry, uint32_t references,
                 struct ks_err *err)
{
    struct ks_req_problem req = { .problem = p->id, .references = references, .key = { 3, 4 } };
    struct ks_buf text = { 0 };
    int rc;

    ks_problem_canonical(p, &text);
    memcpy(req.canonical, ks_buf_text(&text), text.len);
    if (entry != NULL) {
        memcpy(req.judge_digest, r->s->judge_digest, sizeof(req.judge_digest));
        snprintf(req.judge_artefact, sizeof(req.judge_artefact), "%s", r->s->judge);
        snprintf(req.judge_entry, sizeof(req.judge_entry), "%s", entry);
    }
    rc = ks_worker_prepare(r->w, &req, err);
    ks_buf_release(&text);
    return rc;
}

void take(struct rig *r, const struct ks_problem *p, const char *entry)
{
    struct ks_err err = { 0 };

    if (take_problem(r, p, entry, 0, &err) != 0)
        fail_msg("%s: %s", entry, err.text);
    assert_int_equal(r->w->inspector == &ks_inspector_judge, entry != NULL);
}

void large_problem(struct ks_problem *out)
{
    struct ks_err err = { 0 };

    assert_int_equal(op_case("n=16 g=2 c_total=8 k_total=32", out, &err), 0);
}

struct ks_record *run_as(struct rig *r, const char *entry, uint32_t numerics)
{
    struct ks_req_cell req = { .cell = { r->w->set.problem.id, 1, 2 },
                               .attempt = 1,
                               .numerics = numerics,
                               .threads = r->threads };

    snprintf(req.artefact, sizeof(req.artefact), "%s", r->s->f->so);
    snprintf(req.entry, sizeof(req.entry), "%s", entry);
    memcpy(req.digest, r->s->f->digest, sizeof(req.digest));
    ks_worker_cell(r->w, &req);
    return &r->w->rec;
}

struct ks_record *run(struct rig *r, const char *entry)
{
    return run_as(r, entry, KS_NUMERICS_FP32);
}

static void digest_file(const char *path, uint8_t digest_out[32])
{
    struct ks_buf file = { 0 };
    struct ks_sha256 h;

    assert_int_equal(ks_file_read(path, &file, NULL), 0);
    ks_sha256_init(&h);
    ks_sha256_add(&h, file.data, file.len);
    ks_sha256_end(&h, digest_out);
    ks_buf_release(&file);
}

int shared_setup(void **state)
{
    struct shared *s = calloc(1, sizeof(*s));
    struct ks_err err = { 0 };
    void *f = NULL;

    assert_non_null(s);
    assert_int_equal(fixture_setup(&f), 0);
    assert_int_equal(ks_cage_open(&s->cage, &s->status, &err), 0);
    s->f = f;
    so_build(s->f->dir, "judge", "#include \"tests/unit/worker_judge.c\"\n", s->judge,
             sizeof(s->judge));
    digest_file(s->judge, s->judge_digest);
    *state = s;
    return 0;
}

int shared_teardown(void **state)
{
    struct shared *s = *state;
    void *f = s->f;

    fixture_teardown(&f);
    free(s);
    return 0;
}
