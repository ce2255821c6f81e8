/* SPDX-License-Identifier: MIT */
/* model_read.c - reads a model directory: manifest, problems, instances, cells, trees */
#include "analysis/model/model_dir.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 8 };

/* ---- CSV ---- */

struct table {
    struct ks_model *m;
    char path[4200];
    uint64_t line;
    size_t n_rows;
};
/* One row of n fields; KS_EFORMAT by bad_row(). */
typedef int (*row_fn)(struct table *t, const char **fields, struct ks_err *err);

static int bad_row(const struct table *t, const char *why, struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "%s:%llu: %s: the model directory is damaged, train it again",
                   t->path, (unsigned long long)t->line, why);
}

static int read_rows(struct table *t, char *text, const char *header, size_t n_fields, row_fn row,
                     struct ks_err *err)
{
    const char *fields[MOST_FIELDS];
    int rc = 0;

    for (char *next, *line = text; rc == 0 && *line; line = next) {
        char *end = strchr(line, '\n');
        const char *wrong;
        size_t n = 0;

        t->line++;
        if (!end)
            return bad_row(t, "incomplete line", err);
        *end = '\0';
        next = end + 1;
        if (t->line == 1) {
            rc = strcmp(line, header) == 0 ? 0 : bad_row(t, "unexpected header", err);
            continue;
        }
        wrong = ks_csv_split(line, true, fields, MOST_FIELDS, &n);
        if (wrong || n != n_fields)
            return bad_row(t, wrong ? wrong : "unexpected number of fields", err);
        rc = row(t, fields, err);
        t->n_rows++;
    }
    return rc == 0 && t->line == 0 ? bad_row(t, "empty", err) : rc;
}

static int parse_table(struct ks_model *m, const char *text, size_t len, const char *name,
                       const char *header, size_t n_fields, row_fn row, struct ks_err *err)
{
    struct table t = { .m = m };
    char *copy = malloc(len + 1);
    int rc = copy ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for '%s'", name);

    snprintf(t.path, sizeof(t.path), "%s", name);
    if (rc == 0 && (len == 0 || memchr(text, '\0', len)))
        rc = bad_row(&t, len ? "a NUL byte" : "empty", err);
    if (rc == 0) {
        memcpy(copy, text, len);
        copy[len] = '\0';
        rc = read_rows(&t, copy, header, n_fields, row, err);
    }
    free(copy);
    return rc;
}

static bool number(const char *text, double *out)
{
    char *end;

    errno = 0;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

/* Missing: NaN. */
static bool number_or_missing(const char *text, double *out)
{
    *out = NAN;
    return *text == '\0' || number(text, out);
}

static bool is_flag(const char *text, bool *out)
{
    *out = text[0] == '1';
    return (text[0] == '0' || text[0] == '1') && text[1] == '\0';
}

/* Room for n problems. */
static int grow_problems(struct ks_model *m, size_t n, struct ks_err *err)
{
    uint8_t *fold = realloc(m->fold, n);
    bool *is_outside = realloc(m->is_outside, n * sizeof(*is_outside));
    size_t *pick = realloc(m->pick, n * sizeof(*pick));

    m->fold = fold ? fold : m->fold;
    m->is_outside = is_outside ? is_outside : m->is_outside;
    m->pick = pick ? pick : m->pick;
    return fold && is_outside && pick
               ? 0
               : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", n);
}

static int problem_row(struct table *t, const char **fields, struct ks_err *err)
{
    struct ks_problem p;
    struct ks_err why;
    uint64_t id;
    uint32_t i;
    const bool has_outside = t->m->format >= 3;
    const char *canonical = fields[has_outside ? 5 : 4];
    bool is_outside = false;
    double fold, uses;
    int rc;

    if (has_outside && !is_flag(fields[4], &is_outside))
        return bad_row(t, "is_outside is not 0 or 1", err);
    if (!ks_unhex64(fields[0], &id) || !number(fields[1], &fold) || !number(fields[3], &uses))
        return bad_row(t, "a field is not a number", err);
    if (fold < 0 || fold >= KS_MAX_FOLDS || fabs(uses) > 9e15 ||
        ks_problem_parse(canonical, &p, &why) < 0 || p.id != id)
        return bad_row(t, "the problem does not match its id", err);
    p.count = (int64_t)uses;
    rc = ks_cells_problem(&t->m->cells, &p, &i, err);
    if (rc < 0)
        return rc;
    if (i != t->n_rows)
        return bad_row(t, "duplicate problem", err);
    rc = grow_problems(t->m, t->n_rows + 1, err);
    if (rc < 0)
        return rc;
    t->m->fold[i] = (uint8_t)fold;
    t->m->is_outside[i] = is_outside;
    t->m->pick[i] = KS_NO_CELL;
    return 0;
}

static int instance_row(struct table *t, const char **fields, struct ks_err *err)
{
    uint64_t id;
    uint32_t i;
    int rc;

    if (!ks_unhex64(fields[0], &id))
        return bad_row(t, "not an instance id", err);
    rc = ks_cells_instance(&t->m->cells, id, fields[2], &i, err);
    if (rc == 0 && i != t->n_rows)
        rc = bad_row(t, "duplicate instance", err);
    return rc;
}

/* Scores are by place: sorting must leave every cell where it is. */
static bool is_behind(const struct ks_cells *c, const struct ks_timed_cell *cell)
{
    const struct ks_timed_cell *last = c->n ? &c->cells[c->n - 1] : NULL;

    return !last || last->problem < cell->problem ||
           (last->problem == cell->problem && last->instance < cell->instance);
}

static int cell_row(struct table *t, const char **fields, struct ks_err *err)
{
    struct ks_cells *c = &t->m->cells;
    struct ks_timed_cell cell = { 0 };
    uint64_t problem, instance;
    double score;
    float *grown;
    bool is_pick;

    if (!ks_unhex64(fields[0], &problem) || !ks_unhex64(fields[2], &instance) ||
        !number(fields[3], &cell.time_ns) || !number(fields[4], &cell.se_ns) ||
        !number_or_missing(fields[5], &score) || !is_flag(fields[7], &is_pick) || cell.time_ns <= 0)
        return bad_row(t, "a field is not a number", err);
    cell.problem = ks_cells_find_problem(c, problem);
    cell.instance = ks_cells_find_instance(c, instance);
    if (cell.problem == UINT32_MAX || cell.instance == UINT32_MAX)
        return bad_row(t, "unknown problem or instance", err);
    if (!is_behind(c, &cell))
        return bad_row(t, "duplicate cell, or cells not in order", err);
    if (is_pick && t->m->pick[cell.problem] != KS_NO_CELL)
        return bad_row(t, "two picks of a problem", err);
    if (is_pick)
        t->m->pick[cell.problem] = c->n;
    cell.weight = ks_label_weight(cell.time_ns, cell.se_ns);
    grown = realloc(t->m->scores, (t->n_rows + 1) * sizeof(*grown));
    if (!grown)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", t->n_rows);
    t->m->scores = grown;
    t->m->scores[t->n_rows] = (float)score;
    return ks_cells_add(c, &cell, err);
}

/* ---- manifest.json ---- */

static int read_id(const struct ks_json *doc, const struct ks_node *n, uint64_t *id_out,
                   struct ks_err *err)
{
    const char *text;
    int rc = ks_node_str(doc, n, &text, err);

    if (rc == 0 && !ks_unhex64(text, id_out))
        rc = ks_node_fail(doc, n, err, "not an id of 16 hex digits");
    return rc;
}

static int copy_text(const struct ks_json *doc, const struct ks_node *n, char *out, size_t cap,
                     struct ks_err *err)
{
    const char *text;
    int rc = ks_node_str(doc, n, &text, err);

    if (rc == 0)
        snprintf(out, cap, "%s", text);
    return rc;
}

static int check_format(const struct ks_json *doc, int64_t *format_out, struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(ks_json_root(doc), "model_format");
    int64_t format = 0;
    int rc = n ? ks_node_int(doc, n, &format, err)
               : ks_fail(err, KS_EFORMAT, "%s: is not the manifest of a model", ks_json_name(doc));

    if (rc == 0 && (format < 1 || format > KS_MODEL_FORMAT))
        rc = ks_node_fail(
            doc, n, err, "model format %lld, but this version reads 1 to %d: train the model again",
            (long long)format, KS_MODEL_FORMAT);
    *format_out = format;
    return rc;
}

static int read_count(const struct ks_json *doc, const struct ks_node *n, int64_t most,
                      int64_t *out, struct ks_err *err)
{
    int rc = ks_node_int(doc, n, out, err);

    if (rc == 0 && (*out < 0 || *out > most))
        rc = ks_node_fail(doc, n, err, "not a number from 0 to %lld", (long long)most);
    return rc;
}

/* condition: the node of its id. */
static int read_device(const struct ks_json *doc, const struct ks_node *device,
                       const struct ks_node *condition, struct ks_time_source *s,
                       struct ks_err *err)
{
    const struct ks_node *units = ks_node_at(device, "n_units");
    int64_t n_units = 0;
    int rc = read_id(doc, ks_node_at(device, "class_id"), &s->device_class, err);

    if (rc == 0)
        rc = copy_text(doc, ks_node_at(device, "arch"), s->arch, sizeof(s->arch), err);
    if (rc == 0)
        rc = copy_text(doc, ks_node_at(device, "model"), s->model, sizeof(s->model), err);
    if (rc == 0 && units) /* the first models have none */
        rc = read_count(doc, units, UINT32_MAX, &n_units, err);
    s->n_units = (uint32_t)n_units;
    s->has_device = true;
    return rc == 0 ? read_id(doc, condition, &s->condition, err) : rc;
}

/* What a model of format 1 or 2 says of its source: the device, and the schema of its first file,
 * which has times over rounds since 1.6. */
static int read_old_source(const struct ks_json *doc, struct ks_model *m, struct ks_err *err)
{
    const struct ks_node *root = ks_json_root(doc), *data = ks_node_at(root, "data");
    const struct ks_node *file = data ? ks_node_first(data) : NULL;
    const char *schema = "";
    int64_t n_problems = 0;
    int rc = read_count(doc, ks_node_at(root, "n_problems"), INT64_MAX, &n_problems, err);

    if (rc == 0 && file)
        rc = ks_node_str(doc, ks_node_at(file, "schema"), &schema, err);
    m->device.is_over_rounds =
        strncmp(schema, "1.", 2) == 0 && strtoul(schema + 2, NULL, 10) >= KS_ROUNDS_MINOR;
    m->device.n_problems = (size_t)n_problems;
    m->sources[m->n_sources++] = m->device;
    return rc;
}

static int read_source(const struct ks_json *doc, const struct ks_node *n, struct ks_model *m,
                       struct ks_err *err)
{
    struct ks_time_source *s = &m->sources[m->n_sources++];
    int64_t n_problems = 0;
    int rc = read_device(doc, n, ks_node_at(n, "condition_id"), s, err);

    if (rc == 0)
        rc = ks_node_bool(doc, ks_node_at(n, "is_over_rounds"), &s->is_over_rounds, err);
    if (rc == 0)
        rc = read_count(doc, ks_node_at(n, "n_problems"), INT64_MAX, &n_problems, err);
    s->n_problems = (size_t)n_problems;
    m->device.n_problems += s->n_problems;
    return rc;
}

static int read_sources(const struct ks_json *doc, struct ks_model *m, struct ks_err *err)
{
    const struct ks_node *list = ks_node_at(ks_json_root(doc), "sources");
    const bool is_old = m->format < 3;
    const size_t n = is_old || !list ? 0 : ks_node_size(list);
    int rc = 0;

    m->sources = calloc(n + 1, sizeof(*m->sources));
    if (!m->sources)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu sources", n);
    if (is_old)
        return read_old_source(doc, m, err);
    if (n == 0)
        return ks_node_fail(doc, list ? list : ks_json_root(doc), err, "there are no sources");
    for (list = ks_node_first(list); rc == 0 && list; list = ks_node_next(list))
        rc = read_source(doc, list, m, err);
    m->device.is_over_rounds = m->sources[0].is_over_rounds;
    return rc;
}

static int read_fields(const struct ks_json *doc, struct ks_model *m, struct ks_err *err)
{
    const struct ks_node *root = ks_json_root(doc);
    const char *target;
    int64_t seed = 0;
    int rc = check_format(doc, &m->format, err);

    if (rc == 0)
        rc = read_device(doc, ks_node_at(root, "device"), ks_node_at(root, "condition_id"),
                         &m->device, err);
    if (rc == 0)
        rc = read_sources(doc, m, err);
    if (rc == 0)
        rc = ks_node_int(doc, ks_node_at(root, "seed"), &seed, err);
    if (rc == 0)
        rc = ks_node_str(doc, ks_node_at(root, "target"), &target, err);
    if (rc < 0)
        return rc;
    m->seed = (uint64_t)seed;
    m->target = ks_target_from(target);
    return m->target == KS_N_TARGETS
               ? ks_node_fail(doc, ks_node_at(root, "target"), err, "unknown target '%s'", target)
               : 0;
}

static int parse_manifest(struct ks_model *m, const char *text, size_t len, const char *name,
                          struct ks_err *err)
{
    struct ks_json *doc = NULL;
    int rc = ks_json_parse(text, len, name, &doc, err);

    if (rc == 0)
        rc = read_fields(doc, m, err);
    ks_json_close(doc);
    return rc;
}

/* ---- the texts ---- */

enum { MANIFEST, PROBLEMS, INSTANCES, CELLS };
const char *const ks_model_texts[KS_MODEL_TEXTS] = { "manifest.json", "problems.csv",
                                                     "instances.csv", "oof.csv" };

int ks_model_parse(struct ks_model *m_io, size_t i_text, const char *text, size_t len,
                   const char *name, struct ks_err *err)
{
    static const struct {
        const char *header;
        size_t n_fields;
        row_fn row;
    } tables[KS_MODEL_TEXTS] = {
        [PROBLEMS] = { "problem_id,fold,class,uses,is_outside,canonical", 6, problem_row },
        [INSTANCES] = { "instance_id,n_cells,name", 3, instance_row },
        [CELLS] = { "problem_id,fold,instance_id,time_ns,se_ns,score,is_best,is_pick", 8,
                    cell_row },
    };

    if (i_text == MANIFEST)
        return parse_manifest(m_io, text, len, name, err);
    if (i_text == PROBLEMS && m_io->format < 3)
        return parse_table(m_io, text, len, name, "problem_id,fold,class,uses,canonical", 5,
                           problem_row, err);
    return parse_table(m_io, text, len, name, tables[i_text].header, tables[i_text].n_fields,
                       tables[i_text].row, err);
}

static int read_text(struct ks_model *m, const char *dir, size_t i_text, struct ks_err *err)
{
    struct ks_buf text;
    char path[4200];
    int rc = ks_path_join(path, sizeof(path), dir, ks_model_texts[i_text], err);

    ks_buf_init(&text);
    if (rc == 0)
        rc = ks_file_read(path, &text, err);
    if (rc == KS_ENOENT && i_text == MANIFEST)
        rc = ks_fail(err, KS_ENOENT, "'%s' is not a model directory: it has no manifest.json", dir);
    else if (rc == 0)
        rc = ks_model_parse(m, i_text, ks_buf_text(&text), text.len, path, err);
    ks_buf_release(&text);
    return rc;
}

/* ---- all of it ---- */

static int read_booster(struct ks_model *m, const char *dir, uint32_t n_threads, struct ks_err *err)
{
    struct ks_buf json;
    char path[4200];
    int rc = ks_path_join(path, sizeof(path), dir, "model.json", err);

    ks_buf_init(&json);
    if (rc == 0)
        rc = ks_file_read(path, &json, err);
    if (rc == 0)
        rc = ks_booster_load(&m->booster, json.data, json.len, path, n_threads, err);
    ks_buf_release(&json);
    return rc;
}

int ks_model_read(const char *dir, uint32_t n_threads, struct ks_model *m_out, struct ks_err *err)
{
    size_t n_problems;
    int rc = 0;

    *m_out = (struct ks_model){ 0 };
    for (size_t i = 0; rc == 0 && i < KS_MODEL_TEXTS; i++)
        rc = read_text(m_out, dir, i, err);
    n_problems = m_out->cells.n_problems;
    if (rc == 0)
        rc = ks_cells_finish(&m_out->cells, err);
    if (rc == 0 && m_out->cells.n_problems != n_problems)
        rc = ks_fail(err, KS_EFORMAT,
                     "%s: a problem of problems.csv has no cell in oof.csv: the model directory is "
                     "damaged, train it again",
                     dir);
    for (size_t i = 0; rc == 0 && i < n_problems; i++)
        if (m_out->pick[i] == KS_NO_CELL)
            rc =
                ks_fail(err, KS_EFORMAT,
                        "%s: a problem of problems.csv has no pick in oof.csv: the model directory "
                        "is damaged, train it again",
                        dir);
    return rc == 0 ? read_booster(m_out, dir, n_threads, err) : rc;
}

static int check_spec(const struct ks_model *m, const char *dir, const char *path,
                      const struct ks_feature_spec *spec, struct ks_err *err)
{
    const uint32_t op = m->cells.problems[0].problem.op;
    size_t n_features = 0;
    int rc = 0;

    if (spec->op != op)
        rc = ks_fail(err, KS_EFORMAT,
                     "%s is for operator '%s', but the model's problems are of '%s'", path,
                     ks_operators[spec->op]->name, ks_operators[op]->name);
    if (rc == 0)
        rc = ks_booster_n_features(m->booster, &n_features, err);
    if (rc == 0 && spec->n_features != n_features)
        rc = ks_fail(err, KS_EFORMAT,
                     "%s has %zu features, %s/model.json %zu: the two files belong to different "
                     "models",
                     path, spec->n_features, dir, n_features);
    return rc;
}

int ks_model_read_spec(const struct ks_model *m, const char *dir, struct ks_feature_spec *spec_out,
                       struct ks_err *err)
{
    struct ks_feature_spec spec = { 0 };
    char path[4200];
    int rc = ks_path_join(path, sizeof(path), dir, "feature_spec.json", err);

    if (rc == 0)
        rc = ks_feature_spec_read(path, &spec, err);
    if (rc == 0)
        rc = check_spec(m, dir, path, &spec, err);
    if (rc < 0)
        ks_feature_spec_release(&spec);
    else
        *spec_out = spec;
    return rc;
}

void ks_model_release(struct ks_model *m)
{
    ks_cells_release(&m->cells);
    ks_booster_destroy(m->booster);
    free(m->fold);
    free(m->scores);
    free(m->pick);
    free(m->is_outside);
    free(m->sources);
    *m = (struct ks_model){ 0 };
}
