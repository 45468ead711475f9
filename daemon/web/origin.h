/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whether a request was meant for vrtd, by the page that sends it
 *
 * A page of somebody else's may have its name lead to our address (DNS rebinding): then Host says
 * that name. Or it sends requests to us, to which a browser adds our cookie: then Origin is that
 * page's. https://fetch.spec.whatwg.org/#origin-header, RFC 9110 section 7.2
 *
 * Pure. Thread: any.
 */

#include <stdbool.h>

/*
 * Whether `host`, what Host says, is ours: the address `local` that the connection came to, as
 * vrtd's is; "localhost", where that is one of the machine's own; or one of the names in `names`,
 * with spaces between. Ports aren't looked at: who forwards one, uses another.
 */
bool vrt_origin_is_host_ours(const char *host, const char *local, const char *names);

/* Whether `origin`, what Origin says, is the page's at `host`: "https://HOST" where `is_https`,
 * else "http://HOST". */
bool vrt_origin_is_page(const char *origin, const char *host, bool is_https);
