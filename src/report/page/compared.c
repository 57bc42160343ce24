/* What the results of several systems teach, as tips.c does of one run. The numbers are those of
 * sections of docs/report.md, which has the limits, too. */
#include "report/json.h"
#include "report/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The limits are ours. */
#define FREE        1.1 /* times the time in memory, up to which memory costs little */
#define NOISE       0.8 /* times the time in memory, which should not be less */
#define MOVES       3.0 /* times the bytes of the bound */
#define GAIN        0.5 /* of the bound's time over the run's, below which there is much to gain */
#define NAMES       5u
#define NAMES_BYTES 256u

/* ---- runs ---- */

/* What differs beside the system: runs are compared where these are the same. */
static bool is_beside(const json_t *a, const json_t *b) {
    static const char *const members[] = {"subject", "device", "share"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(ff__json_text_of(a, members[i]), ff__json_text_of(b, members[i])) != 0)
            return false;
    return true;
}

/* Under a system with little memory, with a time and right results. */
static bool is_compared(const json_t *run) {
    return json_is_string(json_object_get(run, "share")) &&
           ff__json_number_of(run, "seconds") > 0 && !json_is_false(json_object_get(run, "good"));
}

/* Of the runs beside it, `run` included; the first of several. */
static const json_t *fastest_beside(const json_t *runs, const json_t *run) {
    const json_t *best = run, *other;
    size_t i;
    json_array_foreach(runs, i, other) {
        if (is_compared(other) && is_beside(other, run) &&
            ff__json_number_of(other, "seconds") < ff__json_number_of(best, "seconds"))
            best = other;
    }
    return best;
}

/* The repetitions of both overlap; times of a model have none. */
static bool overlap(const json_t *a, const json_t *b) {
    return ff__json_number_of(a, "min") <= ff__json_number_of(b, "max") &&
           ff__json_number_of(b, "min") <= ff__json_number_of(a, "max");
}

/* ---- bounds ---- */

static const json_t *bound_of(const json_t *bounds, const json_t *run) {
    const json_t *bound;
    size_t i;
    json_array_foreach(bounds, i, bound) {
        if (strcmp(ff__json_text_of(bound, "kind"), "lower bound") == 0 &&
            strcmp(ff__json_text_of(bound, "subject"), ff__json_text_of(run, "subject")) == 0 &&
            strcmp(ff__json_text_of(bound, "share"), ff__json_text_of(run, "share")) == 0)
            return bound;
    }
    return NULL;
}

static void add_bounds(const json_t *bounds, json_t *runs) {
    json_t *run;
    size_t i;
    json_array_foreach(runs, i, run) {
        const json_t *bound = is_compared(run) ? bound_of(bounds, run) : NULL;
        double seconds = ff__json_number_of(bound, "seconds");
        if (!bound || !(seconds > 0))
            continue;
        ff__json_set(run, "of_bound",
                     ff__json_number(seconds / ff__json_number_of(run, "seconds")));
        ff__json_set(run, "bytes_bound",
                     ff__json_number(ff__json_number_of(bound, "bytes_in") +
                                     ff__json_number_of(bound, "bytes_out")));
    }
}

/* ---- tips ---- */

static void add_tip(json_t *tips, int number, const char *title, char *text) {
    json_array_append_new(tips, ff__must(json_pack("{s:i,s:s,s:o}", "number", number, "title",
                                                   title, "text", ff__json_text(text))));
    free(text);
}

/* A list for a sentence: the first few, and how many more there are. */
struct name_list {
    char text[NAMES_BYTES];
    size_t used;
    unsigned count;
};

static void add_name(struct name_list *names, const char *name) {
    if (names->count++ >= NAMES || names->used >= sizeof names->text)
        return;
    int more = snprintf(names->text + names->used, sizeof names->text - names->used, "%s%s",
                        names->used ? ", " : "", name);
    names->used += more > 0 ? (size_t)more : 0;
}

static void end_names(struct name_list *names) {
    if (names->count > NAMES && names->used < sizeof names->text)
        snprintf(names->text + names->used, sizeof names->text - names->used, " and %u more",
                 names->count - NAMES);
}

struct standing {
    double log_sum; /* of times over the fastest's beside */
    unsigned runs, wins, even;
};

static struct standing standing_of(const json_t *runs, const char *system) {
    struct standing standing = {0};
    const json_t *run;
    size_t i;
    json_array_foreach(runs, i, run) {
        if (!is_compared(run) || strcmp(ff__json_text_of(run, "system"), system) != 0)
            continue;
        const json_t *best = fastest_beside(runs, run);
        standing.log_sum +=
            log(ff__json_number_of(run, "seconds") / ff__json_number_of(best, "seconds"));
        standing.runs++;
        standing.wins += best == run;
        standing.even += best == run || overlap(run, best);
    }
    return standing;
}

/* The systems, each once, in the order of the runs. */
static const char *system_at(const json_t *runs, size_t i) {
    const json_t *run = json_array_get(runs, i);
    for (size_t j = 0; j < i; j++)
        if (is_compared(json_array_get(runs, j)) &&
            strcmp(ff__json_text_of(json_array_get(runs, j), "system"),
                   ff__json_text_of(run, "system")) == 0)
            return NULL;
    return is_compared(run) ? ff__json_text_of(run, "system") : NULL;
}

/* Of those that have run with every subject and memory. NULL: fewer than two systems. */
static const char *fastest_of(const json_t *runs, struct standing *out) {
    const char *best = NULL;
    unsigned systems = 0;
    *out = (struct standing){0};
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const char *system = system_at(runs, i);
        if (!system)
            continue;
        struct standing standing = standing_of(runs, system);
        systems++;
        if (standing.runs > out->runs ||
            (standing.runs == out->runs && standing.log_sum < out->log_sum)) {
            best = system;
            *out = standing;
        }
    }
    return systems > 1 ? best : NULL;
}

/* R8 */
static void tip_fastest(const json_t *runs, json_t *tips) {
    struct name_list even = {0};
    struct standing of_best;
    const char *best = fastest_of(runs, &of_best);
    if (!best)
        return;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const char *system = system_at(runs, i);
        if (!system || strcmp(system, best) == 0)
            continue;
        struct standing standing = standing_of(runs, system);
        if (standing.runs == of_best.runs && standing.even == standing.runs)
            add_name(&even, system);
    }
    end_names(&even);
    add_tip(
        tips, 8, "Which system is fastest",
        ff__text("%s: %.2f times the time of the fastest in the geometric mean, and the fastest "
                 "itself in %u of %u.%s%s%s",
                 best, exp(of_best.log_sum / of_best.runs), of_best.wins, of_best.runs,
                 even.count ? " Repetitions overlap with those of the fastest everywhere, so "
                              "that more of them are needed to tell, under: "
                            : "",
                 even.text, even.count ? "." : ""));
}

/* R9 and R10, for the subject with most to gain. */
static void tip_bound(const json_t *runs, json_t *tips) {
    const json_t *run, *far = NULL, *wide = NULL;
    size_t i;
    json_array_foreach(runs, i, run) {
        if (!json_object_get(run, "of_bound") || fastest_beside(runs, run) != run)
            continue;
        double moved = ff__json_number_of(run, "bytes_in") + ff__json_number_of(run, "bytes_out");
        double wanted = ff__json_number_of(run, "bytes_bound");
        if (!far || ff__json_number_of(run, "of_bound") < ff__json_number_of(far, "of_bound"))
            far = run;
        if (wanted > 0 && moved > MOVES * wanted &&
            (!wide || moved / wanted > (ff__json_number_of(wide, "bytes_in") +
                                        ff__json_number_of(wide, "bytes_out")) /
                                           ff__json_number_of(wide, "bytes_bound")))
            wide = run;
    }
    if (far && ff__json_number_of(far, "of_bound") < GAIN)
        add_tip(tips, 9, "Much is to be gained",
                ff__text("%s is at %.0f %% of its lower bound under %s, the fastest: the bound has "
                         "what must move at the link's full rate, and no fault's latency.",
                         ff__json_text_of(far, "subject"),
                         100 * ff__json_number_of(far, "of_bound"),
                         ff__json_text_of(far, "system")));
    char moved[FF__QUANTITY], wanted[FF__QUANTITY];
    if (wide)
        add_tip(tips, 10, "More moves than must",
                ff__text("%s moves %s under %s, the fastest; its lower bound is %s.",
                         ff__json_text_of(wide, "subject"),
                         ff__size_text(moved, (uint64_t)(ff__json_number_of(wide, "bytes_in") +
                                                         ff__json_number_of(wide, "bytes_out"))),
                         ff__json_text_of(wide, "system"),
                         ff__size_text(wanted, (uint64_t)ff__json_number_of(wide, "bytes_bound"))));
}

/* Subjects whose fastest run takes from `low` to `high` times the time in memory. */
static struct name_list subjects_within(const json_t *runs, double low, double high) {
    struct name_list names = {0};
    const json_t *run;
    size_t i;
    json_array_foreach(runs, i, run) {
        double slowdown = ff__json_number_of(run, "slowdown");
        if (is_compared(run) && slowdown >= low && slowdown <= high &&
            fastest_beside(runs, run) == run)
            add_name(&names, ff__json_text_of(run, "subject"));
    }
    end_names(&names);
    return names;
}

/* R11 and R13 */
static void tip_in_memory(const json_t *runs, json_t *tips) {
    struct name_list free = subjects_within(runs, NOISE, FREE);
    struct name_list noisy = subjects_within(runs, 0, NOISE);
    if (free.count)
        add_tip(tips, 11, "Little memory costs little",
                ff__text("Within 10 %% of the time fully resident: %s.", free.text));
    if (noisy.count)
        add_tip(tips, 13, "Little memory was faster than enough",
                ff__text("By more than a fifth: %s. Times of one run say little here; --runs 5 "
                         "shows how far they vary.",
                         noisy.text));
}

/* R12 */
static void tip_bad(const json_t *runs, json_t *tips) {
    struct name_list names = {0};
    const json_t *run;
    size_t i;
    json_array_foreach(runs, i, run) {
        if (!json_is_false(json_object_get(run, "good")))
            continue;
        char *name = ff__text("%s under %s", ff__json_text_of(run, "subject"),
                              ff__json_text_of(run, "system"));
        add_name(&names, name);
        free(name);
    }
    end_names(&names);
    if (names.count)
        add_tip(tips, 12, "Not all is good",
                ff__text("Wrong, stopped or failed: %s. No other tip counts them.", names.text));
}

void ff__page_compare(const json_t *bounds, json_t *runs, json_t *tips) {
    add_bounds(bounds, runs);
    tip_bad(runs, tips);
    tip_fastest(runs, tips);
    tip_bound(runs, tips);
    tip_in_memory(runs, tips);
}
