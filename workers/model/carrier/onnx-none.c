/* SPDX-License-Identifier: MIT */
/* Without the library that reads ONNX files, of which engine/dag/onnx-none.c says so before. */

#include "model/carrier/swinir.h"

int vrt_carrier_swinir_read_onnx(const struct vrt_dag_file *file, struct vrt_sketch *sketch,
                                 int *ret_channels, int *ret_result)
{
    (void)file;
    (void)ret_channels;
    (void)ret_result;
    return vrt_sketch_refuse(sketch, "can't be read");
}
