/* Streams and events: what waits for what, what may be asked, and what is refused. */
#include "cuda/driver.h"

#include <pthread.h>
#include <unistd.h>

#define NEVER ((CUstream)(uintptr_t)0x7777000)

static CUdeviceptr word;

static int set_up(void **state) {
    begin(state);
    word = allocate(64);
    return 0;
}

static int tear_down(void **state) {
    OK(cuMemFree_v2(word));
    return end(state);
}

static uint32_t take_word(void) {
    uint32_t value = *words_at(word);
    *words_at(word) = 0;
    return value;
}

static CUstream make_stream(unsigned flags) {
    CUstream stream;
    OK(cuStreamCreate(&stream, flags));
    return stream;
}

/* ---- order ---- */

static void a_stream_is_in_order(void **state) {
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    char values[65] = "";
    (void)state;
    for (int i = 0; i < 64; i++) {
        values[i] = (char)('1' + i % 9);
        mix(word, (unsigned)(values[i] - '0'), stream);
    }
    OK(cuStreamSynchronize(stream));
    assert_int_equal(take_word(), mixed(values));
    OK(cuStreamDestroy_v2(stream));
}

static void the_legacy_stream_waits_for_blocking_ones(void **state) {
    CUstream blocking = make_stream(CU_STREAM_DEFAULT);
    struct gate gate;
    (void)state;
    close_gate(&gate, blocking);
    mix(word, 1, blocking);
    mix(word, 2, NULL);
    mix(word, 3, blocking); /* and it for the legacy stream */
    GIVES(ERROR_NOT_READY, cuStreamQuery(NULL));
    GIVES(ERROR_NOT_READY, cuStreamQuery(blocking));
    assert_int_equal(*words_at(word), 0);
    open_gate(&gate);
    OK(cuStreamSynchronize(blocking));
    assert_int_equal(take_word(), mixed("123"));
    OK(cuStreamDestroy_v2(blocking));
}

static void a_non_blocking_stream_does_not_wait(void **state) {
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream(CU_STREAM_DEFAULT);
    struct gate gate;
    (void)state;
    close_gate(&gate, NULL);
    mix(word, 1, stream);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(take_word(), 1);
    OK(cuStreamQuery(stream));
    GIVES(ERROR_NOT_READY, cuStreamQuery(NULL));
    mix(word, 2, other);
    GIVES(ERROR_NOT_READY, cuStreamQuery(other));
    open_gate(&gate);
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
    OK(cuCtxSynchronize());
    assert_int_equal(take_word(), 2);
    close_gate(&gate, stream);
    mix(word, 3, NULL);
    OK(cuStreamSynchronize(NULL));
    open_gate(&gate);
    assert_int_equal(take_word(), 3);
    OK(cuStreamSynchronize(stream)); /* the gate goes */
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamDestroy_v2(other));
}

/* The legacy stream is done when all that it would wait for is. */
static void a_wait_for_the_legacy_stream_waits_for_blocking_ones(void **state) {
    CUstream blocking = make_stream(CU_STREAM_DEFAULT);
    struct gate gate;
    (void)state;
    close_gate(&gate, blocking);
    mix(word, 1, blocking);
    open_gate(&gate);
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(take_word(), 1);
    OK(cuStreamDestroy_v2(blocking));
}

static void *use_own_stream(void *argument) {
    unsigned long long *ids = argument;
    static struct gate gate; /* outlives the thread */
    OK(cuCtxSetCurrent(context));
    OK(cuStreamGetId(NULL, &ids[0]));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &ids[1]));
    OK(cuStreamGetId_ptsz(NULL, &ids[2]));
    close_gate(&gate, CU_STREAM_PER_THREAD);
    mix(word, 1, CU_STREAM_PER_THREAD);
    GIVES(ERROR_NOT_READY, cuStreamQuery_ptsz(NULL));
    open_gate(&gate);
    return NULL; /* what it has to do is done all the same */
}

static void threads_have_streams_of_their_own(void **state) {
    unsigned long long ids[2][3], mine;
    pthread_t thread;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, use_own_stream, ids[i]), 0);
        pthread_join(thread, NULL);
        OK(cuCtxSynchronize());
        assert_int_equal(take_word(), 1);
        assert_true(ids[i][1] == ids[i][2] && ids[i][0] != ids[i][1]);
    }
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
    assert_true(ids[0][0] == ids[1][0] && ids[0][1] != ids[1][1] && mine != ids[1][1]);
}

static void a_destroyed_stream_does_what_it_has(void **state) {
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    struct gate gate;
    (void)state;
    close_gate(&gate, stream);
    mix(word, 1, stream);
    OK(cuStreamDestroy_v2(stream)); /* does not wait */
    assert_int_equal(*words_at(word), 0);
    GIVES(ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    GIVES(ERROR_INVALID_HANDLE, cuStreamDestroy_v2(stream));
    open_gate(&gate);
    OK(cuCtxSynchronize());
    assert_int_equal(take_word(), 1);
    GIVES(ERROR_INVALID_HANDLE, cuStreamDestroy_v2(NULL));
    GIVES(ERROR_INVALID_HANDLE, cuStreamDestroy_v2(CU_STREAM_LEGACY));
    GIVES(ERROR_INVALID_HANDLE, cuStreamDestroy_v2(CU_STREAM_PER_THREAD));
}

/* ---- what streams say of themselves ---- */

static void streams_have_properties(void **state) {
    CUstream stream, other;
    CUcontext of;
    CUgreenCtx green = (CUgreenCtx)state;
    CUdevice device;
    unsigned long long id, another;
    unsigned flags;
    int priority;
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -2));
    OK(cuStreamGetPriority(stream, &priority));
    assert_int_equal(priority, -2);
    OK(cuStreamGetFlags(stream, &flags));
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetFlags(NULL, &flags));
    assert_int_equal(flags, CU_STREAM_DEFAULT);
    OK(cuStreamGetCtx(stream, &of));
    assert_ptr_equal(of, context);
    OK(cuStreamGetCtx_v2(stream, &of, &green));
    assert_ptr_equal(of, context);
    assert_null(green);
    OK(cuStreamGetDevice(stream, &device));
    assert_int_equal(device, 0);
    OK(cuStreamCreateWithPriority(&other, 0, -99));
    OK(cuStreamGetPriority(other, &priority));
    assert_int_equal(priority, -5);
    OK(cuStreamGetId(stream, &id));
    OK(cuStreamGetId(other, &another));
    assert_true(id != another);
    OK(cuStreamDestroy_v2(other));
    OK(cuStreamCreateWithPriority(&other, 0, 99));
    OK(cuStreamGetPriority(other, &priority));
    assert_int_equal(priority, 0);
    REFUSED(cuStreamGetPriority(stream, NULL));
    REFUSED(cuStreamGetFlags(stream, NULL));
    REFUSED(cuStreamGetCtx(stream, NULL));
    REFUSED(cuStreamGetCtx_v2(stream, NULL, NULL));
    REFUSED(cuStreamGetId(stream, NULL));
    REFUSED(cuStreamGetDevice(stream, NULL));
    REFUSED(cuStreamCreate(NULL, 0));
    REFUSED(cuStreamCreate(&other, 2));
    REFUSED(cuStreamCreateWithPriority(NULL, 0, 0));
    REFUSED(cuStreamCreateWithPriority(&other, 6, 0));
    GIVES(ERROR_INVALID_HANDLE, cuStreamGetPriority(NEVER, &priority));
    GIVES(ERROR_INVALID_HANDLE, cuStreamGetFlags(NEVER, &flags));
    GIVES(ERROR_INVALID_HANDLE, cuStreamGetCtx(NEVER, &of));
    GIVES(ERROR_INVALID_HANDLE, cuStreamGetCtx_v2(NEVER, &of, &green));
    GIVES(ERROR_INVALID_HANDLE, cuStreamGetId(NEVER, &id));
    GIVES(ERROR_INVALID_HANDLE, cuStreamGetDevice(NEVER, &device));
    GIVES(ERROR_INVALID_HANDLE, cuStreamQuery(NEVER));
    GIVES(ERROR_INVALID_HANDLE, cuStreamSynchronize(NEVER));
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamDestroy_v2(other));
}

static void managed_memory_is_attached(void **state) {
    CUdeviceptr managed;
    (void)state;
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_HOST));
    OK(cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_GLOBAL));
    OK(cuStreamAttachMemAsync(NULL, managed, 4096, CU_MEM_ATTACH_SINGLE));
    REFUSED(cuStreamAttachMemAsync(NULL, managed, 4096, 3));
    REFUSED(cuStreamAttachMemAsync(NULL, managed, 100, CU_MEM_ATTACH_GLOBAL));
    REFUSED(cuStreamAttachMemAsync(NULL, word, 0, CU_MEM_ATTACH_GLOBAL));
    GIVES(ERROR_INVALID_HANDLE, cuStreamAttachMemAsync(NEVER, managed, 0, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemFree_v2(managed));
}

/* ---- functions of the program ---- */

struct called {
    CUstream stream;
    CUresult status, refused, also;
    uint32_t seen;
    pthread_t thread;
};

static void call_back(CUstream stream, CUresult status, void *user) {
    struct called *called = user;
    CUdevice device;
    called->stream = stream;
    called->status = status;
    called->seen = *words_at(word);
    called->refused = cuCtxSynchronize();
    called->also = cuCtxGetDevice(&device);
    called->thread = pthread_self();
}

static void note(void *user) {
    call_back(NULL, CUDA_SUCCESS, user);
}

static void functions_are_called_in_order(void **state) {
    CUstream stream = make_stream(CU_STREAM_DEFAULT);
    struct called first = {.stream = NULL}, second = {.stream = stream};
    (void)state;
    mix(word, 4, stream);
    OK(cuStreamAddCallback(stream, call_back, &first, 0));
    mix(word, 5, stream);
    OK(cuLaunchHostFunc(stream, note, &second));
    mix(word, 6, stream);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(take_word(), mixed("456"));
    assert_int_equal(first.seen, mixed("4"));
    assert_ptr_equal(first.stream, stream);
    assert_int_equal(first.status, CUDA_SUCCESS);
    assert_int_equal(second.seen, mixed("45"));
    assert_int_equal(first.refused, CUDA_ERROR_NOT_PERMITTED);
    assert_int_equal(second.also, CUDA_ERROR_NOT_PERMITTED);
    assert_false(pthread_equal(first.thread, pthread_self()));
    REFUSED(cuStreamAddCallback(stream, NULL, NULL, 0));
    REFUSED(cuStreamAddCallback(stream, call_back, NULL, 1));
    REFUSED(cuLaunchHostFunc(stream, NULL, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuStreamAddCallback(NEVER, call_back, &first, 0));
    GIVES(ERROR_INVALID_HANDLE, cuLaunchHostFunc(NEVER, note, &first));
    OK(cuStreamDestroy_v2(stream));
}

/* ---- events ---- */

static CUevent make_event(unsigned flags) {
    CUevent event;
    OK(cuEventCreate(&event, flags));
    return event;
}

static void a_stream_waits_for_an_event(void **state) {
    CUstream first = make_stream(CU_STREAM_NON_BLOCKING),
             second = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = make_event(0);
    struct gate gate;
    (void)state;
    OK(cuStreamWaitEvent(second, event, 0)); /* was never recorded */
    OK(cuEventQuery(event));
    OK(cuEventSynchronize(event));
    close_gate(&gate, first);
    mix(word, 1, first);
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    mix(word, 2, second);
    GIVES(ERROR_NOT_READY, cuEventQuery(event));
    GIVES(ERROR_NOT_READY, cuStreamQuery(second));
    open_gate(&gate);
    OK(cuEventSynchronize(event));
    OK(cuStreamSynchronize(second));
    assert_int_equal(take_word(), mixed("12"));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
}

/* A wait is for the record that was the last when it was called. */
static void an_event_is_recorded_again(void **state) {
    CUstream first = make_stream(CU_STREAM_NON_BLOCKING),
             second = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = make_event(CU_EVENT_BLOCKING_SYNC);
    struct gate gate, later;
    (void)state;
    close_gate(&gate, first);
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    mix(word, 1, second);
    close_gate(&later, first);
    OK(cuEventRecordWithFlags(event, first, 0));
    open_gate(&gate);
    OK(cuStreamSynchronize(second)); /* though the second record is pending */
    assert_int_equal(take_word(), 1);
    GIVES(ERROR_NOT_READY, cuEventQuery(event));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventDestroy_v2(event)); /* the record and the wait stay */
    mix(word, 2, second);
    mix(word, 3, second);
    assert_int_equal(*words_at(word), 0);
    open_gate(&later);
    OK(cuStreamSynchronize(second));
    assert_int_equal(take_word(), mixed("23"));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
}

/* Each waits for the one before, which is held up. */
static void a_chain_of_streams(void **state) {
    CUstream streams[8];
    CUevent events[8];
    struct gate gate;
    char values[9] = "12345678";
    (void)state;
    for (int i = 0; i < 8; i++) {
        streams[i] = make_stream(CU_STREAM_NON_BLOCKING);
        events[i] = make_event(CU_EVENT_DISABLE_TIMING);
        if (i == 0)
            close_gate(&gate, streams[0]);
        else
            OK(cuStreamWaitEvent(streams[i], events[i - 1], 0));
        mix(word, (unsigned)i + 1, streams[i]);
        OK(cuEventRecord(events[i], streams[i]));
    }
    for (int i = 0; i < 4; i++)
        OK(cuStreamDestroy_v2(streams[i]));
    open_gate(&gate);
    OK(cuEventSynchronize(events[7]));
    assert_int_equal(take_word(), mixed(values));
    for (int i = 4; i < 8; i++)
        OK(cuStreamDestroy_v2(streams[i]));
    for (int i = 0; i < 8; i++)
        OK(cuEventDestroy_v2(events[i]));
}

static void events_have_times(void **state) {
    CUevent start = make_event(0), stop = make_event(0), none = make_event(CU_EVENT_DISABLE_TIMING);
    struct gate gate;
    float ms = -1;
    (void)state;
    GIVES(ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, stop));
    OK(cuEventRecord(start, NULL));
    OK(cuEventSynchronize(start)); /* its time is that of a worker, which may be late */
    close_gate(&gate, NULL);
    OK(cuEventRecord(stop, NULL));
    OK(cuEventRecord(none, NULL));
    GIVES(ERROR_NOT_READY, cuEventElapsedTime(&ms, start, stop));
    usleep(3000);
    open_gate(&gate);
    OK(cuEventSynchronize(none));
    OK(cuEventElapsedTime(&ms, start, stop));
    assert_true(ms >= 2.9f && ms < 10000);
    OK(cuEventElapsedTime_v2(&ms, stop, start));
    assert_true(ms <= -2.9f);
    OK(cuEventElapsedTime_v2(&ms, start, start));
    assert_true(ms == 0);
    GIVES(ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, start, none));
    GIVES(ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, NULL, stop));
    GIVES(ERROR_INVALID_HANDLE, cuEventElapsedTime_v2(&ms, start, NULL));
    REFUSED(cuEventElapsedTime(NULL, start, stop));
    REFUSED(cuEventElapsedTime_v2(NULL, start, stop));
    OK(cuEventDestroy_v2(start));
    OK(cuEventDestroy_v2(stop));
    OK(cuEventDestroy_v2(none));
}

static void events_are_refused(void **state) {
    CUevent event, other = make_event(0);
    CUcontext another;
    (void)state;
    REFUSED(cuEventCreate(NULL, 0));
    REFUSED(cuEventCreate(&event, 0x40));
    GIVES(ERROR_INVALID_HANDLE, cuEventDestroy_v2(NULL));
    GIVES(ERROR_INVALID_HANDLE, cuEventQuery(NULL));
    GIVES(ERROR_INVALID_HANDLE, cuEventSynchronize(NULL));
    GIVES(ERROR_INVALID_HANDLE, cuEventRecord(NULL, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuEventRecord(other, NEVER));
    GIVES(ERROR_INVALID_HANDLE, cuEventRecordWithFlags(NULL, NULL, 0));
    REFUSED(cuEventRecordWithFlags(other, NULL, 2));
    GIVES(ERROR_INVALID_HANDLE, cuStreamWaitEvent(NULL, NULL, 0));
    GIVES(ERROR_INVALID_HANDLE, cuStreamWaitEvent(NEVER, other, 0));
    REFUSED(cuStreamWaitEvent(NULL, other, 2));
    OK(cuCtxCreate_v2(&another, 0, 0));
    GIVES(ERROR_INVALID_HANDLE, cuEventRecord(other, NULL)); /* of another context */
    OK(cuStreamWaitEvent(NULL, other, 0));
    OK(cuCtxDestroy_v2(another));
    OK(cuEventDestroy_v2(other));
}

/* A stream of one context waits for an event of another, and outlives it. */
static void contexts_wait_for_each_other(void **state) {
    CUcontext other;
    CUevent event;
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    struct gate gate;
    (void)state;
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuEventCreate(&event, 0));
    close_gate(&gate, NULL);
    OK(cuEventRecord(event, NULL));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuStreamWaitEvent(stream, event, 0));
    mix(word, 7, stream);
    GIVES(ERROR_NOT_READY, cuStreamQuery(stream));
    open_gate(&gate);
    OK(cuCtxDestroy_v2(other));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(take_word(), 7);
    OK(cuEventQuery(event));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_in_order),
        cmocka_unit_test(the_legacy_stream_waits_for_blocking_ones),
        cmocka_unit_test(a_non_blocking_stream_does_not_wait),
        cmocka_unit_test(a_wait_for_the_legacy_stream_waits_for_blocking_ones),
        cmocka_unit_test(threads_have_streams_of_their_own),
        cmocka_unit_test(a_destroyed_stream_does_what_it_has),
        cmocka_unit_test(streams_have_properties),
        cmocka_unit_test(managed_memory_is_attached),
        cmocka_unit_test(functions_are_called_in_order),
        cmocka_unit_test(a_stream_waits_for_an_event),
        cmocka_unit_test(an_event_is_recorded_again),
        cmocka_unit_test(a_chain_of_streams),
        cmocka_unit_test(events_have_times),
        cmocka_unit_test(events_are_refused),
        cmocka_unit_test(contexts_wait_for_each_other)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
