/* SPDX-License-Identifier: MIT */

#include "engine/dag/ncnn.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define NUMBER_BYTES 48
#define ARRAY_KEY (-23300)
#define TEXT_BYTES_MAX (8 << 20)
#define LAYERS_MAX 65536

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

/* Takes a line apart. Return: NULL, or what is wrong with it. */
static const char *parse(struct vrt_text line, struct vrt_ncnn_layer *ret_layer)
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

const char *vrt_ncnn_copied(struct vrt_text text, char *buffer, size_t size)
{
    const size_t n = VRT_MIN(text.size_bytes, size - 1);

    memcpy(buffer, text.data, n);
    buffer[n] = '\0';
    return buffer;
}

/* The next line that isn't empty, from *at on. */
static bool next_line(const struct vrt_dag_file *file, size_t *at, struct vrt_text *ret_line)
{
    const size_t size = VRT_MIN(file->size_bytes, (size_t)TEXT_BYTES_MAX);

    while (*at < size) {
        const char *begin = (const char *)file->data + *at;
        const char *end = memchr(begin, '\n', size - *at);
        size_t n = end ? (size_t)(end - begin) : size - *at;

        *at += VRT_MIN(n + 1, size - *at);
        while (n > 0 && (begin[n - 1] == '\r' || begin[n - 1] == ' '))
            n--;
        *ret_line = (struct vrt_text){ begin, n };
        if (n > 0)
            return true;
    }
    return false;
}

int vrt_ncnn_layer_take(struct vrt_ncnn_text *text, struct vrt_ncnn_layer *ret_layer)
{
    char type[32], name[64];
    struct vrt_text line = { "", 0 };

    if (!next_line(text->file, &text->at, &line))
        return vrt_dag_refuse(text->dag, "is cut short");
    const char *wrong = parse(line, ret_layer);
    vrt_dag_set_where(text->dag, vrt_ncnn_copied(ret_layer->type, type, sizeof(type)),
                      vrt_ncnn_copied(ret_layer->name, name, sizeof(name)));
    return wrong ? vrt_dag_refuse(text->dag, "%s", wrong) : 0;
}

/* "7767517", then how many layers and blobs. */
static int read_head(struct vrt_ncnn_text *text)
{
    struct vrt_text line;
    char copy[64], *end;

    if (!next_line(text->file, &text->at, &line) || !next_line(text->file, &text->at, &line))
        return vrt_dag_refuse(text->dag, "is cut short");
    const long n = strtol(vrt_ncnn_copied(line, copy, sizeof(copy)), &end, 10);
    if (n < 1 || n > LAYERS_MAX || (*end != ' ' && *end != '\0'))
        return vrt_dag_refuse(text->dag, "has %ld layers, not 1 to %d", n, LAYERS_MAX);
    text->n_layers = (int)n;
    return 0;
}

/* How many channels a convolution reads, by how many weights it has. Return: 0: it doesn't say. */
static int inputs_of(const struct vrt_ncnn_layer *layer)
{
    const int edge = vrt_ncnn_int(layer, 1, 0);
    int64_t n_each = vrt_ncnn_int(layer, 0, 0);

    if (__builtin_mul_overflow(n_each, edge, &n_each) ||
        __builtin_mul_overflow(n_each, vrt_ncnn_int(layer, 11, edge), &n_each) || n_each < 1)
        return 0;
    return (int)(vrt_ncnn_int(layer, 6, 0) / n_each);
}

int vrt_ncnn_text_open(struct vrt_ncnn_text *text)
{
    const struct vrt_dag_file *file = text->file;
    struct vrt_ncnn_layer layer;
    int r = vrt_dag_file_need(file, 0, VRT_MIN(file->size_bytes, (size_t)TEXT_BYTES_MAX));

    if (r < 0)
        return vrt_fold(r);
    r = read_head(text);
    if (r < 0)
        return vrt_fold(r);
    const size_t first = text->at;
    for (int i = 0; i < text->n_layers; i++) {
        size_t at = text->at;
        struct vrt_text line;

        vrt_dag_set_where(text->dag, "text", "");
        if (!next_line(file, &at, &line))
            return vrt_dag_refuse(text->dag, "ends after %d of %d layers: it is cut short", i,
                                  text->n_layers);
        r = vrt_ncnn_layer_take(text, &layer);
        if (r < 0)
            return vrt_fold(r);
        vrt_dag_note_type(text->dag, layer.type.data, layer.type.size_bytes);
        if (vrt_text_is(layer.type, "Convolution") && text->conv_inputs == 0)
            text->conv_inputs = inputs_of(&layer);
    }
    text->end = text->at;
    text->at = first;
    if (text->end < file->size_bytes)
        return 0;
    vrt_dag_set_where(text->dag, "text", "");
    return vrt_dag_refuse(text->dag, "names the layers, but their weights are missing: the .bin "
                          "that belongs to it is to be beside it");
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
