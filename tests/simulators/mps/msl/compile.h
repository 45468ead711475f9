/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts in MSL made libraries of the host's by translate.py, which stay: in the cache, and until
 * the end of the process. */

#include <stdbool.h>

#include "tests/simulators/mps/msl/include/machine.h"

struct mtl_wish {
    bool is_fast;                       /* arithmetic may be another than is written */
    unsigned version;                   /* of the language: 300, 310 */
};

/*
 * Not locked: it may take seconds. Compiles the text, unless that was done before; `ret_name` is
 * the cache's name of text and wish. Return: NULL: it is wrong, and *ret_log, to be freed, says
 * what.
 */
const struct vrt_msl_library *mtl_compile(const char *text, const struct mtl_wish *wish,
                                          char ret_name[17], char **ret_log);
