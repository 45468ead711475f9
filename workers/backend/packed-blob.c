/* SPDX-License-Identifier: MIT */

/* Weights packed into one block: every element is put where the backend's rule says. */

#include "backend/packed-blob.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/op/half.h"

#define ALIGN_BYTES 256

struct blob {
    struct vrt_packed base;
    struct vrt_packed_rule rule;
    char *bytes;
};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static struct blob *blob_of(const struct vrt_packed *packed)
{
    return vrt_container_of(packed, struct blob, base);
}

static void set_slabs(struct vrt_packed_layout *layout, const struct vrt_packed_rule *rule)
{
    const size_t outputs = round_up(layout->outputs, rule->align_elements);

    layout->slab_inputs = rule->slab_inputs;
    layout->slab_stride = rule->slab_inputs * outputs;
    layout->output_stride = layout->dtype == VRT_DTYPE_F32 ? 1 : rule->slab_inputs;
    layout->input_stride = layout->dtype == VRT_DTYPE_F32 ? outputs : 1;
    layout->tap_stride = round_up(layout->inputs, rule->slab_inputs) * outputs;
    layout->n_elements = layout->taps * layout->tap_stride;
}

size_t vrt_packed_layout_at(const struct vrt_packed_layout *layout, size_t output, size_t input,
                            size_t tap)
{
    const size_t depth = layout->slab_inputs, slab = input / depth;
    /* The last slab has the last inputs, where there are enough for a whole one. */
    const size_t first = layout->inputs < depth ? 0 : VRT_MIN(slab * depth, layout->inputs - depth);

    return tap * layout->tap_stride + slab * layout->slab_stride +
           output * layout->output_stride + (input - first) * layout->input_stride;
}

struct vrt_packed_layout vrt_packed_layout_of(const struct vrt_packed_rule *rule,
                                              const struct vrt_param *param,
                                              enum vrt_dtype dtype)
{
    struct vrt_packed_layout layout = {
        .dtype = VRT_DTYPE_F32, .outputs = 1, .inputs = 1, .slab_inputs = 1,
    };
    size_t n = 1;

    for (int i = 0; i < param->n_dims; i++)
        n *= (size_t)param->dims[i];
    if (param->n_dims < 2 || param->use == VRT_PARAM_TABLE) {
        layout.taps = layout.n_elements = layout.output_stride = layout.input_stride = n;
        layout.tap_stride = 1;
        return layout;
    }
    layout.dtype = vrt_param_dtype(param, dtype);
    layout.outputs = (size_t)param->dims[0];
    layout.inputs = (size_t)param->dims[1];
    layout.taps = n / (layout.outputs * layout.inputs);
    layout.slab_inputs = layout.inputs;
    if (rule->order == VRT_PACKED_SLABS) {
        set_slabs(&layout, rule);
    } else if (rule->order == VRT_PACKED_TAPS_INPUTS_OUTPUTS) {
        layout.output_stride = 1;
        layout.input_stride = round_up(layout.outputs, rule->align_elements);
        layout.tap_stride = layout.inputs * layout.input_stride;
        layout.n_elements = layout.taps * layout.tap_stride;
    } else {
        layout.input_stride = 1;
        layout.tap_stride = round_up(layout.inputs, rule->align_elements);
        layout.output_stride = layout.taps * layout.tap_stride;
        layout.n_elements = layout.outputs * layout.output_stride;
    }
    return layout;
}

static size_t layout_bytes(const struct vrt_packed_layout *layout)
{
    return round_up(layout->n_elements * vrt_dtype_size(layout->dtype), ALIGN_BYTES);
}

int vrt_packed_blob_new(const struct vrt_packed_rule *rule, const struct vrt_pack *pack,
                        struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    struct blob *blob = calloc(1, sizeof(*blob));
    size_t bytes = 0;

    if (!blob)
        return vrt_raise(-ENOMEM);
    blob->rule = *rule;
    for (size_t i = 0; i < pack->n_params; i++) {
        const struct vrt_packed_layout layout =
            vrt_packed_layout_of(rule, &pack->params[i], pack->dtype);
        places[i] = (struct vrt_packed_place){ bytes, layout_bytes(&layout), NULL };
        bytes += places[i].size_bytes;
    }
    /* Pages that are never packed, because another device has them, are never there. */
    blob->bytes = calloc(1, bytes + 1);
    if (!blob->bytes) {
        free(blob);
        return vrt_raise(-ENOMEM);
    }
    *ret_packed = &blob->base;
    return 0;
}

static void put(char *to, enum vrt_dtype dtype, size_t i, float x)
{
    const uint16_t half = dtype == VRT_DTYPE_BF16 ? vrt_bf16_from_f32(x) : vrt_f16_from_f32(x);

    if (dtype == VRT_DTYPE_F32)
        memcpy(to + i * sizeof(x), &x, sizeof(x));
    else
        memcpy(to + i * sizeof(half), &half, sizeof(half));
}

int vrt_packed_blob_fill(struct vrt_packed *packed, const struct vrt_pack *pack, size_t i)
{
    const struct blob *blob = blob_of(packed);
    const struct vrt_packed_layout layout =
        vrt_packed_layout_of(&blob->rule, &pack->params[i], pack->dtype);
    char *to = blob->bytes + packed->places[i].offset_bytes;
    const float *from = pack->params[i].data;

    for (size_t o = 0; o < layout.outputs; o++)
        for (size_t k = 0; k < layout.inputs; k++)
            for (size_t t = 0; t < layout.taps; t++)
                put(to, layout.dtype, vrt_packed_layout_at(&layout, o, k, t), *from++);
    packed->places[i].data = to;
    return 0;
}

void vrt_packed_blob_free(struct vrt_packed *packed)
{
    struct blob *blob = blob_of(packed);

    free(blob->bytes);
    free(blob);
}

const char *vrt_packed_blob_bytes(const struct vrt_packed *packed)
{
    return blob_of(packed)->bytes;
}
