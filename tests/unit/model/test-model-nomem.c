/* SPDX-License-Identifier: MIT */
/*
 * Whatever allocation fails while a file is read and its network is built: it is refused for that,
 * or the network is what it is without, and nothing crashes. The arguments are the files.
 */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>

#include "engine/checkpoint/arena.h"
#include "engine/graph.h"
#include "model/network.h"
#include "tests/unit/engine/nomem.h"

/* Those of an arena count, few of which come to the system; but those for one thing, of which files
 * of ONNX have thousands, fail alike. */
void *__real_vrt_cp_arena_alloc(struct vrt_cp_arena *arena, size_t n, size_t item_bytes);
void *__wrap_vrt_cp_arena_alloc(struct vrt_cp_arena *arena, size_t n, size_t item_bytes);

void *__wrap_vrt_cp_arena_alloc(struct vrt_cp_arena *arena, size_t n, size_t item_bytes)
{
    arena->lacks_memory |= n > 1 && nomem_fails();
    return arena->lacks_memory ? NULL : __real_vrt_cp_arena_alloc(arena, n, item_bytes);
}

static int build(const struct vrt_network *network)
{
    const struct vrt_network_info *info = vrt_network_info(network);
    const struct vrt_shape shape = { info->min_frames, 5, 7, info->in_channels };
    struct vrt_graph *graph;

    int r = vrt_graph_new(&graph);
    if (r < 0)
        return r;
    struct vrt_tensor in = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor out = vrt_graph_output(graph, VRT_DTYPE_F32,
                                             vrt_network_out_shape(network, shape));
    r = vrt_network_build(network, graph, &in, &out,
                          &(struct vrt_network_use){ .dtype = VRT_DTYPE_BF16 });
    if (r == 0)
        r = vrt_graph_status(graph);
    vrt_graph_free(graph);
    return r;
}

/* Has the nth allocation fail, 0: none. Return: 0; -errno; *ret_checksum is 0 without a network. */
static int read_and_build(const char *path, int n, bool *ret_failed, uint64_t *ret_checksum)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct vrt_error error = { .id = NULL };
    struct vrt_network *network = NULL;

    nomem_begin(n);
    int r = vrt_network_read(fd, "file", &network, &error);
    const bool is_refused = r != 0;
    if (r == 0)
        r = build(network);
    *ret_failed = nomem_end();
    *ret_checksum = network ? vrt_network_checksum(network) : 0;
    expect_true(!network == is_refused && !!error.id == is_refused);
    vrt_network_unref(network);
    close(fd);
    return r;
}

static void try_file(const char *path)
{
    uint64_t checksum, wanted_checksum;
    bool failed;

    const int wanted = read_and_build(path, 0, &failed, &wanted_checksum);
    for (int n = 1; n == 1 || failed; n++) {
        const int r = read_and_build(path, n, &failed, &checksum);
        if (r != -ENOMEM || !failed) {
            expect_int(r, wanted);
            expect_true(checksum == wanted_checksum);
        }
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "%s\n", argv[i]);
        try_file(argv[i]);
    }
    return 0;
}
