/* SPDX-License-Identifier: MIT */
#pragma once

/* Four factors, FACTOR being what the build says a kernel multiplies: as they lie in a group's
 * memory, and in a device's, where they are aligned as one is. */

#define FACTORS_PASTED(prefix, type) prefix##type##4
#define FACTORS_OF(prefix, type) FACTORS_PASTED(prefix, type)
#define FACTORS FACTORS_OF(, FACTOR)
#define PACKED_FACTORS FACTORS_OF(packed_, FACTOR)
