/* SPDX-License-Identifier: MIT */
/* test_trace_combine.c - ids of combined traces: stack frames and references to objects */
#include "analysis/trace/combine.h"
#include "base/file.h"
#include "tests/unit/temp_dir.h"

#include <string.h>

#define STEP  "17592186044416" /* 2^44, from where the ids of the second trace are */
#define EVENT "\"pid\":1,\"tid\":1,\"ts\":1,"

static const char trace[] =
    "{\"traceEvents\":[\n"
    "{\"ph\":\"B\",\"name\":\"a\"," EVENT "\"sf\":7},\n"
    "{\"ph\":\"E\",\"name\":\"a\"," EVENT "\"sf\":\"0x9\",\"esf\":\"8\"},\n"
    "{\"ph\":\"P\",\"name\":\"far\"," EVENT "\"sf\":" STEP "},\n"
    "{\"ph\":\"P\",\"name\":\"text\"," EVENT "\"sf\":\"main\"},\n"
    "{\"ph\":\"O\",\"name\":\"o\"," EVENT "\"id\":\"0x1000\",\"args\":{\"snapshot\":{\"id\":\"5\","
    "\"self\":{\"id_ref\":\"0x1000\"},\"list\":[{\"id_ref\":\"0x20\"},{\"id_ref\" : 33}],"
    "\"inner\":{\"id\":\"cc::Tile/0x20\"},\"said\":\"\\\"id_ref\\\": 6\"}}},\n"
    "{\"ph\":\"X\",\"name\":\"x\"," EVENT "\"dur\":1,\"args\":{\"of\":{\"id_ref\":\"0x1000\"},"
    "\"id\":\"kept/0x20\"}}],\n"
    "\"samples\":[{\"cpu\":0,\"tid\":1,\"ts\":2,\"name\":\"s\",\"sf\":8,\"weight\":1}],\n"
    "\"stackFrames\":{\"7\":{\"name\":\"main\"},\"8\":{\"name\":\"f\",\"parent\":7},"
    "\"0x9\":{\"name\":\"g\",\"parent\":\"8\"},\"" STEP "\":{\"name\":\"h\"},"
    "\"main\":{\"name\":\"i\"}}}\n";

struct fragment {
    const char *text;
    unsigned n; /* how often it is in the output */
};

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static void write_file(const char *dir, const char *name, const char *text, char path_out[256])
{
    struct ks_err err;

    snprintf(path_out, 256, "%s/%s", dir, name);
    if (ks_file_replace(path_out, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

/* Both traces in one, as text; the caller releases it. */
static void combine(const char *first, const char *second, bool is_plain, struct ks_buf *out)
{
    char dir[TEMP_DIR_MAX], path[3][256];
    const char *const inputs[] = { path[0], path[1] };
    struct ks_buf notes;
    struct ks_err err;

    temp_dir_make(dir, sizeof(dir));
    write_file(dir, "a.json", first, path[0]);
    write_file(dir, "b.json", second, path[1]);
    write_file(dir, "both.json", "", path[2]);
    ks_buf_init(&notes);
    ks_buf_init(out);
    if (ks_trace_combine(inputs, 2, path[2], is_plain, &notes, &err) < 0 ||
        ks_file_read(path[2], out, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(ks_buf_text(&notes), "");
    ks_buf_release(&notes);
    temp_dir_remove(dir);
}

static void check(const struct ks_buf *text, const struct fragment *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (count(ks_buf_text(text), rows[i].text) != rows[i].n)
            fail_msg("'%s' is %u times, not %u times in %s", rows[i].text,
                     count(ks_buf_text(text), rows[i].text), rows[i].n, ks_buf_text(text));
}

/* Each trace keeps its own frames, and every name of a frame moves with it. */
static void stack_frames_are_merged(void **state)
{
    static const struct fragment rows[] = {
        { "\"stackFrames\"", 1 },
        { "\"samples\"", 1 },
        { "\"7\":{\"name\":\"main\"}", 1 },
        { "\"17592186044423\":{\"name\":\"main\"}", 1 },
        { "\"8\":{\"name\":\"f\",\"parent\":7}", 1 },
        { "\"17592186044424\":{\"name\":\"f\",\"parent\":17592186044423}", 1 },
        { "\"0x9\":{\"name\":\"g\",\"parent\":\"8\"}", 1 },
        { "\"0x100000000009\":{\"name\":\"g\",\"parent\":\"17592186044424\"}", 1 },
        { "\"" STEP " #1\":{\"name\":\"h\"}", 1 },
        { "\"" STEP " #2\":{\"name\":\"h\"}", 1 },
        { "\"main\":{\"name\":\"i\"}", 1 },
        { "\"main #2\":{\"name\":\"i\"}", 1 },
        { "\"sf\":7}", 1 },
        { "\"sf\":17592186044423}", 1 },
        { "\"sf\":\"0x9\",\"esf\":\"8\"}", 1 },
        { "\"sf\":\"0x100000000009\",\"esf\":\"17592186044424\"}", 1 },
        { "\"sf\":\"" STEP " #1\"}", 1 },
        { "\"sf\":\"" STEP " #2\"}", 1 },
        { "\"sf\":\"main\"}", 1 },
        { "\"sf\":\"main #2\"}", 1 },
        { "\"name\":\"s\",\"sf\":8,\"weight\":1}", 1 },
        { "\"name\":\"s\",\"sf\":17592186044424,\"weight\":1}", 1 },
    };
    struct ks_buf text;

    (void)state;
    combine(trace, trace, false, &text);
    check(&text, rows, sizeof(rows) / sizeof(rows[0]));
    ks_buf_release(&text);
}

/* An object is still the one that refers to it, at any depth, and texts stay texts. */
static void references_follow_their_objects(void **state)
{
    static const struct fragment rows[] = {
        { "\"id\":\"0x1000\"", 1 },
        { "\"id\":\"0x100000001000\"", 1 },
        { "\"self\":{\"id_ref\":\"0x1000\"}", 1 },
        { "\"self\":{\"id_ref\":\"0x100000001000\"}", 1 },
        { "[{\"id_ref\":\"0x20\"},{\"id_ref\" : 33}]", 1 },
        { "[{\"id_ref\":\"0x100000000020\"},{\"id_ref\" : 17592186044449}]", 1 },
        { "\"id\":\"cc::Tile/0x20\"", 1 },
        { "\"id\":\"cc::Tile/0x100000000020\"", 1 },
        { "\"of\":{\"id_ref\":\"0x1000\"}", 1 },
        { "\"of\":{\"id_ref\":\"0x100000001000\"}", 1 },
        { "\"said\":\"\\\"id_ref\\\": 6\"", 2 },
        { "\"id\":\"5\"", 2 },
        { "\"id\":\"kept/0x20\"", 2 },
    };
    struct ks_buf text;

    (void)state;
    combine(trace, trace, false, &text);
    check(&text, rows, sizeof(rows) / sizeof(rows[0]));
    ks_buf_release(&text);
}

/* Frames that only one trace has, none at all, and what is no object of frames. */
static void other_traces_have_none(void **state)
{
    static const char bare[] = "[{\"ph\":\"i\",\"name\":\"b\"," EVENT "\"s\":\"t\"}]",
                      empty[] = "{\"traceEvents\":[{\"ph\":\"i\",\"name\":\"b\"," EVENT
                                "\"s\":\"t\"}],\"stackFrames\":{ },\"samples\":[]}",
                      odd[] = "{\"traceEvents\":[{\"ph\":\"i\",\"name\":\"b\"," EVENT
                              "\"s\":\"t\"}],\"stackFrames\":[1],\"samples\":7}";
    static const struct fragment second[] = { { "\"stackFrames\": {\"17592186044423\":", 1 },
                                              { "\"samples\": [{\"cpu\":0", 1 },
                                              { "\"7\":", 0 } },
                                 none[] = { { "stackFrames", 0 }, { "samples", 0 } };
    static const char *const others[] = { bare, empty, odd };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct ks_buf text;

        combine(others[i], trace, false, &text);
        check(&text, second, 3);
        ks_buf_release(&text);
        combine(others[i], bare, false, &text);
        check(&text, none, 2);
        ks_buf_release(&text);
    }
}

/* As PyTorch's script has it: the first trace's, and events as they are. */
static void a_plain_copy_changes_nothing(void **state)
{
    static const struct fragment rows[] = { { "\"stackFrames\"", 1 },
                                            { "\"samples\"", 1 },
                                            { "\"7\":{\"name\":\"main\"}", 1 },
                                            { "\"sf\":7}", 2 },
                                            { "\"self\":{\"id_ref\":\"0x1000\"}", 2 },
                                            { "175921860444", 3 } }; /* it is in the input */
    struct ks_buf text;

    (void)state;
    combine(trace, trace, true, &text);
    check(&text, rows, sizeof(rows) / sizeof(rows[0]));
    ks_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_frames_are_merged),
        cmocka_unit_test(references_follow_their_objects),
        cmocka_unit_test(other_traces_have_none),
        cmocka_unit_test(a_plain_copy_changes_nothing),
    };

    return cmocka_run_group_tests_name("trace_combine", tests, NULL, NULL);
}
