/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * GET /v1/events: Server-Sent Events
 *
 *     event: job          data: a job in its short form, whenever it changed
 *     event: device       data: a device as in GET /v1/devices, when its state changed
 *     : a comment         heartbeat, where nothing else was sent for VRT_API_HEARTBEAT_S
 *
 * A new stream begins with one event for every job that isn't over and for every device, so that
 * a reader needs no other request. "?job=12" asks for the events of one job alone (an unknown job
 * is a 404), begins with that job whatever its state, and ends after its final event.
 */

#include <stddef.h>

#include "base/buf.h"

enum vrt_event_kind {
    VRT_EVENT_JOB,
    VRT_EVENT_DEVICE,
    VRT_EVENT_KIND_COUNT,
};

extern const char *const vrt_event_names[];

/* The longest event that a reader accepts. */
#define VRT_EVENT_MAX_BYTES (64 * 1024)

/* Appends one event with `json`, a text without line breaks. Return: 0, -ENOMEM, -EMSGSIZE. */
int vrt_event_print(enum vrt_event_kind kind, const char *json, struct vrt_buf *buf) VRT_MUST_CHECK;

/* Appends a heartbeat. Return: 0, -ENOMEM, -EMSGSIZE. */
int vrt_event_print_heartbeat(struct vrt_buf *buf) VRT_MUST_CHECK;

/*
 * Takes the next whole event of a known kind from the front of a stream's bytes, comments and
 * events of other kinds skipped. Its data replaces what is in `data`.
 * Return: 1: there was one, *ret_kind is set; 0: more bytes are needed; -EMSGSIZE: an event over
 * the limit; -ENOMEM.
 */
int vrt_event_take(struct vrt_buf *stream, struct vrt_buf *data,
                   enum vrt_event_kind *ret_kind) VRT_MUST_CHECK;
