/* SPDX-License-Identifier: MIT */

#include "backend/cuda/card.h"

#include <pthread.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include "base/log.h"
#include "base/macro.h"

#define VRT_LOG_TOPIC "cuda"

struct vrt_cuda_card {
    pthread_mutex_t recording;      /* see vrt_cuda_card_lock() */
    int ordinal;
    int n_open;
    bool is_broken;                 /* to be reset when nobody has it open */
};

/* The one mutable state of the plugin: what a card is in is the process's, not a device's. */
static struct {
    pthread_mutex_t lock;
    struct vrt_cuda_card cards[VRT_CUDA_MAX_CARDS];
} cards_of_process = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .cards = { [0 ... VRT_CUDA_MAX_CARDS - 1] = { .recording = PTHREAD_MUTEX_INITIALIZER } },
};

/* Whether memory can be had, written and read again: what a broken card can't do. The whole card
 * isn't waited for: another device of it may be recording a program, which that would spoil. */
static int try_out(void)
{
    unsigned pattern = 0x5a17c0de, answer = 0;
    void *data;
    int r = (int)cudaMalloc(&data, sizeof(pattern));

    if (r != 0)
        return r;
    r = (int)cudaMemcpy(data, &pattern, sizeof(pattern), cudaMemcpyHostToDevice);
    if (r == 0)
        r = (int)cudaMemcpy(&answer, data, sizeof(answer), cudaMemcpyDeviceToHost);
    cudaFree(data);
    return r == 0 && answer != pattern ? (int)cudaErrorECCUncorrectable : r;
}

/* Makes it the calling thread's current device. Who waits for it sleeps: the cores have decoders
 * and encoders to run meanwhile. */
static int use(const struct vrt_cuda_card *card)
{
    int r = (int)cudaSetDevice(card->ordinal);

    return r != 0 ? r : (int)cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
}

/* What it is reset for may be told once more by each call up to the reset, that one included. */
static int reset(struct vrt_cuda_card *card)
{
    int r;

    vrt_log_info("card %d: resetting it", card->ordinal);
    cudaSetDevice(card->ordinal);
    cudaDeviceReset();
    cudaGetLastError();
    r = use(card);
    if (r != 0)
        return r;
    card->is_broken = false;
    return 0;
}

int vrt_cuda_card_open(int ordinal, struct vrt_cuda_card **ret_card)
{
    struct vrt_cuda_card *card = &cards_of_process.cards[ordinal];
    int r;

    pthread_mutex_lock(&cards_of_process.lock);
    card->ordinal = ordinal;
    r = card->is_broken && card->n_open == 0 ? reset(card) : use(card);
    if (r == 0 && card->is_broken)
        r = (int)cudaErrorDevicesUnavailable;
    if (r == 0)
        r = try_out();
    if (r != 0) {
        vrt_log_warning("card %d can't be used: %s", ordinal,
                        cudaGetErrorString((cudaError_t)r));
        cudaGetLastError();
        if (card->n_open == 0 && r != (int)cudaErrorMemoryAllocation)
            card->is_broken = true;
    } else {
        card->n_open++;
        *ret_card = card;
    }
    pthread_mutex_unlock(&cards_of_process.lock);
    return r;
}

void vrt_cuda_card_break(struct vrt_cuda_card *card)
{
    pthread_mutex_lock(&cards_of_process.lock);
    card->is_broken = true;
    pthread_mutex_unlock(&cards_of_process.lock);
}

void vrt_cuda_card_lock(struct vrt_cuda_card *card)
{
    pthread_mutex_lock(&card->recording);
}

void vrt_cuda_card_unlock(struct vrt_cuda_card *card)
{
    pthread_mutex_unlock(&card->recording);
}

void vrt_cuda_card_close(struct vrt_cuda_card *card)
{
    if (!card)
        return;
    pthread_mutex_lock(&cards_of_process.lock);
    card->n_open--;
    pthread_mutex_unlock(&cards_of_process.lock);
}
