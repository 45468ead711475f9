/* SPDX-License-Identifier: MIT */
/* A schedule of failures: taken whole, or refused with a sentence; taken, it can be asked. */

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/fault/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct vrt_device_info info = { .kind = "cpu", .index = 1, .name = "cpu:1" };
    VRT_CLEANUP(vrt_fault_schedule_freep) struct vrt_fault_schedule *schedule = NULL;
    struct vrt_error error = { 0 };
    char *text = malloc(size + 1);

    vrt_assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    int r = vrt_fault_schedule_new(text, &schedule, &error);
    free(text);
    vrt_assert(!r == !error.message[0] && !r == !!schedule);
    for (int count = 1; !r && count < 100; count++)
        for (int call = 0; call < VRT_FAULT_CALL_COUNT; call++) {
            const struct vrt_fault_event event =
                vrt_fault_schedule_at(schedule, &info, &(struct vrt_fault_occasion){
                    .call = (enum vrt_fault_call)call,
                    .count = count,
                    .size_bytes = count,
                });
            vrt_assert(event.delay_ns >= 0);
            vrt_assert(event.effect != VRT_FAULT_DELAY && event.effect != VRT_FAULT_HANG &&
                       event.effect <= VRT_FAULT_CORRUPT_COPY);
            vrt_assert(!event.file || event.file[0]);
        }
    return 0;
}
