/* SPDX-License-Identifier: MIT */
#pragma once

/* The folder of models: which of its files are some, and by what name. Thread: any. */

#include <stddef.h>

#include "api.h"
#include "base/macro.h"

/* Room for the name of a file that a model's name stands for. */
#define VRT_MODELS_FILE_BYTES (VRT_API_NAME_BYTES + 16)

/* Opens the file `name`, which holds no slash. Return: fd, -errno. */
int vrt_models_folder_open(const char *folder, const char *name);

/* The same for a model's name, with or without ending; the file's own is in `ret_file` then. */
int vrt_models_folder_open_model(const char *folder, const char *name,
                                 char ret_file[VRT_MODELS_FILE_BYTES]);
