/* SPDX-License-Identifier: MIT */
/* vrt-infer: one network over one array, for those who look into networks. Manual: vrt-infer.1 */

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/report.h"
#include "infer/run.h"

#define EXIT_USAGE 2
#define N_RUNS_MAX 1000000
#define N_THREADS_MAX 1024
#define SIGMA_MAX 50                /* as of VRT_API_SIGMA_MAX */

static const char usage[] =
    "usage: vrt-infer --model MODEL --input X.npy --output Y.npy [OPTION]...\n";

static const char help[] =
    "Runs a network over an array and says how long it took and what memory it needed.\n"
    "\n"
    "  -m, --model MODEL      a file (.pth, .safetensors, .onnx, .param), or a\n"
    "                         built-in model's name\n"
    "  -i, --input X.npy      f32 [D,C,H,W], values from 0 to 1\n"
    "  -o, --output Y.npy     f32 [D,C,H,W], written over if it exists\n"
    "  -d, --device DEVICE    cpu:0, ref:0, ...; a kind such as cpu; auto (the default)\n"
    "  -p, --precision P      f32 (the default), f16, bf16, or auto: the faster of f32 and what\n"
    "                         the device prefers, where that is 50 dB or more from f32\n"
    "  -t, --threads N        threads of a CPU device; 0 (the default): every core\n"
    "  -s, --sigma N          how strong the noise is, 0 (the default) to 50 of 255, for networks\n"
    "                         that are told\n"
    "  -r, --repeat N         run it N times; the default is 1\n"
    "  -P, --profile          run it once more, op by op, and say what the time goes into\n"
    "  -k, --fresh-kernels    have kernels of GPUs compiled anew, and keep none\n"
    "  -j, --json             print one JSON object\n"
    "  -h, --help             print this\n"
    "  -V, --version          print the version\n"
    "\n"
    "Exit status: 0; 1 for what could not be done, with one sentence why; 2 for wrong usage.\n";

static const struct option options[] = {
    { "model", required_argument, NULL, 'm' },
    { "input", required_argument, NULL, 'i' },
    { "output", required_argument, NULL, 'o' },
    { "device", required_argument, NULL, 'd' },
    { "precision", required_argument, NULL, 'p' },
    { "threads", required_argument, NULL, 't' },
    { "repeat", required_argument, NULL, 'r' },
    { "sigma", required_argument, NULL, 's' },
    { "profile", no_argument, NULL, 'P' },
    { "fresh-kernels", no_argument, NULL, 'k' },
    { "json", no_argument, NULL, 'j' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { 0 },
};

struct command {
    struct vrt_infer_params params;
    bool json, help, version;
};

/* A decimal number from min to max. */
static bool parse_number(const char *text, int min, int max, int *ret_value)
{
    size_t n_digits = strspn(text, "0123456789");
    long value;

    if (n_digits < 1 || n_digits > 9 || text[n_digits] != '\0')
        return false;
    value = strtol(text, NULL, 10);
    if (value < min || value > max)
        return false;
    *ret_value = (int)value;
    return true;
}

/* A number from 0 to max, with decimals or without. */
static bool parse_decimal(const char *text, double max, double *ret_value)
{
    char *end;
    double value = strtod(text, &end);

    if (!strchr("0123456789.", text[0]) || end == text || *end || !(value >= 0 && value <= max))
        return false;
    *ret_value = value;
    return true;
}

static bool parse_precision(const char *text, enum vrt_precision *ret_precision)
{
    for (int i = 0; i < VRT_PRECISION_COUNT; i++) {
        if (strcmp(vrt_precision_names[i], text) == 0) {
            *ret_precision = (enum vrt_precision)i;
            return true;
        }
    }
    return false;
}

static bool parse_option(int option, const char *value, struct command *command)
{
    struct vrt_infer_params *params = &command->params;

    switch (option) {
    case 'm':
        params->model = value;
        return true;
    case 'i':
        params->input = value;
        return true;
    case 'o':
        params->output = value;
        return true;
    case 'd':
        params->device = value;
        return true;
    case 'p':
        return parse_precision(value, &params->precision);
    case 't':
        return parse_number(value, 0, N_THREADS_MAX, &params->n_threads);
    case 's':
        return parse_decimal(value, SIGMA_MAX, &params->sigma);
    case 'r':
        return parse_number(value, 1, N_RUNS_MAX, &params->n_runs);
    case 'P':
        params->wants_profile = true;
        return true;
    case 'k':
        params->fresh_kernels = true;
        return true;
    case 'j':
        command->json = true;
        return true;
    case 'h':
        command->help = true;
        return true;
    default:
        command->version = true;
        return true;
    }
}

/* Return: whether the line can be followed; otherwise it was said why not. */
static bool parse_line(int argc, char **argv, struct command *command)
{
    const struct vrt_infer_params *params = &command->params;
    int option;

    while ((option = getopt_long(argc, argv, "m:i:o:d:p:t:s:r:PkjhV", options, NULL)) >= 0) {
        if (option == '?')
            return false;
        if (!parse_option(option, optarg, command)) {
            fprintf(stderr, "vrt-infer: \"%s\" is no value for -%c\n", optarg, option);
            return false;
        }
    }
    if (command->help || command->version)
        return true;
    if (optind < argc) {
        fprintf(stderr, "vrt-infer: \"%s\" is no option\n", argv[optind]);
        return false;
    }
    if (!params->model || !params->input || !params->output) {
        fprintf(stderr, "vrt-infer: --%s is missing\n",
                !params->model ? "model" : !params->input ? "input" : "output");
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct command command = {
        .params = { .device = "auto", .precision = VRT_PRECISION_F32, .n_runs = 1 },
    };
    struct vrt_infer_report report;
    struct vrt_error error = { 0 };

    if (!parse_line(argc, argv, &command)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (command.help || command.version) {
        printf("%s%s", command.help ? usage : "vrt-infer " VRT_VERSION "\n",
               command.help ? help : "");
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (vrt_infer_run(&command.params, &report, &error) != 0) {
        fprintf(stderr, "vrt-infer: %s\n", error.message);
        return EXIT_FAILURE;
    }
    if (command.json)
        vrt_infer_print_json(stdout, command.params.model, &report);
    else
        vrt_infer_print(stdout, &report);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
