/* SPDX-License-Identifier: MIT */

/*
 * In the place of vrt-media (VRTD_MEDIA_PROGRAM): what decoders become when their input takes them
 * over. It decodes nothing: it answers as if it did, up to where it doesn't any more.
 *
 * VRT_DOUBLE says how: "lie SEED": any answer may be anything; "twist KIND N AT SIZE NUMBER": the
 * Nth answer of a kind has another number somewhere; "exploit": tells what could be done that is
 * forbidden; "PROGRAM": by the input's name. One of crash*, hang*, fill* is answered here, and with
 * any other name PROGRAM, vrt-media itself, takes this one's place. But while there is a seed in
 * the file VRT_DOUBLE_SEED, who is asked something lies. The file VRT_DOUBLE_ONCE is for one
 * process, which removes it: with "crash", "grow" or "dawdle" in it the next that is asked about a
 * segment crashes, or an encoder writes to its segments that are complete, or doesn't go on; with
 * "late" a decoder crashes that is to begin in the midst; with "orphan" the zygote leaves what it
 * would if it were killed while it divides.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macro.h"
#include "double.h"
#include "frames/process/serve.h"
#include "frames/process/zygote.h"

#define FRAMES 40               /* of what it says is a video */
#define GOOD_FRAMES 10          /* of those before it does harm, if it begins with the first */
#define FILL_BYTES ((rlim_t)600 << 20)
#define THREADS 3000
#define STACK_BYTES ((size_t)64 << 10)

enum harm { LIE, CRASH, HANG, FILL, CROWD, GROW, DAWDLE, TWIST };

static const struct {
    const char *prefix;
    enum harm harm;
} names[] = { { "crash", CRASH }, { "hang", HANG }, { "fill", FILL }, { "crowd", CROWD } };

struct hostile {
    enum harm harm;
    struct double_dice dice;
    struct {
        unsigned kind, n;       /* answers of it, before the one that is twisted */
        size_t at, size;
        int64_t number;
    } twist;
    bool is_reading;            /* a job's frames, not only its head */
    int64_t n_frames;
    int64_t n_good;             /* of those before it does harm */
    int64_t n_written;          /* bytes of the segment */
    int old_fd;                 /* a segment that is complete; -1: none was kept */
    struct double_files files;
};

uint32_t double_roll(struct double_dice *dice, uint32_t below)
{
    /* xorshift64*, Vigna, "An experimental exploration of Marsaglia's xorshift generators" */
    dice->state ^= dice->state >> 12;
    dice->state ^= dice->state << 25;
    dice->state ^= dice->state >> 27;
    return (uint32_t)((dice->state * UINT64_C(2685821657736338717)) >> 32) % below;
}

static const struct vrt_message_format film = {
    .width = 64, .height = 48, .depth = 10, .layout = VRT_LAYOUT_YUV,
    .chroma_shift_x = 1, .chroma_shift_y = 1,
    .chroma_location = VRT_CHROMA_LOCATION_LEFT, .primaries = 2, .transfer = 2, .color_space = 2,
    .sample_aspect = { 1, 1 },
};

static size_t tell_film(const struct hostile *hostile, struct vrt_message *message)
{
    struct vrt_message_info *info = &message->body.info;

    *info = (struct vrt_message_info){
        .format = film,
        .container = "matroska", .codec = "ffv1", .pixel_format = "yuv420p10le",
        .time_base = { 1, 1000 },
        .fps = { 25, 1 },
        .duration_ns = FRAMES * 40 * VRT_NS_PER_MS,
        .n_frames_estimate = FRAMES,
        .n_frames = hostile->n_frames,
    };
    return VRT_MESSAGE_BYTES(info);
}

/* What became of the program once its input had taken it over. */
static void *stay(void *ctx)
{
    while (pause() < 0)
        continue;
    return ctx;
}

static void do_harm(enum harm harm)
{
    if (harm == CRASH)
        raise(SIGSEGV);
    while (harm == FILL) {
        char *more = malloc(1 << 20);
        if (!more)
            abort();
        memset(more, 1, 1 << 20);
    }
    for (int i = 0; harm == CROWD && i < THREADS; i++) {
        pthread_attr_t small;
        pthread_t thread;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, STACK_BYTES);
        if (pthread_create(&thread, &small, stay, NULL) != 0)
            abort();
    }
    while (harm == HANG || harm == CROWD)
        pause();
}

static void take_frame(struct hostile *hostile, const struct vrt_message_frame *frame,
                       struct vrt_message_fds *fds, bool is_only_shown)
{
    hostile->files.frame_fd = fds->fds[--fds->n];
    hostile->files.offset_bytes = frame->offset_bytes;
    hostile->files.is_only_shown = is_only_shown;
}

static void twist(struct hostile *hostile, struct vrt_message *message)
{
    if (hostile->harm == TWIST && message->kind == hostile->twist.kind && hostile->twist.n-- == 0)
        memcpy((char *)message + hostile->twist.at, &hostile->twist.number, hostile->twist.size);
}

/* Asks, and does without what it is given. */
static void ask(struct hostile *hostile, struct vrt_message *message, size_t size)
{
    struct vrt_message_fds fds;

    twist(hostile, message);
    if (vrt_message_send(VRT_SERVE_SOCKET, message, size, NULL) < 0 ||
        vrt_message_receive(VRT_SERVE_SOCKET, -1, message, &fds) < 0)
        exit(EXIT_SUCCESS);
    vrt_message_fds_done(&fds);
}

/* Wants more of a file that grows, twice. */
static void ask_for_more(struct hostile *hostile)
{
    for (int64_t size_bytes = 100; size_bytes <= 200; size_bytes += 100) {
        struct vrt_message question = { .kind = VRT_MESSAGE_READER_MORE };
        question.body.reader_more.size_bytes = size_bytes;
        question.body.reader_more.n_spent = 2;
        question.body.reader_more.spent[0] = (struct vrt_feed_range){ 10, 20 };
        question.body.reader_more.spent[1] = (struct vrt_feed_range){ 20, 100 };
        ask(hostile, &question, VRT_MESSAGE_BYTES(reader_more));
    }
}

static size_t next_frame(struct hostile *hostile, struct vrt_message *message,
                         struct vrt_message_fds *fds)
{
    struct vrt_message_frame *frame = &message->body.reader_next.frame;

    hostile->is_reading = true;
    if (hostile->n_frames == hostile->n_good)
        do_harm(hostile->harm);
    if (hostile->n_frames == FRAMES) {
        message->result = VRT_READER_END;
        return tell_film(hostile, message);
    }
    take_frame(hostile, frame, fds, false);
    *frame = (struct vrt_message_frame){
        .offset_bytes = frame->offset_bytes,
        .pts = hostile->n_frames * 40,
        .duration = 40,
        .index = hostile->n_frames,
    };
    for (int i = 0; i < 3; i++)
        message->body.reader_next.planes[i] = (struct vrt_frame_share){
            (int64_t[]){ 0, 64 * 48 * 2, 64 * 48 * 2 + 64 * 24 }[i], i ? 64 : 128,
        };
    hostile->n_frames++;
    message->body.reader_next.n_frames = hostile->n_frames;
    message->body.reader_next.n_concealed = 0;
    return VRT_MESSAGE_BYTES(reader_next);
}

/* Return: where it ends. */
static int64_t write_some(int fd, int64_t offset_bytes)
{
    static const char some[1000];

    return offset_bytes + VRT_MAX(pwrite(fd, some, sizeof(some), offset_bytes), 0);
}

static size_t join(struct hostile *hostile, struct vrt_message *message,
                   const struct vrt_message_fds *fds)
{
    const int64_t n = message->body.join.n_segments;

    for (int64_t i = 0; i < n; i++) {
        struct vrt_message question = { .kind = VRT_MESSAGE_JOIN_SEGMENT };
        question.body.segment.number = i;
        ask(hostile, &question, VRT_MESSAGE_BYTES(segment));
    }
    for (int64_t i = 0, at = 0; i < n; i++)
        at = write_some(fds->fds[1], at);
    memset(&message->body, 0, sizeof(message->body));
    message->body.joined.n_frames = FRAMES;
    message->body.joined.duration_ns = FRAMES * 40 * VRT_NS_PER_MS;
    message->body.joined.late_ns = 0;
    message->body.joined.size_bytes = n * 1000;
    return VRT_MESSAGE_BYTES(joined);
}

/* Keeps the first segment, and writes to it while others are encoded; or goes no further. */
static void keep_segment(struct hostile *hostile)
{
    if (hostile->harm == DAWDLE)
        hostile->harm = HANG;
    if (hostile->harm != GROW)
        return;
    if (hostile->old_fd < 0)
        hostile->old_fd = dup(hostile->files.work_fd);
    else
        write_some(hostile->old_fd, lseek(hostile->old_fd, 0, SEEK_END));
}

/* Answers as vrt-media would. Return: the size of the answer. */
static size_t answer(struct hostile *hostile, struct vrt_message *message,
                     struct vrt_message_fds *fds)
{
    struct vrt_message_format format;

    switch ((enum vrt_message_kind)message->kind) {
    case VRT_MESSAGE_READER_OPEN:
        hostile->n_frames = message->body.reader_open.first;
        hostile->n_good = hostile->n_frames ? hostile->n_frames : GOOD_FRAMES;
        if (hostile->harm == TWIST)
            ask_for_more(hostile);
        return tell_film(hostile, message);
    case VRT_MESSAGE_READER_LOOK:
        return tell_film(hostile, message);
    case VRT_MESSAGE_READER_NEXT:
        return next_frame(hostile, message, fds);
    case VRT_MESSAGE_ENCODER_PICK:
        format = message->body.pick.format;
        format.width = message->body.pick.width;
        format.height = message->body.pick.height;
        memset(&message->body.pick, 0, sizeof(message->body.pick));
        message->body.pick.format = format;
        return VRT_MESSAGE_BYTES(pick);
    case VRT_MESSAGE_ENCODER_NEW:
        return offsetof(struct vrt_message, body);
    case VRT_MESSAGE_ENCODER_SEND:
        take_frame(hostile, &message->body.encoder_send.frame, fds, true);
        do_harm(hostile->harm);
        hostile->n_written = write_some(hostile->files.work_fd, hostile->n_written);
        message->body.encoder_send.n_held = 0;
        return VRT_MESSAGE_BYTES(encoder_send);
    case VRT_MESSAGE_ENCODER_FINISH:
        message->body.segment.number = hostile->n_written;
        keep_segment(hostile);
        return VRT_MESSAGE_BYTES(segment);
    case VRT_MESSAGE_SEGMENT_CHECK:
        do_harm(hostile->harm);
        message->body.segment.number = 1000;
        return VRT_MESSAGE_BYTES(segment);
    case VRT_MESSAGE_JOIN_PREVIEW:
        memset(&message->body, 0, sizeof(message->body));
        message->body.previewed.streams.n_all = 1;
        message->body.previewed.streams.streams[0].fps_den = 1;
        return VRT_MESSAGE_BYTES(previewed);
    case VRT_MESSAGE_JOIN:
        return join(hostile, message, fds);
    case VRT_MESSAGE_JOIN_PICTURE:
        memset(&message->body, 0, sizeof(message->body));
        message->body.joined.size_bytes = write_some(fds->fds[2], 0);
        return VRT_MESSAGE_BYTES(joined);
    case VRT_MESSAGE_PREVIEW:
        message->body.preview.width = message->body.preview.height = 48;
        message->body.preview.shown_ns = 0;
        return VRT_MESSAGE_BYTES(preview);
    case VRT_MESSAGE_COMPARE_OPEN:
        message->body.compare_open.width = message->body.compare_open.height = 48;
        return VRT_MESSAGE_BYTES(compare_open);
    case VRT_MESSAGE_COMPARE_NEXT:
        memset(&message->body, 0, sizeof(message->body));
        return VRT_MESSAGE_BYTES(compare_next);
    case VRT_MESSAGE_SANDBOX:
        memset(message->body.missing, 0, sizeof(message->body.missing));
        return VRT_MESSAGE_BYTES(missing);
    case VRT_MESSAGE_ENCODER_FIND:
        memset(&message->body, 0, sizeof(message->body));
        return VRT_MESSAGE_BYTES(find);
    default:
        break;
    }
    return offsetof(struct vrt_message, body);
}

/* What is written goes with the next question of its kind. */
static void note_work(struct hostile *hostile, const struct vrt_message *message,
                      struct vrt_message_fds *fds)
{
    const bool is_segment = message->kind == VRT_MESSAGE_ENCODER_NEW;

    if (!is_segment && message->kind != VRT_MESSAGE_JOIN &&
        message->kind != VRT_MESSAGE_JOIN_PICTURE && message->kind != VRT_MESSAGE_PREVIEW)
        return;
    vrt_closep(&hostile->files.work_fd);
    hostile->files.work_fd = dup(fds->fds[fds->n - 1]);
    hostile->n_written = 0;
}

static int serve(struct hostile *hostile)
{
    static struct vrt_message message;
    struct vrt_message_fds fds;
    int r = 0;

    while (r == 0 && vrt_message_receive(VRT_SERVE_SOCKET, -1, &message, &fds) == 0) {
        hostile->files.frame_fd = -1;
        note_work(hostile, &message, &fds);
        const size_t size = answer(hostile, &message, &fds);
        twist(hostile, &message);
        if (hostile->harm == LIE)
            r = double_lie(&hostile->dice, VRT_SERVE_SOCKET, &message, size, &hostile->files);
        else
            r = vrt_message_send(VRT_SERVE_SOCKET, &message, size, NULL);
        vrt_closep(&hostile->files.frame_fd);
        vrt_message_fds_done(&fds);
    }
    return EXIT_SUCCESS;
}

static void roll_seed(struct double_dice *dice, uint64_t seed)
{
    dice->rarity = (uint32_t[]){ 2, 8, 64 }[seed % 3];
    dice->state = seed * 2 + 1;
    for (int i = 0; i < 8; i++)
        double_roll(dice, 2);
}

/* Return: whether there is a seed in the file. */
static bool read_seed(uint64_t *ret_seed)
{
    const char *path = getenv("VRT_DOUBLE_SEED");
    FILE *file = path ? fopen(path, "r") : NULL;
    const bool has_seed = file && fscanf(file, "%" SCNu64, ret_seed) == 1;

    if (file)
        fclose(file);
    return has_seed;
}

/* Whether the file VRT_DOUBLE_ONCE has this word in it, which it had then. */
static bool takes_word(const char *word)
{
    const char *path = getenv("VRT_DOUBLE_ONCE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char there[16] = "";

    if (!file)
        return false;
    (void)!fscanf(file, "%15s", there);
    fclose(file);
    return strcmp(there, word) == 0 && unlink(path) == 0;
}

/* Whether that file is for a process that is asked this first. */
static bool is_the_one(const struct vrt_message *message, enum harm *ret_harm)
{
    static const struct {
        const char *word;
        uint32_t kind;
        enum harm harm;
    } words[] = {
        { "crash", VRT_MESSAGE_SEGMENT_CHECK, CRASH },
        { "grow", VRT_MESSAGE_ENCODER_NEW, GROW },
        { "dawdle", VRT_MESSAGE_ENCODER_NEW, DAWDLE },
        { "late", VRT_MESSAGE_READER_OPEN, CRASH },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(words); i++) {
        const bool is_early = words[i].kind == VRT_MESSAGE_READER_OPEN &&
                              message->body.reader_open.first == 0;
        if (message->kind == words[i].kind && !is_early && takes_word(words[i].word)) {
            *ret_harm = words[i].harm;
            return true;
        }
    }
    return false;
}

/* What was to be another process, and has ended; nobody has heard of it. */
static void leave_orphan(void)
{
    (void)setpgid(0, 0);
    const pid_t between = fork();
    if (between == 0) {
        (void)!fork();
        _exit(EXIT_SUCCESS);
    }
    waitpid(between, NULL, 0);
}

/* What the first question asks for: by the seed that there is now, and by its input's name.
 * Return: whether it does. */
static bool is_asked_for(struct hostile *hostile)
{
    static struct vrt_message message;
    const char *name = message.body.reader_open.name;
    uint64_t seed;

    if (recv(VRT_SERVE_SOCKET, &message, sizeof(message), MSG_PEEK) <= 0)
        exit(EXIT_SUCCESS);
    if (read_seed(&seed)) {
        roll_seed(&hostile->dice, seed * VRT_MESSAGE_KIND_COUNT + message.kind);
        return true;
    }
    if (is_the_one(&message, &hostile->harm))
        return true;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(names); i++) {
        hostile->harm = names[i].harm;
        if (message.kind == VRT_MESSAGE_READER_OPEN &&
            strncmp(name, names[i].prefix, strlen(names[i].prefix)) == 0)
            return true;
    }
    return false;
}

static int tell_exploits(void)
{
    static struct vrt_message message;
    struct vrt_message_fds fds;
    const char *told = double_exploit();

    if (vrt_message_receive(VRT_SERVE_SOCKET, -1, &message, &fds) < 0)
        return EXIT_FAILURE;
    message.result = 0;
    snprintf(message.body.missing, sizeof(message.body.missing), "%s", told);
    int r = vrt_message_send(VRT_SERVE_SOCKET, &message, VRT_MESSAGE_BYTES(missing), NULL);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *how = getenv("VRT_DOUBLE");
    uint64_t seed;
    struct hostile hostile = { .harm = LIE, .files = { -1, -1, 0, false }, .old_fd = -1 };

    if (!how)
        return 2;
    if (argc == 3 && strcmp(argv[2], VRT_ZYGOTE) == 0) {
        if (takes_word("orphan"))
            leave_orphan();
        if (vrt_zygote_run(VRT_SERVE_SOCKET) < 0)
            return EXIT_FAILURE;
        argv[2] = NULL;
    }
    if (strcmp(how, "exploit") == 0)
        return tell_exploits();
    if (sscanf(how, "lie %" SCNu64, &seed) == 1) {
        roll_seed(&hostile.dice, seed);
        return serve(&hostile);
    }
    if (sscanf(how, "twist %u %u %zu %zu %" SCNd64, &hostile.twist.kind, &hostile.twist.n,
               &hostile.twist.at, &hostile.twist.size, &hostile.twist.number) == 5) {
        hostile.harm = TWIST;
        return serve(&hostile);
    }
    if (!is_asked_for(&hostile))
        return execv(how, argv);
    if (hostile.harm == FILL)
        setrlimit(RLIMIT_AS, &(struct rlimit){ FILL_BYTES, FILL_BYTES });
    return serve(&hostile);
}
