/* SPDX-License-Identifier: MIT */
/* test_bad_kernels.c - the test kernels do what their names say, and nothing worse */
/* Apart from that their results are right. Those that die do so in a forked child. */
#include "kernels/abi.h"

#define KS_NAME "unit"

#define FAULT    0
#define KS_FN(x) good_##x
#include "../fake/bad_kernels.k"
#undef FAULT
#undef KS_FN

#define FAULT    17
#define KS_FN(x) wrong_##x
#include "../fake/bad_kernels.k"
#undef FAULT
#undef KS_FN

#include "sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define MAX_ELEMENTS 4096
#define POISON       1234.5f
#define N_ROWS(a)    (sizeof(a) / sizeof((a)[0]))

static const struct ks_abi_problem small = { .bytes = sizeof(struct ks_abi_problem),
                                             .op = KS_ABI_GROUPED_CONV,
                                             .n = 2,
                                             .g = 3,
                                             .c = 2,
                                             .k = 5,
                                             .in = { 3, 6, 5 },
                                             .filter = { 2, 3, 2 },
                                             .out = { 2, 3, 5 },
                                             .stride = { 1, 2, 1 },
                                             .dilation = { 1, 1, 2 },
                                             .pad_lo = { 0, 1, 1 },
                                             .pad_hi = { 0, 0, 1 } };

/* Operands with one guard element on either side of a and c. */
struct operands {
    float a[MAX_ELEMENTS], b[MAX_ELEMENTS], c[MAX_ELEMENTS], want[MAX_ELEMENTS];
    int64_t n_a, n_b, n_c;
    struct ks_abi_buffers buf;
    struct bad_state state;
};

/* Straight from the definition, six loops around the output index. */
static void reference(struct operands *o)
{
    const struct ks_abi_problem *p = &small;
    int64_t at = 0;

    for (int64_t n = 0; n < p->n; n++)
        for (int64_t od = 0; od < p->out[0]; od++)
            for (int64_t m = 0; m < p->out[1] * p->out[2]; m++)
                for (int64_t gk = 0; gk < p->g * p->k; gk++, at++) {
                    double sum = 0;
                    for (int64_t t = 0; t < p->filter[0] * p->filter[1] * p->filter[2]; t++) {
                        int64_t d = od + t / 6, h = m / 5 * 2 - 1 + t / 2 % 3;
                        int64_t w = m % 5 - 1 + 2 * (t % 2);
                        if (h < 0 || h >= 6 || w < 0 || w >= 5)
                            continue;
                        for (int64_t c = 0; c < 2; c++)
                            sum +=
                                (double)
                                    o->a[1 + (((n * 3 + d) * 6 + h) * 5 + w) * 6 + gk / 5 * 2 + c] *
                                (double)o->b[(gk * 12 + t) * 2 + c];
                    }
                    o->want[at] = (float)sum;
                }
}

static struct operands *make_operands(void)
{
    struct operands *o = calloc(1, sizeof(*o));

    assert_non_null(o);
    o->n_a = 2 * 3 * 6 * 5 * 6;
    o->n_b = 15 * 12 * 2;
    o->n_c = 2 * 2 * 3 * 5 * 15;
    for (int64_t i = 0; i < o->n_a; i++)
        o->a[1 + i] = (float)(i * 7 % 5 - 2);
    for (int64_t i = 0; i < o->n_b; i++)
        o->b[i] = (float)(i * 3 % 7 - 3);
    o->a[0] = o->a[1 + o->n_a] = NAN;
    for (int i = 0; i < MAX_ELEMENTS; i++)
        o->c[i] = POISON;
    o->buf = (struct ks_abi_buffers){ .a = o->a + 1, .b = o->b, .c = o->c + 1 };
    reference(o);
    return o;
}

static int run(struct operands *o, enum bad_fault fault)
{
    return bad_run(&small, &o->buf, (int)fault, 3, &o->state);
}

/* Elements that differ from the reference; the guards count as elements -1 and n_c. */
static int64_t count_wrong(const struct operands *o, int64_t *first_out)
{
    int64_t n = 0;

    for (int64_t i = -1; i <= o->n_c; i++) {
        float want = i < 0 || i == o->n_c ? POISON : o->want[i];
        if (o->c[1 + i] == want)
            continue;
        if (n++ == 0)
            *first_out = i;
    }
    return n;
}

/* ---- those that come back ---- */

static void test_instances(void **state)
{
    struct operands *o = make_operands();
    int64_t first = 0;

    (void)state;
    assert_string_equal(good_entry.name, "unit");
    assert_null(good_entry.unsupported(&small));
    assert_int_equal(good_entry.workspace_bytes(&small), 0);
    assert_int_equal(good_entry.run(&small, &o->buf), 0);
    assert_int_equal(count_wrong(o, &first), 0);
    assert_int_equal(wrong_entry.run(&small, &o->buf), 0);
    assert_int_equal(count_wrong(o, &first), 1);
    free(o);
}

static void test_unsupported(void **state)
{
    struct ks_abi_problem p = small;

    (void)state;
    assert_non_null(bad_unsupported(&p, BAD_UNSUPPORTED));
    p.dtype = KS_ABI_BF16;
    assert_non_null(bad_unsupported(&p, BAD_GOOD));
    p = small;
    p.direction = KS_ABI_BACKWARD_DATA;
    assert_non_null(bad_unsupported(&p, BAD_GOOD));
}

static void test_results(void **state)
{
    static const struct {
        enum bad_fault fault;
        int rc;
        int64_t n_wrong, first; /* after the second call */
    } row[] = {
        { BAD_GOOD, 0, 0, 0 },
        { BAD_ONE_WRONG, 0, 1, 450 },
        { BAD_WRITE_BEFORE, 0, 1, -1 },
        { BAD_WRITE_AFTER, 0, 1, 900 },
        { BAD_READ_OUTSIDE, 0, 1, 0 },
        { BAD_UNWRITTEN_PART, 0, 226, 674 },
        { BAD_NONDETERMINISTIC, 0, 1, 899 },
        { BAD_ROUNDING_MODE, 0, 0, 0 },
        { BAD_FLUSH_TO_ZERO, 0, 0, 0 },
        { BAD_LAUNCH_FAILS, 7, 900, 0 },
        { BAD_SLOW, 0, 0, 0 },
        { BAD_UNSUPPORTED, 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < N_ROWS(row); i++) {
        struct operands *o = make_operands();
        unsigned control = __builtin_ia32_stmxcsr();
        int64_t first = 0;

        assert_int_equal(run(o, row[i].fault), row[i].rc);
        if (row[i].fault == BAD_NONDETERMINISTIC)
            assert_int_equal(count_wrong(o, &first), 0); /* at first it is right */
        assert_int_equal(run(o, row[i].fault), row[i].rc);
        unsigned changed = (__builtin_ia32_stmxcsr() ^ control) & 0xffc0u;
        __builtin_ia32_ldmxcsr(control);
        assert_int_equal(changed, row[i].fault == BAD_ROUNDING_MODE   ? 0x4000u
                                  : row[i].fault == BAD_FLUSH_TO_ZERO ? 0x8040u
                                                                      : 0u);
        assert_int_equal(count_wrong(o, &first), row[i].n_wrong);
        assert_int_equal(first, row[i].first);
        free(o);
    }
}

static void test_slow(void **state)
{
    struct operands *o = make_operands();
    struct timespec from, to;

    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &from);
    run(o, BAD_SLOW);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ms =
        (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
    assert_true(ms >= 2.0);
    free(o);
}

/* ---- those that do not, or leave something behind: in a child ---- */

static void limit(int what, rlim_t value)
{
    struct rlimit r = { value, value };

    (void)setrlimit(what, &r);
}

/* Runs the fault in a child whose stdout, stderr and descriptor 4 are the pipe `out`; the child
 * then exits with 40 + wrong elements (at most 1), so that a result is told from an exit of its
 * own. */
static pid_t start(enum bad_fault fault, enum bad_fault then, int out)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    alarm(20);
    for (int fd = 1; fd <= 4 && out >= 0; fd++)
        if (fd != 3)
            dup2(out, fd);
    struct operands *o = make_operands();
    int64_t first;
    if (fault == BAD_MALLOC_ENDLESS || fault == BAD_MALLOC_SEGV)
        limit(RLIMIT_AS, 300u << 20);
    run(o, fault);
    if (then != fault) {
        o->state.n_calls = 0;
        run(o, then);
    }
    _exit(count_wrong(o, &first) ? 41 : 40);
}

static int end_of(pid_t pid)
{
    int status = 0;

    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_deaths(void **state)
{
    static const struct {
        enum bad_fault fault;
        int signal, code;
    } row[] = {
        { BAD_SEGFAULT, SIGSEGV, 0 },
        { BAD_STACK_OVERFLOW, SIGSEGV, 0 },
        { BAD_ABORT, SIGABRT, 0 },
        { BAD_EXIT3, 0, 3 },
        { BAD_EXIT0, 0, 0 },
        { BAD_MALLOC_ENDLESS, SIGABRT, 0 },
        { BAD_MALLOC_SEGV, SIGSEGV, 0 },
    };

    (void)state;
    for (size_t i = 0; i < N_ROWS(row); i++) {
        if (IS_SANITIZED && (row[i].fault == BAD_MALLOC_ENDLESS || row[i].fault == BAD_MALLOC_SEGV))
            continue; /* its shadow memory does not fit below the limit */
        int s = end_of(start(row[i].fault, row[i].fault, -1));
        assert_int_equal(WIFSIGNALED(s) ? WTERMSIG(s) : 0, row[i].signal);
        if (!row[i].signal)
            assert_int_equal(WEXITSTATUS(s), row[i].code);
    }
}

static void test_endless(void **state)
{
    static const enum bad_fault row[] = { BAD_LOOP, BAD_SLEEP, BAD_FORK_ENDLESS };
    int s;

    (void)state;
    for (size_t i = 0; i < N_ROWS(row); i++) {
        pid_t pid = start(row[i], row[i], -1);
        usleep(100000);
        assert_int_equal(waitpid(pid, &s, WNOHANG), 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(WTERMSIG(end_of(pid)), SIGKILL);
    }
    pid_t pid = start(BAD_STOP, BAD_STOP, -1);
    assert_int_equal(waitpid(pid, &s, WUNTRACED), pid);
    assert_true(WIFSTOPPED(s));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(WTERMSIG(end_of(pid)), SIGKILL);
}

static size_t read_to_end(int fd)
{
    static char chunk[65536];
    size_t n = 0;
    ssize_t k;

    while ((k = read(fd, chunk, sizeof(chunk))) > 0)
        n += (size_t)k;
    return n;
}

static void test_output(void **state)
{
    static const struct {
        enum bad_fault fault;
        size_t bytes;
    } row[] = {
        { BAD_PRINT_MEGABYTES, 2u * BAD_PRINT },
        { BAD_GARBAGE_RECORD_FD, 4096 },
        { BAD_CLOSE_FDS, 0 },
    };

    (void)state;
    for (size_t i = 0; i < N_ROWS(row); i++) {
        int p[2];
        assert_int_equal(pipe2(p, O_CLOEXEC), 0);
        pid_t pid = start(row[i].fault, BAD_PRINT_MEGABYTES, p[1]);
        close(p[1]);
        size_t want = row[i].bytes;
        if (row[i].fault == BAD_GARBAGE_RECORD_FD) /* whatever came before, descriptors are open */
            want += 2u * BAD_PRINT;
        assert_int_equal(read_to_end(p[0]), want);
        assert_int_equal(WEXITSTATUS(end_of(pid)), 40);
        close(p[0]);
    }
}

/* Without a cage: a child that kills its parent, and children that outlive theirs. */
static void test_relatives(void **state)
{
    int s, n = 0;

    (void)state;
    pid_t parent = fork();
    if (parent == 0) {
        pid_t pid = start(BAD_KILL_PARENT, BAD_KILL_PARENT, -1);
        (void)waitpid(pid, &s, 0);
        _exit(9);
    }
    assert_int_equal(WTERMSIG(end_of(parent)), SIGKILL);

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t pid = start(BAD_CHILDREN_OUTLIVE, BAD_CHILDREN_OUTLIVE, -1);
    assert_int_equal(WEXITSTATUS(end_of(pid)), 40);
    for (pid_t p = pid + 1; p < pid + 1000 && n < 2;
         p++) /* now mine: nobody else's can be waited for */
        if (waitpid(p, &s, WNOHANG) == 0 && kill(p, SIGKILL) == 0) {
            assert_int_equal(WTERMSIG(end_of(p)), SIGKILL);
            n++;
        }
    assert_int_equal(n, 2);
    assert_int_equal(waitpid(-1, &s, WNOHANG), -1);
}

/* The culprit comes back with the right result, as often as it is called; the next one dies. */
static void test_heap_overflow(void **state)
{
    (void)state;
    skip_if_sanitized("the sanitizer sees the overflow at once");
    assert_int_equal(WEXITSTATUS(end_of(start(BAD_HEAP_OVERFLOW, BAD_HEAP_OVERFLOW, -1))), 40);
    int s = end_of(start(BAD_HEAP_OVERFLOW, BAD_GOOD, -1));
    assert_true(WIFSIGNALED(s));
    assert_true(WTERMSIG(s) == SIGABRT || WTERMSIG(s) == SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instances),     cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_results),       cmocka_unit_test(test_slow),
        cmocka_unit_test(test_deaths),        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_output),        cmocka_unit_test(test_relatives),
        cmocka_unit_test(test_heap_overflow),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bad_kernels", tests, NULL, NULL);
}
