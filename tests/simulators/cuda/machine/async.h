/* SPDX-License-Identifier: MIT */
#pragma once

/* Copies to shared memory that a thread does not wait for at once (cp.async). */

namespace sim {

/* Forgets what the threads of the block before left under way. */
void async_begin_block();

}
