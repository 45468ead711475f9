/* SPDX-License-Identifier: MIT */
/* Which devices there are, and what they say of themselves, through the real loader. */

#include "tests/simulators/xpu/tests/bench.h"

#include "base/macro.h"

/* What a case finds, of each device: the card, and how many subdevices. */
struct wanted {
    unsigned n, buses[64], n_tiles[64];
};

static const struct wanted *wanted;

static void compare(void)
{
    ze_driver_handle_t driver;
    ze_device_handle_t devices[64];
    unsigned n = bench_open(VRT_ARRAY_SIZE(devices), &driver, devices);

    expect_int(n, wanted->n);
    for (unsigned i = 0; i < n; i++) {
        ze_pci_ext_properties_t pci = { .stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES };
        uint32_t n_tiles = 0;
        expect_ok(zeDevicePciGetPropertiesExt(devices[i], &pci));
        expect_int(pci.address.bus, wanted->buses[i]);
        expect_ok(zeDeviceGetSubDevices(devices[i], &n_tiles, NULL));
        expect_int(n_tiles, wanted->n_tiles[i]);
    }
}

static void test_masks(void)
{
    static const struct {
        const char *settings[4];
        struct wanted wanted;
    } cases[] = {
        { { NULL }, { 1, { 3 }, { 0 } } },
        { { "VRT_XPU_DEVICES=3" }, { 3, { 3, 4, 5 }, { 0 } } },
        { { "VRT_XPU_DEVICES=3", "ZE_AFFINITY_MASK=" }, { 3, { 3, 4, 5 }, { 0 } } },
        { { "VRT_XPU_DEVICES=3", "ZE_AFFINITY_MASK=2,0" }, { 2, { 3, 5 }, { 0 } } },
        { { "VRT_XPU_DEVICES=3", "ZE_AFFINITY_MASK=1,7" }, { 1, { 4 }, { 0 } } },
        { { "VRT_XPU_DEVICES=2", "VRT_XPU_TILES=2" }, { 2, { 3, 4 }, { 2, 2 } } },
        { { "VRT_XPU_DEVICES=2", "VRT_XPU_TILES=2", "ZE_AFFINITY_MASK=1.1" }, { 1, { 4 }, { 0 } } },
        { { "VRT_XPU_DEVICES=2", "VRT_XPU_TILES=4", "ZE_AFFINITY_MASK=0.1,0.3,1" },
          { 2, { 3, 4 }, { 2, 4 } } },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        wanted = &cases[i].wanted;
        bench_run(compare, cases[i].settings, 0, NULL);
    }
}

/* Who asks for more than there are gets handles of nothing, uncorrected, as by Intel's driver. */
static void ask_for_more(void)
{
    ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    ze_driver_handle_t driver;
    ze_device_handle_t devices[4];
    uint32_t n = 4;
    expect_int(bench_open(1, &driver, devices), 1);
    expect_ok(zeDeviceGet(driver, &n, devices));
    expect_int(n, 4);
    expect_ok(zeDeviceGetProperties(devices[1], &p));
    expect_int(zeDeviceGetProperties(devices[2], &p), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

static void test_counts(void)
{
    bench_run(ask_for_more, (const char *[]){ "VRT_XPU_DEVICES=2", NULL }, BENCH_MISUSE,
              "the handle is of no living device");
}

static void forget(void)
{
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    bench_open(1, &driver, &device);
    bench_context(driver);
}

static void destroy_twice(void)
{
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    bench_open(1, &driver, &device);
    ze_context_handle_t context = bench_context(driver);
    expect_ok(zeContextDestroy(context));
    expect_int(zeContextDestroy(context), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

static void confuse(void)
{
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    bench_open(1, &driver, &device);
    expect_int(zeContextDestroy((ze_context_handle_t)device), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

/* These don't hold under the loader's layers, which give out handles of their own. */
static void test_handles(void)
{
    bench_run(forget, NULL, BENCH_MISUSE, "1 of kind context were never destroyed");
    bench_run(forget, (const char *[]){ "VRT_XPU_STRICT=0", NULL }, 0, "never destroyed");
    if (getenv("ZE_ENABLE_LOADER_INTERCEPT"))
        return;
    bench_run(destroy_twice, NULL, BENCH_MISUSE,
              "misuse: zeContextDestroy: the handle is of no living context");
    bench_run(confuse, NULL, BENCH_MISUSE, "the handle is of a device, not of a context");
}

TEST_MAIN(
    { "masks", test_masks },
    { "counts", test_counts },
    { "handles", test_handles },
)
