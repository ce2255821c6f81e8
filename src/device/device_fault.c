/* SPDX-License-Identifier: MIT */
/* device_fault.c - wraps a device: fails a planned call, and prescribes times, clocks and energy */
#include "device/device_fault.h"

#include <stdlib.h>

struct fault_device {
    struct ks_device base;    /* first: the public view */
    struct ks_device_ops ops; /* as fault_ops, but for the plan's queue */
    struct ks_device *inner;
    struct ks_fault_plan plan;
    uint32_t calls[KS_FAULT_SLOTS];
    uint32_t n_timed, n_looks;
};

static struct fault_device *fault_of(struct ks_device *dev)
{
    return (struct fault_device *)(void *)dev;
}

/* Counts the call; the planned error when it is this one's turn. */
static int enter(struct ks_device *dev, enum ks_fault_slot slot, struct ks_err *err)
{
    struct fault_device *f = fault_of(dev);
    uint32_t n = f->calls[slot]++;

    if (f->plan.slot == slot && f->plan.nth == n)
        return ks_fail(err, f->plan.code, "planned failure of call %u", n);
    return 0;
}

static int fault_list(const char *locator, struct ks_device_id *ids_out, uint32_t *n_out,
                      struct ks_err *err)
{
    (void)locator;
    (void)ids_out;
    (void)err;
    *n_out = 0;
    return 0;
}

static int fault_open(const char *locator, struct ks_device **dev_out, struct ks_err *err)
{
    (void)dev_out;
    return ks_fail(err, KS_EUNSUPPORTED, "a fault device wraps an open one, not '%s'", locator);
}

static void fault_close(struct ks_device *dev)
{
    free(dev);
}

static int fault_props(struct ks_device *dev, struct ks_device_props *out, struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_PROPS, err);

    return rc < 0 ? rc : in->ops->props(in, out, err);
}

static int fault_alloc(struct ks_device *dev, size_t bytes, void **ptr_out, struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_ALLOC, err);

    return rc < 0 ? rc : in->ops->alloc(in, bytes, ptr_out, err);
}

static void fault_free(struct ks_device *dev, void *ptr)
{
    struct ks_device *in = fault_of(dev)->inner;

    in->ops->free(in, ptr);
}

static int fault_upload(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                        struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_UPLOAD, err);

    return rc < 0 ? rc : in->ops->upload(in, dst, src, bytes, err);
}

static int fault_download(struct ks_device *dev, void *dst, const void *src, size_t bytes,
                          struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_DOWNLOAD, err);

    return rc < 0 ? rc : in->ops->download(in, dst, src, bytes, err);
}

static int fault_fill(struct ks_device *dev, void *ptr, uint32_t pattern, size_t bytes,
                      struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_FILL, err);

    return rc < 0 ? rc : in->ops->fill(in, ptr, pattern, bytes, err);
}

static void *fault_host_view(struct ks_device *dev, void *ptr)
{
    struct ks_device *in = fault_of(dev)->inner;

    return fault_of(dev)->plan.is_hidden ? NULL : in->ops->host_view(in, ptr);
}

static int fault_module_open(struct ks_device *dev, const char *path, struct ks_module **mod_out,
                             struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_MODULE_OPEN, err);

    return rc < 0 ? rc : in->ops->module_open(in, path, mod_out, err);
}

static void fault_module_close(struct ks_device *dev, struct ks_module *mod)
{
    struct ks_device *in = fault_of(dev)->inner;

    in->ops->module_close(in, mod);
}

static int fault_module_entry(struct ks_device *dev, struct ks_module *mod, const char *name,
                              const struct ks_abi_entry **entry_out, struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_MODULE_ENTRY, err);

    return rc < 0 ? rc : in->ops->module_entry(in, mod, name, entry_out, err);
}

static int fault_time_samples(struct ks_device *dev, const struct ks_timing *t, double *ns_out,
                              int *kernel_rc_out, struct ks_err *err)
{
    struct fault_device *f = fault_of(dev);
    struct ks_timing one = *t;
    int rc = enter(dev, KS_FAULT_TIME, err);

    one.n_samples = 1;
    one.is_cold = false;
    for (uint32_t i = 0; rc == 0 && i < t->n_samples; i++) {
        uint32_t at = f->n_timed < f->plan.n_times ? f->n_timed : f->plan.n_times - 1;

        if (t->is_cold)
            rc = dev->ops->flush(dev, err);
        ns_out[i] = 1e3 * t->calls;
        if (rc == 0 && f->calls[KS_FAULT_TIME] != f->plan.skip)
            rc = f->inner->ops->time_samples(f->inner, &one, &ns_out[i], kernel_rc_out, err);
        if (rc == 0 && f->plan.n_times > 0)
            ns_out[i] = (double)t->calls * f->plan.times_ns[at];
        f->n_timed++;
    }
    return rc;
}

static int fault_flush(struct ks_device *dev, struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_FLUSH, err);

    return rc < 0 ? rc : in->ops->flush(in, err);
}

static int fault_touch(struct ks_device *dev, const void *ptr, size_t bytes, struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_TOUCH, err);

    return rc < 0 ? rc : in->ops->touch(in, ptr, bytes, err);
}

static int fault_canary(struct ks_device *dev, double *ns_out, struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_CANARY, err);

    return rc < 0 ? rc : in->ops->canary(in, ns_out, err);
}

static int fault_self_test(struct ks_device *dev, struct ks_err *err)
{
    struct ks_device *in = fault_of(dev)->inner;
    int rc = enter(dev, KS_FAULT_SELF_TEST, err);

    return rc < 0 ? rc : in->ops->self_test(in, err);
}

static void fault_telemetry(struct ks_device *dev, bool with_energy, struct ks_telemetry *out)
{
    struct fault_device *f = fault_of(dev);
    uint32_t at = f->n_looks < f->plan.n_clocks ? f->n_looks : f->plan.n_clocks - 1;

    f->inner->ops->telemetry(f->inner, with_energy, out);
    if (f->plan.n_clocks > 0)
        out->now.clock_mhz = f->plan.clocks_mhz[at];
    if (f->plan.energy_step_j > 0 && with_energy) {
        out->energy_j = f->n_looks * f->plan.energy_step_j;
        out->at_ns = f->n_looks * f->plan.energy_step_ns;
    }
    f->n_looks++;
}

static void fault_limits(struct ks_device *dev, struct ks_device_limits *out)
{
    struct ks_device *in = fault_of(dev)->inner;

    in->ops->limits(in, out);
}

static const struct ks_device_ops fault_ops = {
    .abi = KS_DEVICE_ABI,
    .name = "fault",
    .is_virtual = false,
    .queue = 1,
    .list = fault_list,
    .open = fault_open,
    .close = fault_close,
    .props = fault_props,
    .alloc = fault_alloc,
    .free = fault_free,
    .upload = fault_upload,
    .download = fault_download,
    .fill = fault_fill,
    .host_view = fault_host_view,
    .module_open = fault_module_open,
    .module_close = fault_module_close,
    .module_entry = fault_module_entry,
    .time_samples = fault_time_samples,
    .flush = fault_flush,
    .touch = fault_touch,
    .canary = fault_canary,
    .self_test = fault_self_test,
    .telemetry = fault_telemetry,
    .limits = fault_limits,
};

int ks_fault_wrap(struct ks_device *inner, const struct ks_fault_plan *plan,
                  struct ks_device **dev_out, struct ks_err *err)
{
    struct fault_device *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory wrapping a device");
    f->ops = fault_ops;
    f->ops.queue = plan->queue > 1 ? plan->queue : 1;
    f->base.ops = &f->ops;
    f->inner = inner;
    f->plan = *plan;
    *dev_out = &f->base;
    return 0;
}

uint32_t ks_fault_calls(const struct ks_device *dev, enum ks_fault_slot slot)
{
    return ((const struct fault_device *)(const void *)dev)->calls[slot];
}
