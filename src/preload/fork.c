/* Managed memory is not inherited (MADV_DONTFORK: two processes cannot share device frames), and
 * neither are the threads that serve it. A forked child is therefore left to the real calls as they
 * are. If it touches managed memory it dies, as it must, but is told why. Children that exec begin
 * anew. */
#include "preload/preload.h"

#include "base/process.h"

#include <string.h>
#include <unistd.h>

static uint32_t process; /* that was preloaded; 0: not known yet, or no memory to tell */
static uintptr_t first = UINTPTR_MAX, last; /* addresses that managed memory has ever had */
static struct sigaction before;
static bool is_watching; /* before is set: this is a child */

bool ff__in_child(void) {
    return process && process != ff__process_number();
}

static void widen(uintptr_t low, uintptr_t high) {
    uintptr_t seen = __atomic_load_n(&first, __ATOMIC_RELAXED);
    while (low < seen && !__atomic_compare_exchange_n(&first, &seen, low, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED))
        ;
    seen = __atomic_load_n(&last, __ATOMIC_RELAXED);
    while (high > seen && !__atomic_compare_exchange_n(&last, &seen, high, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
}

void ff__note_managed(const void *pointer, size_t size) {
    widen((uintptr_t)pointer, (uintptr_t)pointer + size - 1);
}

/* snprintf is not for signal handlers. */
static void say_not_available(void) {
    char line[128] = "farfault: process ", digits[24];
    size_t count = 0, used = strlen(line);
    for (unsigned long number = (unsigned long)getpid(); count == 0 || number; number /= 10)
        digits[count++] = (char)('0' + number % 10);
    while (count > 0)
        line[used++] = digits[--count];
    strcpy(line + used, ": managed memory is not available after fork\n");
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        return;
}

static void on_segv(int number, siginfo_t *info, void *ucontext) {
    static volatile sig_atomic_t said;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code > 0 && address >= __atomic_load_n(&first, __ATOMIC_RELAXED) &&
        address <= __atomic_load_n(&last, __ATOMIC_RELAXED) && !said) {
        said = 1;
        say_not_available();
    }
    ff__pass_signal_on(&before, sigaction, number, info, ucontext);
}

static void after_fork_in_child(void) {
    struct sigaction action;
    if (last == 0 || is_watching)
        return; /* nothing was given out, or a child's child has the handler already */
    is_watching = true;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
}

void ff__watch_forks(void) {
    process = ff__process_number();
    pthread_atfork(NULL, NULL, after_fork_in_child);
}
