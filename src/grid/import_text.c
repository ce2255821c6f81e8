/* SPDX-License-Identifier: MIT */
/* Lines of text taken apart: fields of CSV, words and commands of a shell. */
#include "grid/import.h"

#include <stdio.h>
#include <string.h>

/* One field at *from to *to, quotes resolved; what is wrong with it, or NULL. */
static const char *split_field(char **from, char **to)
{
    char *begin = *to;

    *from += strspn(*from, " \t");
    if (**from != '"') {
        while (**from && **from != ',')
            *(*to)++ = *(*from)++;
        while (*to > begin && ((*to)[-1] == ' ' || (*to)[-1] == '\t'))
            (*to)--;
        return NULL;
    }
    for (++*from; **from && (**from != '"' || (*from)[1] == '"'); ++*from) {
        *from += **from == '"';
        *(*to)++ = **from;
    }
    if (!**from)
        return "quote is not closed";
    ++*from;
    *from += strspn(*from, " \t");
    return **from && **from != ',' ? "text behind a closing quote" : NULL;
}

const char *ks_import_split(char *line, const char **fields, size_t most, size_t *n_out)
{
    char *from = line, *to = line;
    bool is_last = false;
    size_t n = 0;

    while (!is_last) {
        const char *wrong;

        if (n == most)
            return "too many columns";
        fields[n++] = to;
        wrong = split_field(&from, &to);
        if (wrong)
            return wrong;
        is_last = !*from;
        from += !is_last;
        *to++ = '\0';
    }
    *n_out = n;
    return NULL;
}

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

/* Up to what a shell would take. "-#" and "-$" are flags. */
static size_t command_length(const char *text)
{
    size_t n = 0;

    for (; text[n]; n++) {
        bool is_word_start = n == 0 || text[n - 1] == ' ' || text[n - 1] == '\t';

        if (strchr(";|&<>", text[n]) || (text[n] == '#' && is_word_start))
            break;
    }
    /* The number of a redirected descriptor belongs to the shell: "2> log". */
    if (text[n] == '>' && n > 1 && text[n - 1] >= '0' && text[n - 1] <= '9' && text[n - 2] == ' ')
        n--;
    return n;
}

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
