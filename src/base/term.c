/* SPDX-License-Identifier: MIT */
/* term.c - what a terminal can show: size, colour and UTF-8 */
#include "base/term.h"

#include "base/wrap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *name)
{
    const char *text = getenv(name);

    return text && *text;
}

static bool has_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (is_set(names[i]))
            return strcasestr(getenv(names[i]), "utf-8") || strcasestr(getenv(names[i]), "utf8");
    return false;
}

struct ks_term ks_term_look(int fd)
{
    const char *kind = getenv("TERM");
    struct ks_term t = { .width = ks_wrap_width(fd), .has_utf8 = has_utf8() };
    struct winsize size;

    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        t.height = size.ws_row;
    t.is_terminal = (fd < 0 || isatty(fd)) && kind && *kind && strcmp(kind, "dumb") != 0;
    t.has_color = t.is_terminal && !is_set("NO_COLOR");
    return t;
}
