/* SPDX-License-Identifier: MIT */

#include "workers/media/disk-check.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/error.h"

/* Clearly: not even so much of what is needed has room. */
#define CLEARLY 0.4

/* The segments, and the finished file. */
#define SPOOL_SHARE 2

#define MIB (1024.0 * 1024)

/* Bytes that may be written to the disk of `fd`; -1: nobody can tell. */
static double room_bytes(int fd)
{
    struct statvfs disk;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || fstatvfs(fd, &disk) < 0 || disk.f_blocks == 0)
        return -1;
    /* What the file holds now goes when it is written. */
    return (double)disk.f_bavail * (double)disk.f_frsize +
           (S_ISREG(st.st_mode) ? (double)st.st_blocks * 512 : 0);
}

int64_t vrt_disk_check_run(const struct vrt_disk_check *disk_check, struct vrt_warnings *warnings)
{
    double bytes, room;
    char shown[128];

    if (disk_check->n_frames < 0)
        return -1;
    bytes = vrt_encoder_frame_bytes(disk_check->encoder) * (double)disk_check->n_frames;
    room = room_bytes(disk_check->spool_fd);
    if (room >= 0 && room < CLEARLY * SPOOL_SHARE * bytes)
        vrt_warnings_add(warnings, "vrtd's working files may take about %.1f MiB, and their disk "
                         "has room for %.1f: when it is full the job waits",
                         SPOOL_SHARE * bytes / MIB, room / MIB);
    room = room_bytes(disk_check->output_fd);
    if (room >= 0 && room < CLEARLY * bytes)
        vrt_warnings_add(warnings, "the result may take about %.1f MiB, and the disk of %s has "
                         "room for %.1f: when it is full the job waits", bytes / MIB,
                         vrt_printable(disk_check->output_name, shown, sizeof(shown)), room / MIB);
    /* A container may claim any number of frames. */
    return bytes < (double)INT64_MAX ? (int64_t)bytes : -1;
}
