/* Faults as signals: the thread that meets an absent page serves it itself, without a hand-over. */
#include "backend/soft/context.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONTEXTS_MAX 16

/* Read by signal handlers without a lock: an entry is published after the context is complete. */
static struct ff_context *attached[CONTEXTS_MAX];
static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static unsigned attached_count;

static struct ff_context *find_context(uint64_t address) {
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        struct ff_context *context = __atomic_load_n(&attached[i], __ATOMIC_ACQUIRE);
        if (!context)
            continue;
        uint64_t base = (uintptr_t)context->soft.memory.managed;
        if (address >= base && address - base < context->soft.memory.size)
            return context;
    }
    return NULL;
}

/* Not ours: what would have happened without us. */
static void pass_on(int signal_number, siginfo_t *info, void *ucontext) {
    if (before.sa_flags & SA_SIGINFO && before.sa_sigaction)
        before.sa_sigaction(signal_number, info, ucontext);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal_number);
    else
        signal(signal_number, SIG_DFL); /* the access is repeated and ends the process */
}

static void on_sigbus(int signal_number, siginfo_t *info, void *ucontext) {
    int saved_errno = errno;
    uint64_t address = (uintptr_t)info->si_addr;
    struct ff_context *context = find_context(address);
    uint32_t page = 0, block = FF_NONE;
    if (context) {
        pthread_mutex_lock(&context->pipeline.lock);
        block = ff__space_find(&context->engine.space, address, &page);
        pthread_mutex_unlock(&context->pipeline.lock);
    }
    if (block == FF_NONE) {
        pass_on(signal_number, info, ucontext);
    } else {
        struct ff_fault_group group = {.block = block,
                                       .tier = FF_NONE,
                                       .launch = FF_NONE,
                                       .thread = (uint32_t)syscall(SYS_gettid)};
        ff_mask_set(&group.faulted, page);
        if (context->soft.recorder) /* the signal does not tell reads from writes */
            ff__record_faults(context->soft.recorder, &(struct ff__fault){.address = address}, 1,
                              (uintptr_t)context->soft.memory.managed);
        if (ff__pipeline_serve(&context->pipeline, &group, true) < 0)
            pass_on(signal_number, info, ucontext);
    }
    errno = saved_errno;
}

int ff__sigbus_attach(struct ff_context *context) {
    int status = -EBUSY;
    pthread_mutex_lock(&attaching);
    for (int i = 0; i < CONTEXTS_MAX && status; i++) {
        if (attached[i])
            continue;
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_sigbus;
        action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
        status = attached_count == 0 && sigaction(SIGBUS, &action, &before) ? -errno : 0;
        if (status)
            break;
        attached_count++;
        __atomic_store_n(&attached[i], context, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&attaching);
    return status;
}

void ff__sigbus_detach(struct ff_context *context) {
    pthread_mutex_lock(&attaching);
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        if (attached[i] != context)
            continue;
        __atomic_store_n(&attached[i], NULL, __ATOMIC_RELEASE);
        if (--attached_count == 0)
            sigaction(SIGBUS, &before, NULL);
    }
    pthread_mutex_unlock(&attaching);
}
