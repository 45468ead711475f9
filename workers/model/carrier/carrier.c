/* SPDX-License-Identifier: MIT */

#include "model/carrier/carrier.h"

#include "engine/dag/ncnn.h"
#include "model/carrier/onnx.h"
#include "model/carrier/rife.h"

/* Of an ncnn file. Return: as vrt_carrier_read(). */
static int read_ncnn(const struct vrt_dag_file *file, struct vrt_dag *dag,
                     struct vrt_checkpoint **ret_checkpoint)
{
    struct vrt_ncnn_text text = { .file = file, .dag = dag };

    int r = vrt_ncnn_text_open(&text);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_carrier_rife_read(file, dag, vrt_carrier_rife_read_ncnn, &text,
                                          ret_checkpoint));
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
                    vrt_carrier_read_onnx(file, dag, ret_checkpoint));
}
