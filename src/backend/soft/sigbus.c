/* Faults as signals: the thread that meets an absent page serves it itself, without a hand-over. */
#include "backend/soft/device.h"
#include "backend/soft/room.h"
#include "base/process.h"
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define DEVICES_MAX 16

/* Read by signal handlers without a lock: an entry is published after the device is complete. */
static struct ff__soft *attached[DEVICES_MAX];
static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;

/* A forked child inherits the entries, and may have devices of its own at the same addresses. */
static bool is_ours(const struct ff__soft *soft) {
    return soft && soft->process == ff__process_number();
}

static struct ff__soft *find_device(uint64_t address) {
    for (int i = 0; i < DEVICES_MAX; i++) {
        struct ff__soft *soft = __atomic_load_n(&attached[i], __ATOMIC_ACQUIRE);
        if (!is_ours(soft))
            continue;
        uint64_t base = (uintptr_t)soft->memory.managed;
        if (address >= base && address - base < soft->memory.size)
            return soft; /* also where faults wait by now: it met this one before */
    }
    return NULL;
}

/* Another process or thread has sent the signal: there is no access to repeat, and no address. */
static bool was_sent(const siginfo_t *info) {
    return info->si_code <= 0;
}

/* Not ours: what would have happened without us, with the signals that the interrupted code
 * gets. */
static void pass_on(int signal_number, siginfo_t *info, void *ucontext) {
    bool handled = before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
    if (handled && before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(signal_number, info, ucontext);
    } else if (handled) {
        before.sa_handler(signal_number);
    } else if (before.sa_handler == SIG_DFL || !was_sent(info)) {
        signal(signal_number, SIG_DFL); /* the access is repeated and ends the process */
        if (was_sent(info))
            raise(signal_number);
    }
}

/* A fault that a signal has told of. */
struct met {
    struct ff__soft *soft;
    uint64_t address;
    bool write;
    uint64_t code; /* the instruction */
};

/* The processor's error code of the page fault, whose second bit says so; false where it is not
 * known. */
static bool was_write(const void *ucontext) {
#ifdef __x86_64__
    return ((const ucontext_t *)ucontext)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)ucontext;
    return false;
#endif
}

/* 0 where it is not known. */
static uint64_t instruction_of(const void *ucontext) {
#ifdef __x86_64__
    return (uint64_t)((const ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return ((const ucontext_t *)ucontext)->uc_mcontext.pc;
#else
    (void)ucontext;
    return 0;
#endif
}

static int serve(void *argument) {
    struct met *met = argument;
    struct ff__fault fault = {.address = met->address,
                              .thread = (int32_t)syscall(SYS_gettid),
                              .write = met->write,
                              .code = met->code};
    return ff__pipeline_serve_here(met->soft->pipeline, &fault);
}

/* Whether it could be served. */
static bool serve_here(struct met *met, const void *ucontext) {
    ff__signals_enter_handler();
    int status = ff__room_is_short(ucontext) ? ff__room_call(serve, met) : serve(met);
    ff__signals_leave_handler();
    return status == 0;
}

static void on_sigbus(int signal_number, siginfo_t *info, void *ucontext) {
    int saved_errno = errno;
    uint64_t address = (uintptr_t)info->si_addr;
    struct met met = {was_sent(info) ? NULL : find_device(address), address, was_write(ucontext),
                      instruction_of(ucontext)};
    if (!met.soft || !serve_here(&met, ucontext)) {
        pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)ucontext)->uc_sigmask, NULL);
        pass_on(signal_number, info, ucontext);
    }
    errno = saved_errno;
}

/* With the first device. A forked child has our handler already, unless it has reset it. */
static int take_over(void) {
    struct sigaction action, found;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_ONSTACK;
    ff__signals_fill(&action.sa_mask);
    int status = ff__rooms_make();
    if (!status && sigaction(SIGBUS, &action, &found)) {
        status = -errno;
        ff__rooms_unmake();
    } else if (!status && found.sa_sigaction != on_sigbus) {
        before = found;
    }
    return status;
}

/* With the last one. */
static void give_back(void) {
    sigaction(SIGBUS, &before, NULL);
    ff__rooms_unmake();
}

static bool has_attached(void) {
    for (int i = 0; i < DEVICES_MAX; i++)
        if (is_ours(attached[i]))
            return true;
    return false;
}

int ff__sigbus_attach(struct ff__soft *soft) {
    int status = -EBUSY;
    pthread_mutex_lock(&attaching);
    for (int i = 0; i < DEVICES_MAX && status; i++) {
        if (is_ours(attached[i]))
            continue;
        status = has_attached() ? 0 : take_over();
        if (status)
            break;
        __atomic_store_n(&attached[i], soft, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&attaching);
    return status;
}

void ff__sigbus_detach(struct ff__soft *soft) {
    pthread_mutex_lock(&attaching);
    int i = 0;
    while (i < DEVICES_MAX && attached[i] != soft)
        i++;
    if (i < DEVICES_MAX) { /* it could attach */
        __atomic_store_n(&attached[i], NULL, __ATOMIC_RELEASE);
        if (!has_attached())
            give_back();
    }
    pthread_mutex_unlock(&attaching);
}
