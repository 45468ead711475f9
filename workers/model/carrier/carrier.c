/* SPDX-License-Identifier: MIT */

#include "model/carrier/carrier.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/dag/ncnn.h"
#include "model/carrier/rife.h"
#include "model/carrier/swinir.h"

static int read_rife(const struct vrt_dag_file *file, struct vrt_dag *dag,
                     struct vrt_planes *planes, struct vrt_carrier_tensors *tensors)
{
    struct vrt_ncnn_text text = { .file = file, .dag = dag };
    struct vrt_carrier_rife ends;

    int r = vrt_ncnn_text_open(&text);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_carrier_rife_read_ncnn(&text, planes, &ends);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_carrier_rife_find(planes, &ends, tensors));
}

/* Of an ncnn file. Return: as vrt_carrier_read(). */
static int read_ncnn(const struct vrt_dag_file *file, struct vrt_dag *dag,
                     struct vrt_checkpoint **ret_checkpoint)
{
    VRT_CLEANUP(vrt_freep) struct vrt_planes *planes = malloc(sizeof(*planes));
    struct vrt_carrier_tensors tensors = { 0 };

    if (!planes)
        return vrt_refuse_errno(file->error, vrt_raise(-ENOMEM), file->name);
    vrt_planes_init(planes, dag);
    int r = read_rife(file, dag, planes, &tensors);
    if (r == 0)
        r = vrt_carrier_tensors_to_checkpoint(&tensors, file->name, ret_checkpoint, file->error);
    vrt_carrier_tensors_done(&tensors);
    vrt_planes_done(planes);
    return vrt_fold(r);
}

/* Of an ONNX file. Return: as vrt_carrier_read(). */
static int read_onnx(const struct vrt_dag_file *file, struct vrt_dag *dag,
                     struct vrt_checkpoint **ret_checkpoint)
{
    struct vrt_sketch sketch = { .dag = dag };
    struct vrt_carrier_tensors tensors = { 0 };
    int channels = 0, result = 0;
    int r = vrt_carrier_swinir_read_onnx(file, &sketch, &channels, &result);

    if (r >= 0)
        r = vrt_carrier_swinir_find(&sketch, channels, result, &tensors);
    if (r >= 0)
        r = vrt_carrier_tensors_to_checkpoint(&tensors, file->name, ret_checkpoint, file->error);
    vrt_carrier_tensors_done(&tensors);
    vrt_sketch_done(&sketch);
    return vrt_fold(r);
}

int vrt_carrier_read(const struct vrt_dag_file *file, struct vrt_checkpoint **ret_checkpoint)
{
    VRT_CLEANUP(vrt_dag_freep) struct vrt_dag *dag = NULL;
    const bool is_ncnn = vrt_dag_file_is_ncnn(file);

    int r = vrt_dag_new(file->name, is_ncnn ? "ncnn" : "ONNX", vrt_dag_file_values_max(file),
                        file->error, &dag);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(is_ncnn ? read_ncnn(file, dag, ret_checkpoint) :
                    read_onnx(file, dag, ret_checkpoint));
}
