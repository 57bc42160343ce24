/* Functions of the runtime and the driver in the forms of CUDA 13. Prints what is wrong, and
 * returns 0 if nothing is. */
#include <cuda_runtime.h>

#include <cstdio>

#include <cublas_v2.h>
#include <cuda.h>

#if CUDA_VERSION != 13000 || CUDART_VERSION != 13000 || CUBLAS_VER_MAJOR != 13
#error "not the headers of CUDA 13"
#endif

static int failures;

static void check(bool is_good, const char *what) {
    if (!is_good)
        std::printf("wrong: %s\n", what);
    failures += !is_good;
}

__global__ void fill(int *numbers) {
    numbers[threadIdx.x] = (int)threadIdx.x;
}

static void check_device() {
    cudaDeviceProp properties[2];
    int count = 0;
    properties[1].totalGlobalMem = 7;
    check(!cudaGetDeviceProperties(properties, 0) && properties->major == 7 &&
              properties->warpSize == 32 && properties->memoryPoolsSupported == 1 &&
              properties[1].totalGlobalMem == 7,
          "cudaGetDeviceProperties");
    check(!cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0) &&
              count == properties->multiProcessorCount,
          "multiProcessorCount");
}

static void check_memory(cudaStream_t stream) {
    const cudaMemLocation device = {cudaMemLocationTypeDevice, 0},
                          host = {cudaMemLocationTypeHost, 0};
    int *numbers, where = 0;
    check(!cudaMallocManaged(&numbers, 4096), "cudaMallocManaged");
    check(!cudaMemAdvise(numbers, 4096, cudaMemAdviseSetPreferredLocation, host), "cudaMemAdvise");
    check(!cudaMemRangeGetAttribute(&where, sizeof where, cudaMemRangeAttributePreferredLocation,
                                    numbers, 4096) &&
              where == cudaCpuDeviceId,
          "a preferred location");
    check(!cudaMemPrefetchAsync(numbers, 4096, device, 0, stream) &&
              !cudaMemRangeGetAttribute(&where, sizeof where,
                                        cudaMemRangeAttributeLastPrefetchLocation, numbers, 4096) &&
              where == 0,
          "cudaMemPrefetchAsync");
    fill<<<1, 64, 0, stream>>>(numbers);
    check(!cudaMemPrefetchAsync(numbers, 4096, host, 0) && !cudaDeviceSynchronize() &&
              numbers[63] == 63,
          "what was prefetched");
    cudaFree(numbers);
}

static void check_graphs(cudaStream_t stream) {
    cudaGraph_t graph, captured;
    cudaGraphNode_t one, other, nodes[1];
    cudaGraphEdgeData edge;
    const cudaGraphNode_t *tail;
    const cudaGraphEdgeData *edges;
    cudaStreamCaptureStatus status;
    unsigned long long id;
    size_t count = 1;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddEmptyNode(&one, graph, NULL, 0);
    cudaGraphAddEmptyNode(&other, graph, NULL, 0);
    check(!cudaGraphAddDependencies(graph, &one, &other, NULL, 1), "cudaGraphAddDependencies");
    check(!cudaGraphGetEdges(graph, NULL, NULL, NULL, &count) && count == 1, "cudaGraphGetEdges");
    check(!cudaGraphNodeGetDependencies(other, nodes, &edge, &count) && nodes[0] == one,
          "cudaGraphNodeGetDependencies");
    check(!cudaGraphNodeGetDependentNodes(one, nodes, &edge, &count) && nodes[0] == other,
          "cudaGraphNodeGetDependentNodes");
    check(!cudaGraphRemoveDependencies(graph, &one, &other, NULL, 1),
          "cudaGraphRemoveDependencies");
    cudaGraphDestroy(graph);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    check(!cudaStreamGetCaptureInfo(stream, &status, &id, &captured, &tail, &edges, &count) &&
              status == cudaStreamCaptureStatusActive && count == 0,
          "cudaStreamGetCaptureInfo");
    check(!cudaStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, 0),
          "cudaStreamUpdateCaptureDependencies");
    cudaStreamEndCapture(stream, &captured);
    cudaGraphDestroy(captured);
}

static void check_driver() {
    CUctxCreateParams params = {}, affine = {};
    CUexecAffinityParam affinity = {CU_EXEC_AFFINITY_TYPE_SM_COUNT, {{4}}};
    CUcontext context, other;
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUdeviceptr memory;
    CUevent from, to;
    float ms;
    affine.execAffinityParams = &affinity;
    affine.numExecAffinityParams = 1;
    check(cuCtxCreate(&context, &affine, 0, 0) == CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
          "cuCtxCreate with a number of multiprocessors");
    check(!cuCtxCreate(&other, NULL, 0, 0) && !cuCtxCreate(&context, &params, 0, 0), "cuCtxCreate");
    check(!cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL) &&
              !cuMemAdvise(memory, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device) &&
              !cuMemPrefetchAsync(memory, 4096, device, 0, NULL),
          "managed memory");
    check(!cuEventCreate(&from, 0) && !cuEventCreate(&to, 0) && !cuEventRecord(from, NULL) &&
              !cuEventRecord(to, NULL) && !cuEventSynchronize(to) &&
              !cuEventElapsedTime(&ms, from, to) && ms >= 0,
          "cuEventElapsedTime");
    cuMemFree(memory);
    cuCtxDestroy(context);
    cuCtxDestroy(other);
}

int main() {
    cudaStream_t stream;
    cublasHandle_t handle;
    int version = 0;
    check(!cudaRuntimeGetVersion(&version) && version == CUDART_VERSION, "the runtime's version");
    check(!cudaStreamCreate(&stream), "cudaStreamCreate");
    check_device();
    check_memory(stream);
    check_graphs(stream);
    check(!cublasCreate(&handle) && !cublasGetVersion(handle, &version) &&
              version / 10000 == CUBLAS_VER_MAJOR,
          "the version of cuBLAS");
    cublasDestroy(handle);
    check(!cudaStreamDestroy(stream), "cudaStreamDestroy");
    check_driver();
    return failures != 0;
}
