/* SPDX-License-Identifier: MIT */
#pragma once

/* Metal's language has it built in. */
