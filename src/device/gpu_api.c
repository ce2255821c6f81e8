/* SPDX-License-Identifier: MIT */
/* gpu_api.c - loads the HIP or CUDA runtime with dlopen; error names, attributes, architecture */
#include "device/gpu_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIP_PROPS_MAX = 4096 }; /* later releases may append */

static const struct {
    const char *title, *variable, *names[4];
} vendors[] = {
    [KS_GPU_HIP] = { "HIP",
                     "KSWEEP_HIP_LIBRARY",
                     { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                       "libamdhip64.so" } },
    [KS_GPU_CUDA] = { "CUDA", "KSWEEP_CUDA_LIBRARY", { "libcuda.so.1" } },
};

struct slot {
    const char *name[2]; /* by vendor; NULL: does not have it */
    size_t at;
    bool is_optional;
};

static const struct slot slots[] = {
#define X(slot, hip, cuda, args) { { #hip, #cuda }, offsetof(struct ks_gpu_api, slot), false },
    KS_GPU_CALLS(X)
#undef X
#define X(slot, hip, cuda, args) { { #hip, #cuda }, offsetof(struct ks_gpu_api, slot), true },
        KS_GPU_CALLS_OPTIONAL(X)
#undef X
#define X(slot, name, result, args) { { #name, NULL }, offsetof(struct ks_gpu_api, slot), false },
            KS_GPU_CALLS_HIP(X)
#undef X
#define X(slot, name, result, args) { { NULL, #name }, offsetof(struct ks_gpu_api, slot), false },
                KS_GPU_CALLS_CUDA(X)
#undef X
    /* CUDA 12.8 and later; the older one reports errors of others too. */
    { { NULL, "cuEventElapsedTime_v2" }, offsetof(struct ks_gpu_api, event_ms), true },
};

/* A pointer to a function that dlsym returned as one to data. */
static void set_slot(struct ks_gpu_api *api, size_t at, void *symbol)
{
    memcpy((char *)api + at, &symbol, sizeof(symbol));
}

static void find_hip_props(void *lib, struct ks_gpu_api *api)
{
    static const struct {
        const char *name;
        size_t arch_at;
    } forms[] = {
#define X(name, bytes, arch_at) { #name, arch_at },
        KS_GPU_HIP_PROPS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && api->hip_props == NULL; i++) {
        set_slot(api, offsetof(struct ks_gpu_api, hip_props), dlsym(lib, forms[i].name));
        api->hip_arch_at = forms[i].arch_at;
    }
}

static void say(char *why, size_t cap, const char *name, const char *text)
{
    size_t at = strlen(why);

    /* The loader names most files itself. */
    snprintf(why + at, cap - at, "%s%s%s%s", at > 0 ? "; " : "",
             strncmp(text, name, strlen(name)) == 0 ? "" : name,
             strncmp(text, name, strlen(name)) == 0 ? "" : ": ", text);
}

/* Whether `name` could be loaded and has all that is needed; else why not is appended. */
static bool load_one(const char *name, struct ks_gpu_api *api, char *why, size_t cap)
{
    /* local: AMD's runtime brings an LLVM of its own along */
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    if (lib == NULL) {
        say(why, cap, name, dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        const char *symbol = slots[i].name[api->vendor];
        void *p = symbol != NULL ? dlsym(lib, symbol) : NULL;

        if (p != NULL)
            set_slot(api, slots[i].at, p);
        if (p == NULL && symbol != NULL && !slots[i].is_optional) {
            char text[128];

            snprintf(text, sizeof(text), "has no %s", symbol);
            say(why, cap, name, text);
            return false;
        }
    }
    if (api->vendor == KS_GPU_HIP)
        find_hip_props(lib, api);
    snprintf(api->library, sizeof(api->library), "%s", name);
    return true;
}

int ks_gpu_load(enum ks_gpu_vendor vendor, struct ks_gpu_api *api_out, struct ks_err *err)
{
    const char *only = getenv(vendors[vendor].variable);
    const char *path = getenv("LD_LIBRARY_PATH");
    char why[420] = "";

    if (only != NULL && *only == '\0')
        only = NULL;
    for (size_t i = 0; i < (only != NULL ? 1 : sizeof(vendors[0].names) / sizeof(char *)); i++) {
        const char *name = only != NULL ? only : vendors[vendor].names[i];
        struct ks_gpu_api api = { .vendor = vendor };

        if (name == NULL || !load_one(name, &api, why, sizeof(why)))
            continue;
        *api_out = api;
        return 0;
    }
    return ks_fail(err, KS_ENODEVICE, "no %s runtime (%s %s; LD_LIBRARY_PATH %s%.60s): %s",
                   vendors[vendor].title, vendors[vendor].variable,
                   only != NULL ? "is set" : "not set", path != NULL ? "=" : "not set",
                   path != NULL ? path : "", why);
}

const char *ks_gpu_error_name(const struct ks_gpu_api *api, int code)
{
    const char *name = NULL;

    if (api->error_name != NULL)
        name = api->error_name(code);
    else if (api->error_text(code, &name) != KS_GPU_OK)
        name = NULL;
    return name != NULL ? name : "unknown error";
}

bool ks_gpu_is_sticky(enum ks_gpu_vendor vendor, int code)
{
    static const int both[] = {
#define X(name, number, hip, cuda) number,
        KS_GPU_STICKY(X)
#undef X
    };
#define X(name, number, constant) number,
    static const int hip[] = { KS_GPU_STICKY_HIP(X) };
    static const int cuda[] = { KS_GPU_STICKY_CUDA(X) KS_GPU_STICKY_CUDA_LATER(X) };
#undef X
    const int *own = vendor == KS_GPU_HIP ? hip : cuda;
    size_t n_own = vendor == KS_GPU_HIP ? sizeof(hip) / sizeof(int) : sizeof(cuda) / sizeof(int);
    bool is_sticky = false;

    for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
        is_sticky = is_sticky || both[i] == code;
    for (size_t i = 0; i < n_own; i++)
        is_sticky = is_sticky || own[i] == code;
    return is_sticky;
}

int ks_gpu_attr(const struct ks_gpu_api *api, enum ks_gpu_attr attr, int dev)
{
    static const int numbers[][2] = {
#define X(name, hip_number, cuda_number, hip, cuda) { hip_number, cuda_number },
        KS_GPU_ATTRS(X)
#undef X
    };
    int v = -1;

    return api->device_attr(&v, numbers[attr][api->vendor], dev) == KS_GPU_OK ? v : -1;
}

/* AMD appends modes: "gfx90a:sramecc+:xnack-". */
static void hip_arch(const struct ks_gpu_api *api, int dev, char *out, size_t cap)
{
    char props[HIP_PROPS_MAX] = { 0 };

    if (api->hip_props == NULL || api->hip_props(props, dev) != KS_GPU_OK)
        return;
    props[sizeof(props) - 1] = '\0';
    snprintf(out, cap, "%.*s", (int)strcspn(props + api->hip_arch_at, ":"),
             props + api->hip_arch_at);
}

void ks_gpu_arch(const struct ks_gpu_api *api, int dev, char *out, size_t cap)
{
    out[0] = '\0';
    if (api->vendor == KS_GPU_HIP) {
        hip_arch(api, dev, out, cap);
    } else {
        int major = ks_gpu_attr(api, KS_GPU_ATTR_CC_MAJOR, dev);
        int minor = ks_gpu_attr(api, KS_GPU_ATTR_CC_MINOR, dev);

        if (major > 0 && minor >= 0)
            snprintf(out, cap, "sm_%d%d", major, minor);
    }
}
