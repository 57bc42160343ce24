/* Signals that come at any moment, in all of the program's threads, with handlers that read and
 * write managed memory: no fault waits for the thread that it has interrupted, whatever that was
 * doing. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/child.h"

#define BUDGET  (8 * MB)
#define SIZE    (32 * MB)
#define PAGES   (SIZE / PAGE)
#define OWN     (MB + 3 * PAGE) /* what a thread allocates for itself */
#define THREADS 8u
/* ThreadSanitizer blocks SIGBUS, too, while any handler of the program's runs, and does not
 * follow it out of there. */
#ifdef __SANITIZE_THREAD__
#define HANDLERS 2 /* of farfault's */
#else
#define HANDLERS 3
#endif

#define PAUSE_NS 1000000 /* between the end of a handler and the next signal of its timer */

/* A page of `data` has a word for each thread's handlers, and one for what else it does. */
#define WORDS (PAGE / sizeof(uint64_t))

struct thread {
    struct ff_context *context;
    const struct ff_config *config;
    struct ff_stream *stream;
    uint64_t *data;
    unsigned char *own;
    unsigned number;
    size_t place; /* where its handler goes on */
    volatile uint64_t handled;
    timer_t timer;
    pthread_t handle;
};

/* Handlers run in threads of the program alone. */
static _Thread_local struct thread *volatile here;
static _Thread_local sigjmp_buf way_out;
static _Thread_local volatile sig_atomic_t may_leave;

/* ---- signals ---- */

static timer_t process_timer;

static volatile uint64_t *next_word(struct thread *thread) {
    thread->place = (thread->place + 7919) % PAGES;
    return &thread->data[thread->place * WORDS + thread->number];
}

/* Handlers that take longer than the time between signals would leave no time for anything else. */
static void go_on(timer_t timer) {
    const struct itimerspec soon = {.it_value = {0, PAUSE_NS}};
    timer_settime(timer, 0, &soon, NULL);
}

/* It may run, or come late, when its timer has been deleted, and then cannot start it. */
static void on_signal(int number) {
    int saved_errno = errno;
    struct thread *thread = here;
    if (thread) {
        ++*next_word(thread);
        thread->handled++;
    }
    if (number == SIGALRM)
        go_on(process_timer);
    else if (thread)
        go_on(thread->timer);
    errno = saved_errno;
    if (thread && may_leave) {
        may_leave = 0;
        siglongjmp(way_out, 1);
    }
}

/* Of threads' own timers, and of the process's, which interrupts system calls. */
static void take_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGPROF);
    sigaddset(&action.sa_mask, SIGALRM);
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    action.sa_flags = SA_ONSTACK;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

static void start_timer(timer_t *timer, struct sigevent *event) {
    CHECK(timer_create(CLOCK_MONOTONIC, event, timer) == 0);
    go_on(*timer);
}

static void start_own_timer(struct thread *thread) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    start_timer(&thread->timer, &event);
}

/* For signals. */
static void use_small_stack(void) {
    size_t size = ((size_t)sysconf(_SC_SIGSTKSZ) + PAGE - 1) / PAGE * PAGE;
    stack_t stack = {.ss_size = size};
    stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack.ss_sp != MAP_FAILED && sigaltstack(&stack, NULL) == 0);
}

/* ---- every function ---- */

static void allocate(struct thread *thread) {
    void *memory = NULL;
    CHECK(ff_mem_alloc(thread->context, OWN, &memory) == 0);
    CHECK(ff_mem_free(thread->context, memory) == 0);
}

static void look_up(struct thread *thread) {
    void *base = NULL;
    size_t size = 0;
    CHECK(ff_mem_lookup(thread->context, thread->own + OWN / 2, &base, &size));
    CHECK(base == thread->own && size == OWN && ff_context_owns(thread->context, base, size));
}

static void fill(struct thread *thread) {
    static unsigned char source[THREADS][OWN];
    unsigned char *from = source[thread->number];
    memset(from, (int)(thread->handled % 251), OWN);
    CHECK(ff_mem_write(thread->context, thread->own, from, OWN) == 0);
    CHECK(memcmp(thread->own, from, OWN) == 0);
}

static void prefetch(struct thread *thread) {
    CHECK(ff_mem_prefetch(thread->context, thread->own, OWN, 0) == 0);
}

static void advise(struct thread *thread) {
    static const enum ff_hint kinds[] = {FF_HINT_EVICT,  FF_HINT_HOME,      FF_HINT_INACTIVE,
                                         FF_HINT_ACTIVE, FF_HINT_OVERWRITE, FF_HINT_DISCARD};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        memset(thread->own, (int)i, OWN);
        CHECK(ff_mem_hint(thread->context, thread->own, OWN, kinds[i], 0) == 0);
    }
}

static void announce(struct thread *thread) {
    const void *operands[] = {thread->own, thread->data};
    for (int i = 0; i < 10; i++) {
        ff_launch_begin(thread->context, 0, thread->number, "kernel", operands, NULL, 2);
        ff_launch_end(thread->context, 0, thread->number);
    }
}

static void add_one(const struct ff_work *work, void *arguments) {
    unsigned char *own = *(unsigned char **)arguments;
    for (size_t page = work->first; page < work->end; page++)
        own[page * PAGE]++;
}

static void run_kernels(struct thread *thread) {
    const void *operands[] = {thread->own};
    const struct ff_launch launch = {.name = "add one",
                                     .kernel = add_one,
                                     .grid = OWN / PAGE,
                                     .arguments = &thread->own,
                                     .argument_size = sizeof thread->own,
                                     .operands = operands,
                                     .operand_count = 1};
    memset(thread->own, 0, OWN);
    for (int i = 0; i < 3; i++)
        CHECK(ff_kernel_launch(thread->stream, &launch) == 0);
    ff_stream_synchronize(thread->stream);
    for (size_t page = 0; page < OWN / PAGE; page++)
        CHECK(thread->own[page * PAGE] == 3);
}

static void make_stream(struct thread *thread) {
    ff_stream_destroy(thread->stream);
    CHECK(ff_stream_create(thread->context, 0, &thread->stream) == 0);
}

static void ask(struct thread *thread) {
    struct ff_moved_list moved;
    struct ff_stats stats;
    struct ff_found found;
    struct ff_error error;
    ff_stats_read(thread->context, &stats);
    CHECK(ff_stats_hit_rate(&stats) <= 1 && ff_context_describe(thread->context));
    ff_moved_read(thread->context, FF_MOVED_BY_KERNEL, &moved);
    ff_moved_read(thread->context, FF_MOVED_BY_ALLOCATION, &moved);
    ff_finding_read(thread->context, 0, &found);
    CHECK(ff_check(thread->context, &error) == 0 && ff_record_finish(thread->context) == 0);
}

static void limit(struct thread *thread) {
    CHECK(ff_memory_limit(thread->context, 0, BUDGET / 2) == 0);
    CHECK(ff_memory_limit(thread->context, 0, BUDGET) == 0);
}

static void open_another(struct thread *thread) {
    struct ff_config config;
    ff_config_init(&config);
    CHECK(ff_config_set(&config, "memory", "4M", NULL) == 0);
    CHECK(ff_config_from_environment(&config, NULL) == 0 && ff_environment_check(NULL) == 0);
    config = *thread->config;
    config.memory = 4 * MB;
    if (thread->number > 0)
        return; /* a context costs more than all the rest */
    struct ff_context *context = child_open(&config);
    memset(child_alloc(context, OWN), 1, OWN);
    child_close(context);
}

static void touch(struct thread *thread) {
    volatile uint64_t *words = thread->data + THREADS + thread->number;
    for (size_t page = thread->number; page < PAGES; page += 61)
        words[page * WORDS] += page;
}

static void (*const calls[])(struct thread *thread) = {
    allocate, look_up,     fill, prefetch, advise,       announce,
    touch,    run_kernels, ask,  limit,    open_another, make_stream};

static unsigned rounds(void) {
    return long_run_repeats() ? 40 : SANITIZED ? 1 : 4;
}

static void *call_everything(void *argument) {
    struct thread *thread = argument;
    if (thread->number % 2)
        use_small_stack();
    here = thread;
    start_own_timer(thread);
    for (unsigned round = 0; round < rounds(); round++)
        for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
            calls[(i + thread->number) % (sizeof calls / sizeof calls[0])](thread);
    timer_delete(thread->timer);
    here = NULL;
    return NULL;
}

/* ---- running threads, and what is true afterwards ---- */

static void run_threads(const struct ff_config *config, void *(*run)(void *)) {
    static struct thread threads[THREADS];
    struct ff_context *context = child_open(config);
    uint64_t *data = (void *)child_alloc(context, SIZE);
    take_signals();
    start_timer(&process_timer,
                &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM});
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] =
            (struct thread){.context = context, .config = config, .data = data, .number = i};
        threads[i].own = child_alloc(context, OWN);
        CHECK(ff_stream_create(context, 0, &threads[i].stream) == 0);
        CHECK(pthread_create(&threads[i].handle, NULL, run, &threads[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i].handle, NULL) == 0);
    timer_delete(process_timer);
    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t sum = 0;
        for (size_t page = 0; page < PAGES; page++)
            sum += data[page * WORDS + i];
        CHECK(sum == threads[i].handled && sum > 0);
        ff_stream_destroy(threads[i].stream);
    }
    child_close(context);
}

static void call_all(const struct ff_config *config, const void *argument) {
    (void)argument;
    run_threads(config, call_everything);
}

static void for_each_handler(scenario_fn *run, const char *name) {
    static const enum ff_handler handlers[] = {FF_HANDLER_ADAPTIVE, FF_HANDLER_SLEEP,
                                               FF_HANDLER_SIGBUS};
    for (unsigned i = 0; i < HANDLERS; i++) {
        struct ff_config config = child_config(BUDGET);
        config.handler = handlers[i];
        config.system = i == 0 ? "auto" : "nvidia-1";
        expect_end(name, run, &config, NULL, 0);
    }
}

static void test_every_function(void **state) {
    (void)state;
    for_each_handler(call_all, "call_all");
}

/* ---- threads that are cancelled ---- */

/* With the request pending, the first function that waits would be its end. */
static void *be_cancelled(void *argument) {
    struct thread *thread = argument;
    pthread_cancel(pthread_self());
    calls[thread->number % (sizeof calls / sizeof calls[0])](thread);
    pthread_testcancel();
    _exit(1);
}

static void cancel(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    struct thread thread = {.context = context, .config = config};
    thread.data = (void *)child_alloc(context, SIZE);
    thread.own = child_alloc(context, OWN);
    CHECK(ff_stream_create(context, 0, &thread.stream) == 0);
    for (; thread.number < sizeof calls / sizeof calls[0]; thread.number++) {
        CHECK(pthread_create(&thread.handle, NULL, be_cancelled, &thread) == 0);
        CHECK(pthread_join(thread.handle, NULL) == 0);
    }
    ff_stream_destroy(thread.stream);
    child_close(context);
}

static void test_cancelled_threads(void **state) {
    (void)state;
    for_each_handler(cancel, "cancel");
}

/* ---- handlers that do not return ---- */

#ifndef __SANITIZE_THREAD__

static void spin(const struct ff_work *work, void *arguments) {
    (void)work, (void)arguments;
    ff__clock_sleep(3 * PAUSE_NS);
}

/* Out of accesses, and out of waits for kernels. */
static void *be_thrown_out(void *argument) {
    struct thread *thread = argument;
    const struct ff_launch launch = {.kernel = spin, .grid = 1};
    volatile unsigned left = SANITIZED ? 20 : 100;
    here = thread;
    start_own_timer(thread);
    while (left > 0) {
        if (sigsetjmp(way_out, 1) == 0) {
            if (left % 4 == 0)
                CHECK(ff_kernel_launch(thread->stream, &launch) == 0);
            may_leave = 1;
            if (left % 4 == 0)
                ff_stream_synchronize(thread->stream);
            for (;;)
                touch(thread);
        }
        left--;
    }
    timer_delete(thread->timer);
    here = NULL;
    return NULL;
}

static void throw_out(const struct ff_config *config, const void *argument) {
    (void)argument;
    run_threads(config, be_thrown_out);
}

static void test_handlers_that_jump(void **state) {
    (void)state;
    for_each_handler(throw_out, "throw_out");
}

#endif

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function),
        cmocka_unit_test(test_cancelled_threads),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(test_handlers_that_jump),
#endif
    };
    return run_or_skip(tests);
}
