/* Accesses of kernels to what is no memory. */
#include "ptx/fault.h"

#include "ptx/exec.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static _Thread_local struct {
    void (*told)(void *self, const void *address);
    void *self;
} current;
static struct sigaction before_segv, before_bus;

void ff__ptx_fault_may_come(void (*told)(void *self, const void *address), void *self) {
    current.self = self;
    current.told = told;
}

/* A handler that was there before, or what the system does. */
static void pass_on(const struct sigaction *before, int number, siginfo_t *info, void *ucontext) {
    if ((before->sa_flags & SA_SIGINFO) != 0) {
        before->sa_sigaction(number, info, ucontext);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    } else {
        signal(number, SIG_DFL); /* the access is done again, and ends the process */
    }
}

static void on_fault(int number, siginfo_t *info, void *ucontext) {
    void (*told)(void *self, const void *address) = current.told;
    if (told == NULL || info->si_code <= 0) {
        pass_on(number == SIGSEGV ? &before_segv : &before_bus, number, info, ucontext);
        return;
    }
    current.told = NULL;
    told(current.self, info->si_addr);
}

/* It is left by longjmp(), after which the signal must come again. */
static void install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
}

void ff__ptx_catch_faults(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}
