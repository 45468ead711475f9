/* SPDX-License-Identifier: MIT */
/* Selectors: names of which there is one each. */

#include <string.h>

#include "tests/simulators/mps/runtime/runtime.h"

struct entry {
    struct entry *next;
    struct objc_selector selector;      /* as long as its name */
};

static struct entry *entries;           /* under the lock */

MTL_EXPORT mtl_selector sel_registerName(const char *name)
{
    const size_t n = strlen(name);

    mtl_begin(NULL, __func__);
    mtl_start();
    mtl_lock();
    struct entry *entry = entries;
    while (entry && strcmp(entry->selector.name, name) != 0)
        entry = entry->next;
    if (!entry) {
        entry = mtl_allocate(sizeof(*entry) + n);
        memcpy(entry->selector.name, name, n + 1);
        entry->next = entries;
        entries = entry;
    }
    mtl_unlock();
    return &entry->selector;
}
