/* SPDX-License-Identifier: MIT */

#include "engine/dag/read.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "engine/checkpoint/image.h"

#define BEGINNING_BYTES 64

/* Numbers that a network may have; of each number that a file holds a few may be made. */
#define VALUES_MAX (INT64_C(1) << 28)
#define VALUES_MIN (1 << 20)

#define NCNN_MAGIC "7767517"

int64_t vrt_dag_file_values_max(const struct vrt_dag_file *file)
{
    return VRT_MIN(VALUES_MAX, (int64_t)VRT_MIN(file->size_bytes, (size_t)VALUES_MAX) + VALUES_MIN);
}

int vrt_dag_file_need(const struct vrt_dag_file *file, size_t begin, size_t n_bytes)
{
    if (!file->image)
        return 0;
    int r = vrt_image_need(file->image, begin, n_bytes);
    if (r == -ENODATA)
        return vrt_refuse(file->error, -EINVAL, "model.invalid",
                          "%s became shorter while it was read", file->name);
    return r < 0 ? vrt_refuse_errno(file->error, vrt_fold(r), file->name) : 0;
}

/* Field 1 (ir_version) comes first, a small number; then another field, by its number and type. */
static bool is_onnx(const uint8_t *data, size_t n)
{
    if (n < 16 || data[0] != 0x08 || data[1] < 1 || data[1] > 0x20 || data[2] == 0)
        return false;
    /* A .safetensors file begins with the length of its header, of 8 bytes. */
    return !(data[8] == '{' && data[4] == 0 && data[5] == 0 && data[6] == 0 && data[7] == 0) &&
           ((data[2] & 7) == 2 || (data[2] & 7) == 0) && data[2] >> 3 <= 25;
}

bool vrt_dag_file_is_ncnn(const struct vrt_dag_file *file)
{
    const size_t n_magic = strlen(NCNN_MAGIC);

    return file->size_bytes > n_magic && memcmp(file->data, NCNN_MAGIC, n_magic) == 0;
}

int vrt_dag_read(const struct vrt_dag_file *file, struct vrt_dag **ret_dag)
{
    const size_t n = VRT_MIN(file->size_bytes, BEGINNING_BYTES);

    int r = vrt_dag_file_need(file, 0, n);
    if (r < 0)
        return vrt_fold(r);
    *ret_dag = NULL;
    if (vrt_dag_file_is_ncnn(file))
        return vrt_fold(vrt_ncnn_read(file, ret_dag));
    return is_onnx(file->data, n) ? vrt_fold(vrt_onnx_read(file, ret_dag)) : 0;
}
