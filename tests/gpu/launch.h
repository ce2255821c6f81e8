/* SPDX-License-Identifier: MIT */
/* launch.h - one instance on one problem in this process: no worker, no filter of system calls. */
#ifndef KS_TEST_GPU_LAUNCH_H
#define KS_TEST_GPU_LAUNCH_H

#include "device/device.h"
#include "grid/grid.h"

/* Opens the device of the grid's backend. KS_ENODEVICE. */
int launch_device(const struct ks_grid *g, const struct ks_device_ops **ops_out,
                  struct ks_device **dev_out, struct ks_err *err);

struct launch {
    const struct ks_device_ops *ops; /* borrowed, so is dev */
    struct ks_device *dev;
    const struct ks_abi_entry *entry; /* of a module that stays open */
    struct ks_problem what;
    struct ks_abi_problem problem;
    struct ks_abi_buffers buf;
    void *mem[4]; /* owned device memory: a, b, c, workspace */
    size_t bytes[4];
};
/* Operands of a problem on the device: exact data (op.h), every byte of the output 0xff.
 * KS_EUNSUPPORTED with the entry's reason. On failure nothing is held. */
int launch_open(struct launch *l, const struct ks_device_ops *ops, struct ks_device *dev,
                const struct ks_abi_entry *entry, const struct ks_problem *p, struct ks_err *err);
void launch_close(struct launch *l);

/* ns_out [n]: samples of `calls` calls each. KS_EDEVICE: a launch failed or a sample is no time. */
int launch_time(const struct launch *l, uint32_t calls, uint32_t n, bool is_cold, double *ns_out,
                struct ks_err *err);

/* The host needs seconds for the reference of a larger problem. */
#define LAUNCH_CHECK_FLOPS 4e9
/* Compares the output of the last call with the host's reference, bit by bit. KS_EDEVICE names the
 * first element that differs. KS_EUNSUPPORTED: the problem is larger than LAUNCH_CHECK_FLOPS, or
 * the instance does not promise exact sums. */
int launch_check(const struct launch *l, enum ks_numerics numerics, struct ks_err *err);

#endif
