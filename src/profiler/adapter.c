/* SPDX-License-Identifier: MIT */
/* adapter.c - the table of program adapters, and what they all share: setup, commands, identity */
#include "profiler/adapter.h"

#include "base/hash.h"
#include "base/opt.h"
#include "profiler/profiler_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ks_profiler *const ks_profilers[] = { &ks_profiler_ckprofiler,
                                                   &ks_profiler_miopendriver, &ks_profiler_lines,
                                                   NULL };
enum { N_PROFILERS = sizeof ks_profilers / sizeof ks_profilers[0] - 1 };

const char *ks_profiler_name(const struct ks_profiler *a)
{
    return a->name;
}

const char *ks_profiler_summary(const struct ks_profiler *a)
{
    return a->summary;
}

int ks_profiler_find(const char *name, const struct ks_profiler **out, struct ks_err *err)
{
    const char *names[N_PROFILERS + 1] = { NULL }, *near;
    char known[128] = "";
    size_t used = 0;

    for (size_t i = 0; i < N_PROFILERS; i++) {
        if (strcmp(ks_profilers[i]->name, name) == 0) {
            *out = ks_profilers[i];
            return 0;
        }
        names[i] = ks_profilers[i]->name;
        used += (size_t)snprintf(known + used, used < sizeof known ? sizeof known - used : 0,
                                 "%s%s", i ? ", " : "", names[i]);
    }
    near = ks_nearest(name, names);
    return ks_fail(err, KS_ENOENT, "unknown program '%.40s'%s%s%s; known: %s", name,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'" : "", known);
}

/* ---- options ---- */

int ks_profiler_setup_read(const struct ks_profiler *a, const struct ks_json *doc,
                           const struct ks_node *options, struct ks_profiler_setup **out,
                           struct ks_err *err)
{
    struct ks_profiler_setup *s;
    void *read = NULL;
    int rc;

    if (options && ks_node_kind(options) != KS_JSON_OBJECT)
        return ks_node_fail(doc, options, err, "expected an object");
    rc = a->options_read(doc, options, &read, err);
    if (rc < 0)
        return rc;
    s = malloc(sizeof *s);
    if (!s) {
        a->options_free(read);
        return ks_fail(err, KS_ENOMEM, "out of memory reading options of %s", a->name);
    }
    s->adapter = a;
    s->options = read;
    *out = s;
    return 0;
}

int ks_profiler_setup_parse(const struct ks_profiler *a, const char *json,
                            struct ks_profiler_setup **out, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    int rc;

    if (!json || !json[0])
        return ks_profiler_setup_read(a, NULL, NULL, out, err);
    rc = ks_json_parse(json, strlen(json), "options", &doc, err);
    if (rc < 0)
        return rc;
    rc = ks_profiler_setup_read(a, doc, ks_json_root(doc), out, err);
    ks_json_close(doc);
    return rc;
}

void ks_profiler_setup_destroy(struct ks_profiler_setup *s)
{
    if (!s)
        return;
    s->adapter->options_free(s->options);
    free(s);
}

const struct ks_profiler *ks_profiler_of(const struct ks_profiler_setup *s)
{
    return s->adapter;
}

void ks_profiler_setup_text(const struct ks_profiler_setup *s, struct ks_buf *text_out)
{
    struct ks_jw w;

    ks_jw_init(&w, text_out, false);
    ks_jw_open(&w, NULL, '{');
    s->adapter->options_text(s->options, &w);
    ks_jw_close(&w, '}');
}

void ks_profiler_protocol_of(const struct ks_profiler_setup *s, const struct ks_problem *p,
                             struct ks_profiler_protocol *out)
{
    *out = (struct ks_profiler_protocol){ .n_warmup = -1, .n_repeats = -1 };
    s->adapter->protocol(s->options, p, out);
}

/* ---- programs and command lines ---- */

bool ks_profiler_program_name(const struct ks_profiler_setup *s, const struct ks_problem *p,
                              unsigned i, struct ks_buf *name_out)
{
    const char *const *names = s->adapter->programs;

    ks_buf_clear(name_out);
    if (s->adapter->program_name)
        return s->adapter->program_name(s->options, p, i, name_out);
    for (unsigned k = 0; names[k]; k++)
        if (k == i) {
            ks_buf_printf(name_out, "%s", names[k]);
            return true;
        }
    return false;
}

void ks_profiler_command_release(struct ks_profiler_command *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->words[i]);
    free(c->words);
    *c = (struct ks_profiler_command){ 0 };
}

int ks_profiler_word(struct ks_profiler_command *c, const char *word, struct ks_err *err)
{
    char **words = realloc(c->words, (c->n + 2) * sizeof *words);

    if (words)
        c->words = words;
    if (words)
        words[c->n] = strdup(word);
    if (!words || !words[c->n])
        return ks_fail(err, KS_ENOMEM, "out of memory building a command line");
    words[++c->n] = NULL;
    return 0;
}

int ks_profiler_number(struct ks_profiler_command *c, int64_t v, struct ks_err *err)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, v);
    return ks_profiler_word(c, text, err);
}

int ks_profiler_command(const struct ks_profiler_setup *s, const struct ks_problem *p,
                        const char *program, const struct ks_profiler_choice *choice,
                        struct ks_profiler_command *out, struct ks_err *err)
{
    struct ks_profiler_command c = { 0 };
    int rc = s->adapter->command(s->options, p, program, choice, &c, err);

    if (rc < 0)
        ks_profiler_command_release(&c);
    else
        *out = c;
    return rc;
}

int ks_profiler_list_command(const struct ks_profiler_setup *s, const struct ks_problem *p,
                             const char *program, struct ks_profiler_command *out,
                             struct ks_err *err)
{
    struct ks_profiler_command c = { 0 };
    int rc;

    if (!s->adapter->list_command)
        return ks_fail(err, KS_EUNSUPPORTED, "%s cannot list its instances", s->adapter->name);
    rc = s->adapter->list_command(s->options, p, program, &c, err);
    if (rc < 0)
        ks_profiler_command_release(&c);
    else
        *out = c;
    return rc;
}

bool ks_profiler_runs_by_choice(const struct ks_profiler_setup *s)
{
    return s->adapter->runs_by_choice && s->adapter->runs_by_choice(s->options);
}

const struct ks_profiler_variable *ks_profiler_variable(const struct ks_profiler_setup *s,
                                                        unsigned i)
{
    return s->adapter->variable ? s->adapter->variable(s->options, i) : NULL;
}

/* ---- identity ---- */

/* A word of a text of "key=value" words: what would end it, and '%', as %XX. */
static void put_word(struct ks_buf *to, const char *text)
{
    for (; *text; text++) {
        if (strchr(" |=%", *text) || (unsigned char)*text < 0x20 || *text == 0x7f)
            ks_buf_printf(to, "%%%02x", (unsigned char)*text);
        else
            ks_buf_u8(to, (uint8_t)*text);
    }
}

void ks_profiler_instance_text(const struct ks_profiler_setup *s, const char *version,
                               const struct ks_problem *p, const struct ks_profiler_row *row,
                               struct ks_buf *text_out)
{
    ks_buf_printf(text_out, "family=%s abi=1 version=", s->adapter->name);
    put_word(text_out, version);
    ks_buf_printf(text_out, " operator=%s direction=%s dtype=%s layout=%s",
                  ks_operators[p->op]->name, ks_direction_name(p->direction),
                  ks_dtype_name(p->dtype), ks_layout_name(p->layout));
    if (row->split_k_requested != KS_PROFILER_UNTOLD)
        ks_buf_printf(text_out, " split_k=%" PRId64, row->split_k_requested);
    ks_buf_printf(text_out, " ordinal=%" PRIu32 " name=", row->ordinal);
    put_word(text_out, row->instance);
}

uint64_t ks_profiler_instance_id(const struct ks_profiler_setup *s, const char *version,
                                 const struct ks_problem *p, const struct ks_profiler_row *row)
{
    struct ks_buf text;
    uint64_t id;

    ks_buf_init(&text);
    ks_profiler_instance_text(s, version, p, row, &text);
    id = ks_buf_ok(&text) ? ks_id64(text.data, text.len) : 0;
    ks_buf_release(&text);
    return id;
}
