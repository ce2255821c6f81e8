/* SPDX-License-Identifier: MIT */
/* command.c - runs a program's commands: dispatch, help, options, operands, exit status */
#include "base/command.h"

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "base/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_COMMANDS = 64 }; /* that a suggestion is chosen from */

int ks_emit(const struct ks_buf *result, const char *file, struct ks_err *err)
{
    if (!ks_buf_ok(result))
        return ks_fail(err, KS_ENOMEM, "no memory for the result");
    if (file && strcmp(file, "-") != 0)
        return ks_file_output(file, result->data, result->len, err);
    if (!ks_text_write(stdout, ks_buf_text(result), result->len, KS_LINES_KEEP))
        return ks_fail_errno(err, "standard output");
    return 0;
}

static void complain(const struct ks_program *p, const struct ks_command *c, const char *text)
{
    char prefix[96];

    snprintf(prefix, sizeof(prefix), "%s%s%s", p->name, c && c->name ? " " : "",
             c && c->name ? c->name : "");
    ks_text_print(stderr, prefix, text);
}

typedef void (*document_fn)(const struct ks_program *p, struct ks_buf *to);

/* `help --markdown` and its like; NULL: it is none of them. */
static document_fn document_of(const char *word)
{
    static const struct {
        const char *word;
        document_fn put;
    } documents[] = { { "--markdown", ks_program_markdown },
                      { "--man", ks_program_man },
                      { "--bash", ks_program_bash } };

    for (size_t i = 0; word && i < sizeof(documents) / sizeof(documents[0]); i++)
        if (strcmp(word, documents[i].word) == 0)
            return documents[i].put;
    return NULL;
}

/* Help is made of our own texts. document: instead of it, NULL none. false: no memory. */
static bool print_help(const struct ks_program *p, const struct ks_command *c, document_fn document)
{
    const unsigned width = ks_wrap_width(STDOUT_FILENO);
    struct ks_buf text;
    bool is_ok;

    ks_buf_init(&text);
    if (document)
        document(p, &text);
    else if (c && c->name)
        ks_command_help(p, c, width, &text);
    else
        ks_program_help(p, width, &text);
    is_ok = ks_buf_ok(&text);
    if (is_ok)
        fputs(ks_buf_text(&text), stdout);
    else
        complain(p, c, "out of memory");
    ks_buf_release(&text);
    return is_ok;
}

static int answer(const struct ks_program *p, const struct ks_command *c, document_fn document)
{
    return print_help(p, c, document) ? KS_EXIT_OK : KS_EXIT_INCOMPLETE;
}

/* ---- which command ---- */

/* Is this the command's name? One of two words, such as "trace diff", takes both. Returns the words
 * of argv that it takes, 0: another command. */
static int n_words(const struct ks_command *c, int argc, char **argv)
{
    const char *second = strchr(c->name, ' ');
    const size_t n = second ? (size_t)(second - c->name) : strlen(c->name);

    if (argc < 1 || strlen(argv[0]) != n || memcmp(argv[0], c->name, n) != 0)
        return 0;
    if (!second)
        return 1;
    return argc > 1 && strcmp(argv[1], second + 1) == 0 ? 2 : 0;
}

/* argv[0] is the name's first word. n_out: the words that it takes. */
static const struct ks_command *find_command(const struct ks_program *p, int argc, char **argv,
                                             int *n_out)
{
    for (size_t i = 0; p->commands[i]; i++) {
        *n_out = p->commands[i]->name ? n_words(p->commands[i], argc, argv) : 0;
        if (*n_out)
            return p->commands[i];
    }
    return NULL;
}

/* Do names of two words begin with this one? */
static bool is_group(const struct ks_program *p, const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; p->commands[i] && p->commands[i]->name; i++)
        if (strncmp(p->commands[i]->name, word, n) == 0 && p->commands[i]->name[n] == ' ')
            return true;
    return false;
}

static int unknown_command(const struct ks_program *p, int argc, char **argv)
{
    const char *names[MOST_COMMANDS + 1] = { NULL }, *near;
    const bool is_pair = argc > 1 && is_group(p, argv[0]);
    char text[256], name[128];

    snprintf(name, sizeof(name), "%.60s%s%.60s", argv[0], is_pair ? " " : "",
             is_pair ? argv[1] : "");
    if (argc == 1 && is_group(p, name)) {
        snprintf(text, sizeof(text),
                 "'%s' is a group of commands: add the second word; see %s --help", name, p->name);
        complain(p, NULL, text);
        return KS_EXIT_INPUT;
    }
    for (size_t i = 0; p->commands[i] && p->commands[i]->name && i < MOST_COMMANDS; i++)
        names[i] = p->commands[i]->name;
    near = ks_nearest(name, names);
    snprintf(text, sizeof(text), "unknown command '%.100s'%s%s%s; see %s --help", name,
             near ? ", did you mean '" : "", near ? near : "", near ? "'" : "", p->name);
    complain(p, NULL, text);
    return KS_EXIT_INPUT;
}

/* argv: help [--markdown | --man | --bash | COMMAND...] */
static int help(const struct ks_program *p, int argc, char **argv)
{
    int n = 0;
    const struct ks_command *c = find_command(p, argc - 1, argv + 1, &n);
    const document_fn document = document_of(argc > 1 ? argv[1] : NULL);

    if (argc > 1 && !document && !c)
        return unknown_command(p, argc - 1, argv + 1);
    return answer(p, c, document);
}

/* ---- one command ---- */

static bool has_letter_h(const struct ks_command *c)
{
    for (const struct ks_opt *o = c->opts; o && o->name; o++)
        if (o->letter == 'h')
            return true;
    return false;
}

/* Anywhere before "--", even behind what is wrong: who asks wants to know what is right. */
static bool wants_help(const struct ks_command *c, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || (strcmp(argv[i], "-h") == 0 && !has_letter_h(c)))
            return true;
    return false;
}

static int check_operands(const struct ks_call *call, struct ks_err *err)
{
    const struct ks_command *c = call->command;
    const int n = call->n_operands, most = c->n_max < 0 ? 0 : c->n_max;

    if (n >= c->n_min && (c->n_max == 0 || n <= most))
        return 0;
    return ks_fail(err, KS_EINVAL, "%s; usage: %s %s",
                   n < c->n_min ? "missing argument" : "too many arguments", call->program->name,
                   c->usage);
}

static bool is_among(const char *path, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ks_path_is_same(path, paths[i]))
            return true;
    return false;
}

static bool is_read(const struct ks_call *call, const char *path)
{
    bool is = is_among(path, call->operands, (size_t)call->n_operands);

    for (const struct ks_opt *o = call->command->opts; !is && o->name; o++) {
        struct ks_opt_list l = { .n = 0 };
        const char *one = o->is_input && o->type == KS_OPT_STR ? ks_opt_text(o, call->cfg) : NULL;

        if (o->is_input && o->type == KS_OPT_LIST)
            memcpy(&l, (const char *)call->cfg + o->offset, sizeof(l));
        is = is_among(path, l.text, l.n) || (one && is_among(path, &one, 1));
    }
    return is;
}

/* What a command reads must not be what it replaces. */
static int check_outputs(const struct ks_call *call, struct ks_err *err)
{
    for (const struct ks_opt *o = call->command->opts; o && o->name; o++) {
        const char *path = o->is_output ? ks_opt_text(o, call->cfg) : NULL;

        if (path && is_read(call, path))
            return ks_fail(err, KS_EINVAL,
                           "--%s: '%s' is also an input: choose another output file", o->name,
                           path);
    }
    return 0;
}

static int parse(struct ks_call *call, int argc, char **argv, struct ks_err *err)
{
    static const struct ks_opt none[] = { KS_OPT_END };
    const struct ks_opt *opts = call->command->opts ? call->command->opts : none;
    bool is_help = false;
    int rc;

    call->operands = calloc((size_t)argc + 1, sizeof(*call->operands));
    call->cfg = calloc(1, call->command->cfg_size + 1);
    if (!call->operands || !call->cfg)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    rc = ks_opt_defaults(opts, call->cfg, err);
    if (rc == 0)
        rc = ks_opt_argv(opts, call->cfg, argc, argv, call->operands, &call->n_operands, &is_help,
                         err);
    if (rc == 0)
        rc = check_operands(call, err);
    return rc == 0 ? check_outputs(call, err) : rc;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct ks_program *p = call->program;
    int rc = p->open ? p->open(call->command, &call->env, err) : 0;

    if (rc < 0)
        return rc;
    rc = call->command->run(call, err);
    if (p->close)
        p->close(call->env);
    return rc;
}

static int run_command(const struct ks_program *p, const struct ks_command *c, int argc,
                       char **argv)
{
    struct ks_call call = { .program = p, .command = c };
    struct ks_err err = { 0 };
    int rc;

    if (wants_help(c, argc, argv))
        return answer(p, c, NULL);
    rc = parse(&call, argc, argv, &err);
    if (rc == 0)
        rc = run(&call, &err);
    if (rc < 0) {
        complain(p, c, err.text);
        rc = ks_code_exit(rc);
    }
    if (call.cfg && c->opts)
        ks_opt_release(c->opts, call.cfg);
    free(call.cfg);
    free(call.operands);
    return rc;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int dispatch(const struct ks_program *p, int argc, char **argv)
{
    const bool is_single = !p->commands[0]->name;
    const char *word = argc > 1 ? argv[1] : NULL;
    int n = 0;
    const struct ks_command *c =
        is_single ? p->commands[0] : find_command(p, argc - 1, argv + 1, &n);

    if (word && p->version && strcmp(word, "--version") == 0) {
        printf("%s %s\n%s", p->name, p->version, p->build ? p->build : "");
        return KS_EXIT_OK;
    }
    if (word && strcmp(word, "help") == 0)
        return help(p, argc - 1, argv + 1);
    if (is_single)
        return run_command(p, c, argc, argv);
    if (!word) {
        complain(p, NULL, "no command; see --help");
        return KS_EXIT_INPUT;
    }
    if (is_help(word))
        return help(p, argc - 1, argv + 1);
    if (!c && argc > 2 && is_help(argv[2]) && is_group(p, word))
        return answer(p, NULL, NULL);
    return c ? run_command(p, c, argc - n, argv + n) : unknown_command(p, argc - 1, argv + 1);
}

int ks_program_main(const struct ks_program *p, int argc, char **argv)
{
    int rc;

    ks_process_fill_fds();
    rc = dispatch(p, argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain(p, NULL, "cannot write to standard output");
        return KS_EXIT_INCOMPLETE;
    }
    return rc;
}
