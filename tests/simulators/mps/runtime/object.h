/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Objects, and what messages find of them
 *
 * A client has handles: numbers that are never given out twice, and no addresses. One of an object
 * that was freed is known as such, and reading through one ends the process. objc_msgSend() makes
 * the object's address of the receiver's; handles among the arguments are the method's to look up.
 */

#include "tests/simulators/mps/runtime/simulator.h"

struct objc_object;
struct objc_selector {
    char name[1];
};

/* The types of methods, by the names that selectors.tsv has for them. */
typedef struct objc_object *mtl_object;
typedef const struct objc_selector *mtl_selector;
typedef bool mtl_bool;
typedef unsigned long mtl_u64;
typedef long mtl_i64;
typedef const void *mtl_pointer;
typedef struct mtl_size {
    unsigned long width, height, depth;
} mtl_size;
typedef void mtl_void;

typedef void (*mtl_function)(void);

struct mtl_method {
    const char *selector;
    mtl_function function;
    const char *type;                   /* "mtl_u64(mtl_object, mtl_u64)" */
};

/* A method of an object of type `self`: a function whose type is looked at here. */
#define MTL_METHOD(selector, function, self, returns, ...)                                      \
    {                                                                                           \
        selector,                                                                               \
        (mtl_function)(1 ? (function)                                                           \
                         : (returns (*)(struct self *, mtl_selector, ##__VA_ARGS__))NULL),      \
        #returns "(" #__VA_ARGS__ ")"                                                           \
    }

/* What such a function begins with. */
#define MTL_SELF(type) \
    __attribute__((unused)) struct type *self, __attribute__((unused)) mtl_selector cmd

struct mtl_base;

struct mtl_class {
    const char *name;                           /* of the class or the protocol */
    size_t n_bytes;                             /* of an object */
    const struct mtl_method *methods;           /* up to one without selector; or NULL */
    const struct mtl_method *class_methods;     /* likewise */
    void (*destroy)(struct mtl_base *object);   /* gives back what it has; NULL: nothing */
    bool has_alloc;                             /* a client makes objects by alloc and init */
    void (*init)(struct mtl_base *object);      /* of one made so; NULL: it is 0 */
    bool is_kept;                               /* the simulator has a reference itself */
};

/* The first member of every object. */
struct mtl_base {
    const struct mtl_class *class;
    unsigned long number;
    unsigned n_refs;
};

/* A class as an object. */
struct mtl_class_object {
    struct mtl_base base;
    const struct mtl_class *of;
};

/* All classes, up to a NULL: classes.c. */
extern const struct mtl_class *const mtl_classes[];

/* A new object of the class, all 0, to be released once. */
void *mtl_new(const struct mtl_class *class);

/* What a client has of an object; NULL of NULL. */
mtl_object mtl_handle(const void *object);

/*
 * The living object of this class that a client means by `handle`; dies where it is another, or
 * none. `what` says what it was to be.
 */
void *mtl_find(mtl_object handle, const struct mtl_class *class, const char *what);

/* The same, or NULL where `handle` is nil. */
void *mtl_find_or_nil(mtl_object handle, const struct mtl_class *class, const char *what);

/* The living object of whatever class; dies where there is none. */
struct mtl_base *mtl_find_any(mtl_object handle);

/* One reference more; one less, with which an object may end. NULL is left alone. */
void *mtl_retain(void *object);
void mtl_release(void *object);

/* To be released when the calling thread's pool ends. Return: what a client gets of it. */
mtl_object mtl_autorelease(void *object);

/*
 * What objc_msgSend() calls: the method that the receiver has for a selector. *receiver is a
 * handle, and becomes what the method gets.
 */
mtl_function mtl_find_method(void **receiver, mtl_selector selector);

/* The selector's name as it is interned. */
mtl_selector mtl_selector_of(const char *name);

/* Says on standard error which objects live. Return: whether any does. */
bool mtl_objects_report(void);
