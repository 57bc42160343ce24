#include "backend/soft/room.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#define ROOMS     16u
#define ROOM_SIZE ((size_t)128 << 10) /* ours; serving a fault takes some 16 KiB */
#define GUARD     ((size_t)4096)      /* below each */

static struct room {
    ucontext_t inside, outside;
    int (*call)(void *argument);
    void *argument;
    int status;
    bool taken; /* atomic */
} rooms[ROOMS];

static char *stacks;

int ff__rooms_make(void) {
    stacks = mmap(NULL, ROOMS * ROOM_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    for (unsigned i = 0; stacks != MAP_FAILED && i < ROOMS; i++) {
        rooms[i].taken = false; /* by a thread that is not in this forked child */
        if (mprotect(stacks + i * ROOM_SIZE + GUARD, ROOM_SIZE - GUARD, PROT_READ | PROT_WRITE)) {
            munmap(stacks, ROOMS * ROOM_SIZE);
            stacks = MAP_FAILED;
        }
    }
    return stacks == MAP_FAILED ? -ENOMEM : 0;
}

void ff__rooms_unmake(void) {
    munmap(stacks, ROOMS * ROOM_SIZE);
}

bool ff__room_is_short(const void *ucontext) {
    const stack_t *stack = &((const ucontext_t *)ucontext)->uc_stack;
    uintptr_t here = (uintptr_t)&stack, low = (uintptr_t)stack->ss_sp;
    bool on_it = !(stack->ss_flags & SS_DISABLE) && here >= low && here - low < stack->ss_size;
    return on_it && here - low < ROOM_SIZE / 2;
}

static void enter(unsigned number) {
    struct room *room = &rooms[number];
    room->status = room->call(room->argument);
}

static unsigned take_room(void) {
    for (unsigned i = 0;; i = (i + 1) % ROOMS) {
        if (!__atomic_exchange_n(&rooms[i].taken, true, __ATOMIC_ACQUIRE))
            return i;
        if (i == ROOMS - 1)
            sched_yield();
    }
}

/* Alone: a compiler must assume that getcontext() returns twice, which it does not here. */
__attribute__((noinline)) static void read_context(ucontext_t *context) {
    getcontext(context);
}

static void furnish(unsigned number) {
    ucontext_t *inside = &rooms[number].inside;
    read_context(inside);
    inside->uc_stack.ss_sp = stacks + number * ROOM_SIZE + GUARD;
    inside->uc_stack.ss_size = ROOM_SIZE - GUARD;
    inside->uc_link = &rooms[number].outside;
    makecontext(inside, (void (*)(void))enter, 1, number);
}

int ff__room_call(int (*call)(void *argument), void *argument) {
    unsigned number = take_room();
    struct room *room = &rooms[number];
    room->call = call;
    room->argument = argument;
    furnish(number);
    swapcontext(&room->outside, &room->inside);
    int status = room->status;
    __atomic_store_n(&room->taken, false, __ATOMIC_RELEASE);
    return status;
}
