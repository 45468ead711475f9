/* SPDX-License-Identifier: MIT */
#pragma once

/* Where so many threads wait for each other, as often as they like: POSIX has one, macOS hasn't. */

#include <pthread.h>

struct test_barrier {
    pthread_mutex_t lock;
    pthread_cond_t all_are_here;
    /* under lock */
    unsigned n_threads, n_waiting;
    unsigned round;                 /* how often all were here */
};

static inline void test_barrier_init(struct test_barrier *barrier, unsigned n_threads)
{
    *barrier = (struct test_barrier){
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .all_are_here = PTHREAD_COND_INITIALIZER,
        .n_threads = n_threads,
    };
}

static inline void test_barrier_done(struct test_barrier *barrier)
{
    pthread_cond_destroy(&barrier->all_are_here);
    pthread_mutex_destroy(&barrier->lock);
}

/* Returns when all threads are here. */
static inline void test_barrier_wait(struct test_barrier *barrier)
{
    pthread_mutex_lock(&barrier->lock);
    const unsigned round = barrier->round;
    if (++barrier->n_waiting == barrier->n_threads) {
        barrier->n_waiting = 0;
        barrier->round++;
        pthread_cond_broadcast(&barrier->all_are_here);
    }
    while (round == barrier->round)
        pthread_cond_wait(&barrier->all_are_here, &barrier->lock);
    pthread_mutex_unlock(&barrier->lock);
}
