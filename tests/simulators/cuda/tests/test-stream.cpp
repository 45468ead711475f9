/* SPDX-License-Identifier: MIT */
/* Streams: order within one, events between them, captures, and what a missing event does. */

#include "tests/simulators/cuda/tests/test-kernel.h"

namespace {

struct streams {
    cudaStream_t upload, compute, download;
    cudaEvent_t uploaded, computed;

    streams()
    {
        expect_int(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking), cudaSuccess);
        expect_int(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking), cudaSuccess);
        expect_int(cudaStreamCreateWithFlags(&download, cudaStreamNonBlocking), cudaSuccess);
        expect_int(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming), cudaSuccess);
        expect_int(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming), cudaSuccess);
    }
    streams(const streams &) = delete;
    ~streams()
    {
        cudaStreamDestroy(upload);
        cudaStreamDestroy(compute);
        cudaStreamDestroy(download);
        cudaEventDestroy(uploaded);
        cudaEventDestroy(computed);
    }
};

template <class T> struct pinned_array {
    T *data = nullptr;

    explicit pinned_array(size_t n)
    {
        expect_int(cudaMallocHost(reinterpret_cast<void **>(&data), n * sizeof(T)), cudaSuccess);
    }
    pinned_array(const pinned_array &) = delete;
    ~pinned_array() { cudaFreeHost(data); }
};

void add_one(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x] + 1.0f;
}

/* Three frames on three streams through one buffer; `with_events`: as it has to be. */
int n_wrong_of_pipeline(bool with_events)
{
    constexpr int n = 32, n_frames = 3;
    const streams s;
    const device_array<float> in(n), out(n);
    const pinned_array<float> from(n * n_frames), to(n * n_frames);
    int n_wrong = 0;

    for (int i = 0; i < n * n_frames; i++)
        from.data[i] = float(i);
    for (int frame = 0; frame < n_frames; frame++) {
        expect_int(cudaMemcpyAsync(in.data, from.data + frame * n, n * sizeof(float),
                                   cudaMemcpyHostToDevice, s.upload), cudaSuccess);
        expect_int(cudaEventRecord(s.uploaded, s.upload), cudaSuccess);
        if (with_events)
            expect_int(cudaStreamWaitEvent(s.compute, s.uploaded, 0), cudaSuccess);
        expect_int(launch_on(s.compute, add_one, 1, n, 0, in.data, out.data), cudaSuccess);
        expect_int(cudaEventRecord(s.computed, s.compute), cudaSuccess);
        if (with_events) {
            expect_int(cudaStreamWaitEvent(s.download, s.computed, 0), cudaSuccess);
            expect_int(cudaStreamWaitEvent(s.upload, s.computed, 0), cudaSuccess);
        }
        expect_int(cudaMemcpyAsync(to.data + frame * n, out.data, n * sizeof(float),
                                   cudaMemcpyDeviceToHost, s.download), cudaSuccess);
        expect_int(cudaEventRecord(s.uploaded, s.download), cudaSuccess);
        if (with_events)
            expect_int(cudaStreamWaitEvent(s.compute, s.uploaded, 0), cudaSuccess);
    }
    expect_int(cudaStreamSynchronize(s.download), cudaSuccess);
    for (int i = 0; i < n * n_frames; i++)
        n_wrong += to.data[i] != float(i + 1);
    return n_wrong;
}

void test_events()
{
    expect_int(n_wrong_of_pipeline(true), 0);
    expect_true(n_wrong_of_pipeline(false) > 0);
}

/* Pageable memory is read at the call, pinned memory when the stream comes to it. */
void test_host_memory()
{
    const streams s;
    const device_array<float> a(1), b(1);
    const pinned_array<float> pinned(1);
    float pageable = 1.0f, back = 0.0f;

    *pinned.data = 1.0f;
    expect_int(cudaMemcpyAsync(a.data, &pageable, 4, cudaMemcpyHostToDevice, s.upload),
               cudaSuccess);
    expect_int(cudaMemcpyAsync(b.data, pinned.data, 4, cudaMemcpyHostToDevice, s.upload),
               cudaSuccess);
    pageable = *pinned.data = 2.0f;
    expect_int(cudaMemcpyAsync(&back, a.data, 4, cudaMemcpyDeviceToHost, s.upload), cudaSuccess);
    expect_near(back, 1.0, 0);                          /* it is there at once */
    expect_near(b.read()[0], 2.0, 0);
}

void test_copies_are_checked()
{
    const device_array<float> a(4);
    float host[8] = {};

    expect_int(cudaMemcpy(a.data, host, 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    expect_int(cudaMemcpy(a.data + 1, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    expect_int(cudaMemcpy(host, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    expect_int(cudaMemcpy(a.data, a.data, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    expect_int(cudaMemcpy(a.data, host, 4, cudaMemcpyKind(7)), cudaErrorInvalidMemcpyDirection);
    expect_int(cudaMemsetAsync(a.data, 0, 17), cudaErrorInvalidValue);
    expect_int(cudaMemsetAsync(host, 0, 4), cudaErrorInvalidValue);
    expect_int(cudaFree(a.data + 1), cudaErrorInvalidValue);
    cudaGetLastError();
}

void expect_bad_capture(const streams &s, cudaError_t at_end)
{
    cudaGraph_t graph;

    expect_int(cudaStreamEndCapture(s.compute, &graph), at_end);
    expect_true(graph == nullptr);
    expect_int(cudaStreamSynchronize(s.compute), cudaSuccess);
    cudaGetLastError();
}

void test_captures_refuse()
{
    const streams s;
    const device_array<float> a(32);
    void *data;

    /* Nobody may wait for the device, of which that stream is a part. */
    expect_int(cudaStreamBeginCapture(s.compute, cudaStreamCaptureModeRelaxed), cudaSuccess);
    expect_int(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    expect_int(launch_on(s.compute, add_one, 1, 32, 0, a.data, a.data),
               cudaErrorStreamCaptureInvalidated);
    expect_bad_capture(s, cudaErrorStreamCaptureInvalidated);

    expect_int(cudaStreamBeginCapture(s.compute, cudaStreamCaptureModeRelaxed), cudaSuccess);
    expect_int(cudaStreamSynchronize(s.compute), cudaErrorStreamCaptureUnsupported);
    expect_int(cudaMalloc(&data, 4), cudaSuccess);
    expect_int(cudaFree(data), cudaSuccess);
    expect_int(cudaEventRecord(s.computed, s.compute), cudaSuccess);
    expect_int(cudaEventSynchronize(s.computed), cudaErrorCapturedEvent);
    expect_int(cudaStreamWaitEvent(s.upload, s.computed, 0), cudaSuccess);
    expect_int(launch_on(s.upload, add_one, 1, 32, 0, a.data, a.data), cudaSuccess);
    expect_bad_capture(s, cudaErrorStreamCaptureUnjoined);

    expect_int(cudaEventRecord(s.uploaded, s.upload), cudaSuccess);
    expect_int(cudaStreamBeginCapture(s.compute, cudaStreamCaptureModeRelaxed), cudaSuccess);
    expect_int(cudaStreamWaitEvent(s.compute, s.uploaded, 0), cudaErrorStreamCaptureIsolation);
    expect_bad_capture(s, cudaErrorStreamCaptureInvalidated);
}

}

TEST_MAIN(
    {"events", test_events},
    {"host memory", test_host_memory},
    {"copies are checked", test_copies_are_checked},
    {"captures refuse", test_captures_refuse},
)
