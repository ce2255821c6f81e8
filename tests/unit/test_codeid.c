/* SPDX-License-Identifier: MIT */
/* test_codeid.c - physical identity of code: what must change it, what must not, bad objects */
#include "base/file.h"
#include "build/codeid.h"
#include "build/object.h"
#include "build/operand.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
    "typedef int (*fn)(const int *, int);\n"
    "struct entry { const char *name; fn a, b; };\n"
    /* equal code under other names, at other addresses */
    "__attribute__((noinline)) static int help1(int x) { return x * 7 + 1; }\n"
    "__attribute__((noinline)) static int help2(int x) { return x * 7 + 1; }\n"
    "__attribute__((noinline)) static int help3(int x) { return x * 9 + 1; }\n"
    "int same1(const int *p, int n) { return help1(p[n]); }\n"
    "int same2(const int *p, int n) { return help2(p[n]); }\n"
    "int other_helper(const int *p, int n) { return help3(p[n]); }\n"
    /* the code is equal, a constant table is not */
    "static const int t1[] = {1,2,3,4,5,6,7,8}, t2[] = {1,2,3,4,5,6,7,8}, t3[] = "
    "{1,2,3,4,5,6,7,9};\n"
    "int table1(const int *p, int n) { return t1[p[n] & 7]; }\n"
    "int table2(const int *p, int n) { return t2[p[n] & 7]; }\n"
    "int table3(const int *p, int n) { return t3[p[n] & 7]; }\n"
    /* literals in mergeable sections */
    "double lit1(double x) { return x * 3.25; }\n"
    "double lit2(double x) { return x * 3.25; }\n"
    "double lit3(double x) { return x * 3.5; }\n"
    "const char *text1(void) { return \"needs c\"; }\n"
    "const char *text2(void) { return \"needs c\"; }\n"
    "const char *text3(void) { return \"needs k\"; }\n"
    /* tables of pointers */
    "static int (*const f1[])(int) = {help1, help3}, (*const f2[])(int) = {help2, help3},\n"
    "  (*const f3[])(int) = {help3, help1};\n"
    "int point1(int i) { return f1[i & 1](i); }\n"
    "int point2(int i) { return f2[i & 1](i); }\n"
    "int point3(int i) { return f3[i & 1](i); }\n"
    /* recursion through each other */
    "int odd1(int); int odd2(int);\n"
    "__attribute__((noinline)) int even1(int n) { return n ? odd1(n - 1) * 3 + 1 : 1; }\n"
    "__attribute__((noinline)) int odd1(int n) { return n ? even1(n - 1) * 5 + 2 : 0; }\n"
    "__attribute__((noinline)) int even2(int n) { return n ? odd2(n - 1) * 3 + 1 : 1; }\n"
    "__attribute__((noinline)) int odd2(int n) { return n ? even2(n - 1) * 5 + 2 : 0; }\n"
    /* what is outside counts by name */
    "extern int out1(int), out2(int);\n"
    "int ext1(int n) { return out1(n) + 1; }\n"
    "int ext1b(int n) { return out1(n) + 1; }\n"
    "int ext2(int n) { return out2(n) + 1; }\n"
    /* switches */
    "int sw1(int n) { switch (n) { case 0: return 5; case 1: return out1(1); case 2: return "
    "out2(3); case 3: return out1(9); case 4: return out2(8); case 5: return out1(4); } return 0; "
    "}\n"
    "int sw2(int n) { switch (n) { case 0: return 5; case 1: return out1(1); case 2: return "
    "out2(3); case 3: return out1(9); case 4: return out2(8); case 5: return out1(4); } return 0; "
    "}\n"
    /* written data */
    "static int counter; int count(void) { return ++counter; }\n"
    "int written[4] = {1,2,3,4}; int read_written(int i) { return written[i]; }\n"
    "int common[4]; int read_common(int i) { return common[i]; }\n"
    "__thread int local; int read_local(void) { return local; }\n"
    "int calls_count(void) { return count() + 1; }\n"
    /* entries: the functions count, the name does not */
    "const struct entry e1 = {\"one\", same1, table1}, e2 = {\"two\", same2, table2},\n"
    "  e3 = {\"one\", table1, same1}, e4 = {\"one\", same1, table3};\n"
    "const struct entry e_written = {\"w\", same1, (fn)(void *)count};\n"
    /* constants too long for a mergeable section */
    "typedef int v16 __attribute__((vector_size(64)));\n"
    "#define BIG(last) (v16){11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,last}\n"
    "v16 big1(v16 x) { return x * BIG(26); }\n"
    "v16 big2(v16 x) { return x * BIG(26); }\n"
    "v16 big3(v16 x) { return x * BIG(27); }\n"
    "const int no_code = 3;\n";

struct object {
    struct ks_buf bytes;
};

/* The flags are those of the build; both of its compilers, where they are there. */
static const char *const compilers[] = { "gcc -fno-ipa-icf", "clang", "clang-19" };

#ifdef KSWEEP_SANITIZED
#define N_COMPILERS 1 /* objects of the others are read by the same lines of ours */
#else
#define N_COMPILERS (sizeof(compilers) / sizeof(*compilers))
#endif

/* false: there is no such compiler. */
static bool compile(const char *compiler, const char *suffix, const char *text, struct ks_buf *out)
{
    char dir[TEMP_DIR_MAX], path[TEMP_DIR_MAX + 16], command[600];
    struct ks_err err;
    snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", compiler);
    if (system(command) != 0)
        return false;
    temp_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/u.%s", dir, suffix);
    assert_int_equal(ks_file_replace(path, text, strlen(text), &err), 0);
    snprintf(command, sizeof(command),
             "%s -O2 -fPIC -fcommon -mavx512f -mfma -fno-builtin -ffunction-sections "
             "-fdata-sections -w -c %s -o %s/u.o",
             compiler, path, dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/u.o", dir);
    ks_buf_init(out);
    assert_int_equal(ks_file_read(path, out, &err), 0);
    temp_dir_remove(dir);
    return true;
}

static int setup(void **state)
{
    struct object *o = calloc(1, sizeof(*o));
    assert_non_null(o);
    assert_true(compile("cc -fno-ipa-icf", "c", source, &o->bytes));
    *state = o;
    return 0;
}

static int teardown(void **state)
{
    struct object *o = *state;
    ks_buf_release(&o->bytes);
    free(o);
    return 0;
}

static struct ks_id128 id_in(const struct ks_buf *object, const char *symbol)
{
    struct ks_id128 id;
    struct ks_err err;
    uint64_t n_code = 0;
    if (ks_code_id(object->data, object->len, symbol, &id, &n_code, &err) < 0)
        fail_msg("%s: %s", symbol, err.text);
    assert_true(n_code > 0 && n_code < object->len);
    return id;
}

static struct ks_id128 id_of(const struct object *o, const char *symbol)
{
    return id_in(&o->bytes, symbol);
}

static void test_equal_and_different(void **state)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } row[] = {
        { "same1", "same2", true },   { "same1", "other_helper", false },
        { "table1", "table2", true }, { "table1", "table3", false },
        { "lit1", "lit2", true },     { "lit1", "lit3", false },
        { "text1", "text2", true },   { "text1", "text3", false },
        { "point1", "point2", true }, { "point1", "point3", false },
        { "even1", "even2", true },   { "odd1", "odd2", true },
        { "even1", "odd1", false },   { "ext1", "ext1b", true },
        { "ext1", "ext2", false },    { "sw1", "sw2", true },
        { "e1", "e2", true },         { "e1", "e3", false },
        { "e1", "e4", false },        { "help1", "help2", true },
        { "big1", "big2", true },     { "big1", "big3", false },
    };
    (void)state;
    for (size_t c = 0; c < N_COMPILERS; c++) {
        struct ks_buf o;
        if (!compile(compilers[c], "c", source, &o))
            continue;
        for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
            const struct ks_id128 a = id_in(&o, row[i].a), b = id_in(&o, row[i].b);
            assert_false(ks_id128_is_zero(a));
            if (ks_id128_eq(a, b) != row[i].is_equal)
                fail_msg("%s: %s and %s %s", compilers[c], row[i].a, row[i].b,
                         row[i].is_equal ? "differ" : "are equal");
        }
        ks_buf_release(&o);
    }
}

/* The same function alone and beside others whose constants begin, hold or resemble its own. */
static void test_company(void **state)
{
    static const char before[] =
        "typedef float v4 __attribute__((vector_size(16)));\n"
        "typedef float v8 __attribute__((vector_size(32)));\n"
        "typedef float v16 __attribute__((vector_size(64)));\n"
        "typedef int i16 __attribute__((vector_size(64)));\n" /* immintrin.h takes a second */
        "i16 last(i16 x, i16 y) { return __builtin_ia32_pternlogd512_mask(x, y, "
        "(i16){1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,LAST}, 0x3a, (unsigned short)-1); }\n";
    static const char others[] =
        "v16 o16(v16 x) { return x + (v16){3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,7}; }\n"
        "v8 o8(v8 x) { return x * (v8){1.5f,2.5f,3.5f,4.5f,5.5f,6.5f,7.5f,8.5f}; }\n"
        "v4 o4(v4 x) { return x * (v4){9.5f,2.25f,3.5f,4.5f}; }\n"
        "const char *oc(void) { return \"a text of another function, somewhat longer\"; }\n"
        "const char *od(void) { return \"and text\"; }\n";
    static const char mine[] =
        "float f1(float x) { return x * 1.5f + 3; }\n"
        "double f2(double x) { return x * 1.5 + 0.1; }\n"
        "v4 f4(v4 x) { return x * (v4){1.5f,2.5f,3.5f,4.5f}; }\n"
        "v8 f8(v8 x) { return x + (v8){3,3,3,3,3,3,3,3}; }\n"
        "v16 f16(v16 x) { return x + (v16){3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,8}; }\n"
        "const char *fc(void) { return \"text\"; }\n";
    static const char *const names[] = { "f1", "f2", "f4", "f8", "f16", "fc", "last" };
    (void)state;
    for (size_t c = 0; c < N_COMPILERS; c++) {
        char text[4][4000];
        struct ks_buf o[4];
        snprintf(text[0], sizeof(text[0]), "#define LAST 16\n%s%s", before, mine);
        snprintf(text[1], sizeof(text[1]), "#define LAST 16\n%s%s%s", before, others, mine);
        snprintf(text[2], sizeof(text[2]), "#define LAST 16\n%s%s%s", before, mine, others);
        snprintf(text[3], sizeof(text[3]), "#define LAST 0x10000010\n%s%s", before, mine);
        if (!compile(compilers[c], "c", text[0], &o[0]))
            continue;
        for (size_t k = 1; k < 4; k++)
            assert_true(compile(compilers[c], "c", text[k], &o[k]));
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            const struct ks_id128 id = id_in(&o[0], names[i]);
            for (size_t k = 1; k < 3; k++)
                if (!ks_id128_eq(id_in(&o[k], names[i]), id))
                    fail_msg("%s: %s changes with its company", compilers[c], names[i]);
        }
        /* The last bytes of a constant in front of an immediate. */
        assert_false(ks_id128_eq(id_in(&o[0], "last"), id_in(&o[3], "last")));
        for (size_t k = 0; k < 4; k++)
            ks_buf_release(&o[k]);
    }
}

/* What instructions read of a place, by the assembler's own account of them. */
static const struct {
    const char *text; /* Intel syntax; x is the place */
    uint32_t n_bytes; /* 0: not answered */
    uint32_t n_immediate;
} instruction[] = {
    { "vmovss xmm1, dword ptr [rip+x]", 4, 0 },
    { "vmovsd xmm9, qword ptr [rip+x]", 8, 0 },
    { "vmovaps ymm1, [rip+x]", 32, 0 },
    { "vmovdqa xmm1, [rip+x]", 16, 0 },
    { "vmovdqu64 zmm17, [rip+x]", 64, 0 },
    { "vmovaps zmm1{k1}{z}, [rip+x]", 64, 0 },
    { "vmovq xmm1, qword ptr [rip+x]", 8, 0 },
    { "vmovd xmm1, dword ptr [rip+x]", 4, 0 },
    { "vbroadcastss ymm1, dword ptr [rip+x]", 4, 0 },
    { "vbroadcastss zmm20, dword ptr [rip+x]", 4, 0 },
    { "vbroadcastsd ymm1, qword ptr [rip+x]", 8, 0 },
    { "vbroadcastf128 ymm1, [rip+x]", 16, 0 },
    { "vbroadcasti32x4 zmm1, [rip+x]", 16, 0 },
    { "vbroadcasti64x4 zmm1, [rip+x]", 32, 0 },
    { "vpbroadcastb zmm1, byte ptr [rip+x]", 1, 0 },
    { "vpbroadcastw ymm1, word ptr [rip+x]", 2, 0 },
    { "vpbroadcastd xmm1, dword ptr [rip+x]", 4, 0 },
    { "vpbroadcastq zmm1, qword ptr [rip+x]", 8, 0 },
    { "vmulss xmm1, xmm2, dword ptr [rip+x]", 4, 0 },
    { "vaddsd xmm1, xmm2, qword ptr [rip+x]", 8, 0 },
    { "vmulps ymm1, ymm2, [rip+x]", 32, 0 },
    { "vaddps zmm1, zmm2, [rip+x]", 64, 0 },
    { "vaddps zmm1, zmm2, dword ptr [rip+x]{1to16}", 4, 0 },
    { "vaddpd zmm1, zmm2, qword ptr [rip+x]{1to8}", 8, 0 },
    { "vfmadd213ss xmm1, xmm2, dword ptr [rip+x]", 4, 0 },
    { "vfmadd231sd xmm1, xmm2, qword ptr [rip+x]", 8, 0 },
    { "vfmadd132ps ymm1, ymm2, [rip+x]", 32, 0 },
    { "vfmsubadd132ps ymm1, ymm2, [rip+x]", 32, 0 },
    { "vfmadd231ps zmm1, zmm2, dword ptr [rip+x]{1to16}", 4, 0 },
    { "vpshufb ymm1, ymm2, [rip+x]", 32, 0 },
    { "vpermd zmm1, zmm2, [rip+x]", 64, 0 },
    { "vpermt2ps zmm1, zmm2, [rip+x]", 64, 0 },
    { "vpternlogd zmm1, zmm2, [rip+x], 3", 64, 1 },
    { "vshufps ymm1, ymm2, [rip+x], 3", 32, 1 },
    { "vpshufd xmm1, [rip+x], 3", 16, 1 },
    { "vcmpps k1, zmm2, [rip+x], 3", 64, 1 },
    { "vcmpss xmm1, xmm2, dword ptr [rip+x], 3", 4, 1 },
    { "vinsertf128 ymm1, ymm2, [rip+x], 1", 16, 1 },
    { "vinserti64x4 zmm1, zmm2, [rip+x], 1", 32, 1 },
    { "vinsertps xmm1, xmm2, dword ptr [rip+x], 1", 4, 1 },
    { "vpinsrd xmm1, xmm2, dword ptr [rip+x], 1", 4, 1 },
    { "vpinsrq xmm1, xmm2, qword ptr [rip+x], 1", 8, 1 },
    { "vpinsrw xmm1, xmm2, word ptr [rip+x], 1", 2, 1 },
    { "vpinsrb xmm1, xmm2, byte ptr [rip+x], 1", 1, 1 },
    { "vroundsd xmm1, xmm2, qword ptr [rip+x], 1", 8, 1 },
    { "vcvtps2pd zmm1, [rip+x]", 32, 0 },
    { "vcvtpd2ps ymm1, [rip+x]", 64, 0 },
    { "vcvtss2sd xmm1, xmm2, dword ptr [rip+x]", 4, 0 },
    { "vcvtph2ps zmm1, [rip+x]", 32, 0 },
    { "vpmovzxbd zmm1, [rip+x]", 16, 0 },
    { "vpmovsxwd ymm1, [rip+x]", 16, 0 },
    { "vpmovzxbq xmm1, [rip+x]", 2, 0 },
    { "vpslld ymm1, ymm2, [rip+x]", 16, 0 },
    { "vpslld zmm1, [rip+x], 3", 64, 1 },
    { "vucomiss xmm1, dword ptr [rip+x]", 4, 0 },
    { "vucomisd xmm1, qword ptr [rip+x]", 8, 0 },
    { "vcvtsi2sd xmm1, xmm2, dword ptr [rip+x]", 4, 0 },
    { "vdpbf16ps zmm1, zmm2, dword ptr [rip+x]{1to16}", 4, 0 },
    { "vpdpbusd zmm1, zmm2, [rip+x]", 64, 0 },
    /* too much is allowed, too little never */
    { "vcvtdq2pd zmm1, [rip+x]", 64, 0 },
    { "vmovddup xmm1, qword ptr [rip+x]", 16, 0 },
    /* not answered: half precision, what is older than these prefixes, addresses */
    { "vaddph zmm1, zmm2, [rip+x]", 0, 0 },
    { "ldtilecfg [rip+x]", 0, 0 },
    { "mulss xmm1, dword ptr [rip+x]", 0, 0 },
    { "movaps xmm1, [rip+x]", 0, 0 },
    { "pshufb xmm1, [rip+x]", 0, 0 },
    { "lea rax, [rip+x]", 0, 0 },
    { "mov eax, dword ptr [rip+x]", 0, 0 },
    { "add eax, dword ptr [rip+x]", 0, 0 },
    /* bytes that could be a prefix in front of one */
    { "mov ebp, eax\n addps xmm0, [rip+x]", 0, 0 },
    { ".byte 0x62, 0xf1\n vaddps xmm0, xmm8, [rip+x]", 0, 0 },
};

static void test_operands(void **state)
{
    static const size_t n_rows = sizeof(instruction) / sizeof(*instruction);
    struct ks_buf text, object;
    struct ks_object o;
    struct ks_err err;
    Elf64_Shdr code = { 0 };
    (void)state;
    ks_buf_init(&text);
    ks_buf_printf(&text, ".intel_syntax noprefix\n.text\n");
    for (size_t i = 0; i < n_rows; i++)
        ks_buf_printf(&text, "%s\n", instruction[i].text);
    if (!compile("gcc", "s", ks_buf_text(&text), &object)) {
        ks_buf_release(&text);
        print_message("no gcc, whose assembler is needed\n");
        skip();
    }
    assert_int_equal(ks_object_open(object.data, object.len, &o, &err), 0);
    size_t n = 0;
    for (uint32_t k = 0; k < o.head.e_shnum; k++) {
        Elf64_Shdr s;
        Elf64_Rela r;
        assert_int_equal(ks_object_section(&o, k, &s, &err), 0);
        if (s.sh_type != SHT_RELA)
            continue;
        assert_int_equal(ks_object_section(&o, s.sh_info, &code, &err), 0);
        for (; ks_object_rela(&o, &s, n, &r, &err) == 0; n++) {
            struct ks_operand what = { 0 };
            const bool is_answered = ks_operand_at(object.data + code.sh_offset, r.r_offset, &what);
            assert_true(n < n_rows);
            if (is_answered != (instruction[n].n_bytes > 0) ||
                what.n_bytes != instruction[n].n_bytes ||
                what.n_immediate != instruction[n].n_immediate)
                fail_msg("'%s': %u bytes, %u immediate", instruction[n].text, what.n_bytes,
                         what.n_immediate);
            for (size_t cut = 0; cut < 4; cut++) /* nothing before the beginning is looked at */
                assert_false(
                    ks_operand_at(object.data + code.sh_offset + r.r_offset - cut, cut, &what));
        }
    }
    assert_int_equal(n, n_rows);
    ks_buf_release(&text);
    ks_buf_release(&object);
}

static void test_written_data_is_never_equal(void **state)
{
    static const char *const names[] = { "count",      "read_written", "read_common",
                                         "read_local", "calls_count",  "e_written" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!ks_id128_is_zero(id_of(*state, names[i])))
            fail_msg("%s has an identity", names[i]);
}

static void test_refused(void **state)
{
    static const struct {
        const char *symbol;
        int code;
    } row[] = { { "no_such", KS_ENOENT }, { "out1", KS_ENOENT }, { "no_code", KS_EFORMAT } };
    const struct object *o = *state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct ks_err err;
        struct ks_id128 id = { 1, 2 };
        uint64_t n_code = 0;
        assert_int_equal(ks_code_id(o->bytes.data, o->bytes.len, row[i].symbol, &id, &n_code, &err),
                         row[i].code);
        assert_non_null(strstr(err.text, row[i].symbol));
        assert_true(id.hi == 1 && id.lo == 2);
    }
}

/* Every truncation, and every byte of the headers changed, is refused or harmless. */
static void test_damaged_objects(void **state)
{
    const struct object *o = *state;
    uint32_t n_refused = 0;
    uint64_t n_code;
    struct ks_id128 id;
    struct ks_err err;
    for (size_t n = 0; n < o->bytes.len; n += n < 256 ? 1 : 97) {
        uint8_t *part = malloc(n ? n : 1); /* its own block, so that a sanitizer sees its end */
        assert_non_null(part);
        memcpy(part, o->bytes.data, n);
        n_refused += ks_code_id(part, n, "e1", &id, &n_code, &err) < 0;
        free(part);
    }
    assert_true(n_refused > 256);
    uint8_t *copy = malloc(o->bytes.len);
    assert_non_null(copy);
    for (size_t i = 0; i < 64; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, o->bytes.data, o->bytes.len);
            copy[i] = (uint8_t)(copy[i] ^ (1u << bit));
            (void)ks_code_id(copy, o->bytes.len, "e1", &id, &n_code, &err);
        }
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_and_different),
        cmocka_unit_test(test_company),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_written_data_is_never_equal),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged_objects),
    };
    return cmocka_run_group_tests_name("codeid", tests, setup, teardown);
}
