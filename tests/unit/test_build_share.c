/* SPDX-License-Identifier: MIT */
/* test_build_share.c - several who build into one cache: claims, signs of life, the dead */
#include "base/process.h"
#include "build/claim.h"
#include "build/plan.h"
#include "build_util.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

static const struct ks_id128 key = { 0x1234, 0x5678 };

static uint32_t count_entries(const struct place *p, const char *what)
{
    char path[600];
    uint32_t n = 0;
    struct dirent *e;
    snprintf(path, sizeof(path), "%s/host/%s", p->cache, what);
    DIR *d = opendir(path);
    while (d && (e = readdir(d)))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    return n;
}

static void open_cache(const struct place *p, struct ks_cache *c)
{
    struct ks_err err;
    must(ks_cache_open(p->cache, false, c, &err), &err);
    must(ks_builder_beat(&c->me, ks_now_ns(), &err), &err);
}

/* With a look of its own at the claims. */
static int take(const struct ks_cache *c, struct ks_builder_watch *w, uint64_t now_ns,
                struct ks_claim *out)
{
    struct ks_claim_list l;
    struct ks_err err;
    must(ks_claim_list(c->dir, &l, &err), &err);
    const int rc = ks_claim_take(c->dir, &l, key, &c->me, w, now_ns, out, &err);
    must(rc, &err);
    ks_claim_list_release(&l);
    return rc;
}

static void test_one_at_a_time(void **state)
{
    struct place *p = *state;
    struct ks_cache a, b;
    struct ks_claim mine, other = { .generation = 0 };
    open_cache(p, &a);
    open_cache(p, &b);
    assert_int_equal(take(&a, NULL, 0, &mine), 1);
    assert_int_equal(mine.generation, 1);
    assert_int_equal(take(&b, NULL, 0, &other), 0);
    assert_int_equal(other.generation, 0);
    assert_int_equal(take(&a, NULL, 0, &other), 0); /* nor twice */
    ks_claim_release(a.dir, &mine);
    assert_int_equal(mine.generation, 0);
    assert_int_equal(count_entries(p, "claims"), 0);
    assert_int_equal(take(&b, NULL, 0, &other), 1);
    /* Who leaves without a word gives up what it has. */
    ks_cache_close(&b);
    assert_int_equal(take(&a, NULL, 0, &mine), 1);
    assert_int_equal(mine.generation, 2);
    ks_claim_release(a.dir, &mine);
    assert_int_equal(count_entries(p, "claims"), 0);
    ks_cache_close(&a);
    assert_int_equal(count_entries(p, "builders"), 0);
}

/* The file of a builder, as it wrote it, with one thing changed. */
static void put_builder(const struct ks_cache *c, const char *host, const char *boot,
                        uint64_t space, int pid, uint64_t start)
{
    char path[700], hex[33], text[400];
    struct ks_err err;
    ks_hex128(c->me.id, hex);
    snprintf(path, sizeof(path), "%s/%s", c->me.dir, hex);
    const int n = snprintf(text, sizeof(text),
                           "builder 1 host %s boot %s space %" PRIu64 " pid %d start %" PRIu64 "\n",
                           host, boot, space, pid, start);
    must(ks_file_replace(path, text, (size_t)n, &err), &err);
}

static pid_t dead_process(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* Who is gone at first sight, and who only after a silence that was watched. */
static void test_who_is_gone(void **state)
{
    struct place *p = *state;
    struct ks_cache c;
    struct stat st;
    char host[64], boot[64];
    uint64_t start;
    ks_process_host(host, sizeof(host));
    ks_process_boot(boot, sizeof(boot));
    assert_true(ks_process_start(getpid(), &start));
    assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
    const int dead = (int)dead_process();
    const struct {
        const char *host, *boot;
        uint64_t space;
        int pid;
        uint64_t start;
        bool is_gone;
    } row[] = {
        { host, boot, st.st_ino, (int)getpid(), start, false },
        { host, boot, st.st_ino, (int)getpid(), start + 1, true }, /* the number is another's */
        { host, boot, st.st_ino, dead, start, true },
        { host, "an-earlier-boot", st.st_ino, (int)getpid(), start, true },
        { host, boot, st.st_ino + 1, dead, start, false }, /* of another container */
        { "elsewhere", boot, st.st_ino, dead, start, false },
        { "elsewhere", "another-boot", 1, 1, 1, false },
    };
    open_cache(p, &c);
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct ks_builder_watch w = { .n = 0 };
        const uint64_t t = ks_now_ns();
        put_builder(&c, row[i].host, row[i].boot, row[i].space, row[i].pid, row[i].start);
        if (ks_builder_is_gone(c.me.dir, c.me.id, NULL, t) != row[i].is_gone)
            fail_msg("row %zu", i);
        /* Silent for a minute before our eyes; a touch is a sign of life. */
        assert_int_equal(ks_builder_is_gone(c.me.dir, c.me.id, &w, t), row[i].is_gone);
        assert_int_equal(ks_builder_is_gone(c.me.dir, c.me.id, &w, t + 59 * NS_PER_S),
                         row[i].is_gone);
        assert_true(ks_builder_is_gone(c.me.dir, c.me.id, &w, t + 60 * NS_PER_S));
        ks_sleep_ns(20000000);
        put_builder(&c, row[i].host, row[i].boot, row[i].space, row[i].pid, row[i].start);
        assert_int_equal(ks_builder_is_gone(c.me.dir, c.me.id, &w, t + 61 * NS_PER_S),
                         row[i].is_gone);
        ks_builder_watch_release(&w);
    }
    assert_true(ks_builder_is_gone(c.me.dir, (struct ks_id128){ 1, 2 }, NULL, 0)); /* no file */
    ks_cache_close(&c);
}

/* Clocks of two hosts may differ, but not by an hour: what is older is nobody's at first sight. */
static void test_ancient(void **state)
{
    struct place *p = *state;
    struct ks_cache c;
    char path[700], hex[33];
    struct timespec long_ago[2] = { { .tv_nsec = UTIME_OMIT }, { 0 } };
    open_cache(p, &c);
    put_builder(&c, "elsewhere", "another-boot", 1, 1, 1);
    ks_hex128(c.me.id, hex);
    snprintf(path, sizeof(path), "%s/%s", c.me.dir, hex);
    long_ago[1].tv_sec = (time_t)(ks_realtime_ns() / NS_PER_S) - 3500;
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_false(ks_builder_is_gone(c.me.dir, c.me.id, NULL, 0));
    long_ago[1].tv_sec -= 200;
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_true(ks_builder_is_gone(c.me.dir, c.me.id, NULL, 0));
    ks_cache_close(&c);
}

/* A beat keeps the file fresh, and brings it back when somebody has removed it. */
static void test_beat(void **state)
{
    struct place *p = *state;
    struct ks_cache c;
    struct ks_err err;
    struct stat before, after;
    char path[700], hex[33];
    open_cache(p, &c);
    ks_hex128(c.me.id, hex);
    snprintf(path, sizeof(path), "%s/%s", c.me.dir, hex);
    assert_int_equal(stat(path, &before), 0);
    ks_sleep_ns(20000000);
    const uint64_t t = c.me.beat_ns;
    must(ks_builder_beat(&c.me, t + KS_BUILDER_BEAT_NS - 1, &err), &err);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    must(ks_builder_beat(&c.me, t + KS_BUILDER_BEAT_NS, &err), &err);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_true(after.st_mtim.tv_sec > before.st_mtim.tv_sec ||
                after.st_mtim.tv_nsec > before.st_mtim.tv_nsec);
    assert_int_equal(unlink(path), 0);
    must(ks_builder_beat(&c.me, t + 2 * KS_BUILDER_BEAT_NS, &err), &err);
    assert_false(ks_builder_is_gone(c.me.dir, c.me.id, NULL, 0));
    ks_cache_close(&c);
}

/* In a child: looks, says so, waits for all others, then tries to take the claim; exit 1 = it has
 * it. */
static void compete(const struct place *p, int ready_fd, int start_fd)
{
    struct ks_cache c;
    struct ks_claim_list l;
    struct ks_claim mine;
    struct ks_err err;
    char byte;
    open_cache(p, &c);
    must(ks_claim_list(c.dir, &l, &err), &err);
    assert_int_equal(write(ready_fd, "r", 1), 1);
    assert_int_equal(read(start_fd, &byte, 1), 0);
    const int rc = ks_claim_take(c.dir, &l, key, &c.me, NULL, ks_now_ns(), &mine, &err);
    _exit(rc);
}

/* Of all who find the same dead builder's claim at once, one succeeds it. */
static void test_one_heir(void **state)
{
    enum { N = 8, ROUNDS = 25 };
    struct place *p = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct ks_cache dead;
        struct ks_claim left;
        pid_t pid[N];
        int ready[2], start[2], n_heirs = 0;
        open_cache(p, &dead);
        assert_int_equal(take(&dead, NULL, 0, &left), 1);
        ks_cache_close(&dead);
        assert_int_equal(pipe(ready), 0);
        assert_int_equal(pipe(start), 0);
        for (int i = 0; i < N; i++) {
            pid[i] = fork();
            if (pid[i] == 0) {
                (void)close(start[1]);
                compete(p, ready[1], start[0]);
            }
        }
        for (int i = 0; i < N; i++) {
            char byte;
            assert_int_equal(read(ready[0], &byte, 1), 1);
        }
        (void)close(start[0]);
        (void)close(start[1]); /* go */
        (void)close(ready[0]);
        (void)close(ready[1]);
        for (int i = 0; i < N; i++) {
            int status;
            assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
            assert_true(WIFEXITED(status));
            n_heirs += WEXITSTATUS(status);
        }
        assert_int_equal(n_heirs, 1);
        char path[600];
        struct ks_err err;
        snprintf(path, sizeof(path), "%s/host/claims", p->cache);
        must(ks_remove_tree(path, &err), &err);
    }
}

/* What somebody else has claimed is waited for, and found when it is built. */
static void test_waits_and_finds(void **state)
{
    struct place *p = *state;
    struct ks_build *other = NULL;
    struct ks_err err;
    const struct ks_build_options opt = { .cache_dir = p->cache };
    use_instances(p, "{\"index\": [1, 2, 3]}");
    must(ks_build_create(&p->grid, &opt, p->warden, &other, &err), &err);
    plan(p, NULL);
    must(ks_build_start(p->build, 0, &err), &err);
    must(ks_build_step(p->build, 1, &err), &err);
    assert_int_equal(ks_build_n_compiles(p->build), 1);
    must(ks_build_start(other, 0, &err), &err);
    for (int i = 0; i < 3; i++) {
        must(ks_build_step(other, 4, &err), &err);
        assert_int_equal(ks_build_n_running(other), 1);
        assert_int_equal(ks_build_n_compiles(other), 0);
        other->look_ns = 0;
    }
    while (turn(p, 1, 20))
        ;
    assert_int_equal(count_entries(p, "claims"), 0);
    other->look_ns = 0;
    must(ks_build_step(other, 4, &err), &err);
    assert_int_equal(ks_build_n_running(other), 0);
    assert_int_equal(ks_build_finished(other), 0);
    assert_int_equal(ks_build_n_compiles(other), 0);
    assert_string_equal(ks_build_artefact(other, 2)->path, artefact(p, "unit_3")->path);
    ks_build_destroy(other);
    assert_int_equal(count_entries(p, "claims"), 0);
}

/* A claim that is given up without a result is taken over. */
static void test_takes_over(void **state)
{
    struct place *p = *state;
    struct ks_build *other = NULL;
    struct ks_err err;
    const struct ks_build_options opt = { .cache_dir = p->cache };
    use_instances(p, "{\"index\": [1, 2, 3]}");
    must(ks_build_create(&p->grid, &opt, p->warden, &other, &err), &err);
    must(ks_build_start(other, 0, &err), &err);
    must(ks_build_step(other, 1, &err), &err);
    assert_int_equal(count_entries(p, "claims"), 1);
    plan(p, NULL);
    must(ks_build_start(p->build, 0, &err), &err);
    must(ks_build_step(p->build, 1, &err), &err);
    assert_int_equal(ks_build_n_compiles(p->build), 0);
    ks_build_destroy(other); /* its compiler goes on, and finds no directory */
    assert_int_equal(count_entries(p, "claims"), 0);
    p->build->look_ns = 0;
    assert_int_equal(build_all(p), 2);
    assert_int_equal(count_state(p, KS_ART_READY), 3);
}

/* A failure that is nobody's fault is one verdict for all who built when it happened. */
static void test_shared_failure(void **state)
{
    struct place *p = *state;
    struct ks_build *other = NULL;
    struct ks_err err;
    char compiler[600];
    put_script(p, "odd-cc",
               "[ \"$1\" = --version ] && echo odd && exit\n"
               "echo 'x.s: error: No space left on device'; exit 1",
               compiler, sizeof(compiler));
    const struct ks_build_options opt = { .cache_dir = p->cache, .compiler = compiler };
    use_instances(p, "{\"index\": 1}");
    must(ks_build_create(&p->grid, &opt, p->warden, &other, &err), &err);
    plan(p, &opt);
    assert_int_equal(build_all(p), 1);
    must(ks_build_start(other, 0, &err), &err);
    must(ks_build_step(other, 1, &err), &err);
    assert_int_equal(ks_build_n_compiles(other), 0);
    assert_int_equal(ks_build_artefact(other, 0)->state, KS_ART_FAILED);
    ks_build_destroy(other);
    plan(p, &opt); /* the next run tries again */
    assert_int_equal(count_state(p, KS_ART_MISSING), 1);
}

/* Opening a cache removes what the dead have left, at once, and nothing of the living. */
static void test_sweep(void **state)
{
    struct place *p = *state;
    struct ks_cache living, dead, c;
    struct ks_err err;
    char kept[700], left[700], link[900], hex[33];
    open_cache(p, &living);
    must(ks_cache_temp(&living, kept, sizeof(kept), &err), &err);
    open_cache(p, &dead);
    must(ks_cache_temp(&dead, left, sizeof(left), &err), &err);
    ks_hex128(dead.me.id, hex);
    snprintf(link, sizeof(link), "%s/instances/.tmp-%s-x", dead.dir, hex);
    assert_int_equal(symlink("../nowhere", link), 0);
    put_builder(&dead, "elsewhere", "another-boot", 1, 1, 1); /* not known to be dead */
    open_cache(p, &c);
    assert_true(ks_path_is_dir(kept) && ks_path_is_dir(left));
    ks_cache_close(&c);
    assert_int_equal(count_entries(p, "builders"), 2);
    put_builder(&dead, "elsewhere", "another-boot", 1, 1, 1);
    ks_cache_close(&dead);
    open_cache(p, &c);
    assert_true(ks_path_is_dir(kept));
    assert_false(ks_path_is_dir(left));
    assert_int_equal(count_entries(p, "instances"), 0);
    ks_cache_close(&c);
    ks_cache_close(&living);
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_one_at_a_time), T(test_who_is_gone),    T(test_ancient),
        T(test_beat),          T(test_one_heir),       T(test_waits_and_finds),
        T(test_takes_over),    T(test_shared_failure), T(test_sweep),
    };
    const int rc = cmocka_run_group_tests_name("build_share", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
