/* SPDX-License-Identifier: MIT */

#include "model/carrier/onnx.h"

#include <errno.h>
#include <stdlib.h>

#include "model/carrier/onnx/graph.h"
#include "model/carrier/rife.h"
#include "model/carrier/swinir.h"

/* Of a graph of attention. Return: as vrt_carrier_read(). */
static int read_swinir(const struct vrt_dag_file *file, struct vrt_carrier_onnx *onnx,
                       struct vrt_checkpoint **ret_checkpoint)
{
    struct vrt_sketch sketch = { .dag = onnx->onnx.dag };
    struct vrt_carrier_tensors tensors = { 0 };
    int channels = 0, result = 0;
    int r = vrt_carrier_swinir_read_onnx(onnx, &sketch, &channels, &result);

    if (r >= 0)
        r = vrt_carrier_swinir_find(&sketch, channels, result, &tensors);
    if (r >= 0)
        r = vrt_carrier_tensors_to_checkpoint(&tensors, file->name, ret_checkpoint, file->error);
    vrt_carrier_tensors_done(&tensors);
    vrt_sketch_done(&sketch);
    return vrt_fold(r);
}

int vrt_carrier_read_onnx(const struct vrt_dag_file *file, struct vrt_dag *dag,
                          struct vrt_checkpoint **ret_checkpoint)
{
    VRT_CLEANUP(vrt_freep) struct vrt_carrier_onnx *onnx = calloc(1, sizeof(*onnx));

    if (!onnx)
        return vrt_refuse_errno(file->error, vrt_raise(-ENOMEM), file->name);
    int r = vrt_carrier_onnx_open(onnx, file, dag);
    if (r >= 0)
        r = vrt_carrier_onnx_has(onnx, "GridSample") ?
            vrt_carrier_rife_read(file, dag, vrt_carrier_rife_read_onnx, onnx, ret_checkpoint) :
            read_swinir(file, onnx, ret_checkpoint);
    vrt_carrier_onnx_done(onnx);
    return vrt_fold(r);
}
