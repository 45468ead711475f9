/* SPDX-License-Identifier: MIT */
/* flow_offsets: max_residue * tanh(o) + flow, sigmoid(o): what a deform_conv2d takes. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct {
    int d, h, w, groups, n;     /* n flows */
    float max_residue;
} sizes[] = {
    { 1, 1, 1, 1, 1, 10 },  { 1, 5, 7, 4, 1, 10 },      { 2, 3, 5, 6, 2, 5 },
    { 1, 9, 2, 12, 3, 2.5f }, { 3, 4, 6, 12, 1, 1.25f }, { 1, 3, 17, 16, 2, 10 },
    { 2, 2, 3, 24, 3, 10 }, { 1, 4, 5, 3, 3, 0 },
};

static const enum vrt_dtype types[] = { VRT_DTYPE_F32, VRT_DTYPE_BF16, VRT_DTYPE_F16 };

#define N_SIZES ((int)VRT_ARRAY_SIZE(sizes))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))

/* want [27*G] of one place, from o [27*G] and the flows [2] of that place. */
static void reference(double *want, int s, const float *o, const float *const *flows)
{
    const int n_pairs = 9 * sizes[s].groups;

    for (int pair = 0; pair < n_pairs; pair++) {
        const float *flow = flows[pair / (n_pairs / sizes[s].n)];
        const double residue = (double)sizes[s].max_residue;
        want[2 * pair] = residue * tanh((double)o[2 * pair]) + (double)flow[1];
        want[2 * pair + 1] = residue * tanh((double)o[2 * pair + 1]) + (double)flow[0];
        want[2 * n_pairs + pair] = 0.5 + 0.5 * tanh((double)o[2 * n_pairs + pair] / 2);
    }
}

static void run_flow_offsets(struct conf *t, int i)
{
    static const float factors[] = { 1, 4, 16, 1024 };
    const int s = i % N_SIZES, n = sizes[s].n;
    const int view = i / N_SIZES / N_TYPES;
    const struct vrt_shape shape = { sizes[s].d, sizes[s].h, sizes[s].w, 27 * sizes[s].groups };
    const struct vrt_shape flow_shape = { shape.d, shape.h, shape.w, 2 };
    float *o, *flows[VRT_OP_MAX_IN];
    struct vrt_op op = {
        .kind = VRT_OP_FLOW_OFFSETS,
        .n_in = 1 + n,
        .flow_offsets = { .max_residue = sizes[s].max_residue, .offset_groups = sizes[s].groups },
    };

    op.in[0] = conf_input(t, (struct conf_spec){ types[i / N_SIZES % N_TYPES], shape,
                                                 (enum conf_view)view, 0 }, &o);
    for (int k = 0; k < n; k++)
        op.in[1 + k] = conf_input(t, (struct conf_spec){
            VRT_DTYPE_F32, flow_shape, (enum conf_view)((view + k) % CONF_VIEW_COUNT), 0 },
            &flows[k]);
    op.out = conf_output(t, (struct conf_spec){
        VRT_DTYPE_F32, shape, (enum conf_view)(CONF_VIEW_COUNT - 1 - view), 0 });

    /* From where both curves are steep to where an exponential would overflow. */
    double *want = conf_array(t, (size_t)vrt_shape_count(shape));
    for (int k = 0; k < vrt_shape_count(shape); k++)
        o[k] *= factors[conf_random(t, VRT_ARRAY_SIZE(factors))];
    for (int p = 0; p < shape.d * shape.h * shape.w; p++) {
        const float *at[VRT_OP_MAX_IN];
        for (int k = 0; k < n; k++)
            at[k] = flows[k] + 2 * p;
        reference(&want[p * shape.c], s, &o[p * shape.c], at);
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(VRT_DTYPE_F32));
}

CONF_MAIN(flow_offsets, N_SIZES * N_TYPES * CONF_VIEW_COUNT)
