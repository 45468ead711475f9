/* SPDX-License-Identifier: MIT */

/* A library that has nothing of what is looked for in it. */

extern const int vrt_nothing;
const int vrt_nothing = 0;
