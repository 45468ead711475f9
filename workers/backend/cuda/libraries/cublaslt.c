/* SPDX-License-Identifier: MIT */

/*
 * Its matrices go column by column: there our rows are columns, and what is asked for is the
 * transpose, [n][m] = weight [n][k] * rows^T [k][m], so that the bias is one number a row.
 *
 * Results are the same each time, and on each card of a model: the way is the first that the
 * library's heuristics name, which look at shapes and the card and time nothing; ways that split k
 * among blocks are masked out, since their parts may be added in any order; and the scratch is the
 * op's own.
 *
 * The few declarations that are needed are written down here: to build, nobody needs its header.
 */

#include "backend/cuda/libraries/cublaslt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/libraries/entries.h"
#include "backend/cuda/libraries/library.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "cuda"

/* What is multiplied in more shapes than these is left to our own kernels. */
#define WAYS_MAX 512

/* Ways that are asked for: those that need too much scratch come among the others. */
#define ASKED_FOR 8

/* cuBLASLt's own, of its stable interface. */
enum { R_32F = 0, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77 };
enum { STATUS_ALLOC_FAILED = 3 };
enum { OP_T = 1 };
enum { EPILOGUE_DEFAULT = 1, EPILOGUE_BIAS = 4 };
enum { DESC_TRANSA = 3, DESC_EPILOGUE = 7, DESC_BIAS_POINTER = 8 };
enum {
    PREF_MAX_WORKSPACE_BYTES = 1,
    PREF_REDUCTION_SCHEME_MASK = 3,
    PREF_MIN_ALIGNMENT_A_BYTES = 5,
    PREF_MIN_ALIGNMENT_B_BYTES,
    PREF_MIN_ALIGNMENT_C_BYTES,
    PREF_MIN_ALIGNMENT_D_BYTES,
};
#define REDUCTION_SCHEME_NONE 0u    /* cublasLt.h: sums are split nowhere */

struct handle;
struct matmul;
struct layout;
struct preference;

struct algorithm {
    uint64_t data[8];
};

struct heuristic {
    struct algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

/* Of the library. All return 0, or what went wrong, but for those that tell something. */
struct interface {
    size_t (*version)(void);
    const char *(*status_string)(int status);
    int (*create)(struct handle **ret_handle);
    int (*destroy)(struct handle *handle);
    int (*matmul_create)(struct matmul **ret_matmul, int compute, int scale);
    int (*matmul_destroy)(struct matmul *matmul);
    int (*matmul_set)(struct matmul *matmul, int attribute, const void *value, size_t size);
    int (*layout_create)(struct layout **ret_layout, int type, uint64_t rows, uint64_t columns,
                         int64_t stride);
    int (*layout_destroy)(struct layout *layout);
    int (*preference_create)(struct preference **ret_preference);
    int (*preference_destroy)(struct preference *preference);
    int (*preference_set)(struct preference *preference, int attribute, const void *value,
                          size_t size);
    int (*ask)(struct handle *handle, struct matmul *matmul, struct layout *a, struct layout *b,
               struct layout *c, struct layout *d, struct preference *preference, int n_wanted,
               struct heuristic *ret_found, int *ret_n_found);
    int (*run)(struct handle *handle, struct matmul *matmul, const void *alpha, const void *a,
               struct layout *a_layout, const void *b, struct layout *b_layout, const void *beta,
               const void *c, struct layout *c_layout, void *d, struct layout *d_layout,
               const struct algorithm *algorithm, void *workspace, size_t workspace_bytes,
               cudaStream_t stream);
};

#define ENTRY(name, member) VRT_CUDA_ENTRY(struct interface, name, member)

static const struct vrt_cuda_entry entries[] = {
    ENTRY("cublasLtGetVersion", version),
    ENTRY("cublasLtGetStatusString", status_string),
    ENTRY("cublasLtCreate", create),
    ENTRY("cublasLtDestroy", destroy),
    ENTRY("cublasLtMatmulDescCreate", matmul_create),
    ENTRY("cublasLtMatmulDescDestroy", matmul_destroy),
    ENTRY("cublasLtMatmulDescSetAttribute", matmul_set),
    ENTRY("cublasLtMatrixLayoutCreate", layout_create),
    ENTRY("cublasLtMatrixLayoutDestroy", layout_destroy),
    ENTRY("cublasLtMatmulPreferenceCreate", preference_create),
    ENTRY("cublasLtMatmulPreferenceDestroy", preference_destroy),
    ENTRY("cublasLtMatmulPreferenceSetAttribute", preference_set),
    ENTRY("cublasLtMatmulAlgoGetHeuristic", ask),
    ENTRY("cublasLtMatmul", run),
};

struct vrt_cuda_rows_way {
    struct vrt_cuda_rows rows;
    struct matmul *matmul;
    struct layout *weight, *x, *residual, *out;     /* residual: out's, where there is none */
    struct algorithm algorithm;
    bool is_possible;
};

struct vrt_cuda_cublaslt {
    struct interface lib;
    struct handle *handle;
    struct vrt_cuda_rows_way *ways[WAYS_MAX];
    size_t n_ways;
    bool has_told;                  /* that there is something that it can't do */
};

int vrt_cuda_cublaslt_version(const char *library, int *ret_version, struct vrt_error *error)
{
    struct interface lib;
    int r = vrt_cuda_entries_load(library, entries, VRT_ARRAY_SIZE(entries), &lib, error);

    if (r < 0)
        return r;
    *ret_version = (int)lib.version();
    return 0;
}

int vrt_cuda_cublaslt_open(const char *library, struct vrt_cuda_cublaslt **ret_cublaslt,
                           struct vrt_error *error)
{
    VRT_CLEANUP(vrt_cuda_cublaslt_closep) struct vrt_cuda_cublaslt *lt = calloc(1, sizeof(*lt));
    int r;

    if (!lt)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), library);
    r = vrt_cuda_entries_load(library, entries, VRT_ARRAY_SIZE(entries), &lt->lib, error);
    if (r < 0)
        return r;
    /* Of the current device. */
    r = lt->lib.create(&lt->handle);
    if (r != 0) {
        lt->handle = NULL;
        return vrt_refuse(error, -EIO, "device.failed", "%s doesn't start: %s", library,
                          lt->lib.status_string(r));
    }
    *ret_cublaslt = VRT_STEAL(lt);
    return 0;
}

static struct vrt_cuda_rows_way *way_free(const struct interface *lib,
                                          struct vrt_cuda_rows_way *way)
{
    struct layout *layouts[] = { way->weight, way->x, way->residual, way->out };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(layouts); i++)
        if (layouts[i])
            lib->layout_destroy(layouts[i]);
    if (way->matmul)
        lib->matmul_destroy(way->matmul);
    free(way);
    return NULL;
}

struct vrt_cuda_cublaslt *vrt_cuda_cublaslt_close(struct vrt_cuda_cublaslt *lt)
{
    if (!lt)
        return NULL;
    for (size_t i = 0; i < lt->n_ways; i++)
        way_free(&lt->lib, lt->ways[i]);
    if (lt->handle)
        lt->lib.destroy(lt->handle);
    free(lt);
    return NULL;
}

bool vrt_cuda_cublaslt_is_crowded(const struct vrt_cuda_cublaslt *lt)
{
    return lt && lt->n_ways > WAYS_MAX / 2;
}

static int type_of(int64_t dtype)
{
    return dtype == VRT_DTYPE_F32 ? R_32F : dtype == VRT_DTYPE_F16 ? R_16F : R_16BF;
}

/* Return: 0, or the library's status. */
static int describe(const struct interface *lib, struct vrt_cuda_rows_way *way, const float *bias)
{
    const struct vrt_cuda_rows *rows = &way->rows;
    const int compute = rows->dtype == VRT_DTYPE_F32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
    const int32_t transposed = OP_T;
    const uint32_t epilogue = rows->has_bias ? EPILOGUE_BIAS : EPILOGUE_DEFAULT;
    const uint64_t m = (uint64_t)rows->m, n = (uint64_t)rows->n, k = (uint64_t)rows->k;
    const int in = type_of(rows->dtype), out = type_of(rows->out_dtype);
    int r = lib->matmul_create(&way->matmul, compute, R_32F);

    if (r != 0)
        return r;
    r = lib->matmul_set(way->matmul, DESC_TRANSA, &transposed, sizeof(transposed));
    if (r != 0)
        return r;
    r = lib->matmul_set(way->matmul, DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    if (r != 0)
        return r;
    if (rows->has_bias)
        r = lib->matmul_set(way->matmul, DESC_BIAS_POINTER, &bias, sizeof(bias));
    if (r != 0)
        return r;
    r = lib->layout_create(&way->weight, in, k, n, rows->weight_stride);
    if (r != 0)
        return r;
    r = lib->layout_create(&way->x, in, k, m, rows->row_stride);
    if (r != 0)
        return r;
    r = lib->layout_create(&way->residual, out, n, m,
                           rows->has_residual ? rows->residual_stride : rows->out_stride);
    return r != 0 ? r : lib->layout_create(&way->out, out, n, m, rows->out_stride);
}

/* Return: 0, or the library's status. */
static int limit(const struct interface *lib, const struct vrt_cuda_rows *rows,
                 struct preference *preference)
{
    const uint64_t scratch = VRT_CUDA_LIBRARY_SCRATCH_BYTES;
    const uint32_t mask = REDUCTION_SCHEME_NONE;
    const struct {
        int attribute;
        int64_t bytes;
    } aligns[] = {
        { PREF_MIN_ALIGNMENT_A_BYTES, rows->weight_align },
        { PREF_MIN_ALIGNMENT_B_BYTES, rows->row_align },
        { PREF_MIN_ALIGNMENT_C_BYTES,
          rows->has_residual ? rows->residual_align : rows->out_align },
        { PREF_MIN_ALIGNMENT_D_BYTES, rows->out_align },
    };
    int r = lib->preference_set(preference, PREF_MAX_WORKSPACE_BYTES, &scratch, sizeof(scratch));

    if (r != 0)
        return r;
    r = lib->preference_set(preference, PREF_REDUCTION_SCHEME_MASK, &mask, sizeof(mask));
    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(aligns); i++) {
        const uint32_t bytes = (uint32_t)aligns[i].bytes;
        r = lib->preference_set(preference, aligns[i].attribute, &bytes, sizeof(bytes));
    }
    return r;
}

/* Return: 0, or the library's status; the way is possible, or not. */
static int choose(const struct vrt_cuda_cublaslt *lt, struct vrt_cuda_rows_way *way)
{
    struct heuristic found[ASKED_FOR];
    struct preference *preference = NULL;
    int n_found = 0, r = lt->lib.preference_create(&preference);

    if (r == 0)
        r = limit(&lt->lib, &way->rows, preference);
    if (r == 0)
        r = lt->lib.ask(lt->handle, way->matmul, way->weight, way->x, way->residual, way->out,
                        preference, ASKED_FOR, found, &n_found);
    if (preference)
        lt->lib.preference_destroy(preference);
    for (int i = 0; r == 0 && !way->is_possible && i < VRT_MIN(n_found, ASKED_FOR); i++)
        if (found[i].state == 0 && found[i].workspace_bytes <= VRT_CUDA_LIBRARY_SCRATCH_BYTES) {
            way->algorithm = found[i].algorithm;
            way->is_possible = true;
        }
    return r;
}

/* Says so once: the first is enough to know where to look. */
static void tell(struct vrt_cuda_cublaslt *lt, const struct vrt_cuda_rows *rows, int r)
{
    if (!lt->has_told)
        vrt_log_info("some linear layers stay with vrtd's own kernels, such as %lld to %lld "
                     "channels: cuBLASLt says: %s", (long long)rows->k, (long long)rows->n,
                     r != 0 ? lt->lib.status_string(r) : "no way fits");
    lt->has_told = true;
}

int vrt_cuda_cublaslt_find(struct vrt_cuda_cublaslt *lt, const struct vrt_cuda_rows *rows,
                           const float *bias, const struct vrt_cuda_rows_way **ret_way)
{
    struct vrt_cuda_rows_way *way;
    int r;

    *ret_way = NULL;
    for (size_t i = 0; i < lt->n_ways; i++)
        if (memcmp(&lt->ways[i]->rows, rows, sizeof(*rows)) == 0) {
            *ret_way = lt->ways[i]->is_possible ? lt->ways[i] : NULL;
            return 0;
        }
    if (lt->n_ways == WAYS_MAX)
        return 0;
    way = calloc(1, sizeof(*way));
    if (!way)
        return (int)cudaErrorMemoryAllocation;
    way->rows = *rows;
    r = describe(&lt->lib, way, bias);
    if (r == 0)
        r = choose(lt, way);
    if (r == STATUS_ALLOC_FAILED) {
        way_free(&lt->lib, way);
        return (int)cudaErrorMemoryAllocation;
    }
    lt->ways[lt->n_ways++] = way;
    if (way->is_possible)
        *ret_way = way;
    else
        tell(lt, rows, r);
    return 0;
}

int vrt_cuda_cublaslt_run(struct vrt_cuda_cublaslt *lt, const struct vrt_cuda_rows_way *way,
                          const struct vrt_cuda_rows_data *data, cudaStream_t stream)
{
    const float one = 1, beta = way->rows.has_residual ? 1 : 0;
    const void *c = way->rows.has_residual ? data->residual : data->out;
    int r = 0;

    if (way->rows.has_bias)
        r = lt->lib.matmul_set(way->matmul, DESC_BIAS_POINTER, &data->bias, sizeof(data->bias));
    if (r == 0)
        r = lt->lib.run(lt->handle, way->matmul, &one, data->weight, way->weight, data->rows,
                        way->x, &beta, c, way->residual, data->out, way->out, &way->algorithm,
                        data->scratch, VRT_CUDA_LIBRARY_SCRATCH_BYTES, stream);
    if (r == 0)
        return 0;
    vrt_log_warning("cuBLASLt failed: %s", lt->lib.status_string(r));
    return r == STATUS_ALLOC_FAILED ? (int)cudaErrorMemoryAllocation : -EIO;
}
