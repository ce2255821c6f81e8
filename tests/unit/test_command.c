/* SPDX-License-Identifier: MIT */
/* test_command.c - the frame of programs: what a table of commands does with a command line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/command.h"
#include "base/wrap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config {
    uint32_t jobs;
    const char *to, *from;
    struct ks_opt_list without;
};
static const struct ks_opt opts[] = { { .name = "jobs",
                                        .letter = 'j',
                                        .type = KS_OPT_U32,
                                        .offset = offsetof(struct config, jobs),
                                        .def = "2",
                                        .min = 1,
                                        .max = 9,
                                        .arg = "N",
                                        .help = "how many at a time" },
                                      { .name = "to",
                                        .type = KS_OPT_STR,
                                        .offset = offsetof(struct config, to),
                                        .arg = "FILE",
                                        .help = "where to",
                                        .is_output = true },
                                      { .name = "without",
                                        .type = KS_OPT_LIST,
                                        .offset = offsetof(struct config, without),
                                        .arg = "FILE",
                                        .help = "what not",
                                        .is_input = true },
                                      { .name = "from",
                                        .type = KS_OPT_STR,
                                        .offset = offsetof(struct config, from),
                                        .arg = "FILE",
                                        .help = "where from",
                                        .is_input = true },
                                      KS_OPT_END };

/* What happened, a word for each step; the program's open() hands it out as env. */
static struct {
    char steps[256];
    bool open_fails;
} seen;

static void note(const char *step)
{
    size_t at = strlen(seen.steps);

    snprintf(seen.steps + at, sizeof(seen.steps) - at, "%s%s", at ? " " : "", step);
}

static int open_env(const struct ks_command *c, void **env_out, struct ks_err *err)
{
    note(c->needs_warden ? "open+warden" : "open");
    if (seen.open_fails)
        return ks_fail(err, KS_ENOSPC, "no room for it");
    *env_out = &seen;
    return 0;
}

static void close_env(void *env)
{
    assert_ptr_equal(env, &seen);
    note("close");
}

static int make(struct ks_call *call, struct ks_err *err)
{
    const struct config *c = call->cfg;
    char text[96];

    assert_ptr_equal(call->env, &seen);
    assert_null(call->operands[call->n_operands]);
    snprintf(text, sizeof(text), "make(%s,%u,%s,%u)", call->operands[0], c->jobs,
             c->to ? c->to : "-", c->without.n);
    note(text);
    printf("made\n");
    if (strcmp(call->operands[0], "bad\x1b") == 0)
        return ks_fail(err, KS_EFORMAT, "'%s' is bad", call->operands[0]);
    return strcmp(call->operands[0], "odd") == 0 ? KS_EXIT_LOOK : KS_EXIT_OK;
}

static int list(struct ks_call *call, struct ks_err *err)
{
    (void)err;
    assert_non_null(call->cfg);
    note(call->n_operands ? "list+" : "list");
    return 0;
}

static const struct ks_command command_make = { .name = "make",
                                                .summary = "Makes things.",
                                                .usage = "make THING [-j N]",
                                                .opts = opts,
                                                .cfg_size = sizeof(struct config),
                                                .n_min = 1,
                                                .n_max = 1,
                                                .needs_warden = true,
                                                .run = make };
static const struct ks_command command_list = {
    .name = "list", .summary = "Lists things.", .usage = "list [THING...]", .run = list
};
static const struct ks_command command_pair = {
    .name = "list all", .summary = "Lists all.", .usage = "list all [THING...]", .run = list
};
static const struct ks_command *const commands[] = { &command_make, &command_pair, &command_list,
                                                     NULL };
static const struct ks_program tool = { .name = "tool",
                                        .summary = "Makes and lists things.",
                                        .version = "1.2",
                                        .notes = "Exit: 0 fine.",
                                        .commands = commands,
                                        .open = open_env,
                                        .close = close_env };

static const struct ks_command alone = { .summary = "Does one thing.",
                                         .usage = "[--to FILE]",
                                         .opts = opts,
                                         .cfg_size = sizeof(struct config),
                                         .n_max = -1,
                                         .run = list };
static const struct ks_command *const one[] = { &alone, NULL };
static const struct ks_program single = { .name = "single", .commands = one };

/* A stream's descriptor becomes a file, until said() reads it back. */
struct capture {
    FILE *stream, *file;
    int fd, saved;
};

static struct capture listen_to(FILE *stream, const char *path)
{
    struct capture c = { .stream = stream, .fd = fileno(stream) };

    fflush(stream);
    c.saved = dup(c.fd);
    c.file = path ? fopen(path, "w") : tmpfile();
    assert_non_null(c.file);
    assert_true(c.saved >= 0 && dup2(fileno(c.file), c.fd) >= 0);
    return c;
}

static void said(struct capture *c, char *out, size_t cap)
{
    size_t n;

    fflush(c->stream);
    clearerr(c->stream);
    assert_true(dup2(c->saved, c->fd) >= 0);
    close(c->saved);
    rewind(c->file);
    n = fread(out, 1, cap - 1, c->file);
    out[n] = '\0';
    fclose(c->file);
}

struct result {
    int status;
    char out[8192], err[2048];
};

/* words: the command line, NULL-terminated. */
static struct result *call(const struct ks_program *p, const char *const *words)
{
    static struct result r;
    struct capture out = listen_to(stdout, NULL), err = listen_to(stderr, NULL);
    char *argv[16] = { (char *)(uintptr_t)p->name };
    int argc = 1;

    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    seen.steps[0] = '\0';
    r.status = ks_program_main(p, argc, argv);
    said(&err, r.err, sizeof(r.err));
    said(&out, r.out, sizeof(r.out));
    return &r;
}

static void every_command_line_has_its_end(void **state)
{
    static const struct {
        const char *words[8];
        int status;
        const char *steps, *out, *err; /* out, err: a part of it; NULL: nothing at all */
    } rows[] = {
        { { "make", "x" }, 0, "open+warden make(x,2,-,0) close", "made", NULL },
        { { "make", "-j3", "--without", "a", "x", "--without=b", "--to", "f" },
          0,
          "open+warden make(x,3,f,2) close",
          "made",
          NULL },
        { { "make", "odd" }, 1, "open+warden make(odd,2,-,0) close", "made", NULL },
        { { "make", "bad\x1b" },
          2,
          "open+warden make(bad\x1b,2,-,0) close",
          "made",
          "tool make: 'bad\\x1b' is bad\n" },
        { { "list" }, 0, "open list close", NULL, NULL },
        { { "list", "a", "b", "c" }, 0, "open list+ close", NULL, NULL },
        { { "list", "all" }, 0, "open list close", NULL, NULL },
        { { "list", "all", "b" }, 0, "open list+ close", NULL, NULL },
        { { "help", "list", "all" }, 0, "", "usage: tool list all [THING...]", NULL },
        { { NULL }, 2, "", NULL, "tool: no command; see --help" },
        { { "mkae" }, 2, "", NULL, "unknown command 'mkae', did you mean 'make'; see tool --help" },
        { { "frobnicate\x1b" }, 2, "", NULL, "unknown command 'frobnicate\\x1b'; see" },
        { { "make" }, 2, "", NULL, "tool make: missing argument; usage: tool make THING [-j N]" },
        { { "make", "a", "b" }, 2, "", NULL, "tool make: too many arguments; usage: tool make" },
        { { "make", "a", "--job", "3" }, 2, "", NULL, "unknown option '--job'; did you mean" },
        { { "make", "a", "-j", "10" }, 2, "", NULL, "-j: 10 is not in the range 1 to 9" },
        { { "list", "--to" }, 2, "", NULL, "unknown option '--to'" },
        { { "--version" }, 0, "", "tool 1.2\n", NULL },
        { { "--help" }, 0, "", "  make        Makes things.\n", NULL },
        { { "-h" }, 0, "", "Exit: 0 fine.", NULL },
        { { "help" }, 0, "", "tool COMMAND --help", NULL },
        { { "help", "make" }, 0, "", "usage: tool make THING [-j N]\n\nMakes things.\n", NULL },
        { { "help", "maek" }, 2, "", NULL, "did you mean 'make'" },
        { { "help", "--markdown" }, 0, "", "\n## tool list\n\nLists things.\n", NULL },
        { { "help", "--man" }, 0, "", ".SS \"list all\"\n.B tool list all [THING...]\n", NULL },
        { { "help", "--man" }, 0, "", "\\fB\\-j\\fR, \\fB\\-\\-jobs\\fR \\fIN\\fR\n", NULL },
        { { "help", "--bash" }, 0, "", "    \"make \"*) options=\"-j --jobs", NULL },
        { { "help", "--bash" }, 0, "", "words=\"make list help\"", NULL },
        { { "help", "--bash" }, 0, "", "= list ] && words=\" all\"", NULL },
        { { "make", "--jbos", "--help" }, 0, "", "how many at a time (1 to 9; default 2)", NULL },
        { { "make", "-h" }, 0, "", "where to\n", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct result *r = call(&tool, rows[i].words);
        bool is_out = rows[i].out ? strstr(r->out, rows[i].out) != NULL : !r->out[0];
        bool is_err = rows[i].err ? strstr(r->err, rows[i].err) != NULL : !r->err[0];

        if (r->status != rows[i].status || strcmp(seen.steps, rows[i].steps) != 0 || !is_out ||
            !is_err)
            fail_msg("row %zu: status %d, steps '%s', out '%s', err '%s'", i, r->status, seen.steps,
                     r->out, r->err);
    }
}

static void an_output_is_no_input(void **state)
{
    static const char *const rows[][8] = {
        { "make", "/tmp", "--to", "/tmp/../tmp", NULL },
        { "make", "x", "--to", "/tmp/../tmp", "--from", "/tmp", NULL },
        { "make", "x", "--without", "/", "--without=/tmp", "--to", "/tmp/../tmp", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct result *r = call(&tool, rows[i]);

        assert_int_equal(r->status, 2);
        assert_string_equal(seen.steps, "");
        assert_string_equal(r->err, "tool make: --to: '/tmp/../tmp' is also an input: choose "
                                    "another output file\n");
    }
    assert_int_equal(
        call(&tool, (const char *const[]){ "make", "/tmp", "--to", "/", "--from", "/usr", NULL })
            ->status,
        0);
}

static void what_cannot_be_opened_does_not_run(void **state)
{
    struct result *r;

    (void)state;
    seen.open_fails = true;
    r = call(&tool, (const char *const[]){ "make", "x", NULL });
    seen.open_fails = false;
    assert_int_equal(r->status, 3);
    assert_string_equal(seen.steps, "open+warden");
    assert_string_equal(r->err, "tool make: no room for it\n");
}

static void a_program_without_subcommands(void **state)
{
    static const struct {
        const char *words[4];
        int status;
        const char *steps, *out, *err;
    } rows[] = {
        { { NULL }, 0, "list", "", "" },
        { { "--to", "x" }, 0, "list", "", "" },
        { { "x" }, 2, "", "", "single: too many arguments; usage: single [--to FILE]\n" },
        { { "--help" }, 0, "", "usage: single [--to FILE]\n\nDoes one thing.\n", "" },
        { { "help", "--markdown" }, 0, "", "Does one thing.\n\n    single [--to FILE]\n", "" },
        { { "help", "--man" }, 0, "", ".SH OPTIONS\n.B single [\\-\\-to FILE]\n", "" },
        { { "help", "--bash" }, 0, "", "complete -o default -F _single single\n", "" },
        { { "--version" }, 2, "", "", "single: unknown option '--version'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct result *r = call(&single, rows[i].words);

        if (r->status != rows[i].status || strcmp(seen.steps, rows[i].steps) != 0 ||
            !strstr(r->out, rows[i].out) || !strstr(r->err, rows[i].err))
            fail_msg("row %zu: status %d, steps '%s', out '%s', err '%s'", i, r->status, seen.steps,
                     r->out, r->err);
    }
}

static void results_that_cannot_be_written_are_no_success(void **state)
{
    char *argv[] = { "tool", "make", "x" };
    struct capture out, err;
    char text[256], none[8];
    int status;

    (void)state;
    out = listen_to(stdout, "/dev/full");
    err = listen_to(stderr, NULL);
    status = ks_program_main(&tool, 3, argv);
    said(&err, text, sizeof(text));
    said(&out, none, sizeof(none));
    assert_int_equal(status, KS_EXIT_INCOMPLETE);
    assert_string_equal(text, "tool: cannot write to standard output\n");
}

static void the_manual_is_the_table(void **state)
{
    struct ks_buf text;

    (void)state;
    ks_buf_init(&text);
    ks_program_markdown(&tool, &text);
    assert_string_equal(ks_buf_text(&text),
                        "# tool\n\nWritten by `tool help --markdown`.\n"
                        "\n## tool make\n\nMakes things.\n\n    tool make THING [-j N]\n\n"
                        "| option | key | default | values | meaning |\n|---|---|---|---|---|\n"
                        "| `-j`, `--jobs N` | `jobs` | 2 | 1 to 9 | how many at a time |\n"
                        "| `--to FILE` | `to` | none |  | where to |\n"
                        "| `--without FILE` | `without` | none |  | what not |\n"
                        "| `--from FILE` | `from` | none |  | where from |\n"
                        "\n## tool list all\n\nLists all.\n\n    tool list all [THING...]\n"
                        "\n## tool list\n\nLists things.\n\n    tool list [THING...]\n");
    ks_buf_release(&text);
}

static void lines_end_before_the_width(void **state)
{
    static const struct {
        const char *text;
        unsigned column, indent, width;
        const char *want;
    } rows[] = {
        { "one two three", 0, 0, 0, "one two three" },
        { "one two three", 0, 0, 14, "one two three" },
        { "one two three", 0, 2, 13, "one two\n  three" },
        { "one two three", 7, 2, 14, "one\n  two three" },
        { "unbreakably long", 0, 1, 5, "unbreakably\n long" },
        { "a [-o FILE | -n] b", 0, 2, 17, "a [-o FILE | -n]\n  b" },
        { "aaa [-o FILE | -n] b", 0, 2, 17, "aaa\n  [-o FILE | -n]\n  b" },
        { "a [-o FILE | -n] b", 0, 2, 10, "a [-o\n  FILE |\n  -n] b" },
        { "one\ntwo", 0, 1, 80, "one\n two" },
        { "\xc3\xa9\xc3\xa9 \xc3\xa9", 0, 0, 5, "\xc3\xa9\xc3\xa9 \xc3\xa9" },
        { "", 3, 3, 20, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_buf got;

        ks_buf_init(&got);
        ks_wrap_put(&got, rows[i].text, rows[i].column, rows[i].indent, rows[i].width);
        if (strcmp(ks_buf_text(&got), rows[i].want) != 0)
            fail_msg("row %zu: '%s'", i, ks_buf_text(&got));
        ks_buf_release(&got);
    }
}

static void the_width_is_the_terminal_s(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* no terminal */

    (void)state;
    assert_int_equal(setenv("COLUMNS", "132", 1), 0);
    assert_int_equal(ks_wrap_width(fd), 132);
    assert_int_equal(setenv("COLUMNS", "12x", 1), 0);
    assert_int_equal(ks_wrap_width(fd), 80);
    assert_int_equal(setenv("COLUMNS", "-1", 1), 0);
    assert_int_equal(ks_wrap_width(fd), 80);
    assert_int_equal(unsetenv("COLUMNS"), 0);
    assert_int_equal(ks_wrap_width(fd), 80);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_line_has_its_end),
        cmocka_unit_test(an_output_is_no_input),
        cmocka_unit_test(what_cannot_be_opened_does_not_run),
        cmocka_unit_test(a_program_without_subcommands),
        cmocka_unit_test(results_that_cannot_be_written_are_no_success),
        cmocka_unit_test(the_manual_is_the_table),
        cmocka_unit_test(lines_end_before_the_width),
        cmocka_unit_test(the_width_is_the_terminal_s),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
