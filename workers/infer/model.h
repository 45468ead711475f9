/* SPDX-License-Identifier: MIT */
#pragma once

/* The model that the command line names. */

#include "model/network.h"

/*
 * Loads the built-in model of this name, else the checkpoint file of this path.
 * Return: 0; -errno, the error saying why.
 */
int vrt_infer_load_model(const char *model, struct vrt_network **ret_network,
                         struct vrt_error *error) VRT_MUST_CHECK;
