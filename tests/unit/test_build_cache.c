/* SPDX-License-Identifier: MIT */
/* test_build_cache.c - the build cache with other owners, damage, and what killed runs left */
#include "base/lines.h"
#include "build/cache.h"
#include "build_util.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int setup(void **state)
{
    struct place *p = open_place(*state);
    copy_file(p, "tests/fake/unit.k", "unit.k");
    copy_file(p, "tests/fake/unit.h", "unit.h");
    copy_file(p, "tests/fake/unit.family.json", "unit.family.json");
    use_instances(p, "{\"index\": [1, 2]}");
    plan(p, NULL);
    assert_int_equal(build_all(p), 2);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    *state = p->warden;
    close_place(p);
    return 0;
}

/* Paths of the one unit that setup built. */
enum which { CACHE, HOST, UNIT, OBJECT, MANIFEST, N_WHICH };
static void path_of(const struct place *p, enum which which, char *out, size_t cap)
{
    const char *object = artefact(p, "unit_1")->path;
    char unit[800];
    ks_path_dir(unit, sizeof(unit), object);
    if (which == CACHE)
        snprintf(out, cap, "%s", p->cache);
    else if (which == HOST)
        snprintf(out, cap, "%s/host", p->cache);
    else if (which == UNIT)
        snprintf(out, cap, "%s", unit);
    else if (which == OBJECT)
        snprintf(out, cap, "%s", object);
    else
        snprintf(out, cap, "%s/manifest.txt", unit);
}

static void test_private_by_default(void **state)
{
    struct place *p = *state;
    for (int i = 0; i < N_WHICH; i++) {
        char path[900];
        struct stat st;
        path_of(p, (enum which)i, path, sizeof(path));
        assert_int_equal(lstat(path, &st), 0);
        assert_int_equal(st.st_mode & 0077, 0);
    }
}

/* Refused with the path, the danger and the flag; accepted with the flag. */
static void expect_refused(struct place *p, const char *path, const char *why)
{
    struct ks_err err;
    const struct ks_build_options trust = { .trust_cache = true };
    assert_int_equal(try_plan(p, NULL, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, why));
    assert_non_null(strstr(err.text, "--trust-cache"));
    assert_null(p->build);
    plan(p, &trust);
    assert_int_equal(count_state(p, KS_ART_READY), 2);
}

static void test_writable_by_others(void **state)
{
    static const mode_t modes[] = { 0020, 0002 };
    struct place *p = *state;
    char path[N_WHICH][900];
    for (int i = 0; i < N_WHICH; i++)
        path_of(p, (enum which)i, path[i], sizeof(path[i]));
    for (int i = 0; i < N_WHICH; i++) {
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(chmod(path[i], 0700 | modes[k]), 0);
            expect_refused(p, path[i], "writable by others");
            assert_int_equal(chmod(path[i], 0700), 0);
        }
    }
    plan(p, NULL);
    assert_int_equal(count_state(p, KS_ART_READY), 2);
}

static void test_other_owner(void **state)
{
    struct place *p = *state;
    char path[N_WHICH][900];
    if (geteuid() != 0) {
        print_message("only root can give files away\n");
        skip();
    }
    for (int i = 0; i < N_WHICH; i++)
        path_of(p, (enum which)i, path[i], sizeof(path[i]));
    for (int i = 0; i < N_WHICH; i++) {
        assert_int_equal(chown(path[i], 65534, 65534), 0);
        expect_refused(p, path[i], "belongs to user 65534");
        assert_int_equal(chown(path[i], 0, 0), 0);
    }
}

/* Who may write a directory above the cache may put another one in its place. p->dir/a/b/cache. */
static const struct {
    const char *dir; /* below the place, that is changed */
    mode_t mode;
    bool is_given_away;
    const char *why; /* NULL: accepted */
} parent_rows[] = {
    { "a/b", 0755, false, NULL },
    { "a/b", 0775, false, "writable by others" },
    { "a/b", 0757, false, "writable by others" },
    { "a", 0777, false, "writable by others" },
    { "a/b", 01777, false, NULL }, /* as /tmp: ours can be renamed by us only */
    { "a", 01777, false, NULL },
    { "a/b", 0755, true, "belongs to user 65534" },
    { "a", 0755, true, "belongs to user 65534" },
    { "a/b", 01777, true, "belongs to user 65534" },
};

static int open_cache(const struct place *p, const char *name, bool trust, struct ks_cache *c,
                      struct ks_err *err)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    return ks_cache_open(path, trust, c, err);
}

static void test_parents(void **state)
{
    struct place *p = *state;
    char a[300], b[300], link[300], changed[300], want[400];
    struct ks_cache c;
    struct ks_err err;
    snprintf(a, sizeof(a), "%s/a", p->dir);
    snprintf(b, sizeof(b), "%s/a/b", p->dir);
    snprintf(link, sizeof(link), "%s/link", p->dir);
    assert_int_equal(mkdir(a, 0700) + mkdir(b, 0700) + symlink("a/b", link), 0);
    for (size_t i = 0; i < sizeof(parent_rows) / sizeof(parent_rows[0]); i++) {
        const char *why = parent_rows[i].why;
        if (parent_rows[i].is_given_away && geteuid() != 0)
            continue; /* only root can give files away */
        snprintf(changed, sizeof(changed), "%s/%s", p->dir, parent_rows[i].dir);
        if (parent_rows[i].is_given_away)
            assert_int_equal(chown(changed, 65534, 65534), 0);
        assert_int_equal(chmod(changed, parent_rows[i].mode), 0);
        for (int k = 0; k < 2; k++) { /* by its name, and by a symbolic link */
            const char *name = k == 0 ? "a/b/cache" : "link/cache";
            const int rc = open_cache(p, name, false, &c, &err);
            if ((rc == 0) != (why == NULL))
                fail_msg("row %zu: %s", i, rc < 0 ? err.text : "accepted");
            snprintf(want, sizeof(want), "%s/cache", b);
            assert_int_equal(access(want, F_OK), why ? -1 : 0); /* nothing was made */
            if (why && (!strstr(err.text, why) || !strstr(err.text, changed) ||
                        !strstr(err.text, "--trust-cache")))
                fail_msg("row %zu: %s", i, err.text);
            snprintf(want, sizeof(want), "%s/cache/host", b);
            if (!why)
                assert_string_equal(c.dir, want); /* whatever becomes of the link */
            must(open_cache(p, name, true, &c, &err), &err);
            snprintf(want, sizeof(want), "%s/cache", b);
            must(ks_remove_tree(want, &err), &err);
        }
        assert_int_equal(chown(changed, geteuid(), getegid()), 0);
        assert_int_equal(chmod(changed, 0700), 0);
    }
}

/* A place that this user may not enter is an error of the input: scripts requeue on 3. */
static void test_closed_place(void **state)
{
    struct place *p = *state;
    char closed[300];
    struct ks_cache c;
    struct ks_err err;
    const bool is_root = geteuid() == 0;
    snprintf(closed, sizeof(closed), "%s/closed", p->dir);
    assert_int_equal(mkdir(closed, 0), 0);
    assert_int_equal(is_root ? seteuid(65534) : 0, 0);
    const int rc = open_cache(p, "closed/cache", false, &c, &err);
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    assert_int_equal(ks_code_exit(rc), 2);
    assert_non_null(strstr(err.text, "closed/cache"));
    assert_non_null(strstr(err.text, strerror(EACCES)));
}

enum damage { APPEND, FLIP, EMPTY, GONE, N_DAMAGE };
static void damage_file(const char *path, enum damage how)
{
    uint8_t byte;
    const int fd = open(path, O_RDWR | (how == EMPTY ? O_TRUNC : 0));
    assert_true(fd >= 0);
    if (how == APPEND) {
        assert_int_equal(lseek(fd, 0, SEEK_END) > 0, 1);
        assert_int_equal(write(fd, "x", 1), 1);
    }
    if (how == FLIP) {
        assert_int_equal(pread(fd, &byte, 1, 30), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, 30), 1);
    }
    assert_int_equal(close(fd), 0);
    if (how == GONE)
        assert_int_equal(unlink(path), 0);
}

/* What was damaged is never used: it is missing, and built again. */
static void test_damage_is_built_again(void **state)
{
    static const enum which files[] = { OBJECT, MANIFEST };
    struct place *p = *state;
    char path[900];
    for (size_t i = 0; i < 2; i++) {
        for (int how = 0; how < N_DAMAGE; how++) {
            path_of(p, files[i], path, sizeof(path));
            damage_file(path, (enum damage)how);
            plan(p, NULL);
            assert_int_equal(count_state(p, KS_ART_MISSING), 2);
            assert_int_equal(build_all(p), 2);
            assert_int_equal(count_state(p, KS_ART_READY), 2);
            plan(p, NULL);
            assert_int_equal(count_state(p, KS_ART_READY), 2);
        }
    }
}

/* A manifest that was written by someone else's rules. */
static void test_manifest_forms(void **state)
{
    static const struct {
        const char *from, *to;
    } row[] = {
        { "ksweep-unit 4", "ksweep-unit 3" },
        { "state ready", "state done" },
        { "state ready", "status ready" },
        { "unit ", "unit 0" },
        { "digest ", "digest zz" },
        { "timeout_s 300", "timeout_s -1" },
        { "memory_mib 4096", "memory_mib 4294967296" },
        { "file_mib 1024\n", "" },
        { "holds always", "holds ready" },
        { "object_bytes", "object_byte" },
        { "instance ", "instances " },
        { "instance ", "code k\ninstance " },
        { "reason ", "reason \"\" " },
        { "timeout_s 300\n", "" },
    };
    struct place *p = *state;
    char path[900];
    struct ks_err err;
    struct ks_buf text;
    ks_buf_init(&text);
    path_of(p, MANIFEST, path, sizeof(path));
    must(ks_file_read(path, &text, &err), &err);
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct ks_manifest m;
        struct ks_buf changed;
        const char *at = strstr(ks_buf_text(&text), row[i].from);
        assert_non_null(at);
        ks_buf_init(&changed);
        ks_buf_put(&changed, text.data, (size_t)(at - ks_buf_text(&text)));
        ks_buf_printf(&changed, "%s%s", row[i].to, at + strlen(row[i].from));
        changed.len -= strlen("end 0123456789abcdef\n");
        ks_lines_finish(&changed);
        must(ks_file_replace(path, changed.data, changed.len, &err), &err);
        ks_buf_release(&changed);
        const int rc = ks_manifest_load(path, &m, &err);
        if (rc != KS_EFORMAT || (int)err.code != rc || !strstr(err.text, path))
            fail_msg("row %zu: %d '%s'", i, rc, err.text);
    }
    ks_buf_release(&text);
}

static uint32_t count_temps(const struct place *p)
{
    char command[500];
    uint32_t n = 0;
    snprintf(command, sizeof(command), "ls -d %s/host/.tmp-* 2>/dev/null | wc -l", p->cache);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%u", &n), 1);
    assert_int_equal(pclose(f), 0);
    return n;
}

/* A run that is killed leaves temporary directories; the next one goes on, and old ones are swept.
 */
static void test_interrupted(void **state)
{
    struct place *p = *state;
    char fresh[600], old[600];
    const struct timeval long_ago[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
    snprintf(fresh, sizeof(fresh), "%s/host/.tmp-fresh", p->cache);
    snprintf(old, sizeof(old), "%s/host/.tmp-old", p->cache);
    assert_int_equal(mkdir(fresh, 0700), 0);
    assert_int_equal(mkdir(old, 0700), 0);
    assert_int_equal(utimes(old, long_ago), 0);

    use_instances(p, "{\"index\": [1, 2, 3, 4]}");
    plan(p, NULL);
    assert_int_equal(count_temps(p), 1);
    assert_false(ks_path_exists(old));
    struct ks_err err;
    for (uint32_t i = 0; i < ks_build_n_units(p->build); i++)
        must(ks_build_start(p->build, i, &err), &err);
    assert_true(turn(p, 2, 1)); /* the compiler runs */
    assert_int_equal(count_temps(p), 2);
    plan(p, NULL);
    assert_int_equal(count_temps(p), 1);
    assert_int_equal(count_state(p, KS_ART_READY), 2);
    (void)build_all(p);
    assert_int_equal(count_state(p, KS_ART_READY), 4);
    assert_int_equal(count_temps(p), 1);
    assert_true(artefact(p, "unit_1")->is_cached);
    assert_false(artefact(p, "unit_4")->is_cached);
}

/* Two ranks: what one builds the other finds when it looks again. */
static void test_refresh(void **state)
{
    struct place *p = *state;
    struct ks_build *other = NULL;
    struct ks_err err;
    const struct ks_build_options opt = { .cache_dir = p->cache };
    use_instances(p, "{\"index\": [1, 2, 3, 4]}");
    must(ks_build_create(&p->grid, &opt, p->warden, &other, &err), &err);
    plan(p, NULL);
    assert_int_equal(ks_build_n_missing(other), 1);
    must(ks_build_refresh(other, 0, &err), &err);
    assert_int_equal(ks_build_n_missing(other), 1);
    (void)build_all(p);
    must(ks_build_refresh(other, 0, &err), &err);
    assert_int_equal(ks_build_n_missing(other), 0);
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(other, i);
        assert_int_equal(a->state, KS_ART_READY);
        assert_string_equal(a->path, ks_build_artefact(p->build, i)->path);
        assert_int_equal(a->is_cached, i < 2);
    }
    assert_int_equal(ks_build_n_compiles(other), 0);
    ks_build_destroy(other);
}

/* Both build the same unit at once, since one was taken for dead: the last to publish keeps the
 * first one's. */
static void test_published_twice(void **state)
{
    struct place *p = *state, second = { .warden = p->warden };
    struct ks_err err;
    char path[600];
    const struct ks_build_options opt = { .cache_dir = p->cache };
    use_instances(p, "{\"index\": [5, 6]}");
    second.grid = p->grid;
    must(ks_build_create(&p->grid, &opt, p->warden, &second.build, &err), &err);
    plan(p, NULL);
    must(ks_build_start(p->build, 0, &err), &err);
    must(ks_build_step(p->build, 1, &err), &err);
    snprintf(path, sizeof(path), "%s/host/builders", p->cache);
    must(ks_remove_tree(path, &err), &err);
    must(ks_build_start(second.build, 0, &err), &err);
    must(ks_build_step(second.build, 1, &err), &err);
    assert_int_equal(ks_build_n_compiles(second.build), 1);
    while (ks_build_n_running(p->build) + ks_build_n_running(second.build)) {
        struct ks_child_end end;
        must(ks_build_step(p->build, 1, &err), &err);
        must(ks_build_step(second.build, 1, &err), &err);
        while (ks_warden_next(p->warden, &end, &err) == 1)
            assert_true(ks_build_child_ended(p->build, &end) !=
                        ks_build_child_ended(second.build, &end));
        ks_sleep_ns(1000000);
    }
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        const struct ks_artefact *b = ks_build_artefact(second.build, i);
        assert_int_equal(b->state, KS_ART_READY);
        assert_memory_equal(a->digest, b->digest, sizeof(a->digest));
        assert_string_equal(a->path, b->path);
    }
    assert_int_equal(count_temps(p), 0);
    ks_build_destroy(second.build);
}

static void test_places(void **state)
{
    struct place *p = *state;
    struct ks_cache c;
    struct ks_err err;
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    char *xdg = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
    char want[600], place[600];
    assert_int_equal(setenv("XDG_CACHE_HOME", p->dir, 1), 0);
    must(ks_cache_open(NULL, false, &c, &err), &err);
    snprintf(want, sizeof(want), "%s/ksweep/host", p->dir);
    assert_string_equal(c.dir, want);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(setenv("HOME", p->dir, 1), 0);
    must(ks_cache_open(NULL, false, &c, &err), &err);
    snprintf(want, sizeof(want), "%s/.cache/ksweep/host", p->dir);
    assert_string_equal(c.dir, want);
    assert_int_equal(unsetenv("HOME"), 0); /* as in an empty environment: the user's home */
    must(ks_cache_place(NULL, place, sizeof(place), &err), &err);
    snprintf(want, sizeof(want), "%s/.cache/ksweep", getpwuid(geteuid())->pw_dir);
    assert_string_equal(place, want);
    assert_int_equal(setenv("HOME", "relative", 1), 0);
    assert_int_equal(ks_cache_place(NULL, place, sizeof(place), &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "HOME is 'relative'"));
    assert_non_null(strstr(err.text, "--cache"));
    assert_int_equal(setenv("XDG_CACHE_HOME", "./x", 1), 0);
    assert_int_equal(ks_cache_place(NULL, place, sizeof(place), &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "XDG_CACHE_HOME is './x'"));
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    if (home)
        assert_int_equal(setenv("HOME", home, 1), 0);
    if (xdg)
        assert_int_equal(setenv("XDG_CACHE_HOME", xdg, 1), 0);
    free(home);
    free(xdg);
}

int main(void)
{
    struct ks_warden *warden = NULL;
    struct ks_err err;
    if (ks_warden_start(&warden, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, setup, teardown, warden)
    const struct CMUnitTest tests[] = {
        T(test_private_by_default),
        T(test_writable_by_others),
        T(test_other_owner),
        T(test_parents),
        T(test_closed_place),
        T(test_damage_is_built_again),
        T(test_manifest_forms),
        T(test_interrupted),
        T(test_refresh),
        T(test_published_twice),
        T(test_places),
    };
    const int rc = cmocka_run_group_tests_name("build_cache", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
