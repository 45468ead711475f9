/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Memory of a device, as the host's pages
 *
 * An allocation ends where a page does (but for what rounds it up to the alignment), with an
 * inaccessible one behind it; and while no work of a device is done none of it can be touched, so
 * that host code that uses a device's address ends there and then. With ASan it is the allocator's
 * instead: exact at both ends, but open to the host.
 */

#include <cstddef>

namespace sim {

/* Returns NULL where there is no memory. The first 256 MiB are 0xff, the rest 0. */
void *guarded_new(size_t n_bytes);
void guarded_free(void *data, size_t n_bytes);

/* Lets everybody at it, or nobody. */
void guarded_open(void *data, size_t n_bytes, bool open);

}
