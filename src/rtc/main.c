/* SPDX-License-Identifier: MIT */
/* main.c - ksweep-rtc: a compiler's command line in front of NVRTC or hipRTC (build/gpu_rtc.h). */
#include "build/gpu_rtc.h"

#include "base/file.h"
#include "rtc/library.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_OPTIONS 128

struct task {
    const char *in, *out;
    const char *option[N_OPTIONS];
    char *include[N_OPTIONS]; /* owned: "-IDIR" */
    int n_options, n_includes;
};

static int add_option(struct task *t, const char *option, struct ks_err *err)
{
    if (t->n_options == N_OPTIONS)
        return ks_fail(err, KS_EINVAL, "more than %d options", N_OPTIONS);
    t->option[t->n_options++] = option;
    return 0;
}

/* "-I DIR" is one option here. */
static int add_include(struct task *t, const char *dir, struct ks_err *err)
{
    char *option = NULL;

    if (t->n_includes == N_OPTIONS || asprintf(&option, "-I%s", dir) < 0)
        return ks_fail(err, KS_ENOMEM, "out of memory for options");
    t->include[t->n_includes++] = option;
    return add_option(t, option, err);
}

static int parse(int n, char **word, struct task *t, struct ks_err *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        const bool has_next = i + 1 < n;

        if (strcmp(word[i], "-o") == 0 && has_next)
            t->out = word[++i];
        else if (strcmp(word[i], "-I") == 0 && has_next)
            rc = add_include(t, word[++i], err);
        else if (word[i][0] == '-')
            rc = add_option(t, word[i], err);
        else
            t->in = word[i];
    }
    if (rc == 0 && (t->in == NULL || t->out == NULL))
        rc = ks_fail(err, KS_EINVAL,
                     "usage: " KS_RTC_PROGRAM " nvrtc|hiprtc (--version | [OPTION..] -o OUT IN)");
    return rc;
}

static void print_log(const struct ks_rtc *rtc, void *program)
{
    size_t bytes = 0;
    char *text;

    if (rtc->log_size(program, &bytes) != KS_RTC_OK || bytes <= 1)
        return;
    text = calloc(bytes + 1, 1);
    if (text != NULL && rtc->log(program, text) == KS_RTC_OK)
        fprintf(stderr, "%s\n", text);
    free(text);
}

static int fail_as(const struct ks_rtc *rtc, const char *what, int code, struct ks_err *err)
{
    return ks_fail(err, KS_ELOAD, "%s: %s: %s (%d)", rtc->title, what, rtc->error(code), code);
}

static int keep_code(const struct ks_rtc *rtc, void *program, const char *path, struct ks_err *err)
{
    size_t bytes = 0;
    char *code;
    int result = rtc->code_size(program, &bytes), rc = 0;

    if (result != KS_RTC_OK)
        return fail_as(rtc, "size of the code", result, err);
    if (bytes == 0)
        return ks_fail(err, KS_ELOAD,
                       "%s produced no code: is the architecture a real one, such as sm_90?",
                       rtc->title);
    code = malloc(bytes);
    if (code == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu bytes of code", bytes);
    result = rtc->code(program, code);
    rc = result == KS_RTC_OK ? ks_file_replace(path, code, bytes, err)
                             : fail_as(rtc, "the code", result, err);
    free(code);
    return rc;
}

static int compile(const struct ks_rtc *rtc, const struct task *t, struct ks_err *err)
{
    struct ks_buf source = { 0 };
    void *program = NULL;
    int rc = ks_file_read(t->in, &source, err), result;

    if (rc < 0)
        return rc;
    result = rtc->create(&program, ks_buf_text(&source), t->in, 0, NULL, NULL);
    if (result != KS_RTC_OK) {
        ks_buf_release(&source);
        return fail_as(rtc, "a program", result, err);
    }
    result = rtc->compile(program, t->n_options, t->option);
    print_log(rtc, program);
    rc = result == KS_RTC_OK ? keep_code(rtc, program, t->out, err)
                             : fail_as(rtc, t->in, result, err);
    (void)rtc->destroy(&program);
    ks_buf_release(&source);
    return rc;
}

static int run(const char *vendor, int n, char **word, struct ks_err *err)
{
    struct task t = { .n_options = 0 };
    struct ks_buf text = { 0 };
    struct ks_rtc rtc;
    bool has_library;
    int rc = ks_rtc_load(vendor, &rtc, &text, err);

    if (rc == KS_ENOENT)
        fprintf(stderr, "%s\n", ks_buf_text(&text));
    ks_buf_clear(&text);
    has_library = rc == 0;
    if (rc == 0 && n == 1 && strcmp(word[0], "--version") == 0) {
        rc = ks_rtc_version(&rtc, &text, err);
        fputs(ks_buf_text(&text), stdout);
    } else if (rc == 0) {
        rc = parse(n, word, &t, err);
        rc = rc == 0 ? compile(&rtc, &t, err) : rc;
    }
    for (int i = 0; i < t.n_includes; i++)
        free(t.include[i]);
    ks_buf_release(&text);
    return has_library && rc == KS_ENOENT ? KS_EIO : rc; /* a file is missing, not the library */
}

int main(int argc, char **argv)
{
    struct ks_err err = { 0 };
    int rc = argc > 2 ? run(argv[1], argc - 2, argv + 2, &err)
                      : ks_fail(&err, KS_EINVAL,
                                "usage: " KS_RTC_PROGRAM
                                " nvrtc|hiprtc (--version | [OPTION..] -o OUT IN)");

    if (rc < 0)
        fprintf(stderr, "error: %s\n", err.text);
    return rc == 0 ? 0 : rc == KS_ENOENT ? KS_RTC_NONE : rc == KS_EINVAL ? 2 : 1;
}
