/* SPDX-License-Identifier: MIT */

/* Weights of convolutions, reordered by oneDNN into its own layout once. */

#include <errno.h>
#include <stdlib.h>

#include "backend/cpu/conv/dnnl-private.h"

static void memoryp(dnnl_memory_t *memory)
{
    if (*memory)
        dnnl_memory_destroy(*memory);
}

static int reorder(struct vrt_dnnl *dnnl, dnnl_memory_t from, dnnl_memory_t to)
{
    VRT_CLEANUP(vrt_dnnl_descp) dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
    dnnl_status_t status;

    status = vrt_dnnl_reorder_describe(dnnl->engine, vrt_dnnl_memory_layout(from),
                                       vrt_dnnl_memory_layout(to), &desc);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&primitive, desc);
    if (status == dnnl_success)
        status = dnnl_primitive_execute(primitive, dnnl->streams[0], 2, args);
    if (status == dnnl_success)
        status = dnnl_stream_wait(dnnl->streams[0]);
    if (primitive)
        dnnl_primitive_destroy(primitive);
    return status == dnnl_success ? 0 : vrt_dnnl_raise(status, "reorder of weights");
}

static struct vrt_conv_layout *layout_free(struct vrt_conv_layout *layout)
{
    if (!layout)
        return NULL;
    if (layout->memory)
        dnnl_memory_destroy(layout->memory);
    free(layout);
    return NULL;
}

VRT_DEFINE_CLEANUP(struct vrt_conv_layout, layout_free)

/* A copy of `from` in another layout. */
static int convert(struct vrt_dnnl *dnnl, dnnl_memory_t from, const struct vrt_dnnl_layout *to,
                   struct vrt_conv_layout **ret_layout)
{
    VRT_CLEANUP(layout_freep) struct vrt_conv_layout *layout = calloc(1, sizeof(*layout));
    dnnl_status_t status;
    int r;

    if (!layout)
        return vrt_raise(-ENOMEM);
    status = vrt_dnnl_memory_new(to, dnnl->engine, DNNL_MEMORY_ALLOCATE, &layout->memory);
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "memory for weights");
    r = reorder(dnnl, from, layout->memory);
    if (r)
        return vrt_fold(r);
    *ret_layout = VRT_STEAL(layout);
    return 0;
}

int vrt_conv_weights_fill(struct vrt_conv_weights *weights, const struct vrt_param *param)
{
    struct vrt_dnnl *dnnl = weights->dnnl;
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *oihw = NULL;
    VRT_CLEANUP(memoryp) dnnl_memory_t plain = NULL;
    const dnnl_dims_t dims = { param->dims[0], param->dims[1], param->dims[2], param->dims[3] };
    dnnl_status_t status;
    int r;

    status = vrt_dnnl_layout_new(4, dims, dnnl_f32, dnnl_oihw, &oihw);
    if (status == dnnl_success)
        status = vrt_dnnl_memory_new(oihw, dnnl->engine, (void *)param->data, &plain);
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "memory for weights");
    r = convert(dnnl, plain, weights->first, &weights->layouts);
    return r ? vrt_fold(r) : 0;
}

/* Return: the one that is as wanted, or NULL. */
static struct vrt_conv_layout *find_layout(const struct vrt_conv_weights *weights,
                                           const struct vrt_dnnl_layout *want)
{
    for (struct vrt_conv_layout *layout = weights->layouts; layout; layout = layout->next)
        if (vrt_dnnl_layout_equals(want, vrt_dnnl_memory_layout(layout->memory)))
            return layout;
    return NULL;
}

static int add_layout(struct vrt_conv_weights *weights, const struct vrt_dnnl_layout *want,
                      struct vrt_conv_layout **ret_layout)
{
    struct vrt_conv_layout *layout;
    int r = convert(weights->dnnl, weights->layouts->memory, want, &layout);

    if (r)
        return vrt_fold(r);
    layout->next = weights->layouts;
    weights->layouts = layout;
    *ret_layout = layout;
    return 0;
}

/* The bytes in the layout `want`, which live as long as the weights. */
static int get_layout(struct vrt_conv_weights *weights, const struct vrt_dnnl_layout *want,
                      void **ret_data)
{
    struct vrt_conv_layout *layout;
    int r = 0;

    /* Across calls of oneDNN's, which know nothing of it: two devices may want the same layout. */
    pthread_mutex_lock(&weights->dnnl->lock);
    layout = find_layout(weights, want);
    if (!layout)
        r = add_layout(weights, want, &layout);
    if (!r)
        dnnl_memory_get_data_handle(layout->memory, ret_data);
    pthread_mutex_unlock(&weights->dnnl->lock);
    return r ? vrt_fold(r) : 0;
}

int vrt_conv_weights_fit(struct vrt_conv_weights *weights, dnnl_engine_t engine,
                         const_dnnl_primitive_desc_t desc, dnnl_memory_t *ret_memory)
{
    const struct vrt_dnnl_layout *want = vrt_dnnl_layout_of(desc, dnnl_query_weights_md, 0);
    void *data = NULL;
    dnnl_status_t status;
    int r = get_layout(weights, want, &data);

    if (r)
        return vrt_fold(r);
    status = vrt_dnnl_memory_new(want, engine, data, ret_memory);
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "handle on weights");
    return 0;
}

int vrt_conv_weights_new(struct vrt_dnnl *dnnl, const int dims[4], enum vrt_dtype dtype,
                         struct vrt_conv_weights **ret_weights)
{
    VRT_CLEANUP(vrt_conv_weights_freep) struct vrt_conv_weights *weights = NULL;
    const struct vrt_dnnl_shape shape = {
        .in_c = dims[1], .out_c = dims[0], .k = dims[2], .dtype = dtype,
    };

    weights = calloc(1, sizeof(*weights));
    if (!weights)
        return vrt_raise(-ENOMEM);
    weights->dnnl = dnnl;
    int r = vrt_dnnl_weights_layout(dnnl, &shape, &weights->first);
    if (r)
        return vrt_fold(r);
    *ret_weights = VRT_STEAL(weights);
    return 0;
}

struct vrt_conv_weights *vrt_conv_weights_free(struct vrt_conv_weights *weights)
{
    if (!weights)
        return NULL;
    while (weights->layouts) {
        struct vrt_conv_layout *layout = weights->layouts;

        weights->layouts = layout->next;
        layout_free(layout);
    }
    vrt_dnnl_layout_free(weights->first);
    free(weights);
    return NULL;
}

size_t vrt_conv_weights_bytes(const struct vrt_conv_weights *weights)
{
    return vrt_dnnl_layout_bytes(weights->first);
}

const void *vrt_conv_weights_data(const struct vrt_conv_weights *weights)
{
    const struct vrt_conv_layout *first = weights->layouts;
    void *data = NULL;

    while (first->next)
        first = first->next;
    dnnl_memory_get_data_handle(first->memory, &data);
    return data;
}
