/* SPDX-License-Identifier: MIT */
#pragma once

/* What is text, of bytes from outside. Pure. */

/* Length in bytes of the well-formed UTF-8 sequence (RFC 3629) at `text`, which ends with a NUL
 * byte; 0: there is none. */
int vrt_utf8_length(const char *text);
