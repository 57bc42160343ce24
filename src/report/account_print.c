/* Accounts for people and for programs. */
#include "report/account.h"

#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

static const char *const modes[] = {
    [FF__MANAGED] = "managed", [FF__PASSIVE] = "passive", [FF__UNMANAGED] = "unmanaged"};

/* A context was opened; nothing need have been put into it. */
static bool has_context(const struct ff__account *account) {
    return account->memory > 0;
}

static uint64_t fallbacks(const struct ff__account *account, unsigned which) {
    return __atomic_load_n(&account->fallbacks[which], __ATOMIC_RELAXED);
}

double ff__account_seconds(const struct ff__account *account) {
    uint64_t first = __atomic_load_n(&account->first_ns, __ATOMIC_RELAXED);
    uint64_t last = __atomic_load_n(&account->last_ns, __ATOMIC_RELAXED);
    if (!account->reported && account->seen_ns > last)
        last = account->seen_ns;
    return first && last > first ? (double)(last - first) * 1e-9 : 0;
}

/* ---- for people ---- */

/* Of what launches named, what was there already. More faults than that means that pages came again and again, and a
 * rate would say nothing. */
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

static void print_managed(FILE *file, const struct ff__account *account) {
    const struct ff_stats *stats = &account->stats;
    char a[FF__QUANTITY], b[FF__QUANTITY], c[FF__QUANTITY], d[FF__QUANTITY], e[FF__QUANTITY];
    fprintf(file, "farfault: %s on %" PRIu32 " x %s (%s)\n", account->system, account->devices,
            ff__size_text(a, account->memory), account->description);
    fprintf(file,
            "  time       %.3f s in %" PRIu64 " launches; serving faults took %.3f s, summed over "
            "threads\n",
            ff__account_seconds(account), account->launches, (double)stats->fault_ns * 1e-9);
    fprintf(file, "  memory     at most %s of buffers at a time, %s on the devices\n",
            ff__size_text(a, account->footprint), ff__size_text(b, stats->resident_peak));
    fprintf(file, "  faults     %" PRIu64 " in %" PRIu64 " batches, %" PRIu64 " of them refaults\n",
            stats->faults, stats->batches, stats->refaults);
    fprintf(file, "  moved      %s in, %s out, %s dropped, %s populated, %s prefetched\n",
            ff__size_text(a, stats->pages_in * PAGE), ff__size_text(b, stats->pages_out * PAGE),
            ff__size_text(c, stats->pages_dropped * PAGE),
            ff__size_text(d, stats->populated * PAGE), ff__size_text(e, stats->prefetched * PAGE));
    fprintf(file, "  evictions  %" PRIu64 "\n", stats->evictions);
    print_lending(file, stats);
    print_hits(file, stats);
}

static void print_plain(FILE *file, const struct ff__account *account) {
    char size[FF__QUANTITY];
    fprintf(file, "farfault: %s%s%s\n", modes[account->mode], account->reason[0] ? ": " : "",
            account->reason);
    fprintf(file, "  time       %.3f s in %" PRIu64 " launches\n", ff__account_seconds(account),
            account->launches);
    fprintf(file, "  memory     at most %s of buffers at a time\n",
            ff__size_text(size, account->footprint));
}

static void print_findings(FILE *file, struct ff_context *explained) {
    struct ff_found found;
    char size[FF__QUANTITY];
    for (uint32_t i = 0; explained && ff_finding_read(explained, i, &found); i++)
        if (found.has_range)
            fprintf(file, "  found      %s, buffer %" PRIu32 " of %s: %s\n", found.kernel,
                    found.range, ff__size_text(size, found.size), found.text);
        else
            fprintf(file, "  found      %s\n", found.text);
}

void ff__account_print(const struct ff__account *account, struct ff_context *explained,
                       FILE *file) {
    if (has_context(account))
        print_managed(file, account);
    else
        print_plain(file, account);
    if (has_context(account) && account->reason[0])
        fprintf(file, "  not all    %s\n", account->reason);
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++)
        if (fallbacks(account, i))
            fprintf(file, "  not ours   %s, %" PRIu64 " times\n", account->fallback_names[i],
                    fallbacks(account, i));
    print_findings(file, explained);
}

/* The calls that made memory of other kinds: "clCreateImage (3 calls), clSVMAlloc (1 call)". */
static void list_fallbacks(const struct ff__account *account, FILE *file) {
    const char *separator = "";
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++) {
        if (fallbacks(account, i) == 0)
            continue;
        uint64_t count = fallbacks(account, i);
        fprintf(file, "%s%s (%" PRIu64 " call%s)", separator, account->fallback_names[i], count,
                count == 1 ? "" : "s");
        separator = ", ";
    }
}

void ff__account_excuse(const struct ff__account *account, char *out, size_t size) {
    FILE *file = fmemopen(out, size, "w");
    bool others = false;
    out[0] = '\0';
    if (!file)
        return;
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++)
        others = others || fallbacks(account, i) > 0;
    if (others) {
        fputs("used only what farfault does not manage: ", file);
        list_fallbacks(account, file);
    } else if (account->launches) {
        fprintf(file,
                "made no OpenCL buffers; its %" PRIu64 " launches used memory of their own, such "
                "as malloc's (system SVM), which farfault does not manage",
                account->launches);
    } else {
        fputs("looked at OpenCL devices, but made no buffers", file);
    }
    fclose(file);
}

/* ---- as JSON ---- */

static void print_text(FILE *file, const char *value) {
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < ' ')
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void print_string(FILE *file, const char *name, const char *value) {
    fprintf(file, "  \"%s\": ", name);
    print_text(file, value);
    fputs(",\n", file);
}

static void print_number(FILE *file, const char *name, uint64_t value) {
    fprintf(file, "  \"%s\": %" PRIu64 ",\n", name, value);
}

/* Not with printf: a program may have set a locale whose decimal point is a comma. */
static void print_real(FILE *file, const char *name, double value) {
    uint64_t billionths = (uint64_t)((value < 0 ? -value : value) * 1e9 + 0.5);
    fprintf(file, "  \"%s\": %s%" PRIu64 ".%09" PRIu64 ",\n", name, value < 0 ? "-" : "",
            billionths / 1000000000u, billionths % 1000000000u);
}

static void print_fallbacks(FILE *file, const struct ff__account *account) {
    const char *separator = "";
    fputs("  \"fallbacks\": {", file);
    for (unsigned i = 0; i < FF__ACCOUNT_FALLBACKS; i++) {
        if (fallbacks(account, i) == 0)
            continue;
        fprintf(file, "%s\"%s\": %" PRIu64, separator, account->fallback_names[i],
                fallbacks(account, i));
        separator = ", ";
    }
    fputs("}\n", file);
}

static void print_found(FILE *file, const struct ff_found *found) {
    char range[32];
    snprintf(range, sizeof range, "buffer %" PRIu32, found->range);
    fputs("{\"kernel\": ", file);
    found->kernel[0] ? print_text(file, found->kernel) : (void)fputs("null", file);
    fputs(", \"range\": ", file);
    found->has_range ? print_text(file, range) : (void)fputs("null", file);
    fputs(", \"text\": ", file);
    print_text(file, found->text);
    fputc('}', file);
}

/* The member that `farfault sim` has in its runs, too. */
static void print_found_list(FILE *file, struct ff_context *explained) {
    struct ff_found found;
    fputs("  \"findings\": [", file);
    for (uint32_t i = 0; ff_finding_read(explained, i, &found); i++) {
        fputs(i > 0 ? ",\n    " : "\n    ", file);
        print_found(file, &found);
    }
    fputs("],\n", file);
}

static void print_json(FILE *file, const struct ff__account *account,
                       struct ff_context *explained) {
    const struct ff_stats *stats = &account->stats;
    fputs("{\n", file);
    print_string(file, "mode", modes[account->mode]);
    print_string(file, "reason", account->reason);
    print_string(file, "broken", account->broken);
    print_string(file, "system", has_context(account) ? account->system : "none");
    print_number(file, "memory", account->memory);
    print_number(file, "devices", account->devices);
    print_string(file, "description", has_context(account) ? account->description : "plain OpenCL");
    print_real(file, "seconds", ff__account_seconds(account));
    print_number(file, "footprint", account->footprint);
    print_number(file, "faults", stats->faults);
    print_number(file, "batches", stats->batches);
    print_number(file, "bytes_in", stats->pages_in * PAGE);
    print_number(file, "bytes_out", stats->pages_out * PAGE);
    print_number(file, "bytes_dropped", stats->pages_dropped * PAGE);
    print_number(file, "borrowed_peak", stats->borrowed_peak);
    print_number(file, "lent_peak", stats->lent_peak);
    print_number(file, "bytes_lent", stats->pages_lent * PAGE);
    print_number(file, "bytes_fetched", stats->pages_fetched * PAGE);
    print_number(file, "populated_bytes", stats->populated * PAGE);
    print_number(file, "prefetched_bytes", stats->prefetched * PAGE);
    print_number(file, "refaults", stats->refaults);
    print_number(file, "evictions", stats->evictions);
    print_number(file, "launches", account->launches);
    print_number(file, "demanded_bytes", stats->demanded * PAGE);
    print_real(file, "hit_rate", ff_stats_hit_rate(stats));
    print_number(file, "advice_dropped", stats->advice_dropped);
    print_real(file, "fault_seconds", (double)stats->fault_ns * 1e-9);
    print_number(file, "resident_peak", stats->resident_peak);
    if (explained)
        print_found_list(file, explained);
    print_fallbacks(file, account);
    fputs("}\n", file);
}

/* 0 if all of it is written and the file is closed. */
static int finish_file(FILE *file) {
    bool failed = ferror(file) != 0;
    errno = 0;
    failed = fclose(file) != 0 || failed;
    return !failed ? 0 : errno ? -errno : -EIO;
}

/* Written beside its place and renamed, so that a reader sees all of it or nothing. */
static int write_new_file(const struct ff__account *account, struct ff_context *explained,
                          const char *target) {
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s.XXXXXX", target);
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        int status = -errno;
        if (fd >= 0) {
            close(fd);
            unlink(path);
        }
        return status;
    }
    print_json(file, account, explained);
    fchmod(fd, 0644);
    int status = finish_file(file);
    if (!status && rename(path, target) != 0)
        status = -errno;
    if (status)
        unlink(path);
    return status;
}

/* Devices, terminals and pipes are written to. A pipe that nobody reads is an error, no reason to
 * wait. */
static int write_in_place(const struct ff__account *account, struct ff_context *explained,
                          const char *target) {
    int fd = open(target, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        int status = -errno;
        if (fd >= 0)
            close(fd);
        return status;
    }
    print_json(file, account, explained);
    return finish_file(file);
}

int ff__account_write(const struct ff__account *account, struct ff_context *explained,
                      const char *path) {
    struct stat there;
    bool special = stat(path, &there) == 0 && !S_ISREG(there.st_mode);
    return special ? write_in_place(account, explained, path)
                   : write_new_file(account, explained, path);
}
