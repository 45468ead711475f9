/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A listener on a thread of its own, and clients for tests
 *
 * Its routes:  /echo    answers with method, path, query and body, one a line
 *              /later   answers the same after 30 ms
 *              /never   waits until the client vanishes
 *              /files   answers with how many files came, and the first bytes of each
 *              /keep    the same, and keeps the files open until http_play_stop()
 *              /stream  an event every millisecond
 *              /large   an answer of 1 MiB
 *              /headers answers with the headers that mean something, one a line
 *              /v1/uploads  answers with its body; of small pieces it takes one in a turn; with a
 *                       query it is refused before
 * anything else is refused as route.not_found.
 */

#include <stdbool.h>
#include <stddef.h>

#include "daemon/http/conn.h"
#include "daemon/access/quota.h"

#define HTTP_PLAY_UNREAD_BYTES (4 << 20)       /* that may wait for a user */

#define HTTP_PLAY_PIECE_BYTES 1000             /* from there on a piece isn't small */

#define HTTP_PLAY_MANY ((struct vrt_quota_limit){ 512, 512 })

/* The header that each request needs. */
#define HOST "Host: x\r\n"

struct http_play;

/* Starts the server; it ends the test if that fails. */
struct http_play *http_play_start(const struct vrt_conn_limits *limits,
                                  struct vrt_quota_limit conns);

/* With the API's limits: what is not about time must not depend on it. Many connections. */
struct http_play *http_play_start_usual(void);

/* Ends the server, whatever its clients do; http_play_stop() is still due. */
void http_play_halt(struct http_play *play);

/* Stops it; checks that the loop closes clean, that no descriptor is left and no charge. */
void http_play_stop(struct http_play *play);

/* How often a client vanished while it was watched, so far. */
int http_play_n_gone(const struct http_play *play);

/* A client of it, as http_client_connect() makes one. */
int http_play_connect(const struct http_play *play);
