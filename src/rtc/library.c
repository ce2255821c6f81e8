/* SPDX-License-Identifier: MIT */
/* library.c - finds and loads NVRTC or hipRTC */
#include "rtc/library.h"

#include "base/file.h"
#include "base/hash.h"
#include "build/gpu_places.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* X(slot, NVRTC's name, hipRTC's name) */
#define CALLS(X)                                                                                   \
    X(version, nvrtcVersion, hiprtcVersion)                                                        \
    X(create, nvrtcCreateProgram, hiprtcCreateProgram)                                             \
    X(compile, nvrtcCompileProgram, hiprtcCompileProgram)                                          \
    X(log_size, nvrtcGetProgramLogSize, hiprtcGetProgramLogSize)                                   \
    X(log, nvrtcGetProgramLog, hiprtcGetProgramLog)                                                \
    X(code_size, nvrtcGetCUBINSize, hiprtcGetCodeSize)                                             \
    X(code, nvrtcGetCUBIN, hiprtcGetCode)                                                          \
    X(destroy, nvrtcDestroyProgram, hiprtcDestroyProgram)                                          \
    X(error, nvrtcGetErrorString, hiprtcGetErrorString)

static const struct vendor {
    const char *name, *title, *variable;
    const char *stem;       /* where it is looked for in folders */
    const char *sonames[4]; /* what the loader is asked for, newest first */
    struct ks_gpu_places places;
} vendors[] = {
    { "nvrtc",
      "NVRTC",
      "KSWEEP_NVRTC_LIBRARY",
      "libnvrtc.so",
      { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" },
      { .variables = { "CUDA_HOME", "CUDA_PATH" },
        .roots = { "/usr/local/cuda", "/opt/cuda" },
        .is_in_wheels = true } },
    { "hiprtc",
      "hipRTC",
      "KSWEEP_HIPRTC_LIBRARY",
      "libhiprtc.so",
      { "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so" },
      { .variables = { "ROCM_PATH" }, .roots = { "/opt/rocm" } } },
};

static const struct slot {
    const char *name[2]; /* by vendor */
    size_t at;
} slots[] = {
#define X(slot, cuda, hip) { { #cuda, #hip }, offsetof(struct ks_rtc, slot) },
    CALLS(X)
#undef X
};

static void keep_path(const void *symbol, const char *name, struct ks_rtc *rtc)
{
    Dl_info info;
    char real[PATH_MAX];
    const bool is_known = dladdr(symbol, &info) != 0 && realpath(info.dli_fname, real) != NULL;

    snprintf(rtc->path, sizeof(rtc->path), "%.1000s", is_known ? real : name);
}

/* Whether it could be loaded and has all that is needed; else why not is appended. */
static bool load(size_t vendor, const char *name, struct ks_rtc *rtc, struct ks_buf *why)
{
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    if (lib == NULL) {
        ks_buf_printf(why, "%s%s", why->len > 0 ? "; " : "", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        void *p = dlsym(lib, slots[i].name[vendor]);

        if (p == NULL) {
            ks_buf_printf(why, "%s%s: has no %s", why->len > 0 ? "; " : "", name,
                          slots[i].name[vendor]);
            dlclose(lib);
            return false;
        }
        memcpy((char *)rtc + slots[i].at, &p, sizeof(p));
        if (i == 0)
            keep_path(p, name, rtc);
    }
    return true;
}

static bool load_any(size_t v, struct ks_rtc *rtc, struct ks_buf *why)
{
    const char *only = getenv(vendors[v].variable);
    char path[1024];
    bool is_loaded = false;

    if (only != NULL && *only != '\0')
        return load(v, only, rtc, why);
    for (size_t i = 0; i < 4 && vendors[v].sonames[i] != NULL && !is_loaded; i++)
        is_loaded = load(v, vendors[v].sonames[i], rtc, why);
    if (!is_loaded &&
        ks_gpu_places_library(&vendors[v].places, vendors[v].stem, path, sizeof(path)))
        is_loaded = load(v, path, rtc, why);
    return is_loaded;
}

int ks_rtc_load(const char *vendor, struct ks_rtc *out, struct ks_buf *why_out, struct ks_err *err)
{
    for (size_t v = 0; v < sizeof(vendors) / sizeof(vendors[0]); v++) {
        struct ks_rtc rtc = { .title = vendors[v].title };

        if (strcmp(vendors[v].name, vendor) != 0)
            continue;
        if (!load_any(v, &rtc, why_out))
            return ks_fail(err, KS_ENOENT, "no %s here (%s %s)", rtc.title, vendors[v].variable,
                           getenv(vendors[v].variable) != NULL ? "is set" : "not set");
        *out = rtc;
        return 0;
    }
    return ks_fail(err, KS_EINVAL, "unknown vendor '%s'; known are nvrtc, hiprtc", vendor);
}

int ks_rtc_version(const struct ks_rtc *rtc, struct ks_buf *text_out, struct ks_err *err)
{
    struct ks_buf library = { 0 };
    int major = 0, minor = 0, code = rtc->version(&major, &minor);
    char hex[33];
    int rc = ks_file_read(rtc->path, &library, err);

    if (rc == 0 && code != KS_RTC_OK)
        rc = ks_fail(err, KS_ELOAD, "%s: version: %s (%d)", rtc->path, rtc->error(code), code);
    if (rc == 0) {
        ks_hex128(ks_id128(library.data, library.len), hex);
        ks_buf_printf(text_out, "%s version %d.%d, %s, %s\n", rtc->title, major, minor,
                      ks_path_base(rtc->path), hex);
    }
    ks_buf_release(&library);
    return rc;
}
