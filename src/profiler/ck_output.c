/* SPDX-License-Identifier: MIT */
/* ck_output.c - reads what ckProfiler prints for grouped convolutions, in all its generations */
/* Source: ROCm/composable_kernel profiler/include/profiler/profile_grouped_conv_*_impl.hpp. */
#include "profiler/ck_output.h"
#include "profiler/ck_arguments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tail's lines follow each other: "Best configuration parameters:", name, time, .. */
struct ks_ck_state {
    bool is_tail;
    int64_t split_k; /* the one that was asked for; KS_CK_SPLIT_K_ALL: several */
    int64_t index;   /* of the chosen instance */
    bool is_verifying;
};

void *ks_ck_state_new(const void *options, const struct ks_problem *p,
                      const struct ks_profiler_choice *choice)
{
    const struct ks_ck_options *o = options;
    struct ks_ck_state *s = calloc(1, sizeof *s);

    (void)p;
    if (!s)
        return NULL;
    s->split_k = o->split_k;
    s->index = choice ? choice->index : KS_PROFILER_UNTOLD;
    s->is_verifying = o->verify > 0;
    return s;
}

void ks_ck_state_free(void *state)
{
    free(state);
}

/* ---- pieces of lines ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Length of the text without `end`, 0 where it does not end so. */
static size_t before_end(const char *text, size_t n, const char *end)
{
    size_t n_end = strlen(end);

    return n > n_end && memcmp(text + n - n_end, end, n_end) == 0 ? n - n_end : 0;
}

/* A number and what follows it, "12.5 ms, "; NULL: not so. */
static const char *take_number(const char *at, const char *unit, double *out)
{
    char *end;

    *out = strtod(at, &end);
    if (end == at || !begins(end, unit))
        return NULL;
    if (!isfinite(*out) || *out < 0)
        *out = 0;
    return end + strlen(unit);
}

/* "4", "-1" or "4 (best occupancy)" to the end of the text. */
static bool take_split_k(const char *at, struct ks_profiler_row *row)
{
    char *end;
    long v = strtol(at, &end, 10);

    if (end == at || v < -1 || v > 1000000)
        return false;
    if (strcmp(end, " (best occupancy)") == 0) {
        row->split_k_requested = -1;
        row->split_k_used = v;
        return true;
    }
    row->split_k_requested = v;
    row->split_k_used = v < 0 ? KS_PROFILER_UNTOLD : v;
    return *end == 0;
}

/* Finds the last ", SplitK " (or another mark) whose rest is a value; returns where it begins. */
static size_t name_length(const char *name, size_t n, const char *mark, struct ks_profiler_row *row)
{
    const char *at = name, *found = NULL, *next;

    while ((next = strstr(at, mark)) != NULL) {
        found = next;
        at = next + 1;
    }
    return found && take_split_k(found + strlen(mark), row) ? (size_t)(found - name) : n;
}

/* ---- rows ---- */

/* "Perf:    0.0123 ms, 45.6 TFlops, 789 GB/s, NAME[, SplitK 4 (best occupancy)]"; other text may
 * stand before it, where two streams meet in one line. */
static int perf_line(struct ks_profiler_reader *r, const char *text, bool *is_taken,
                     struct ks_err *err)
{
    struct ks_ck_state *s = ks_reader_state(r);
    struct ks_profiler_draft *d = ks_reader_held(r);
    double ms, tflops, gb;
    const char *at = take_number(text, " ms, ", &ms);

    at = at ? take_number(at, " TFlops, ", &tflops) : NULL;
    at = at ? take_number(at, " GB/s, ", &gb) : NULL;
    if (!at || !*at)
        return 0;
    *is_taken = true;
    if (d && s->is_verifying && d->row.outcome == KS_O_OK)
        d->row.is_verified = true;
    d = ks_reader_begin(r, err);
    if (!d)
        return (int)err->code;
    d->row.outcome = KS_O_OK;
    d->row.time_ns = ms * 1e6;
    d->row.flops_per_s = tflops * 1e12;
    d->row.bytes_per_s = gb * 1e9;
    d->row.index = s->index;
    ks_draft_name(d, at, name_length(at, strlen(at), ", SplitK ", &d->row));
    return 0;
}

/* "NAME does not support this problem" */
static int unsupported_line(struct ks_profiler_reader *r, const char *text, size_t n,
                            struct ks_err *err)
{
    struct ks_ck_state *s = ks_reader_state(r);
    struct ks_profiler_draft *d = ks_reader_held(r);
    static const char why[] = "does not support this problem";

    if (d && s->is_verifying && d->row.outcome == KS_O_OK)
        d->row.is_verified = true;
    d = ks_reader_begin(r, err);
    if (!d)
        return (int)err->code;
    d->row.outcome = KS_O_UNSUPPORTED;
    ks_draft_name(d, text, name_length(text, n, ", SplitK ", &d->row));
    if (d->name.len > n)
        ks_draft_name(d, text, n);
    ks_draft_reason(d, why, sizeof why - 1);
    return 0;
}

/* "Fail info: NAME" or "Fail info: splitK: 4 NAME", behind the row of that name. */
static int failed_line(struct ks_profiler_reader *r, const char *name, struct ks_err *err)
{
    struct ks_profiler_draft *d = ks_reader_held(r);
    static const char why[] = "the program found the result wrong";
    int64_t split_k = KS_PROFILER_UNTOLD;
    size_t n;

    if (begins(name, "splitK: ")) {
        char *end;

        split_k = strtol(name + 8, &end, 10);
        name = *end == ' ' ? end + 1 : end;
    }
    n = strlen(name);
    if (n == 0)
        return 0;
    if (!d || d->name.len != n || memcmp(d->name.data, name, n) != 0) {
        d = ks_reader_begin(r, err);
        if (!d)
            return (int)err->code;
        ks_draft_name(d, name, n);
        d->row.split_k_used = split_k;
    }
    d->row.outcome = KS_O_WRONG_RESULT;
    d->row.is_verified = false;
    ks_draft_reason(d, why, sizeof why - 1);
    return 0;
}

/* "[3] NAME (SplitK=4)" of a listing. */
static int listed_line(struct ks_profiler_reader *r, char *text, size_t n, bool *is_taken,
                       struct ks_err *err)
{
    struct ks_profiler_draft *d;
    char *end;
    long index = strtol(text + 1, &end, 10);

    if (end == text + 1 || index < 0 || !begins(end, "] ") || !end[2])
        return 0;
    *is_taken = true;
    d = ks_reader_begin(r, err);
    if (!d)
        return (int)err->code;
    d->row.index = index;
    n -= (size_t)(end + 2 - text);
    text = end + 2;
    if (n > 1 && text[n - 1] == ')' && strstr(text, " (SplitK=")) {
        text[n - 1] = 0;
        if (name_length(text, n - 1, " (SplitK=", &d->row) < n - 1)
            n = name_length(text, n - 1, " (SplitK=", &d->row);
        else
            text[n - 1] = ')';
    }
    ks_draft_name(d, text, n);
    return 0;
}

/* ---- what is told of the whole ---- */

static bool number_between(const char *text, const char *before, const char *after, int64_t *out)
{
    const char *at = strstr(text, before);
    char *end;
    long long v;

    if (!at)
        return false;
    at += strlen(before);
    v = strtoll(at, &end, 10);
    if (end == at || v < 0 || !begins(end, after))
        return false;
    *out = v;
    return true;
}

static bool tail_line(struct ks_profiler_reader *r, const char *text, size_t n)
{
    struct ks_profiler_summary *sum = ks_reader_summary(r);
    double ms;

    if (begins(text, "name: ") && n > 6) {
        const char *instance = strstr(text, " (instance ");

        ks_reader_set_best(r, text + 6, instance ? (size_t)(instance - text - 6) : n - 6);
    } else if (begins(text, "avg_time: ")) {
        ms = strtod(text + 10, NULL);
        sum->best_time_ns = isfinite(ms) && ms > 0 ? ms * 1e6 : 0;
    } else {
        return begins(text, "tflops: ") || begins(text, "GB/s: ") || begins(text, "SplitK");
    }
    return true;
}

/* Lines that say something of the run; false: unknown. */
static bool summary_line(struct ks_profiler_reader *r, const char *text, size_t n)
{
    struct ks_ck_state *s = ks_reader_state(r);
    struct ks_profiler_summary *sum = ks_reader_summary(r);
    struct ks_profiler_draft *d = ks_reader_held(r);

    if (begins(text, "Best configuration parameters:")) {
        s->is_tail = sum->has_end = true;
        if (d && s->is_verifying && d->row.outcome == KS_O_OK)
            d->row.is_verified = true;
        return true;
    }
    if (s->is_tail && tail_line(r, text, n))
        return true;
    if (strstr(text, "is not implemented")) {
        sum->is_unimplemented = true;
        ks_reader_set_reason(r, text, n);
        return true;
    }
    if (number_between(text, "Total: ", " valid instances", &sum->n_valid)) {
        sum->has_end = true;
        return true;
    }
    if (number_between(text, "found ", " instances", &sum->n_found) ||
        number_between(text, "valids: ", "", &sum->n_valid))
        return true;
    if (begins(text, "Error: instance_index")) {
        ks_reader_set_reason(r, text, n);
        return true;
    }
    return begins(text, "input: ") || begins(text, "weight: ") || begins(text, "output: ") ||
           begins(text, "out: ") || begins(text, "wei: ") || begins(text, "in: ") ||
           begins(text, "Valid instances") || begins(text, "Relative error threshold: ") ||
           begins(text, "Warning: Unable to determine split_k");
}

/* Options of a std::stoi that met the word "all". */
static bool usage_line(struct ks_profiler_reader *r, const char *text, size_t n)
{
    if (!begins(text, "arg1: tensor operation") && !begins(text, "terminate called after"))
        return false;
    ks_reader_set_reason(r, text, n);
    return true;
}

int ks_ck_line(struct ks_profiler_reader *r, char *text, size_t n, struct ks_err *err)
{
    char *perf = text, *found = NULL;
    bool is_taken = false;
    size_t n_name;
    int rc = 0;

    while ((perf = strstr(perf, "Perf: ")) != NULL) {
        found = perf + 6;
        perf = found;
    }
    n = strlen(text);
    if (found)
        rc = perf_line(r, found, &is_taken, err);
    if (rc < 0 || is_taken)
        return rc;
    n_name = before_end(text, n, " does not support this problem");
    if (n_name > 0) {
        text[n_name] = 0;
        return unsupported_line(r, text, n_name, err);
    }
    if ((found = strstr(text, "Fail info: ")) != NULL)
        return failed_line(r, found + 11, err);
    if (text[0] == '[')
        rc = listed_line(r, text, n, &is_taken, err);
    if (rc < 0 || is_taken)
        return rc;
    if (!summary_line(r, text, n) && !usage_line(r, text, n))
        ks_reader_count_other(r);
    return 0;
}
