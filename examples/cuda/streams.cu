/*
 * A vector in parts: two streams copy parts to the device, work on them and copy them back, in
 * turns and ordered by events. All of it is captured as a graph, which is launched again and again.
 */
#include "common.h"

constexpr int PARTS = 8, STREAMS = 2, PERIOD = 1000;

static const struct problem streams_problem = {3, "one launch of the graph"};

__global__ void advance(unsigned *part, size_t count) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        part[i] = 3 * part[i] + 1;
}

/* What the first stream begins; the others begin and end with it. */
static cudaGraph_t record(cudaStream_t *streams, unsigned *host, unsigned *device, size_t count) {
    cudaGraph_t graph;
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(event, streams[0]));
    for (int i = 1; i < STREAMS; i++)
        CHECK(cudaStreamWaitEvent(streams[i], event, 0));
    for (int part = 0; part < PARTS; part++) {
        const cudaStream_t stream = streams[part % STREAMS];
        const size_t at = part * count, bytes = count * sizeof(unsigned);
        CHECK(cudaMemcpyAsync(device + at, host + at, bytes, cudaMemcpyHostToDevice, stream));
        advance<<<blocks(count), THREADS, 0, stream>>>(device + at, count);
        CHECK(cudaMemcpyAsync(host + at, device + at, bytes, cudaMemcpyDeviceToHost, stream));
    }
    for (int i = 1; i < STREAMS; i++) {
        CHECK(cudaEventRecord(event, streams[i]));
        CHECK(cudaStreamWaitEvent(streams[0], event, 0));
    }
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    CHECK(cudaEventDestroy(event));
    return graph;
}

static void check_parts(struct work *work, const unsigned *host, size_t count) {
    for (size_t i = 0; i < PARTS * count; i++) {
        unsigned wanted = (unsigned)(i % PERIOD);
        for (size_t j = 0; j < work->iterations; j++)
            wanted = 3 * wanted + 1;
        work_expect(work, i, host[i], wanted, 0);
    }
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &streams_problem, NULL, argc, argv);
    const size_t count = work.size / sizeof(unsigned) / PARTS;
    unsigned *host, *device = device_array<unsigned>(&work, PARTS * count);
    cudaStream_t streams[STREAMS];
    cudaGraphExec_t exec;
    CHECK(cudaMallocHost(&host, PARTS * count * sizeof(unsigned)));
    for (size_t i = 0; i < PARTS * count; i++)
        host[i] = (unsigned)(i % PERIOD);
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = record(streams, host, device, count);
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));

    work_start_clock(&work);
    for (size_t i = 0; i < work.iterations; i++) {
        CHECK(cudaGraphLaunch(exec, streams[0]));
        end_iteration(&work);
    }
    stop_clock(&work);

    if (work.check)
        check_parts(&work, host, count);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    return work_close(&work);
}
