/* SPDX-License-Identifier: MIT */

/* What backends looked for. Without state: each plugin has it linked in. */

#include <stdarg.h>
#include <stdio.h>

#include "backend/backend-impl.h"
#include "base/log.h"

void vrt_finding_add(struct vrt_findings *findings, const struct vrt_finding *finding,
                     const char *format, ...)
{
    struct vrt_finding whole = *finding;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(whole.text, sizeof(whole.text), format, arguments);
    va_end(arguments);
    vrt_log_line(whole.kind == VRT_FINDING_THERE ? VRT_LOG_DEBUG : VRT_LOG_INFO, whole.backend,
                 VRT_LOG_HERE, "%s", whole.text);
    if (findings && findings->n < VRT_FINDINGS_MAX)
        findings->list[findings->n++] = whole;
}
