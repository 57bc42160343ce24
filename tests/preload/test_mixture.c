/* Everything that a program may do with buffers, in an order drawn at random, by several threads at
 * once: each has a queue, a buffer and a copy of what that must hold. TEST_REPEATS times as many
 * operations where that is set. */
#include "client.h"

#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT      (MIB / 2 + 513) /* of numbers: two MiB and a part of a page */
#define SIZE       (COUNT * sizeof(cl_int))
#define THREADS    4
#define OPERATIONS 24
#define ROW        4096u /* bytes of a rectangle's rows */
#define SIDE       64u   /* of it, in numbers */

extern char **environ;

static struct client client;

struct user {
    unsigned random;
    cl_command_queue queue;
    cl_kernel add;
    cl_mem buffer;
    cl_int *host; /* the buffer was made with */
    cl_int *wanted, *scratch;
    pthread_t thread;
};

static size_t draw(struct user *user, size_t below) {
    return (size_t)rand_r(&user->random) % below;
}

static void raise_all(cl_int *numbers, size_t count, cl_int by) {
    for (size_t i = 0; i < count; i++)
        numbers[i] = (cl_int)((cl_uint)numbers[i] + (cl_uint)by); /* wraps, as in the kernel */
}

static void wait_for(cl_event event) {
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
}

static cl_event launch(const struct user *user, cl_int value, cl_uint count, const cl_event *list) {
    size_t items = COUNT;
    cl_event event;
    OK(clSetKernelArg(user->add, 0, sizeof user->buffer, &user->buffer));
    OK(clSetKernelArg(user->add, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(user->queue, user->add, 1, NULL, &items, NULL, count, list, &event));
    raise_all(user->wanted, COUNT, value);
    return event;
}

static void check(const struct user *user) {
    OK(clEnqueueReadBuffer(user->queue, user->buffer, CL_TRUE, 0, SIZE, user->scratch, 0, NULL,
                           NULL));
    CHECK(memcmp(user->scratch, user->wanted, SIZE) == 0);
}

/* ---- a buffer's life ---- */

static void make_buffer(struct user *user) {
    static const cl_mem_flags kinds[] = {CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR,
                                         CL_MEM_ALLOC_HOST_PTR};
    cl_mem_flags flags = kinds[draw(user, 3)];
    bool copies = flags != CL_MEM_ALLOC_HOST_PTR;
    for (size_t i = 0; i < COUNT; i++)
        user->host[i] = user->wanted[i] = rand_r(&user->random);
    user->buffer = client_buffer(&client, flags, SIZE, copies ? user->host : NULL);
    if (!copies)
        OK(clEnqueueWriteBuffer(user->queue, user->buffer, CL_TRUE, 0, SIZE, user->host, 0, NULL,
                                NULL));
}

/* Released while its kernel may still run. */
static void replace_buffer(struct user *user) {
    cl_event event = launch(user, 1, 0, NULL);
    OK(clReleaseMemObject(user->buffer));
    wait_for(event);
    OK(clFinish(user->queue));
    make_buffer(user);
}

/* ---- commands ---- */

static void launch_one(struct user *user) {
    wait_for(launch(user, (cl_int)draw(user, 100), 0, NULL));
}

struct next {
    cl_event event;
    /* atomic; until then PoCL uses the event, although what waits for it may have ended */
    bool done;
};

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *argument) {
    struct next *next = argument;
    (void)event, (void)status;
    OK(clReleaseMemObject(client_buffer(&client, 0, 8192, NULL)));
    OK(clSetUserEventStatus(next->event, CL_COMPLETE));
    __atomic_store_n(&next->done, true, __ATOMIC_RELEASE);
}

/* A launch behind a user event, a callback that uses OpenCL, and a read behind what that completes.
 */
static void launch_between_events(struct user *user) {
    cl_int status;
    cl_event first = clCreateUserEvent(client.context, &status), launched, read;
    struct next second = {clCreateUserEvent(client.context, &status), false};
    launched = launch(user, 3, 1, &first);
    OK(clSetEventCallback(launched, CL_COMPLETE, on_complete, &second));
    OK(clEnqueueReadBuffer(user->queue, user->buffer, CL_FALSE, 0, SIZE, user->scratch, 1,
                           &second.event, &read));
    OK(clFlush(user->queue));
    OK(clSetUserEventStatus(first, CL_COMPLETE));
    wait_for(read);
    CHECK(memcmp(user->scratch, user->wanted, SIZE) == 0);
    while (!__atomic_load_n(&second.done, __ATOMIC_ACQUIRE))
        sched_yield();
    OK(clReleaseEvent(launched));
    OK(clReleaseEvent(first));
    OK(clReleaseEvent(second.event));
}

static cl_int *map(const struct user *user, size_t from, size_t count) {
    cl_int status;
    cl_int *mapped =
        clEnqueueMapBuffer(user->queue, user->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                           from * sizeof(cl_int), count * sizeof(cl_int), 0, NULL, NULL, &status);
    OK(status);
    CHECK(memcmp(mapped, user->wanted + from, count * sizeof(cl_int)) == 0);
    return mapped;
}

static void unmap(const struct user *user, void *mapped) {
    cl_event event;
    OK(clEnqueueUnmapMemObject(user->queue, user->buffer, mapped, 0, NULL, &event));
    wait_for(event);
}

static void map_a_part(struct user *user) {
    size_t from = draw(user, COUNT / 2), count = 1 + draw(user, COUNT / 2);
    cl_int *mapped = map(user, from, count);
    raise_all(mapped, count, 5);
    raise_all(user->wanted + from, count, 5);
    unmap(user, mapped);
}

static void fill_a_part(struct user *user) {
    const cl_buffer_region region = {(1 + draw(user, 200)) * 4096, (1 + draw(user, 200)) * 4096};
    size_t from = region.origin / sizeof(cl_int), count = region.size / sizeof(cl_int);
    cl_int status, pattern = rand_r(&user->random);
    cl_event event;
    cl_mem part = clCreateSubBuffer(user->buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                    &region, &status);
    OK(status);
    OK(clEnqueueFillBuffer(user->queue, part, &pattern, sizeof pattern, 0, region.size, 0, NULL,
                           &event));
    for (size_t i = 0; i < count; i++)
        user->wanted[from + i] = pattern;
    OK(clReleaseMemObject(part));
    wait_for(event);
}

static void CL_CALLBACK raise_natively(void *arguments) {
    raise_all(*(cl_int **)arguments, COUNT, 7);
}

static void run_natively(struct user *user) {
    void *arguments = NULL;
    const void *place = &arguments;
    cl_event event;
    OK(clEnqueueNativeKernel(user->queue, raise_natively, &arguments, sizeof arguments, 1,
                             &user->buffer, &place, 0, NULL, &event));
    wait_for(event);
    raise_all(user->wanted, COUNT, 7);
}

static void copy(struct user *user) {
    cl_mem other = client_buffer(&client, CL_MEM_READ_WRITE, SIZE, NULL);
    cl_event copied, read;
    OK(clEnqueueCopyBuffer(user->queue, user->buffer, other, 0, 0, SIZE, 0, NULL, &copied));
    OK(clEnqueueReadBuffer(user->queue, other, CL_FALSE, 0, SIZE, user->scratch, 1, &copied,
                           &read));
    OK(clReleaseMemObject(other));
    wait_for(copied);
    wait_for(read);
    CHECK(memcmp(user->scratch, user->wanted, SIZE) == 0);
}

static void write_a_rectangle(struct user *user) {
    const size_t to[3] = {draw(user, 256) * sizeof(cl_int), draw(user, 64), 0}, from[3] = {0, 0, 0};
    const size_t region[3] = {SIDE * sizeof(cl_int), SIDE, 1};
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        user->scratch[i] = rand_r(&user->random);
    OK(clEnqueueWriteBufferRect(user->queue, user->buffer, CL_TRUE, to, from, region, ROW, 0,
                                region[0], 0, user->scratch, 0, NULL, NULL));
    for (size_t y = 0; y < SIDE; y++)
        memcpy((char *)user->wanted + to[0] + (to[1] + y) * ROW, user->scratch + y * SIDE,
               region[0]);
}

/* ---- of the system ---- */

static void start_a_child(struct user *user) {
    char *const arguments[] = {"/bin/true", NULL};
    bool spawns = draw(user, 2) == 1;
    pid_t child = spawns ? 0 : fork();
    if (spawns)
        CHECK(posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) == 0);
    else if (child == 0)
        _exit(0);
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* A mapping goes to a file, and comes back changed. */
static void call_the_kernel(struct user *user) {
    cl_int *mapped = map(user, 0, COUNT);
    int fd = memfd_create("mixture", MFD_CLOEXEC);
    CHECK(write(fd, mapped, SIZE) == (ssize_t)SIZE);
    CHECK(pread(fd, user->scratch, SIZE, 0) == (ssize_t)SIZE);
    CHECK(memcmp(user->scratch, user->wanted, SIZE) == 0);
    raise_all(user->wanted, COUNT, 11);
    CHECK(pwrite(fd, user->wanted, SIZE, 0) == (ssize_t)SIZE);
    const struct iovec halves[2] = {{mapped, SIZE / 2}, {(char *)mapped + SIZE / 2, SIZE / 2}};
    CHECK(preadv(fd, halves, 2, 0) == (ssize_t)SIZE);
    close(fd);
    unmap(user, mapped);
}

static void (*const operations[])(struct user *user) = {
    replace_buffer, launch_one, launch_between_events, map_a_part,    fill_a_part,
    run_natively,   copy,       write_a_rectangle,     start_a_child, call_the_kernel,
};

#define KINDS (sizeof operations / sizeof operations[0])

static unsigned repeats(void) {
    const char *text = getenv("TEST_REPEATS");
    return text ? (unsigned)strtoul(text, NULL, 10) : 1;
}

static void *use(void *argument) {
    struct user *user = argument;
    make_buffer(user);
    for (unsigned i = 0; i < OPERATIONS * repeats(); i++) {
        operations[draw(user, KINDS)](user);
        if (i % 8 == 7)
            check(user);
    }
    check(user);
    OK(clReleaseMemObject(user->buffer));
    return NULL;
}

static void start(struct user *user, unsigned number) {
    cl_device_id device = client.devices[number % client.device_count];
    *user = (struct user){
        .random = number + 1,
        .queue =
            client_queue(&client, device, number % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0),
        .add = client_kernel(&client, "add"),
        .host = aligned_alloc(4096, (SIZE + 4095) / 4096 * 4096),
        .wanted = malloc(SIZE),
        .scratch = malloc(SIZE),
    };
    CHECK(user->host && user->wanted && user->scratch);
    CHECK(pthread_create(&user->thread, NULL, use, user) == 0);
}

static void finish(struct user *user) {
    CHECK(pthread_join(user->thread, NULL) == 0);
    OK(clReleaseKernel(user->add));
    OK(clReleaseCommandQueue(user->queue));
    free(user->host);
    free(user->wanted);
    free(user->scratch);
}

int main(void) {
    struct user users[THREADS];
    client_open(&client, 0);
    for (unsigned i = 0; i < THREADS; i++)
        start(&users[i], i);
    for (unsigned i = 0; i < THREADS; i++)
        finish(&users[i]);
    client_close(&client);
    return 0;
}
