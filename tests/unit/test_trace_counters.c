/* SPDX-License-Identifier: MIT */
/* test_trace_counters.c - counters from profilers' CSV: numbers, units, the table, roofs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "analysis/trace/counter_join.h"
#include "analysis/trace/counter_lines.h"
#include "analysis/trace/counter_read.h"
#include "analysis/trace/counter_value.h"
#include "analysis/trace/roofs.h"

#include <math.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static void numbers_tell_their_locale(void **state)
{
    static const struct {
        const char *text;
        enum ks_number_style style;
        double point, comma; /* as each locale reads it; NaN: no number there */
    } rows[] = { { "27", KS_STYLE_EITHER, 27, 27 },
                 { "1,215,000,000.00", KS_STYLE_POINT, 1215000000, 0 },
                 { "27.595.520", KS_STYLE_COMMA, 0, 27595520 },
                 { "65,77", KS_STYLE_COMMA, 0, 65.77 },
                 { "65.77", KS_STYLE_POINT, 65.77, 0 },
                 { "1,234", KS_STYLE_EITHER, 1234, 1.234 },
                 { "1.234", KS_STYLE_EITHER, 1.234, 1234 },
                 { "0,123", KS_STYLE_COMMA, 0, 0.123 },
                 { "1.234.567,5", KS_STYLE_COMMA, 0, 1234567.5 },
                 { "1'234.5", KS_STYLE_POINT, 1234.5, 0 },
                 { "1\xe2\x80\xaf"
                   "234,5",
                   KS_STYLE_COMMA, 0, 1234.5 },
                 { "-3.5e+02", KS_STYLE_EITHER, -350, 0 },
                 { "4.34259040e-02", KS_STYLE_EITHER, 0.043425904, 0 },
                 { "n/a", KS_STYLE_NONE, 0, 0 },
                 { "", KS_STYLE_NONE, 0, 0 },
                 { "1.2.3,4,5", KS_STYLE_NONE, 0, 0 },
                 { "(256, 1, 1)", KS_STYLE_NONE, 0, 0 },
                 { "0x10", KS_STYLE_NONE, 0, 0 },
                 { "12 KB", KS_STYLE_NONE, 0, 0 } };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        const enum ks_number_style style = ks_number_style(rows[i].text);
        double v;

        if (!strchr(rows[i].text, 'e'))
            assert_int_equal(style, rows[i].style);
        if (style == KS_STYLE_POINT || style == KS_STYLE_EITHER) {
            assert_true(ks_number_read(rows[i].text, KS_STYLE_POINT, &v));
            assert_true(fabs(v - rows[i].point) <= 1e-12 * fabs(v));
        }
        if (style == KS_STYLE_COMMA) {
            assert_true(ks_number_read(rows[i].text, KS_STYLE_COMMA, &v));
            assert_true(v == rows[i].comma);
        }
        if (style == KS_STYLE_NONE)
            assert_false(ks_number_read(rows[i].text, KS_STYLE_POINT, &v) &&
                         !strchr(rows[i].text, '.'));
    }
}

static void units_have_bases(void **state)
{
    static const struct {
        const char *unit, *base;
        double scale;
    } rows[] = { { "Mbyte", "byte", 1e6 },
                 { "KiB", "byte", 1024 },
                 { "Gbyte/second", "byte/s", 1e9 },
                 { "usecond", "ns", 1e3 },
                 { "ms", "ns", 1e6 },
                 { "nsecond", "ns", 1 },
                 { "Ghz", "hz", 1e9 },
                 { "cycle/nsecond", "cycle/s", 1e9 },
                 { "Kinst", "inst", 1e3 },
                 { "inst/cycle", "inst/cycle", 1 },
                 { "%", "%", 1 },
                 { "", "", 1 },
                 { "byte/block", "byte/block", 1 },
                 { "register/thread", "register/thread", 1 } };

    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        char base[KS_UNIT_MAX];

        assert_true(fabs(ks_unit_base(rows[i].unit, base) / rows[i].scale - 1) < 1e-12);
        assert_string_equal(base, rows[i].base);
    }
}

/* ---- files ---- */

static int read_text(struct ks_counter_table *t, const char *text, const char *path,
                     enum ks_counter_phase phase, struct ks_err *err)
{
    const struct ks_counter_csv csv = {
        .text = text, .len = strlen(text), .path = path, .process = "p", .rank = -1
    };

    return ks_counter_csv_read(t, &csv, phase, err);
}

static struct ks_quantities quantities_of(const struct ks_counter_table *t, uint32_t row)
{
    struct ks_formulas *f;
    struct ks_quantities q;
    struct ks_err err;

    assert_int_equal(ks_formulas_create(t, &f, &err), 0);
    ks_formulas_row(f, row, &q);
    ks_formulas_destroy(f);
    return q;
}

#define NCU_HEAD                                                                                   \
    "==PROF== Connected to process 1, the \"Name\n"                                                \
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Stream\",\"Device\",\"CC\",\"Section Name\","         \
    "\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\"\n"
#define NCU_ROW "\"0\",\"7\",\"gemm(int, <float>)\",\"13\",\"2\",\"8.6\","

/* Details page: sections with the same metric stay apart, units become bases, rules are no values.
 */
static void ncu_details(void **state)
{
    static const char text[] = NCU_HEAD NCU_ROW
        "\"Command line profiler metrics\",\"dram__bytes.sum\",\"Mbyte\",\"4.50\",\"\"\n" NCU_ROW
        "\"GPU Speed Of Light Throughput\",\"Duration\",\"usecond\",\"1,500.00\"\n" NCU_ROW
        "\"Other\",\"Duration\",\"%\",\"3.25\"\n" NCU_ROW
        "\"Rules\",\"\",\"\",\"\",\"A rule, of \"\"two\"\"\nlines\"\n" NCU_ROW
        "\"Command line profiler "
        "metrics\",\"sm__inst_executed_pipe_tensor.sum\",\"inst\",\"10\"\n" NCU_ROW
        "\"Launch\",\"Mode\",\"\",\"n/a\"\nthe program goes on\n";
    struct ks_counter_table t = { 0 };
    struct ks_quantities q;
    struct ks_err err;

    (void)state;
    assert_int_equal(read_text(&t, text, "f.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(t.n_rows, 1);
    assert_int_equal(t.n_columns, 4);
    assert_int_equal(t.n_other, 1);
    assert_int_equal(t.rows[0].cc, 86);
    assert_int_equal(t.rows[0].device, 2);
    assert_int_equal(t.rows[0].stream, 13);
    q = quantities_of(&t, 0);
    assert_true(q.has[KS_Q_TIME_NS] && q.value[KS_Q_TIME_NS] == 1500e3);
    assert_true(q.has[KS_Q_BYTES_DRAM] && q.value[KS_Q_BYTES_DRAM] == 4.5e6);
    assert_true(q.has[KS_Q_FLOP_MATRIX] && q.value[KS_Q_FLOP_MATRIX] == 20480);
    assert_false(q.has[KS_Q_FLOP_FP32]);
    ks_counter_table_release(&t);
}

/* The same number reads differently where another line tells the locale; two locales are none. */
static void ncu_locales(void **state)
{
#define VALUE(name, value)                                                                         \
    NCU_ROW "\"Command line profiler metrics\",\"" name "\",\"byte\",\"" value "\"\n"
    static const char comma[] = NCU_HEAD VALUE("dram__bytes.sum", "4.500") VALUE("x", "65,77");
    static const char mixed[] = NCU_HEAD VALUE("dram__bytes.sum", "65.77") VALUE("x", "65,77");
#undef VALUE
    struct ks_counter_table t = { 0 };
    struct ks_err err = { 0 };

    (void)state;
    assert_int_equal(read_text(&t, comma, "f.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_true(quantities_of(&t, 0).value[KS_Q_BYTES_DRAM] == 4500);
    ks_counter_table_release(&t);
    assert_int_equal(read_text(&t, mixed, "f.csv", KS_COUNTERS_ALL_BUT_TIMES, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "f.csv:4: '65,77' and '65.77' (line 3)"));
    ks_counter_table_release(&t);
}

/* Raw page: units on the second line; FLOPs per type, tensor cores only where the weight is known.
 */
static void ncu_raw(void **state)
{
#define S(type) "smsp__sass_thread_inst_executed_op_" type "_pred_on.sum"
    static const char text[] =
        "\"ID\";\"Process ID\";\"Kernel Name\";\"CC\";\"gpu__time_duration.sum\";\"" S(
            "ffma") "\";\"" S("fmul") "\";\"" S("fadd") "\";\"" S("hfma") "\";\"sm__inst_executed_"
                                                                          "pipe_tensor.sum\"\n"
                                                                          "\"\";\"\";\"\";\"\";"
                                                                          "\"msecond\";\"Kinst\";"
                                                                          "\"inst\";\"inst\";"
                                                                          "\"inst\";\"inst\"\n"
                                                                          "\"0\";\"7\";\"a;b\";\"9,"
                                                                          "0\";\"2,50\";\"1.234\";"
                                                                          "\"5\";\"7\";\"1\";"
                                                                          "\"3\"\n"
                                                                          "\"1\";\"7\";\"a;b\";\"7,"
                                                                          "5\";\"0,50\";\"0\";"
                                                                          "\"0\";\"0\";\"1\";"
                                                                          "\"3\"\n";
#undef S
    struct ks_counter_table t = { 0 };
    struct ks_quantities q;
    struct ks_err err;

    (void)state;
    assert_int_equal(read_text(&t, text, "f.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(t.n_rows, 2);
    q = quantities_of(&t, 0);
    assert_true(q.value[KS_Q_FLOP_FP32] == 2 * 1234e3 + 5 + 7);
    assert_false(q.has[KS_Q_FLOP_FP16]);   /* hmul and hadd were not collected */
    assert_false(q.has[KS_Q_FLOP_MATRIX]); /* nobody says what sm_90 does per instruction */
    assert_true(q.has_flop && q.flop == q.value[KS_Q_FLOP_FP32]);
    assert_true(q.value[KS_Q_TIME_NS] == 2.5e6);
    q = quantities_of(&t, 1);
    assert_true(q.value[KS_Q_FLOP_MATRIX] == 3 * 512 && q.flop == 3 * 512);
    ks_counter_table_release(&t);
}

static void nsys(void **state)
{
    static const char trace[] =
        "NOTICE: Existing SQLite export found\n"
        "Start (ns),Duration (us),CorrId,GrdX,GrdY,GrdZ,Bytes (MB),Device,Ctx,Strm,Name\n"
        "100,2.5,1,64,1,1,,NVIDIA A100-SXM4-80GB (3),1,7,\"k<a, b>\"\n"
        "200,1,2,,,,1.0,NVIDIA A100-SXM4-80GB (3),1,7,[CUDA memcpy HtoD]\n";
    static const char summary[] =
        "Time (%),Total Time (ns),Instances,Avg (ns),Name\n 60.0,3000,4,750.0,k\n";
    struct ks_counter_table t = { 0 };
    struct ks_err err;

    (void)state;
    assert_int_equal(read_text(&t, trace, "f.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(t.n_rows, 1);
    assert_int_equal(t.n_copies, 1);
    assert_int_equal(t.rows[0].device, 3);
    assert_int_equal(t.rows[0].stream, 7);
    assert_true(t.rows[0].has_time && t.rows[0].time_ns == 2500);
    assert_int_equal(read_text(&t, summary, "g.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(t.rows[1].launches, 4);
    assert_true(t.rows[1].time_ns == 3000);
    ks_counter_table_release(&t);
}

/* Three generations of columns; a second pass and a kernel trace meet the launches of the first. */
static void rocprofv3(void **state)
{
    static const char first[] = "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\","
                                "\"Kernel_Name\",\"SGPR_Count\","
                                "\"Counter_Name\",\"Counter_Value\"\n"
                                "1,1,1,4,\"k(int, int)\",16,\"SQ_INSTS_VALU_ADD_F32\",3\n"
                                "1,1,1,4,\"k(int, int)\",16,\"SQ_INSTS_VALU_MUL_F32\",2\n"
                                "2,2,1,4,\"k(int, int)\",16,\"SQ_INSTS_VALU_ADD_F32\",5\n";
    static const char second[] =
        "\"Dispatch_Id\",\"Agent_Id\",\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\","
        "\"Start_Timestamp\",\"End_Timestamp\"\n"
        "1,\"Agent 4\",\"k(int, int)\",SQ_INSTS_VALU_FMA_F32,1.000000,100,350\n"
        "1,\"Agent 4\",\"k(int, int)\",SQ_INSTS_VALU_TRANS_F32,4.0e+00,100,350\n"
        "1,\"Agent 4\",\"k(int, int)\",SQ_INSTS_VALU_ADD_F32,4,100,350\n";
    static const char times[] =
        "\"Kind\",\"Agent_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_"
        "Timestamp\"\n"
        "\"KERNEL_DISPATCH\",1,2,\"k(int, int)\",8819330200067564,8819330200116308\n"
        "\"KERNEL_DISPATCH\",1,3,\"k(int, int)\",8819330200067564,8819330200116308\n";
    struct ks_counter_table t = { 0 };
    struct ks_quantities q;
    struct ks_err err;

    (void)state;
    assert_int_equal(read_text(&t, first, "f.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(read_text(&t, times, "t.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_LATER);
    assert_int_equal(read_text(&t, second, "g.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(read_text(&t, times, "t.csv", KS_COUNTERS_TIMES, &err), KS_COUNTERS_READ);
    assert_int_equal(t.n_rows, 2);
    assert_int_equal(t.n_unjoined, 1);
    assert_int_equal(t.n_differing, 1);
    assert_int_equal(t.rows[0].device, 4);
    assert_int_equal(t.rows[0].stream, 4);
    q = quantities_of(&t, 0);
    assert_true(q.value[KS_Q_FLOP_FP32] == 64 * (3 + 2 + 2 * 1 + 4));
    assert_true(q.value[KS_Q_TIME_NS] == 250);
    q = quantities_of(&t, 1);
    assert_false(q.has_flop);
    assert_true(q.value[KS_Q_TIME_NS] == 48744);
    ks_counter_table_release(&t);
}

/* Channels are summed where their sum is not there; columns of other passes repeat descriptions. */
static void rocprof_compute(void **state)
{
    static const char text[] =
        "Dispatch_ID,Kernel_Name,GPU_ID,wave_size,obj,A[0],A[1],B[0],B_sum,wave_size_1,"
        "TCC_BUBBLE_sum,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_EA0_WRREQ_sum,"
        "TCC_EA0_WRREQ_64B_sum,Start_Timestamp,End_Timestamp\n"
        "0,k,2,64,0x7f,1,2,3,40,64,1,10,2,6,5,100,1100\n";
    struct ks_counter_table t = { 0 };
    struct ks_quantities q;
    struct ks_err err;
    double v;

    (void)state;
    assert_int_equal(read_text(&t, text, "d/pmc_perf.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(t.n_columns, 7);
    assert_true(ks_counter_get(&t, 0, ks_counter_find(&t, "A_sum", ""), &v) && v == 3);
    assert_true(ks_counter_get(&t, 0, ks_counter_find(&t, "B_sum", ""), &v) && v == 40);
    q = quantities_of(&t, 0); /* MI300: 128 bubbles, 32 small, 64 other reads; 64 and 32 writes */
    assert_true(q.value[KS_Q_BYTES_DRAM] == 128 * 1 + 32 * 2 + 64 * (10 - 1 - 2) + 64 * 5 + 32 * 1);
    assert_true(q.value[KS_Q_TIME_NS] == 1000);
    ks_counter_table_release(&t);
}

static void others_are_refused(void **state)
{
    static const char *const texts[] = { "", "\n\n", "a,b\n1,2\n", "Name,Value\n1,2\n",
                                         "\"ID\",\"Kernel Name\",\"Metric Name\"" };
    struct ks_counter_table t = { 0 };
    struct ks_err err;

    (void)state;
    for (size_t i = 0; i < N(texts); i++)
        assert_int_equal(read_text(&t, texts[i], "f", KS_COUNTERS_TIMES, &err), KS_COUNTERS_NONE);
    assert_int_equal(t.n_rows, 0);
    assert_int_equal(read_text(&t, NCU_HEAD NCU_ROW "\"open", "f", KS_COUNTERS_TIMES, &err),
                     KS_EFORMAT);
    assert_non_null(strstr(err.text, "f:3: the record has a quote"));
    assert_int_equal(ks_counter_rank_of("a/rank_12/rank3.csv"), 3);
    assert_int_equal(ks_counter_rank_of("a/b.csv"), -1);
    ks_counter_table_release(&t);
}

/* Groups know a sum only where every launch has it; the frame ends in the counters of launches. */
static void lines_and_frames(void **state)
{
    static const char text[] = "Dispatch_ID,Kernel_Name,GPU_ID,TCP_TOTAL_CACHE_ACCESSES_sum,Start_"
                               "Timestamp,End_Timestamp\n"
                               "0,a,0,1,0,10\n1,b,0,,0,30\n2,a,0,2,0,5\n3,b,0,4,0,5\n";
    struct ks_counter_table t = { 0 };
    struct ks_counter_lines l;
    struct ks_counter_frame *f;
    struct ks_err err;

    (void)state;
    assert_int_equal(read_text(&t, text, "pmc_perf.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(ks_counter_lines_make(&t, KS_LINES_BY_KERNEL, &l, &err), 0);
    assert_int_equal(l.n, 2);
    assert_string_equal(ks_counter_text_of(&t, l.at[0].row.kernel), "b"); /* the longest first */
    assert_int_equal(l.at[0].row.launches, 2);
    assert_false(l.at[0].q.has[KS_Q_BYTES_L1]); /* one of its launches has none */
    assert_int_equal(l.at[1].row.launches, 2);
    assert_true(l.at[1].q.has[KS_Q_BYTES_L1] && l.at[1].q.value[KS_Q_BYTES_L1] == 192);
    assert_true(l.at[1].q.value[KS_Q_TIME_NS] == 15);
    ks_counter_lines_release(&l);
    assert_int_equal(ks_counter_lines_make(&t, KS_LINES_BY_LAUNCH, &l, &err), 0);
    assert_int_equal(ks_counter_frame_create(&t, &l, &f, &err), 0);
    assert_int_equal(ks_counter_frame_df(f)->n_rows, 4);
    assert_non_null(ks_df_find(ks_counter_frame_df(f), "TCP_TOTAL_CACHE_ACCESSES_sum"));
    assert_false(ks_df_has(ks_df_find(ks_counter_frame_df(f), "flop_per_s"), 0));
    assert_true(ks_df_f64(ks_df_find(ks_counter_frame_df(f), "l1_bytes"), 2, -1) == 128);
    assert_null(ks_df_text(ks_df_find(ks_counter_frame_df(f), "op_stack"), 0));
    ks_counter_frame_destroy(f);
    ks_counter_lines_release(&l);
    ks_counter_table_release(&t);
}

/* The n-th launch of a kernel is the trace's n-th; without as many there is no telling. */
static void joined_with_a_trace(void **state)
{
#define KERNEL(name, ts, dur, id)                                                                  \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts        \
    ",\"dur\":" dur ",\"args\":{\"External id\":" id ",\"device\":0,\"stream\":7}},"
    static const char trace_text[] = "[" KERNEL("k(int)", "90", "3", "2") KERNEL("k(int)", "50",
                                                                                 "2", "1")
        KERNEL("l", "60", "1", "2") KERNEL("m", "60", "1", "2") KERNEL(
            "m", "70", "1",
            "2") "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
                 "\"dur\":9,"
                 "\"args\":{\"External id\":1,\"Input Dims\":[[5,3]],\"Input type\":[\"float\"]}},"
                 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":2,"
                 "\"dur\":3,"
                 "\"args\":{\"External id\":2}}]";
#undef KERNEL
    static const char text[] = "Dispatch_ID,Kernel_Name,GPU_ID,A,Start_Timestamp,End_Timestamp\n"
                               "5,k(int) [clone .kd],0,1,,\n3,k(int) [clone .kd],0,2,100,107\n"
                               "6,l,0,1,,\n7,l,0,1,,\n8,m,0,1,,\n";
    struct ks_counter_table t = { 0 };
    struct ks_trace_source *source;
    struct ks_trace *trace;
    struct ks_err err;
    uint32_t n;

    (void)state;
    assert_int_equal(read_text(&t, text, "pmc_perf.csv", KS_COUNTERS_ALL_BUT_TIMES, &err),
                     KS_COUNTERS_READ);
    assert_int_equal(ks_trace_source_memory(trace_text, strlen(trace_text), "t", &source, &err), 0);
    assert_int_equal(ks_trace_read(source, &trace, &err), 0);
    assert_int_equal(ks_counter_join(&t, trace, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(ks_counter_text_of(&t, t.rows[0].op_stack),
                        "a|b"); /* dispatch 5: at 90 us */
    assert_string_equal(ks_counter_text_of(&t, t.rows[0].bottom_op), "b");
    assert_true(t.rows[0].has_time && t.rows[0].time_ns == 3000);
    assert_string_equal(ks_counter_text_of(&t, t.rows[1].op_stack), "a");
    assert_string_equal(ks_counter_text_of(&t, t.rows[1].dims), "[[5,3]]");
    assert_string_equal(ks_counter_text_of(&t, t.rows[1].types), "[\"float\"]");
    assert_true(t.rows[1].time_ns == 7); /* its own time stays */
    for (uint32_t i = 2; i < 5; i++)
        assert_true(t.rows[i].op_stack == KS_TEXT_NONE && !t.rows[i].has_time);
    ks_trace_release(trace);
    ks_trace_source_close(source);
    ks_counter_table_release(&t);
}

/* Measured roofs: the device's line, or the first; GB/s and GFLOP/s. */
static void measured_roofs(void **state)
{
    static const char text[] =
        "device,HBMBw,HBMBwLow,FP32Flops,MFMAI8Ops\n0,10,1,20.5,0\n7,30,1,40,\n";
    struct ks_roofs r;
    struct ks_err err;

    (void)state;
    assert_int_equal(ks_roofs_parse(text, sizeof(text) - 1, "f", 7, &r, &err), 0);
    assert_int_equal(r.n, 2);
    assert_string_equal(r.at[0].name, "HBM");
    assert_true(r.at[0].is_memory && r.at[0].value == 30e9);
    assert_true(!r.at[1].is_memory && r.at[1].value == 40e9);
    assert_int_equal(r.device, 7);
    assert_int_equal(ks_roofs_parse(text, sizeof(text) - 1, "f", 3, &r, &err), 0);
    assert_true(r.at[1].value == 20.5e9);
    assert_int_equal(r.device, 0); /* another one, which a chart says */
    assert_int_equal(ks_roofs_parse("a,b\n1,2\n", 8, "f", 0, &r, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "f: no roofs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_tell_their_locale),
                                        cmocka_unit_test(units_have_bases),
                                        cmocka_unit_test(ncu_details),
                                        cmocka_unit_test(ncu_locales),
                                        cmocka_unit_test(ncu_raw),
                                        cmocka_unit_test(nsys),
                                        cmocka_unit_test(rocprofv3),
                                        cmocka_unit_test(rocprof_compute),
                                        cmocka_unit_test(others_are_refused),
                                        cmocka_unit_test(measured_roofs),
                                        cmocka_unit_test(joined_with_a_trace),
                                        cmocka_unit_test(lines_and_frames) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
