/* SPDX-License-Identifier: MIT */
/* gpu_chain.c - the compilers of GPUs: clang for AMD, nvcc for NVIDIA, the host's for the emulator.
 *
 * No header and no library of a vendor is used: a kernel's source brings what it needs. */
#include "build/gpu_chain.h"

#include "base/file.h"
#include "build/gpu_places.h"
#include "build/gpu_rtc.h"
#include "grid/arch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMULATOR_DIR "kernels/gpu/emu"

/* Products that are made into vectors are no longer fused with sums. Code object version 4 is what
 * runtimes from ROCm 4.5 on load. Without a bundle no bundler is needed; without an id of the unit
 * no name in it is made of the file's. */
static const char amd_flags[] =
    "-x hip --cuda-device-only --offload-arch=%s -nogpulib -nogpuinc --no-gpu-bundle-output "
    "-mcode-object-version=4 -fuse-cuid=none -O3 -ffp-contract=fast -fno-slp-vectorize -w "
    "-Wfatal-errors -fdiagnostics-color=never -fno-caret-diagnostics";
/* A block of gfx10 and later stays on one of a workgroup processor's two compute units: else its
 * barriers would wait for loads from memory that are under way. */
static const char amd_cu_mode[] = " -mcumode";
static const char cuda_flags[] = "-x cu -arch=%s -cubin -O3 -w";
static const char nvrtc_flags[] = "-arch=%s -w";
static const char hiprtc_flags[] = "--offload-arch=%s -O3 -ffp-contract=fast -fno-slp-vectorize -w";
/* The kernels' names are looked up; nothing else may take their place. */
static const char emulator_flags[] =
    "-O2 -march=native -std=gnu11 -ffp-contract=off -fno-math-errno -fPIC -shared "
    "-Wl,-Bsymbolic -Wl,--build-id=none -w -Wfatal-errors -fdiagnostics-color=never";

struct rtc { /* the vendor's library that compiles at run time, by ksweep-rtc */
    const char *word, *title, *flags, *variable;
};
struct vendor {
    enum ks_gpu_target target;
    struct rtc rtc;
    const char *variable; /* names a compiler */
    const char *flags;
    const char *probe;    /* builds an empty file; nvcc takes long for that, and says before what it
                             does not know */
    const char *names[6]; /* in order of preference */
    struct ks_gpu_places places;
    const char *adding[2]; /* variables with flags that the compiler takes by itself */
    const char *fix;
};
static const struct vendor amd = {
    .target = KS_GPU_AMD,
    .rtc = { "hiprtc", "hipRTC", hiprtc_flags, "KSWEEP_HIPRTC_LIBRARY" },
    .variable = "KSWEEP_HIPCC",
    .flags = amd_flags,
    .probe = "-o probe.img probe.c",
    .names = { "amdclang", "clang-20", "clang-19", "clang", "hipcc" },
    .places = { .variables = { "ROCM_PATH" }, .roots = { "/opt/rocm" } },
    .adding = { "CCC_OVERRIDE_OPTIONS", "HIPCC_COMPILE_FLAGS_APPEND" },
    .fix = "install one (Debian: clang-19 and lld-19)",
};
static const struct vendor nvidia = {
    .target = KS_GPU_CUDA,
    .rtc = { "nvrtc", "NVRTC", nvrtc_flags, "KSWEEP_NVRTC_LIBRARY" },
    .variable = "KSWEEP_NVCC",
    .flags = cuda_flags,
    .probe = "--dryrun -o probe.img probe.c",
    .names = { "nvcc" },
    .places = { .variables = { "CUDA_HOME", "CUDA_PATH" },
                .roots = { "/usr/local/cuda", "/opt/cuda" },
                .is_in_wheels = true },
    .adding = { "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS" },
    .fix = "install the CUDA toolkit",
};

/* The chip's own instructions need a name with an 'a', whose code runs on nothing else. */
static const char *const own_names[][2] = { { "sm_90", "sm_90a" } };

/* Command lines
 * ------------------------------------------------------------------------------------------- */

int ks_gpu_chain_compile(const struct ks_gpu_chain *t, const char *extra_flags, struct ks_argv *out,
                         struct ks_err *err)
{
    const bool is_emulator = t->target == KS_GPU_EMULATOR;
    out->n = out->used = 0;
    int rc = ks_argv_words(out, t->command, err);
    if (rc == 0)
        rc = ks_argv_words(out, t->flags, err);
    if (rc == 0 && !is_emulator) /* a family's flags are for a GPU's compiler */
        rc = ks_argv_words(out, extra_flags, err);
    if (rc == 0)
        rc = ks_argv_words(out, "-I", err);
    if (rc == 0)
        rc = ks_argv_word(out, t->include_dir, err);
    if (rc == 0)
        rc = ks_argv_words(out, "-o device.img device.c", err);
    for (int i = 0; rc == 0 && i < KS_EMULATOR_SOURCES && t->emulator[i][0]; i++)
        rc = ks_argv_word(out, t->emulator[i], err);
    return rc < 0 || !is_emulator ? rc : ks_argv_words(out, "-lm", err);
}

/* The search
 * ------------------------------------------------------------------------------------------- */

struct search {
    const struct vendor *vendor;
    const char *flags, *probe; /* the vendor's, or those of its library */
    const char *arch;
    struct ks_warden *warden;
    char dir[512]; /* temporary, with an empty probe.c */
    char why[200]; /* not the compiler that was tried last; "": none was there */
    int code;      /* its exit status */
};

static size_t text_of(const struct ks_child_end *end)
{
    return end->n_tail < sizeof(end->tail) ? end->n_tail : sizeof(end->tail);
}

/* 1: it ended well; 0: not, s->why says how. */
static int ask(struct search *s, const char *command, const char *flags, const char *rest,
               struct ks_child_end *end, struct ks_err *err)
{
    struct ks_argv a = { .n = 0 };
    char reason[160];
    int rc = ks_argv_words(&a, command, err);
    if (rc == 0)
        rc = ks_argv_words(&a, flags, err);
    if (rc == 0)
        rc = ks_argv_words(&a, rest, err);
    if (rc == 0)
        rc = ks_command_run(&a, s->dir, s->warden, end, err);
    if (rc < 0)
        return rc;
    if (end->how == KS_END_EXITED && end->code == 0)
        return 1;
    s->code = end->code;
    if (end->how == KS_END_NO_EXEC)
        snprintf(reason, sizeof(reason), "cannot be started");
    else
        ks_toolchain_reason(end->tail, text_of(end), reason, sizeof(reason));
    snprintf(s->why, sizeof(s->why), "%.*s: %s", 36, ks_path_base(command), reason);
    return 0;
}

/* "Debian clang version 19.1.7", "Cuda compilation tools, release 13.0, V13.0.88". */
static void keep_version(const struct ks_child_end *end, char *out, size_t cap)
{
    static const char *const marks[] = { "version", "release", "" };
    const char *line = NULL;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks) && !line; i++)
        line = ks_toolchain_line(end->tail, text_of(end), marks[i], &n);
    snprintf(out, cap, "%.*s", (int)n, line ? line : "");
}

static void put_added(const struct vendor *v, struct ks_buf *text)
{
    for (size_t i = 0; i < sizeof(v->adding) / sizeof(*v->adding); i++) {
        const char *flags = ks_command_variable(v->adding[i]);
        if (flags)
            ks_buf_printf(text, "%s %s\n", v->adding[i], flags);
    }
}

/* 1: it builds for `name`, and *t is whole. */
static int try_name(struct search *s, const char *name, const struct ks_child_end *version,
                    struct ks_gpu_chain *t, struct ks_err *err)
{
    struct ks_child_end end = { .n_tail = 0 };
    struct ks_buf text;
    const int n = snprintf(t->flags, sizeof(t->flags), s->flags, name);
    if (strncmp(name, "gfx1", 4) == 0)
        snprintf(t->flags + n, sizeof(t->flags) - (size_t)n, "%s", amd_cu_mode);
    int rc = ask(s, t->command, t->flags, s->probe, &end, err);
    if (rc <= 0)
        return rc;
    ks_buf_init(&text);
    ks_buf_printf(&text, "compiler %.*s\nwords %s\nflags %s\n", (int)text_of(version),
                  version->tail, ks_toolchain_words(t->command), t->flags);
    put_added(s->vendor, &text);
    if (ks_buf_ok(&text))
        t->id = ks_id128(text.data, text.len);
    else
        rc = ks_fail(err, KS_ENOMEM, "out of memory computing compiler identity");
    ks_buf_release(&text);
    return rc;
}

/* 1: it does; 0: s->why says why not. */
static int try_command(struct search *s, const char *command, struct ks_gpu_chain *t,
                       struct ks_err *err)
{
    struct ks_child_end version = { .n_tail = 0 };
    if (strlen(command) >= sizeof(t->command))
        return ks_fail(err, KS_EINVAL, "compiler '%.60s...': the command is too long", command);
    snprintf(t->command, sizeof(t->command), "%s", command);
    int rc = ask(s, command, "", "--version", &version, err);
    if (rc <= 0)
        return rc;
    keep_version(&version, t->version, sizeof(t->version));
    rc = 0;
    for (size_t i = 0; i < sizeof(own_names) / sizeof(*own_names) && rc == 0; i++)
        if (strcmp(s->arch, own_names[i][0]) == 0)
            rc = try_name(s, own_names[i][1], &version, t, err);
    return rc ? rc : try_name(s, s->arch, &version, t, err);
}

static int search_named(struct search *s, const char *command, struct ks_gpu_chain *t,
                        struct ks_err *err)
{
    const int rc = try_command(s, command, t, err);
    if (rc == 0)
        return ks_fail(err, KS_EINVAL, "the compiler in %s cannot build for %s: %s",
                       s->vendor->variable, s->arch, s->why);
    return rc < 0 ? rc : 0;
}

static void say_missing(const struct search *s, char *missing, size_t cap)
{
    const struct vendor *v = s->vendor;
    struct ks_buf names, places;
    ks_buf_init(&names);
    ks_buf_init(&places);
    for (size_t i = 0; i < sizeof(v->names) / sizeof(*v->names) && v->names[i]; i++)
        ks_buf_printf(&names, "%s%s", i ? ", " : "", v->names[i]);
    ks_gpu_places_text(&v->places, &places);
    if (s->why[0])
        snprintf(missing, cap, "no compiler found that builds for %s; tried %s; %s", s->arch,
                 ks_buf_text(&names), s->why);
    else
        snprintf(missing, cap,
                 "no compiler for %s is installed; looked for %s in %s: %s, or set %s; %s was not "
                 "found either (%s)",
                 s->arch, ks_buf_text(&names), ks_buf_text(&places), v->fix, v->variable,
                 v->rtc.title, v->rtc.variable);
    ks_buf_release(&names);
    ks_buf_release(&places);
}

/* The vendor's library, where no compiler is. Words of a command are split at blanks. 1: it builds;
 * 0: s->why says why not, unless there is none. */
static int search_rtc(struct search *s, struct ks_gpu_chain *t, struct ks_err *err)
{
    char dir[900], command[1024], why[sizeof(s->why)];
    int rc = ks_program_dir(dir, sizeof(dir), err);
    if (rc < 0)
        return rc;
    snprintf(command, sizeof(command), "%s/" KS_RTC_PROGRAM, dir);
    if (access(command, X_OK) < 0 || strpbrk(dir, " \t"))
        return 0;
    snprintf(command, sizeof(command), "%s/" KS_RTC_PROGRAM " %s", dir, s->vendor->rtc.word);
    snprintf(why, sizeof(why), "%s", s->why);
    s->flags = s->vendor->rtc.flags;
    s->probe = "-o probe.img probe.c";
    rc = try_command(s, command, t, err);
    if (rc == 0 && s->code == KS_RTC_NONE)
        snprintf(s->why, sizeof(s->why), "%s", why);
    return rc;
}

static int search_all(struct search *s, struct ks_gpu_chain *t, char *missing, size_t cap,
                      struct ks_err *err)
{
    const struct vendor *v = s->vendor;
    const char *named = ks_command_variable(v->variable);
    char command[1024];
    int rc = 0;
    if (named)
        return search_named(s, named, t, err);
    for (size_t i = 0; i < sizeof(v->names) / sizeof(*v->names) && v->names[i]; i++) {
        rc = ks_gpu_places_find(&v->places, v->names[i], command, sizeof(command))
                 ? try_command(s, command, t, err)
                 : 0;
        if (rc)
            return rc < 0 ? rc : 0;
    }
    rc = search_rtc(s, t, err);
    if (rc == 0)
        say_missing(s, missing, cap);
    return rc < 0 ? rc : 0;
}

static int begin_search(struct search *s, struct ks_err *err)
{
    char path[600];
    int rc = ks_command_scratch("ksweep-probe", s->dir, sizeof(s->dir), err);

    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), s->dir, "probe.c", err);
    return rc < 0 ? rc : ks_file_replace(path, "", 0, err);
}

/* The emulator
 * ------------------------------------------------------------------------------------------- */

static int is_c(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return e->d_name[0] != '.' && dot && strcmp(dot, ".c") == 0;
}

static int list_sources(struct ks_gpu_chain *t, struct ks_err *err)
{
    char dir[800];
    struct dirent **names = NULL;
    int rc = ks_data_path(dir, sizeof(dir), EMULATOR_DIR, err);
    const int n = rc < 0 ? 0 : scandir(dir, &names, is_c, alphasort);
    if (rc == 0 && n < 0)
        rc = ks_fail_errno(err, "'%s'", dir);
    if (rc == 0 && n > KS_EMULATOR_SOURCES)
        rc = ks_fail(err, KS_EINVAL, "the emulator in '%s' has more than %d sources", dir,
                     KS_EMULATOR_SOURCES);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = ks_path_join(t->emulator[i], sizeof(t->emulator[i]), dir, names[i]->d_name, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

static int use_host(const struct ks_toolchain *host, struct ks_gpu_chain *t, struct ks_err *err)
{
    char text[sizeof(emulator_flags) + 80], hex[33];
    ks_hex128(host->id, hex);
    const int n = snprintf(text, sizeof(text), "emulator of %s\nflags %s\n", hex, emulator_flags);
    t->target = KS_GPU_EMULATOR;
    t->id = ks_id128(text, (size_t)n);
    snprintf(t->command, sizeof(t->command), "%s", host->command);
    snprintf(t->version, sizeof(t->version), "%s", host->version);
    snprintf(t->flags, sizeof(t->flags), "%s", emulator_flags);
    return list_sources(t, err);
}

int ks_gpu_chain_find(const char *arch, const struct ks_toolchain *host, struct ks_warden *w,
                      struct ks_gpu_chain *out, char *missing, size_t cap, struct ks_err *err)
{
    struct ks_gpu_chain t = { .target = KS_GPU_NONE };
    struct search s = { .vendor = ks_arch_is_amd(arch) ? &amd : &nvidia,
                        .arch = arch,
                        .warden = w };
    s.flags = s.vendor->flags;
    s.probe = s.vendor->probe;
    int rc = 0;
    missing[0] = '\0';
    snprintf(t.include_dir, sizeof(t.include_dir), "%s", host->include_dir);
    if (ks_arch_is_emulator(arch)) {
        rc = use_host(host, &t, err);
    } else {
        t.target = s.vendor->target;
        rc = begin_search(&s, err);
        if (rc == 0)
            rc = search_all(&s, &t, missing, cap, err);
        if (s.dir[0])
            (void)ks_remove_tree(s.dir, NULL);
    }
    if (rc == 0)
        *out = t;
    return rc;
}
