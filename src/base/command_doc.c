/* SPDX-License-Identifier: MIT */
/* command_doc.c - what is installed beside a program: its man page, and completion for bash. */
#include "base/command.h"

#include <string.h>

static bool has_options(const struct ks_command *c)
{
    return c->opts && c->opts->name;
}

/* ---- man ---- */

/* Text of a man page: its backslashes and hyphens are characters, and no line is a request. */
static void put_roff(const char *text, struct ks_buf *to)
{
    for (bool is_begin = true; *text; text++) {
        if (is_begin && (*text == '.' || *text == '\''))
            ks_buf_printf(to, "\\&");
        is_begin = *text == '\n';
        if (*text == '\\')
            ks_buf_printf(to, "\\e");
        else if (*text == '-')
            ks_buf_printf(to, "\\-");
        else
            ks_buf_u8(to, (uint8_t)*text);
    }
}

static void put_roff_option(const struct ks_opt *o, struct ks_buf *to)
{
    struct ks_buf meaning;

    ks_buf_printf(to, ".TP\n");
    if (o->letter)
        ks_buf_printf(to, "\\fB\\-%c\\fR, ", o->letter);
    ks_buf_printf(to, "\\fB\\-\\-");
    put_roff(o->name, to);
    ks_buf_printf(to, "\\fR");
    if (o->arg) {
        ks_buf_printf(to, " \\fI");
        put_roff(o->arg, to);
        ks_buf_printf(to, "\\fR");
    }
    ks_buf_u8(to, '\n');
    ks_buf_init(&meaning);
    ks_opt_meaning(o, &meaning);
    put_roff(ks_buf_text(&meaning), to);
    ks_buf_release(&meaning);
    ks_buf_u8(to, '\n');
}

static void put_roff_command(const struct ks_program *p, const struct ks_command *c,
                             struct ks_buf *to)
{
    if (c->name) {
        ks_buf_printf(to, ".SS \"");
        put_roff(c->name, to);
        ks_buf_printf(to, "\"\n");
    }
    ks_buf_printf(to, ".B %s ", p->name);
    put_roff(c->usage, to);
    ks_buf_printf(to, "\n.PP\n");
    put_roff(c->summary, to);
    ks_buf_u8(to, '\n');
    for (const struct ks_opt *o = c->opts; has_options(c) && o->name; o++)
        put_roff_option(o, to);
}

void ks_program_man(const struct ks_program *p, struct ks_buf *to)
{
    const bool is_single = !p->commands[0]->name;
    const char *summary = p->summary ? p->summary : p->commands[0]->summary;

    ks_buf_printf(to, ".TH %s 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n%s \\- ", p->name,
                  p->name, p->version ? p->version : "", p->name);
    put_roff(summary, to);
    ks_buf_printf(to, "\n.SH SYNOPSIS\n.B %s ", p->name);
    put_roff(is_single ? p->commands[0]->usage : "COMMAND [ARGUMENTS] [OPTIONS]", to);
    ks_buf_printf(to, "\n.SH %s\n", is_single ? "OPTIONS" : "COMMANDS");
    for (size_t i = 0; p->commands[i]; i++)
        put_roff_command(p, p->commands[i], to);
    if (p->notes) {
        ks_buf_printf(to, ".SH NOTES\n");
        put_roff(p->notes, to);
        ks_buf_u8(to, '\n');
    }
}

/* ---- bash ---- */

static void put_names(const struct ks_command *c, struct ks_buf *to)
{
    for (const struct ks_opt *o = c->opts; has_options(c) && o->name; o++) {
        if (o->letter)
            ks_buf_printf(to, "-%c ", o->letter);
        ks_buf_printf(to, "--%s ", o->name);
    }
    ks_buf_printf(to, "--help");
}

static void put_choices(const struct ks_command *c, struct ks_buf *to)
{
    for (const struct ks_opt *o = c->opts; has_options(c) && o->name; o++) {
        if (!o->choices)
            continue;
        ks_buf_printf(to, "        --%s) choices=\"", o->name);
        for (size_t i = 0; o->choices[i]; i++)
            ks_buf_printf(to, "%s%s", i ? " " : "", o->choices[i]);
        ks_buf_printf(to, "\" ;;\n");
    }
}

static bool is_pair(const struct ks_command *c)
{
    return c->name && strchr(c->name, ' ');
}

static void put_case(const struct ks_command *c, struct ks_buf *to)
{
    if (!c->name)
        ks_buf_printf(to, "    *)");
    else
        ks_buf_printf(to, "    \"%s%s\"*)", c->name, is_pair(c) ? "" : " ");
    ks_buf_printf(to, " options=\"");
    put_names(c, to);
    ks_buf_printf(to, "\"\n        case $before in\n");
    put_choices(c, to);
    ks_buf_printf(to, "        esac ;;\n");
}

/* The first words, or the second ones behind a first; each once. */
static void put_words(const struct ks_program *p, const char *first, struct ks_buf *to)
{
    const size_t n = first ? strcspn(first, " ") : 0;
    const char *last = "";

    for (size_t i = 0; p->commands[i]; i++) {
        const char *name = p->commands[i]->name, *space = strchr(name, ' ');
        const size_t k = strcspn(name, " ");

        if (first && space && k == n && strncmp(name, first, n) == 0)
            ks_buf_printf(to, " %s", space + 1);
        if (!first && (strncmp(last, name, k) != 0 || strcspn(last, " ") != k))
            ks_buf_printf(to, "%.*s ", (int)k, name);
        last = name;
    }
}

/* "trace", once: which second words there are. */
static void put_groups(const struct ks_program *p, struct ks_buf *to)
{
    const char *last = "";

    for (size_t i = 0; p->commands[i]; i++) {
        const char *name = p->commands[i]->name;
        const size_t k = strcspn(name, " ");

        if (!name[k] || (strncmp(last, name, k) == 0 && strcspn(last, " ") == k))
            continue;
        last = name;
        ks_buf_printf(to,
                      "    [ $COMP_CWORD -eq 2 ] && [ \"${COMP_WORDS[1]}\" = %.*s ] && words=\"",
                      (int)k, name);
        put_words(p, name, to);
        ks_buf_printf(to, "\"\n");
    }
}

void ks_program_bash(const struct ks_program *p, struct ks_buf *to)
{
    const bool is_single = !p->commands[0]->name;
    char name[64];
    size_t n = 0;

    for (; p->name[n] && n + 1 < sizeof(name); n++)
        name[n] = p->name[n] == '-' ? '_' : p->name[n];
    name[n] = '\0';
    ks_buf_printf(to,
                  "# bash completion for %s, written by `%s help --bash`\n_%s() {\n"
                  "    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                  "    local words= options= choices=\n"
                  "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n",
                  p->name, p->name, name);
    for (size_t i = 0; p->commands[i]; i++) /* "trace diff" before "trace" */
        if (is_pair(p->commands[i]))
            put_case(p->commands[i], to);
    for (size_t i = 0; p->commands[i]; i++)
        if (!is_pair(p->commands[i]))
            put_case(p->commands[i], to);
    ks_buf_printf(to, "    esac\n");
    if (!is_single) {
        ks_buf_printf(to, "    [ $COMP_CWORD -eq 1 ] && words=\"");
        put_words(p, NULL, to);
        ks_buf_printf(to, "help\" options=\"--help --version\"\n");
        put_groups(p, to);
    }
    ks_buf_printf(to,
                  "    case $now in -*) words=$options ;; esac\n"
                  "    [ -n \"$choices\" ] && words=$choices\n"
                  "    COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n}\n"
                  "complete -o default -F _%s %s\n",
                  name, p->name);
}
