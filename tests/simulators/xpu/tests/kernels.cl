/* SPDX-License-Identifier: MIT */

/* Small kernels, of each of which a test knows the result. */

/* c[i] = a[i] + b[i] for i < n */
__kernel void add(__global const float *a, __global const float *b, __global float *c, uint n)
{
    size_t i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
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
