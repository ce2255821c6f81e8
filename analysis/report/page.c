/* SPDX-License-Identifier: MIT */
/* page.c - puts a page together; its parts are files of this directory, which the build embeds */
#include "analysis/report/page.h"

#include <string.h>

extern const char ks_page_text_html[], ks_page_text_css[], ks_page_text_base[],
    ks_page_text_table[], ks_page_text_charts[], ks_page_text_sections[];

static void put(struct ks_buf *to, const char *text)
{
    ks_buf_put(to, text, strlen(text));
}

/* The template up to a mark; returns what follows the mark. */
static const char *put_until(struct ks_buf *to, const char *template, const char *mark)
{
    const char *at = strstr(template, mark);

    if (!at) {
        put(to, template);
        return "";
    }
    ks_buf_put(to, template, (size_t)(at - template));
    return at + strlen(mark);
}

int ks_page_html(const struct ks_page *p, const struct ks_page *other, struct ks_buf *to,
                 struct ks_err *err)
{
    const char *rest = put_until(to, ks_page_text_html, "@CSS@");
    int rc;

    put(to, ks_page_text_css);
    rest = put_until(to, rest, "@DATA@");
    rc = ks_page_data(p, other, to, err);
    rest = put_until(to, rest, "@JS@");
    put(to, ks_page_text_base);
    put(to, ks_page_text_table);
    put(to, ks_page_text_charts);
    put(to, ks_page_text_sections);
    put(to, rest);
    return rc;
}
