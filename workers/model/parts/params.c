/* SPDX-License-Identifier: MIT */
/* Taking tensors over from a checkpoint. The file decides names and shapes; nothing is believed. */

#include "model/parts/params.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/checkpoint.h"

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
    free(params->taken);
    *params = (struct vrt_params){ 0 };
}

int vrt_params_refuse(struct vrt_params *params, const char *format, ...)
{
    /* Some names are spelled, an RRDBNet, a VRT; others are words, a SPAN, a SwinIR. */
    const char *name = params->network;
    bool is_an = (name[0] && strchr("AEFHILMNOX", name[0])) || strncmp(name, "RR", 2) == 0 ||
                 strncmp(name, "SR", 2) == 0;
    char why[384];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return vrt_refuse(params->error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "%s is %s %s %s",
                      params->source, is_an ? "an" : "a", params->network, why);
}

static bool is_shaped(const struct vrt_checkpoint_tensor *tensor,
                      const struct vrt_params_want *want)
{
    if (tensor->n_dims != want->n_dims)
        return false;
    for (int i = 0; i < want->n_dims; i++)
        if (tensor->dims[i] != want->dims[i])
            return false;
    return true;
}

/* Integers can be converted, but a network of them was quantised, and needs its scales too. */
static bool is_float(enum vrt_checkpoint_dtype dtype)
{
    return dtype == VRT_CHECKPOINT_F32 || dtype == VRT_CHECKPOINT_F16 ||
           dtype == VRT_CHECKPOINT_BF16 || dtype == VRT_CHECKPOINT_F64;
}

/* Return: `array` with room for one more item, or NULL; the old one stays valid then. */
static void *grown(void *array, size_t n, size_t *capacity, size_t item_bytes)
{
    if (n < *capacity)
        return array;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *larger = reallocarray(array, wanted, item_bytes);
    if (larger)
        *capacity = wanted;
    return larger;
}

/* Return: 0; -ENOMEM. */
static int mark_taken(struct vrt_params *params, const struct vrt_checkpoint_tensor *tensor)
{
    const struct vrt_checkpoint_tensor **taken = grown(params->taken, params->n_taken,
                                                       &params->capacity_taken, sizeof(*taken));

    if (!taken)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);
    params->taken = taken;
    params->taken[params->n_taken++] = tensor;
    return 0;
}

/* The tensor, if it is there and of the shape wanted; it counts as taken from then on. Return: 0;
 * -EINVAL; -ENOMEM. */
static int find(struct vrt_params *params, const struct vrt_params_want *want, const char *name,
                const struct vrt_checkpoint_tensor **ret_tensor)
{
    const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_find(params->checkpoint, name);
    char wanted[64], found[192];

    dims_text(want->dims, want->n_dims, wanted, sizeof(wanted));
    if (!tensor)
        return vrt_params_refuse(params, "network whose tensor \"%s\" of shape [%s] is missing",
                                 name, wanted);
    if (!is_shaped(tensor, want))
        return vrt_params_refuse(params, "network whose tensor \"%s\" has the shape [%s], not [%s]",
                                 name, shape_text(tensor, found, sizeof(found)), wanted);

    *ret_tensor = tensor;
    return vrt_fold(mark_taken(params, tensor));
}

/* Return: 0; -EINVAL if the values of a tensor of the right shape can't be a param's. */
static int check_type(struct vrt_params *params, const struct vrt_checkpoint_tensor *tensor)
{
    if (!is_float(tensor->dtype))
        return vrt_params_refuse(params, "network whose tensor \"%s\" is of type %s, not floating "
                                 "point", tensor->name, vrt_checkpoint_dtype_name(tensor->dtype));

    /* Before anything is allocated: the shape fits, but only the file says how large it is. */
    if (tensor->n_elements > VRT_PARAMS_VALUES_MAX - params->n_values)
        return vrt_params_refuse(params, "network of more than %lld parameters, which is too large",
                                 (long long)VRT_PARAMS_VALUES_MAX);
    return 0;
}

static int append(struct vrt_params *params, const struct vrt_params_want *want, char *name,
                  float *data)
{
    struct vrt_param param = { .name = name, .use = want->use, .data = data };
    struct vrt_param *items = grown(params->items, params->n_items, &params->capacity,
                                    sizeof(*items));

    if (!items)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < want->n_dims; i++) {
        if (i + 1 == want->left_out)
            continue;
        vrt_assert(param.n_dims < (int)VRT_ARRAY_SIZE(param.dims));
        param.dims[param.n_dims++] = want->dims[i];
    }
    params->items = items;
    params->items[params->n_items++] = param;
    return 0;
}

/* One weight that isn't finite makes every pixel so. */
static bool all_finite(const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* The tensor's numbers, in memory of the caller's. Return: 0; -EINVAL; -ENOMEM. */
static int read_floats(struct vrt_params *params, const struct vrt_params_want *want,
                       const char *name, float **ret_data)
{
    const struct vrt_checkpoint_tensor *tensor;
    int r = find(params, want, name, &tensor);

    if (r < 0)
        return vrt_fold(r);
    r = check_type(params, tensor);
    if (r < 0)
        return vrt_fold(r);

    VRT_CLEANUP(vrt_freep) float *data = malloc((size_t)tensor->n_elements * sizeof(*data));
    if (!data)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);

    vrt_checkpoint_read_f32(tensor, data);
    if (!all_finite(data, (size_t)tensor->n_elements))
        return vrt_params_refuse(params, "network whose tensor \"%s\" holds values that are not "
                                 "finite numbers", name);
    *ret_data = VRT_STEAL(data);
    return 0;
}

static int64_t count_of(const struct vrt_params_want *want)
{
    int64_t n_values = 1;

    for (int i = 0; i < want->n_dims; i++)
        n_values *= want->dims[i];
    return n_values;
}

static int take(struct vrt_params *params, const struct vrt_params_want *want,
                const char *formatted)
{
    VRT_CLEANUP(vrt_freep) char *name = strdup(formatted);
    VRT_CLEANUP(vrt_freep) float *data = NULL;

    if (!name)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);
    int r = read_floats(params, want, formatted, &data);
    if (r < 0)
        return vrt_fold(r);
    r = append(params, want, name, data);
    if (r < 0)
        return vrt_refuse_errno(params->error, r, params->source);
    params->n_values += count_of(want);
    name = NULL;
    data = NULL;
    return 0;
}

int vrt_params_read(struct vrt_params *params, const struct vrt_params_want *want, float **ret_data,
                    const char *format, ...)
{
    char name[NAME_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    return vrt_fold(read_floats(params, want, name, ret_data));
}

int vrt_params_take(struct vrt_params *params, const int *dims, int n_dims, const char *format, ...)
{
    struct vrt_params_want want = { .n_dims = n_dims };
    char name[NAME_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    memcpy(want.dims, dims, (size_t)n_dims * sizeof(*dims));
    return take(params, &want, name);
}

int vrt_params_take_as(struct vrt_params *params, const struct vrt_params_want *want,
                       const char *format, ...)
{
    char name[NAME_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    return take(params, want, name);
}

int vrt_params_take_layer(struct vrt_params *params, const struct vrt_params_want *weight,
                          const char *format, ...)
{
    const struct vrt_params_want bias = { .n_dims = 1, .dims = { weight->dims[0] } };
    char layer[NAME_BYTES - 8], name[NAME_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(layer, sizeof(layer), format, args);
    va_end(args);
    snprintf(name, sizeof(name), "%s.weight", layer);
    int r = take(params, weight, name);
    if (r < 0)
        return vrt_fold(r);
    snprintf(name, sizeof(name), "%s.bias", layer);
    return vrt_fold(take(params, &bias, name));
}

int vrt_params_check(struct vrt_params *params, const struct vrt_params_want *want,
                     const float *values, float tolerance, const char *format, ...)
{
    const struct vrt_checkpoint_tensor *tensor;
    char name[NAME_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    int r = find(params, want, name, &tensor);
    if (r < 0)
        return vrt_fold(r);

    VRT_CLEANUP(vrt_freep) float *found = malloc((size_t)tensor->n_elements * sizeof(*found));
    if (!found)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);
    vrt_checkpoint_read_f32(tensor, found);
    for (int64_t i = 0; i < tensor->n_elements; i++)
        if (!(fabsf(found[i] - values[i]) <= tolerance))
            return vrt_params_refuse(params, "network whose buffer \"%s\" holds %g at element "
                                     "%lld, where that network has %g", name, (double)found[i],
                                     (long long)i, (double)values[i]);
    return 0;
}

int vrt_params_check_window(struct vrt_params *params, const int window[3], const char *name)
{
    const int h = window[1], w = window[2], n = window[0] * h * w;
    const struct vrt_params_want want = { .n_dims = 2, .dims = { n, n } };
    VRT_CLEANUP(vrt_freep) float *rows = malloc((size_t)n * (size_t)n * sizeof(*rows));

    if (!rows)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++) {
            const int along_d = a / (h * w) - b / (h * w) + window[0] - 1;
            const int along_h = a / w % h - b / w % h + h - 1, along_w = a % w - b % w + w - 1;

            rows[a * n + b] = (float)((along_d * (2 * h - 1) + along_h) * (2 * w - 1) + along_w);
        }
    }
    return vrt_fold(vrt_params_check(params, &want, rows, 0, "%s", name));
}

int vrt_params_leave(struct vrt_params *params, const char *name)
{
    const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_find(params->checkpoint, name);

    return tensor ? vrt_fold(mark_taken(params, tensor)) : 0;
}

int vrt_params_add(struct vrt_params *params, const struct vrt_params_want *want,
                   const float *values, const char *name)
{
    const size_t n_values = (size_t)count_of(want);

    /* Of large numbers that are in the file. */
    if (!all_finite(values, n_values))
        return vrt_params_refuse(params, "network whose tensors make values of \"%s\" that are not "
                                 "finite numbers", name);
    VRT_CLEANUP(vrt_freep) char *own_name = strdup(name);
    VRT_CLEANUP(vrt_freep) float *data = malloc(n_values * sizeof(*data));
    int r = own_name && data ? append(params, want, own_name, data) : vrt_raise(-ENOMEM);

    if (r < 0)
        return vrt_refuse_errno(params->error, r, params->source);
    memcpy(data, values, n_values * sizeof(*data));
    own_name = NULL;
    data = NULL;
    return 0;
}

/* Which tap of three, and which half of a folded square, tap k of a stride of 2 is: what lies
 * before the square is the second half of the one before. */
static const int tap_of_halving[3] = { 0, 1, 1 }, half_of_halving[3] = { 1, 0, 1 };

void vrt_params_fold_stride(const float *strided, int c_out, int c_in, float *weight)
{
    for (int o = 0; o < c_out; o++)
    for (int c = 0; c < c_in; c++)
    for (int y = 0; y < 3; y++)
    for (int x = 0; x < 3; x++) {
        const int folded = (c * 2 + half_of_halving[y]) * 2 + half_of_halving[x];
        const int tap = tap_of_halving[y] * 3 + tap_of_halving[x];

        weight[((size_t)o * 4 * (size_t)c_in + (size_t)folded) * 9 + (size_t)tap] =
            strided[((o * c_in + c) * 3 + y) * 3 + x];
    }
}

/* Only asked once a tensor is known to be left over, so that it may be slow. */
static bool is_taken(const struct vrt_params *params, const struct vrt_checkpoint_tensor *tensor)
{
    for (size_t i = 0; i < params->n_taken; i++)
        if (params->taken[i] == tensor)
            return true;
    return false;
}

int vrt_params_finish(struct vrt_params *params)
{
    int n_tensors = vrt_checkpoint_n_tensors(params->checkpoint);
    char shape[192], name[NAME_BYTES];

    /* No name is taken twice, so that equal numbers mean equal sets. */
    if ((size_t)n_tensors == params->n_taken)
        return 0;
    for (int i = 0; i < n_tensors; i++) {
        const struct vrt_checkpoint_tensor *tensor = vrt_checkpoint_tensor(params->checkpoint, i);

        if (!is_taken(params, tensor))
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
