/* SPDX-License-Identifier: MIT */

/* What backends declare, and the devices that they find. */

#include "tests/unit/test.h"

#include <errno.h>

#include "backend/backend.h"
#include "backend/kind.h"

/* Of a device's kind, in the order of preference. */
static size_t place_of(const struct vrt_device_info *info)
{
    size_t i = 0;

    while (strcmp(vrt_device_kind_at(i)->name, info->kind) != 0)
        i++;
    return i;
}

/* Names and what they stand for; each backend's options are as a table of them has to be. */
static void test_kinds(void)
{
    const struct vrt_device_kind *kind;
    struct vrt_backend_section section;
    size_t n = 0;

    for (; (kind = vrt_device_kind_at(n)); n++) {
        expect_true(vrt_backend_section_at(n, &section));
        expect_str(section.name, kind->name);
        expect_true(vrt_device_kind_find(kind->name, strlen(kind->name)) == kind);
        for (const struct vrt_backend_option *s = section.options; s && s->name; s++) {
            expect_true(s->min <= s->fallback && s->fallback <= s->max);
            expect_true(s->help && s->help[0]);
            expect_true((s->type == VRT_BACKEND_OPTION_WORD) == (s->words != NULL));
            for (int64_t i = 0; s->words && i <= s->max + 1; i++)
                expect_true((s->words[i] != NULL) == (i <= s->max));
        }
    }
    expect_true(n > 1 && !vrt_backend_section_at(n, &section));
    expect_int(vrt_device_kind_find("cpu:0", 3)->role, VRT_DEVICE_HOST);
    expect_int(vrt_device_kind_find("mps", 3)->role, VRT_DEVICE_ACCELERATOR);
    expect_true(vrt_registry_has_backend("cpu") && !vrt_registry_has_backend("abacus"));
    expect_true(!vrt_device_kind_find("cpux", 4) && !vrt_device_kind_find("", 0));
}

static void test_registry(void)
{
    static const struct vrt_backend_value
        negative[] = { { "cpu", "threads", 2 }, { "cpu", "devices", -1 }, { NULL } },
        many[] = { { "cuda", "workers_per_device", 5 }, { NULL } },
        no_word[] = { { "cuda", "libraries", 3 }, { NULL } },
        no_option[] = { { "cpu", "colour", 1 }, { NULL } },
        no_backend[] = { { "nobody", "rows", 1 }, { NULL } };
    static const struct {
        struct vrt_registry_params params;
        const char *why;
    } bads[] = {
        { { .values = negative }, "[cpu] devices can't be -1: give 1 to 64" },
        { { .values = many }, "[cuda] workers_per_device can't be 5: give 1 to 4" },
        { { .values = no_word }, "[cuda] libraries can't be 3: give 0 to 2" },
        { { .values = no_option }, "[cpu] has no option colour" },
        { { .values = no_backend }, "[nobody] has no option rows" },
    };
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    size_t n;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(bads); i++) {
        struct vrt_error error = { 0 };
        expect_int(vrt_registry_new(&bads[i].params, &registry, &error), -EINVAL);
        expect_contains(error.message, bads[i].why);
    }
    expect_true(registry == NULL);
    expect_int(vrt_registry_new(&(struct vrt_registry_params){ 0 }, &registry, NULL), 0);
    const struct vrt_device_info *const *devices = vrt_registry_devices(registry, &n);
    expect_true(n >= 1);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s:%d", devices[i]->kind, devices[i]->index);
        expect_str(devices[i]->name, name);
        expect_true(devices[i]->description[0] && devices[i]->class_id[0]);
        expect_true(vrt_registry_find(registry, name) == devices[i]);
        expect_true(i == 0 || place_of(devices[i - 1]) <= place_of(devices[i]));
    }
    expect_str(devices[n - 1]->kind, "ref");
    expect_true(!vrt_registry_find(registry, "ref") && !vrt_registry_find(registry, ""));
}

TEST_MAIN(
    { "kinds", test_kinds },       { "registry", test_registry },
)
