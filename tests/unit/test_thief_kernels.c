/* SPDX-License-Identifier: MIT */
/* test_thief_kernels.c - kernels that look for references in ksweep-worker find nothing */
/* The kernels of tests/fake/thief_kernels.k: none gets a good label, and while a kernel runs the
 * key of the references is nowhere in the worker's memory. */
#include "base/clock.h"
#include "base/file.h"
#include "tests/unit/op_cases.h"
#include "tests/unit/so.h"
#include "tests/unit/worker_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ONE(name, theft)                                                                           \
    "#define KS_NAME \"" name "\"\n#define KS_FN(x) " name "_##x\n#define THEFT " theft "\n"       \
    "#include \"thief_kernels.k\"\n#undef KS_NAME\n#undef KS_FN\n#undef THEFT\n"

#define ENTRY(name)                                                                                \
    "{ \"" name "\", " name "_unsupported, " name "_workspace_bytes, " name "_run },\n"

static const char source[] = "#define _GNU_SOURCE\n" ONE("good", "0") ONE("fd", "1")
    ONE("maps", "2") ONE("search", "3") ONE("leftover", "4") ONE("hasty", "5")
        ONE("drain", "6") "static const struct ks_abi_entry all[] = {\n" ENTRY("good") ENTRY("fd")
            ENTRY("maps") ENTRY("search") ENTRY("leftover") ENTRY("hasty") ENTRY(
                "drain") "};\n"
                         "const struct ks_abi_table ks_kernel_table = { KS_ABI_MAJOR, 7, all };\n";

struct place {
    struct fixture *kernels; /* of worker_kernels.c */
    struct fixture thieves;
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    struct ks_buf file = { 0 };
    struct ks_sha256 h;
    void *kernels = NULL;
    struct fixture *f;

    assert_non_null(p);
    assert_int_equal(fixture_setup(&kernels), 0);
    p->kernels = kernels;
    p->thieves = *p->kernels;
    f = &p->thieves;
    setenv("CPATH", KS_SOURCE_DIR "/kernels:" KS_SOURCE_DIR "/tests/fake", 1);
    so_build(f->dir, "thieves", source, f->so, sizeof(f->so));
    unsetenv("CPATH");
    assert_int_equal(ks_file_read(f->so, &file, NULL), 0);
    ks_sha256_init(&h);
    ks_sha256_add(&h, file.data, file.len);
    ks_sha256_end(&h, f->digest);
    ks_buf_release(&file);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    void *kernels = p->kernels;

    fixture_teardown(&kernels);
    free(p);
    return 0;
}

/* The first worker of a problem: its references are in a memfd that it was given. */
static void start(struct child *c, const struct fixture *f, uint32_t references)
{
    int fd = memfd_create("references", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    start_host(c, &quick, fd);
    close(fd);
    child_problem(c, &f->problem, references);
}

static void run(struct child *c, struct fixture *f, const char *entry)
{
    static uint32_t i_cell;

    send_cell(c, f, &f->problem, entry, i_cell++ % 100);
    assert_true(child_record(c, &f->rec));
}

static const struct {
    const char *entry;
    uint32_t outcome;
} thieves[] = {
    { "fd", KS_O_WRONG_RESULT },
    { "maps", KS_O_WRONG_RESULT },
    { "search", KS_O_WRONG_RESULT },
    { "leftover", KS_O_WRONG_RESULT },
};

/* Behind a cell that was verified, in shared and in private memory. */
static void test_nothing_to_find(void **state)
{
    struct fixture *f = &((struct place *)*state)->thieves;

    for (uint32_t references = 0; references < 2; references++)
        for (size_t i = 0; i < sizeof(thieves) / sizeof(thieves[0]); i++) {
            struct child c;

            start(&c, f, references);
            run(&c, f, "good");
            assert_int_equal(f->rec.outcome, KS_O_OK);
            run(&c, f, thieves[i].entry);
            if (f->rec.outcome != thieves[i].outcome)
                print_error("%s: %s (%s)\n", thieves[i].entry, ks_outcome_text(f->rec.outcome),
                            f->rec.reason);
            assert_int_equal(f->rec.outcome, thieves[i].outcome);
            run(&c, f, "good");
            assert_int_equal(f->rec.outcome, KS_O_OK);
            child_end(&c, KS_WORKER_EXIT_OK);
        }
}

/* Right in both checks, and no time at all in between: the outputs between them show it before the
 * floor does, which test_floor.c drives. */
static void test_hasty(void **state)
{
    struct fixture *f = &((struct place *)*state)->thieves;
    struct ks_problem p;
    struct child c;

    assert_int_equal(op_case("n=16 g=2 c_total=8 k_total=32", &p, NULL), 0);
    start_host(&c, &quick, -1);
    child_problem(&c, &p, 0);
    send_cell(&c, f, &p, "good", 0);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_OK);
    if (f->rec.floor_ns < 0) {
        child_release(&c);
        print_message("# skipped: nothing is known of this CPU's peak\n");
        skip();
    }
    send_cell(&c, f, &p, "hasty", 1);
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(f->rec.outcome, KS_O_WRONG_RESULT);
    child_end(&c, KS_WORKER_EXIT_OK);
}

/* Without the key nothing can be verified: the cell says why, and the worker ends. */
static void test_drain(void **state)
{
    struct fixture *f = &((struct place *)*state)->thieves;
    struct child c;
    int status;

    start(&c, f, 1);
    run(&c, f, "drain");
    assert_int_equal(f->rec.outcome, KS_O_LAUNCH_FAILED);
    assert_non_null(strstr(f->rec.reason, "the key of the references is lost"));
    status = child_wait(&c);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == KS_WORKER_EXIT_DEVICE);
    child_release(&c);
}

/* ---- the key ---- */

/* Places in the memory that the process can read where half of the key is. */
static size_t count_key(pid_t pid)
{
    const struct ks_id128 key = CHILD_KEY;
    static uint8_t chunk[(1 << 20) + 8];
    char path[64], line[512];
    size_t n_found = 0, n_read = 0;
    FILE *maps;
    int mem;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    mem = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(maps != NULL && mem >= 0);
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from, to;
        char access[5];

        assert_int_equal(sscanf(line, "%lx-%lx %4s", &from, &to, access), 3);
        if (access[0] != 'r' || to - from > 1ul << 30)
            continue;
        for (unsigned long at = from; at < to; at += sizeof(chunk) - 8) {
            size_t want = to - at < sizeof(chunk) ? to - at : sizeof(chunk);
            ssize_t got = pread(mem, chunk, want, (off_t)at);

            for (int half = 0; half < 2 && got > 0; half++)
                if (memmem(chunk, (size_t)got, half ? &key.hi : &key.lo, 8) != NULL) {
                    print_error("half of the key is in %s", line);
                    n_found++;
                }
            n_read += got > 0 ? (size_t)got : 0;
        }
    }
    fclose(maps);
    close(mem);
    assert_true(n_read > 1 << 20);
    return n_found;
}

/* Descriptors of the process that lead to a file of that name. */
static size_t count_descriptors(pid_t pid, const char *name)
{
    size_t n_found = 0;

    for (int fd = 0; fd < 64; fd++) {
        char path[64], target[128] = "";

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
        n_found += readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, name) != NULL;
    }
    return n_found;
}

/* Between requests, and while a kernel runs, whatever was verified before. */
static void test_key_is_not_in_memory(void **state)
{
    const uint64_t until = ks_now_ns() + 20000000000ull;
    struct fixture *f = &((struct place *)*state)->thieves;
    struct child c;

    start(&c, f, 1);
    child_send(&c, KS_F_REQ_CANARY, NULL); /* its answer: the problem has been taken up */
    assert_true(child_record(&c, &f->rec));
    assert_int_equal(count_key(c.pid), 0);
    assert_int_equal(count_descriptors(c.pid, "memfd:status"), 1);
    assert_int_equal(count_descriptors(c.pid, "memfd:references"), 0);
    run(&c, f, "good");
    assert_int_equal(f->rec.outcome, KS_O_OK);
    run(&c, f, "maps"); /* wrong: the mismatches are looked for one by one */
    assert_int_equal(count_key(c.pid), 0);
    send_cell(&c, ((struct place *)*state)->kernels, &f->problem, "loops", 0);
    while (atomic_load(&c.status->phase) != KS_PH_EXACT && ks_now_ns() < until)
        ks_sleep_ns(1000000);
    assert_int_equal(c.status->phase, KS_PH_EXACT);
    assert_int_equal(count_key(c.pid), 0);
    child_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_find),
        cmocka_unit_test(test_hasty),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_key_is_not_in_memory),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
