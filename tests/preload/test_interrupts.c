/* Signals that come at any moment, in threads of the program and of OpenCL, with handlers that
 * read and write shared virtual memory, during every kind of command. */
#include "client.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIZE      MIB
#define COUNT     (SIZE / sizeof(cl_int))
#define PAGES     (8 * MIB / 4096) /* that handlers use */
#define PAGE_INTS (4096 / sizeof(cl_int))
#define THREADS   8
#define ROUNDS    3
#define PAUSE_NS  1000000 /* between the end of a handler and the next signal of its timer */
#define LIMIT     100     /* seconds; then it hangs */

static struct client client;
static cl_int *noted;
static unsigned place, handled;
static timer_t process_timer;
static _Thread_local timer_t own_timer;
static _Thread_local sigjmp_buf way_out;
static _Thread_local volatile sig_atomic_t has_timer, may_leave;

/* ---- signals ---- */

/* Handlers that take longer than the time between signals would leave no time for anything else. */
static void go_on(timer_t timer) {
    const struct itimerspec soon = {.it_value = {0, PAUSE_NS}};
    timer_settime(timer, 0, &soon, NULL);
}

/* In another thread it may still run when the timer of all has been deleted, and then cannot start
 * it. */
static void on_signal(int number) {
    int saved_errno = errno;
    size_t page = __atomic_add_fetch(&place, 7919, __ATOMIC_RELAXED) % PAGES;
    __atomic_fetch_add(&noted[page * PAGE_INTS], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    if (number == SIGALRM)
        go_on(process_timer);
    else if (has_timer)
        go_on(own_timer);
    errno = saved_errno;
    if (may_leave) {
        may_leave = 0;
        siglongjmp(way_out, 1);
    }
}

static void start_timer(timer_t *timer, struct sigevent *event) {
    CHECK(timer_create(CLOCK_MONOTONIC, event, timer) == 0);
    go_on(*timer);
}

/* The process's signals come to any thread, those of OpenCL among them. */
static void start_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    const struct itimerspec limit = {.it_value = {LIMIT, 0}};
    timer_t last;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &last) == 0);
    CHECK(timer_settime(last, 0, &limit, NULL) == 0);
    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGPROF, &action, NULL) == 0);
    event.sigev_signo = SIGALRM;
    start_timer(&process_timer, &event);
}

static void start_own_signals(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    has_timer = 1; /* before the first signal, whose handler asks */
    start_timer(&own_timer, &event);
}

static void stop_own_signals(void) {
    has_timer = 0;
    timer_delete(own_timer);
}

/* ---- every kind of command ---- */

static void use_buffers(cl_command_queue queue, cl_kernel add, cl_int value) {
    cl_int *host = client_numbers(COUNT, 0, 1), zero = 0, status;
    cl_mem buffer =
        client_buffer(&client, value % 2 ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR, SIZE, host);
    cl_mem other = client_buffer(&client, CL_MEM_READ_WRITE, SIZE, NULL);
    OK(clEnqueueFillBuffer(queue, other, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    client_launch(queue, add, buffer, value, COUNT);
    OK(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, SIZE, 0, NULL, NULL));
    CHECK(client_buffer_is_series(queue, other, COUNT, value, 1));
    OK(clEnqueueWriteBuffer(queue, other, CL_TRUE, 0, SIZE, host, 0, NULL, NULL));
    OK(clEnqueueMigrateMemObjects(queue, 1, &other, 0, 0, NULL, NULL));
    cl_int *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE,
                                        0, NULL, NULL, &status);
    OK(status);
    CHECK(client_is_series(mapped, COUNT, value, 1));
    OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clReleaseMemObject(other));
    OK(clReleaseMemObject(buffer));
    free(host);
}

static void CL_CALLBACK count(cl_event event, cl_int status, void *user) {
    (void)event;
    CHECK(status == CL_COMPLETE);
    __atomic_fetch_add((unsigned *)user, 1, __ATOMIC_RELEASE);
}

static void use_events(cl_command_queue queue, cl_kernel add) {
    cl_int zero = 0, status;
    size_t items = COUNT;
    unsigned called = 0;
    cl_event gate = clCreateUserEvent(client.context, &status), last;
    cl_mem buffer = client_buffer(&client, CL_MEM_READ_WRITE, SIZE, NULL);
    OK(status);
    OK(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, SIZE, 1, &gate, NULL));
    for (int i = 0; i < 5; i++)
        client_launch(queue, add, buffer, 1, COUNT);
    OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, &last));
    OK(clSetEventCallback(last, CL_COMPLETE, count, &called));
    OK(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(clWaitForEvents(1, &last));
    CHECK(client_buffer_is_series(queue, buffer, COUNT, 6, 0));
    while (__atomic_load_n(&called, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    OK(clReleaseEvent(last));
    OK(clReleaseEvent(gate));
    OK(clReleaseMemObject(buffer));
}

static void use_svm(cl_command_queue queue, cl_kernel add, cl_int value) {
    size_t items = COUNT;
    cl_int *data = clSVMAlloc(client.context, CL_MEM_READ_WRITE, SIZE, 0), zero = 0;
    cl_int *other = clSVMAlloc(client.context, CL_MEM_READ_WRITE, SIZE, 0);
    CHECK(data && other);
    OK(clEnqueueSVMMemFill(queue, data, &zero, sizeof zero, SIZE, 0, NULL, NULL));
    OK(clSetKernelArgSVMPointer(add, 0, data));
    OK(clSetKernelArg(add, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clEnqueueSVMMemcpy(queue, CL_TRUE, other, data, SIZE, 0, NULL, NULL));
    OK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, other, SIZE, 0, NULL, NULL));
    CHECK(client_is_series(other, COUNT, value, 0));
    OK(clEnqueueSVMUnmap(queue, other, 0, NULL, NULL));
    OK(clFinish(queue));
    clSVMFree(client.context, other);
    clSVMFree(client.context, data);
}

/* Until a handler leaves by siglongjmp(). TSan forgets what other signals it holds back
 * then, and their timers are not set again: with two kinds of signals this waits for ever in one
 * run of eight, with one kind it never did. */
static void be_thrown_out(void) {
#ifndef __SANITIZE_THREAD__
    volatile size_t page = 0;
    if (sigsetjmp(way_out, 1))
        return;
    may_leave = 1;
    for (;; page = (page + 61) % PAGES)
        __atomic_load_n(&noted[page * PAGE_INTS], __ATOMIC_RELAXED);
#endif
}

static void *thread(void *argument) {
    cl_int number = *(cl_int *)argument;
    cl_command_queue queue = client_queue(&client, client.device, 0);
    start_own_signals();
    for (cl_int round = 0; round < ROUNDS; round++) {
        cl_kernel add = client_kernel(&client, "add");
        use_buffers(queue, add, number + round);
        use_events(queue, add);
        use_svm(queue, add, round);
        be_thrown_out();
        OK(clReleaseKernel(add));
    }
    stop_own_signals();
    OK(clReleaseCommandQueue(queue));
    return NULL;
}

static unsigned sum_of_notes(void) {
    unsigned sum = 0;
    for (size_t page = 0; page < PAGES; page++)
        sum += (unsigned)__atomic_load_n(&noted[page * PAGE_INTS], __ATOMIC_ACQUIRE);
    return sum;
}

int main(void) {
    pthread_t threads[THREADS];
    cl_int numbers[THREADS];
    client_open(&client, 0);
    noted = clSVMAlloc(client.context, CL_MEM_READ_WRITE, PAGES * 4096, 0);
    CHECK(noted);
    memset(noted, 0, PAGES * 4096);
    start_signals();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, thread, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR && signal(SIGPROF, SIG_IGN) != SIG_ERR);
    timer_delete(process_timer);
    while (sum_of_notes() != __atomic_load_n(&handled, __ATOMIC_ACQUIRE))
        sched_yield(); /* a handler may be about to count itself */
    CHECK(__atomic_load_n(&handled, __ATOMIC_ACQUIRE) > 0);
    clSVMFree(client.context, noted);
    client_close(&client);
    return 0;
}
