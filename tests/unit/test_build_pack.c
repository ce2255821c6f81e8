/* SPDX-License-Identifier: MIT */
/* test_build_pack.c - units from one cache to another: what arrives is what left, and no more */
#include "base/lines.h"
#include "build/plan.h"
#include "build_util.h"

#include <unistd.h>

struct pair { /* the same job over two caches */
    struct place *p;
    char there[300];
    struct ks_build *other;
    struct ks_buf pack;
};

static void plan_other(struct pair *x)
{
    const struct ks_build_options opt = { .cache_dir = x->there };
    struct ks_err err;
    ks_build_destroy(x->other);
    x->other = NULL;
    must(ks_build_create(&x->p->grid, &opt, x->p->warden, &x->other, &err), &err);
}

static struct pair open_pair(struct place *p, const char *instances)
{
    struct pair x = { .p = p };
    snprintf(x.there, sizeof(x.there), "%s/there", p->dir);
    ks_buf_init(&x.pack);
    use_instances(p, instances);
    plan(p, NULL);
    plan_other(&x);
    return x;
}

static void close_pair(struct pair *x)
{
    ks_build_destroy(x->other);
    ks_buf_release(&x->pack);
}

static struct ks_id128 id_of(const struct pair *x, uint32_t i)
{
    return ks_build_artefact(x->other, i)->build_id;
}

static void export_of(struct pair *x, uint32_t i)
{
    struct ks_err err;
    ks_buf_clear(&x->pack);
    must(ks_build_export(x->p->build, id_of(x, i), &x->pack, &err), &err);
}

static void refresh_other(struct pair *x)
{
    struct ks_err err;
    for (uint32_t i = 0; i < ks_build_n_units(x->other); i++)
        must(ks_build_refresh(x->other, i, &err), &err);
}

static void test_arrives(void **state)
{
    struct pair x = open_pair(*state, "{\"index\": [1, 2, 3]}");
    struct ks_err err;
    assert_int_equal(build_all(x.p), 2);
    export_of(&x, 1);
    must(ks_build_import(x.other, id_of(&x, 1), x.pack.data, x.pack.len, &err), &err);
    refresh_other(&x);
    assert_int_equal(ks_build_n_missing(x.other), 0);
    assert_int_equal(ks_build_n_compiles(x.other), 0);
    for (uint32_t i = 0; i < 3; i++) { /* all of its unit came along */
        const struct ks_artefact *a = ks_build_artefact(x.other, i);
        const struct ks_artefact *from = ks_build_artefact(x.p->build, i);
        assert_int_equal(a->state, KS_ART_READY);
        assert_memory_equal(a->digest, from->digest, sizeof(a->digest));
        assert_true(ks_id128_eq(a->code_id, from->code_id) && !ks_id128_is_zero(a->code_id));
        assert_int_equal(a->compile_ns, from->compile_ns);
        assert_string_not_equal(a->path, from->path);
        assert_true(run_artefact(a) == run_artefact(from));
    }
    must(ks_build_import(x.other, id_of(&x, 0), x.pack.data, x.pack.len, &err), &err); /* again */
    plan_other(&x); /* whoever comes next finds it */
    assert_int_equal(ks_build_n_missing(x.other), 0);
    close_pair(&x);
}

/* A verdict travels, too; one that only says that something was wrong here does not. */
static void test_failures(void **state)
{
    struct place *p = *state;
    struct pair x = open_pair(p, "{\"index\": 1, \"fault\": \"compile\"}");
    char compiler[600];
    struct ks_err err;
    assert_int_equal(build_all(p), 1);
    export_of(&x, 0);
    must(ks_build_import(x.other, id_of(&x, 0), x.pack.data, x.pack.len, &err), &err);
    refresh_other(&x);
    assert_int_equal(ks_build_artefact(x.other, 0)->state, KS_ART_FAILED);
    assert_non_null(strstr(ks_build_artefact(x.other, 0)->reason, "broken on purpose"));
    close_pair(&x);

    put_script(p, "odd-cc",
               "[ \"$1\" = --version ] && echo odd && exit\n"
               "echo 'x.s: error: No space left on device'; exit 1",
               compiler, sizeof(compiler));
    const struct ks_build_options opt = { .compiler = compiler };
    plan(p, &opt);
    assert_int_equal(build_all(p), 1);
    struct ks_buf pack;
    ks_buf_init(&pack);
    const struct ks_id128 id = ks_build_artefact(p->build, 0)->build_id;
    assert_int_equal(ks_build_artefact(p->build, 0)->state, KS_ART_FAILED);
    assert_int_equal(ks_build_export(p->build, id, &pack, &err), KS_ENOENT);
    assert_int_equal(pack.len, 0);
}

static void test_there_is_none(void **state)
{
    struct pair x = open_pair(*state, "{\"index\": [1]}");
    struct ks_err err;
    char path[900];
    assert_int_equal(ks_build_export(x.p->build, id_of(&x, 0), &x.pack, &err), KS_ENOENT);
    build_all(x.p);
    snprintf(path, sizeof(path), "%s", ks_build_artefact(x.p->build, 0)->path);
    FILE *f = fopen(path, "r+"); /* damaged since */
    assert_non_null(f);
    assert_int_equal(fseek(f, 200, SEEK_SET), 0);
    const int was = fgetc(f);
    assert_int_equal(fseek(f, 200, SEEK_SET), 0);
    assert_true(fputc(was ^ 1, f) != EOF && fclose(f) == 0);
    assert_int_equal(ks_build_export(x.p->build, id_of(&x, 0), &x.pack, &err), KS_ENOENT);
    assert_int_equal(x.pack.len, 0);
    close_pair(&x);
}

/* Any byte changed, any byte missing: refused, and nothing is in the cache. Times and names are
 * not proved by anything; what is run is. */
static void test_damaged(void **state)
{
    struct pair x = open_pair(*state, "{\"index\": [1, 2]}");
    struct ks_err err;
    build_all(x.p);
    export_of(&x, 0);
    const struct ks_id128 id = id_of(&x, 0);
    const size_t n = x.pack.len;
    uint32_t n_json;
    memcpy(&n_json, x.pack.data, sizeof(n_json));
    for (size_t at = 0; at < n; at += at < 8 || at + 8 > n ? 1 : 97) {
        if (at >= 4 && at < 4 + n_json)
            continue;
        x.pack.data[at] ^= 0x10;
        if (ks_build_import(x.other, id, x.pack.data, n, &err) != KS_EFORMAT)
            fail_msg("byte %zu of %zu", at, n);
        x.pack.data[at] ^= 0x10;
    }
    for (size_t len = 0; len < n; len += len < 8 ? 1 : 211)
        assert_int_equal(ks_build_import(x.other, id, x.pack.data, len, &err), KS_EFORMAT);
    /* sound, but not what was asked for */
    assert_int_equal(ks_build_import(x.other, (struct ks_id128){ 1, 2 }, x.pack.data, n, &err),
                     KS_EFORMAT);
    refresh_other(&x);
    assert_int_equal(ks_build_n_missing(x.other), 1);
    must(ks_build_import(x.other, id, x.pack.data, n, &err), &err);
    close_pair(&x);
}

/* Gives a changed manifest its new digest. */
static void seal(struct ks_buf *pack)
{
    struct ks_cur c = ks_cur(pack->data, pack->len);
    const size_t n_end = strlen("end 0123456789abcdef\n"), n = ks_cur_u32(&c);
    struct ks_buf text;
    ks_buf_init(&text);
    ks_buf_put(&text, c.p, n - n_end);
    ks_lines_finish(&text);
    assert_int_equal(text.len, n);
    memcpy(pack->data + 4, text.data, n);
    ks_buf_release(&text);
}

/* A manifest that names another unit, or an instance that is not in it. */
static void test_wrong_manifest(void **state)
{
    static const char *const keys[] = { "\nunit ", "\nbuild_id ", "\ndigest ", "\nobject_bytes " };
    struct pair x = open_pair(*state, "{\"index\": [1, 2]}");
    struct ks_err err;
    build_all(x.p);
    export_of(&x, 0);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        char *at = memmem(x.pack.data, x.pack.len, keys[i], strlen(keys[i]));
        assert_non_null(at);
        at += strlen(keys[i]);
        const char was = *at;
        *at = was == '1' ? '2' : '1';
        seal(&x.pack);
        if (ks_build_import(x.other, id_of(&x, 1), x.pack.data, x.pack.len, &err) != KS_EFORMAT)
            fail_msg("%s", keys[i]);
        *at = was;
    }
    refresh_other(&x);
    assert_int_equal(ks_build_n_missing(x.other), 1);
    close_pair(&x);
}

/* Who builds the same, and who builds into the same cache. */
static void test_identities(void **state)
{
    struct place *p = *state;
    struct pair x = open_pair(p, "{\"index\": [1, 2]}");
    const struct ks_id128 target = ks_build_target(p->build), cache = ks_build_cache(p->build);
    assert_false(ks_id128_is_zero(target) || ks_id128_is_zero(cache));
    assert_true(ks_id128_eq(ks_build_target(x.other), target));
    assert_false(ks_id128_eq(ks_build_cache(x.other), cache));
    plan(p, NULL);
    assert_true(ks_id128_eq(ks_build_cache(p->build), cache));
    plan(p, &(struct ks_build_options){ .compiler = "cc -DOTHER" });
    assert_false(ks_id128_eq(ks_build_target(p->build), target));
    assert_true(ks_id128_eq(ks_build_cache(p->build), cache));
    char from[600], to[700]; /* a copy with the same mark */
    ssize_t n;
    snprintf(from, sizeof(from), "%s/host/id", p->cache);
    snprintf(to, sizeof(to), "%s/host/id", x.there);
    char text[64] = "";
    n = readlink(from, text, sizeof(text) - 1);
    assert_int_equal(n, 32);
    assert_true(unlink(to) == 0 && symlink(text, to) == 0);
    plan_other(&x);
    assert_false(ks_id128_eq(ks_build_cache(x.other), cache));
    close_pair(&x);
}

/* As many units as there are compilers to start with, until one is started. */
static void test_cut(void **state)
{
    struct pair x = open_pair(*state, "{\"index\": [1, 2, 3, 4, 5, 6, 7, 8]}");
    struct ks_err err;
    const struct ks_id128 target = ks_build_target(x.p->build);
    assert_int_equal(ks_build_n_units(x.p->build), 1);
    must(ks_build_cut(x.p->build, 4, &err), &err);
    assert_int_equal(ks_build_n_units(x.p->build), 4);
    assert_true(ks_id128_eq(ks_build_target(x.p->build), target));
    must(ks_build_cut(x.p->build, 8, &err), &err);
    assert_int_equal(ks_build_n_units(x.p->build), 8);
    must(ks_build_start(x.p->build, 0, &err), &err);
    must(ks_build_cut(x.p->build, 1, &err), &err);
    assert_int_equal(ks_build_n_units(x.p->build), 8);
    build_all(x.p);
    must(ks_build_cut(x.p->build, 1, &err), &err);
    assert_int_equal(ks_build_n_units(x.p->build), 8);
    close_pair(&x);
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_arrives),        T(test_failures),   T(test_there_is_none), T(test_damaged),
        T(test_wrong_manifest), T(test_identities), T(test_cut),
    };
    const int rc = cmocka_run_group_tests_name("build_pack", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
