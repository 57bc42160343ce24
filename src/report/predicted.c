#include "report/predicted.h"

#include "report/text.h"

#include <inttypes.h>

#define SHOWN      5u
#define NAME_WIDTH 22
#define PAGE       UINT64_C(4096)

_Static_assert(FF__ACCOUNT_EXTENTS <= 64, "a bit of a word for each kernel");

static void add(struct ff__account_extents *to, const struct ff__account_extents *more) {
    to->launches += more->launches;
    to->known += more->known;
    to->predicted += more->predicted;
    to->faults += more->faults;
    to->outside += more->outside;
    to->orders += more->orders;
    to->dropped += more->dropped;
    to->brought += more->brought;
}

/* `trusted` "": it is of several kernels. */
static void print_row(FILE *file, const char *name, const struct ff__account_extents *of,
                      const char *trusted) {
    char predicted[FF__QUANTITY], brought[FF__QUANTITY];
    fprintf(file, "    %-*.*s %9" PRIu64 " %9" PRIu64 " %9s %9" PRIu64 " %9" PRIu64, NAME_WIDTH,
            NAME_WIDTH, name, of->launches, of->known,
            ff__size_text(predicted, of->predicted * PAGE), of->faults, of->outside);
    fprintf(file, " %9" PRIu64 " %9" PRIu64 " %9s%s%s\n", of->orders, of->dropped,
            ff__size_text(brought, of->brought * PAGE), trusted[0] ? "  " : "", trusted);
}

static void print_kernel(FILE *file, const struct ff__account_extents *of) {
    print_row(file, of->kernel, of, of->is_trusted ? "yes" : "no");
}

/* The next kernel by what was predicted of its launches, those of `done` left out. */
static uint32_t next_kernel(const struct ff__account *account, uint64_t done) {
    uint32_t best = FF__ACCOUNT_EXTENTS;
    for (uint32_t i = 0; i < FF__ACCOUNT_EXTENTS; i++) {
        const struct ff__account_extents *of = &account->extents[i];
        bool is_better =
            best == FF__ACCOUNT_EXTENTS || of->predicted > account->extents[best].predicted;
        if (of->launches > 0 && !(done >> i & 1) && is_better)
            best = i;
    }
    return best;
}

void ff__predicted_print(const struct ff__account *account, FILE *file) {
    struct ff__account_extents others = account->extents[FF__ACCOUNT_EXTENTS];
    uint64_t done = 0;
    uint32_t shown = 0;
    for (uint32_t i = next_kernel(account, 0); i < FF__ACCOUNT_EXTENTS;
         i = next_kernel(account, done)) {
        if (shown == 0)
            fprintf(file, "  %-*s %9s %9s %9s %9s %9s %9s %9s %9s  %s\n", NAME_WIDTH + 2,
                    "extents by kernel", "launches", "known", "predicted", "faults", "outside",
                    "orders", "dropped", "brought", "trusted");
        if (++shown <= SHOWN)
            print_kernel(file, &account->extents[i]);
        else
            add(&others, &account->extents[i]);
        done |= UINT64_C(1) << i;
    }
    if (others.launches > 0)
        print_row(file, "all others", &others, "");
}
