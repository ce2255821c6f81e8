/* SPDX-License-Identifier: MIT */
/* library.h - NVRTC and hipRTC as one table of functions. */
#ifndef KS_RTC_LIBRARY_H
#define KS_RTC_LIBRARY_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

#define KS_RTC_OK 0

/* Sources: CUDA, nvrtc.h; ROCm, hip/hiprtc.h. Programs are opaque pointers, results are enums of
 * which 0 is success. */
struct ks_rtc {
    const char *title;        /* "NVRTC" */
    char path[1024];          /* of what was loaded */
    const char *const *parts; /* [4] how the names of its compiler's libraries begin */
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int n_headers,
                  const char *const *headers, const char *const *header_names);
    int (*compile)(void *program, int n_options, const char *const *options);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*code_size)(void *program, size_t *bytes);
    int (*code)(void *program, char *bytes);
    int (*destroy)(void **program);
    const char *(*error)(int result);
};

/* ks_rtc_load() - find and load a vendor's library, "nvrtc" or "hiprtc".
 * Order: $KSWEEP_NVRTC_LIBRARY or $KSWEEP_HIPRTC_LIBRARY alone where set; what the loader finds;
 * lib64/ and lib/ of the toolkit's folder; Python's packages (build/gpu_places.h).
 * Returns 0; KS_EINVAL: no such vendor; KS_ENOENT: *why_out says what each place said; KS_ENOMEM.
 */
int ks_rtc_load(const char *vendor, struct ks_rtc *out, struct ks_buf *why_out, struct ks_err *err);

/* "NVRTC version 13.0, libnvrtc.so.13, 0123456789abcdef...", or "hipRTC version 6.1, libhiprtc.so.6
 * and libamd_comgr.so.2, ...": the last is the digest of the named libraries, because many builds
 * have the same version number. hipRTC compiles nothing itself: libamd_comgr does, and LLVM where
 * that is a library of its own. */
int ks_rtc_version(const struct ks_rtc *rtc, struct ks_buf *text_out, struct ks_err *err);

#endif
