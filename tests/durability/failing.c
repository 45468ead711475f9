/* SPDX-License-Identifier: MIT */

/*
 * Has one call fail, wherever a program makes it
 *
 * Loaded before libc (LD_PRELOAD) into a program and those that it starts. The file named by
 * VRT_FAILING is mapped by all of them, and by the test: in `places` stands whence the programs
 * called one of the functions below; of a place put into `armed` the next call fails.
 * Calls that libraries make are left alone.
 */

/* Each function by its own name, where 64 bits are all that there is. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_PLACES 8192

static struct {
    _Atomic uint64_t armed;
    _Atomic uint64_t n_failed;
    _Atomic uint64_t places[N_PLACES];      /* address in it << 8 | its name's last letter */
} *shared;

static uintptr_t base, first, end;          /* of the program's code */
static uint64_t program;

static int find_code(struct dl_phdr_info *info, size_t size, void *userdata)
{
    (void)size;
    (void)userdata;
    base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            first = base + info->dlpi_phdr[i].p_vaddr;
            end = first + info->dlpi_phdr[i].p_memsz;
        }
    return 1;                               /* the first is the program */
}

/* The sandbox lets a process open nothing: it is opened before. */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("VRT_FAILING");
    char name[256] = "";
    const ssize_t n = readlink("/proc/self/exe", name, sizeof(name));
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd < 0 || n <= 0)
        return;
    void *map = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        abort();
    dl_iterate_phdr(find_code, NULL);
    program = (unsigned char)name[n - 1];
    shared = map;
}

static bool fails(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;

    if (!shared || at < first || at >= end)
        return false;
    const uint64_t place = (uint64_t)(at - base) << 8 | program;
    for (size_t i = place * 0x9E3779B97F4A7C15 >> 51;; i = (i + 1) % N_PLACES) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&shared->places[i], &there, place) || there == place)
            break;
    }
    return place == atomic_load(&shared->armed) && atomic_fetch_add(&shared->n_failed, 1) == 0;
}

/*
 * Six arguments that aren't floating go in registers, however many a function takes: what is passed
 * on is what came (x86-64 and AArch64).
 */
typedef long any_function(long, long, long, long, long, long);

#define FAILING(name, failure, number) \
    long failing_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
    long failing_##name(long a, long b, long c, long d, long e, long f) \
    { \
        static any_function *real; \
        if (!real) \
            real = (any_function *)dlsym(RTLD_NEXT, #name); \
        if (fails(__builtin_return_address(0))) { \
            errno = number; \
            return failure; \
        } \
        return real(a, b, c, d, e, f); \
    }

#define WITHOUT_MEMORY(name) FAILING(name, 0, ENOMEM)
#define WITH_ERROR(name)     FAILING(name, -1, EIO)
#define WITH_CODE(name)      FAILING(name, -ENOMEM, 0)      /* libuv's, FFmpeg's */
#define WITH_ERRNO(name)     FAILING(name, ENOMEM, 0)       /* POSIX threads' */

WITHOUT_MEMORY(malloc)
WITHOUT_MEMORY(calloc)
WITHOUT_MEMORY(realloc)
WITHOUT_MEMORY(reallocarray)
WITHOUT_MEMORY(aligned_alloc)
WITHOUT_MEMORY(strdup)
WITHOUT_MEMORY(strndup)
WITHOUT_MEMORY(realpath)
WITHOUT_MEMORY(opendir)
WITHOUT_MEMORY(fdopendir)
WITHOUT_MEMORY(fopen64)
WITHOUT_MEMORY(mkdtemp)
WITHOUT_MEMORY(tmpfile64)
WITHOUT_MEMORY(json_array)
WITHOUT_MEMORY(json_object)
WITHOUT_MEMORY(json_integer)
WITHOUT_MEMORY(json_real)
WITHOUT_MEMORY(json_string)
WITHOUT_MEMORY(json_stringn)
WITHOUT_MEMORY(curl_easy_init)
WITHOUT_MEMORY(curl_multi_init)
WITHOUT_MEMORY(curl_slist_append)
WITHOUT_MEMORY(av_buffer_allocz)
WITHOUT_MEMORY(av_buffer_create)
WITHOUT_MEMORY(av_buffer_ref)
WITHOUT_MEMORY(av_calloc)
WITHOUT_MEMORY(av_malloc)
WITHOUT_MEMORY(av_mallocz)
WITHOUT_MEMORY(av_strdup)
WITHOUT_MEMORY(av_fifo_alloc2)
WITHOUT_MEMORY(av_frame_alloc)
WITHOUT_MEMORY(av_frame_clone)
WITHOUT_MEMORY(av_packet_alloc)
WITHOUT_MEMORY(av_packet_clone)
WITHOUT_MEMORY(av_packet_new_side_data)
WITHOUT_MEMORY(av_stream_new_side_data)
WITHOUT_MEMORY(avcodec_alloc_context3)
WITHOUT_MEMORY(avcodec_parameters_alloc)
WITHOUT_MEMORY(avfilter_graph_alloc)
WITHOUT_MEMORY(avfilter_inout_alloc)
WITHOUT_MEMORY(avformat_alloc_context)
WITHOUT_MEMORY(avformat_new_stream)
WITHOUT_MEMORY(sws_alloc_context)

WITH_ERROR(accept4)
WITH_ERROR(bind)
WITH_ERROR(connect)
WITH_ERROR(copy_file_range)
WITH_ERROR(dup)
WITH_ERROR(fallocate64)
WITH_ERROR(flock)
WITH_ERROR(fstat64)
WITH_ERROR(fstatvfs64)
WITH_ERROR(fsync)
WITH_ERROR(ftruncate64)
WITH_ERROR(linkat)
WITH_ERROR(listen)
WITH_ERROR(memfd_create)
WITH_ERROR(mkdir)
WITH_ERROR(mkdirat)
WITH_ERROR(mmap64)
WITH_ERROR(open64)
WITH_ERROR(openat64)
WITH_ERROR(pipe)
WITH_ERROR(pread64)
WITH_ERROR(pwrite64)
WITH_ERROR(read)
WITH_ERROR(recvmsg)
WITH_ERROR(rename)
WITH_ERROR(renameat)
WITH_ERROR(send)
WITH_ERROR(sendmsg)
WITH_ERROR(socket)
WITH_ERROR(socketpair)
WITH_ERROR(stat64)
WITH_ERROR(statvfs64)
WITH_ERROR(unlink)
WITH_ERROR(unlinkat)
WITH_ERROR(write)
WITH_ERROR(vasprintf)

WITH_CODE(av_dict_set)
WITH_CODE(av_frame_get_buffer)
WITH_CODE(av_grow_packet)
WITH_CODE(av_new_packet)
WITH_CODE(av_packet_ref)
WITH_CODE(av_read_frame)
WITH_CODE(av_seek_frame)
WITH_CODE(av_write_frame)
WITH_CODE(av_write_trailer)
WITH_CODE(avcodec_open2)
WITH_CODE(avcodec_parameters_copy)
WITH_CODE(avcodec_parameters_from_context)
WITH_CODE(avcodec_parameters_to_context)
WITH_CODE(avcodec_receive_frame)
WITH_CODE(avcodec_receive_packet)
WITH_CODE(avcodec_send_frame)
WITH_CODE(avcodec_send_packet)
WITH_CODE(avfilter_graph_config)
WITH_CODE(avformat_find_stream_info)
WITH_CODE(avformat_open_input)
WITH_CODE(avformat_write_header)
WITH_CODE(avio_open_dyn_buf)
WITH_CODE(sws_init_context)
WITH_CODE(uv_async_init)
WITH_CODE(uv_loop_init)
WITH_CODE(uv_poll_init)
WITH_CODE(uv_poll_init_socket)
WITH_CODE(uv_signal_init)
WITH_CODE(uv_signal_start)

WITH_ERRNO(posix_memalign)
WITH_ERRNO(posix_spawn)
WITH_ERRNO(posix_spawn_file_actions_init)
WITH_ERRNO(pthread_create)

/* Its arguments may be floating. */
int asprintf(char **ret, const char *format, ...)
{
    va_list arguments;

    if (fails(__builtin_return_address(0))) {
        errno = ENOMEM;
        return -1;
    }
    va_start(arguments, format);
    const int n = vasprintf(ret, format, arguments);
    va_end(arguments);
    return n;
}
