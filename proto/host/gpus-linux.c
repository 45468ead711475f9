/* SPDX-License-Identifier: MIT */

/*
 * By sysfs: a display controller or accelerator of a vendor that makes such as compute. Its node is
 * the one of DRM that renders, unless its vendor's driver has nodes of its own.
 */

#include "host/gpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"

#define GPUS_MAX 256               /* of one machine */
#define PATH_BYTES 512

/* PCI's classes, the upper byte. */
#define CLASS_DISPLAY 0x03
#define CLASS_ACCELERATOR 0x12

/* A number such as "0x8086" in a file of the device's folder; -1: there is none. */
static long read_number(const char *folder, const char *name)
{
    char path[PATH_BYTES], text[32] = "";
    FILE *file = snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_BYTES ?
                 fopen(path, "re") : NULL;
    char *end;

    if (!file)
        return -1;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    long number = strtol(text, &end, 16);
    return end == text ? -1 : number;
}

static void find_driver(const char *folder, char *driver, size_t size)
{
    char path[PATH_BYTES], target[PATH_BYTES];

    if (snprintf(path, sizeof(path), "%s/driver", folder) >= PATH_BYTES)
        return;
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    const char *name = strrchr(target, '/');
    vrt_printable(name ? name + 1 : target, driver, (int)size);
}

/* The group's name out of a line "name:password:number:members". Return: whether it has `gid`. */
static bool read_group(char *line, unsigned gid, char *name, size_t size)
{
    char *password = strchr(line, ':');
    char *number = password ? strchr(password + 1, ':') : NULL;
    char *end;

    if (!number || number[1] < '0' || number[1] > '9' ||
        strtoul(number + 1, &end, 10) != gid || *end != ':')
        return false;
    *password = '\0';
    vrt_printable(line, name, (int)size);
    return true;
}

static void name_group(const char *root, unsigned gid, char *name, size_t size)
{
    char path[PATH_BYTES], line[4096];
    FILE *file = snprintf(path, sizeof(path), "%s/etc/group", root) < PATH_BYTES ?
                 fopen(path, "re") : NULL;

    snprintf(name, size, "%u", gid);
    if (!file)
        return;
    while (fgets(line, sizeof(line), file))
        if (read_group(line, gid, name, size))
            break;
    fclose(file);
}

static void try_node(const char *root, const char *path, struct vrt_gpu *gpu)
{
    struct vrt_gpu_node *node = &gpu->nodes[gpu->n_nodes];
    char full[PATH_BYTES];
    struct stat stat_of;

    if (gpu->n_nodes == VRT_GPU_NODES_MAX ||
        snprintf(full, sizeof(full), "%s%s", root, path) >= PATH_BYTES)
        return;
    *node = (struct vrt_gpu_node){ .open_errno = 0 };
    if (snprintf(node->path, sizeof(node->path), "%s", path) >= (int)sizeof(node->path))
        return;
    gpu->n_nodes++;
    int fd = open(full, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        node->open_errno = errno;
    else
        close(fd);
    if (stat(full, &stat_of) < 0)
        return;
    node->mode = stat_of.st_mode & 07777;
    node->uid = stat_of.st_uid;
    node->gid = stat_of.st_gid;
    name_group(root, node->gid, node->group, sizeof(node->group));
}

/* Those in `folder` that are called `prefix` and a number. Return: how many there were. */
static int try_numbered(const char *root, const char *folder, const char *prefix,
                        struct vrt_gpu *gpu)
{
    char path[PATH_BYTES], node[PATH_BYTES];
    const struct dirent *entry;
    int n = 0;

    if (snprintf(path, sizeof(path), "%s%s", root, folder) >= PATH_BYTES)
        return 0;
    DIR *entries = opendir(path);
    while (entries && (entry = readdir(entries))) {
        const size_t n_prefix = strlen(prefix);
        const char *number = entry->d_name + n_prefix;
        if (strncmp(entry->d_name, prefix, n_prefix) != 0 || !number[0] ||
            strspn(number, "0123456789") != strlen(number))
            continue;
        const char *dev = strcmp(prefix, "renderD") == 0 ? "/dev/dri" : "/dev";
        if (snprintf(node, sizeof(node), "%s/%s", dev, entry->d_name) < PATH_BYTES)
            try_node(root, node, gpu);
        n++;
    }
    if (entries)
        closedir(entries);
    return n;
}

static void find_nodes(const char *root, const char *address, struct vrt_gpu *gpu)
{
    const struct vrt_vendor *vendor = gpu->vendor;
    char folder[PATH_BYTES];

    if (vendor->node) {
        for (size_t i = 0; vendor->common_nodes[i]; i++)
            try_node(root, vendor->common_nodes[i], gpu);
        snprintf(folder, sizeof(folder), "/dev/%s0", vendor->node);
        if (try_numbered(root, "/dev", vendor->node, gpu) == 0)
            try_node(root, folder, gpu);
    } else if (snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%s/drm", address) <
               PATH_BYTES) {
        try_numbered(root, folder, "renderD", gpu);
    }
}

/* Return: whether it is one that may compute. */
static bool look_at(const char *root, const char *address, struct vrt_gpu *gpu)
{
    char folder[PATH_BYTES];

    if (snprintf(folder, sizeof(folder), "%s/sys/bus/pci/devices/%s", root, address) >= PATH_BYTES)
        return false;
    const struct vrt_vendor *vendor = vrt_vendor_find(read_number(folder, "vendor"));
    long class = read_number(folder, "class");
    if (class >> 16 != CLASS_DISPLAY && class >> 16 != CLASS_ACCELERATOR)
        return false;
    if (!vendor)
        return false;
    *gpu = (struct vrt_gpu){ .vendor = vendor, .device = (int)read_number(folder, "device") };
    if (snprintf(gpu->address, sizeof(gpu->address), "%s", address) >= (int)sizeof(gpu->address))
        return false;
    find_driver(folder, gpu->driver, sizeof(gpu->driver));
    if (gpu->driver[0])
        find_nodes(root, address, gpu);
    return true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct vrt_gpu *)a)->address, ((const struct vrt_gpu *)b)->address);
}

int vrt_gpus_list(const char *root, struct vrt_gpu **ret_gpus, size_t *ret_n_gpus)
{
    VRT_CLEANUP(vrt_freep) struct vrt_gpu *gpus = calloc(GPUS_MAX, sizeof(*gpus));
    char path[PATH_BYTES];
    size_t n = 0;

    if (!gpus)
        return vrt_raise(-ENOMEM);
    DIR *devices = snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", root) < PATH_BYTES ?
                   opendir(path) : NULL;
    const struct dirent *entry;
    while (devices && n < GPUS_MAX && (entry = readdir(devices)))
        if (look_at(root, entry->d_name, &gpus[n]))
            n++;
    if (devices)
        closedir(devices);
    qsort(gpus, n, sizeof(gpus[0]), compare);
    *ret_gpus = VRT_STEAL(gpus);
    *ret_n_gpus = n;
    return 0;
}
