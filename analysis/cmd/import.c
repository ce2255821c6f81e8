/* SPDX-License-Identifier: MIT */
/* import.c - ksweep-analyze import: results of other tools as a results file, or a merge */
#include "analysis/cmd/analyze.h"
#include "analysis/import/intake.h"
#include "base/file.h"
#include "store/merge.h"

#include <stdio.h>
#include <string.h>

/* "auto", the names of ks_intake_formats, "ksweep". */
static const char *const formats[] = {
    "auto", "miopen-fdb",       "ck",           "t4",     "kernel-tuner",
    "ktt",  "profiler-results", "profiler-log", "ksweep", NULL
};
enum { FROM_AUTO = 0, FROM_KSWEEP = 8 };

struct config {
    const char *output;
    struct ks_intake_options intake;
    unsigned from;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .is_output = true,
      .help = "results file (HDF5) to write; required" },
    { .name = "from",
      .type = KS_OPT_ENUM,
      .offset = AT(from),
      .def = "auto",
      .choices = formats,
      .arg = "FORMAT",
      .help = "format of the files: MIOpen's find-db (text), Composable Kernel's CSV, T4, Kernel "
              "Tuner's cache, KTT, results of Composable Kernel's run_ck_profiler.py, logs of "
              "ckProfiler and MIOpenDriver, or results files of ksweep, which are merged" },
    { .name = "device",
      .type = KS_OPT_STR,
      .offset = AT(intake.device),
      .arg = "NAME",
      .help = "device that measured, if neither the file nor its name says it: gfx942130 (arch and "
              "compute units in hex), MI250X" },
    { .name = "problem",
      .type = KS_OPT_STR,
      .offset = AT(intake.problem),
      .arg = "NAME",
      .help = "problem of a tuner's file, instead of its name; for a log: the command that printed "
              "it" },
    KS_OPT_END
};
#undef AT

/* ---- what was found ---- */

static void note_marked(struct ks_buf *notes, const char *path, uint64_t n, const char *what)
{
    if (n)
        ks_buf_printf(notes, "ksweep-analyze import: %s: %llu %s\n", path, (unsigned long long)n,
                      what);
}

static void note_counts(struct ks_buf *notes, const char *path, const char *format,
                        const struct ks_intake_counts *n)
{
    const struct {
        uint64_t n;
        const char *what;
    } marks[] = {
        { n->n_repeated, "rows listed again with the same time: left out" },
        { n->n_failed, "failures (flag unconfirmed)" },
        { n->n_inconsistent, "rows that contradict themselves: untrusted (flag unconfirmed)" },
        { n->n_zero, "rows with a time of 0: untrusted (flag zero_time)" },
        { n->n_impossible, "rows faster than the device's peak rate: untrusted (flag impossible)" },
        { n->n_contradicted, "rows listed with different times: untrusted (flag contradicted)" },
        { n->n_undecoded, "rows of problems that cannot be decoded: untrusted (flag undecoded)" },
        { n->n_partial, "rows whose output is mostly zero: untrusted (flag partial_output)" },
        { n->n_truncated_lists, "problems of which only some candidates are kept (flag "
                                "truncated_list)" },
        { n->n_unknown_names, "rows of kernels whose traits cannot be read from the name" },
        { n->n_cut, "results truncated by the end of the file: left out" },
        { n->n_odd_units, "unit of time misspelled, read as milliseconds" },
    };

    ks_buf_printf(notes, "ksweep-analyze import: %s: %s, %llu %s, %llu rows, not verified\n", path,
                  format, (unsigned long long)n->n_lists, n->n_lists == 1 ? "list" : "lists",
                  (unsigned long long)n->n_rows);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        note_marked(notes, path, marks[i].n, marks[i].what);
}

/* ---- files of other tools ---- */

/* NULL: found by the beginning of each file. */
static const struct ks_intake_format *format_of(const struct config *c)
{
    for (size_t i = 0; ks_intake_formats[i]; i++)
        if (strcmp(ks_intake_formats[i]->name, formats[c->from]) == 0)
            return ks_intake_formats[i];
    return NULL;
}

static int import_foreign(const struct config *c, const char *const *paths, int n,
                          struct ks_buf *notes, struct ks_err *err)
{
    const struct ks_intake_format *format = format_of(c);
    const struct ks_store_options options = { .program = "ksweep-analyze import" };
    const struct ks_intake_format *used = NULL;
    struct ks_stage *stage = NULL;
    int rc = ks_stage_create(&stage, err);

    for (int i = 0; rc == 0 && i < n; i++) {
        struct ks_intake_counts counts;

        rc = ks_intake_file(stage, paths[i], format, &c->intake, &counts, &used, err);
        if (rc == 0)
            note_counts(notes, paths[i], used->name, &counts);
    }
    if (rc == 0)
        rc = ks_stage_write(stage, c->output, &options, NULL, err);
    ks_stage_destroy(stage);
    return rc;
}

/* ---- results files of ksweep ---- */

static int merge_own(const struct config *c, const char *const *paths, int n, struct ks_buf *notes,
                     struct ks_err *err)
{
    const struct ks_store_options options = { .program = "ksweep-analyze import" };
    struct ks_merge_totals t;
    int rc = ks_store_merge(paths, (size_t)n, c->output, &options, &t, err);

    if (rc < 0)
        return rc;
    ks_buf_printf(notes,
                  "ksweep-analyze import: %d files, %u runs, %u devices, %u problems, %llu cells\n",
                  n, t.n_runs, t.n_devices, t.n_problems, (unsigned long long)t.n_cells);
    if (t.n_runs_repeated)
        ks_buf_printf(notes,
                      "ksweep-analyze import: %u runs are in several files: the copy with more "
                      "records is used\n",
                      t.n_runs_repeated);
    return 0;
}

static int import(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                  struct ks_err *err)
{
    const struct config *c = cfg;
    int n_own = 0, rc = 0;

    if (!c->output)
        return ks_fail(err, KS_EINVAL, "name the results file to write with -o FILE");
    for (int i = 0; rc == 0 && i < n; i++) {
        bool is_ours = false;

        rc = ks_text_in_is_hdf5(operands[i], &is_ours, err);
        n_own += is_ours;
    }
    if (rc < 0)
        return rc;
    if (c->from == FROM_KSWEEP && n_own < n)
        return ks_fail(err, KS_EFORMAT, "some of the files are not results files of ksweep");
    if (n_own > 0 && (n_own < n || (c->from != FROM_KSWEEP && c->from != FROM_AUTO)))
        return ks_fail(err, KS_EINVAL,
                       "results files of ksweep and other files cannot be mixed: import the other "
                       "files first, then merge the results");
    return n_own ? merge_own(c, operands, n, notes, err)
                 : import_foreign(c, operands, n, notes, err);
}

const struct ks_analysis ks_analysis_import = {
    .name = "import",
    .summary =
        "Import measurements of other tools into a results file, or merge several results files.",
    .usage = "import FILE... -o FILE [--from FORMAT] [--device NAME] [--problem NAME]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 0,
    .run = import,
};
