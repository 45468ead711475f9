/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * vrt-media's side: what it is asked by vrtd it does by FFmpeg, one thing at a time
 *
 * Thread: the process's first, all of it.
 */

#include "frames/compare/pictures.h"
#include "frames/process/wire.h"

#define VRT_SERVE_SOCKET 3          /* the descriptor that it finds when it starts */
#define VRT_SERVE_STATUS_OTHER 3    /* its status where it is of another version than vrtd */

struct vrt_server {
    int socket;
    const char *missing;            /* what could not be given up; "": nothing */
    struct vrt_reader *reader;      /* NULL: none is open */
    int input_fd;                   /* the reader's; -1 */
    struct vrt_places *places;      /* of its frames, in vrtd's file; NULL: none was asked for */
    struct vrt_frame *given;        /* that vrtd looks at: the last one; NULL */
    struct vrt_feed feed;           /* of that, where it grows: vrtd */
    struct {
        struct vrt_frame *shown, *next;     /* NULL: none */
        bool ended;
        bool is_made;               /* it is a video of its own: by the frames' numbers */
    } alpha;                        /* of a reader of transparency: what goes with the frame that
                                     * was encoded last, and what comes then */
    struct vrt_encoder *encoder;    /* NULL: no segment is begun */
    int segment_fd;                 /* the encoder's; -1 */
    struct vrt_compare *compare;    /* NULL: nothing is compared */
    int compare_fds[2];             /* its own; -1 */
    struct vrt_pictures shown;      /* of what is compared, vrtd's */
    atomic_int n_held;              /* frames that the encoder looks at still */
};

/*
 * What is done for each kind of question: the answer replaces it in `message`, *size is that of
 * what it says. Descriptors that are kept are taken out of `fds`.
 * Return: 0, an outcome; -errno with the sentence in `error`.
 */
typedef int vrt_serve(struct vrt_server *server, struct vrt_message *message,
                      struct vrt_message_fds *fds, size_t *size, struct vrt_error *error);

vrt_serve vrt_serve_reader_open, vrt_serve_reader_next, vrt_serve_reader_look;
vrt_serve vrt_serve_reader_try;
vrt_serve vrt_serve_encoder_check, vrt_serve_encoder_pick, vrt_serve_encoder_try;
vrt_serve vrt_serve_encoder_new, vrt_serve_encoder_send, vrt_serve_encoder_finish;
vrt_serve vrt_serve_encoder_fits, vrt_serve_encoder_find;
vrt_serve vrt_serve_segment_check, vrt_serve_join_preview, vrt_serve_join, vrt_serve_join_verify;
vrt_serve vrt_serve_join_picture, vrt_serve_preview;
vrt_serve vrt_serve_compare_open, vrt_serve_compare_show, vrt_serve_compare_next;

/* The frame at `offset_bytes` of a pool's file, its planes laid out; unmapped with its last
 * reference. Return: 0; -errno. */
int vrt_serve_map(int fd, const struct vrt_frame_format *format, int64_t offset_bytes,
                  struct vrt_frame **ret_frame);

/* Ends what is compared. */
void vrt_serve_compare_close(struct vrt_server *server);

/* Closes the reader, and what was read by it. */
void vrt_serve_reader_close(struct vrt_server *server);

/* Answers what comes by the socket; `missing` is what the sandbox lacks. Return: 0: the other end
 * is gone; -errno. */
int vrt_serve_all(int socket, const char *missing);
