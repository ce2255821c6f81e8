/* SPDX-License-Identifier: MIT */
/* fuzz_expr.c - any text as an expression and as a list of values: refused by column, or read */
/* The same values each time. What the check lets pass fails in evaluation only by arithmetic; the
 * values of a list are all distinct. */
#include "grid/expr.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static bool a_name(const void *ctx, const char *name, struct ks_expr_value *out)
{
    (void)ctx;
    *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_INT, .whole = (int64_t)strlen(name) - 2 };
    if (name[0] == 'p')
        *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_TEXT, .text = "packed" };
    if (name[0] == 'r')
        *out = (struct ks_expr_value){ .kind = KS_EXPR_IS_REAL, .real = 2.5 };
    return name[0] != 'x';
}

static bool a_value(const void *ctx, const char *name, const char *text,
                    const char *const **known_out)
{
    static const char *const known[] = { "packed", NULL };

    (void)ctx;
    (void)name;
    *known_out = known;
    return strcmp(text, "packed") == 0;
}

static bool has_place(const struct ks_err *err)
{
    return strstr(err->text, "column ") || strstr(err->text, "longer than");
}

static void try_values(const char *text)
{
    struct ks_expr_value a[64], b[64];
    uint32_t n_a = 0, n_b = 0;
    struct ks_expr *e = NULL;
    struct ks_err err = { 0 };
    int rc = ks_expr_parse_values(text, &e, &err);

    demand(rc == 0 || (rc == KS_EINVAL && !e && has_place(&err)));
    if (rc == 0) {
        rc = ks_expr_values(e, a, 64, &n_a, &err);
        demand(rc == 0 || (rc == KS_EINVAL && has_place(&err)));
        demand(rc == ks_expr_values(e, b, 64, &n_b, &err));
    }
    demand(n_a == n_b && n_a <= 64);
    for (uint32_t i = 0; i < n_a; i++)
        demand(a[i].kind == b[i].kind && a[i].kind <= KS_EXPR_IS_TEXT);
    for (uint32_t i = 0; i < n_a; i++)
        for (uint32_t k = 0; k < i && a[i].kind == KS_EXPR_IS_INT; k++)
            demand(a[k].kind != KS_EXPR_IS_INT || a[k].whole != a[i].whole);
    ks_expr_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = strndup((const char *)bytes, n);
    struct ks_expr *e = NULL;
    struct ks_err err = { 0 };
    bool a = false, b = false;
    int rc, checked, again;

    demand(text != NULL);
    rc = ks_expr_parse(text, &e, &err);
    demand(rc == 0 || (rc == KS_EINVAL && !e && has_place(&err)));
    if (rc == 0) {
        checked = ks_expr_check(e, a_name, a_value, NULL, NULL, &err);
        demand(checked == 0 || has_place(&err));
        rc = ks_expr_test(e, a_name, NULL, &a, &err);
        again = ks_expr_test(e, a_name, NULL, &b, &err);
        demand(rc == again && a == b);
        demand(rc == 0 || has_place(&err));
        demand(checked < 0 || rc == 0 || strstr(err.text, "division") ||
               strstr(err.text, "out of range") || strstr(err.text, "up to 2^53") ||
               strstr(err.text, "no real power"));
    }
    ks_expr_free(e);
    try_values(text);
    free(text);
    return 0;
}
