/* What this process knows of the ranks. */
#ifndef FF_STUDY_JOBS_RANKS_STATE_H
#define FF_STUDY_JOBS_RANKS_STATE_H

#include "study/jobs/wire.h"

extern struct ff__ranks_state {
    char address[FF__WIRE_ADDRESS_MAX]; /* of rank 0 */
} ff__ranks_state;

/* Rank 0: answers whoever connects, on threads of its own, from now on until the process ends. 0 or
 * a negative errno. */
int ff__ranks_lead(int listener, const unsigned char token[16]);

#endif
