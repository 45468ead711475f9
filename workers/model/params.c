/* SPDX-License-Identifier: MIT */
/* Taking tensors over from a checkpoint. The file decides names and shapes; nothing is believed. */

#include "model/params.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/checkpoint.h"
#include "model/network.h"

/* No known network has a quarter of this; a tensor expanded by a stride of 0 may have any size. */
#define N_VALUES_MAX (INT64_C(1) << 28)

/* Far above any network's width, and low enough that products of a few extents fit. */
#define EXTENT_MAX 8192

#define NAME_BYTES 160

static const char *shape_text(const struct vrt_checkpoint_tensor *tensor, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < tensor->n_dims && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? "," : "",
                              (long long)tensor->dims[i]);
    return text;
}

static const char *dims_text(const int *dims, int n_dims, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < n_dims && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%d", i ? "," : "", dims[i]);
    return text;
}

void vrt_params_done(struct vrt_params *params)
{
    for (size_t i = 0; i < params->n_items; i++) {
        free((char *)params->items[i].name);
        free((float *)params->items[i].data);
    }
    free(params->items);
    *params = (struct vrt_params){ 0 };
}

int vrt_params_refuse(struct vrt_params *params, const char *format, ...)
{
    char why[384];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return vrt_refuse(params->error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "%s is an %s %s",
                      params->source, params->network, why);
}

static bool is_shaped(const struct vrt_checkpoint_tensor *tensor, const int *dims, int n_dims)
{
    if (tensor->n_dims != n_dims)
        return false;
    for (int i = 0; i < n_dims; i++)
        if (tensor->dims[i] != dims[i])
            return false;
    return true;
}

/* Integers can be converted, but a network of them was quantised, and needs its scales too. */
static bool is_float(enum vrt_checkpoint_dtype dtype)
{
    return dtype == VRT_CHECKPOINT_F32 || dtype == VRT_CHECKPOINT_F16 ||
           dtype == VRT_CHECKPOINT_BF16 || dtype == VRT_CHECKPOINT_F64;
}

/* The tensor, held to what is asked of it before its values are looked at. NULL: refused. */
static const struct vrt_checkpoint_tensor *find(struct vrt_params *params, const char *name,
                                                const int *dims, int n_dims)
{
    const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_find(params->checkpoint, name);
    char wanted[64], found[192];

    dims_text(dims, n_dims, wanted, sizeof(wanted));
    if (!tensor) {
        vrt_params_refuse(params, "network whose tensor \"%s\" of shape [%s] is missing", name,
                          wanted);
        return NULL;
    }
    if (!is_shaped(tensor, dims, n_dims)) {
        vrt_params_refuse(params, "network whose tensor \"%s\" has the shape [%s], not [%s]",
                          name, shape_text(tensor, found, sizeof(found)), wanted);
        return NULL;
    }
    if (!is_float(tensor->dtype)) {
        vrt_params_refuse(params, "network whose tensor \"%s\" is of type %s, not floating point",
                          name, vrt_checkpoint_dtype_name(tensor->dtype));
        return NULL;
    }
    /* Before anything is allocated: the shape fits, but only the file says how large it is. */
    if (tensor->n_elements > N_VALUES_MAX - params->n_values) {
        vrt_params_refuse(params, "network of more than %lld parameters, which is too large",
                          (long long)N_VALUES_MAX);
        return NULL;
    }
    return tensor;
}

static int append(struct vrt_params *params, struct vrt_param *param, char *name, float *data)
{
    if (params->n_items == params->capacity) {
        size_t capacity = params->capacity ? 2 * params->capacity : 64;
        struct vrt_param *items = realloc(params->items, capacity * sizeof(*items));

        if (!items)
            return vrt_raise(-ENOMEM);
        params->items = items;
        params->capacity = capacity;
    }
    param->name = name;
    param->data = data;
    params->items[params->n_items++] = *param;
    return 0;
}

int vrt_params_take(struct vrt_params *params, const int *dims, int n_dims, const char *format, ...)
{
    char formatted[NAME_BYTES];
    struct vrt_param param = { .n_dims = n_dims };
    va_list args;

    va_start(args, format);
    vsnprintf(formatted, sizeof(formatted), format, args);
    va_end(args);

    const struct vrt_checkpoint_tensor *tensor = find(params, formatted, dims, n_dims);
    if (!tensor)
        return -EINVAL;
    memcpy(param.dims, dims, (size_t)n_dims * sizeof(*dims));

    VRT_CLEANUP(vrt_freep) char *name = strdup(formatted);
    VRT_CLEANUP(vrt_freep) float *data = malloc((size_t)tensor->n_elements * sizeof(*data));
    if (!name || !data)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);

    /* One weight that isn't finite makes every pixel so. */
    vrt_checkpoint_read_f32(tensor, data);
    for (int64_t i = 0; i < tensor->n_elements; i++)
        if (!isfinite(data[i]))
            return vrt_params_refuse(params, "network whose tensor \"%s\" holds values that are "
                                     "not finite numbers", formatted);

    int r = append(params, &param, name, data);
    if (r < 0)
        return vrt_refuse_errno(params->error, r, params->source);
    params->n_values += tensor->n_elements;
    name = NULL;
    data = NULL;
    return 0;
}

/* Only asked once a tensor is known to be left over, so that it may be slow. */
static bool is_taken(const struct vrt_params *params, const char *name)
{
    for (size_t i = 0; i < params->n_items; i++)
        if (strcmp(params->items[i].name, name) == 0)
            return true;
    return false;
}

int vrt_params_finish(struct vrt_params *params)
{
    int n_tensors = vrt_checkpoint_n_tensors(params->checkpoint);
    char shape[192], name[NAME_BYTES];

    /* No name is taken twice, so that equal numbers mean equal sets. */
    if ((size_t)n_tensors == params->n_items)
        return 0;
    for (int i = 0; i < n_tensors; i++) {
        const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_tensor(params->checkpoint, i);

        if (!is_taken(params, tensor->name))
            return vrt_params_refuse(params, "network but for the tensor \"%s\" of shape [%s], "
                                     "which that network doesn't have",
                                     vrt_printable(tensor->name, name, sizeof(name)),
                                     shape_text(tensor, shape, sizeof(shape)));
    }
    vrt_assert(!"a tensor was taken twice");
    return -EINVAL;
}

int vrt_params_last_index(const struct vrt_checkpoint *checkpoint, const char *prefix)
{
    size_t length = strlen(prefix);
    int n_tensors = vrt_checkpoint_n_tensors(checkpoint), last = -1;

    for (int i = 0; i < n_tensors; i++) {
        const char *name = vrt_checkpoint_tensor(checkpoint, i)->name;
        size_t n_digits;

        if (strncmp(name, prefix, length) != 0)
            continue;

        /* Six digits fit an int, and no network has a million layers. */
        n_digits = strspn(name + length, "0123456789");
        if (n_digits < 1 || n_digits > 6 ||
            (name[length + n_digits] != '.' && name[length + n_digits] != '\0'))
            continue;
        last = VRT_MAX(last, (int)strtol(name + length, NULL, 10));
    }
    return last;
}

int vrt_params_extent(const struct vrt_checkpoint *checkpoint, const char *name, int n_dims,
                      int dim)
{
    const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_find(checkpoint, name);

    if (!tensor || tensor->n_dims != n_dims)
        return 0;
    for (int i = 0; i < n_dims; i++)
        if (tensor->dims[i] < 1 || tensor->dims[i] > EXTENT_MAX)
            return 0;
    return (int)tensor->dims[dim];
}
