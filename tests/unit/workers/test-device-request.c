/* SPDX-License-Identifier: MIT */

/* The grammar of device requests, and where they lead on machines of several kinds. */

#include <errno.h>

#include "tests/unit/test.h"
#include "workers/plan/device-request.h"

#define N_MAX 8

static const struct vrt_device_info
    cuda0 = { .kind = "cuda", .index = 0, .name = "cuda:0" },
    cuda1 = { .kind = "cuda", .index = 1, .card = 1, .name = "cuda:1" },
    cuda00 = { .kind = "cuda", .index = 0, .card = 0, .name = "cuda:0.0" },
    cuda01 = { .kind = "cuda", .index = 1, .card = 0, .name = "cuda:0.1" },
    cuda20 = { .kind = "cuda", .index = 4, .card = 2, .name = "cuda:2.0" },
    cuda21 = { .kind = "cuda", .index = 5, .card = 2, .name = "cuda:2.1" },
    mps0 = { .kind = "mps", .index = 0, .name = "mps:0" },
    xpu0 = { .kind = "xpu", .index = 0, .name = "xpu:0" },
    cpu0 = { .kind = "cpu", .index = 0, .name = "cpu:0" },
    cpu1 = { .kind = "cpu", .index = 1, .name = "cpu:1" },
    ref0 = { .kind = "ref", .index = 0, .name = "ref:0" };

/* Machines: their devices by bit. */
static const struct vrt_device_info *const big[N_MAX] = { &cuda0, &cuda1, &xpu0, &cpu0, &cpu1,
                                                          &ref0 };
static const struct vrt_device_info *const pairs[N_MAX] = { &cuda00, &cuda01, &cuda20, &cuda21,
                                                            &cpu0 };
static const struct vrt_device_info *const cards[N_MAX] = { &cuda0, &cuda1, &xpu0 };
static const struct vrt_device_info *const arc[N_MAX] = { &xpu0, &cpu0, &ref0 };
static const struct vrt_device_info *const plain[N_MAX] = { &cpu0, &cpu1, &ref0 };
static const struct vrt_device_info *const single[N_MAX] = { &cpu0 };
static const struct vrt_device_info *const oracle[N_MAX] = { &ref0 };

struct request_case {
    const struct vrt_device_info *const *machine;
    const char *request;
    enum vrt_fallback fallback;
    int r;
    uint64_t devices;
    const char *told;               /* part of the warning or the refusal; NULL: no warning */
    uint64_t unfit;                 /* devices that never worked, and why nothing better did */
    const char *why;
};

static const struct request_case cases[] = {
    { big, "auto", VRT_FALLBACK_WARN, 0, 0x07, NULL },
    { arc, "auto", VRT_FALLBACK_WARN, 0, 0x01, NULL },
    { plain, "auto", VRT_FALLBACK_FORBID, 0, 0x03, NULL },
    { big, "all", VRT_FALLBACK_WARN, 0, 0x1f, NULL },
    { plain, "all", VRT_FALLBACK_FORBID, 0, 0x03, NULL },
    { big, "cuda", VRT_FALLBACK_WARN, 0, 0x03, NULL },
    { big, "cuda:1", VRT_FALLBACK_FORBID, 0, 0x02, NULL },
    { big, "cuda:1,xpu:0", VRT_FALLBACK_FORBID, 0, 0x06, NULL },
    { big, "xpu,cpu:1", VRT_FALLBACK_WARN, 0, 0x14, NULL },
    { big, "cuda:0,cuda:0,cuda", VRT_FALLBACK_WARN, 0, 0x03, NULL },
    { big, "cpu:-1", VRT_FALLBACK_FORBID, 0, 0x18,
      "cpu:-1 keeps the job on the processor: cuda:0, ... of this machine take no part" },
    { arc, "cpu:-1", VRT_FALLBACK_WARN, 0, 0x02, "processor: xpu:0 of this machine takes no part" },
    { plain, "cpu:-1", VRT_FALLBACK_WARN, 0, 0x03, NULL },
    { big, "cpu", VRT_FALLBACK_WARN, 0, 0x18, NULL },
    { big, "ref", VRT_FALLBACK_WARN, 0, 0x20, NULL },
    { plain, "ref:0", VRT_FALLBACK_WARN, 0, 0x04, NULL },
    { single, "ref", VRT_FALLBACK_ALLOW, -ENODEV, 0, "reference = on in [devices]" },

    /* Cards that are two devices each. */
    { pairs, "auto", VRT_FALLBACK_WARN, 0, 0x0f, NULL },
    { pairs, "cuda", VRT_FALLBACK_FORBID, 0, 0x0f, NULL },
    { pairs, "cuda:0", VRT_FALLBACK_FORBID, 0, 0x03, NULL },
    { pairs, "cuda:2", VRT_FALLBACK_FORBID, 0, 0x0c, NULL },
    { pairs, "cuda:0.1", VRT_FALLBACK_FORBID, 0, 0x02, NULL },
    { pairs, "cuda:2.0,cuda:0", VRT_FALLBACK_FORBID, 0, 0x07, NULL },
    { pairs, "cuda:1", VRT_FALLBACK_ALLOW, -ENODEV, 0, "no device cuda:1;" },
    { pairs, "cuda:4", VRT_FALLBACK_ALLOW, -ENODEV, 0, "no device cuda:4;" },
    { pairs, "cuda:0.2", VRT_FALLBACK_ALLOW, -ENODEV, 0, "no device cuda:0.2;" },
    { big, "cuda:1.0", VRT_FALLBACK_ALLOW, -ENODEV, 0, "no device cuda:1.0;" },
    { plain, "cuda:0.1", VRT_FALLBACK_WARN, 0, 0x03, "cpu is used instead" },
    { pairs, "cuda:0.", VRT_FALLBACK_WARN, -EINVAL, 0, "\"cuda:0.\" is no device" },

    /* What the machine lacks goes to the best that it has. */
    { arc, "cuda:3", VRT_FALLBACK_WARN, 0, 0x01, "no cuda device: xpu is used instead" },
    { plain, "cuda", VRT_FALLBACK_WARN, 0, 0x03, "cpu is used instead" },
    { big, "mps,mps:0", VRT_FALLBACK_WARN, 0, 0x03, "no mps device: cuda is used instead" },
    { arc, "cuda", VRT_FALLBACK_FORBID, -ENODEV, 0,
      "no cuda device, which cuda asks for; vrtctl devices lists" },
    { plain, "cuda:0,xpu:0", VRT_FALLBACK_FORBID, -ENODEV, 0, "no cuda device" },

    /* A machine without any but the reference, which is for those who name it. */
    { oracle, "auto", VRT_FALLBACK_WARN, -ENODEV, 0, "no device for auto; vrtctl devices lists" },
    { oracle, "all", VRT_FALLBACK_WARN, -ENODEV, 0, "no device for all; vrtctl devices lists" },
    { oracle, "cuda", VRT_FALLBACK_WARN, -ENODEV, 0, "no device for cuda; vrtctl devices lists" },
    { oracle, "auto", VRT_FALLBACK_ALLOW, -ENODEV, 0, "no device for auto" },
    { oracle, "cuda", VRT_FALLBACK_ALLOW, -ENODEV, 0, "no device for cuda" },

    /* Accelerators that never worked: `auto` goes without, the rest is as it was asked for. */
    { big, "auto", VRT_FALLBACK_WARN, 0, 0x07, NULL, 0x03 },
    { big, "auto", VRT_FALLBACK_WARN, 0, 0x18, "no accelerator of this machine has worked yet "
      "(cuda:0, ...): cpu is used instead; vrtctl doctor tells more", 0x07 },
    { big, "auto", VRT_FALLBACK_WARN, 0, 0x18, "yet (cuda:0: out of memory, ...): cpu", 0x07,
      "out of memory" },
    { arc, "auto", VRT_FALLBACK_WARN, 0, 0x02, "yet (xpu:0): cpu is used", 0x01 },
    { big, "auto", VRT_FALLBACK_ALLOW, 0, 0x18, NULL, 0x07 },
    { big, "auto", VRT_FALLBACK_FORBID, 0, 0x07, NULL, 0x07 },
    { big, "cuda", VRT_FALLBACK_WARN, 0, 0x03, NULL, 0x07 },
    { big, "all", VRT_FALLBACK_WARN, 0, 0x1f, NULL, 0x07 },
    { cards, "auto", VRT_FALLBACK_WARN, 0, 0x07, NULL, 0x07 },

    /* No accelerator, and what is wrong: only where the choice was vrtd's. */
    { plain, "auto", VRT_FALLBACK_WARN, 0, 0x03, "no accelerator can be used (cuda: no driver): "
      "cpu is used instead; vrtctl doctor tells more", 0, "cuda: no driver" },
    { plain, "cpu", VRT_FALLBACK_WARN, 0, 0x03, NULL, 0, "cuda: no driver" },
    { plain, "auto", VRT_FALLBACK_ALLOW, 0, 0x03, NULL, 0, "cuda: no driver" },
    { plain, "auto", VRT_FALLBACK_WARN, 0, 0x03, NULL },

    /* A number that isn't there is a mistake, whatever the fallback. */
    { big, "cuda:2", VRT_FALLBACK_ALLOW, -ENODEV, 0, "no device cuda:2" },
    { plain, "cpu:7", VRT_FALLBACK_WARN, -ENODEV, 0, "no device cpu:7" },

    { big, "", VRT_FALLBACK_WARN, -EINVAL, 0, "\"\" is no device" },
    { big, "cuda:", VRT_FALLBACK_WARN, -EINVAL, 0, "\"cuda:\" is no device" },
    { big, "cuda:00", VRT_FALLBACK_WARN, -EINVAL, 0,
      "\"cuda:00\" is no device: its number is written without zeros in front" },
    { big, "cuda:1,xpu:00", VRT_FALLBACK_ALLOW, -EINVAL, 0, "\"xpu:00\" is no device: its number" },
    { big, "CUDA", VRT_FALLBACK_WARN, -EINVAL, 0,
      "all, a kind (cuda, xpu, mps, cpu), or a list such as cuda:0,xpu:1" },
    { big, "gpu\n\x1b[31m", VRT_FALLBACK_WARN, -EINVAL, 0, "\"gpu??[31m\" is no device" },
};

/* What is no request on any machine. */
static const struct {
    const char *told, *requests[12];
} bads[] = {
    { "is no device", { "cuda:0.10", "cuda:.1", "cuda:0.1.0", "cuda:0.-1", "cpu:0.0", ",",
      "cuda:-1", "cuda:+1", "cuda:0x1", "cuda:99999999999999999999", "cuda0", " cuda" } },
    { "without zeros in front", { "cpu:007", "cuda:01", "cuda:00.1" } },
    { "stand alone", { "cuda,auto", "all,all", "cpu:-1,cuda" } },
};

static size_t count(const struct vrt_device_info *const *machine)
{
    size_t n = 0;

    while (n < N_MAX && machine[n])
        n++;
    return n;
}

static void check_case(const struct request_case *c)
{
    struct vrt_device_choice choice = { 0 };
    struct vrt_error error = { 0 };
    const struct vrt_device_request request = {
        c->request, c->fallback, c->machine, count(c->machine), .unfit = c->unfit, .why = c->why };
    int r = vrt_device_request_resolve(&request, &choice, &error);

    fprintf(stderr, "  %s: %s%s\n", c->request, choice.warnings[0], error.message);
    expect_int(r, c->r);
    expect_int(choice.devices, c->devices);
    if (c->unfit)
        expect_int(choice.is_redirected, !(c->devices & c->unfit));
    if (r) {
        expect_contains(error.message, c->told);
        expect_str(error.id, "device.unknown");
    } else if (c->told) {
        expect_int(choice.n_warnings, 1);
        expect_contains(choice.warnings[0], c->told);
    } else {
        expect_int(choice.n_warnings, 0);
    }
    expect_int(vrt_device_request_check(c->request, NULL), c->r == -EINVAL ? -EINVAL : 0);
}

static void test_requests(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_case(&cases[i]);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(bads); i++)
        for (int k = 0; k < 12 && bads[i].requests[k]; k++)
            check_case(&(struct request_case){ .machine = pairs, .request = bads[i].requests[k],
                                               .r = -EINVAL, .told = bads[i].told });
}

static void test_too_long(void)
{
    char request[2000];
    struct vrt_error error = { 0 };

    for (size_t i = 0; i < sizeof(request) - 1; i++)
        request[i] = "cpu,"[i % 4];
    request[sizeof(request) - 1] = '\0';
    expect_int(vrt_device_request_check(request, &error), -EINVAL);
    expect_contains(error.message, "too long");
}

/* Whose memory it is: the request for one card may mean two devices. */
static void test_shared_memory(void)
{
    expect_true(vrt_device_info_shares_memory(&cuda00, &cuda01));
    expect_true(!vrt_device_info_shares_memory(&cuda00, &cuda20));
    expect_true(vrt_device_info_shares_memory(&cuda20, &cuda20));
    expect_true(vrt_device_info_shares_memory(&cpu0, &cpu1));
    expect_true(!vrt_device_info_shares_memory(&cpu0, &cuda0));
    expect_true(!vrt_device_info_shares_memory(&cpu0, &ref0));
    expect_true(vrt_device_info_shares_memory(&xpu0, &xpu0));
}

/* Every subset of the kinds, every request for one of them or for two: a kind that is there is
 * taken, in place of another the first that is, with a warning for each. */
static void test_redirections(void)
{
    static const char *const names[] = { "cuda", "xpu", "mps", "cpu" };
    static const struct vrt_device_info *const kinds[] = { &cuda0, &xpu0, &mps0, &cpu0 };

    for (unsigned there = 1; there < 16; there++)
    for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++)
    for (int fallback = 0; fallback < VRT_FALLBACK_COUNT; fallback++) {
        const struct vrt_device_info *machine[4];
        uint64_t bits[4] = { 0 };
        char request[16], warnings[2][96];
        size_t n = 0, n_warnings = 0;
        const int best = __builtin_ctz(there), asked[] = { a, b };
        uint64_t wanted = 0;

        for (int k = 0; k < 4; k++)
            if (there >> k & 1) {
                bits[k] = UINT64_C(1) << n;
                machine[n++] = kinds[k];
            }
        for (int i = 0; i < (a == b ? 1 : 2); i++) {
            const int k = asked[i];
            wanted |= bits[k] ? bits[k] : bits[best];
            if (!bits[k])
                snprintf(warnings[n_warnings++], sizeof(warnings[0]), "no %s device: %s is used "
                         "instead", names[k], names[best]);
        }
        snprintf(request, sizeof(request), "%s,%s:0", names[a], names[b]);

        struct vrt_device_choice choice = { 0 };
        struct vrt_error error = { 0 };
        const int r = vrt_device_request_resolve(&(struct vrt_device_request){
            request, (enum vrt_fallback)fallback, machine, n }, &choice, &error);
        if (n_warnings && fallback == VRT_FALLBACK_FORBID) {
            expect_int(r, -ENODEV);
            expect_contains(error.message, names[bits[a] ? b : a]);
            continue;
        }
        expect_int(r, 0);
        expect_int(choice.devices, wanted);
        expect_int(choice.is_redirected, n_warnings > 0);
        expect_int(choice.n_warnings, fallback == VRT_FALLBACK_WARN ? n_warnings : 0);
        for (size_t i = 0; i < choice.n_warnings; i++)
            expect_contains(choice.warnings[i], warnings[i]);
    }
}

static void test_fallback_names(void)
{
    static const char *const names[] = { "warn", "allow", "forbid" };
    enum vrt_fallback fallback;

    for (int i = 0; i < VRT_FALLBACK_COUNT; i++) {
        expect_int(vrt_fallback_from_name(names[i], &fallback), 0);
        expect_int(fallback, i);
    }
    expect_int(vrt_fallback_from_name("Warn", &fallback), -EINVAL);
}

TEST_MAIN(
    { "requests", test_requests },             { "too-long", test_too_long },
    { "shared-memory", test_shared_memory },   { "redirections", test_redirections },
    { "fallback-names", test_fallback_names },
)
