/* Accounts for people. */
#include "report/account.h"

#include "report/moved.h"
#include "report/predicted.h"
#include "report/text.h"
#include "report/tip.h"

#include <inttypes.h>
#include <string.h>

#define LEAST_SHARE 0.05 /* of faults, of a place that is shown */
#define PAGE        UINT64_C(4096)

/* Of what launches named, what was there already. More faults than that means that pages came again
 * and again, and a rate would say nothing. */
static void print_hits(FILE *file, const struct ff_stats *stats) {
    char size[FF__QUANTITY];
    ff__size_text(size, stats->demanded * PAGE);
    double rate = ff_stats_hit_rate(stats);
    if (rate > 0)
        fprintf(file, "  hit rate   %.1f %% of the %s that launches named\n", 100 * rate, size);
    else if (rate == 0)
        fprintf(file, "  hit rate   none: launches named %s, and faulted %.1f times on each page\n",
                size, (double)stats->faults / (double)stats->demanded);
}

/* What programs and devices lend each other; no line where none do. */
static void print_lending(FILE *file, const struct ff_stats *stats) {
    char a[FF__QUANTITY], b[FF__QUANTITY], c[FF__QUANTITY], d[FF__QUANTITY];
    if (stats->borrowed_peak == 0 && stats->lent_peak == 0)
        return;
    fprintf(file, "  lending    at most %s borrowed, %s evicted there, %s back; at most %s lent\n",
            ff__size_text(a, stats->borrowed_peak), ff__size_text(b, stats->pages_lent * PAGE),
            ff__size_text(c, stats->pages_fetched * PAGE), ff__size_text(d, stats->lent_peak));
}

static void print_turns(FILE *file, const struct ff_stats *stats) {
    if (stats->waited_ns > 0)
        fprintf(file, "  turns      launches waited %.3f s for other programs of the device\n",
                (double)stats->waited_ns * 1e-9);
}

static void print_managed(FILE *file, const struct ff__account *account) {
    const struct ff_stats *stats = &account->stats;
    char a[FF__QUANTITY], b[FF__QUANTITY], c[FF__QUANTITY], d[FF__QUANTITY], e[FF__QUANTITY];
    fprintf(file, "farfault: %s on %" PRIu32 " x %s (%s)\n", account->system, account->devices,
            ff__size_text(a, account->memory), account->description);
    fprintf(file,
            "  time       %.3f s in %" PRIu64 " launches; serving faults took %.3f s, summed over "
            "threads\n",
            ff__account_seconds(account), account->launches, (double)stats->fault_ns * 1e-9);
    if (account->known_launches > 0)
        fprintf(file,
                "  extents    what %" PRIu64 " launches access was bounded before they began\n",
                account->known_launches);
    fprintf(file, "  memory     at most %s of buffers at a time, %s on the devices\n",
            ff__size_text(a, account->footprint), ff__size_text(b, stats->resident_peak));
    fprintf(file,
            "  faults     %" PRIu64 " in %" PRIu64 " batches, %" PRIu64
            " of them refaults; %" PRIu64 " batches found no free memory\n",
            stats->faults, stats->batches, stats->refaults, stats->batches_full);
    fprintf(file, "  moved      %s in, %s out, %s dropped, %s populated, %s prefetched\n",
            ff__size_text(a, stats->pages_in * PAGE), ff__size_text(b, stats->pages_out * PAGE),
            ff__size_text(c, stats->pages_dropped * PAGE),
            ff__size_text(d, stats->populated * PAGE), ff__size_text(e, stats->prefetched * PAGE));
    if (stats->pages_mapped > 0)
        fprintf(file, "  remote     %s used from the host\n",
                ff__size_text(a, stats->pages_mapped * PAGE));
    fprintf(file, "  evictions  %" PRIu64 "\n", stats->evictions);
    print_lending(file, stats);
    print_turns(file, stats);
    print_hits(file, stats);
}

static void print_plain(FILE *file, const struct ff__account *account) {
    char size[FF__QUANTITY];
    fprintf(file, "farfault: %s%s%s\n", ff__mode_name(account->mode),
            account->reason[0] ? ": " : "", account->reason);
    fprintf(file, "  time       %.3f s in %" PRIu64 " launches\n", ff__account_seconds(account),
            account->launches);
    fprintf(file, "  memory     at most %s of buffers at a time\n",
            ff__size_text(size, account->footprint));
}

/* Where most faults are met. */
static void print_places(const struct ff__account *account, FILE *file) {
    for (uint32_t i = 0; i < account->place_count; i++) {
        const struct ff_place *place = &account->places[i];
        const char *slash = strrchr(place->object, '/');
        if (place->share < LEAST_SHARE)
            break;
        fprintf(file, "  faults at  %2.0f %% %s", 100 * place->share,
                place->function[0] ? place->function : "a function without a name");
        if (place->object[0])
            fprintf(file, ", %s+0x%" PRIx64, slash ? slash + 1 : place->object, place->offset);
        fputc('\n', file);
    }
}

/* What moved, for which kernels and of which buffers, and what would help. */
static void print_moved(const struct ff__account *account, FILE *file) {
    char tip[FF__TIP];
    ff__moved_print(&account->kernels, &account->buffers, file);
    ff__predicted_print(account, file);
    print_places(account, file);
    if (ff__tip_find(account, tip))
        fprintf(file, "  tip        %s\n", tip);
}

static void print_findings(FILE *file, const struct ff__findings *findings) {
    char size[FF__QUANTITY];
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct ff_found *found = &findings->items[i];
        if (found->has_range)
            fprintf(file, "  found      %s, buffer %" PRIu32 " of %s: %s\n", found->kernel,
                    found->range, ff__size_text(size, found->size), found->text);
        else
            fprintf(file, "  found      %s\n", found->text);
    }
}

void ff__account_print(const struct ff__account *account, const struct ff__findings *findings,
                       FILE *file) {
    if (ff__account_has_context(account))
        print_managed(file, account);
    else
        print_plain(file, account);
    if (ff__account_has_context(account) && account->reason[0])
        fprintf(file, "  not all    %s\n", account->reason);
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++)
        if (ff__account_fallbacks(account, i))
            fprintf(file, "  not ours   %s, %" PRIu64 " times\n", account->fallback_names[i],
                    ff__account_fallbacks(account, i));
    if (ff__account_has_context(account))
        print_moved(account, file);
    print_findings(file, findings);
}

/* The calls that made memory of other kinds: "clCreateImage (3 calls), clSVMAlloc (1 call)". */
static void list_fallbacks(const struct ff__account *account, FILE *file) {
    const char *separator = "";
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++) {
        if (ff__account_fallbacks(account, i) == 0)
            continue;
        uint64_t count = ff__account_fallbacks(account, i);
        fprintf(file, "%s%s (%" PRIu64 " call%s)", separator, account->fallback_names[i], count,
                count == 1 ? "" : "s");
        separator = ", ";
    }
}

void ff__account_excuse(const struct ff__account *account, char *out, size_t size) {
    FILE *file = fmemopen(out, size, "w");
    char most[FF__QUANTITY];
    bool others = false;
    out[0] = '\0';
    if (!file)
        return;
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++)
        others = others || ff__account_fallbacks(account, i) > 0;
    if (others) {
        fputs("used only what farfault does not manage: ", file);
        list_fallbacks(account, file);
    } else if (account->footprint) {
        fprintf(file,
                "used plain device memory, at most %s at a time: farfault run makes it managed, "
                "unless FARFAULT_CUDA_ALLOC is plain or spill",
                ff__size_text(most, account->footprint));
    } else if (account->launches) {
        fprintf(file,
                "made no buffers; its %" PRIu64 " launches used memory of their own, such "
                "as malloc's (system SVM), which farfault does not manage",
                account->launches);
    } else {
        fputs("looked at devices, but made no buffers", file);
    }
    fclose(file);
}
