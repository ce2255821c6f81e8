/* SPDX-License-Identifier: MIT */
/* import_text.c - takes lines of command lists apart: continuations, quote marks, counts, words */
#include "grid/import.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

char *ks_import_word(char **at)
{
    char *word = *at + strspn(*at, " \t"), *end, quote;

    if (!*word)
        return NULL;
    quote = *word == '"' || *word == '\'' ? *word : '\0';
    end = quote ? strchr(word + 1, quote) : NULL;
    if (end)
        word++;
    else
        end = word + strcspn(word, " \t");
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* A comment begins here: "-#" is a flag. */
static bool is_comment(const char *text, size_t at)
{
    return text[at] == '#' && (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t');
}

/* Up to what a shell would take. */
static size_t command_length(const char *text)
{
    size_t n = 0;

    while (text[n] && !strchr(";|&<>)`", text[n]) && !is_comment(text, n))
        n++;
    /* The number of a redirected descriptor belongs to the shell: "2> log". */
    if (text[n] == '>' && n > 1 && text[n - 1] >= '0' && text[n - 1] <= '9' && text[n - 2] == ' ')
        n--;
    return n;
}

/* ---- physical lines ---- */

/* Bytes of Markdown's quote marks at the beginning: "> ", "> > ". */
static size_t quote_length(const char *text)
{
    const char *at = text;

    for (;;) {
        const char *mark = at + strspn(at, " \t");

        if (*mark != '>')
            return (size_t)(at - text);
        at = mark + 1 + (mark[1] == ' ');
    }
}

/* Is "> word" on a line that continues another a redirection? Before a flag or a variable the mark
 * is the prompt of a shell. */
static bool is_redirection(const char *behind)
{
    behind += strspn(behind, " \t");
    return *behind && *behind != '-' && *behind != '$';
}

/* Takes the quote marks off the text behind `from`: of a line that continues one without any, only
 * where they do not redirect. Were there any? */
static bool drop_quote(struct ks_buf *text, size_t from, bool is_quoted)
{
    char *begin = (char *)text->data + from;
    size_t n = quote_length(begin);

    if (n == 0 || (from > 0 && !is_quoted && is_redirection(begin + n)))
        return false;
    memmove(begin, begin + n, text->len - from - n + 1);
    text->len -= n;
    return true;
}

/* Cuts the backslash off with which a line ends that goes on; blanks behind it are no harm. A
 * comment does not go on. Only the text behind `from` is looked at. */
static bool cut_backslash(struct ks_buf *text, size_t from)
{
    char *line = (char *)text->data;
    size_t n = text->len, n_slashes = 0;

    while (n > from && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        n--;
    while (n_slashes < n - from && line[n - 1 - n_slashes] == '\\')
        n_slashes++;
    if (n_slashes % 2 == 0)
        return false;
    for (size_t i = from; i < n; i++)
        if (is_comment(line, i))
            return false;
    text->len = n - 1;
    line[text->len] = '\0';
    return true;
}

/* Is the program what the first word names: "./bin/MIOpenDriver"? */
static bool begins_with(const char *text, const char *program)
{
    size_t n = strcspn(text, " \t");
    const char *found = strstr(text, program);

    return found && found < text + n;
}

/* What `uniq -c` wrote before the line: *line_io moves behind it. NULL, or what is wrong. A tab
 * behind a number is that of `cat -n`, which numbers lines. */
static const char *take_count(char **line_io, const char *program, int64_t *count_out)
{
    char *digits = *line_io + strspn(*line_io, " \t"), *rest = digits, *command;
    const char *wrong;
    int64_t count = 0;

    rest += strspn(digits, "0123456789");
    if (rest == digits || *rest != ' ')
        return NULL;
    command = rest + strspn(rest, " \t");
    if (!(digits > *line_io && strstr(command, program)) && !begins_with(command, program))
        return NULL;
    *rest = '\0';
    wrong = ks_import_number(digits, &count);
    if (wrong || count < 1 || count > INT32_MAX)
        return "the count before the command must be between 1 and 2147483647";
    *count_out = count;
    *line_io = command;
    return NULL;
}

/* Physical lines up to one that does not go on. */
static int join_lines(struct ks_import *im)
{
    int rc = ks_import_line(im);
    size_t from = 0;
    bool is_quoted;

    if (rc != 1 || im->text.len == 0)
        return rc;
    is_quoted = drop_quote(&im->text, 0, false);
    while (cut_backslash(&im->text, from)) {
        from = im->text.len;
        rc = ks_import_more(im);
        if (rc != 1)
            break;
        drop_quote(&im->text, from, is_quoted);
    }
    return rc < 0 ? rc : 1;
}

static int next_line(struct ks_import *im, const char *program, char **line_out)
{
    const char *wrong;
    int rc;

    do {
        rc = join_lines(im);
        if (rc != 1)
            return rc;
        im->count = 1;
        *line_out = (char *)im->text.data;
        wrong = *line_out ? take_count(line_out, program, &im->count) : NULL;
        if (wrong)
            rc = ks_import_refuse(im, "%s", wrong);
    } while (rc == 0);
    return rc;
}

int ks_import_command_lines(struct ks_import *im, const char *program,
                            int (*take)(struct ks_import *im, char *line))
{
    char *line;
    int rc;

    while ((rc = next_line(im, program, &line)) == 1) {
        rc = take(im, line);
        if (rc < 0)
            break;
    }
    return rc;
}

/* ---- commands ---- */

/* Behind the program's name: "name.exe", "'name'"; NULL: the name is only part of a word. */
static char *behind_name(char *at)
{
    if (strncmp(at, ".exe", 4) == 0)
        at += 4;
    at += *at == '"' || *at == '\'';
    if (*at != ' ' && *at != '\t')
        return NULL;
    return at + strspn(at, " \t");
}

bool ks_import_next_command(char **at, const char *program, bool (*is_mine)(const char *word),
                            struct ks_import_command *out)
{
    if (*at && ks_import_is_blank(*at))
        return false;
    while (*at && (*at = strstr(*at, program)) != NULL) {
        char *word, ended_by;
        size_t n;

        *at += strlen(program);
        word = behind_name(*at);
        if (!word)
            continue;
        n = strcspn(word, " \t;|&<>");
        snprintf(out->word, sizeof out->word, "%.*s",
                 (int)(n < sizeof out->word ? n : sizeof out->word - 1), word);
        if (!is_mine(out->word))
            continue;
        out->args = word + n;
        n = command_length(out->args);
        ended_by = out->args[n];
        out->args[n] = '\0';
        *at = ended_by && ended_by != '#' ? out->args + n + 1 : NULL;
        return true;
    }
    return false;
}
