/* SPDX-License-Identifier: MIT */
/* A flat object needs no JSON library, only its strings escaped. */

#include "infer/report.h"

#include <inttypes.h>

#define MIB (1024.0 * 1024.0)

static void print_string(FILE *stream, const char *key, const char *text)
{
    fprintf(stream, "\"%s\": \"", key);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(stream, "\\u%04x", *c);
        else
            fputc(*c, stream);
    }
    fputs("\", ", stream);
}

static void print_dims(FILE *stream, const char *key, const int dims[4])
{
    fprintf(stream, "\"%s\": [%d, %d, %d, %d], ", key, dims[0], dims[1], dims[2], dims[3]);
}

static double rate(const struct vrt_infer_report *report)
{
    return report->median_s > 0 ? report->gflop / report->median_s : 0;
}

void vrt_infer_print_json(FILE *stream, const char *model, const struct vrt_infer_report *report)
{
    char printable[256];

    fputc('{', stream);
    /* A path may be any bytes; JSON is UTF-8. */
    print_string(stream, "model", vrt_printable(model, printable, sizeof(printable)));
    print_string(stream, "architecture", report->architecture);
    print_string(stream, "description", report->description);
    fprintf(stream, "\"parameters\": %" PRId64 ", ", report->n_parameters);
    print_string(stream, "device", report->device);
    print_string(stream, "device_description", report->device_description);
    fprintf(stream, "\"threads\": %d, ", report->n_threads);
    print_string(stream, "precision", vrt_dtype_name(report->dtype));
    print_dims(stream, "input_shape", report->in_dims);
    print_dims(stream, "output_shape", report->out_dims);
    fprintf(stream, "\"runs\": %d, \"min_s\": %.9g, \"median_s\": %.9g, ", report->n_runs,
            report->min_s, report->median_s);
    fprintf(stream, "\"gflop\": %.9g, \"gflop_per_s\": %.6g, ", report->gflop, rate(report));
    fprintf(stream, "\"planned_peak_bytes\": %" PRId64 ", ", report->planned_bytes);
    fprintf(stream, "\"weights_bytes\": %" PRId64 ", \"arena_bytes\": %" PRId64
            ", \"input_output_bytes\": %" PRId64 ", ", report->weights_bytes, report->arena_bytes,
            report->io_bytes);
    if (report->measured_bytes >= 0)
        fprintf(stream, "\"measured_peak_bytes\": %" PRId64 "}\n", report->measured_bytes);
    else
        fputs("\"measured_peak_bytes\": null}\n", stream);
}

void vrt_infer_print(FILE *stream, const struct vrt_infer_report *report)
{
    const int *in = report->in_dims, *out = report->out_dims;

    fprintf(stream, "network   %s, %" PRId64 " parameters\n", report->description,
            report->n_parameters);
    fprintf(stream, "device    %s: %s, %s\n", report->device, report->device_description,
            vrt_dtype_name(report->dtype));
    fprintf(stream, "shape     [%d, %d, %d, %d] to [%d, %d, %d, %d]\n", in[0], in[1], in[2],
            in[3], out[0], out[1], out[2], out[3]);
    fprintf(stream, "time      %.6f s at best, %.6f s in the median of %d\n", report->min_s,
            report->median_s, report->n_runs);
    fprintf(stream, "work      %.3f GFLOP, %.1f GFLOP/s\n", report->gflop, rate(report));
    fprintf(stream, "memory    %.1f MiB planned (weights %.1f, arena %.1f, input and output %.1f)",
            (double)report->planned_bytes / MIB, (double)report->weights_bytes / MIB,
            (double)report->arena_bytes / MIB, (double)report->io_bytes / MIB);
    if (report->measured_bytes >= 0)
        fprintf(stream, ", %.1f MiB measured", (double)report->measured_bytes / MIB);
    fputc('\n', stream);
}
