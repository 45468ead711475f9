/* SPDX-License-Identifier: MIT */

/* Lies: most answers are sent as they are, so that a talk goes on for a while. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "double.h"

#define FDS_MAX 8

enum lie {
    NUMBER_32, NUMBER_64, BYTES, NOISE, UNENDED, KIND, RESULT, REFUSAL, SIZE, PACKET, FD, EMPTY,
    FLOOD, TWICE, UNASKED, SAMPLES, RESIZE, GROW, LATE, GONE, LIES,
};

/* What numbers are like that programs forget. */
static const int64_t strange[] = {
    0, 1, -1, 2, 7, 8, 16, 17, 63, 64, 65, 255, 256, 4095, 4096, 16384, 16385, 65535, 65536,
    INT32_MAX, INT32_MIN, INT32_MAX - 1, UINT32_MAX, INT64_MAX, INT64_MIN, INT64_MAX / 1024,
    INT64_MAX / 1024 + 1, INT64_MAX / 1000000000, -2147483647, 1 << 20, (1 << 20) + 1,
};

/* Refusals that would have vrtd do more than fail a job, if it believed them. */
static const struct {
    const char *id;
    int result;
} refusals[] = {
    { "out_of_descriptors", -EMFILE }, { "internal", -ENFILE }, { "cancelled", -ECANCELED },
    { "spool.full", -ENOSPC }, { "job.parked", -EBADMSG }, { "no.such\n", -1 },
};

static int64_t strange_number(struct double_dice *dice)
{
    const uint64_t number = (uint64_t)strange[double_roll(dice, VRT_ARRAY_SIZE(strange))];

    return (int64_t)(double_roll(dice, 4) == 0 ? number + double_roll(dice, 5) - 2 : number);
}

static size_t place_in(struct double_dice *dice, size_t size, size_t unit)
{
    return double_roll(dice, (uint32_t)(size / unit)) * unit;
}

/* Whatever packet: not even one of ours. */
static int send_raw(int socket, const void *bytes, size_t size)
{
    return send(socket, bytes, size, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* An answer with descriptors that nobody asked for, more than one of ours has room for. */
static int send_fds(int socket, const void *bytes, size_t size, int n)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
    } control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = size };
    struct msghdr packet = {
        .msg_iov = &part, .msg_iovlen = 1,
        .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n),
    };

    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
    for (int i = 0; i < n; i++)
        memcpy(CMSG_DATA(&control.head) + sizeof(int) * (size_t)i, &socket, sizeof(int));
    return sendmsg(socket, &packet, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void scribble(struct double_dice *dice, const struct double_files *files)
{
    const size_t size = 64 * 48 * 2;
    uint8_t *at = files->frame_fd < 0 ? MAP_FAILED :
                  mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, files->frame_fd,
                       files->offset_bytes);

    if (files->is_only_shown && (at != MAP_FAILED || pwrite(files->frame_fd, "", 1, 0) == 1))
        raise(DOUBLE_COULD);
    if (at == MAP_FAILED)
        return;
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)double_roll(dice, 256);
    munmap(at, size);
}

/* Neither may succeed: whoever has the file mapped would be ended, or its memory filled. */
static void resize(int fd)
{
    if (fd >= 0 && (ftruncate(fd, 0) == 0 || ftruncate(fd, (off_t)1 << 34) == 0))
        raise(DOUBLE_COULD);
}

/* Says no. */
static void refuse(struct double_dice *dice, struct vrt_message *message)
{
    const uint32_t i = double_roll(dice, VRT_ARRAY_SIZE(refusals));

    message->result = refusals[i].result;
    snprintf(message->error_id, sizeof(message->error_id), "%s", refusals[i].id);
    memset(message->error, 0x1b, sizeof(message->error));
    message->error[double_roll(dice, sizeof(message->error))] = '\0';
}

/* Changes what is in the message. */
static void twist(struct double_dice *dice, enum lie lie, struct vrt_message *message,
                  size_t *size)
{
    char *bytes = (char *)message;
    int64_t number = strange_number(dice);
    int32_t half = (int32_t)number;

    if (lie == NUMBER_32)
        memcpy(bytes + place_in(dice, *size, 4), &half, 4);
    else if (lie == NUMBER_64 && *size >= 8)
        memcpy(bytes + place_in(dice, *size, 8), &number, 8);
    for (uint32_t n = lie == BYTES ? 1 + double_roll(dice, 8) : 0; n > 0; n--)
        bytes[place_in(dice, *size, 1)] = (char)double_roll(dice, 256);
    if (lie == NOISE)
        for (size_t i = offsetof(struct vrt_message, body); i < *size; i++)
            bytes[i] = (char)double_roll(dice, 256);
    if (lie == UNENDED)
        memset(bytes + sizeof(uint32_t) * 2, 'A' + (int)double_roll(dice, 190),
               *size - sizeof(uint32_t) * 2);
    if (lie == KIND)
        message->kind = double_roll(dice, VRT_MESSAGE_KIND_COUNT + 2);
    if (lie == RESULT)
        message->result = half;
    if (lie == REFUSAL)
        refuse(dice, message);
    if (lie == SIZE)
        *size = double_roll(dice, sizeof(*message) + 1);
}

int double_lie(struct double_dice *dice, int socket, struct vrt_message *message, size_t size,
               const struct double_files *files)
{
    static const char large[1 << 16];
    const enum lie lie = (enum lie)double_roll(dice, LIES * dice->rarity);
    struct vrt_message question;

    twist(dice, lie, message, &size);
    if (lie == PACKET)
        return send_raw(socket, large, double_roll(dice, sizeof(large)));
    if (lie == FD)
        return send_fds(socket, message, size, 1 + (int)double_roll(dice, FDS_MAX));
    /* What looks like the end, but for its descriptors. */
    for (int n = lie == EMPTY ? 200 : 0; n > 0; n--)
        if (send_fds(socket, message, 0, 3) < 0)
            return -1;
    if (lie == SAMPLES)
        scribble(dice, files);
    if (lie == RESIZE)
        resize(files->frame_fd);
    /* Holes: what counts is the size. */
    if (lie == GROW && files->work_fd >= 0 && ftruncate(files->work_fd, (off_t)1 << 40) < 0)
        abort();
    if (lie == GONE && double_roll(dice, 2) == 0)
        abort();
    if (lie == GONE)
        exit((int)double_roll(dice, 256));
    for (uint32_t n = lie == UNASKED ? 1 : lie == FLOOD ? 3000 : 0; n > 0; n--) {
        const bool is_more = double_roll(dice, 2);
        question = (struct vrt_message){ .kind = is_more ? VRT_MESSAGE_READER_MORE :
                                                           VRT_MESSAGE_JOIN_SEGMENT };
        if (is_more) {
            question.body.reader_more.size_bytes = strange_number(dice);
            question.body.reader_more.n_spent = (int32_t)strange_number(dice);
            question.body.reader_more.spent[0].to = strange_number(dice);
        } else {
            question.body.segment.number = double_roll(dice, 2) ? 0 : strange_number(dice);
        }
        if (send_raw(socket, &question, is_more ? VRT_MESSAGE_BYTES(reader_more) :
                                                  VRT_MESSAGE_BYTES(segment)) < 0)
            return -1;
    }
    if (lie == TWICE && vrt_message_send(socket, message, size, NULL) < 0)
        return -1;
    int r = vrt_message_send(socket, message, size, NULL);
    if (lie == LATE)
        scribble(dice, files);
    return r;
}
