/* SPDX-License-Identifier: MIT */

#include "engine/dag/ncnn.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define NUMBER_BYTES 48
#define ARRAY_KEY (-23300)

/* The next word of the line, which it is cut from; empty: none is left. */
static struct vrt_text next_word(struct vrt_text *line)
{
    size_t begin = 0, end;

    while (begin < line->size_bytes && strchr(" \t\r", line->data[begin]))
        begin++;
    for (end = begin; end < line->size_bytes && !strchr(" \t\r", line->data[end]); end++)
        ;
    const struct vrt_text word = { line->data + begin, end - begin };
    line->data += end;
    line->size_bytes -= end;
    return word;
}

static bool parse_float(struct vrt_text text, float *ret_value)
{
    char copy[NUMBER_BYTES], *end;

    if (text.size_bytes == 0 || text.size_bytes >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.size_bytes);
    copy[text.size_bytes] = '\0';
    *ret_value = strtof(copy, &end);
    return *end == '\0';
}

static bool parse_int(struct vrt_text text, int *ret_value)
{
    char copy[NUMBER_BYTES], *end;
    long value;

    if (text.size_bytes == 0 || text.size_bytes >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.size_bytes);
    copy[text.size_bytes] = '\0';
    value = strtol(copy, &end, 10);
    if (*end != '\0' || value < INT_MIN || value > INT_MAX)
        return false;
    *ret_value = (int)value;
    return true;
}

static bool take_blobs(struct vrt_text *line, struct vrt_text *blobs, int n)
{
    for (int i = 0; i < n; i++) {
        blobs[i] = next_word(line);
        if (!blobs[i].size_bytes)
            return false;
    }
    return true;
}

static const char *take_params(struct vrt_text *line, struct vrt_ncnn_layer *layer)
{
    for (struct vrt_text word; (word = next_word(line)).size_bytes; ) {
        const char *equals = memchr(word.data, '=', word.size_bytes);
        struct vrt_ncnn_param *param = &layer->params[layer->n_params];

        if (layer->n_params == VRT_NCNN_PARAMS_MAX)
            return "has more parameters than any layer";
        if (!equals || !parse_int((struct vrt_text){ word.data, (size_t)(equals - word.data) },
                                  &param->key))
            return "has a parameter that isn't NUMBER=VALUE";
        param->value.data = equals + 1;
        param->value.size_bytes = (size_t)(word.data + word.size_bytes - equals - 1);
        layer->n_params++;
    }
    return NULL;
}

const char *vrt_ncnn_layer_parse(struct vrt_text line, struct vrt_ncnn_layer *ret_layer)
{
    struct vrt_ncnn_layer *layer = ret_layer;

    layer->n_params = 0;
    layer->type = next_word(&line);
    layer->name = next_word(&line);
    if (!parse_int(next_word(&line), &layer->n_in) || !parse_int(next_word(&line), &layer->n_out) ||
        layer->n_in < 0 || layer->n_out < 0 || layer->n_in > VRT_NCNN_BLOBS_MAX ||
        layer->n_out > VRT_NCNN_BLOBS_MAX)
        return "doesn't say how many blobs it has";
    if (!take_blobs(&line, layer->in, layer->n_in) || !take_blobs(&line, layer->out, layer->n_out))
        return "has fewer blobs than it says";
    return take_params(&line, layer);
}

static const struct vrt_ncnn_param *find(const struct vrt_ncnn_layer *layer, int key)
{
    for (int i = 0; i < layer->n_params; i++)
        if (layer->params[i].key == key)
            return &layer->params[i];
    return NULL;
}

int vrt_ncnn_int(const struct vrt_ncnn_layer *layer, int key, int otherwise)
{
    const struct vrt_ncnn_param *param = find(layer, key);
    int value;

    return param && parse_int(param->value, &value) ? value : otherwise;
}

float vrt_ncnn_float(const struct vrt_ncnn_layer *layer, int key, float otherwise)
{
    const struct vrt_ncnn_param *param = find(layer, key);
    float value;

    return param && parse_float(param->value, &value) ? value : otherwise;
}

/* "2,0.2,1": how many, then each. */
float vrt_ncnn_element(const struct vrt_ncnn_layer *layer, int key, int i, float otherwise)
{
    const struct vrt_ncnn_param *param = find(layer, ARRAY_KEY - key);
    struct vrt_text rest = param ? param->value : (struct vrt_text){ "", 0 };
    float value;

    for (int k = 0; k <= i + 1 && rest.size_bytes; k++) {
        const char *comma = memchr(rest.data, ',', rest.size_bytes);
        const size_t n = comma ? (size_t)(comma - rest.data) : rest.size_bytes;

        if (k == i + 1)
            return parse_float((struct vrt_text){ rest.data, n }, &value) ? value : otherwise;
        rest.data += VRT_MIN(n + 1, rest.size_bytes);
        rest.size_bytes -= VRT_MIN(n + 1, rest.size_bytes);
    }
    return otherwise;
}
