/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "tests/accelerator/machine.h"

/* Whether a finding of this kind says so. */
static bool is_found(const struct machine *m, enum vrt_finding_kind wanted, const char *words)
{
    const struct vrt_findings *findings = vrt_registry_findings(m->registry);

    for (size_t i = 0; i < findings->n; i++) {
        const struct vrt_finding *f = &findings->list[i];
        if (strcmp(f->backend, kind) == 0 && f->kind == wanted &&
            (strstr(f->text, words) || strstr(f->cure, words)))
            return true;
    }
    return false;
}

static void expect_none(enum vrt_finding_kind wanted, const char *words)
{
    struct machine m = look(&(struct vrt_registry_params){ 0 });

    expect_int(m.n, 0);
    expect_true(is_found(&m, wanted, words));
    leave(&m);
}

/* Three cards of unlike memory. */
static void test_cards(void)
{
    struct machine m = look(&(struct vrt_registry_params){ 0 });

    expect_int(m.n, 3);
    for (int i = 0; i < 3; i++) {
        const char name[] = { 'x', 'p', 'u', ':', (char)('0' + i), '\0' };
        expect_str(m.infos[i]->name, name);
        expect_int(m.infos[i]->index, i);
        expect_contains(m.infos[i]->description, "Arc");
        expect_contains(m.infos[i]->description, "512 EUs, DPAS");
        expect_int(strlen(m.infos[i]->uuid), 36);
        expect_int(strlen(m.infos[i]->pci_address), 12);
        expect_int(m.infos[i]->preferred_dtype, VRT_DTYPE_F16);
        expect_true(m.infos[i]->driver_version[0] != '\0');
        expect_int(m.infos[i]->memory_total_bytes, (i == 0 ? 16384ll : 8192ll) << 20);
        expect_contains(m.infos[i]->class_id, m.infos[i]->driver_version);
    }
    expect_true(strcmp(m.infos[0]->uuid, m.infos[1]->uuid) != 0);
    expect_true(strcmp(m.infos[0]->pci_address, m.infos[1]->pci_address) != 0);
    expect_true(is_found(&m, VRT_FINDING_THERE, "libze_loader.so.1"));
    leave(&m);

    const struct vrt_registry_params params = { .values = PATIENCE_S(-1) };
    struct vrt_error error = { 0 };
    expect_int(vrt_registry_new(&params, &m.registry, &error), -EINVAL);
    expect_contains(error.message, "patience_s can't be -1: give 1 to 86400");
}

/* Two GPUs of a Mac. */
static void test_gpus(void)
{
    struct machine m = look(&(struct vrt_registry_params){ 0 });

    expect_int(m.n, 2);
    for (int i = 0; i < 2; i++) {
        const char name[] = { 'm', 'p', 's', ':', (char)('0' + i), '\0' };
        expect_str(m.infos[i]->name, name);
        expect_int(m.infos[i]->index, i);
        expect_contains(m.infos[i]->description, "8.0 GiB of the host's memory");
        expect_true(m.infos[i]->shares_host_memory);
        expect_int(m.infos[i]->preferred_dtype, VRT_DTYPE_F16);
        expect_str(m.infos[i]->driver_version, "14.0");
        expect_int(m.infos[i]->memory_total_bytes, 8192ll << 20);
        expect_contains(m.infos[i]->class_id, "14.0");
        expect_int(open_device(&m, i), 0);
    }
    expect_true(is_found(&m, VRT_FINDING_THERE, "Metal of macOS 14.0"));
    leave(&m);
}

static void test_no_gpu(void)
{
    expect_none(VRT_FINDING_UNFIT, "LaunchAgent");
}

static void test_no_library(void)
{
    expect_none(VRT_FINDING_ABSENT, "Metal is only on macOS");
}

/* A library of that name that has nothing of it. */
static void test_old_library(void)
{
    expect_none(VRT_FINDING_UNFIT, "Metal lacks objc_msgSend");
}

static void test_tiles(void)
{
    struct machine m = look(&(struct vrt_registry_params){ 0 });

    expect_int(m.n, 2);
    leave(&m);
    m = look(&(struct vrt_registry_params){
        .values = VRT_BACKEND_VALUES({ "xpu", "tiles", 1 }),
    });
    expect_int(m.n, 4);
    expect_contains(m.infos[2]->description, ", tile 0");
    expect_contains(m.infos[3]->description, ", tile 1");
    for (int i = 0; i < 4; i++)
        expect_int(open_device(&m, i), 0);
    leave(&m);
}

static void test_masked(void)
{
    struct machine m = look(&(struct vrt_registry_params){ 0 });

    expect_int(m.n, 1);
    expect_contains(m.infos[0]->description, "ZE_AFFINITY_MASK=1");
    leave(&m);
}

static void test_none_visible(void)
{
    expect_none(VRT_FINDING_UNFIT, "ZE_AFFINITY_MASK=\"7\"");
}

static void test_no_driver(void)
{
    expect_none(VRT_FINDING_ABSENT, "libze-intel-gpu1");
}

/* A file of the loader's name that is none. */
static void test_no_loader(void)
{
    expect_none(VRT_FINDING_ABSENT, "libze1");
}

static void test_old_loader(void)
{
    expect_none(VRT_FINDING_UNFIT, "lacks zeInit");
}

const struct scenario presence_scenarios[] = {
    { "cards", test_cards },
    { "gpus", test_gpus },
    { "no-gpu", test_no_gpu },
    { "no-library", test_no_library },
    { "old-library", test_old_library },
    { "tiles", test_tiles },
    { "masked", test_masked },
    { "none-visible", test_none_visible },
    { "no-driver", test_no_driver },
    { "no-loader", test_no_loader },
    { "old-loader", test_old_loader },
    { NULL, NULL },
};
