/* SPDX-License-Identifier: MIT */
/* build_util.h - shared by the tests of src/build: a family in a directory of its own, a job, a
 * cache, and a loop that builds. */
#ifndef KS_TEST_BUILD_UTIL_H
#define KS_TEST_BUILD_UTIL_H

#include "base/clock.h"
#include "base/file.h"
#include "build/build.h"
#include "kernels/abi.h"
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <dlfcn.h>

struct place {                /* of one test */
    struct ks_warden *warden; /* of the program */
    char dir[256];            /* temporary; holds everything below */
    char cache[300];
    struct ks_grid grid;
    bool has_grid;
    uint32_t n_helpers;     /* of a GPU's grid, which seems to have none */
    struct ks_build *build; /* NULL: none */
};

static inline void must(int rc, const struct ks_err *err)
{
    if (rc < 0)
        fail_msg("%s: %s", ks_code_name(rc), err->text);
}

static inline void put_file(const struct place *p, const char *name, const char *text)
{
    char path[600];
    struct ks_err err;
    must(ks_path_join(path, sizeof(path), p->dir, name, &err), &err);
    must(ks_file_replace(path, text, strlen(text), &err), &err);
}

/* Copies KS_SOURCE_DIR/from to the place. */
static inline void copy_file(const struct place *p, const char *from, const char *name)
{
    char path[600];
    struct ks_buf text;
    struct ks_err err;
    ks_buf_init(&text);
    must(ks_path_join(path, sizeof(path), KS_SOURCE_DIR, from, &err), &err);
    must(ks_file_read(path, &text, &err), &err);
    put_file(p, name, ks_buf_text(&text));
    ks_buf_release(&text);
}

static inline void forget_grid(struct place *p)
{
    ks_build_destroy(p->build);
    p->build = NULL;
    if (p->has_grid)
        ks_grid_release(&p->grid);
    p->has_grid = false;
}

/* A job over the config of that name, relative to the place or absolute, and one problem: of fp32,
 * for shipped kernels (of a GPU) of bf16. */
static inline void load_device_grid(struct place *p, const char *config, const char *backend,
                                    const char *arch)
{
    char job[1200], csv[500], path[600];
    struct ks_err err;
    forget_grid(p);
    snprintf(csv, sizeof(csv),
             "operator,direction,dtype,layout,ndim,n,g,c_total,k_total,di,hi,wi,z,y,x,stride_d,"
             "stride_h,stride_w,dilation_d,dilation_h,dilation_w,pad_d_lo,pad_h_lo,pad_w_lo,"
             "pad_d_hi,pad_h_hi,pad_w_hi,count,name\n"
             "grouped_conv,forward,%s,nhwgc,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0,0,0,0,0,0,1,one\n",
             config[0] == '/' ? "bf16" : "fp32");
    put_file(p, "one.csv", csv);
    snprintf(
        job, sizeof(job),
        "{\"name\": \"t\", \"operator\": \"grouped_conv\", \"kernels\": [{\"config\": \"%s\"}], "
        "\"problems\": [{\"file\": \"one.csv\"}], \"device\": {\"backend\": \"%s\", \"arch\": "
        "\"%s\"}}",
        config, backend, arch);
    put_file(p, "job.json", job);
    must(ks_path_join(path, sizeof(path), p->dir, "job.json", &err), &err);
    must(ks_grid_load(path, &p->grid, &err), &err);
    p->has_grid = true;
    p->n_helpers = p->grid.n_helpers; /* they are built in test_build_judge.c only */
    p->grid.n_helpers = 0;
}

static inline void load_grid(struct place *p, const char *config, const char *backend)
{
    load_device_grid(p, config, backend, "native");
}

/* The family of tests/fake in the place, and a job over `instances` (the config's list). */
static inline void use_instances(struct place *p, const char *instances)
{
    char config[2000];
    snprintf(config, sizeof(config), "{\"family\": \"unit.family.json\", \"instances\": [%s]}",
             instances);
    put_file(p, "config.json", config);
    load_grid(p, "config.json", "host");
}

/* Replaces a part of the text of the family of tests/fake. */
static inline void change_family(const struct place *p, const char *from, const char *to)
{
    char path[600], changed[9000];
    struct ks_buf family;
    struct ks_err err;
    ks_buf_init(&family);
    snprintf(path, sizeof(path), "%s/unit.family.json", p->dir);
    must(ks_file_read(path, &family, &err), &err);
    const char *text = ks_buf_text(&family), *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    put_file(p, "unit.family.json", changed);
    ks_buf_release(&family);
}

static inline int try_plan(struct place *p, const struct ks_build_options *with, struct ks_err *err)
{
    struct ks_build_options opt = with ? *with : (struct ks_build_options){ .unit_size = 0 };
    if (!opt.cache_dir)
        opt.cache_dir = p->cache;
    ks_build_destroy(p->build);
    p->build = NULL;
    return ks_build_create(&p->grid, &opt, p->warden, &p->build, err);
}

static inline void plan(struct place *p, const struct ks_build_options *with)
{
    struct ks_err err;
    must(try_plan(p, with, &err), &err);
}

/* Deals with child ends for at most `ms`; false when nothing is left to wait for. */
static inline bool turn(struct place *p, uint32_t n_jobs, int ms)
{
    struct ks_err err;
    struct ks_child_end end;
    int rc;
    must(ks_build_step(p->build, n_jobs, &err), &err);
    if (!ks_build_n_running(p->build))
        return false;
    while ((rc = ks_warden_next(p->warden, &end, &err)) == 1)
        (void)ks_build_child_ended(p->build, &end);
    must(rc, &err);
    struct pollfd fd = { .fd = ks_warden_fd(p->warden), .events = POLLIN };
    if (poll(&fd, 1, ms) < 0)
        assert_int_equal(errno, EINTR);
    return true;
}

/* $KSWEEP_CC stands for the default of a compiler trait: tests that have one set it themselves. */
static inline void must_setenv(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

/* A compiler of the test's own: a shell script in the place. */
static inline void put_script(const struct place *p, const char *name, const char *script,
                              char *path_out, size_t cap)
{
    char text[2000];
    snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
    put_file(p, name, text);
    snprintf(path_out, cap, "%s/%s", p->dir, name);
    assert_int_equal(chmod(path_out, 0700), 0);
}

/* Builds everything; each unit is reported exactly once. Returns the number of compiler runs. */
static inline uint64_t build_all(struct place *p)
{
    struct ks_err err;
    const uint32_t n = ks_build_n_units(p->build);
    uint32_t n_reported = 0;
    for (uint32_t i = 0; i < n; i++)
        must(ks_build_start(p->build, i, &err), &err);
    while (turn(p, 2, 50))
        ;
    while (ks_build_finished(p->build) >= 0)
        n_reported++;
    assert_int_equal(n_reported, n);
    assert_int_equal(ks_build_n_missing(p->build), 0);
    return ks_build_n_compiles(p->build);
}

static inline uint32_t find_instance(const struct place *p, const char *name)
{
    for (uint32_t i = 0; i < p->grid.n_instances; i++)
        if (strcmp(p->grid.instances[i].name, name) == 0)
            return i;
    fail_msg("no instance '%s'", name);
    return 0;
}

static inline const struct ks_artefact *artefact(const struct place *p, const char *name)
{
    return ks_build_artefact(p->build, find_instance(p, name));
}

static inline uint32_t count_state(const struct place *p, enum ks_artefact_state state)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->grid.n_instances; i++)
        n += ks_build_artefact(p->build, i)->state == state;
    return n;
}

/* For main: before any test. */
static inline struct ks_warden *start_warden(void)
{
    struct ks_warden *warden = NULL;
    struct ks_err err;
    if (ks_warden_start(&warden, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return warden;
}

static inline struct place *open_place(struct ks_warden *warden)
{
    struct place *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->warden = warden;
    temp_dir_make(p->dir, sizeof(p->dir));
    snprintf(p->cache, sizeof(p->cache), "%s/cache", p->dir);
    return p;
}

static inline void close_place(struct place *p)
{
    struct ks_err err;
    forget_grid(p);
    must(ks_remove_tree(p->dir, &err), &err);
    free(p);
}

/* Each test begins with the fake family in a place of its own; the warden goes from one to the
 * next. */
static inline int open_units(void **state)
{
    struct place *p = open_place(*state);
    copy_file(p, "tests/fake/unit.k", "unit.k");
    copy_file(p, "tests/fake/unit.h", "unit.h");
    copy_file(p, "tests/fake/unit.family.json", "unit.family.json");
    *state = p;
    return 0;
}

static inline int close_units(void **state)
{
    struct place *p = *state;
    *state = p->warden;
    close_place(p);
    return 0;
}

/* Loads an artefact and runs it: what it writes. */
static inline float run_artefact(const struct ks_artefact *a)
{
    float out = -1;
    struct ks_abi_problem problem = { .bytes = sizeof(problem), .op = KS_ABI_GROUPED_CONV };
    const struct ks_abi_buffers buf = { .c = &out };
    void *so = dlopen(a->path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail_msg("%s", dlerror());
    const struct ks_abi_table *table = dlsym(so, KS_ABI_SYMBOL);
    assert_non_null(table);
    assert_int_equal(table->abi_major, KS_ABI_MAJOR);
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < table->n_entries; i++) {
        if (strcmp(table->entries[i].name, a->entry) != 0)
            continue;
        n_found++;
        assert_null(table->entries[i].unsupported(&problem));
        assert_int_equal(table->entries[i].run(&problem, &buf), 0);
    }
    assert_int_equal(n_found, 1);
    assert_int_equal(dlclose(so), 0);
    return out;
}

#endif
