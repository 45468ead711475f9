/* SPDX-License-Identifier: MIT */

#include "backend/op/tensor.h"

#include "base/error.h"

#define MAX_DIM (1 << 20)
#define MAX_EXTENT (INT64_C(1) << 36)

static const struct {
    const char *name;
    size_t size_bytes;
} dtypes[] = {
    [VRT_DTYPE_F32] = { "f32", 4 },
    [VRT_DTYPE_F16] = { "f16", 2 },
    [VRT_DTYPE_BF16] = { "bf16", 2 },
    [VRT_DTYPE_U8] = { "u8", 1 },
    [VRT_DTYPE_U16] = { "u16", 2 },
};

_Static_assert(VRT_ARRAY_SIZE(dtypes) == VRT_DTYPE_COUNT, "every dtype has its line");

size_t vrt_dtype_size(enum vrt_dtype dtype)
{
    vrt_assert(dtype < VRT_DTYPE_COUNT);
    return dtypes[dtype].size_bytes;
}

const char *vrt_dtype_name(enum vrt_dtype dtype)
{
    return dtype < VRT_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

int64_t vrt_shape_count(struct vrt_shape shape)
{
    return (int64_t)shape.d * shape.h * shape.w * shape.c;
}

bool vrt_shape_equal(struct vrt_shape a, struct vrt_shape b)
{
    return a.d == b.d && a.h == b.h && a.w == b.w && a.c == b.c;
}

static bool dim_in_range(int n)
{
    return n >= 1 && n <= MAX_DIM;
}

const char *vrt_tensor_check(const struct vrt_tensor *t)
{
    const struct vrt_shape s = t->shape;

    if (!dim_in_range(s.d) || !dim_in_range(s.h) || !dim_in_range(s.w) || !dim_in_range(s.c))
        return "a dimension is out of range";
    if (t->offset < 0 || t->offset > MAX_EXTENT)
        return "a view's offset is out of range";

    int64_t extent = s.c;
    const struct {
        int64_t n, stride;
    } runs[] = { { s.w, t->stride_w }, { s.h, t->stride_h }, { s.d, t->stride_d } };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(runs); i++) {
        if (runs[i].n == 1)
            continue;
        if (runs[i].stride < extent || runs[i].stride > MAX_EXTENT / runs[i].n)
            return "a stride is shorter than what it steps over, or out of range";
        extent += (runs[i].n - 1) * runs[i].stride;
    }
    return extent > MAX_EXTENT ? "a tensor is too large" : NULL;
}

struct vrt_tensor vrt_tensor_dense(enum vrt_dtype dtype, struct vrt_shape shape)
{
    return (struct vrt_tensor){
        .dtype = dtype,
        .shape = shape,
        .stride_w = shape.c,
        .stride_h = (int64_t)shape.w * shape.c,
        .stride_d = (int64_t)shape.h * shape.w * shape.c,
        .storage = -1,
    };
}

int64_t vrt_tensor_extent(const struct vrt_tensor *t)
{
    return (t->shape.d - 1) * t->stride_d + (t->shape.h - 1) * t->stride_h +
           (t->shape.w - 1) * t->stride_w + t->shape.c;
}

/* `t` with its start moved by `elements`. */
static struct vrt_tensor moved(const struct vrt_tensor *t, int64_t elements)
{
    struct vrt_tensor view = *t;

    view.offset += elements;
    view.offset_bytes += (size_t)elements * vrt_dtype_size(t->dtype);
    return view;
}

struct vrt_tensor vrt_tensor_channels(const struct vrt_tensor *t, int first, int count)
{
    vrt_assert(first >= 0 && count > 0 && first <= t->shape.c - count);
    struct vrt_tensor view = moved(t, first);
    view.shape.c = count;
    return view;
}

struct vrt_tensor vrt_tensor_crop(const struct vrt_tensor *t, int y, int x, int h, int w)
{
    vrt_assert(y >= 0 && h > 0 && y <= t->shape.h - h);
    vrt_assert(x >= 0 && w > 0 && x <= t->shape.w - w);
    struct vrt_tensor view = moved(t, y * t->stride_h + x * t->stride_w);
    view.shape.h = h;
    view.shape.w = w;
    return view;
}

struct vrt_tensor vrt_tensor_frames(const struct vrt_tensor *t, int first, int count)
{
    vrt_assert(first >= 0 && count > 0 && first <= t->shape.d - count);
    struct vrt_tensor view = moved(t, first * t->stride_d);
    view.shape.d = count;
    return view;
}

/* A view as a box in the coordinates (frame, row, column, channel) that its strides span. */
struct box {
    int64_t first[4], count[4];
};

/* Return: whether the view is such a box, that is, none of its runs wraps into the next row. */
static bool box_of(const struct vrt_tensor *t, struct box *ret_box)
{
    const int64_t sd = t->stride_d, sh = t->stride_h, sw = t->stride_w;
    const struct vrt_shape s = t->shape;

    if (sw <= 0 || sh <= 0 || sd <= 0 || sh % sw || sd % sh)
        return false;
    *ret_box = (struct box){
        .first = { t->offset / sd, t->offset % sd / sh, t->offset % sh / sw, t->offset % sw },
        .count = { s.d, s.h, s.w, s.c },
    };
    return ret_box->first[1] + s.h <= sd / sh && ret_box->first[2] + s.w <= sh / sw &&
           ret_box->first[3] + s.c <= sw;
}

bool vrt_tensor_overlaps(const struct vrt_tensor *a, const struct vrt_tensor *b)
{
    struct box u, v;

    if (!vrt_tensor_exists(a) || !vrt_tensor_exists(b) || a->storage != b->storage)
        return false;
    const int64_t size_a = (int64_t)vrt_dtype_size(a->dtype);
    const int64_t size_b = (int64_t)vrt_dtype_size(b->dtype);
    if ((a->offset + vrt_tensor_extent(a)) * size_a <= b->offset * size_b ||
        (b->offset + vrt_tensor_extent(b)) * size_b <= a->offset * size_a)
        return false;
    if (size_a != size_b || a->stride_d != b->stride_d || a->stride_h != b->stride_h ||
        a->stride_w != b->stride_w || !box_of(a, &u) || !box_of(b, &v))
        return true;
    for (int i = 0; i < 4; i++)
        if (u.first[i] + u.count[i] <= v.first[i] || v.first[i] + v.count[i] <= u.first[i])
            return false;
    return true;
}
