/* SPDX-License-Identifier: MIT */
/* fdb.c - reads MIOpen's find-db as text: one problem per line, with its fastest solvers */
/*   KEY=Solver:time_ms,workspace,algorithm;...                           from ROCm 5 on
 *   KEY=algorithm:Solver,time_ms,workspace,algorithm,kernel cache;...    before
 *
 * The older form keeps the best solver of each algorithm; the newer one about four solvers. */
#include "analysis/import/intake.h"
#include "analysis/import/peak.h"
#include "base/file.h"
#include "grid/fdb_key.h"

#include <stdio.h>
#include <string.h>

#define LIST_LIMIT 4  /* a list that long may have been cut */
#define LIST_MOST  64 /* solvers of one problem */
#define ALGORITHM  "miopenConvolution"

struct solver {
    char *name, *algorithm;
    double time_ns;
    double workspace_bytes;
};

/* ---- one entry ---- */

/* The part up to `end`, which is cut off; *at moves behind it, or becomes NULL. */
static char *part(char **at, char end)
{
    char *begin = *at, *stop = begin ? strchr(begin, end) : NULL;

    if (stop)
        *stop = '\0';
    *at = stop ? stop + 1 : NULL;
    return begin;
}

/* "miopenConvolutionBwdDataAlgoGEMM" to "GEMM". */
static char *short_algorithm(char *text)
{
    char *algo = text ? strstr(text, "Algo") : NULL;

    return text && strncmp(text, ALGORITHM, strlen(ALGORITHM)) == 0 && algo ? algo + 4 : text;
}

/* NULL, or what is wrong. */
static const char *read_entry(char *text, struct solver *s, bool *is_old_out)
{
    char *at = text, *first = part(&at, ':'), *time, *workspace;

    if (!at)
        return "no ':' after the name of a solver";
    *is_old_out = strncmp(first, ALGORITHM, strlen(ALGORITHM)) == 0;
    s->name = *is_old_out ? part(&at, ',') : first;
    time = part(&at, ',');
    workspace = part(&at, ',');
    s->algorithm = short_algorithm(part(&at, ','));
    if (!s->name || !s->name[0] || strcspn(s->name, " \t|") != strlen(s->name))
        return "a solver has no name";
    if (!time || !ks_intake_number(time, &s->time_ns))
        return "the time of a solver is not a number of milliseconds";
    if (!workspace || !ks_intake_number(workspace, &s->workspace_bytes) ||
        s->workspace_bytes > 9e15)
        return "the workspace of a solver is not a number of bytes";
    if (!s->algorithm || !s->algorithm[0] || strpbrk(s->algorithm, " \t|"))
        return "a solver has no algorithm";
    s->time_ns *= 1e6;
    return NULL;
}

/* ---- one line ---- */

struct list {
    struct solver solver[LIST_MOST];
    uint32_t n, problem;
    bool is_old; /* the form that keeps one solver of each algorithm */
    struct ks_problem p;
    double flops, output_bytes;
    char undecoded[200]; /* "": p holds it */
};

static int read_list(struct ks_intake *im, char *text, struct list *l, struct ks_err *err)
{
    const char *wrong = NULL;

    for (char *at = text; at && *at && !wrong;) {
        bool is_old = false;

        if (l->n == LIST_MOST)
            return ks_intake_fail(im, err, "more than %d solvers of one problem", LIST_MOST);
        wrong = read_entry(part(&at, ';'), &l->solver[l->n], &is_old);
        l->is_old = l->is_old || is_old;
        l->n++;
    }
    return wrong ? ks_intake_fail(im, err, "entry %u: %s", l->n, wrong) : 0;
}

/* Winograd's algorithms need fewer multiplications than flops are counted: of the tiles that
 * MIOpen has at most F(7, 3), (7 * 3 / 9)^2. An FFT may need any number less. */
static double most_over_peak(const char *algorithm)
{
    if (strcmp(algorithm, "FFT") == 0)
        return 0;
    return strcmp(algorithm, "Winograd") == 0 ? 5.5 : 1;
}

static int put_solver(struct ks_intake *im, const struct list *l, const struct solver *s,
                      struct ks_err *err)
{
    struct ks_intake_row row = { .problem = l->problem,
                                 .outcome = KS_O_OK,
                                 .time_ns = s->time_ns,
                                 .workspace_bytes = (int64_t)s->workspace_bytes,
                                 .flops = l->flops,
                                 .output_bytes = l->output_bytes,
                                 .most_over_peak = most_over_peak(s->algorithm),
                                 .dtype = l->p.dtype,
                                 .undecoded = l->undecoded[0] ? l->undecoded : NULL };
    char text[400];
    int rc;

    if (snprintf(text, sizeof(text), "family=miopen abi=1 solver=%.120s | algorithm=%.60s", s->name,
                 s->algorithm) >= (int)sizeof(text) ||
        strlen(s->name) > 63)
        return ks_intake_fail(im, err, "the name of a solver has more than 63 characters");
    if (l->is_old || l->n >= LIST_LIMIT)
        row.flags |= KS_FL_TRUNCATED;
    rc = ks_stage_add_instance(im->stage, im->run, s->name, text, &row.kernel, err);
    return rc < 0 ? rc : ks_intake_put(im, &row, err);
}

/* A problem that is only known as a text keeps its key. */
static int put_problem(struct ks_intake *im, const char *key, struct list *l, struct ks_err *err)
{
    char text[KS_CANONICAL];

    if (!l->undecoded[0])
        return ks_stage_add_problem(im->stage, &l->p, &l->problem, err);
    im->counts.n_undecoded_lists++;
    snprintf(text, sizeof(text), "miopen_fdb_key=%s", key);
    return ks_stage_add_foreign(im->stage, text, key, &l->problem, err);
}

static int read_key(struct ks_intake *im, const char *key, struct list *l, struct ks_err *err)
{
    char copy[512];
    struct ks_err why;
    uint32_t conv;
    int rc = ks_operator_find("grouped_conv", &conv, err);

    if (rc < 0)
        return rc;
    if (strlen(key) >= sizeof(copy))
        return ks_intake_fail(im, err, "a key of more than %zu characters", sizeof(copy) - 1);
    memcpy(copy, key, strlen(key) + 1);
    l->p = ks_problem_blank(conv);
    l->p.count = 1;
    rc = ks_fdb_key(copy, &l->p, &why);
    snprintf(l->p.name, sizeof(l->p.name), "%.*s", (int)sizeof(l->p.name) - 1, key);
    if (rc == KS_ENOMEM)
        return ks_fail(err, rc, "%s", why.text);
    if (rc == KS_EFORMAT)
        return ks_intake_fail(im, err, "%s", why.text);
    if (rc < 0)
        snprintf(l->undecoded, sizeof(l->undecoded), "%.199s", why.text);
    if (rc < 0)
        return 0;
    l->flops = ks_operators[l->p.op]->work(&l->p).flops;
    l->output_bytes =
        (double)ks_operators[l->p.op]->extents(&l->p).c * (double)ks_dtype_bytes(l->p.dtype);
    return 0;
}

static int put_line(struct ks_intake *im, char *line, struct ks_err *err)
{
    char *equals = strchr(line, '=');
    struct list l = { .n = 0 };
    int rc;

    if (!equals)
        return ks_intake_fail(im, err, "no '=' after a key");
    *equals = '\0';
    rc = read_key(im, line, &l, err);
    if (rc == 0)
        rc = read_list(im, equals + 1, &l, err);
    if (rc == 0)
        rc = put_problem(im, line, &l, err);
    im->counts.n_lists++;
    im->counts.n_truncated_lists += l.n > 0 && (l.is_old || l.n >= LIST_LIMIT);
    for (uint32_t i = 0; rc == 0 && i < l.n; i++)
        rc = put_solver(im, &l, &l.solver[i], err);
    return rc;
}

/* ---- the file ---- */

static int find_device(struct ks_intake *im, struct ks_err *err)
{
    const char *name = im->options->device ? im->options->device : ks_path_base(im->path);
    char arch[64];
    uint32_t n_units;

    if (ks_peak_arch(name, arch, sizeof(arch), &n_units))
        return ks_intake_device(im, arch, "", n_units,
                                im->options->device ? "the user" : "the file's name", err);
    return ks_fail(err, KS_EINVAL,
                   "the name of '%s' does not begin with a device such as gfx942130 or gfx906_60, "
                   "and a find-db has no other: give --device",
                   name);
}

static int fdb_read(struct ks_intake *im, struct ks_err *err)
{
    char *line;
    size_t n;
    int rc = find_device(im, err);

    im->note = "milliseconds of MIOpen's find step, runs not stated";
    while (rc >= 0 && (rc = ks_text_in_line(im->in, &line, &n, err)) > 0)
        if (line[0])
            rc = put_line(im, line, err);
    return rc;
}

/* The first line is a key: digits, 'x' and enough '-' before the first capital. */
static bool fdb_sniff(const char *head, size_t n)
{
    size_t at = strspn(head, "0123456789-x"), n_dashes = 0;

    for (size_t i = 0; i < at; i++)
        n_dashes += head[i] == '-';
    return n > at && n_dashes >= 12 && head[0] >= '0' && head[0] <= '9';
}

const struct ks_intake_format ks_intake_fdb = {
    .name = "miopen-fdb",
    .about = "find-db of MIOpen, text",
    .sniff = fdb_sniff,
    .read = fdb_read,
};
