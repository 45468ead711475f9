/* SPDX-License-Identifier: MIT */
/* A flat object needs no JSON library, only its strings escaped. */

#include "infer/report.h"

#include <inttypes.h>
#include <stdlib.h>

#define MIB (1024.0 * 1024.0)

static void print_string(FILE *stream, const char *key, const char *text)
{
    char printable[256];

    fprintf(stream, "\"%s\": \"", key);
    /* A path or a driver's name may be any bytes; JSON is UTF-8. */
    for (const char *c = vrt_printable(text, printable, sizeof(printable)); *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', stream);
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

/* A kind of ops that took any time. */
struct op_row {
    enum vrt_op_kind kind;
    int64_t ns;
};

static int by_time(const void *p, const void *q)
{
    const struct op_row *a = p, *b = q;

    return (a->ns < b->ns) - (a->ns > b->ns);
}

/* Kinds that there are, the longest first. Return: how many. */
static int sort_ops(const struct vrt_op_times *times, struct op_row rows[VRT_OP_KIND_COUNT],
                    int64_t *ret_total_ns)
{
    int n = 0;

    *ret_total_ns = 0;
    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        if (times->n_ops[kind])
            rows[n++] = (struct op_row){ (enum vrt_op_kind)kind, times->ns[kind] };
        *ret_total_ns += times->ns[kind];
    }
    qsort(rows, (size_t)n, sizeof(rows[0]), by_time);
    return n;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void print_json_ops(FILE *stream, const struct vrt_op_times *times)
{
    struct op_row rows[VRT_OP_KIND_COUNT];
    int64_t total_ns;
    int n = sort_ops(times, rows, &total_ns);

    if (n == 0)
        return;
    fputs("\"ops\": [", stream);
    for (int i = 0; i < n; i++)
        fprintf(stream, "%s{\"kind\": \"%s\", \"count\": %" PRId64 ", \"seconds\": %.9g, "
                "\"share\": %.6g, \"gflop_per_s\": %.6g}", i ? ", " : "",
                vrt_op_kind_name(rows[i].kind), times->n_ops[rows[i].kind],
                (double)rows[i].ns / 1e9, ratio((double)rows[i].ns, (double)total_ns),
                ratio((double)times->flops[rows[i].kind], (double)rows[i].ns));
    fputs("], ", stream);
}

static void print_ops(FILE *stream, const struct vrt_op_times *times)
{
    struct op_row rows[VRT_OP_KIND_COUNT];
    int64_t total_ns;
    int n = sort_ops(times, rows, &total_ns);

    if (n > 0)
        fprintf(stream, "\n%-18s %6s %12s %7s %9s\n", "OP", "COUNT", "TIME", "SHARE", "GFLOP/S");
    for (int i = 0; i < n; i++)
        fprintf(stream, "%-18s %6" PRId64 " %10.6f s %6.1f%% %9.1f\n",
                vrt_op_kind_name(rows[i].kind), times->n_ops[rows[i].kind],
                (double)rows[i].ns / 1e9, 100 * ratio((double)rows[i].ns, (double)total_ns),
                ratio((double)times->flops[rows[i].kind], (double)rows[i].ns));
}

void vrt_infer_print_json(FILE *stream, const char *model, const struct vrt_infer_report *report)
{
    fputc('{', stream);
    print_string(stream, "model", model);
    print_string(stream, "architecture", report->architecture);
    print_string(stream, "description", report->description);
    fprintf(stream, "\"parameters\": %" PRId64 ", \"radius\": %d, ", report->n_parameters,
            report->radius);
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
    print_json_ops(stream, &report->op_times);
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
    print_ops(stream, &report->op_times);
}
