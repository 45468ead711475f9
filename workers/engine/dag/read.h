/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The files that graphs are read from
 *
 * An ncnn network is two files, .param (text: the layers) and .bin (their weights); here it is one,
 * the text with the weights right behind its last line (base/io/model-file.h joins them).
 *
 * Thread: any.
 */

#include "engine/dag/dag.h"

struct vrt_image;

/* Bytes, of which those are there that image_need() was asked for. */
struct vrt_dag_file {
    const uint8_t *data;
    size_t size_bytes;
    struct vrt_image *image;        /* whose they are; NULL: the caller's, and all there */
    const char *name;               /* what messages call it, printable */
    struct vrt_error *error;
};

/* The graph is that of a network of which files carry weights alone: model/carrier/ reads it. */
#define VRT_DAG_E_CARRIER 1

/*
 * Reads the file's graph.
 * Return: 0, *ret_dag NULL where the file is of no format with graphs; VRT_DAG_E_CARRIER; -EINVAL
 * where the content was refused (error->id is "model.invalid"); another -errno. The file's error
 * says why.
 */
int vrt_dag_read(const struct vrt_dag_file *file, struct vrt_dag **ret_dag) VRT_MUST_CHECK;

/* Whether it is ncnn's text; its beginning was read before. */
bool vrt_dag_file_is_ncnn(const struct vrt_dag_file *file);

/* For the formats: has n_bytes at `begin` read, or says why not. Return: 0; -errno. */
int vrt_dag_file_need(const struct vrt_dag_file *file, size_t begin, size_t n_bytes)
    VRT_MUST_CHECK;

/* How many numbers its constants may have in sum. */
int64_t vrt_dag_file_values_max(const struct vrt_dag_file *file);

/* The formats. Return: as of vrt_dag_read(). */
int vrt_ncnn_read(const struct vrt_dag_file *file, struct vrt_dag **ret_dag) VRT_MUST_CHECK;
int vrt_onnx_read(const struct vrt_dag_file *file, struct vrt_dag **ret_dag) VRT_MUST_CHECK;
