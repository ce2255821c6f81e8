/* SPDX-License-Identifier: MIT */
/* intake.c - takes imported rows: marks those that cannot be used, counts them, notes origins */
#include "analysis/import/intake.h"
#include "analysis/import/peak.h"
#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Least share of an output of random products that is not zero when all of it was written. */
#define WRITTEN_SHARE 0.9
#define TIME_MOST_NS  1e18

int ks_intake_fail(const struct ks_intake *im, struct ks_err *err, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return ks_fail(err, KS_EFORMAT, "%s:%llu: %s", im->path, (unsigned long long)im->in->line,
                   text);
}

/* ---- device ---- */

int ks_intake_device(struct ks_intake *im, const char *arch, const char *model, uint32_t n_units,
                     const char *from, struct ks_err *err)
{
    struct ks_device_rec rec = { .idle_switches_per_s = KS_MISSING,
                                 .idle_stolen = KS_MISSING,
                                 .n_units = n_units };
    char identity[256];

    snprintf(identity, sizeof(identity), "imported arch=%s model=%s units=%" PRIu32, arch, model,
             n_units);
    rec.device_id = rec.device_class = ks_id64(identity, strlen(identity));
    snprintf(rec.arch, sizeof(rec.arch), "%s", arch);
    snprintf(rec.model, sizeof(rec.model), "%s", model);
    snprintf(rec.text, sizeof(rec.text), "%.63s%s%.63s, as %.40s says", arch,
             arch[0] && model[0] ? " " : "", model, from);
    snprintf(im->arch, sizeof(im->arch), "%s", arch);
    im->n_units_peak = n_units;
    return ks_stage_add_device(im->stage, im->run, &rec, &im->device, err);
}

/* ---- rows ---- */

static void mark(struct ks_stage_attempt *a, uint32_t flag, uint64_t *count_io, char *reason,
                 size_t cap, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
static void mark(struct ks_stage_attempt *a, uint32_t flag, uint64_t *count_io, char *reason,
                 size_t cap, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(reason, cap, fmt, ap);
    va_end(ap);
    a->outcome = KS_O_UNTRUSTED;
    a->flags |= flag;
    a->reason = reason;
    ++*count_io;
}

static double least_sample(const struct ks_intake_row *row)
{
    double least = row->n_samples ? row->sample_ns[0] : row->time_ns;

    for (uint32_t i = 1; i < row->n_samples; i++)
        least = row->sample_ns[i] < least ? row->sample_ns[i] : least;
    return least;
}

/* Why a row that the file calls good must not be used. */
static void classify(struct ks_intake *im, const struct ks_intake_row *row,
                     struct ks_stage_attempt *a, char *reason, size_t cap)
{
    struct ks_intake_counts *n = &im->counts;
    double least = least_sample(row), peak, rate;

    if (row->undecoded) {
        mark(a, KS_FL_UNDECODED, &n->n_undecoded, reason, cap, "problem not decoded: %s",
             row->undecoded);
        return;
    }
    if (least >= 0 && least <= 0) {
        mark(a, KS_FL_ZERO_TIME, &n->n_zero, reason, cap, "the source gives a time of 0");
        a->time_ns = KS_MISSING;
        a->n_samples = 0;
        return;
    }
    peak = row->most_over_peak * ks_peak_flops(im->arch, im->n_units_peak, row->dtype);
    rate = least > 0 ? row->flops / least * 1e9 : 0;
    if (peak > 0 && rate > peak) {
        mark(a, KS_FL_IMPOSSIBLE, &n->n_impossible, reason, cap,
             "%.4g Tflop/s: at most %.4g are possible on %.0f units of %.20s", rate / 1e12,
             peak / 1e12, im->n_units_peak, im->arch);
        return;
    }
    peak = ks_peak_bytes(im->arch, im->n_units_peak);
    rate = least > 0 ? row->output_bytes / least * 1e9 : 0;
    if (peak > 0 && rate > peak) {
        mark(a, KS_FL_IMPOSSIBLE, &n->n_impossible, reason, cap,
             "%.4g TB/s of output: at most %.4g are possible on %.0f units of %.20s", rate / 1e12,
             peak / 1e12, im->n_units_peak, im->arch);
        return;
    }
    if (row->n_elements && (double)row->n_non_zero < WRITTEN_SHARE * (double)row->n_elements)
        mark(a, KS_FL_PARTIAL, &n->n_partial, reason, cap,
             "only %.1f %% of the output is not zero: the rest was not written",
             100 * (double)row->n_non_zero / (double)row->n_elements);
}

static const char *time_text(double ns, char *out, size_t cap)
{
    if (ns < 0)
        return "no time";
    snprintf(out, cap, "%.9g ns", ns);
    return out;
}

/* Listed before with another result: neither counts. */
static int contradict(struct ks_intake *im, uint32_t first, struct ks_stage_attempt *a,
                      char *reason, size_t cap, struct ks_err *err)
{
    char before[32], now[32];

    im->counts.n_contradicted += !(ks_stage_flags(im->stage, first) & KS_FL_CONTRADICTED);
    mark(a, KS_FL_CONTRADICTED, &im->counts.n_contradicted, reason, cap,
         "listed more than once: %s and %s",
         time_text(ks_stage_time(im->stage, first), before, sizeof(before)),
         time_text(a->time_ns, now, sizeof(now)));
    return ks_stage_mark(im->stage, first, KS_O_UNTRUSTED, KS_FL_CONTRADICTED, reason, err);
}

/* The same time again; a failure repeats failures only. */
static bool is_repeat(const struct ks_intake *im, uint32_t first, const struct ks_stage_attempt *a)
{
    const double before = ks_stage_time(im->stage, first);
    const uint32_t differ = ks_stage_flags(im->stage, first) ^ a->flags;

    return !(before < a->time_ns) && !(before > a->time_ns) && !(differ & KS_FL_UNCONFIRMED);
}

static double mean_sample(const struct ks_intake_row *row)
{
    double sum = 0;

    for (uint32_t i = 0; i < row->n_samples; i++)
        sum += row->sample_ns[i];
    return row->n_samples ? sum / row->n_samples : row->time_ns;
}

/* Of what is longer neither the statistics nor float32 samples would be numbers. */
static bool is_too_long(const struct ks_intake_row *row)
{
    double most = row->time_ns;

    for (uint32_t i = 0; i < row->n_samples; i++)
        most = row->sample_ns[i] > most ? row->sample_ns[i] : most;
    return !(most <= TIME_MOST_NS);
}

/* Of samples the stage keeps the time that was given with them, else their mean, too: to tell
 * repeats. */
int ks_intake_put(struct ks_intake *im, const struct ks_intake_row *row, struct ks_err *err)
{
    struct ks_stage_attempt a = { .run = im->run,
                                  .problem = row->problem,
                                  .kernel = row->kernel,
                                  .device = im->device,
                                  .outcome = row->outcome,
                                  .flags = row->flags | KS_FL_IMPORTED,
                                  .reason = row->reason,
                                  .time_ns = row->time_ns < 0 ? mean_sample(row) : row->time_ns,
                                  .sample_ns = row->sample_ns,
                                  .n_samples = row->n_samples,
                                  .started_ns = row->started_ns,
                                  .workspace_bytes = row->workspace_bytes,
                                  .n_elements = row->n_elements,
                                  .n_non_zero = row->n_non_zero };
    uint32_t first = ks_stage_find(im->stage, im->run, row->problem, row->kernel);
    char reason[160];
    int rc = 0;

    if (is_too_long(row))
        return ks_intake_fail(im, err, "a time of more than 31 years");
    im->counts.n_rows++;
    if (a.outcome == KS_O_OK)
        classify(im, row, &a, reason, sizeof(reason));
    else {
        im->counts.n_failed += a.outcome != KS_O_UNTRUSTED;
        im->counts.n_inconsistent += a.outcome == KS_O_UNTRUSTED;
        a.flags |= KS_FL_UNCONFIRMED;
    }
    if (first != KS_NO_ROW && is_repeat(im, first, &a)) {
        im->counts.n_repeated++;
        return 0;
    }
    if (first != KS_NO_ROW)
        rc = contradict(im, first, &a, reason, sizeof(reason), err);
    if (rc == 0)
        rc = ks_stage_add(im->stage, &a, err);
    im->counts.n_stored += rc == 0;
    return rc;
}

/* ---- texts ---- */

bool ks_intake_number(const char *text, double *out)
{
    char *end;

    if (!(text[0] >= '0' && text[0] <= '9') && text[0] != '.')
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out) && strspn(text, "0123456789.eE+-") == strlen(text);
}

double ks_intake_unit_ns(const char *unit, bool *is_odd_out)
{
    static const struct {
        const char *name;
        double ns;
        bool is_odd;
    } units[] = {
        { "ns", 1, false },           { "nanoseconds", 1, false },
        { "us", 1e3, false },         { "microseconds", 1e3, false },
        { "ms", 1e6, false },         { "milliseconds", 1e6, false },
        { "miliseconds", 1e6, true }, { "s", 1e9, false },
        { "seconds", 1e9, false },
    };
    char lower[24];
    size_t n = strlen(unit);

    for (size_t i = 0; i <= n && n < sizeof(lower); i++)
        lower[i] = (char)(unit[i] >= 'A' && unit[i] <= 'Z' ? unit[i] + 32 : unit[i]);
    for (size_t i = 0; n < sizeof(lower) && i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(units[i].name, lower) == 0) {
            *is_odd_out = units[i].is_odd;
            return units[i].ns;
        }
    return 0;
}

/* Days since 1970-01-01 in the Gregorian calendar. Source: Hinnant, chrono-compatible dates. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    int64_t era, year, day;

    y -= m <= 2;
    era = y / 400;
    year = y - era * 400;
    day = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

uint64_t ks_intake_time(const char *text)
{
    int year, month, day, hour, minute, second, used = 0, h = 0, m = 0;
    double part = 0;
    int64_t s;

    if (sscanf(text, "%4d-%2d-%2d%*1[ T]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
               &second, &used) < 6 ||
        used == 0)
        return 0;
    if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return 0;
    text += used;
    if (*text == '.') {
        size_t n = 1 + strspn(text + 1, "0123456789");

        part = strtod(text, NULL);
        text += n;
    }
    if ((*text == '+' || *text == '-') && sscanf(text + 1, "%2d:%2d", &h, &m) != 2)
        return 0;
    s = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    s -= (*text == '-' ? -1 : 1) * (h * 3600 + m * 60);
    return s < 0 ? 0 : (uint64_t)s * 1000000000u + (uint64_t)(part * 1e9);
}

/* ---- a file ---- */

static const struct ks_intake_format *find_format(const char *head, size_t n)
{
    for (size_t i = 0; ks_intake_formats[i]; i++)
        if (ks_intake_formats[i]->sniff(head, n))
            return ks_intake_formats[i];
    return NULL;
}

static int put_counts(const struct ks_intake *im, struct ks_err *err)
{
    const struct ks_intake_counts *n = &im->counts;
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        { "source_lists", n->n_lists },
        { "source_rows", n->n_rows },
        { "rows_repeated", n->n_repeated },
        { "rows_failed", n->n_failed },
        { "rows_inconsistent", n->n_inconsistent },
        { "rows_zero_time", n->n_zero },
        { "rows_impossible", n->n_impossible },
        { "rows_contradicted", n->n_contradicted },
        { "rows_undecoded", n->n_undecoded },
        { "rows_partial_output", n->n_partial },
        { "lists_undecoded", n->n_undecoded_lists },
        { "lists_truncated", n->n_truncated_lists },
        { "names_unknown", n->n_unknown_names },
        { "results_cut", n->n_cut },
        { "units_misspelt", n->n_odd_units },
    };
    char text[24];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), "%" PRIu64, rows[i].value);
        rc = ks_stage_note(im->stage, im->run, rows[i].key, text, err);
    }
    return rc;
}

static int check_new(const struct ks_intake *im, const char *id, struct ks_err *err)
{
    for (uint32_t i = 0; i < im->run; i++)
        if (strcmp(ks_stage_run(im->stage, i)->run_id, id) == 0)
            return ks_fail(err, KS_EEXIST, "'%s' and '%s' have the same content: give one of them",
                           ks_stage_run(im->stage, i)->dir, im->path);
    return 0;
}

/* Who says so: the run's row, and provenance. */
static int put_provenance(struct ks_intake *im, const struct ks_intake_format *format,
                          struct ks_err *err)
{
    struct ks_run_row *run = ks_stage_run(im->stage, im->run);
    char digest[65], bytes[24], *real;
    int rc = ks_text_in_digest(im->in, digest, err);

    if (rc < 0)
        return rc;
    snprintf(run->run_id, sizeof(run->run_id), "%.32s", digest);
    rc = check_new(im, run->run_id, err);
    if (rc < 0)
        return rc;
    snprintf(run->job_name, sizeof(run->job_name), "%.63s", ks_path_base(im->path));
    real = realpath(im->path, NULL);
    snprintf(run->dir, sizeof(run->dir), "%s", real ? real : im->path);
    free(real);
    snprintf(run->version, sizeof(run->version), "import %s", format->name);
    run->condition_id = ks_id64(run->version, strlen(run->version));
    snprintf(bytes, sizeof(bytes), "%" PRIu64, im->in->n_bytes);
    rc = ks_stage_note(im->stage, im->run, "source_file", ks_path_base(im->path), err);
    if (rc == 0)
        rc = ks_stage_note(im->stage, im->run, "source_sha256", digest, err);
    if (rc == 0)
        rc = ks_stage_note(im->stage, im->run, "source_bytes", bytes, err);
    if (rc == 0)
        rc = ks_stage_note(im->stage, im->run, "source_format", format->name, err);
    if (rc == 0)
        rc = ks_stage_note(im->stage, im->run, "verified_by", "nobody", err);
    if (rc == 0 && im->note)
        rc = ks_stage_note(im->stage, im->run, "source_time", im->note, err);
    return rc == 0 ? put_counts(im, err) : rc;
}

int ks_intake_read(struct ks_stage *stage, struct ks_text_in *in, const char *path,
                   const struct ks_intake_format *format, const struct ks_intake_options *options,
                   struct ks_intake_counts *counts_out, struct ks_err *err)
{
    struct ks_intake im = {
        .stage = stage, .in = in, .path = path, .options = options, .device = KS_NO_ROW
    };
    struct ks_run_row *run;
    int rc = ks_stage_add_run(stage, &run, &im.run, err);

    if (rc == 0)
        rc = format->read(&im, err);
    if (rc == 0 && im.counts.n_rows == 0)
        rc = ks_fail(err, KS_EFORMAT, "%s: no results found", path);
    if (rc == 0)
        rc = put_provenance(&im, format, err);
    if (rc == 0)
        *counts_out = im.counts;
    return rc;
}

static void list_formats(char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; ks_intake_formats[i] && at < cap; i++)
        at +=
            (size_t)snprintf(out + at, cap - at, "%s%s", i ? ", " : "", ks_intake_formats[i]->name);
}

/* The program that unpacks a file with this beginning; NULL: it is not packed. */
static const char *unpacker(const char *head, size_t n)
{
    static const struct {
        const char *magic, *program;
    } rows[] = { { "\x1f\x8b", "gzip" },
                 { "BZh", "bzip2" },
                 { "\xfd"
                   "7zXZ",
                   "xz" },
                 { "\x28\xb5\x2f\xfd", "zstd" } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (n >= strlen(rows[i].magic) && memcmp(head, rows[i].magic, strlen(rows[i].magic)) == 0)
            return rows[i].program;
    return NULL;
}

int ks_intake_file(struct ks_stage *stage, const char *path, const struct ks_intake_format *format,
                   const struct ks_intake_options *options, struct ks_intake_counts *counts_out,
                   const struct ks_intake_format **used_out, struct ks_err *err)
{
    struct ks_text_in in = { 0 };
    const char *head;
    char names[160];
    size_t n;
    int rc = ks_text_in_open(&in, path, err);

    if (rc == 0)
        rc = ks_text_in_head(&in, &head, &n, err);
    if (rc == 0 && unpacker(head, n))
        rc = ks_fail(err, KS_EFORMAT, "'%s' is compressed: unpack it first with %s -d", path,
                     unpacker(head, n));
    if (rc == 0 && !format)
        format = find_format(head, n);
    list_formats(names, sizeof(names));
    if (rc == 0 && !format)
        rc = ks_fail(err, KS_EFORMAT,
                     "'%s' is not in one of the formats %s: name the format with --from", path,
                     names);
    if (rc == 0)
        rc = ks_intake_read(stage, &in, path, format, options, counts_out, err);
    if (rc == 0)
        *used_out = format;
    ks_text_in_close(&in);
    return rc;
}
