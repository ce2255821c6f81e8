/* SPDX-License-Identifier: MIT */
/* code_object_impl.h - private to src/build: one reader for each kind of image. Each gets an *out
 * at "nothing known", which it may leave half filled when it fails; name, errors as
 * ks_code_object_read(). */
#ifndef KS_BUILD_CODE_OBJECT_IMPL_H
#define KS_BUILD_CODE_OBJECT_IMPL_H

#include "build/code_object.h"
#include "build/object.h"

int ks_code_read_amd(const struct ks_object *o, const char *name, struct ks_code_object *out,
                     struct ks_err *err);
int ks_code_read_cuda(const struct ks_object *o, const char *name, struct ks_code_object *out,
                      struct ks_err *err);
int ks_code_read_emulator(const struct ks_object *o, const char *name, struct ks_code_object *out,
                          struct ks_err *err);

/* KS_ENOENT that names the kernel, or says that there is none. */
int ks_code_no_kernel(const char *name, struct ks_err *err);
/* `const int NAMEwhat` of the image, not negative; -1: it is not there. */
int32_t ks_code_constant(const struct ks_object *o, const char *name, const char *what);
/* A text of n bytes, not terminated; cut to what fits. */
void ks_code_copy_text(char *out, size_t room, const char *text, size_t n);

#endif
