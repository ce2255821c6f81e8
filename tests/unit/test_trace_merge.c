/* SPDX-License-Identifier: MIT */
/* test_trace_merge.c - device times measured apart, on a device's timeline and in a host's trace */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/trace/merge_write.h"

#include <string.h>

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))
#define OP(name, ts, dur, tid, id)                                                                 \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":5,\"tid\":" tid ",\"ts\":" ts  \
    ",\"dur\":" dur ",\"args\":{\"External id\":" id "}}"

/* Two threads; outer holds inner and a second one; a call that waited from 60 to 100 us. */
static const char host_text[] = "{\"traceEvents\":[" OP("outer", "10", "30", "70", "1") "," OP(
    "inner", "12", "5", "70",
    "2") "," OP("in\\\"ner", "20", "5", "70",
                "3") "," OP("other", "11", "4", "9",
                            "4") ","
                                 "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                                 "\"cudaDeviceSynchronize\",\"pid\":5,\"tid\":70,"
                                 "\"ts\":1,\"dur\":2,\"args\":{\"correlation\":8}},"
                                 "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                                 "\"cudaDeviceSynchronize\",\"pid\":5,\"tid\":70,"
                                 "\"ts\":60,\"dur\":40,\"args\":{\"correlation\":9}},"
                                 "{\"ph\":\"s\",\"id\":41,\"cat\":\"ac2g\",\"name\":\"ac2g\","
                                 "\"pid\":5,\"tid\":70,\"ts\":12},"
                                 "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":99,\"args\":{"
                                 "\"name\":\"x\"}}\n], \"rest\": 1}";

static const char kernels_text[] =
    "{\"outer_1_2\":{\"kernel_time\":30.5,\"device_memory_usage\":77},"
    "\"inner_2_2\":{\"kernel_time\":10},\"in\\\"ner_3_7\":{\"kernel_time\":8.25},"
    "\"other_4_1\":{\"kernel_time\":4},\"gone_5_1\":{\"kernel_time\":1}}";

struct rig {
    struct ks_trace_source *source;
    struct ks_trace *host;
    struct ks_merge_kernels kernels;
};

static void rig_open(struct rig *r, const char *host, const char *kernels)
{
    struct ks_err err;

    *r = (struct rig){ 0 };
    assert_int_equal(ks_trace_source_memory(host, strlen(host), "h", &r->source, &err), 0);
    assert_int_equal(ks_trace_read(r->source, &r->host, &err), 0);
    assert_int_equal(ks_trace_source_rewind(r->source, &err), 0);
    assert_int_equal(ks_merge_kernels_parse(kernels, strlen(kernels), "k", &r->kernels, &err), 0);
}

static void rig_close(struct rig *r)
{
    ks_merge_kernels_release(&r->kernels);
    ks_trace_release(r->host);
    ks_trace_source_close(r->source);
}

static struct ks_merge_plan make(struct rig *r, const struct ks_merge_rules *rules)
{
    struct ks_merge_plan p;
    struct ks_err err;

    assert_int_equal(ks_merge_plan_make(r->host, &r->kernels, rules, &p, &err), 0);
    return p;
}

struct slice {
    const char *name;
    int64_t start_ns, dur_ns;
    bool is_self;
};

static void check(const struct rig *r, const struct ks_merge_plan *p, const struct slice *want,
                  size_t n)
{
    assert_int_equal(p->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(ks_trace_name(r->host, r->host->ops.name[p->at[i].op]), want[i].name);
        assert_int_equal(p->at[i].start_ns, want[i].start_ns);
        assert_int_equal(p->at[i].dur_ns, want[i].dur_ns);
        assert_int_equal(p->at[i].is_self, want[i].is_self);
    }
}

/* One queue: the outer operator's own time, then what was launched while it ran. */
static void kernels_queue_up(void **state)
{
    static const struct slice want[] = { { "outer", 10000, 12250, true },
                                         { "other", 22250, 4000, false },
                                         { "inner", 26250, 10000, false },
                                         { "in\"ner", 36250, 8250, false } };
    const struct ks_merge_rules rules = { 0 };
    struct ks_merge_plan p;
    struct rig r;

    (void)state;
    rig_open(&r, host_text, kernels_text);
    p = make(&r, &rules);
    check(&r, &p, want, N(want));
    assert_int_equal(p.n_entries, 5);
    assert_int_equal(p.n_matched, 4);
    assert_int_equal(p.total_ns, 34500);
    assert_int_equal(p.n_waits, 1);
    assert_int_equal(p.latency_bound_ns,
                     60000 - 44500); /* it was busy when the host began to wait */
    ks_merge_plan_release(&p);
    rig_close(&r);
}

/* Short ones and names are left out as if they were not there: then the outer one has it all. */
static void rules_leave_out(void **state)
{
    static const char *const drop[] = { "inner", "in" };
    static const struct slice least[] = { { "outer", 12000, 20500, true },
                                          { "inner", 32500, 10000, false } };
    static const struct slice named[] = { { "outer", 10000, 22250, true },
                                          { "other", 32250, 4000, false },
                                          { "in\"ner", 36250, 8250, false } };
    struct ks_merge_rules rules = { .latency_ns = 2000, .least_ns = 9000 };
    struct ks_merge_plan p;
    struct rig r;

    (void)state;
    rig_open(&r, host_text, kernels_text);
    p = make(&r, &rules);
    check(&r, &p, least, N(least));
    assert_int_equal(p.n_short, 2);
    ks_merge_plan_release(&p);
    rig_close(&r);
    rig_open(&r, host_text, kernels_text);
    rules = (struct ks_merge_rules){ .drop = drop, .n_drop = 2 };
    p = make(&r, &rules);
    check(&r, &p, named, N(named)); /* "in" is no part of a name */
    assert_int_equal(p.n_dropped, 1);
    ks_merge_plan_release(&p);
    rig_close(&r);
}

/* Streams that the file tells run side by side; parts longer than their whole are said. */
static void streams_and_excess(void **state)
{
    static const char kernels[] =
        "{\"outer_1_2\":{\"kernel_time\":9},\"inner_2_2\":{\"kernel_time\":10,"
        "\"stream\":3},\"other_4_1\":{\"kernel_time\":4,\"device\":1}}";
    static const struct slice want[] = { { "other", 11000, 4000, false },
                                         { "inner", 12000, 10000, false } };
    const struct ks_merge_rules rules = { 0 };
    struct ks_merge_plan p;
    struct rig r;

    (void)state;
    rig_open(&r, host_text, kernels);
    p = make(&r, &rules);
    check(&r, &p, want, N(want));
    assert_int_equal(p.n_excess, 1);
    assert_int_equal(p.excess_ns, 1000);
    ks_merge_plan_release(&p);
    rig_close(&r);
}

/* What is inserted reads back: ids above all that are there, names, flows, memory. */
static void the_text_reads_back(void **state)
{
    const struct ks_merge_rules rules = { 0 };
    struct ks_merge_ids ids;
    struct ks_merge_plan p;
    struct ks_buf b, merged;
    struct ks_err err;
    struct rig r, again;

    (void)state;
    ks_buf_init(&b);
    ks_buf_init(&merged);
    rig_open(&r, host_text, kernels_text);
    assert_int_equal(ks_merge_ids_find(r.source, &ids, &err), 0);
    assert_int_equal(ids.first_flow, 42);
    assert_int_equal(ids.first_pid, 100);
    assert_int_equal(host_text[ids.events_end], ']');
    p = make(&r, &rules);
    ks_merge_events_put(r.host, &r.kernels, &p, &ids, &b);
    ks_buf_put(&merged, host_text, ids.events_end);
    ks_buf_put(&merged, b.data, b.len);
    ks_buf_printf(&merged, "%s", host_text + ids.events_end);
    rig_open(&again, ks_buf_text(&merged), kernels_text);
    assert_int_equal(again.host->dirt.n_bad, 0);
    assert_int_equal(again.host->gpu.n, 4);
    assert_int_equal(again.host->gpu.ts_ns[3], 36250);
    assert_int_equal(again.host->gpu.external[3], 3);
    assert_int_equal(again.host->gpu.op[3], 2); /* by its External id */
    assert_int_equal(again.host->n_of_kind[KS_TRACE_FLOW_BEGIN], 5);
    assert_int_equal(again.host->n_of_kind[KS_TRACE_FLOW_END], 4);
    assert_int_equal(again.host->n_of_kind[KS_TRACE_COUNTER], 1);
    assert_int_equal(again.host->n_of_kind[KS_TRACE_META], 3);
    assert_non_null(strstr(ks_buf_text(&b), "\"id\": 45, \"pid\": 5, \"tid\": 70, \"ts\": 20.000"));
    assert_non_null(
        strstr(ks_buf_text(&b), "\"pid\": 100, \"ts\": 10.000, \"args\": {\"bytes\": 77}"));
    ks_merge_plan_release(&p);
    ks_buf_release(&b);
    ks_buf_release(&merged);
    rig_close(&again);
    rig_close(&r);
}

static void error_against_the_truth(void **state)
{
#define KERNEL(ts, dur, id)                                                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" ts               \
    ",\"dur\":" dur ",\"args\":{\"External id\":" id ",\"device\":0,\"stream\":7}}"
    static const char truth_text[] =
        "[" OP("outer", "10", "30", "70", "1") "," OP("inner", "12", "5", "70", "2") "," OP(
            "late", "50", "5", "70",
            "6") "," KERNEL("15", "10", "1") "," KERNEL("20", "10",
                                                        "2") "," KERNEL("24", "3",
                                                                        "2") "," KERNEL("55", "3",
                                                                                        "6") "]";
#undef KERNEL
    const struct ks_merge_rules rules = { 0 };
    struct ks_merge_error e;
    struct ks_merge_plan p;
    struct ks_err err;
    struct rig r, truth;

    (void)state;
    rig_open(&r, host_text, kernels_text);
    rig_open(&truth, truth_text, "{}");
    p = make(&r, &rules);
    assert_int_equal(ks_merge_error_of(r.host, &p, truth.host, &e, &err), 0);
    assert_int_equal(e.n_true, 3);
    assert_int_equal(e.n_both, 2);
    assert_true(e.max_ns == 6250 && e.mean_ns == (5000 + 6250) / 2.0 && e.median_ns == e.mean_ns);
    assert_int_equal(e.true_busy_ns, 15000 + 3000);
    assert_int_equal(e.true_sum_ns, 26000);
    assert_int_equal(e.busy_ns, 34500);
    ks_merge_plan_release(&p);
    rig_close(&truth);
    rig_close(&r);
}

static void bad_kernels_are_named(void **state)
{
    static const char *const rows[][2] = {
        { "[]", "k: expected a JSON object of device times" },
        { "", "k: expected a JSON object of device times" },
        { "{\"a\":5}", "k: \"a\" is not an object" },
        { "{\"a\":{}}", "k: \"a\" has no \"kernel_time\"" },
        { "{\"a\":{\"kernel_time\":-1}}", "k: \"a\": \"kernel_time\" is not a usable number" },
        { "{\"a\":{\"kernel_time\":NaN}}", "k: \"a\": \"kernel_time\" is not a usable number" },
        { "{\"a\":{\"kernel_time\":1,\"stream\":\"x\"}}",
          "k: \"a\": \"stream\" is not a usable number" },
        { "{\"a\":{\"kernel_time\":1},\"a\":{\"kernel_time\":1}}", "duplicate key" },
        { "{\"a\":{\"kernel_time\":1}", "not JSON" },
    };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        struct ks_merge_kernels k = { 0 };
        struct ks_err err = { 0 };

        assert_int_equal(ks_merge_kernels_parse(rows[i][0], strlen(rows[i][0]), "k", &k, &err),
                         KS_EFORMAT);
        assert_non_null(strstr(err.text, rows[i][1]));
        assert_null(k.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_queue_up),        cmocka_unit_test(rules_leave_out),
        cmocka_unit_test(streams_and_excess),      cmocka_unit_test(the_text_reads_back),
        cmocka_unit_test(error_against_the_truth), cmocka_unit_test(bad_kernels_are_named)
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
