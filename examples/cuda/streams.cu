/* A vector in parts: two streams copy parts to the device, work on them and copy them back, in
 * turns and ordered by events. All of it is captured as a graph, which is launched again and
 * again. */
#include "common.h"

#include <vector>

constexpr int PARTS = 8, STREAMS = 2;

__global__ void scale(float *part, size_t count) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        part[i] = 2 * part[i] + 1;
}

/* What the first stream begins; the others begin and end with it. */
static cudaGraph_t record(cudaStream_t *streams, float *host, float *device, size_t count) {
    cudaGraph_t graph;
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(event, streams[0]));
    for (int i = 1; i < STREAMS; i++)
        CHECK(cudaStreamWaitEvent(streams[i], event, 0));
    for (int part = 0; part < PARTS; part++) {
        cudaStream_t stream = streams[part % STREAMS];
        size_t at = part * count, bytes = count * sizeof(float);
        CHECK(cudaMemcpyAsync(device + at, host + at, bytes, cudaMemcpyHostToDevice, stream));
        scale<<<(unsigned)((count + 255) / 256), 256, 0, stream>>>(device + at, count);
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

int main(int argc, char **argv) {
    Work work = read_work(argc, argv, 3);
    size_t count = work.bytes / sizeof(float) / PARTS;
    float *host, *device;
    cudaStream_t streams[STREAMS];
    cudaGraphExec_t exec;
    CHECK(cudaMallocHost((void **)&host, PARTS * count * sizeof(float)));
    CHECK(cudaMalloc(&device, PARTS * count * sizeof(float)));
    for (size_t i = 0; i < PARTS * count; i++)
        host[i] = (float)(i % 1000);
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = record(streams, host, device, count);
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < work.iterations; i++)
        CHECK(cudaGraphLaunch(exec, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));

    bool good = true;
    for (size_t i = 0; i < PARTS * count; i++) {
        float expected = (float)(i % 1000);
        for (int j = 0; j < work.iterations; j++)
            expected = 2 * expected + 1;
        good &= host[i] == expected;
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    return verdict(good);
}
