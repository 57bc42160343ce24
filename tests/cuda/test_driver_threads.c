/* Many threads with many streams each, events between them, graphs, memory of every kind and
 * contexts that are waited for meanwhile. TEST_SECONDS says for how long; else it is a few rounds.
 */
#include "cuda/driver.h"

#include <pthread.h>
#include <time.h>

#define THREADS 16
#define STREAMS 8
#define WORDS   1024u

static const char *failed; /* atomic: the first call that did */
static int failed_line;

static void need(CUresult result, const char *call, int line) {
    const char *none = NULL;
    if (result != CUDA_SUCCESS && __atomic_compare_exchange_n(&failed, &none, call, false,
                                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        __atomic_store_n(&failed_line, line, __ATOMIC_RELAXED);
}
#define NEED(call)       need(call, #call, __LINE__)
#define HOLDS(condition) need((condition) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, #condition, __LINE__)

struct worker {
    pthread_t thread;
    unsigned number, round;
    CUfunction add, mix;
    CUstream streams[STREAMS];
    CUevent events[STREAMS];
    CUdeviceptr managed; /* [WORDS] words of each stream */
    CUdeviceptr plain;   /* a word of each stream */
    uint32_t called;
};

static void add(struct worker *worker, unsigned stream, unsigned value) {
    CUdeviceptr at = worker->managed + stream * WORDS * 4;
    unsigned n = WORDS;
    void *params[] = {&at, &n, &value};
    NEED(launch(worker->add, WORDS / 128, 128, worker->streams[stream], params));
}

static void mix_in(struct worker *worker, CUdeviceptr at, unsigned value, CUstream stream) {
    void *params[] = {&at, &value};
    NEED(launch(worker->mix, 1, 1, stream, params));
}

static void count(void *user) {
    __atomic_fetch_add((uint32_t *)user, 1, __ATOMIC_RELAXED);
}

static bool has_all(const struct worker *worker, unsigned value) {
    for (unsigned i = 0; i < STREAMS * WORDS; i += 61)
        if (words_at(worker->managed)[i] != value)
            return false;
    return true;
}

/* Every stream waits for the one before: one chain through all of them. */
static void chain(struct worker *worker) {
    uint32_t expected = 0;
    NEED(cuMemsetD32Async(worker->plain, 0, 1, worker->streams[0]));
    for (unsigned i = 0; i < STREAMS; i++) {
        if (i != 0)
            NEED(cuStreamWaitEvent(worker->streams[i], worker->events[i - 1], 0));
        mix_in(worker, worker->plain, i + 1, worker->streams[i]);
        expected = 31 * expected + i + 1;
        NEED(cuEventRecord(worker->events[i], worker->streams[i]));
    }
    NEED(cuEventSynchronize(worker->events[STREAMS - 1]));
    HOLDS(*words_at(worker->plain) == expected);
}

/* Two streams of a graph that forks and joins. */
static void capture(struct worker *worker) {
    CUstream one = worker->streams[0], other = worker->streams[1];
    CUdeviceptr at = worker->plain + 8;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    NEED(cuMemsetD32Async(at, 0, 1, one));
    NEED(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    mix_in(worker, at, 1, one);
    NEED(cuEventRecord(worker->events[0], one));
    NEED(cuStreamWaitEvent(other, worker->events[0], 0));
    mix_in(worker, at, 2, other);
    NEED(cuLaunchHostFunc(other, count, &worker->called));
    NEED(cuEventRecord(worker->events[1], other));
    NEED(cuStreamWaitEvent(one, worker->events[1], 0));
    mix_in(worker, at, 3, one);
    NEED(cuStreamEndCapture(one, &graph));
    NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
    uint32_t called = __atomic_load_n(&worker->called, __ATOMIC_RELAXED);
    NEED(cuGraphLaunch(exec, one));
    NEED(cuGraphLaunch(exec, one));
    NEED(cuGraphExecDestroy(exec));
    NEED(cuGraphDestroy(graph));
    NEED(cuStreamSynchronize(one));
    HOLDS(*words_at(at) == mixed("123123"));
    HOLDS(__atomic_load_n(&worker->called, __ATOMIC_RELAXED) == called + 2);
}

/* What comes and goes while others use theirs. */
static void come_and_go(struct worker *worker) {
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    uint32_t value = worker->round, back = 0;
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    NEED(cuMemAllocAsync(&memory, 4096, stream));
    NEED(cuMemcpyHtoDAsync_v2(memory, &value, 4, stream));
    mix_in(worker, memory, 7, stream);
    NEED(cuMemcpyDtoHAsync_v2(&back, memory, 4, stream));
    NEED(cuMemFreeAsync(memory, stream));
    NEED(cuEventRecord(event, stream));
    NEED(cuStreamWaitEvent(worker->streams[2], event, 0));
    NEED(cuEventDestroy_v2(event));
    NEED(cuStreamDestroy_v2(stream));
    HOLDS(back == 31 * worker->round + 7);
}

static void round_of(struct worker *worker) {
    worker->round++;
    for (unsigned i = 0; i < STREAMS; i++)
        add(worker, i, 1);
    chain(worker);
    capture(worker);
    come_and_go(worker);
    if (worker->round % 4 == worker->number % 4)
        NEED(cuCtxSynchronize());
    if (worker->number == 0) /* the legacy stream waits for nobody here, and is waited for */
        NEED(cuMemsetD32_v2(worker->plain + 16, worker->round, 1));
    for (unsigned i = 0; i < STREAMS; i++)
        NEED(cuStreamSynchronize(worker->streams[i]));
    HOLDS(has_all(worker, worker->round));
}

static bool goes_on(const struct worker *worker, time_t end) {
    if (__atomic_load_n(&failed, __ATOMIC_RELAXED) != NULL)
        return false;
    return end != 0 ? time(NULL) < end : worker->round < 3;
}

static time_t until;

static void *work(void *argument) {
    struct worker *worker = argument;
    NEED(cuCtxSetCurrent(context));
    NEED(cuMemAllocManaged(&worker->managed, STREAMS * WORDS * 4, CU_MEM_ATTACH_GLOBAL));
    NEED(cuMemsetD32_v2(worker->managed, 0, STREAMS * WORDS));
    NEED(cuMemAlloc_v2(&worker->plain, 64));
    for (unsigned i = 0; i < STREAMS; i++) {
        NEED(cuStreamCreate(&worker->streams[i], i < 6 ? CU_STREAM_NON_BLOCKING : 0));
        NEED(cuEventCreate(&worker->events[i], 0));
    }
    while (goes_on(worker, until))
        round_of(worker);
    for (unsigned i = 0; i < STREAMS; i++) {
        NEED(cuStreamDestroy_v2(worker->streams[i]));
        NEED(cuEventDestroy_v2(worker->events[i]));
    }
    mix_in(worker, worker->plain, 1, CU_STREAM_PER_THREAD);
    NEED(cuMemFree_v2(worker->managed));
    NEED(cuMemFree_v2(worker->plain));
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state) {
    static struct worker workers[THREADS];
    const char *seconds = getenv("TEST_SECONDS");
    CUfunction added = function_of("add"), mixes = function_of("mix");
    (void)state;
    until = seconds != NULL ? time(NULL) + atoi(seconds) : 0;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i, .add = added, .mix = mixes};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    unsigned rounds = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        rounds += workers[i].round;
    }
    if (failed != NULL)
        fail_msg("line %d: %s", failed_line, failed);
    if (seconds != NULL)
        print_message("%u rounds\n", rounds);
}

/* Contexts are made and ended in all threads; primary ones come and go. */
static void *use_contexts(void *argument) {
    CUcontext own;
    (void)argument;
    for (int i = 0; i < 4; i++) {
        CUdeviceptr memory = 0;
        CUmodule of;
        CUfunction function;
        NEED(cuCtxCreate_v2(&own, 0, 0));
        NEED(cuModuleLoad(&of, DRIVER_PTX));
        NEED(cuModuleGetFunction(&function, of, "mix"));
        NEED(cuMemAlloc_v2(&memory, 4096));
        NEED(cuMemsetD8_v2(memory, 0, 4096));
        void *params[] = {&memory, &(unsigned){5}};
        NEED(launch(function, 1, 1, CU_STREAM_PER_THREAD, params));
        NEED(cuCtxSynchronize());
        HOLDS(*words_at(memory) == 5);
        NEED(launch(function, 1, 1, NULL, params));
        NEED(cuCtxDestroy_v2(own));
        NEED(cuDevicePrimaryCtxRetain(&own, 0));
        NEED(cuDevicePrimaryCtxRelease_v2(0));
    }
    return NULL;
}

static void contexts_come_and_go(void **state) {
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_contexts, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    if (failed != NULL)
        fail_msg("line %d: %s", failed_line, failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_disturb_each_other),
                                       cmocka_unit_test(contexts_come_and_go)};
    return cmocka_run_group_tests(tests, begin, end);
}
