/* SPDX-License-Identifier: MIT */
/*
 * Writes a VRT of full size, or a small one, whose weights follow from their names: what the
 * published checkpoints cost to run, without having one. The file is a .safetensors, whatever its
 * name.
 *
 * usage: make-vrt NUMBER FILE
 *     NUMBER  which of the published networks, 1 (001_VRT_videosr_bi_REDS_6frames) to 9; or 0: the
 *             smallest network that has every part, x2; or "between": the smallest that makes a
 *             frame between two
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tests/unit/model/vrt-sizes.h"
#include "tests/unit/model/weight-rule.h"

#define SEED 1234

struct writer {
    struct vrt_sizes_visitor visitor;
    struct vrt_buf header;
    uint64_t n_values;
    FILE *file;
    int r;
};

static size_t count(const int *dims, int n_dims)
{
    size_t n = 1;

    for (int i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    return n;
}

static void describe(struct vrt_sizes_visitor *visitor, enum vrt_sizes_kind kind, const char *name,
                     const int *dims, int n_dims)
{
    struct writer *w = (struct writer *)visitor;
    uint64_t n = count(dims, n_dims);

    if (kind != VRT_SIZES_PARAM || w->r < 0)
        return;
    w->r = vrt_buf_printf(&w->header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[",
                          w->n_values ? "," : "", name);
    for (int i = 0; i < n_dims && w->r == 0; i++)
        w->r = vrt_buf_printf(&w->header, "%s%d", i ? "," : "", dims[i]);
    if (w->r == 0)
        w->r = vrt_buf_printf(&w->header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                              w->n_values * sizeof(float), (w->n_values + n) * sizeof(float));
    w->n_values += n;
}

static void write_values(struct vrt_sizes_visitor *visitor, enum vrt_sizes_kind kind,
                         const char *name, const int *dims, int n_dims)
{
    struct writer *w = (struct writer *)visitor;
    size_t n = count(dims, n_dims);

    if (kind != VRT_SIZES_PARAM || w->r < 0)
        return;
    float *values = malloc(n * sizeof(*values));
    if (!values) {
        w->r = -1;
        return;
    }
    rule_fill_vrt(name, SEED, dims, n_dims, RULE_FLOW_STEADY, values);
    if (fwrite(values, sizeof(*values), n, w->file) != n)
        w->r = -1;
    free(values);
}

int main(int argc, char **argv)
{
    struct writer w = { .visitor.visit = describe };
    bool is_between = argc == 3 && strcmp(argv[1], "between") == 0;
    int number = is_between ? 0 : argc == 3 && argv[1][0] && !argv[1][1] ? argv[1][0] - '0' : -1;

    if (number < 0 || number > 9) {
        fputs("usage: make-vrt NUMBER FILE, with a NUMBER from 0 to 9, or \"between\"\n", stderr);
        return 2;
    }
    struct vrt_sizes sizes = is_between ? vrt_sizes_small_between()
                             : number   ? vrt_sizes_published(number)
                                        : vrt_sizes_small();
    vrt_sizes_visit(&sizes, &w.visitor);
    uint64_t n_header = w.header.size_bytes + 2;

    w.file = fopen(argv[2], "wb");
    if (!w.file || w.r < 0 || fwrite(&n_header, sizeof(n_header), 1, w.file) != 1 ||
        fprintf(w.file, "{%s}", w.header.data) < 0)
        w.r = -1;
    w.visitor.visit = write_values;
    if (w.r == 0)
        vrt_sizes_visit(&sizes, &w.visitor);
    if (w.file && fclose(w.file) != 0)
        w.r = -1;
    vrt_buf_done(&w.header);
    if (w.r < 0) {
        perror(argv[2]);
        return 1;
    }
    printf("%" PRIu64 " parameters\n", w.n_values);
    return 0;
}
