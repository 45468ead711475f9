/* SPDX-License-Identifier: MIT */

/* Small kernels, of each of which a test knows the result. */

/* c[i] = a[i] + b[i] for i < n */
__kernel void add(__global const float *a, __global const float *b, __global float *c, uint n)
{
    size_t i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

/* out[g] = the sum of in[i] over the work-items of group g, by a tree in local memory */
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void sum(__global const float *in, __global float *out)
{
    __local float local_sums[64];
    const uint lane = get_local_id(0);
    local_sums[lane] = in[get_global_id(0)];
    for (uint step = 32; step > 0; step >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step)
            local_sums[lane] += local_sums[lane + step];
    }
    if (lane == 0)
        out[get_group_id(0)] = local_sums[0];
}

/* out[i] = number + v.y; what is passed by value */
__kernel void values(__global float *out, float number, float4 v, ushort n)
{
    if (get_global_id(0) < n)
        out[get_global_id(0)] = number + v.y;
}

/* out[0] += 1, by every work-item, `n` times each */
__kernel void count(__global uint *out, uint n)
{
    for (uint i = 0; i < n; i++)
        atomic_inc(out);
}
