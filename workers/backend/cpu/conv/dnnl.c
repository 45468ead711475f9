/* SPDX-License-Identifier: MIT */

/*
 * oneDNN's engine, the choice of its implementations, and weights in their layouts
 *
 * The library's own threads must never start: it asks OpenMP how many there may be in the thread
 * that creates a primitive, or in the one that executes it, so each is told "one". Which runtime
 * it was linked with is nobody's business here: the function is looked up by name. Threads are the
 * pool's alone; a convolution is called for one band of rows at a time, on one of them.
 *
 * oneDNN's own order of implementations is kept, but for what is known better here: its reference
 * loops are as good as none, save for f32, which must always work; and some must not be made
 * ("dnnl-faults.c").
 */

#include "backend/cpu/conv/dnnl-private.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"

#define VRT_LOG_TOPIC "cpu"

/* What weights are packed for before the sizes of the frames are known: a replica serves jobs of
 * all sizes. Where the layout depends on them, vrt_conv_weights_fit() converts. */
#define TYPICAL_WIDTH 640
#define TYPICAL_ROWS 8

int vrt_dnnl_raise(dnnl_status_t status, const char *what)
{
    vrt_log_debug("oneDNN: %s: status %d", what, (int)status);
    return vrt_raise(status == dnnl_out_of_memory ? -ENOMEM : -EIO);
}

dnnl_data_type_t vrt_dnnl_type(enum vrt_dtype dtype)
{
    return dtype == VRT_DTYPE_BF16 ? dnnl_bf16 : dnnl_f32;
}

void vrt_dnnl_descp(dnnl_primitive_desc_t *desc)
{
    if (*desc)
        dnnl_primitive_desc_destroy(*desc);
}

void vrt_dnnl_enter_thread(void)
{
    void (*set_num_threads)(int) = NULL;

    *(void **)&set_num_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (set_num_threads)
        set_num_threads(1);
}

static const char *name_of(const_dnnl_primitive_desc_t desc)
{
    const char *name = "";

    dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
    return name;
}

static bool is_fast(const_dnnl_primitive_desc_t desc)
{
    return strncmp(name_of(desc), "ref", 3) != 0;
}

static int make_attr(const struct vrt_dnnl_shape *shape, dnnl_primitive_attr_t *ret_attr)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t post_ops = NULL;
    dnnl_status_t status;

    status = dnnl_primitive_attr_create(&attr);
    if (status == dnnl_success)
        /* Ours, in the arena: the library would allocate it, and no plan would know. */
        status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && shape->has_activation) {
        status = dnnl_post_ops_create(&post_ops);
        if (status == dnnl_success)
            status = vrt_dnnl_append_relu(post_ops, shape->slope);
        if (status == dnnl_success)
            status = dnnl_primitive_attr_set_post_ops(attr, post_ops);
        dnnl_post_ops_destroy(post_ops);
    }
    if (status != dnnl_success) {
        dnnl_primitive_attr_destroy(attr);
        return vrt_dnnl_raise(status, "attributes");
    }
    *ret_attr = attr;
    return 0;
}

static dnnl_status_t make_offers(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *s,
                                 const struct vrt_dnnl_layout *weights, dnnl_primitive_attr_t attr,
                                 struct vrt_dnnl_offers **ret_offers)
{
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *in = NULL;
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *out = NULL;
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *bias = NULL;
    VRT_CLEANUP(vrt_dnnl_layout_freep) struct vrt_dnnl_layout *any = NULL;
    const int out_h = s->in_h + s->pad_top + s->pad_bottom - s->k + 1;
    const int out_w = s->in_w + 2 * s->pad_side - s->k + 1;
    const struct {
        struct vrt_dnnl_layout **ret_layout;
        int n_dims;
        dnnl_dims_t dims;
        enum vrt_dtype dtype;
        dnnl_format_tag_t tag;
    } parts[] = {
        { &in, 4, { 1, s->in_c, s->in_h, s->in_w }, s->dtype, dnnl_nhwc },
        { &out, 4, { 1, s->out_c, out_h, out_w }, s->out_dtype, dnnl_nhwc },
        { &bias, 1, { s->out_c }, VRT_DTYPE_F32, dnnl_a },
        { &any, 4, { s->out_c, s->in_c, s->k, s->k }, s->dtype, dnnl_format_tag_any },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(parts); i++) {
        dnnl_status_t status = vrt_dnnl_layout_new(parts[i].n_dims, parts[i].dims,
                                                   vrt_dnnl_type(parts[i].dtype), parts[i].tag,
                                                   parts[i].ret_layout);
        if (status != dnnl_success)
            return status;
    }
    const struct vrt_dnnl_convolution convolution = {
        .in = in,
        .weights = weights ? weights : any,
        .bias = s->has_bias ? bias : NULL,
        .out = out,
        .pad_first = { s->pad_top, s->pad_side },
        .pad_last = { s->pad_bottom, s->pad_side },
    };
    return vrt_dnnl_offers_new(dnnl->engine, &convolution, attr, ret_offers);
}

/*
 * Takes the first that will do of what oneDNN offers, best first by its judgement. Where the best
 * must not be made, weights in a layout of its make are no reason to take a lesser one.
 */
static int pick(struct vrt_dnnl_offers *offers, const struct vrt_dnnl_shape *shape, bool any_layout,
                dnnl_primitive_desc_t *ret_desc)
{
    VRT_CLEANUP(vrt_dnnl_descp) dnnl_primitive_desc_t best = NULL;
    const bool allow_slow = any_layout && shape->dtype == VRT_DTYPE_F32;

    do {
        VRT_CLEANUP(vrt_dnnl_descp) dnnl_primitive_desc_t desc = vrt_dnnl_offers_take(offers);

        if (!desc)
            return vrt_raise(-ENOMEM);
        if (vrt_dnnl_is_faulty(dnnl_version(), name_of(desc), shape)) {
            if (!any_layout)
                return -ENOENT;
            continue;
        }
        if (is_fast(desc) || allow_slow)
            best = VRT_STEAL(desc);
    } while (!best && vrt_dnnl_offers_next(offers));

    if (!best)
        return -ENOENT;
    *ret_desc = VRT_STEAL(best);
    return 0;
}

static int ask(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *shape,
               const struct vrt_dnnl_layout *weights, dnnl_primitive_attr_t attr,
               dnnl_primitive_desc_t *ret_desc)
{
    VRT_CLEANUP(vrt_dnnl_offers_freep) struct vrt_dnnl_offers *offers = NULL;
    dnnl_status_t status = make_offers(dnnl, shape, weights, attr, &offers);

    /* No failure, and so not raised: to ask is how one finds out. */
    if (status == dnnl_unimplemented)
        return -ENOENT;
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "implementations");
    return pick(offers, shape, !weights, ret_desc);
}

int vrt_dnnl_describe(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *shape,
                      const struct vrt_dnnl_layout *weights, dnnl_primitive_desc_t *ret_desc)
{
    /* Before 3.0 oneDNN keeps in a global what the type asked for means to blocks of channels: of
     * two devices that ask at once for f32 and bf16, the one might be told the other's. */
    static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
    dnnl_primitive_attr_t attr = NULL;
    int r = make_attr(shape, &attr);

    if (r < 0)
        return vrt_fold(r);
    pthread_mutex_lock(&asking);
    r = ask(dnnl, shape, weights, attr, ret_desc);
    pthread_mutex_unlock(&asking);
    dnnl_primitive_attr_destroy(attr);
    return r;
}

static struct vrt_dnnl_shape typical_shape(int in_c, int out_c, int k, enum vrt_dtype dtype)
{
    return (struct vrt_dnnl_shape){
        .in_c = in_c, .out_c = out_c, .k = k, .in_h = TYPICAL_ROWS + k - 1,
        .in_w = TYPICAL_WIDTH, .pad_side = k / 2, .dtype = dtype, .out_dtype = dtype,
        .has_bias = true,
    };
}

int vrt_dnnl_weights_layout(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *shape,
                            struct vrt_dnnl_layout **ret_layout)
{
    const struct vrt_dnnl_shape typical = typical_shape(shape->in_c, shape->out_c, shape->k,
                                                        shape->dtype);
    VRT_CLEANUP(vrt_dnnl_descp) dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t status;
    int r;

    r = vrt_dnnl_describe(dnnl, &typical, NULL, &desc);
    if (r < 0)
        return r;
    status = vrt_dnnl_layout_copy(vrt_dnnl_layout_of(desc, dnnl_query_weights_md, 0), ret_layout);
    return status == dnnl_success ? 0 : vrt_dnnl_raise(status, "layout of weights");
}

/* Asked of oneDNN rather than of the CPU: what counts is whether it has fast code for it. It makes
 * do without the instructions, too, but our own loops don't, and a network needs both. */
static void find_bf16(struct vrt_dnnl *dnnl)
{
    const struct vrt_dnnl_shape shape = typical_shape(64, 64, 3, VRT_DTYPE_BF16);
    VRT_CLEANUP(vrt_dnnl_descp) dnnl_primitive_desc_t desc = NULL;

    dnnl->has_bf16 = vrt_cpu_bf16_kernel(VRT_OP_LINEAR) &&
                     vrt_dnnl_describe(dnnl, &shape, NULL, &desc) == 0;
    dnnl->has_tiles = dnnl->has_bf16 && strstr(name_of(desc), "amx");
}

int vrt_dnnl_new(int n_threads, struct vrt_dnnl **ret_dnnl)
{
    VRT_CLEANUP(vrt_dnnl_freep) struct vrt_dnnl *dnnl = NULL;
    dnnl_status_t status;

    vrt_dnnl_enter_thread();
    dnnl = calloc(1, sizeof(*dnnl));
    if (!dnnl)
        return vrt_raise(-ENOMEM);
    pthread_mutex_init(&dnnl->lock, NULL);
    dnnl->streams = calloc((size_t)n_threads, sizeof(*dnnl->streams));
    if (!dnnl->streams)
        return vrt_raise(-ENOMEM);

    status = dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0);
    if (status != dnnl_success)
        return vrt_dnnl_raise(status, "engine");
    for (; dnnl->n_threads < n_threads; dnnl->n_threads++) {
        status = dnnl_stream_create(&dnnl->streams[dnnl->n_threads], dnnl->engine,
                                    dnnl_stream_default_flags);
        if (status != dnnl_success)
            return vrt_dnnl_raise(status, "stream");
    }
    find_bf16(dnnl);

    *ret_dnnl = VRT_STEAL(dnnl);
    return 0;
}

struct vrt_dnnl *vrt_dnnl_free(struct vrt_dnnl *dnnl)
{
    if (!dnnl)
        return NULL;
    for (int i = 0; i < dnnl->n_threads; i++)
        dnnl_stream_destroy(dnnl->streams[i]);
    if (dnnl->engine)
        dnnl_engine_destroy(dnnl->engine);
    free(dnnl->streams);
    pthread_mutex_destroy(&dnnl->lock);
    free(dnnl);
    return NULL;
}

bool vrt_dnnl_supports(const struct vrt_dnnl *dnnl, enum vrt_dtype dtype)
{
    return dtype == VRT_DTYPE_F32 || (dtype == VRT_DTYPE_BF16 && dnnl->has_bf16);
}
