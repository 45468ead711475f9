/* SPDX-License-Identifier: MIT */

#include "model/carrier/carrier.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/dag/ncnn.h"
#include "model/carrier/rife.h"

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

int vrt_carrier_read(const struct vrt_dag_file *file, struct vrt_checkpoint **ret_checkpoint)
{
    VRT_CLEANUP(vrt_freep) struct vrt_planes *planes = malloc(sizeof(*planes));
    VRT_CLEANUP(vrt_dag_freep) struct vrt_dag *dag = NULL;
    struct vrt_carrier_tensors tensors = { 0 };

    if (!planes)
        return vrt_refuse_errno(file->error, vrt_raise(-ENOMEM), file->name);
    int r = vrt_dag_new(file->name, "ncnn", vrt_dag_file_values_max(file), file->error, &dag);
    if (r < 0)
        return vrt_fold(r);
    vrt_planes_init(planes, dag);
    r = read_rife(file, dag, planes, &tensors);
    if (r == 0)
        r = vrt_checkpoint_new(tensors.items, tensors.n_items, &(struct vrt_checkpoint_label){
            tensors.metadata[0], tensors.metadata[1] }, file->name, ret_checkpoint, file->error);
    vrt_carrier_tensors_done(&tensors);
    vrt_planes_done(planes);
    return vrt_fold(r);
}
