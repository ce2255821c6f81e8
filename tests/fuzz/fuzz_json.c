/* SPDX-License-Identifier: MIT */
/* fuzz_json.c - any bytes as JSON: refused with a place, or written and read to the same text */
#include "tests/fuzz/fuzz.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void write_out(const struct ks_json *doc, bool is_pretty, struct ks_buf *b)
{
    struct ks_jw w;

    ks_buf_init(b);
    ks_jw_init(&w, b, is_pretty);
    ks_jw_node(&w, NULL, ks_json_root(doc));
}

/* Every node is reached exactly once, under the kind and size it claims. */
static size_t count_nodes(const struct ks_json *doc, const struct ks_node *n)
{
    size_t total = 1, n_children = 0;
    char where[64];

    ks_node_where(doc, n, where, sizeof(where));
    demand(!strncmp(where, "f:", 2));
    for (const struct ks_node *c = ks_node_first(n); c; c = ks_node_next(c)) {
        demand(ks_node_kind(n) == KS_JSON_ARRAY || ks_node_kind(n) == KS_JSON_OBJECT);
        demand((ks_node_key(c) != NULL) == (ks_node_kind(n) == KS_JSON_OBJECT));
        demand(!ks_node_key(c) || ks_node_at(n, ks_node_key(c)) == c);
        total += count_nodes(doc, c);
        n_children++;
    }
    demand(n_children == ks_node_size(n));
    return total;
}

static void check_round_trip(const struct ks_json *doc, bool is_pretty)
{
    struct ks_json *again = NULL;
    struct ks_err err = { 0 };
    struct ks_buf first, second;

    write_out(doc, is_pretty, &first);
    if (ks_buf_ok(&first)) {
        demand(ks_json_parse(ks_buf_text(&first), first.len, "f", &again, &err) == 0);
        demand(count_nodes(doc, ks_json_root(doc)) == count_nodes(again, ks_json_root(again)));
        write_out(again, is_pretty, &second);
        demand(first.len == second.len && !memcmp(first.data, second.data, first.len));
        ks_buf_release(&second);
        ks_json_close(again);
    }
    ks_buf_release(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_json *doc = NULL;
    struct ks_err err = { 0 };
    int rc = ks_json_parse((const char *)bytes, n, "f", &doc, &err);

    if (rc < 0) {
        demand(rc == KS_EFORMAT && !doc);
        demand(!strncmp(err.text, "f:", 2) && strlen(err.text) > 4);
        demand(!strstr(err.text, "libcjson")); /* it reads what our grammar accepts, and the same */
        return 0;
    }
    check_round_trip(doc, false);
    check_round_trip(doc, true);
    ks_json_close(doc);
    return 0;
}
