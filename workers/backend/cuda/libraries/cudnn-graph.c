/* SPDX-License-Identifier: MIT */

/*
 * A convolution as a graph of cuDNN's: the sums, and what becomes of them, one step each
 *
 *     sums -> + bias -> x < 0 ? slope * x : x -> * scale -> + residual
 *
 * Steps in between are virtual tensors of f32, which stay in registers where one kernel does all of
 * it, and that is what is asked for: no pass over memory is added. An activation isn't cuDNN's own
 * ReLU but a comparison and a choice: what is no number stays none, as with our own kernels, and is
 * seen at the end of a network that overflowed. (ReLU is the slope 0: there minus infinity becomes
 * none, and 0 with ours.)
 *
 * Results are the same each time, and on each card of a model: the plan is the first that the
 * library's heuristics name which is made without error, that need no measurement. Left out are
 * engines that add in any order, and those that compute less exactly: with fewer bits, or by other
 * transforms.
 */

#include <string.h>

#include "backend/cuda/libraries/cudnn-impl.h"
#include "backend/cuda/libraries/library.h"
#include "base/macro.h"

/* cuDNN's own, of its stable interface. */
enum { DATA_FLOAT = 0, DATA_HALF = 2, DATA_BFLOAT16 = 9, DATA_BOOLEAN = 11 };
enum { MODE_ADD = 0, MODE_MUL = 1, MODE_CMP_LT = 304, MODE_SELECT = 601 };
enum { CROSS_CORRELATION = 1 };
enum { HEURISTICS_A = 3 };

/* Numerical notes of engines that aren't taken: inputs of fewer bits, sums of fewer bits, FFT, sums
 * in any order, Winograd's. */
#define NOTE_BITS_REFUSED (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5)

/* Configurations that are asked for, and notes of one. */
#define CONFIGS_MAX 8
#define NOTES_MAX 32

#define PARAM_ALIGN 256
#define NUMBER_ALIGN 4

/* n, c, h, w, as cuDNN has them wherever channels are. */
struct extents {
    int64_t dims[4], strides[4];
};

/* What is being built. After a failure nothing more is done. */
struct graph {
    const struct vrt_cudnn_interface *lib;
    struct vrt_cuda_conv_way *way;
    const struct vrt_cuda_conv *conv;
    struct extents places;          /* of what is computed at each place, without gaps */
    size_t n_steps;                 /* to come: the last one writes the output */
    int64_t next_id;                /* of a virtual tensor */
    bool is_whole;                  /* all operations are there */
    int status;
};

struct tensor {
    int64_t id;
    int type;
    int64_t align;
    bool is_virtual, is_by_value;
};

#define ONE(name, type, pointer) { name, type, 1, pointer }
#define DESCRIPTOR(name, pointer) { name, VRT_CUDNN_IS_DESCRIPTOR, 1, pointer }

int vrt_cudnn_make(const struct vrt_cudnn_interface *lib, int kind,
                   const struct vrt_cudnn_attribute *attributes, size_t n_attributes,
                   void **ret_descriptor)
{
    void *descriptor = NULL;
    int r = lib->descriptor_create(kind, &descriptor);

    for (size_t i = 0; !r && i < n_attributes; i++)
        if (attributes[i].n > 0)
            r = lib->set(descriptor, attributes[i].name, attributes[i].type, attributes[i].n,
                         attributes[i].values);
    if (!r)
        r = lib->finalize(descriptor);
    if (!r)
        *ret_descriptor = descriptor;
    else if (descriptor)
        lib->descriptor_destroy(descriptor);
    return r;
}

/* Adds something to the sum of what is asked for. */
static void add_up(struct vrt_cuda_conv_way *way, const void *data, size_t size_bytes)
{
    const uint64_t both[] = { way->asked, vrt_cache_hash(data, size_bytes) };

    way->asked = vrt_cache_hash(both, sizeof(both));
}

static size_t size_of(int type)
{
    return type == VRT_CUDNN_IS_INT64 ? sizeof(int64_t) : type == VRT_CUDNN_IS_BOOLEAN ?
                                        sizeof(bool) : sizeof(int);
}

/* Adds up how one of the way's descriptors is made: of other ones by their number, for addresses
 * are others in the next run. */
static void add_up_descriptor(struct vrt_cuda_conv_way *way, int kind,
                              const struct vrt_cudnn_attribute *attributes, size_t n_attributes)
{
    add_up(way, &kind, sizeof(kind));
    for (size_t i = 0; i < n_attributes; i++) {
        const struct vrt_cudnn_attribute *a = &attributes[i];
        const int64_t what[] = { a->name, a->type, a->n };

        add_up(way, what, sizeof(what));
        if (a->type != VRT_CUDNN_IS_DESCRIPTOR)
            add_up(way, a->values, (size_t)a->n * size_of(a->type));
        for (size_t k = 0; k < way->n_made && a->type == VRT_CUDNN_IS_DESCRIPTOR && a->n; k++)
            if (way->made[k] == *(void *const *)a->values)
                add_up(way, &k, sizeof(k));
    }
}

/* One that is the way's. Return: NULL after a failure. */
static void *make(struct graph *g, int kind, const struct vrt_cudnn_attribute *attributes,
                  size_t n_attributes)
{
    void *descriptor = NULL;

    if (g->status)
        return NULL;
    vrt_assert(g->way->n_made < VRT_CUDNN_DESCRIPTORS_MAX);
    if (!g->is_whole)
        add_up_descriptor(g->way, kind, attributes, n_attributes);
    g->status = vrt_cudnn_make(g->lib, kind, attributes, n_attributes, &descriptor);
    if (!g->status)
        g->way->made[g->way->n_made++] = descriptor;
    return descriptor;
}

static int type_of(int64_t dtype)
{
    return dtype == VRT_DTYPE_F32 ? DATA_FLOAT : dtype == VRT_DTYPE_F16 ? DATA_HALF :
                                                                          DATA_BFLOAT16;
}

static void *make_tensor(struct graph *g, const struct tensor *tensor,
                         const struct extents *extents)
{
    const struct vrt_cudnn_attribute attributes[] = {
        ONE(VRT_CUDNN_TENSOR_ID, VRT_CUDNN_IS_INT64, &tensor->id),
        ONE(VRT_CUDNN_TENSOR_TYPE, VRT_CUDNN_IS_DATA_TYPE, &tensor->type),
        ONE(VRT_CUDNN_TENSOR_ALIGNMENT, VRT_CUDNN_IS_INT64, &tensor->align),
        { VRT_CUDNN_TENSOR_DIMENSIONS, VRT_CUDNN_IS_INT64, 4, extents->dims },
        { VRT_CUDNN_TENSOR_STRIDES, VRT_CUDNN_IS_INT64, 4, extents->strides },
        ONE(VRT_CUDNN_TENSOR_IS_VIRTUAL, VRT_CUDNN_IS_BOOLEAN, &tensor->is_virtual),
        ONE(VRT_CUDNN_TENSOR_IS_BY_VALUE, VRT_CUDNN_IS_BOOLEAN, &tensor->is_by_value),
    };

    return make(g, VRT_CUDNN_TENSOR, attributes, VRT_ARRAY_SIZE(attributes));
}

/* A tensor [D,H,W,channels] in memory. */
static void *make_places(struct graph *g, int64_t id, const struct vrt_cuda_conv_tensor *t,
                         int64_t channels)
{
    const struct tensor tensor = { .id = id, .type = type_of(t->dtype), .align = t->align };
    const struct extents extents = {
        { g->conv->d, channels, g->conv->h, g->conv->w },
        { t->stride_d, 1, t->stride_h, t->stride_w },
    };

    return make_tensor(g, &tensor, &extents);
}

/* A param of f32, one number a channel. */
static void *make_vector(struct graph *g, int64_t id)
{
    const int64_t n = g->conv->n_out;
    const struct tensor tensor = { .id = id, .type = DATA_FLOAT, .align = PARAM_ALIGN };

    return make_tensor(g, &tensor, &(struct extents){ { 1, n, 1, 1 }, { n, 1, n, n } });
}

/* A number that is handed over with each call. */
static void *make_number(struct graph *g, int64_t id)
{
    const struct tensor tensor = {
        .id = id, .type = DATA_FLOAT, .align = NUMBER_ALIGN, .is_by_value = true,
    };

    return make_tensor(g, &tensor, &(struct extents){ { 1, 1, 1, 1 }, { 1, 1, 1, 1 } });
}

static void *make_virtual(struct graph *g, int type)
{
    const struct tensor tensor = {
        .id = g->next_id++, .type = type, .align = PARAM_ALIGN, .is_virtual = true,
    };

    return make_tensor(g, &tensor, &g->places);
}

/* What the next step computes: the output, if it is the last. */
static void *make_result(struct graph *g)
{
    return --g->n_steps == 0 ? make_places(g, VRT_CUDNN_ID_OUT, &g->conv->out, g->conv->n_out) :
                               make_virtual(g, DATA_FLOAT);
}

static void add_operation(struct graph *g, int kind, const struct vrt_cudnn_attribute *attributes,
                          size_t n_attributes)
{
    void *operation = make(g, kind, attributes, n_attributes);

    vrt_assert(g->way->n_operations < VRT_CUDNN_OPERATIONS_MAX);
    g->way->operations[g->way->n_operations++] = operation;
}

/* Return: the sums. */
static void *add_convolution(struct graph *g)
{
    const struct vrt_cuda_conv *conv = g->conv;
    const int precision = DATA_FLOAT, mode = CROSS_CORRELATION;
    const int64_t k = conv->kernel, i = conv->n_in, n_dimensions = 2;
    const int64_t paddings[] = { k / 2, k / 2 }, ones[] = { 1, 1 };
    const struct vrt_cudnn_attribute how[] = {
        ONE(VRT_CUDNN_CONVOLUTION_PRECISION, VRT_CUDNN_IS_DATA_TYPE, &precision),
        ONE(VRT_CUDNN_CONVOLUTION_MODE, VRT_CUDNN_IS_CONVOLUTION_MODE, &mode),
        ONE(VRT_CUDNN_CONVOLUTION_DIMENSIONS, VRT_CUDNN_IS_INT64, &n_dimensions),
        { VRT_CUDNN_CONVOLUTION_DILATIONS, VRT_CUDNN_IS_INT64, 2, ones },
        { VRT_CUDNN_CONVOLUTION_STRIDES, VRT_CUDNN_IS_INT64, 2, ones },
        { VRT_CUDNN_CONVOLUTION_PRE_PADDINGS, VRT_CUDNN_IS_INT64, 2, paddings },
        { VRT_CUDNN_CONVOLUTION_POST_PADDINGS, VRT_CUDNN_IS_INT64, 2, paddings },
    };
    const struct tensor filter = {
        .id = VRT_CUDNN_ID_WEIGHT, .type = type_of(conv->x.dtype), .align = PARAM_ALIGN,
    };
    const struct extents taps = { { conv->n_out, i, k, k }, { k * k * i, 1, k * i, i } };
    const float one = 1, zero = 0;
    void *const convolution = make(g, VRT_CUDNN_CONVOLUTION, how, VRT_ARRAY_SIZE(how));
    void *const x = make_places(g, VRT_CUDNN_ID_X, &conv->x, i);
    void *const weight = make_tensor(g, &filter, &taps), *const y = make_result(g);
    const struct vrt_cudnn_attribute operation[] = {
        DESCRIPTOR(VRT_CUDNN_FORWARD_CONVOLUTION, &convolution),
        DESCRIPTOR(VRT_CUDNN_FORWARD_X, &x),
        DESCRIPTOR(VRT_CUDNN_FORWARD_W, &weight),
        DESCRIPTOR(VRT_CUDNN_FORWARD_Y, &y),
        ONE(VRT_CUDNN_FORWARD_ALPHA, VRT_CUDNN_IS_FLOAT, &one),
        ONE(VRT_CUDNN_FORWARD_BETA, VRT_CUDNN_IS_FLOAT, &zero),
    };

    add_operation(g, VRT_CUDNN_OPERATION_CONVOLUTION, operation, VRT_ARRAY_SIZE(operation));
    return y;
}

/* y = x and b by `mode`, or, with t, t ? x : b. */
struct step {
    int mode;
    void *x, *b, *t, *y;
};

/* Return: y. */
static void *add_step(struct graph *g, struct step step)
{
    const int precision = DATA_FLOAT;
    const struct vrt_cudnn_attribute how[] = {
        ONE(VRT_CUDNN_POINTWISE_MODE, VRT_CUDNN_IS_POINTWISE_MODE, &step.mode),
        ONE(VRT_CUDNN_POINTWISE_PRECISION, VRT_CUDNN_IS_DATA_TYPE, &precision),
    };
    void *const pointwise = make(g, VRT_CUDNN_POINTWISE, how, VRT_ARRAY_SIZE(how));
    const struct vrt_cudnn_attribute operation[] = {
        DESCRIPTOR(VRT_CUDNN_OPERATION_POINTWISE_HOW, &pointwise),
        DESCRIPTOR(VRT_CUDNN_OPERATION_POINTWISE_X, &step.x),
        DESCRIPTOR(VRT_CUDNN_OPERATION_POINTWISE_B, &step.b),
        { VRT_CUDNN_OPERATION_POINTWISE_T, VRT_CUDNN_IS_DESCRIPTOR, step.t ? 1 : 0, &step.t },
        DESCRIPTOR(VRT_CUDNN_OPERATION_POINTWISE_Y, &step.y),
    };

    add_operation(g, VRT_CUDNN_OPERATION_POINTWISE, operation, VRT_ARRAY_SIZE(operation));
    return step.y;
}

/* Where x isn't below zero it stays, what is no number included. */
static void *add_activation(struct graph *g, void *x)
{
    void *const slope = g->conv->has_slopes ? make_vector(g, VRT_CUDNN_ID_SLOPE) :
                                              make_number(g, VRT_CUDNN_ID_SLOPE);
    void *const zero = make_number(g, VRT_CUDNN_ID_ZERO);
    void *const below = add_step(g, (struct step){ MODE_MUL, x, slope, NULL,
                                                   make_virtual(g, DATA_FLOAT) });
    void *const is_below = add_step(g, (struct step){ MODE_CMP_LT, x, zero, NULL,
                                                      make_virtual(g, DATA_BOOLEAN) });

    return add_step(g, (struct step){ MODE_SELECT, below, x, is_below, make_result(g) });
}

static void add_all(struct graph *g)
{
    const struct vrt_cuda_conv *conv = g->conv;
    const bool is_activated = conv->has_slope || conv->has_slopes;
    void *x;

    g->n_steps = 1 + (size_t)(conv->has_bias + is_activated + conv->has_scale +
                              conv->has_residual);
    x = add_convolution(g);
    if (conv->has_bias)
        x = add_step(g, (struct step){ MODE_ADD, x, make_vector(g, VRT_CUDNN_ID_BIAS), NULL,
                                       make_result(g) });
    if (is_activated)
        x = add_activation(g, x);
    if (conv->has_scale)
        x = add_step(g, (struct step){ MODE_MUL, x, make_number(g, VRT_CUDNN_ID_SCALE), NULL,
                                       make_result(g) });
    if (conv->has_residual)
        add_step(g, (struct step){ MODE_ADD, x,
                                   make_places(g, VRT_CUDNN_ID_RESIDUAL, &conv->residual,
                                               conv->n_out), NULL, make_result(g) });
}

/* Whether the engine of a configuration is one that is taken. */
static bool is_exact(const struct vrt_cudnn_interface *lib, void *config)
{
    int notes[NOTES_MAX];
    void *engine = NULL;
    int64_t n = 0;
    unsigned bits = 0;
    int r = lib->descriptor_create(VRT_CUDNN_ENGINE, &engine);

    if (!r)
        r = lib->get(config, VRT_CUDNN_ENGINE_CONFIG_ENGINE, VRT_CUDNN_IS_DESCRIPTOR, 1, &n,
                     &engine);
    if (!r)
        r = lib->get(engine, VRT_CUDNN_ENGINE_NUMERICAL_NOTES, VRT_CUDNN_IS_NUMERICAL_NOTE,
                     NOTES_MAX, &n, notes);
    for (int64_t i = 0; !r && i < VRT_MIN(n, NOTES_MAX); i++)
        if (notes[i] >= 0 && notes[i] < 32)
            bits |= 1u << notes[i];
    if (engine)
        lib->descriptor_destroy(engine);
    return !r && !(bits & NOTE_BITS_REFUSED);
}

bool vrt_cudnn_plan_fits(const struct vrt_cudnn_interface *lib, void *plan)
{
    int64_t n = 0, bytes = 0;

    return lib->get(plan, VRT_CUDNN_PLAN_WORKSPACE_SIZE, VRT_CUDNN_IS_INT64, 1, &n, &bytes) == 0 &&
           bytes >= 0 && (uint64_t)bytes <= VRT_CUDA_LIBRARY_SCRATCH_BYTES;
}

/* Makes the plan of a configuration: NULL: it can't be, or needs too much scratch. Return: 0; a
 * status that says that there is no memory for it. */
static int plan(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                void *config, void **ret_plan)
{
    const struct vrt_cudnn_attribute attributes[] = {
        ONE(VRT_CUDNN_PLAN_HANDLE, VRT_CUDNN_IS_HANDLE, &handle),
        DESCRIPTOR(VRT_CUDNN_PLAN_CONFIG, &config),
    };
    void *made = NULL;
    int r = vrt_cudnn_make(lib, VRT_CUDNN_PLAN, attributes, VRT_ARRAY_SIZE(attributes), &made);

    *ret_plan = NULL;
    if (r)
        return vrt_cudnn_is_full(r) ? r : 0;
    if (vrt_cudnn_plan_fits(lib, made))
        *ret_plan = made;
    else
        lib->descriptor_destroy(made);
    return 0;
}

/* The first configuration that is taken and can be made: which that is must not depend on how much
 * memory there is just now. */
static void choose(struct graph *g, struct vrt_cudnn_handle *handle, void *heuristics)
{
    void *configs[CONFIGS_MAX] = { NULL };
    int64_t n = 0;

    for (size_t i = 0; !g->status && i < CONFIGS_MAX; i++) {
        g->status = g->lib->descriptor_create(VRT_CUDNN_ENGINE_CONFIG, &configs[i]);
        if (!g->status)
            g->way->made[g->way->n_made++] = configs[i];
    }
    if (!g->status)
        g->status = g->lib->get(heuristics, VRT_CUDNN_HEURISTICS_RESULTS, VRT_CUDNN_IS_DESCRIPTOR,
                                CONFIGS_MAX, &n, configs);
    for (int64_t i = 0; !g->status && !g->way->plan && i < VRT_MIN(n, CONFIGS_MAX); i++)
        if (is_exact(g->lib, configs[i]))
            g->status = plan(g->lib, handle, configs[i], &g->way->plan);
}

int vrt_cudnn_describe(const struct vrt_cudnn_interface *lib, struct vrt_cuda_conv_way *way)
{
    static const int64_t rules[] = { HEURISTICS_A, NOTE_BITS_REFUSED, CONFIGS_MAX,
                                     VRT_CUDA_LIBRARY_SCRATCH_BYTES };
    const struct vrt_cuda_conv *conv = &way->conv;
    const int64_t o = conv->n_out;
    struct graph g = {
        .lib = lib,
        .way = way,
        .conv = conv,
        .places = { { conv->d, o, conv->h, conv->w },
                    { conv->h * conv->w * o, 1, conv->w * o, o } },
        .next_id = VRT_CUDNN_ID_VIRTUAL,
    };

    add_up(way, rules, sizeof(rules));
    add_all(&g);
    return g.status;
}

int vrt_cudnn_build(const struct vrt_cudnn_interface *lib, struct vrt_cudnn_handle *handle,
                    struct vrt_cuda_conv_way *way)
{
    struct graph g = { .lib = lib, .way = way, .is_whole = true };
    const struct vrt_cudnn_attribute whole[] = {
        ONE(VRT_CUDNN_GRAPH_HANDLE, VRT_CUDNN_IS_HANDLE, &handle),
        { VRT_CUDNN_GRAPH_OPERATIONS, VRT_CUDNN_IS_DESCRIPTOR, (int64_t)way->n_operations,
          way->operations },
    };
    void *const graph = make(&g, VRT_CUDNN_OPERATION_GRAPH, whole, VRT_ARRAY_SIZE(whole));
    const int mode = HEURISTICS_A;
    const struct vrt_cudnn_attribute question[] = {
        DESCRIPTOR(VRT_CUDNN_HEURISTICS_GRAPH, &graph),
        ONE(VRT_CUDNN_HEURISTICS_MODE, VRT_CUDNN_IS_HEURISTICS_MODE, &mode),
    };
    void *const heuristics = make(&g, VRT_CUDNN_HEURISTICS, question, VRT_ARRAY_SIZE(question));

    choose(&g, handle, heuristics);
    return g.status;
}
