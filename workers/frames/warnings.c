/* SPDX-License-Identifier: MIT */

/* Sentences are cut and counted rather than allocated: a warning cannot fail. */

#include "frames/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vrt_warnings_add(struct vrt_warnings *warnings, const char *format, ...)
{
    /* All of it goes to other processes. */
    char sentence[sizeof(warnings->sentences[0])] = { 0 };
    va_list args;

    if (!warnings)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);

    for (int i = 0; i < warnings->n; i++)
        if (strcmp(warnings->sentences[i], sentence) == 0)
            return;
    if (warnings->n == VRT_WARNINGS_MAX) {
        warnings->n_lost++;
        return;
    }
    memcpy(warnings->sentences[warnings->n++], sentence, sizeof(sentence));
}

void vrt_warnings_merge(struct vrt_warnings *warnings, const struct vrt_warnings *from)
{
    for (int i = 0; i < from->n; i++)
        vrt_warnings_add(warnings, "%s", from->sentences[i]);
    if (warnings)
        warnings->n_lost += from->n_lost;
}
