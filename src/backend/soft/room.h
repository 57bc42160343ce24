/* Room to work in for handlers of signals. What a thread has set up as its alternate signal stack
 * may have room for little more than a handler that takes a note. */
#ifndef FF_SOFT_ROOM_H
#define FF_SOFT_ROOM_H

#include <stdbool.h>

/* Once, before and after everything else here. -ENOMEM. */
int ff__rooms_make(void);
void ff__rooms_unmake(void);

/* Whether the handler that got this from the kernel should not do much where it is. */
bool ff__room_is_short(const void *ucontext);

/* Calls on a stack that is large enough, when one is free. Returns what the call returns. For
 * handlers of signals. */
int ff__room_call(int (*call)(void *argument), void *argument);

#endif
