/* SPDX-License-Identifier: MIT */
/* svg_roofline.c - draws rooflines as SVG, and pages of them with tables */
#include "analysis/out/svg_roofline.h"
#include "base/order.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 960,
    HEIGHT = 600,
    LEFT = 88,
    RIGHT = 24,
    TOP = 64,
    BOTTOM = 72,
    FLOOR = HEIGHT - BOTTOM,
    MOST_ROOFS = 24,
    MOST_NUMBERED = 9
};
#define DECADES_MIN 3.0
#define DECADES_MAX 14.0

/* ---- text ---- */

void ks_xml_put(struct ks_buf *to, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);

    while (left) {
        const size_t n = ks_utf8_next(p, left);
        const uint32_t code = n ? ks_utf8_code(p, n) : 0xfffd;
        const bool is_plain = n && !ks_utf8_is_control(code) && code != 0xfffe && code != 0xffff;

        if (n == 1 && strchr("&<>\"'", *p))
            ks_buf_printf(to, "&#%u;", *p);
        else if (is_plain)
            ks_buf_put(to, p, n);
        else
            ks_buf_printf(to, "\xef\xbf\xbd");
        p += n ? n : 1;
        left -= n ? n : 1;
    }
}

void ks_si_text(double v, char *out)
{
    static const char *const prefix[] = { "", " k", " M", " G", " T", " P", " E" };
    int i = 0;

    while (v >= 999.5 && i < 6) {
        v /= 1000;
        i++;
    }
    snprintf(out, 16, "%.*f%s",
             v >= 99.95 || (v == floor(v) && v < 1000) ? 0
             : v >= 9.995                              ? 1
                                                       : 2,
             v, prefix[i]);
}

/* ---- the frame of the chart ---- */

struct axes {
    double x_min, x_max, y_min, y_max; /* log10 */
    double memory_max, compute_max;    /* the highest roofs; 0: none */
};

static double x_of(const struct axes *a, double log_x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (log_x - a->x_min) / (a->x_max - a->x_min);
}

static double y_of(const struct axes *a, double log_y)
{
    return FLOOR - (FLOOR - TOP) * (log_y - a->y_min) / (a->y_max - a->y_min);
}

static void reach(double v, double *min, double *max)
{
    *min = fmin(*min, log10(v));
    *max = fmax(*max, log10(v));
}

/* Whole decades around what is drawn: ridge points, roofs and dots. */
static struct axes find_axes(const struct ks_roofline *r)
{
    struct axes a = { .x_min = 0, .x_max = 1, .y_min = INFINITY, .y_max = -INFINITY };

    for (size_t i = 0; i < r->n_roofs; i++) {
        const struct ks_roof *roof = &r->roofs[i];
        double *max = roof->is_memory ? &a.memory_max : &a.compute_max;

        *max = fmax(*max, roof->value);
        if (!roof->is_memory)
            reach(roof->value, &a.y_min, &a.y_max);
    }
    for (size_t i = 0; i < r->n_roofs && a.compute_max > 0; i++)
        if (r->roofs[i].is_memory)
            reach(a.compute_max / r->roofs[i].value, &a.x_min, &a.x_max);
    for (size_t i = 0; i < r->n_dots; i++) {
        reach(r->dots[i].intensity, &a.x_min, &a.x_max);
        reach(r->dots[i].flop_per_s, &a.y_min, &a.y_max);
    }
    if (!isfinite(a.y_min) || !isfinite(a.y_max))
        a.y_min = a.y_max = 9;
    a.x_min = fmax(floor(a.x_min - 0.2), -DECADES_MAX);
    a.x_max = fmin(ceil(a.x_max + 0.2), a.x_min + 2 * DECADES_MAX);
    a.y_min = floor(a.y_min - 0.3);
    a.y_max = ceil(a.y_max + 0.15);
    a.y_min = fmax(fmin(a.y_min, a.y_max - DECADES_MIN), a.y_max - DECADES_MAX);
    return a;
}

static void put_x_axis(const struct axes *a, struct ks_buf *to)
{
    const int step = a->x_max - a->x_min > 12 ? 2 : 1;
    char text[24];

    for (int d = (int)a->x_min; d <= (int)a->x_max; d += step) {
        const double x = x_of(a, d);

        ks_buf_printf(to, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>", x, TOP, FLOOR);
        if (d >= 0)
            ks_si_text(pow(10, d), text);
        else
            snprintf(text, sizeof(text), "%.*f", -d < 6 ? -d : 6, pow(10, d));
        ks_buf_printf(to,
                      "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                      x, FLOOR + 20, text);
    }
    ks_buf_printf(to,
                  "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">"
                  "intensity (FLOP per byte)</text>\n",
                  (LEFT + WIDTH - RIGHT) / 2, FLOOR + 44);
}

static void put_y_axis(const struct axes *a, struct ks_buf *to)
{
    const int step = a->y_max - a->y_min > 9 ? 2 : 1;
    char text[16];

    for (int d = (int)a->y_min; d <= (int)a->y_max; d += step) {
        const double y = y_of(a, d);

        if (d < 0)
            continue;
        ks_si_text(pow(10, d), text);
        ks_buf_printf(to, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
        ks_buf_printf(to,
                      "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                      LEFT - 8, y + 4, text);
    }
    ks_buf_printf(to,
                  "<text class=\"axis\" transform=\"translate(22 %d) rotate(-90)\" "
                  "text-anchor=\"middle\">FLOP/s</text>\n",
                  (TOP + FLOOR) / 2);
}

/* ---- roofs ---- */

/* Roofs that are less than 4 % apart share a line: "fp32, fp64". */
struct line {
    double value;
    bool is_memory;
    char name[96];
};

static int falling(const void *a, const void *b)
{
    const struct ks_roof *l = a, *r = b;

    return ks_compare_f64(r->value, l->value);
}

static size_t find_lines(const struct ks_roofline *r, bool is_memory, struct line *out)
{
    struct ks_roof sorted[MOST_ROOFS];
    size_t n = 0, n_lines = 0;

    for (size_t i = 0; i < r->n_roofs && n < MOST_ROOFS; i++)
        if (r->roofs[i].is_memory == is_memory && r->roofs[i].value > 0)
            sorted[n++] = r->roofs[i];
    qsort(sorted, n, sizeof(sorted[0]), falling);
    for (size_t i = 0; i < n; i++) {
        struct line *last = n_lines ? &out[n_lines - 1] : NULL;

        if (last && sorted[i].value > 0.96 * last->value) {
            const size_t used = strlen(last->name);

            snprintf(last->name + used, sizeof(last->name) - used, ", %s", sorted[i].name);
            continue;
        }
        out[n_lines] = (struct line){ .value = sorted[i].value, .is_memory = is_memory };
        snprintf(out[n_lines++].name, sizeof(out[0].name), "%s", sorted[i].name);
    }
    return n_lines;
}

static void put_label(const struct line *l, double x, double y, double degrees, const char *anchor,
                      struct ks_buf *to)
{
    char value[16];

    ks_si_text(l->value, value);
    ks_buf_printf(to,
                  "<text class=\"roofname\" transform=\"translate(%.1f %.1f) rotate(%.2f)\" "
                  "text-anchor=\"%s\">",
                  x, y, degrees, anchor);
    ks_xml_put(to, l->name);
    ks_buf_printf(to, " %s%s</text>\n", value, l->is_memory ? "B/s" : "FLOP/s");
}

/* Horizontal roofs, each from where the fastest memory reaches it. Labels of lines that are close
 * move to the left of the one above. */
static void put_compute(const struct axes *a, const struct line *lines, size_t n, bool is_labels,
                        struct ks_buf *to)
{
    double last_y = -100, right = WIDTH - RIGHT - 6;

    for (size_t i = 0; i < n; i++) {
        const double log_y = log10(lines[i].value), y = y_of(a, log_y);
        const double ridge = a->memory_max > 0 ? log_y - log10(a->memory_max) : a->x_min;
        const double x = x_of(a, fmin(fmax(ridge, a->x_min), a->x_max));

        if (!is_labels) {
            ks_buf_printf(to, "<path class=\"roof\" d=\"M%.1f %.1fH%d\"/>", x, y, WIDTH - RIGHT);
            continue;
        }
        right = y - last_y < 15 ? right - 7.0 * (double)(strlen(lines[i - 1].name) + 16)
                                : WIDTH - RIGHT - 6;
        put_label(&lines[i], right, y - 5, 0, "end", to);
        last_y = y;
    }
}

/* Slanted roofs up to the highest compute roof (or the top). */
static void put_memory(const struct axes *a, const struct line *lines, size_t n, bool is_labels,
                       struct ks_buf *to)
{
    const double x_scale = x_of(a, 1) - x_of(a, 0), y_scale = y_of(a, 0) - y_of(a, 1);
    const double degrees = -atan2(y_scale, x_scale) * 180 / acos(-1.0);
    const double log_top = a->compute_max > 0 ? log10(a->compute_max) : a->y_max;

    for (size_t i = 0; i < n; i++) {
        const double log_b = log10(lines[i].value);
        const double x1 = fmax(a->x_min, a->y_min - log_b), x2 = fmin(a->x_max, log_top - log_b);
        const double middle = fmin(x1 + 0.15, x2);

        if (x2 <= x1)
            continue;
        if (is_labels)
            put_label(&lines[i], x_of(a, middle) - 4, y_of(a, middle + log_b) - 7, degrees, "start",
                      to);
        else
            ks_buf_printf(to, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1f\"/>", x_of(a, x1),
                          y_of(a, x1 + log_b), x_of(a, x2), y_of(a, x2 + log_b));
    }
}

/* Lines, or their names, which lie above the dots. */
static void put_roofs(const struct axes *a, const struct ks_roofline *r, bool is_labels,
                      struct ks_buf *to)
{
    struct line lines[MOST_ROOFS];
    size_t n = find_lines(r, true, lines);

    put_memory(a, lines, n, is_labels, to);
    n = find_lines(r, false, lines);
    put_compute(a, lines, n, is_labels, to);
    ks_buf_printf(to, "\n");
}

/* ---- dots ---- */

static void put_hover(const struct ks_roofline *r, const struct ks_roof_dot *d, struct ks_buf *to)
{
    char rate[16], bandwidth[16];

    ks_si_text(d->flop_per_s, rate);
    ks_si_text(d->flop_per_s / d->intensity, bandwidth);
    ks_buf_printf(to, "<title>");
    ks_xml_put(to, d->name);
    if (d->note && *d->note) {
        ks_buf_printf(to, "\n");
        ks_xml_put(to, d->note);
    }
    ks_buf_printf(to, "\n%lu launch%s, %.3f ms", d->launches, d->launches == 1 ? "" : "es",
                  d->time_ns / 1e6);
    if (r->total_ns > 0)
        ks_buf_printf(to, " (%.1f %% of the time)", 100 * d->time_ns / r->total_ns);
    ks_buf_printf(to, "\n%sFLOP/s, %sB/s, %.4g FLOP/B", rate, bandwidth, d->intensity);
    if (d->level) {
        ks_buf_printf(to, " of ");
        ks_xml_put(to, d->level);
    }
    ks_buf_printf(to, "</title>");
}

static double radius_of(const struct ks_roofline *r, const struct ks_roof_dot *d)
{
    const double longest = r->dots[0].time_ns;

    return 3.5 + (longest > 0 && d->time_ns > 0 ? 18 * sqrt(d->time_ns / longest) : 0);
}

/* The longest first, so that short ones lie above them. */
static void put_dots(const struct axes *a, const struct ks_roofline *r, struct ks_buf *to)
{
    for (size_t i = 0; i < r->n_dots; i++) {
        const struct ks_roof_dot *d = &r->dots[i];

        ks_buf_printf(to, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">",
                      x_of(a, log10(d->intensity)), y_of(a, log10(d->flop_per_s)), radius_of(r, d));
        put_hover(r, d, to);
        ks_buf_printf(to, "</circle>\n");
    }
}

/* In the dots with the longest times, or beside those that are too small for it. */
static void put_numbers(const struct axes *a, const struct ks_roofline *r, struct ks_buf *to)
{
    for (size_t i = 0; i < r->n_dots && i < MOST_NUMBERED; i++) {
        const struct ks_roof_dot *d = &r->dots[i];
        const double radius = radius_of(r, d), beside = radius < 8 ? radius + 3 : 0;

        ks_buf_printf(
            to, "<text class=\"number\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%zu</text>\n",
            x_of(a, log10(d->intensity)) + beside, y_of(a, log10(d->flop_per_s)) + 4,
            beside > 0 ? "start" : "middle", i + 1);
    }
}

/* ---- the chart ---- */

static const char colours[] =
    "svg.roofline{--ink:#1f2328;--dim:#59636e;--line:#d8dee4;--paper:#ffffff;--roof:#bc4c00;"
    "--dot:#0969da;color-scheme:light dark}\n"
    "@media (prefers-color-scheme:dark){svg.roofline{--ink:#f0f6fc;--dim:#9198a1;--line:#30363d;"
    "--paper:#0d1117;--roof:#f0883e;--dot:#58a6ff}}\n"
    "svg.roofline text{font-family:system-ui,sans-serif;font-size:13px;fill:var(--ink)}\n"
    "svg.roofline .paper{fill:var(--paper)}svg.roofline .title{font-size:18px;font-weight:600}\n"
    "svg.roofline .subtitle,svg.roofline .tick,svg.roofline .axis,svg.roofline .foot"
    "{fill:var(--dim)}svg.roofline .grid{stroke:var(--line);stroke-width:1}\n"
    "svg.roofline .roof{stroke:var(--roof);stroke-width:2;fill:none}"
    "svg.roofline .roofname{fill:var(--roof);font-size:12px;paint-order:stroke;"
    "stroke:var(--paper);stroke-width:3px}\n"
    "svg.roofline .dot{fill:var(--dot);fill-opacity:.45;stroke:var(--dot);stroke-width:1}"
    "svg.roofline .dot:hover{fill-opacity:.9}\n"
    "svg.roofline .number{font-size:11px;font-weight:600;pointer-events:none;paint-order:stroke;"
    "stroke:var(--paper);stroke-width:2.5px}\n";

static void put_words(const struct ks_roofline *r, struct ks_buf *to)
{
    ks_buf_printf(to, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
    ks_xml_put(to, r->title);
    ks_buf_printf(to, "</text>\n<text class=\"subtitle\" x=\"%d\" y=\"48\">", LEFT);
    ks_xml_put(to, r->subtitle);
    ks_buf_printf(to, "</text>\n<text class=\"foot\" x=\"%d\" y=\"%d\">area of a dot = its time",
                  LEFT, HEIGHT - 8);
    if (r->n_undrawn) {
        ks_buf_printf(to, "; %zu not drawn (%.3f ms): ", r->n_undrawn, r->undrawn_ns / 1e6);
        ks_xml_put(to, r->undrawn_why ? r->undrawn_why : "");
    }
    ks_buf_printf(to, "</text>\n");
}

void ks_svg_roofline(const struct ks_roofline *r, bool is_alone, unsigned number, struct ks_buf *to)
{
    const struct axes a = find_axes(r);

    ks_buf_printf(to,
                  "<svg %sclass=\"roofline\" viewBox=\"0 0 %d %d\" role=\"img\" "
                  "aria-label=\"Roofline of ",
                  is_alone ? "xmlns=\"http://www.w3.org/2000/svg\" " : "", WIDTH, HEIGHT);
    ks_xml_put(to, r->title);
    ks_buf_printf(to, "\">\n");
    if (is_alone)
        ks_buf_printf(to, "<style>\n%s</style>\n", colours);
    ks_buf_printf(to, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
    put_words(r, to);
    put_x_axis(&a, to);
    put_y_axis(&a, to);
    ks_buf_printf(to,
                  "<clipPath id=\"plot%u\"><path d=\"M%d %dH%dV%dH%dZ\"/></clipPath>\n"
                  "<g clip-path=\"url(#plot%u)\">\n",
                  number, LEFT, TOP, WIDTH - RIGHT, FLOOR, LEFT, number);
    put_roofs(&a, r, false, to);
    put_dots(&a, r, to);
    put_roofs(&a, r, true, to);
    put_numbers(&a, r, to);
    ks_buf_printf(to, "</g>\n</svg>\n");
}

/* ---- the page ---- */

static const char page_style[] =
    ":root{color-scheme:light dark;--ink:#1f2328;--dim:#59636e;--line:#d8dee4;--paper:#ffffff}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#f0f6fc;--dim:#9198a1;--line:#30363d;"
    "--paper:#0d1117}}\n"
    "body{margin:0 auto;padding:12px;max-width:1400px;color:var(--ink);background:var(--paper);"
    "font:14px/1.4 system-ui,sans-serif}\n"
    "svg.roofline{display:block;width:100%;height:auto;min-width:640px}"
    ".chart,.table{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;margin:8px 0 32px}"
    "th,td{padding:4px 10px;border-bottom:1px solid var(--line);text-align:right;"
    "white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "th{color:var(--dim);font-weight:600}"
    "th.name,td.name{text-align:left;max-width:0;width:50%;min-width:16em;overflow:hidden;"
    "text-overflow:ellipsis}\n";

static void put_row(const struct ks_roofline *r, size_t i, struct ks_buf *to)
{
    const struct ks_roof_dot *d = &r->dots[i];
    char rate[16], bandwidth[16];

    ks_si_text(d->flop_per_s, rate);
    ks_si_text(d->flop_per_s / d->intensity, bandwidth);
    ks_buf_printf(to, "<tr><td>%zu</td><td class=\"name\" title=\"", i + 1);
    ks_xml_put(to, d->name);
    ks_buf_printf(to, "\">");
    ks_xml_put(to, d->name);
    ks_buf_printf(to, "</td><td>%lu</td><td>%.3f</td><td>", d->launches, d->time_ns / 1e6);
    if (r->total_ns > 0)
        ks_buf_printf(to, "%.1f", 100 * d->time_ns / r->total_ns);
    ks_buf_printf(to, "</td><td>%.4g</td><td>%s</td><td>%s</td></tr>\n", d->intensity, rate,
                  bandwidth);
}

void ks_html_rooflines(const struct ks_roofline *r, size_t n, struct ks_buf *to)
{
    ks_buf_printf(to, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Roofline");
    for (size_t i = 0; i < n; i++) {
        ks_buf_printf(to, "%s", i ? ", " : " of ");
        ks_xml_put(to, r[i].title);
    }
    ks_buf_printf(to, "</title>\n<style>\n%s%s</style>\n", page_style, colours);
    for (size_t i = 0; i < n; i++) {
        ks_buf_printf(to, "<div class=\"chart\">\n");
        ks_svg_roofline(&r[i], false, (unsigned)i, to);
        ks_buf_printf(to, "</div>\n");
        if (r[i].n_dots == 0)
            continue;
        ks_buf_printf(to, "<div class=\"table\"><table>\n<tr><th>#</th>"
                          "<th class=\"name\">name</th><th>launches</th><th>time (ms)</th>"
                          "<th>%% of time</th><th>FLOP/B</th><th>FLOP/s</th><th>B/s</th></tr>\n");
        for (size_t j = 0; j < r[i].n_dots; j++)
            put_row(&r[i], j, to);
        ks_buf_printf(to, "</table></div>\n");
    }
    ks_buf_printf(to, "</html>\n");
}
