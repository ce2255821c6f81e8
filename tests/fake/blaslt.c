/* SPDX-License-Identifier: MIT */
/* blaslt.c - a stub of cuBLASLt and hipBLASLt */
/* A stub of cuBLASLt or hipBLASLt: -DPREFIX=hipblasLt -DALGORITHM=24. It refuses what the library
 * would not understand, appends each product to $KSWEEP_FAKE_BLASLT, and computes nothing: it fills
 * the output on the stream (with the fake HIP runtime), so that the device has something to time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)
#define CALL(name)   PASTE(PREFIX, name)

extern int hipMemsetD32Async(void *dst, unsigned pattern, size_t n, void *stream);

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t ld;
};
struct desc {
    int compute, scale, op[8];
};
struct result {
    uint8_t algorithm[ALGORITHM];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

int CALL(Create)(void **handle)
{
    return (*handle = calloc(1, 1)) == NULL;
}

int CALL(Destroy)(void *handle)
{
    free(handle);
    return 0;
}

int CALL(MatmulDescCreate)(void **out, int compute, int scale)
{
    struct desc *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return 1;
    *d = (struct desc){ .compute = compute, .scale = scale };
    *out = d;
    return 0;
}

int CALL(MatmulDescSetAttribute)(void *desc, int attribute, const void *value, size_t n)
{
    struct desc *d = desc;

    if (attribute < 0 || attribute >= 8 || n != sizeof(int))
        return 7;
    memcpy(&d->op[attribute], value, n);
    return 0;
}

int CALL(MatrixLayoutCreate)(void **out, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    struct layout *l = calloc(1, sizeof(*l));

    if (l == NULL || ld < (int64_t)rows)
        return 7;
    *l = (struct layout){ type, rows, columns, ld };
    *out = l;
    return 0;
}

int CALL(MatmulPreferenceCreate)(void **out)
{
    return (*out = calloc(1, 1)) == NULL;
}

int CALL(MatmulPreferenceSetAttribute)(void *pref, int attribute, const void *value, size_t n)
{
    return pref == NULL || value == NULL || attribute != 1 || n != 8 ? 7 : 0;
}

#define DESTROY(name)                                                                              \
    int CALL(name)(void *what)                                                                     \
    {                                                                                              \
        free(what);                                                                                \
        return 0;                                                                                  \
    }
DESTROY(MatmulDescDestroy)
DESTROY(MatrixLayoutDestroy)
DESTROY(MatmulPreferenceDestroy)

int CALL(MatmulAlgoGetHeuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                 void *pref, int n_wanted, void *results, int *n_out)
{
    struct result *r = results;

    if (!handle || !desc || !a || !b || !c || !d || !pref || n_wanted < 2)
        return 7;
    for (int i = 0; i < 2; i++) {
        memset(&r[i], 0, sizeof(r[i]));
        memset(r[i].algorithm, 'x' + i, sizeof(r[i].algorithm));
    }
    *n_out = 2;
    return 0;
}

int CALL(Matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                 const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                 void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
                 void *stream)
{
    const struct layout *x = a_layout, *y = b_layout, *z = d_layout;
    const char *path = getenv("KSWEEP_FAKE_BLASLT");
    const struct desc *what = desc;
    FILE *log = path != NULL ? fopen(path, "a") : NULL;

    if (log != NULL) {
        fprintf(log, "compute %d scale %d ops", what->compute, what->scale);
        for (int i = 0; i < 8; i++)
            if (what->op[i] != 0)
                fprintf(log, " %d=%d", i, what->op[i]);
        fprintf(log, " types %d %d %d: %dx%d %dx%d %dx%d algorithm %c\n", x->type, y->type, z->type,
                (int)x->rows, (int)x->columns, (int)y->rows, (int)y->columns, (int)z->rows,
                (int)z->columns, *(const char *)algorithm);
        fclose(log);
    }
    if (!handle || *(const float *)alpha != 1.0f || *(const float *)beta != 0.0f || a == b ||
        c != d || c_layout != d_layout || !workspace || bytes == 0)
        return 7;
    return hipMemsetD32Async(d, 0, z->rows * z->columns / 2, stream);
}
