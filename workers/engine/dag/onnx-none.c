/* SPDX-License-Identifier: MIT */
/* Without the library that reads ONNX files. */

#include <errno.h>

#include "engine/dag/read.h"

int vrt_onnx_read(const struct vrt_dag_file *file, struct vrt_dag **ret_dag)
{
    (void)ret_dag;
    return vrt_refuse(file->error, -EINVAL, "model.invalid",
                      "%s looks like an ONNX file, which this vrtd was built without: build it "
                      "where libprotobuf-c and protoc-c are installed", file->name);
}
