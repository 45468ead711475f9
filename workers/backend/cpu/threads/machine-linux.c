/* SPDX-License-Identifier: MIT */

/* The machine as Linux describes it in /proc, /sys and the cgroup (version 2). */

#include "backend/cpu/threads/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define NODES_MAX 64

_Static_assert(VRT_CPU_CORES_MAX <= CPU_SETSIZE, "a set has room for all cores");

static void closep(FILE **file)
{
    if (*file)
        fclose(*file);
}

/* The number after "key" at the start of a line of `path`, in that line's own unit; -1: none. */
static int64_t read_key(const char *path, const char *key)
{
    VRT_CLEANUP(closep) FILE *file = fopen(path, "re");
    const size_t n = strlen(key);
    char line[256];

    while (file && fgets(line, sizeof(line), file)) {
        int64_t value;

        if (strncmp(line, key, n) == 0 && sscanf(line + n, "%" SCNd64, &value) == 1)
            return value;
    }
    return -1;
}

/* The cgroup's folder below /sys/fs/cgroup, "" for the root. */
static void find_cgroup(char *path, size_t size)
{
    VRT_CLEANUP(closep) FILE *file = fopen("/proc/self/cgroup", "re");
    char line[1024];

    path[0] = '\0';
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "0::/") != 0)
            snprintf(path, size, "%.*s", (int)size - 1, line + 3);
    }
}

/*
 * Calls look(folder, context) for the cgroup and all above it: a limit on any of them holds. The
 * folder is that in /sys.
 */
static void for_each_cgroup(void (*look)(const char *folder, void *context), void *context)
{
    char path[1024], folder[1024 + 16];

    find_cgroup(path, sizeof(path));
    for (;;) {
        snprintf(folder, sizeof(folder), "/sys/fs/cgroup%s", path);
        look(folder, context);
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

static void look_at_quota(const char *folder, void *context)
{
    int *n_cores = context;
    char path[PATH_MAX];
    int64_t quota, period;

    snprintf(path, sizeof(path), "%s/cpu.max", folder);
    VRT_CLEANUP(closep) FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%" SCNd64 " %" SCNd64, &quota, &period) != 2 || period <= 0)
        return;
    /* A part of a core is worth a thread. */
    int64_t n = (quota + period - 1) / period;
    *n_cores = (int)VRT_MIN((int64_t)*n_cores, VRT_MAX(n, (int64_t)1));
}

/* What a cgroup and those above leave of memory. */
struct memory {
    int64_t limit, free;
};

static void look_at_memory(const char *folder, void *context)
{
    struct memory *memory = context;
    char path[PATH_MAX];
    int64_t limit, used, cache;

    snprintf(path, sizeof(path), "%s/memory.max", folder);
    limit = read_key(path, "");
    snprintf(path, sizeof(path), "%s/memory.current", folder);
    used = read_key(path, "");
    if (limit < 0 || used < 0)
        return;
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    cache = VRT_MAX(read_key(path, "inactive_file "), (int64_t)0);
    memory->limit = VRT_MIN(memory->limit, limit);
    memory->free = VRT_MIN(memory->free, VRT_MAX(limit - used + cache, (int64_t)0));
}

static void find_model(char *model, size_t size)
{
    VRT_CLEANUP(closep) FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];

    snprintf(model, size, "CPU");
    while (file && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');

        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(model, size, "%s", colon + 1 + strspn(colon + 1, " "));
        return;
    }
}

/* Appends the cores of `list` ("0-3,8,10-11") that are in `allowed`, and takes them out of it. */
static int take_cores(struct vrt_cpu_machine *machine, char *list, cpu_set_t *allowed)
{
    const int before = machine->n_allowed;
    char *rest = list;

    for (char *part = strsep(&rest, ","); part; part = strsep(&rest, ",")) {
        char *end;
        const long first = strtol(part, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, NULL, 10) : first;

        for (long i = first; i <= last && i >= 0 && i < VRT_CPU_CORES_MAX; i++) {
            if (!CPU_ISSET((size_t)i, allowed))
                continue;
            CPU_CLR((size_t)i, allowed);
            machine->cores[machine->n_allowed++] = (int)i;
        }
    }
    return machine->n_allowed - before;
}

static void find_cores(struct vrt_cpu_machine *machine)
{
    char everything[32], path[64], list[1024];
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) < 0) {
        for (int i = 0; i < get_nprocs() && i < VRT_CPU_CORES_MAX; i++)
            CPU_SET((size_t)i, &allowed);
    }
    for (int node = 0; node < NODES_MAX; node++) {
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
        VRT_CLEANUP(closep) FILE *file = fopen(path, "re");

        if (file && fgets(list, sizeof(list), file) && take_cores(machine, list, &allowed) > 0)
            machine->n_nodes++;
    }

    /* Where nothing is said of nodes. */
    snprintf(everything, sizeof(everything), "0-%d", VRT_CPU_CORES_MAX - 1);
    if (take_cores(machine, everything, &allowed) > 0 || machine->n_nodes == 0)
        machine->n_nodes++;
    machine->n_cores = VRT_MAX(machine->n_allowed, 1);
}

void vrt_cpu_machine_stay(const int *cores, int n)
{
    cpu_set_t wanted;

    CPU_ZERO(&wanted);
    for (int i = 0; i < n; i++)
        CPU_SET((size_t)cores[i], &wanted);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(wanted), &wanted);
}

void vrt_cpu_machine_look(struct vrt_cpu_machine *ret_machine)
{
    struct vrt_cpu_machine *machine = ret_machine;
    struct memory memory = { .limit = INT64_MAX, .free = INT64_MAX };

    memset(machine, 0, sizeof(*machine));
    find_model(machine->model, sizeof(machine->model));
    find_cores(machine);
    for_each_cgroup(look_at_quota, &machine->n_cores);

    const int64_t total_kib = read_key("/proc/meminfo", "MemTotal:");
    for_each_cgroup(look_at_memory, &memory);
    machine->memory_bytes = total_kib < 0 ? -1 : VRT_MIN(total_kib * 1024, memory.limit);
}

int64_t vrt_cpu_machine_free_bytes(void)
{
    const int64_t free_kib = read_key("/proc/meminfo", "MemAvailable:");
    struct memory memory = { .limit = INT64_MAX, .free = INT64_MAX };

    for_each_cgroup(look_at_memory, &memory);
    return free_kib < 0 ? -1 : VRT_MIN(free_kib * 1024, memory.free);
}
