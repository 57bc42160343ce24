/* Submissions. The calling thread does the work: waking another one costs more than copying a few
 * pages. What goes on without it is a paced link's transfer to the host, at the same time as
 * transfers from there. */
#include "backend/soft/guests.h"

#include <errno.h>

static void carry_out(struct ff__soft *soft, struct ff__submission *submission,
                      struct ff__move *move) {
    if (ff__move_arrives(move))
        move->status = ff__soft_in(soft, move, submission);
    else
        move->status = ff__soft_out(soft, move, &submission->end_ns);
}

/* What was to come to a device from memory that another one lends stays there. */
static void leave_out(struct ff__submission *submission, struct ff__move *move) {
    move->status = -ECANCELED;
    for (uint32_t i = 0; i < submission->count && ff__move_arrives(move); i++) {
        struct ff__move *out = submission->moves[i];
        if (ff__guests_is_fetch(out) && out->block == move->block)
            out->left = out->pages;
    }
}

void ff__soft_submit(void *self, struct ff__submission *submission) {
    bool all_left = true;
    submission->end_ns = 0;
    for (uint32_t i = 0; i < submission->count; i++) {
        struct ff__move *move = submission->moves[i];
        if ((move->after && !all_left) || ff__soft_is_aborted(submission))
            leave_out(submission, move);
        else
            carry_out(self, submission, move);
        all_left = all_left && ff_mask_empty(&move->left);
    }
}

void ff__soft_complete(void *self, struct ff__submission *submission) {
    (void)self;
    ff__link_wait(submission->end_ns, &submission->aborted);
}

void ff__soft_abort(void *self, struct ff__submission *submission) {
    (void)self;
    __atomic_store_n(&submission->aborted, true, __ATOMIC_RELAXED);
}
