/* SPDX-License-Identifier: MIT */
/*
 * A network on a device, without files or a daemon: its time, its memory, what it is spent on.
 *
 * usage: bench-engine --network NAME [OPTION]...
 *        bench-engine --product N [OPTION]...
 *
 *   --network NAME     vrt:1 to vrt:9, as published (vrt:0: the smallest), compact, esrgan
 *   --product N        a product of two matrices of N rows and columns instead
 *   --device DEVICE    default: ref:0
 *   --precision P      f32 (the default), f16, bf16
 *   --frames N         default: 1; of --size WxH, default 64x64
 *   --repeat N         runs that are timed, default 5; those of WARM_UP_S go before, one at least
 *   --threads N        of a CPU device; default: all cores
 *   --libraries L      CUDA: what NVIDIA's libraries compute: auto, off or all
 *   --fma              CUDA: products of f32 by FMA, also where tensor cores make them in parts
 *   --by-op            one run more, op by op
 *   --workers N        afterwards N threads, to 4, each of which has the device opened for itself
 *                      (a CUDA card as one of N devices), uploads, computes and downloads --repeat
 *                      times, at once
 *   --json             print one JSON object
 *   --debug            the log has everything: which ops libraries compute, too
 *
 * Exit status: 0; 1 for what could not be done, or a worker's result that isn't the lone one's, to
 * the bit; 2 for wrong usage.
 */

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "infer/report.h"
#include "tests/bench/load.h"
#include "tests/unit/barrier.h"

#define WORKERS_MAX 4

/* What rests runs at a lower clock, and takes so long to leave it. */
#define WARM_UP_S 0.3

struct command {
    struct load_params load;
    int n_runs, n_workers;
    bool by_op, json;
};

/* What several workers at once did. */
struct crowd {
    double seconds;                 /* of all, from the first start to the last end */
    double busy;                    /* share of it that the runs would have taken alone */
    bool same;                      /* to the bit */
};

struct worker {
    const struct command *command;
    struct load_params params;
    struct load load;
    pthread_t thread;
    struct test_barrier *barrier;
    const void *wanted;             /* the output of a lone run */
    void *y;
    bool same;
    int r;
    struct vrt_error error;
};

static double now_s(void)
{
    return (double)vrt_clock_now_ns() / (double)VRT_NS_PER_S;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* What the driver says is taken; without a driver that tells, our own count. */
static int64_t used_bytes(struct vrt_device *device)
{
    struct vrt_memory_info info = { -1, -1 };

    if (vrt_device_memory(device, &info) == 0 && info.total_bytes >= 0 && info.free_bytes >= 0 &&
        vrt_device_info(device)->n_threads == 0)
        return info.total_bytes - info.free_bytes;
    return vrt_device_used_bytes(device);
}

static void describe(const struct command *command, const struct load *load,
                     struct vrt_infer_report *report)
{
    const struct vrt_shape in = load->in.shape, out = load->out.shape;
    const struct vrt_device_info *device = vrt_device_info(load->device);
    const struct vrt_network_info *info = load->network ? vrt_network_info(load->network) : NULL;

    *report = (struct vrt_infer_report){
        .dtype = command->load.dtype,
        .n_threads = device->n_threads,
        .in_dims = { in.d, in.c, in.h, in.w },
        .out_dims = { out.d, out.c, out.h, out.w },
        .n_parameters = info ? info->n_parameters : (int64_t)in.c * out.c,
        .n_runs = command->n_runs,
        .gflop = (double)vrt_graph_flops(load->graph) / 1e9,
        .weights_bytes = (int64_t)vrt_replica_bytes(load->device, load->replica),
        .arena_bytes = (int64_t)load->arena.size_bytes,
        .io_bytes = (int64_t)(load->x_bytes + load->y_bytes),
    };
    report->planned_bytes = report->weights_bytes + report->arena_bytes + report->io_bytes;
    snprintf(report->architecture, sizeof(report->architecture), "%s",
             info ? info->architecture : "product");
    snprintf(report->description, sizeof(report->description), "%s",
             info ? info->description : "a matrix product");
    snprintf(report->device, sizeof(report->device), "%s", device->name);
    snprintf(report->device_description, sizeof(report->device_description), "%s",
             device->description);
}

static int warm_up(struct load *load)
{
    const double start_s = now_s();
    int r;

    do
        r = load_run(load);
    while (r == 0 && now_s() - start_s < WARM_UP_S);
    return r;
}

/* Return: 0 with the times of the report; else as load_run(). */
static int measure(const struct command *command, struct load *load,
                   struct vrt_infer_report *report)
{
    const int n = command->n_runs;
    double *seconds = calloc((size_t)n, sizeof(*seconds));
    int r = seconds ? warm_up(load) : -1;

    for (int i = 0; i < n && r == 0; i++) {
        const double start_s = now_s();

        r = load_run(load);
        seconds[i] = now_s() - start_s;
    }
    if (r == 0) {
        qsort(seconds, (size_t)n, sizeof(*seconds), compare);
        report->min_s = seconds[0];
        report->median_s = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
        report->measured_bytes = used_bytes(load->device);
    }
    free(seconds);
    if (r == 0 && command->by_op)
        r = load_run_by_ops(load, &report->op_times);
    return r;
}

static int work(struct worker *w)
{
    int r = load_write(&w->load);

    if (r == 0)
        r = load_run(&w->load);
    return r ? r : load_read(&w->load, w->y);
}

static void *worker_main(void *ctx)
{
    struct worker *w = ctx;

    w->r = load_open(&w->load, &w->params, &w->error);
    w->y = w->r ? NULL : malloc(w->load.y_bytes);
    if (w->r == 0)
        w->r = w->y ? work(w) : -1;
    w->same = w->r == 0 && memcmp(w->y, w->wanted, w->load.y_bytes) == 0;
    /* All are ready; all are done. */
    test_barrier_wait(w->barrier);
    for (int i = 0; i < w->command->n_runs && w->r == 0; i++)
        w->r = work(w);
    test_barrier_wait(w->barrier);
    w->same = w->same && w->r == 0 && memcmp(w->y, w->wanted, w->load.y_bytes) == 0;
    free(w->y);
    load_close(&w->load);
    return NULL;
}

/* Return: whether all of them could. */
static bool run_crowd(const struct command *command, const void *wanted, double alone_s,
                      struct crowd *ret_crowd)
{
    static struct worker workers[WORKERS_MAX];
    const int n = command->n_workers;
    struct test_barrier barrier;
    bool good = true;

    ret_crowd->same = true;
    test_barrier_init(&barrier, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        workers[i] = (struct worker){
            .command = command, .params = command->load, .barrier = &barrier, .wanted = wanted,
        };
        workers[i].params.n_workers = n;
        workers[i].params.worker = i;
        if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
            abort();
    }
    test_barrier_wait(&barrier);
    const double start_s = now_s();
    test_barrier_wait(&barrier);
    ret_crowd->seconds = now_s() - start_s;
    ret_crowd->busy = n * command->n_runs * alone_s / ret_crowd->seconds;
    for (int i = 0; i < n; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].r)
            fprintf(stderr, "bench-engine: worker %d: %s\n", i,
                    workers[i].error.message[0] ? workers[i].error.message
                                                : vrt_backend_strerror(workers[i].r));
        good = good && workers[i].r == 0;
        ret_crowd->same = ret_crowd->same && workers[i].same;
    }
    test_barrier_done(&barrier);
    return good;
}

static void print(const struct command *command, const struct vrt_infer_report *report,
                  const struct crowd *crowd)
{
    const char *name = command->load.network ? command->load.network : "product";

    if (command->json) {
        vrt_infer_print_json(stdout, name, report);
        if (crowd)
            printf("{\"workers\": %d, \"seconds\": %.9g, \"busy\": %.6g, \"same\": %s}\n",
                   command->n_workers, crowd->seconds, crowd->busy,
                   crowd->same ? "true" : "false");
        return;
    }
    vrt_infer_print(stdout, report);
    if (crowd)
        printf("workers   %d at once, %.6f s: %.1f %% of it is what the runs take alone; results "
               "%s\n", command->n_workers, crowd->seconds, 100 * crowd->busy,
               crowd->same ? "the same to the bit" : "DIFFER");
}

static int run(const struct command *command)
{
    struct vrt_infer_report report;
    struct load load = { 0 };
    struct vrt_error error = { 0 };
    struct crowd crowd = { 0 };
    void *y = NULL;
    bool good = false;
    int r = load_open(&load, &command->load, &error);

    if (r == 0) {
        describe(command, &load, &report);
        r = measure(command, &load, &report);
    }
    if (r == 0 && command->n_workers) {
        y = malloc(load.y_bytes);
        r = y ? load_read(&load, y) : -1;
    }
    load_close(&load);
    if (r) {
        fprintf(stderr, "bench-engine: %s\n",
                error.message[0] ? error.message : vrt_backend_strerror(r));
    } else {
        good = !command->n_workers || run_crowd(command, y, report.median_s, &crowd);
        print(command, &report, good && command->n_workers ? &crowd : NULL);
        good = good && (!command->n_workers || crowd.same);
    }
    free(y);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A number from 1 to max. */
static bool parse_number(const char *text, int max, int *ret_value)
{
    char *end;
    const long value = strtol(text, &end, 10);

    if (*end || value < 1 || value > max)
        return false;
    *ret_value = (int)value;
    return true;
}

static bool parse_size(const char *text, struct load_params *load)
{
    char width[8], height[8], rest;

    return sscanf(text, "%7[0-9]x%7[0-9]%c", width, height, &rest) == 2 &&
           parse_number(width, 16384, &load->width) && parse_number(height, 16384, &load->height);
}

static bool parse_precision(const char *text, enum vrt_dtype *ret_dtype)
{
    static const enum vrt_dtype dtypes[] = { VRT_DTYPE_F32, VRT_DTYPE_F16, VRT_DTYPE_BF16 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(dtypes); i++) {
        if (strcmp(text, vrt_dtype_name(dtypes[i])) == 0) {
            *ret_dtype = dtypes[i];
            return true;
        }
    }
    return false;
}

static bool parse_libraries(const char *text, enum vrt_cuda_libraries_wanted *ret_libraries)
{
    static const char *const words[] = {
        [VRT_CUDA_LIBRARIES_AUTO] = "auto",
        [VRT_CUDA_LIBRARIES_OFF] = "off",
        [VRT_CUDA_LIBRARIES_ALL] = "all",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret_libraries = (enum vrt_cuda_libraries_wanted)i;
            return true;
        }
    }
    return false;
}

static bool parse_option(int option, const char *value, struct command *command)
{
    struct load_params *load = &command->load;

    switch (option) {
    case 'n':
        load->network = value;
        return true;
    case 'x':
        return parse_number(value, 16384, &load->product);
    case 'd':
        load->device = value;
        return true;
    case 'p':
        return parse_precision(value, &load->dtype);
    case 'f':
        return parse_number(value, 1000, &load->n_frames);
    case 's':
        return parse_size(value, load);
    case 'r':
        return parse_number(value, 1000000, &command->n_runs);
    case 't':
        return parse_number(value, 4096, &load->n_threads);
    case 'w':
        return parse_number(value, WORKERS_MAX, &command->n_workers);
    case 'l':
        return parse_libraries(value, &load->libraries);
    case 'm':
        load->fma = true;
        return true;
    case 'b':
        command->by_op = true;
        return true;
    case 'j':
        command->json = true;
        return true;
    case 'v':
        vrt_log_set_level(VRT_LOG_DEBUG);
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "network", required_argument, NULL, 'n' }, { "product", required_argument, NULL, 'x' },
        { "device", required_argument, NULL, 'd' }, { "precision", required_argument, NULL, 'p' },
        { "frames", required_argument, NULL, 'f' }, { "size", required_argument, NULL, 's' },
        { "repeat", required_argument, NULL, 'r' }, { "threads", required_argument, NULL, 't' },
        { "workers", required_argument, NULL, 'w' }, { "by-op", no_argument, NULL, 'b' },
        { "json", no_argument, NULL, 'j' }, { "fma", no_argument, NULL, 'm' },
        { "libraries", required_argument, NULL, 'l' }, { "debug", no_argument, NULL, 'v' }, { 0 },
    };
    struct command command = {
        .load = { .device = "ref:0", .n_frames = 1, .width = 64, .height = 64 },
        .n_runs = 5,
    };
    bool good = true;

    for (int option; good && (option = getopt_long(argc, argv, "", options, NULL)) >= 0;)
        good = parse_option(option, optarg, &command);
    if (!good || optind < argc || !command.load.network == !command.load.product) {
        fputs("usage: bench-engine --network NAME|--product N [--device DEVICE] [--precision P] "
              "[--frames N]\n           [--size WxH] [--repeat N] [--threads N] [--by-op] "
              "[--workers N] [--libraries auto|off|all] [--fma] [--json] "
              "[--debug]\n", stderr);
        return 2;
    }
    return run(&command);
}
