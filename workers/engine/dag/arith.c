/* SPDX-License-Identifier: MIT */

#include "engine/dag/arith.h"

#include <stdlib.h>

static int of_nodes(struct vrt_dag *dag, enum vrt_dag_arith op, int a, int b)
{
    switch (op) {
    case VRT_DAG_PLUS: return vrt_dag_add(dag, a, 1, b, 1);
    case VRT_DAG_MINUS: return vrt_dag_add(dag, a, 1, b, -1);
    case VRT_DAG_TIMES: return vrt_dag_mul(dag, a, b);
    default: return vrt_dag_refuse(dag, "divides pictures by each other: vrtd has no op for that");
    }
}

/* The constant's numbers, each negated or inverted. */
static int changed(struct vrt_dag *dag, const struct vrt_dag_operand *constant, bool inverts,
                   float **ret_values)
{
    int r = vrt_dag_alloc(dag, constant->n, ret_values);

    for (int i = 0; i < constant->n && r == 0; i++)
        (*ret_values)[i] = inverts ? 1 / constant->values[i] : -constant->values[i];
    return r;
}

/* a op b, one of which is a constant. */
static int with_constant(struct vrt_dag *dag, enum vrt_dag_arith op,
                         const struct vrt_dag_operand *a, const struct vrt_dag_operand *b)
{
    const struct vrt_dag_operand *constant = a->node < 0 ? a : b;
    const int x = a->node < 0 ? b->node : a->node, n = constant->n;
    VRT_CLEANUP(vrt_freep) float *values = NULL;
    const float minus = -1;
    int r;

    switch (op) {
    case VRT_DAG_PLUS:
        return vrt_dag_affine(dag, x, NULL, constant->values, n);
    case VRT_DAG_TIMES:
        return vrt_dag_affine(dag, x, constant->values, NULL, n);
    case VRT_DAG_MINUS:
        if (a->node < 0) {
            int negated = vrt_dag_affine(dag, x, &minus, NULL, 1);
            return negated < 0 ? negated :
                   vrt_dag_affine(dag, negated, NULL, constant->values, n);
        }
        r = changed(dag, constant, false, &values);
        return r < 0 ? r : vrt_dag_affine(dag, x, NULL, values, n);
    default:
        if (a->node < 0)
            return vrt_dag_refuse(dag, "divides a number by pictures: vrtd has no op for that");
        r = changed(dag, constant, true, &values);
        return r < 0 ? r : vrt_dag_affine(dag, x, values, NULL, n);
    }
}

int vrt_dag_arith(struct vrt_dag *dag, enum vrt_dag_arith op, const struct vrt_dag_operand *a,
                  const struct vrt_dag_operand *b)
{
    if (a->node >= 0 && b->node >= 0)
        return of_nodes(dag, op, a->node, b->node);
    if (a->node < 0 && b->node < 0)
        return vrt_dag_refuse(dag, "combines constants only");
    return with_constant(dag, op, a, b);
}
