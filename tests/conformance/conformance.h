/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Conformance: every op on every device that is present
 *
 *     CONF_MAIN(warp, n_cases)
 *
 * A case makes its inputs, its op and what independent loops of its own say the outputs are, and
 * calls conf_expect(). That runs the op on the reference device, which is held against the
 * loops, and on each other device, which is held against the reference; then on each device in
 * other guises (other numbers of threads, the machine split in two, behind the fault wrapper),
 * whose outputs must be bit-identical. Around every tensor is memory that must not change: guard
 * bytes, the rest of the larger tensor that a view is cut from, the inputs. What an output is
 * written over, and what an input is cut from, is NaN (0xff in integers).
 *
 * Arguments: "conv2d[3]@cpu:0" or any part of it ("conv2d[3]", "@cpu:0", "@cpu") says what shall
 * run, "--plain" that devices shall in no other guise, "--every N" only each N-th case; "--seed N"
 * makes other inputs. The exit status is 77 where nothing ran. See also "tests/unit/environment.h";
 * with VRT_CONF_ALL_IN_ARENA in the environment no tensor is bound: what libraries compute has an
 * address for good. With VRT_CONF_LARGE there the cases are others: few, and each so large that a
 * large card takes another of its largest tiles for it.
 */

#include <stddef.h>

#include "backend/backend.h"
#include "tests/unit/test.h"

struct conf;

typedef void (*conf_run_fn)(struct conf *t, int i);

/* How a tensor lies in memory. */
enum conf_view {
    CONF_DENSE,
    CONF_CHANNELS,          /* a run of a larger tensor's channels */
    CONF_CROP,              /* rows and columns of a larger tensor */
    CONF_BOTH,              /* both, and frames of a larger number */
    CONF_VIEW_COUNT,
};

struct conf_spec {
    enum vrt_dtype dtype;
    struct vrt_shape shape;
    enum conf_view view;
    int max;                /* of integers; 0: all that the type holds */
};

/* What an output may differ by. For floats and for integers, respectively. */
struct conf_tolerance {
    double norm;            /* |got - want| over |want|, over all elements */
    double element;         /* |got - want| <= element * max(1, |want|), each */
    double off_by_one;      /* share of the samples that may differ by 1; no other difference */
};

#define CONF_N_IN_OUT 5

/* Types of what is read and of what is written, for ops that go from one to the other. */
extern const enum vrt_dtype conf_in_out[CONF_N_IN_OUT][2];

/* Runs the cases 0 .. n_cases - 1 that the arguments ask for. Return: the exit status. */
int conf_main(int argc, char **argv, const char *op_name, conf_run_fn run, int n_cases);

/* The program of run_OP(). */
#define CONF_MAIN(op, n)                                    \
    int main(int argc, char **argv)                         \
    {                                                       \
        return conf_main(argc, argv, #op, run_##op, n);     \
    }

/* Cases that are made one by one: cases[n_cases], filled by add(). */
#define CONF_CASES(type, max)                               \
    static type cases[max];                                 \
    static int n_cases;                                     \
                                                            \
    static void add(type one)                               \
    {                                                       \
        expect_true(n_cases < max);                         \
        cases[n_cases++] = one;                             \
    }

/*
 * An input of random values: floats uniform in [-1,1], integers in [0, max], each exact in its
 * type. *ret_values (NULL: not of interest) are they as [D,H,W,C]; the case may put others there
 * that its type holds exactly, until conf_expect().
 */
struct vrt_tensor conf_input(struct conf *t, struct conf_spec spec, float **ret_values);

/* An output to be written. */
struct vrt_tensor conf_output(struct conf *t, struct conf_spec spec);

/* The same spec again, for what is dense. */
struct conf_spec conf_dense(enum vrt_dtype dtype, int d, int h, int w, int c);

/*
 * A param of the replica with values uniform in [-range, range], exact in the type that its use
 * gives it. `dims` ends with a zero where it is shorter than 4. Return: its index.
 */
int conf_param(struct conf *t, enum vrt_param_use use, const int dims[4], float range,
               const float **ret_values);

/* The replica's type; the default is f32. Before the first conf_param(). */
void conf_replica_dtype(struct conf *t, enum vrt_dtype dtype);

/* n doubles, zeros, that live until the case's end. */
double *conf_array(struct conf *t, size_t n);

/* `x` as `dtype` holds it. */
float conf_rounded(float x, enum vrt_dtype dtype);

/* A random number, uniform in [0, n). */
int conf_random(struct conf *t, int n);

/*
 * What sums in other order and one rounding of the result explain. f32: sums of up to ten
 * thousand terms differ by some 1e-6 of their size. bf16, f16: two roundings of almost the same
 * number differ by one unit in the last of 8 or 11 bits at worst, and seldom.
 */
struct conf_tolerance conf_tolerance_of(enum vrt_dtype dtype);

/* Nothing but copies: bit-identical. */
extern const struct conf_tolerance conf_exact;

/* Integers after a computation in f32: what was halfway between two may go either way. */
extern const struct conf_tolerance conf_integers;

/*
 * Whether the reference device is among those that shall run: only it is held against what a case
 * wants. Where others do, it runs for them to be held against, and what takes loops long needn't be
 * computed.
 */
bool conf_is_wanted(const struct conf *t);

/* Whether the large cases are wanted, instead of all others. */
bool conf_is_large(void);

/*
 * Runs the op everywhere; the type of its weights follows from the params. want[i] is what output i
 * should be, as [D,H,W,C], where conf_is_wanted(). A failure is printed and counted; the case
 * should return then.
 */
void conf_expect(struct conf *t, const struct vrt_op *op, const double *const *want,
                 struct conf_tolerance tolerance);
