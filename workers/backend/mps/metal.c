/* SPDX-License-Identifier: MIT */

#include "backend/mps/metal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* Another library in the place of both: what tests run on. */
#define LIBRARY_VARIABLE "VRT_MPS_LIBRARY"

#define RUNTIME "/usr/lib/libobjc.A.dylib"
#define FRAMEWORK "/System/Library/Frameworks/Metal.framework/Metal"

/* What MTLCreateSystemDefaultDevice() asks for displays. */
#define GRAPHICS "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics"

struct vrt_metal vrt_metal;

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* Finds the functions that aren't messages. Return: the name of what is missing, or NULL. */
static const char *find_functions(void *runtime, void *framework)
{
    const struct {
        const char *name;
        void *library, *pointer;
    } wanted[] = {
        { "objc_getClass", runtime, &vrt_metal.class_of },
        { "objc_autoreleasePoolPush", runtime, &vrt_metal.begin_pool },
        { "objc_autoreleasePoolPop", runtime, &vrt_metal.end_pool },
        { "_NSConcreteGlobalBlock", runtime, &vrt_metal.block_class },
        { "MTLCopyAllDevices", framework, &vrt_metal.copy_devices },
        { "MTLCreateSystemDefaultDevice", framework, &vrt_metal.new_default_device },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(wanted); i++) {
        void *found = dlsym(wanted[i].library, wanted[i].name);
        /* Blocks are libSystem's, which each process has. */
        if (!found)
            found = dlsym(RTLD_DEFAULT, wanted[i].name);
        if (!found)
            return wanted[i].name;
        memcpy(wanted[i].pointer, &found, sizeof(found));
    }
    return NULL;
}

/* Has the runtime number the selectors. Return: as find_functions(). */
static const char *find_messages(void *runtime)
{
    void *send = dlsym(runtime, "objc_msgSend");
    void *entry = dlsym(runtime, "sel_registerName");
    vrt_metal_selector (*number)(const char *name);

    if (!send)
        return "objc_msgSend";
    if (!entry)
        return "sel_registerName";
    memcpy(&number, &entry, sizeof(number));
#define FIND(member, selector_name, type, ...)                       \
    memcpy(&vrt_metal.member.send, &send, sizeof(send));             \
    vrt_metal.member.name = number(selector_name);

    VRT_METAL_MESSAGES(FIND)
    return NULL;
}

static int load(char *ret_why, size_t size)
{
    const char *library = getenv(LIBRARY_VARIABLE), *missing;

    if (!library)
        open_library(GRAPHICS);
    void *runtime = open_library(library ? library : RUNTIME);
    void *framework = runtime ? open_library(library ? library : FRAMEWORK) : NULL;
    if (!framework) {
        snprintf(ret_why, size, "%s", dlerror());
        return -ENOENT;
    }
    missing = find_messages(runtime);
    if (!missing)
        missing = find_functions(runtime, framework);
    if (!missing)
        return 0;
    snprintf(ret_why, size, "Metal lacks %s", missing);
    return -ENOSYS;
}

int vrt_metal_load(char *ret_why, size_t size)
{
    static int outcome = 1;
    static char why[192];

    if (outcome > 0)
        outcome = load(why, sizeof(why));
    snprintf(ret_why, size, "%s", why);
    return outcome;
}

vrt_metal_id vrt_metal_string(const char *text)
{
    return VRT_METAL(string_of, vrt_metal.class_of("NSString"), text);
}

vrt_metal_id vrt_metal_new(const char *class_name)
{
    return VRT_METAL(init, VRT_METAL(alloc, vrt_metal.class_of(class_name)));
}

const char *vrt_metal_why(vrt_metal_id error, char *text, size_t size)
{
    const char *said = VRT_METAL(text, VRT_METAL(description, error));

    snprintf(text, size, "%s", said ? said : "no reason is given");
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    return text;
}

void vrt_metal_drop(vrt_metal_id *object)
{
    if (*object)
        VRT_METAL(release, *object);
    *object = NULL;
}
