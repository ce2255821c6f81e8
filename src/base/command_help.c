/* SPDX-License-Identifier: MIT */
/* command_help.c - what a program says of itself: help for a terminal, the manual as Markdown. */
#include "base/command.h"
#include "base/wrap.h"

#include <stdio.h>
#include <string.h>

enum { SUMMARY_AT = 14 }; /* column of a command's summary in the list of commands, at least */

static bool has_options(const struct ks_command *c)
{
    return c->opts && c->opts->name;
}

static void put_paragraph(const char *text, unsigned width, struct ks_buf *to)
{
    ks_wrap_put(to, text, 0, 0, width);
    ks_buf_u8(to, '\n');
}

/* "usage: ksweep plan JOB ...", further lines below the first argument. */
static void put_usage(const struct ks_program *p, const char *usage, unsigned width,
                      struct ks_buf *to)
{
    char begin[96];
    unsigned at;

    snprintf(begin, sizeof(begin), "usage: %s ", p->name);
    at = (unsigned)strlen(begin);
    ks_buf_printf(to, "%s", begin);
    ks_wrap_put(to, usage, at, at, width);
    ks_buf_u8(to, '\n');
}

void ks_command_help(const struct ks_program *p, const struct ks_command *c, unsigned width,
                     struct ks_buf *to)
{
    put_usage(p, c->usage, width, to);
    ks_buf_u8(to, '\n');
    put_paragraph(c->summary, width, to);
    if (has_options(c)) {
        ks_buf_u8(to, '\n');
        ks_opt_help(c->opts, width, to);
    }
}

static void put_commands(const struct ks_program *p, unsigned width, struct ks_buf *to)
{
    unsigned at = SUMMARY_AT;

    for (size_t i = 0; p->commands[i]; i++)
        if (strlen(p->commands[i]->name) + 4 > at)
            at = (unsigned)strlen(p->commands[i]->name) + 4;
    for (size_t i = 0; p->commands[i]; i++) {
        ks_buf_printf(to, "  %-*s", (int)at - 2, p->commands[i]->name);
        ks_wrap_put(to, p->commands[i]->summary, at, at, width);
        ks_buf_u8(to, '\n');
    }
}

static void put_ways(const struct ks_program *p, struct ks_buf *to)
{
    ks_buf_printf(to, "\n%s COMMAND --help   options of one command\n", p->name);
    ks_buf_printf(to, "%s help --markdown  all of them as a manual\n", p->name);
    ks_buf_printf(to, "%s help --man       as a man page\n", p->name);
    ks_buf_printf(to, "%s help --bash      completion for bash\n", p->name);
    if (p->version)
        ks_buf_printf(to, "%s --version\n", p->name);
}

static bool is_single(const struct ks_program *p)
{
    return !p->commands[0]->name;
}

void ks_program_help(const struct ks_program *p, unsigned width, struct ks_buf *to)
{
    if (is_single(p)) {
        ks_command_help(p, p->commands[0], width, to);
    } else {
        put_usage(p, "COMMAND [ARGUMENTS] [OPTIONS]", width, to);
        ks_buf_u8(to, '\n');
        put_paragraph(p->summary, width, to);
        ks_buf_u8(to, '\n');
        put_commands(p, width, to);
        put_ways(p, to);
    }
    if (p->notes) {
        ks_buf_u8(to, '\n');
        put_paragraph(p->notes, width, to);
    }
}

static void put_section(const struct ks_program *p, const struct ks_command *c, struct ks_buf *to)
{
    if (c->name)
        ks_buf_printf(to, "\n## %s %s\n", p->name, c->name);
    ks_buf_printf(to, "\n%s\n\n    %s %s\n", c->summary, p->name, c->usage);
    if (has_options(c)) {
        ks_buf_u8(to, '\n');
        ks_opt_markdown(c->opts, to);
    }
}

void ks_program_markdown(const struct ks_program *p, struct ks_buf *to)
{
    ks_buf_printf(to, "# %s\n\nWritten by `%s help --markdown`.\n", p->name, p->name);
    for (size_t i = 0; p->commands[i]; i++)
        put_section(p, p->commands[i], to);
}
