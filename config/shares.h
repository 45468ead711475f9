/* SPDX-License-Identifier: MIT */
#pragma once

/* Shares of devices as a file has them: "0.9, cpu:0=0.5". Thread: any. */

#include <stdbool.h>

#include "config/conf.h"

/* Reads `text` over the default in `shares`, which stands where `text` has none for all. Return:
 * whether it is valid; where it isn't nothing is changed. Whether there are such devices is another
 * question. */
bool vrt_conf_shares_parse(const char *text, struct vrt_conf_shares *shares);
