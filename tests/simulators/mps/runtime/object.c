/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/runtime/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulators/mps/runtime/runtime.h"

/* No address of a process on any machine that there is. */
#define HANDLE_BASE 0x7a6d000000000000u

/* What a handle stands for, by its number; the class stays when the object is freed. */
struct slot {
    struct mtl_base *object;
    const struct mtl_class *class;
};

static struct {
    struct slot *slots;
    size_t n, n_room;
} table;

/* Locked. Gives the object a number. */
static void add(struct mtl_base *object)
{
    if (table.n == table.n_room) {
        table.n_room = table.n_room ? 2 * table.n_room : 1024;
        table.slots = realloc(table.slots, table.n_room * sizeof(table.slots[0]));
        if (!table.slots)
            mtl_die("no memory");
    }
    object->number = table.n;
    table.slots[table.n++] = (struct slot){ object, object->class };
}

void *mtl_new(const struct mtl_class *class)
{
    struct mtl_base *object = mtl_allocate(class->n_bytes);

    object->class = class;
    object->n_refs = 1;
    mtl_lock();
    add(object);
    mtl_unlock();
    return object;
}

mtl_object mtl_handle(const void *object)
{
    return object ? (mtl_object)(HANDLE_BASE + ((const struct mtl_base *)object)->number) : NULL;
}

struct mtl_base *mtl_find_any(mtl_object handle)
{
    const unsigned long number = (unsigned long)handle - HANDLE_BASE;
    struct slot slot = { NULL, NULL };

    mtl_lock();
    if (number < table.n)
        slot = table.slots[number];
    mtl_unlock();
    if (!slot.class)
        mtl_die("%p is no object", (void *)handle);
    if (!slot.object)
        mtl_die("the %s was freed", slot.class->name);
    return slot.object;
}

void *mtl_find_or_nil(mtl_object handle, const struct mtl_class *class, const char *what)
{
    if (!handle)
        return NULL;
    struct mtl_base *object = mtl_find_any(handle);
    if (object->class != class)
        mtl_die("the %s is a %s, not a %s", what, object->class->name, class->name);
    return object;
}

void *mtl_find(mtl_object handle, const struct mtl_class *class, const char *what)
{
    if (!handle)
        mtl_die("the %s is nil", what);
    return mtl_find_or_nil(handle, class, what);
}

void *mtl_retain(void *object)
{
    struct mtl_base *base = object;

    if (!base)
        return NULL;
    mtl_lock();
    base->n_refs++;
    mtl_unlock();
    return base;
}

void mtl_release(void *object)
{
    struct mtl_base *base = object;

    if (!base)
        return;
    mtl_lock();
    const bool ends = --base->n_refs == 0;
    if (ends)
        table.slots[base->number].object = NULL;
    mtl_unlock();
    if (!ends)
        return;
    if (base->class->destroy)
        base->class->destroy(base);
    free(base);
}

static mtl_object retain(MTL_SELF(mtl_base))
{
    return mtl_handle(mtl_retain(self));
}

static void release(MTL_SELF(mtl_base))
{
    mtl_release(self);
}

static mtl_object init(MTL_SELF(mtl_base))
{
    if (!self->class->has_alloc)
        mtl_die("it is made by no init");
    return mtl_handle(self);
}

static mtl_object alloc(MTL_SELF(mtl_class_object))
{
    if (!self->of->has_alloc)
        mtl_die("it is made by no alloc");
    struct mtl_base *object = mtl_new(self->of);
    if (self->of->init)
        self->of->init(object);
    return mtl_handle(object);
}

static const struct mtl_method root_methods[] = {
    MTL_METHOD("retain", retain, mtl_base, mtl_object),
    MTL_METHOD("release", release, mtl_base, mtl_void),
    MTL_METHOD("init", init, mtl_base, mtl_object),
    { 0 },
};

static const struct mtl_method root_class_methods[] = {
    MTL_METHOD("alloc", alloc, mtl_class_object, mtl_object),
    { 0 },
};

static const struct mtl_class class_class = {
    .name = "Class",
    .n_bytes = sizeof(struct mtl_class_object),
};

const struct mtl_class mtl_root_class = {
    .name = "NSObject",
    .methods = root_methods,
    .class_methods = root_class_methods,
};

static mtl_function search(const struct mtl_method *methods, const char *selector)
{
    for (; methods && methods->selector; methods++) {
        if (strcmp(methods->selector, selector) == 0)
            return methods->function;
    }
    return NULL;
}

static mtl_function look_up(const struct mtl_base *object, const char *selector)
{
    mtl_function found;

    if (object->class != &class_class) {
        found = search(object->class->methods, selector);
        return found ? found : search(root_methods, selector);
    }
    found = search(((const struct mtl_class_object *)object)->of->class_methods, selector);
    return found ? found : search(root_class_methods, selector);
}

mtl_function mtl_find_method(void **receiver, mtl_selector selector)
{
    if (!selector)
        mtl_die("objc_msgSend(): no selector");
    mtl_begin("?", selector->name);
    mtl_start();
    struct mtl_base *object = mtl_find_any(*receiver);
    const bool is_class = object->class == &class_class;
    const char *name = is_class ? ((const struct mtl_class_object *)object)->of->name
                                : object->class->name;

    mtl_begin(name, selector->name);
    mtl_function found = look_up(object, selector->name);
    if (!found)
        mtl_die("unrecognized selector");
    *receiver = object;
    return found;
}

/* A class as an object, made once: it is nobody's to release. */
MTL_EXPORT mtl_object objc_getClass(const char *name)
{
    static struct mtl_class_object *made[64];
    mtl_object result = NULL;

    mtl_begin(NULL, __func__);
    mtl_start();
    for (size_t i = 0; mtl_classes[i] && !result; i++) {
        const struct mtl_class *class = mtl_classes[i];
        if (strcmp(class->name, name) != 0 || (!class->class_methods && !class->has_alloc))
            continue;
        if (!__atomic_load_n(&made[i], __ATOMIC_ACQUIRE)) {
            struct mtl_class_object *object = mtl_new(&class_class);
            object->of = class;
            __atomic_store_n(&made[i], object, __ATOMIC_RELEASE);
        }
        result = mtl_handle(made[i]);
    }
    return result;
}

static bool report_class(const struct mtl_class *class)
{
    size_t n = 0;

    for (size_t i = 0; i < table.n; i++) {
        const struct slot *slot = &table.slots[i];
        n += slot->class == class && slot->object && slot->object->n_refs > class->is_kept;
    }
    if (n)
        fprintf(stderr, "vrt-mps-sim: %zu of class %s were never released\n", n, class->name);
    return n > 0;
}

bool mtl_objects_report(void)
{
    bool result = false;

    mtl_lock();
    for (size_t i = 0; mtl_classes[i]; i++)
        result |= report_class(mtl_classes[i]);
    mtl_unlock();
    return result;
}
