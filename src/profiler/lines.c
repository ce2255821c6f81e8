/* SPDX-License-Identifier: MIT */
/* lines.c - the adapter of other programs: a command template, output in lines, CSV or patterns */
#include "base/text.h"
#include "profiler/lines_impl.h"
#include "profiler/option.h"

#include <stdlib.h>
#include <string.h>

static const char *const keys[] = { "command",       "words", "programs", "output",      "fields",
                                    "pattern",       "start", "wrong",    "unsupported", "end",
                                    "unimplemented", "units", "outcomes", "separator",   "version",
                                    "protocol",      NULL };
static const char *const event_keys[KS_LINES_N_EVENTS] = {
    [KS_LINES_START] = "start", [KS_LINES_UNSUPPORTED] = "unsupported",
    [KS_LINES_WRONG] = "wrong", [KS_LINES_UNIMPLEMENTED] = "unimplemented",
    [KS_LINES_END] = "end",
};

struct unit {
    const char *name;
    double value;
};
static const struct unit time_units[] = {
    { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "s", 1e9 }, { NULL, 0 }
};
static const struct unit rate_units[] = { { "GFLOP/s", 1e9 }, { "TFLOP/s", 1e12 },
                                          { "MFLOP/s", 1e6 }, { "kFLOP/s", 1e3 },
                                          { "FLOP/s", 1 },    { NULL, 0 } };
static const struct unit bandwidth_units[] = { { "GB/s", 1e9 },        { "TB/s", 1e12 },
                                               { "MB/s", 1e6 },        { "kB/s", 1e3 },
                                               { "B/s", 1 },           { "GiB/s", 1073741824.0 },
                                               { "MiB/s", 1048576.0 }, { NULL, 0 } };

/* ---- options ---- */

static int read_unit(const struct ks_json *doc, const struct ks_node *units, const char *key,
                     const struct unit *table, double *out, struct ks_err *err)
{
    const char *names[12] = { NULL };
    int which = 0, rc;

    for (int i = 0; table[i].name; i++)
        names[i] = table[i].name;
    rc = ks_profiler_choice_option(doc, units, key, names, &which, err);
    if (rc == 0)
        *out = table[which].value;
    return rc;
}

static int read_units(const struct ks_json *doc, const struct ks_node *root,
                      struct ks_lines_options *o, struct ks_err *err)
{
    static const char *const known[] = { "time", "rate", "bandwidth", NULL };
    const struct ks_node *units = ks_node_at(root, "units");
    int rc = units ? ks_node_only(doc, units, known, err) : 0;

    if (rc == 0)
        rc = read_unit(doc, units, "time", time_units, &o->time_ns, err);
    if (rc == 0)
        rc = read_unit(doc, units, "rate", rate_units, &o->rate, err);
    if (rc == 0)
        rc = read_unit(doc, units, "bandwidth", bandwidth_units, &o->bandwidth, err);
    return rc;
}

/* Every "{" begins a known field, or is doubled. */
static int check_word(const struct ks_json *doc, const struct ks_node *n, struct ks_err *err)
{
    const char *text = NULL, *near = NULL;
    int rc = ks_node_str(doc, n, &text, err);

    while (rc == 0 && *(text += strcspn(text, "{}"))) {
        size_t len = strcspn(text + 1, "{}");

        if (text[1] == text[0]) {
            text += 2;
            continue;
        }
        if (*text == '}' || text[1 + len] != '}')
            return ks_node_fail(doc, n, err, "single '%c': write it twice for the character itself",
                                *text);
        if (len >= 64 || !ks_lines_field_known(text + 1, len, &near))
            return ks_node_fail(
                doc, n, err, "unknown field '{%.*s}'%s%s%s", (int)(len < 40 ? len : 40), text + 1,
                near ? ", did you mean '{" : "", near ? near : "", near ? "}'" : "");
        text += len + 2;
    }
    return rc;
}

static int check_command(const struct ks_json *doc, const struct ks_node *root, struct ks_err *err)
{
    const struct ks_node *words = ks_node_at(root, "command");
    int rc = 0;

    if (!words || ks_node_kind(words) != KS_JSON_ARRAY || ks_node_size(words) == 0)
        return ks_node_fail(doc, words ? words : root, err,
                            "command must be a list of words, as in [\"{program}\", \"--n={n}\"]");
    for (const struct ks_node *n = ks_node_first(words); rc == 0 && n; n = ks_node_next(n))
        rc = check_word(doc, n, err);
    return rc;
}

/* { "field": "text", .. } of texts. */
static int check_texts(const struct ks_json *doc, const struct ks_node *map, struct ks_err *err)
{
    const char *text = NULL;
    int rc = 0;

    if (ks_node_kind(map) != KS_JSON_OBJECT)
        return ks_node_fail(doc, map, err, "expected an object of strings");
    for (const struct ks_node *n = ks_node_first(map); rc == 0 && n; n = ks_node_next(n))
        rc = ks_node_str(doc, n, &text, err);
    return rc;
}

static int check_words(const struct ks_json *doc, const struct ks_node *root, struct ks_err *err)
{
    const struct ks_node *words = ks_node_at(root, "words");
    const char *near = NULL;
    int rc = 0;

    if (words && ks_node_kind(words) != KS_JSON_OBJECT)
        return ks_node_fail(doc, words, err, "expected an object");
    for (const struct ks_node *n = words ? ks_node_first(words) : NULL; rc == 0 && n;
         n = ks_node_next(n)) {
        if (!ks_lines_field_known(ks_node_key(n), strlen(ks_node_key(n)), &near))
            return ks_node_fail(doc, n, err, "no such field of a template%s%s%s",
                                near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
        rc = check_texts(doc, n, err);
    }
    return rc;
}

static int check_outcomes(const struct ks_json *doc, const struct ks_node *root, struct ks_err *err)
{
    const struct ks_node *map = ks_node_at(root, "outcomes");
    int rc = map ? check_texts(doc, map, err) : 0;

    for (const struct ks_node *n = map ? ks_node_first(map) : NULL; rc == 0 && n;
         n = ks_node_next(n)) {
        const char *text = "";

        rc = ks_node_str(doc, n, &text, err);
        if (rc == 0 && strcmp(text, "ok") != 0 && strcmp(text, "unsupported") != 0 &&
            strcmp(text, "wrong_result") != 0 && strcmp(text, "untrusted") != 0)
            rc = ks_node_fail(doc, n, err,
                              "'%.40s' is not one of ok, unsupported, wrong_result, untrusted",
                              text);
    }
    return rc;
}

static int compile(const struct ks_json *doc, const struct ks_node *n, struct ks_pattern *out,
                   struct ks_err *err)
{
    const char *text = NULL;
    struct ks_err why;
    int rc = ks_node_str(doc, n, &text, err);

    if (rc < 0)
        return rc;
    rc = ks_pattern_compile(text, out, &why);
    if (rc == KS_ENOMEM)
        return ks_fail(err, KS_ENOMEM, "%s", why.text);
    return rc < 0 ? ks_node_fail(doc, n, err, "%s", why.text) : 0;
}

static int read_patterns(const struct ks_json *doc, const struct ks_node *root,
                         struct ks_lines_options *o, struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(root, "pattern");
    bool is_list = n && ks_node_kind(n) == KS_JSON_ARRAY, has_instance = false;
    int rc = 0;

    if ((n != NULL) != (o->output == KS_LINES_PATTERN))
        return ks_node_fail(doc, n ? n : root, err,
                            "\"pattern\" and \"output\": \"pattern\" must be given together");
    if (!n)
        return 0;
    for (n = is_list ? ks_node_first(n) : n; rc == 0 && n; n = is_list ? ks_node_next(n) : NULL) {
        if (o->n_patterns == KS_LINES_PATTERNS)
            return ks_node_fail(doc, n, err, "more than %d patterns", KS_LINES_PATTERNS);
        rc = compile(doc, n, &o->patterns[o->n_patterns], err);
        if (rc == 0)
            has_instance |= ks_pattern_has(&o->patterns[o->n_patterns++], "instance");
    }
    if (rc == 0 && !has_instance)
        rc = ks_node_fail(doc, ks_node_at(root, "pattern"), err,
                          "the pattern needs a group for the instance: (?<instance>..)");
    return rc;
}

static int read_events(const struct ks_json *doc, const struct ks_node *root,
                       struct ks_lines_options *o, struct ks_err *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < KS_LINES_N_EVENTS; i++) {
        const struct ks_node *n = ks_node_at(root, event_keys[i]);

        rc = n ? compile(doc, n, &o->events[i], err) : 0;
        if (rc == 0 && n && (i == KS_LINES_START || i == KS_LINES_UNSUPPORTED) &&
            !ks_pattern_has(&o->events[i], "instance"))
            rc = ks_node_fail(doc, n, err,
                              "the pattern needs a group for the instance: (?<instance>..)");
    }
    return rc;
}

/* Of JSON lines and CSV. The copy keeps the texts. */
static int read_fields(struct ks_lines_options *o, struct ks_err *err)
{
    const struct ks_node *map = ks_node_at(o->root, "fields");
    int rc;

    if ((map != NULL) != (o->output != KS_LINES_PATTERN))
        return ks_node_fail(o->doc, map ? map : o->root, err,
                            "\"fields\" is only for JSON lines and CSV, where it names the fields "
                            "of instance, time, ..");
    rc = map ? check_texts(o->doc, map, err) : 0;
    for (const struct ks_node *n = map ? ks_node_first(map) : NULL; rc == 0 && n;
         n = ks_node_next(n)) {
        if (o->n_fields == KS_LINES_FIELDS)
            return ks_node_fail(o->doc, n, err, "more than %d fields", KS_LINES_FIELDS);
        o->keys[o->n_fields] = ks_node_key(n);
        rc = ks_node_str(o->doc, n, &o->sources[o->n_fields++], err);
    }
    if (rc == 0 && map && !ks_node_at(map, "instance"))
        rc = ks_node_fail(o->doc, map, err, "\"instance\" is missing");
    return rc;
}

static int read_separator(const struct ks_json *doc, const struct ks_node *root,
                          struct ks_lines_options *o, struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(root, "separator");
    const char *text = ",";
    int rc = n ? ks_node_str(doc, n, &text, err) : 0;

    if (rc == 0 && (strlen(text) != 1 || text[0] == '"'))
        rc = ks_node_fail(doc, n, err, "expected one character");
    o->separator = text[0];
    return rc;
}

static int read_programs(const struct ks_json *doc, const struct ks_node *root, struct ks_err *err)
{
    const struct ks_node *list = ks_node_at(root, "programs");
    const char *text = "";
    int rc = 0;

    if (list && ks_node_kind(list) != KS_JSON_ARRAY)
        return ks_node_fail(doc, list, err, "expected a list of file names");
    for (const struct ks_node *n = list ? ks_node_first(list) : NULL; rc == 0 && n;
         n = ks_node_next(n)) {
        rc = ks_node_str(doc, n, &text, err);
        if (rc == 0 && (!text[0] || strchr(text, '/')))
            rc = ks_node_fail(doc, n, err, "expected a file name without '/'");
    }
    return rc;
}

static int check_protocol(const struct ks_json *doc, const struct ks_node *root, struct ks_err *err)
{
    static const char *const known[] = {
        "warmup", "repeats", "cache", "statistic", "verified", NULL
    };
    const struct ks_node *n = ks_node_at(root, "protocol"), *version = ks_node_at(root, "version");
    const char *text = "";
    int64_t v = 0;
    int rc = version ? ks_node_str(doc, version, &text, err) : 0;

    if (rc == 0 && n)
        rc = ks_node_only(doc, n, known, err);
    for (int i = 0; rc == 0 && n && known[i]; i++) {
        const struct ks_node *value = ks_node_at(n, known[i]);

        if (value)
            rc = i < 2 ? ks_node_int(doc, value, &v, err) : ks_node_str(doc, value, &text, err);
        if (rc == 0 && value && i < 2 && (v < 0 || v > INT32_MAX))
            rc = ks_node_fail(doc, value, err, "expected a number from 0 to 2147483647");
    }
    return rc;
}

static int read_checked(const struct ks_json *doc, const struct ks_node *root,
                        struct ks_lines_options *o, struct ks_err *err)
{
    static const char *const outputs[] = { "json", "csv", "pattern", NULL };
    const struct ks_node *output = ks_node_at(root, "output");
    int which = 0, rc = ks_node_only(doc, root, keys, err);

    if (rc == 0)
        rc = check_command(doc, root, err);
    if (rc == 0)
        rc = check_words(doc, root, err);
    if (rc == 0 && !output)
        rc = ks_node_fail(doc, root, err, "\"output\" must be json, csv or pattern");
    if (rc == 0)
        rc = ks_profiler_choice_option(doc, root, "output", outputs, &which, err);
    o->output = (enum ks_lines_output)which;
    if (rc == 0)
        rc = read_units(doc, root, o, err);
    if (rc == 0)
        rc = read_patterns(doc, root, o, err);
    if (rc == 0)
        rc = read_events(doc, root, o, err);
    if (rc == 0)
        rc = check_outcomes(doc, root, err);
    if (rc == 0)
        rc = read_separator(doc, root, o, err);
    if (rc == 0)
        rc = read_programs(doc, root, err);
    return rc < 0 ? rc : check_protocol(doc, root, err);
}

/* The setup outlives the document: it keeps a copy of its own. */
static int copy_document(const struct ks_node *root, struct ks_lines_options *o, struct ks_err *err)
{
    struct ks_buf text;
    struct ks_jw w;
    int rc;

    ks_buf_init(&text);
    ks_jw_init(&w, &text, false);
    ks_jw_node(&w, NULL, root);
    rc = ks_buf_ok(&text) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory reading options");
    if (rc == 0)
        rc = ks_json_parse(ks_buf_text(&text), text.len, "options", &o->doc, err);
    if (rc == 0)
        o->root = ks_json_root(o->doc);
    ks_buf_release(&text);
    return rc;
}

static void options_free(void *options)
{
    struct ks_lines_options *o = options;

    for (size_t i = 0; i < KS_LINES_PATTERNS; i++)
        ks_pattern_release(&o->patterns[i]);
    for (int i = 0; i < KS_LINES_N_EVENTS; i++)
        ks_pattern_release(&o->events[i]);
    ks_json_close(o->doc);
    free(o);
}

static int options_read(const struct ks_json *doc, const struct ks_node *node, void **options_out,
                        struct ks_err *err)
{
    struct ks_lines_options *o;
    int rc;

    if (!node)
        return ks_fail(err, KS_EINVAL,
                       "program 'lines' needs options: \"command\", \"output\", and \"fields\" or "
                       "\"pattern\"");
    o = calloc(1, sizeof *o);
    if (!o)
        return ks_fail(err, KS_ENOMEM, "out of memory reading options");
    rc = read_checked(doc, node, o, err);
    if (rc == 0)
        rc = copy_document(node, o, err);
    if (rc == 0)
        rc = read_fields(o, err);
    if (rc < 0)
        options_free(o);
    else
        *options_out = o;
    return rc;
}

static void options_text(const void *options, struct ks_jw *w)
{
    const struct ks_lines_options *o = options;

    for (const struct ks_node *n = ks_node_first(o->root); n; n = ks_node_next(n))
        ks_jw_node(w, ks_node_key(n), n);
}

/* ---- programs ---- */

static bool program_name(const void *options, const struct ks_problem *p, unsigned i,
                         struct ks_buf *name_out)
{
    const struct ks_lines_options *o = options;
    const struct ks_node *list = ks_node_at(o->root, "programs");
    const struct ks_node *n = list ? ks_node_first(list) : NULL;
    const char *text = "";

    (void)p;
    while (n && i--)
        n = ks_node_next(n);
    if (!n || ks_node_str(o->doc, n, &text, NULL) < 0)
        return false;
    ks_buf_printf(name_out, "%s", text);
    return true;
}

static int command(const void *options, const struct ks_problem *p, const char *program,
                   const struct ks_profiler_choice *choice, struct ks_profiler_command *out,
                   struct ks_err *err)
{
    const struct ks_lines_options *o = options;
    struct ks_buf word;
    int rc = 0;

    if (choice)
        return ks_fail(err, KS_EUNSUPPORTED, "lines cannot choose an instance");
    ks_buf_init(&word);
    for (const struct ks_node *n = ks_node_first(ks_node_at(o->root, "command")); rc == 0 && n;
         n = ks_node_next(n)) {
        const char *text = "";

        ks_buf_clear(&word);
        rc = ks_node_str(o->doc, n, &text, err);
        if (rc == 0)
            rc = ks_lines_expand(o, text, p, program, &word, err);
        if (rc == 0)
            rc = ks_profiler_word(out, ks_buf_text(&word), err);
    }
    ks_buf_release(&word);
    return rc;
}

static void take_text(const struct ks_lines_options *o, const struct ks_node *obj, const char *key,
                      char *out, size_t cap)
{
    const struct ks_node *n = obj ? ks_node_at(obj, key) : NULL;
    const char *text = "";

    if (n && ks_node_str(o->doc, n, &text, NULL) == 0)
        ks_text_escape(out, cap, text, strlen(text), KS_LINES_NONE);
}

static int32_t take_number(const struct ks_lines_options *o, const struct ks_node *obj,
                           const char *key)
{
    const struct ks_node *n = obj ? ks_node_at(obj, key) : NULL;
    int64_t v = -1;

    return n && ks_node_int(o->doc, n, &v, NULL) == 0 ? (int32_t)v : -1;
}

static void protocol(const void *options, const struct ks_problem *p,
                     struct ks_profiler_protocol *out)
{
    const struct ks_lines_options *o = options;
    const struct ks_node *said = ks_node_at(o->root, "protocol");

    (void)p;
    take_text(o, o->root, "version", out->version, sizeof out->version);
    take_text(o, said, "cache", out->cache, sizeof out->cache);
    take_text(o, said, "statistic", out->statistic, sizeof out->statistic);
    take_text(o, said, "verified", out->verified, sizeof out->verified);
    out->n_warmup = take_number(o, said, "warmup");
    out->n_repeats = take_number(o, said, "repeats");
}

static const char *const no_programs[] = { NULL };

const struct ks_profiler ks_profiler_lines = {
    .name = "lines",
    .summary = "any other program: a command template, with output as JSON lines, CSV or patterns",
    .programs = no_programs,
    .options_read = options_read,
    .options_free = options_free,
    .options_text = options_text,
    .protocol = protocol,
    .program_name = program_name,
    .command = command,
    .state_new = ks_lines_state_new,
    .state_free = ks_lines_state_free,
    .line = ks_lines_line,
};
