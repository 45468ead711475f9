/* SPDX-License-Identifier: MIT */
#pragma once

/* The keywords that MSL adds to C++. */

#define thread
#define kernel

#ifdef VRT_MSL_STRICT
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
/* Only declared, or what is a class would be constructed, which no class can be there. */
#define VRT_MSL_GROUP_STORAGE extern __attribute__((address_space(3)))
#else
#define device
#define constant const
#define threadgroup
/* Of one thread of the host, which runs one threadgroup: the machine poisons it before each. */
#define VRT_MSL_GROUP_STORAGE static thread_local
#endif

/* What only the machine needs: a body in one compilation, a declaration in the other. */
#ifdef VRT_MSL_STRICT
#define VRT_MSL_BODY(...) ;
#else
#define VRT_MSL_BODY(...) { __VA_ARGS__ }
#endif
