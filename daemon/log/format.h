/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A log line as programs want it, and systemd's journal; for people: base/log.h
 *
 * Each fits into VRT_LOG_BYTES_MAX whatever it holds; a text that is too long is cut. Pure.
 */

#include <stddef.h>

#include "base/log.h"

/* One line, with its end: a JSON object (RFC 8259), whatever bytes the text has. Its keys: time
 * (RFC 3339, UTC), level, topic, job, device, user, file, line, function, message; absent: not
 * known. Return: bytes. */
size_t vrt_log_print_json(const struct vrt_log_record *record, char buffer[VRT_LOG_BYTES_MAX]);

/* One datagram as systemd's journal takes it (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/), with
 * MESSAGE, PRIORITY, CODE_FILE, CODE_LINE, CODE_FUNC, SYSLOG_IDENTIFIER, and our own VRTD_TOPIC,
 * VRTD_JOB, VRTD_DEVICE, VRTD_USER. Return: bytes. */
size_t vrt_log_print_journal(const struct vrt_log_record *record, char buffer[VRT_LOG_BYTES_MAX]);
