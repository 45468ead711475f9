/* SPDX-License-Identifier: MIT */
/* All classes that there are. */

#include "tests/simulators/mps/foundation/foundation.h"
#include "tests/simulators/mps/metal/archive.h"
#include "tests/simulators/mps/queue/encoder.h"
#include "tests/simulators/mps/runtime/runtime.h"

MTL_EXPORT const struct mtl_class *const mtl_classes[] = {
    &mtl_root_class,
    &mtl_string_class,
    &mtl_error_class,
    &mtl_array_class,
    &mtl_url_class,
    &mtl_process_info_class,
    &mtl_device_class,
    &mtl_buffer_class,
    &mtl_compile_options_class,
    &mtl_library_class,
    &mtl_function_class,
    &mtl_pipeline_class,
    &mtl_pipeline_descriptor_class,
    &mtl_archive_class,
    &mtl_archive_descriptor_class,
    &mtl_event_class,
    &mtl_queue_class,
    &mtl_command_buffer_class,
    &mtl_compute_encoder_class,
    &mtl_blit_encoder_class,
    NULL,
};
