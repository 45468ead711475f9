/* SPDX-License-Identifier: MIT */
#pragma once

/* What conn.c and stream.c share. */

#include <curl/curl.h>

#include "client/conn.h"

struct vrt_conn {
    char path[256], printable[256];
    int64_t timeout_s;
    bool curl_ready;
    CURL *easy;
    const volatile sig_atomic_t *interrupt;     /* set by a signal; NULL: by none */
};

/* Makes `easy` anew: what every request to the daemon has in common. `path` has its query. */
void vrt_conn_prepare(const struct vrt_conn *conn, CURL *easy, const char *path);

/* Says why curl failed. Return: VRT_CONN_E_*, -ENOMEM. */
int vrt_conn_curl_failed(const struct vrt_conn *conn, CURL *easy, CURLcode code,
                         struct vrt_error *error);

/* Says why the daemon refused, by the body of its answer. Return: VRT_CONN_E_*. */
int vrt_conn_refused(const struct vrt_conn *conn, long status, const struct vrt_buf *answer,
                     struct vrt_error *error);
