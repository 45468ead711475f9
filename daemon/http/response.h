/* SPDX-License-Identifier: MIT */
#pragma once

/* Answers as HTTP has them. Thread: any. */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define VRT_RESPONSE_HEAD_MAX_BYTES 2048        /* of the status line and the headers */

struct vrt_response {
    int status;
    const char *body;               /* NULL: none */
    size_t body_bytes;
    const char *type;               /* of the body; NULL: JSON */
    const char *header;             /* another line, "Allow: GET"; NULL: none */
    const char *cache;              /* what Cache-Control says; NULL: "no-store" */
    const char *common;             /* lines, each with its CR LF, that the connection's answers
                                     * have: conn-answer.c's own; NULL: none */
};

/*
 * Appends an answer; `keep_alive`: more may follow on the connection; `with_body`: false for HEAD,
 * whose answer only says how long the body is. Return: 0, -errno as vrt_buf_append().
 */
int vrt_response_print(const struct vrt_response *response, bool keep_alive, bool with_body,
                       struct vrt_buf *buf) VRT_MUST_CHECK;
