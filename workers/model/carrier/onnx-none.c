/* SPDX-License-Identifier: MIT */
/* Without the library that reads ONNX files, of which engine/dag/onnx-none.c says so before. */

#include "model/carrier/onnx.h"

int vrt_carrier_read_onnx(const struct vrt_dag_file *file, struct vrt_dag *dag,
                          struct vrt_checkpoint **ret_checkpoint)
{
    (void)file;
    (void)ret_checkpoint;
    return vrt_dag_refuse(dag, "can't be read");
}
