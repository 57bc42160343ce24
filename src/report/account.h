/* What a process under the preload saw, counted and did, in memory that can outlive it.
 *
 * `farfault run` and `compare` make a book of accounts and name it in FARFAULT_ACCOUNTS. The
 * preload of every process that uses OpenCL opens one there. At exit it completes it, prints it if
 * it is to, and says so. Results are read from there once the program has ended. What was killed
 * has said nothing: then its parent prints it, from the same account and in the same words. */
#ifndef FF_REPORT_ACCOUNT_H
#define FF_REPORT_ACCOUNT_H

#include <farfault/farfault.h>

#include <stdio.h>

#define FF__ACCOUNT_FALLBACKS 32u /* kinds of calls that were not managed */

#define FF__ACCOUNT_PLACES    4u

#define FF__ACCOUNT_EXTENTS   64u /* kernels; others are counted together */

/* How a process runs. */
enum ff__mode {
    FF__MANAGED,
    FF__PASSIVE,   /* FARFAULT_MODE=passive: measure plain PoCL with the same clock */
    FF__UNMANAGED, /* the context did not open; everything falls through */
};

/* What was predicted of a kernel's launches, and came of it. */
struct ff__account_extents {
    char kernel[sizeof((struct ff_moved *)0)->kernel];
    uint64_t launches, known; /* known: each access was known to lie in a part of one allocation */
    uint64_t predicted;       /* pages of these parts */
    uint64_t alone;           /* known launches beside which nothing ran on the device */
    uint64_t faults, outside; /* of these: pages; those in no such part */
    uint64_t brought_for;     /* launches before which pages were ordered */
    uint64_t orders, dropped; /* each of pages of one block */
    uint64_t brought;         /* pages that came because of an order */
    uint32_t is_trusted;      /* orders are made, but for trials without them */
};

/* Written by one process, by any of its threads: single words are atomic, the rest is written once
 * or may be torn. */
struct ff__account {
    int32_t pid;          /* 0: none */
    uint32_t mode;        /* enum ff__mode */
    uint32_t managed;     /* managed memory has been given out */
    uint32_t watched;     /* its parent wants to know what a process that is killed has done */
    uint32_t cancelled;   /* it is not to be reported */
    uint64_t reported_ns; /* when it was complete; 0: it is not yet */
    char system[128], description[192];
    char reason[256]; /* why nothing, or not everything, is managed; "": no reason */
    char broken[256]; /* the first broken invariant, "": none was seen */
    uint32_t devices;
    uint64_t memory;                   /* of a device */
    uint64_t first_ns, last_ns;        /* first command, last observed completion; 0: not yet */
    uint64_t seen_ns;                  /* when `stats` were read last */
    uint64_t launches, known_launches; /* known: what they access was, before they began */
    uint32_t extents_count;
    struct ff__account_extents extents[FF__ACCOUNT_EXTENTS + 1]; /* the last: of all others */
    uint64_t live, footprint; /* bytes of buffers now, and at most at a time */
    uint64_t fallbacks[FF__ACCOUNT_FALLBACKS];
    char fallback_names[FF__ACCOUNT_FALLBACKS][40];
    struct ff_stats stats; /* zeros where nothing was managed */
    struct ff_moved_list kernels, buffers;
    uint32_t place_count;
    struct ff_place places[FF__ACCOUNT_PLACES]; /* where most faults are met */
    /* Where they are in the book; only of a process whose FARFAULT_SUMMARY is `none`. */
    uint64_t findings_offset;
    uint32_t finding_count;
    uint32_t explained; /* findings were asked for */
};

/* What the policies have found. The caller frees `items`. */
struct ff__findings {
    bool asked;
    uint32_t count;
    struct ff_found *items;
};

/* ---- the book ---- */

#define FF__BOOK_ACCOUNTS 1024u

/* A file in memory: this, and findings behind it. */
struct ff__pages {
    uint64_t layout;  /* of this build: another build does not write into it */
    uint32_t opened;  /* accounts; beyond FF__BOOK_ACCOUNTS there is no room */
    uint32_t watched; /* as in accounts */
    struct ff__account accounts[FF__BOOK_ACCOUNTS];
};

struct ff__book {
    struct ff__pages *pages; /* NULL: not made */
    int fd;
    char path[64]; /* how any process finds it as long as this one has it open */
};

/* 0 or a negative errno. */
int ff__book_make(struct ff__book *book, bool watched);
void ff__book_close(struct ff__book *book);

/* Accounts that were opened. */
uint32_t ff__book_count(const struct ff__book *book);

/* The process that a run's results are those of: the last one that has reported; of a book that is
 * watched, the last one in it that had something managed and never reported comes first. NULL:
 * there is none. */
const struct ff__account *ff__book_last(const struct ff__book *book);

/* The account's, as far as they can be read. */
struct ff__findings ff__book_findings(const struct ff__book *book,
                                      const struct ff__account *account);

/* Opens an account for this process in the book at `path`. NULL: there is no such book, or no room
 * in it. */
struct ff__account *ff__account_open(const char *path);

/* Puts them into the book at `path`, where the account is. */
void ff__account_explain(struct ff__account *account, const char *path,
                         const struct ff__findings *findings);

/* ---- reports ---- */

const char *ff__mode_name(uint32_t mode); /* enum ff__mode */

/* Whether a context was opened; nothing need have been put into it. */
bool ff__account_has_context(const struct ff__account *account);

/* How often calls of this kind were not managed. */
uint64_t ff__account_fallbacks(const struct ff__account *account, unsigned which);

/* From the first command to the last completion; of a process that was killed, to when it was seen
 * last. */
double ff__account_seconds(const struct ff__account *account);

/* For people. */
void ff__account_print(const struct ff__account *account, const struct ff__findings *findings,
                       FILE *file);

/* As JSON: one object. */
void ff__account_print_json(const struct ff__account *account, const struct ff__findings *findings,
                            FILE *file);

/* Why nothing was managed, as the rest of a sentence: "used plain device memory", "made no
 * buffers".
 */
void ff__account_excuse(const struct ff__account *account, char *out, size_t size);

#endif
