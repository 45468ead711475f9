/* SPDX-License-Identifier: MIT */
#pragma once

/* Two operands that are combined number by number: nodes, or constants. */

#include "engine/dag/dag.h"

enum vrt_dag_arith {
    VRT_DAG_PLUS,
    VRT_DAG_MINUS,
    VRT_DAG_TIMES,
    VRT_DAG_OVER,
};

struct vrt_dag_operand {
    int node;                       /* -1: a constant */
    const float *values;            /* of a constant: n of them, for all channels or each */
    int n;
};

/* Adds what is a op b. Return: as of vrt_dag_conv(). */
int vrt_dag_arith(struct vrt_dag *dag, enum vrt_dag_arith op, const struct vrt_dag_operand *a,
                  const struct vrt_dag_operand *b) VRT_MUST_CHECK;
