/* SPDX-License-Identifier: MIT */
/* unit.h - private to src/build: the translation unit of several instances of one family.
 *
 * What a family's source may rely on: "abi.h" is included; KS_PREFIX, KS_NAME, KS_FN(x) and the
 * trait macros are defined; it is included once per instance and defines
 * `static const struct ks_abi_entry KS_FN(entry)`. */
#ifndef KS_BUILD_UNIT_H
#define KS_BUILD_UNIT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "grid/family.h"

#include <stdbool.h>
#include <stdint.h>

/* The macros of one instance, "#define KT_VB 64" a line: with the canonical text, what its code
 * depends on besides the sources. */
void ks_unit_macros(const struct ks_family *f, const struct ks_instance *i,
                    struct ks_buf *text_out);

/* Instances of one unit: all of the family `f`; `at`: indices into `all`, n of them. */
struct ks_unit_members {
    const struct ks_family *f;
    const struct ks_instance *all;
    const uint32_t *at;
    uint32_t n;
};
/* The C text. KS_EINVAL when the source's path cannot stand in an #include line. */
int ks_unit_text(const struct ks_unit_members *m, struct ks_buf *text_out, struct ks_err *err);

/* Units of a GPU have two halves. The device's half becomes device.img; a source sees KS_GPU_PASS
 * 1, KS_GPU_TARGET, KS_PREFIX, KS_FN(x) and the macros of all traits that are not of role argument,
 * and defines the kernels KS_FN(kernel0), KS_FN(kernel1)... The host's half is as of any unit, with
 * KS_GPU_PASS 0 and KS_GPU_TARGET besides, and carries the image.
 *
 * Instances that differ in arguments only, or in traits without a macro, have one device's half:
 * device_of_out [n]: whose, the first of those that share it. */
int ks_unit_devices(const struct ks_unit_members *m, uint32_t *device_of_out, struct ks_err *err);
/* The device's half of one instance as text without names: equal texts are compiled once. */
void ks_unit_device_macros(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out);
int ks_unit_device_text(const struct ks_unit_members *m, const uint32_t *device_of, int target,
                        struct ks_buf *text_out, struct ks_err *err);
int ks_unit_host_text(const struct ks_unit_members *m, const uint32_t *device_of, int target,
                      uint64_t image_bytes, struct ks_buf *text_out, struct ks_err *err);

/* Symbol of the entry of the i-th instance of a unit. */
void ks_unit_symbol(uint32_t i, char symbol_out[32]);
/* Kernel j of it: "k3_kernel0". */
void ks_unit_kernel(uint32_t i, uint32_t j, char symbol_out[32]);

/* Digest of everything that a family's source may include: all .k and .h files of its directory, in
 * the order of their names, and all .h files beside `abi_path`. For a GPU also all .k, .h and .c
 * files of kernels/gpu and below: engine and emulator. KS_ENOENT, KS_EIO. */
int ks_unit_sources(const struct ks_family *f, const char *abi_path, bool is_gpu,
                    struct ks_id128 *out, struct ks_err *err);

#endif
