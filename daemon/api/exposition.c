/* SPDX-License-Identifier: MIT */

#include "daemon/api/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

static void append(struct vrt_exposition *exposition, const char *text, size_t size)
{
    if (exposition->r == 0)
        exposition->r = vrt_buf_append(exposition->buf, text, size);
}

static void append_text(struct vrt_exposition *exposition, const char *text)
{
    append(exposition, text, strlen(text));
}

/* Between the quotes of a label: what would end them, or the line, is escaped. */
static void append_value(struct vrt_exposition *exposition, const char *value)
{
    for (const char *p = value; *p;) {
        const int length = vrt_utf8_length(p);
        if (*p == '\\' || *p == '"')
            append(exposition, "\\", 1);
        if (*p == '\n')
            append(exposition, "\\n", 2);
        else
            append(exposition, length ? p : "?", (size_t)(length ? length : 1));
        p += length ? length : 1;
    }
}

/* The shortest text that reads as this number again, so that 0.1 is "0.1". */
static void append_number(struct vrt_exposition *exposition, double value)
{
    char text[32];

    if (isinf(value)) {
        append_text(exposition, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    append_text(exposition, text);
}

void vrt_exposition_begin(struct vrt_exposition *exposition, const char *name, const char *type,
                          const char *help)
{
    exposition->family = name;
    if (exposition->r == 0)
        exposition->r = vrt_buf_printf(exposition->buf, "# HELP %s %s\n# TYPE %s %s\n", name, help,
                                       name, type);
}

void vrt_exposition_add(struct vrt_exposition *exposition, const struct vrt_sample *sample,
                        double value)
{
    const struct vrt_label *labels = sample->labels;
    size_t n = 0;

    if (isnan(value))
        return;
    append_text(exposition, exposition->family);
    append_text(exposition, sample->suffix ? sample->suffix : "");
    for (; n < VRT_EXPOSITION_LABELS_MAX && labels[n].name; n++) {
        append_text(exposition, n ? "," : "{");
        append_text(exposition, labels[n].name);
        append_text(exposition, "=\"");
        append_value(exposition, labels[n].value);
        append_text(exposition, "\"");
    }
    append_text(exposition, n ? "} " : " ");
    append_number(exposition, value);
    append_text(exposition, "\n");
}
