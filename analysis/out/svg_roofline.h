/* SPDX-License-Identifier: MIT */
/* svg_roofline.h - a roofline chart of one device as SVG, and a page of such charts. Pure: finished
 * numbers in, text out. Names are escaped; colours follow the reader's light or dark scheme.
 * Source: Williams, Waterman, Patterson 2009: attainable rate = min(peak, bandwidth x intensity).
 */
#ifndef KS_ANALYSIS_SVG_ROOFLINE_H
#define KS_ANALYSIS_SVG_ROOFLINE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct ks_roof {
    const char *name; /* "HBM", "fp32" */
    double value;     /* B/s of a memory level, FLOP/s of a type; > 0 */
    bool is_memory;
};

struct ks_roof_dot {
    const char *name;
    const char *note;  /* shown on hover below the name; "" or NULL: nothing */
    const char *level; /* memory level of the bytes: "HBM"; NULL: not told */
    double intensity;  /* FLOP/B, > 0 */
    double flop_per_s; /* > 0 */
    double time_ns;    /* of all launches; >= 0; the area of the dot */
    unsigned long launches;
};

/* What the caller could not draw is counted here, and said under the chart. */
struct ks_roofline {
    const char *title, *subtitle; /* device; where roofs and dots come from */
    const struct ks_roof *roofs;  /* [n_roofs] */
    size_t n_roofs;
    const struct ks_roof_dot *dots; /* [n_dots], longest time first */
    size_t n_dots;
    double total_ns; /* of all kernels, drawn or not; 0: unknown */
    size_t n_undrawn;
    double undrawn_ns;
    const char *undrawn_why; /* "no FLOPs or bytes known" */
};

/* An <svg> element. is_alone: with the XML namespace and a background, for a file of its own.
 * number: distinguishes the ids of several charts of one page. */
void ks_svg_roofline(const struct ks_roofline *r, bool is_alone, unsigned number,
                     struct ks_buf *to);
/* A whole HTML page without references to anything outside: charts and tables of their dots. */
void ks_html_rooflines(const struct ks_roofline *r, size_t n, struct ks_buf *to);

/* Text inside elements and quoted attributes of XML and HTML: & < > " ' and control characters. */
void ks_xml_put(struct ks_buf *to, const char *text);
/* "67.0 T", "1.39 T", "819 G": three digits and a prefix of 1000. out [16] */
void ks_si_text(double v, char *out);

#endif
