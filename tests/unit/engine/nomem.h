/* SPDX-License-Identifier: MIT */
#pragma once

/* Allocations that fail, in programs that are linked with nomem_link_args. */

#include <stdbool.h>

/* From now on the nth allocation fails, and no other. */
void nomem_begin(int n);

/* No allocation fails from now on. Return: whether one did. */
bool nomem_end(void);

/* One more allocation. Return: whether it is to fail. */
bool nomem_fails(void);
