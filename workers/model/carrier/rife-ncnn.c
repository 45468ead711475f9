/* SPDX-License-Identifier: MIT */
/* The layers that ncnn's files of RIFE have, as planes: a table of kinds, as of dag/ncnn.c. */

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/macro.h"
#include "engine/dag/names.h"
#include "engine/dag/ncnn.h"
#include "model/carrier/rife.h"

#define LAYERS_MAX 4096
#define CHANNELS_MAX 4096
#define INPUTS 3                    /* both frames and the time */
#define REST (-233)                 /* what is left, in equal parts */

struct reader {
    struct vrt_planes *planes;
    struct vrt_dag *dag;
    struct vrt_ncnn_weights weights;
    struct vrt_dag_names blobs;     /* numbers of lists */
    struct vrt_plane_list *lists;
    int n_lists, capacity;
    struct vrt_plane_list inputs[INPUTS];
    int n_inputs;
    bool is_last;                   /* the layer that is read */
    struct vrt_ncnn_layer layer;
    struct vrt_plane_list in[VRT_NCNN_BLOBS_MAX];
};

static int text_int(const struct reader *reader, int key, int otherwise)
{
    return vrt_ncnn_int(&reader->layer, key, otherwise);
}

static struct vrt_plane_list none(void)
{
    return (struct vrt_plane_list){ 0 };
}

static struct vrt_plane_list read_input(struct reader *reader)
{
    const int n = reader->n_inputs < 2 ? 3 : 1, said = text_int(reader, 2, n);

    if (reader->n_inputs == INPUTS || said != n) {
        vrt_planes_refuse(reader->planes, "is an input of %d channels, the %d. of all; RIFE has "
                          "two of three and one of one", said, reader->n_inputs + 1);
        return none();
    }
    const struct vrt_plane_list x = vrt_planes_input(reader->planes, reader->n_inputs, n);
    reader->inputs[reader->n_inputs++] = x;
    return x;
}

/* The next numbers. A failure is the planes'. */
static float *take(struct reader *reader, int64_t n, bool is_tagged)
{
    float *values = NULL;
    int r = vrt_ncnn_weights_take(&reader->weights, n, is_tagged, &values);

    if (r < 0)
        reader->planes->r = r;
    return values;
}

static struct vrt_plane_list read_memory(struct reader *reader)
{
    const int w = text_int(reader, 0, 0), h = text_int(reader, 1, 0), c = text_int(reader, 2, 0);
    const int n = c ? c : w;

    if (n < 1 || n > CHANNELS_MAX || (c && (w != 1 || h != 1)) || (!c && h > 1) ||
        text_int(reader, 11, 0)) {
        vrt_planes_refuse(reader->planes, "holds %d by %d by %d numbers; vrtd takes one a channel",
                          w, h, c);
        return none();
    }
    float *values = take(reader, n, text_int(reader, 21, 1) == 0);
    for (int i = 0; values && i < n; i++)
        if (!isfinite(values[i])) {
            free(values);
            vrt_planes_refuse(reader->planes, "has numbers that are not finite");
            return none();
        }
    return values ? vrt_planes_constant(reader->planes, values, n) : none();
}

/* Whether edge and stride are those of a convolution that keeps the size, halves or doubles it. */
static bool fits(const struct reader *reader, bool is_transposed, int kernel, int stride)
{
    const int pad = text_int(reader, 4, 0);
    bool fits = text_int(reader, 11, kernel) == kernel && text_int(reader, 2, 1) == 1 &&
                text_int(reader, 12, 1) == 1 && text_int(reader, 13, stride) == stride &&
                pad == 1 && text_int(reader, 14, pad) == pad && text_int(reader, 15, pad) == pad &&
                text_int(reader, 16, text_int(reader, 14, pad)) == pad &&
                text_int(reader, 5, 0) == 1 && text_int(reader, 8, 0) == 0;

    if (is_transposed)
        return fits && kernel == 4 && stride == 2 && text_int(reader, 18, 0) == 0 &&
               text_int(reader, 19, 0) == 0 && text_int(reader, 20, 0) == 0 &&
               text_int(reader, 21, 0) == 0;
    return fits && kernel == 3 && (stride == 1 || stride == 2) &&
           vrt_ncnn_float(&reader->layer, 18, 0) == 0;
}

static struct vrt_plane_list read_any_conv(struct reader *reader, bool is_transposed)
{
    const int kernel = text_int(reader, 1, 0), stride = text_int(reader, 3, 1);
    const int n_out = text_int(reader, 0, 0), activation = text_int(reader, 9, 0);
    struct vrt_plane_conv conv = { .in = reader->in[0], .kernel = kernel, .stride = stride,
                                   .is_transposed = is_transposed };

    if (!fits(reader, is_transposed, kernel, stride) || activation < 0 || activation > 2) {
        vrt_planes_refuse(reader->planes, "isn't a convolution as RIFE has them: 3 by 3, or 4 by 4 "
                          "transposed, of f32 or f16, with a bias");
        return none();
    }
    /* Few enough: edges of such a kernel, of a list that is in memory. */
    const int64_t n_each = (int64_t)reader->in[0].n * kernel * kernel;
    if (n_out < 1 || n_out > CHANNELS_MAX || n_out * n_each != text_int(reader, 6, 0)) {
        vrt_planes_refuse(reader->planes, "has %d weights, not %d outputs times %d inputs times %d "
                          "by %d", text_int(reader, 6, 0), n_out, reader->in[0].n, kernel, kernel);
        return none();
    }
    conv.weight = take(reader, n_out * n_each, true);
    conv.bias = conv.weight ? take(reader, n_out, false) : NULL;
    if (!conv.bias) {
        free(conv.weight);
        return none();
    }
    const struct vrt_plane_list y = vrt_planes_conv(reader->planes, &conv, n_out);
    return activation == 0 ? y :
           vrt_planes_leaky(reader->planes, y,
                            activation == 1 ? 0 : vrt_ncnn_element(&reader->layer, 10, 0, 0));
}

static struct vrt_plane_list read_conv(struct reader *reader)
{
    return read_any_conv(reader, false);
}

static struct vrt_plane_list read_transposed(struct reader *reader)
{
    return read_any_conv(reader, true);
}

static struct vrt_plane_list read_relu(struct reader *reader)
{
    return vrt_planes_leaky(reader->planes, reader->in[0], vrt_ncnn_float(&reader->layer, 0, 0));
}

static struct vrt_plane_list read_sigmoid(struct reader *reader)
{
    return vrt_planes_sigmoid(reader->planes, reader->in[0]);
}

static struct vrt_plane_list with_number(struct reader *reader, int kind, float number)
{
    const struct vrt_plane_list x = reader->in[0];

    switch (kind) {
    case 0: return vrt_planes_affine(reader->planes, x, 1, number);
    case 1: return vrt_planes_affine(reader->planes, x, 1, -number);
    case 2: return vrt_planes_affine(reader->planes, x, number, 0);
    case 3: return vrt_planes_affine(reader->planes, x, 1 / number, 0);
    case 7: return vrt_planes_affine(reader->planes, x, -1, number);
    default: vrt_planes_refuse(reader->planes, "is of kind %d, which RIFE doesn't compute", kind);
             return none();
    }
}

static struct vrt_plane_list read_binary(struct reader *reader)
{
    const int kind = text_int(reader, 0, 0);

    if (text_int(reader, 1, 0) != 0)
        return with_number(reader, kind, vrt_ncnn_float(&reader->layer, 2, 0));
    if (reader->layer.n_in != 2 || kind < 0 || kind > 2) {
        vrt_planes_refuse(reader->planes, "is of kind %d with %d inputs, which RIFE doesn't "
                          "compute", kind, reader->layer.n_in);
        return none();
    }
    if (kind == 2)
        return vrt_planes_mul(reader->planes, reader->in[0], reader->in[1]);
    return vrt_planes_add(reader->planes, reader->in[0], kind == 0 ? reader->in[1] :
                          vrt_planes_affine(reader->planes, reader->in[1], -1, 0));
}

static struct vrt_plane_list read_eltwise(struct reader *reader)
{
    const int kind = text_int(reader, 0, 0);
    struct vrt_plane_list sum = none();

    if (kind != 0 && kind != 1)
        vrt_planes_refuse(reader->planes, "is of kind %d, which RIFE doesn't compute", kind);
    for (int i = 0; i < reader->layer.n_in && reader->planes->r == 0; i++) {
        const float by = kind == 1 ? vrt_ncnn_element(&reader->layer, 1, i, 1) : 1;
        const struct vrt_plane_list x = vrt_planes_affine(reader->planes, reader->in[i], by, 0);

        sum = i == 0 ? x : kind == 1 ? vrt_planes_add(reader->planes, sum, x) :
              vrt_planes_mul(reader->planes, sum, x);
    }
    return sum;
}

static struct vrt_plane_list read_concat(struct reader *reader)
{
    if (text_int(reader, 0, 0) != 0)
        vrt_planes_refuse(reader->planes, "joins along axis %d; RIFE joins channels",
                          text_int(reader, 0, 0));
    return vrt_planes_join(reader->planes, reader->in, reader->layer.n_in);
}

static struct vrt_plane_list read_shuffle(struct reader *reader)
{
    if (text_int(reader, 0, 1) != 2 || text_int(reader, 1, 0) != 0)
        vrt_planes_refuse(reader->planes, "moves pixels otherwise than by 2");
    return vrt_planes_shuffle(reader->planes, reader->in[0]);
}

static struct vrt_plane_list read_interp(struct reader *reader)
{
    const float factor = vrt_ncnn_float(&reader->layer, 2, 1);

    if (text_int(reader, 0, 0) != 2 || vrt_ncnn_float(&reader->layer, 1, 1) != factor ||
        text_int(reader, 3, 0) || text_int(reader, 4, 0) || text_int(reader, 6, 0) ||
        reader->layer.n_in != 1)
        vrt_planes_refuse(reader->planes, "resizes otherwise than by one factor, bilinear, corners "
                          "not aligned");
    return vrt_planes_resize(reader->planes, reader->in[0], factor);
}

/* One number of an array that has just that. */
static int only(const struct reader *reader, int key, int otherwise)
{
    const float number = vrt_ncnn_element(&reader->layer, key, 0, (float)otherwise);

    if (!isnan(vrt_ncnn_element(&reader->layer, key, 1, NAN)) || !(number >= 0))
        return -1;
    return number < CHANNELS_MAX ? (int)number : CHANNELS_MAX;
}

static struct vrt_plane_list read_crop(struct reader *reader)
{
    const int first = only(reader, 9, -1), end = only(reader, 10, -1);

    if (first < 0 || end < first || only(reader, 11, -1) != 0) {
        vrt_planes_refuse(reader->planes, "cuts something else than channels");
        return none();
    }
    return vrt_planes_cut(reader->in[0], first, end - first);
}

/* What is cut off to 0 and 1 is so already, or is shown so. */
static struct vrt_plane_list read_clip(struct reader *reader)
{
    const struct vrt_plane_list x = reader->in[0];
    const bool is_frame = vrt_planes_same(x, reader->inputs[0]) ||
                          vrt_planes_same(x, reader->inputs[1]);

    if (vrt_ncnn_float(&reader->layer, 0, -INFINITY) > 0 ||
        vrt_ncnn_float(&reader->layer, 1, INFINITY) < 1 || (!is_frame && !reader->is_last))
        vrt_planes_refuse(reader->planes, "cuts off numbers where RIFE doesn't");
    return x;
}

static struct vrt_plane_list read_warp(struct reader *reader)
{
    return vrt_planes_warp(reader->planes, reader->in[0], reader->in[1]);
}

static struct vrt_plane_list read_same(struct reader *reader)
{
    return reader->in[0];
}

static const struct kind {
    const char *type;
    struct vrt_plane_list (*read)(struct reader *reader);
    int n_in;                       /* -1: any number but 0 */
} kinds[] = {
    { "BinaryOp", read_binary, -1 },
    { "Clip", read_clip, 1 },
    { "Concat", read_concat, -1 },
    { "Convolution", read_conv, 1 },
    { "Crop", read_crop, 1 },
    { "Deconvolution", read_transposed, 1 },
    { "Dropout", read_same, 1 },
    { "Eltwise", read_eltwise, -1 },
    { "Input", read_input, 0 },
    { "Interp", read_interp, -1 },
    { "MemoryData", read_memory, 0 },
    { "Noop", read_same, 1 },
    { "PixelShuffle", read_shuffle, 1 },
    { "ReLU", read_relu, 1 },
    { "Sigmoid", read_sigmoid, 1 },
    { "Slice", read_same, 1 },
    { "Split", read_same, 1 },
    { "rife.Warp", read_warp, 2 },
};

static int find_inputs(struct reader *reader)
{
    char name[64];

    for (int i = 0; i < reader->layer.n_in; i++) {
        const struct vrt_dag_name *found = vrt_dag_names_find(&reader->blobs, reader->layer.in[i]);

        if (!found)
            return vrt_dag_refuse(reader->dag, "reads \"%s\", which no layer before it makes",
                                  vrt_ncnn_copied(reader->layer.in[i], name, sizeof(name)));
        reader->in[i] = reader->lists[found->value];
    }
    return 0;
}

/* Of a Slice's planes those of output i; `first` counts on. */
static struct vrt_plane_list slice(struct reader *reader, struct vrt_plane_list x, int i,
                                   int *first)
{
    const int left = x.n - *first, rest = left / (reader->layer.n_out - i);
    float n = vrt_ncnn_element(&reader->layer, 0, i, 0);

    n = n == REST ? (float)rest : n;
    if (text_int(reader, 1, 0) != 0 || !(n >= 1 && n <= (float)left)) {
        vrt_planes_refuse(reader->planes, "cuts %g of %d channels", (double)n, left);
        return none();
    }
    *first += (int)n;
    return vrt_planes_cut(x, *first - (int)n, (int)n);
}

static int put_outputs(struct reader *reader, struct vrt_plane_list made)
{
    const bool is_slice = vrt_text_is(reader->layer.type, "Slice");
    int first = 0;

    if (reader->layer.n_out != 1 && !is_slice && !vrt_text_is(reader->layer.type, "Split"))
        return vrt_dag_refuse(reader->dag, "makes %d blobs", reader->layer.n_out);
    for (int i = 0; i < reader->layer.n_out; i++) {
        if (reader->n_lists == reader->capacity) {
            const int capacity = reader->capacity ? 2 * reader->capacity : 256;
            struct vrt_plane_list *lists = reallocarray(reader->lists, (size_t)capacity,
                                                        sizeof(*lists));
            if (!lists)
                return vrt_refuse_errno(reader->dag->error, vrt_raise(-ENOMEM),
                                        reader->dag->source);
            reader->lists = lists;
            reader->capacity = capacity;
        }
        const struct vrt_plane_list list = is_slice ? slice(reader, made, i, &first) : made;
        int r = vrt_dag_names_put(&reader->blobs, reader->layer.out[i], reader->n_lists);
        if (r == -EEXIST)
            return vrt_dag_refuse(reader->dag, "makes a blob that another layer has made");
        if (r < 0)
            return vrt_refuse_errno(reader->dag->error, r, reader->dag->source);
        reader->lists[reader->n_lists++] = list;
    }
    return reader->planes->r;
}

static int read_layer(struct reader *reader)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kinds); i++) {
        if (!vrt_text_is(reader->layer.type, kinds[i].type))
            continue;
        if (reader->layer.n_in == 0 ? kinds[i].n_in != 0 :
            kinds[i].n_in >= 0 && kinds[i].n_in != reader->layer.n_in)
            return vrt_dag_refuse(reader->dag, "has %d inputs", reader->layer.n_in);
        int r = find_inputs(reader);
        if (r < 0)
            return r;
        const struct vrt_plane_list made = kinds[i].read(reader);
        return reader->planes->r < 0 ? reader->planes->r : put_outputs(reader, made);
    }
    return vrt_dag_refuse(reader->dag, "is a layer that no RIFE has that vrtd runs: 4.15 to 4.26, "
                          "not as an ensemble");
}

static int read_layers(struct reader *reader, struct vrt_ncnn_text *text,
                       struct vrt_carrier_rife *ret_ends)
{
    int r = 0;

    if (text->n_layers > LAYERS_MAX)
        return vrt_dag_refuse(reader->dag, "has %d layers, more than RIFE has", text->n_layers);
    for (int i = 0; i < text->n_layers && r == 0; i++) {
        reader->is_last = i + 1 == text->n_layers;
        r = vrt_ncnn_layer_take(text, &reader->layer);
        if (r == 0)
            r = read_layer(reader);
    }
    if (r < 0)
        return r;
    vrt_dag_set_where(reader->dag, ".bin", "");
    if (reader->weights.at != text->file->size_bytes)
        return vrt_dag_refuse(reader->dag, "has %zu bytes more than its layers need: it is that of "
                              "another network", text->file->size_bytes - reader->weights.at);
    vrt_dag_set_where(reader->dag, "network", "");
    if (reader->n_inputs != INPUTS || reader->n_lists == 0)
        return vrt_dag_refuse(reader->dag, "has %d inputs; RIFE has three: two pictures and the "
                              "time", reader->n_inputs);
    *ret_ends = (struct vrt_carrier_rife){
        .frames = { reader->inputs[0], reader->inputs[1] },
        .time = reader->inputs[2],
        .result = reader->lists[reader->n_lists - 1],
    };
    return 0;
}

int vrt_carrier_rife_read_ncnn(void *source, struct vrt_planes *planes,
                               struct vrt_carrier_rife *ret_ends)
{
    struct vrt_ncnn_text *text = source;
    VRT_CLEANUP(vrt_freep) struct reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return vrt_refuse_errno(text->dag->error, vrt_raise(-ENOMEM), text->dag->source);
    reader->planes = planes;
    reader->dag = text->dag;
    reader->weights = (struct vrt_ncnn_weights){ text->file, text->dag, text->end };
    int r = read_layers(reader, text, ret_ends);
    free(reader->lists);
    vrt_dag_names_done(&reader->blobs);
    return vrt_fold(r);
}
