/* SPDX-License-Identifier: MIT */
/* command.h - the frame of every program: a table of commands, from which follow the parsing of the
 * command line, --help, the manual, suggestions, error messages and exit codes.
 *
 * To add a subcommand: 1. one file with its `const struct ks_command`; 2. its row in the program's
 * table. A program is one `const struct ks_program` and `return ks_program_main(...)`. */
#ifndef KS_BASE_COMMAND_H
#define KS_BASE_COMMAND_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit codes of every program (DESIGN section 9); ks_code_exit() gives them for errors. */
enum ks_exit {
    KS_EXIT_OK = 0,        /* every cell ok, aliased, unsupported or skipped */
    KS_EXIT_LOOK = 1,      /* complete, but some cells need a look, or gathering failed */
    KS_EXIT_INPUT = 2,     /* usage or input error */
    KS_EXIT_INCOMPLETE = 3 /* resumable */
};

struct ks_command;
struct ks_program;

/* A command line, parsed. */
struct ks_call {
    const struct ks_program *program;
    const struct ks_command *command;
    void *cfg;             /* [command->cfg_size] filled from the options; NULL without any */
    const char **operands; /* [n_operands], borrowed from argv, then NULL */
    int n_operands;        /* as many as the command wants */
    void *env;             /* what the program's open() made; NULL without one */
};

struct ks_command {
    /* One word or two ("trace diff"); NULL: the program does one thing and has no subcommands. */
    const char *name;
    const char *summary;
    const char *usage;         /* begins behind the program's name */
    const struct ks_opt *opts; /* NULL: none */
    size_t cfg_size;           /* of the struct that they fill */
    int n_min, n_max;          /* operands; n_max 0: any number; -1: none */
    bool needs_warden;         /* starts processes: for the program's open() */
    /* An exit code >= 0, or KS_E* < 0 with err filled: the error is printed and becomes the exit
     * code. Not called for --help. */
    int (*run)(struct ks_call *call, struct ks_err *err);
};

struct ks_program {
    const char *name, *summary;
    const char *version;                      /* NULL: is not told */
    const char *build;                        /* lines below it: compiler, libraries; NULL: none */
    const char *notes;                        /* the end of --help, lines; NULL: none */
    const struct ks_command *const *commands; /* NULL-terminated; or one without a name */
    /* Called once the command line is understood, before run(): what the command needs, such as
     * limits and a warden. NULL: nothing. close: NULL where there is nothing to release. */
    int (*open)(const struct ks_command *command, void **env_out, struct ks_err *err);
    void (*close)(void *env);
};

/* The whole of main(): `help [COMMAND | --markdown | --man | --bash]`, `--help`, `--version` or a
 * command. Returns the exit status; KS_EXIT_INCOMPLETE when standard output cannot be written. */
int ks_program_main(const struct ks_program *p, int argc, char **argv);

/* The result of a command to a file (ks_file_output), or to standard output where `file` is NULL or
 * "-": there control characters other than tabs and line ends are escaped. KS_ENOMEM when the
 * buffer has failed. */
int ks_emit(const struct ks_buf *result, const char *file, struct ks_err *err);

/* What --help and `help --markdown` print. width: wrap.h. */
void ks_program_help(const struct ks_program *p, unsigned width, struct ks_buf *to);
void ks_command_help(const struct ks_program *p, const struct ks_command *c, unsigned width,
                     struct ks_buf *to);
void ks_program_markdown(const struct ks_program *p, struct ks_buf *to);

/* What is installed beside the program: its man page, and its completion for bash. */
void ks_program_man(const struct ks_program *p, struct ks_buf *to);
void ks_program_bash(const struct ks_program *p, struct ks_buf *to);

#endif
