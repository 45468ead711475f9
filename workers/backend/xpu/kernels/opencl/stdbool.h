/* SPDX-License-Identifier: MIT */
#pragma once

/* OpenCL C has it built in. */
