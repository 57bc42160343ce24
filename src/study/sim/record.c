#include "study/sim/record.h"

#include "report/json.h"

#include <stdio.h>
#include <stdlib.h>

static const struct ff__counter counters[] = {
#define MEMBER(member, kind)                                                                       \
    { #member, offsetof(struct ff__sim_result, member), FF__COUNTER_##kind }
    MEMBER(time_ns, TIMED),
    MEMBER(kernel_ns, TIMED),
    MEMBER(fault_ns, TIMED),
    MEMBER(link_in_ns, TIMED),
    MEMBER(link_out_ns, TIMED),
    MEMBER(link_peer_ns, TIMED),
    MEMBER(stall_ns, TIMED),
    MEMBER(instructions, SHOWN),
    MEMBER(accesses, SHOWN),
    MEMBER(hits, SHOWN),
    MEMBER(remote, SHOWN),
    MEMBER(walks, TIMED),
    MEMBER(duplicates, TIMED),
    MEMBER(batches, SHOWN),
    MEMBER(iterations, SHOWN),
    MEMBER(iterations_run, SHOWN),
    MEMBER(pages_in, SHOWN),
    MEMBER(pages_out, SHOWN),
    MEMBER(pages_dropped, SHOWN),
    MEMBER(bytes_peer, SHOWN),
    MEMBER(evicted_dirty, SHOWN),
    MEMBER(evicted_clean, SHOWN),
    MEMBER(thrashed, SHOWN),
    MEMBER(demanded, SHOWN),
    MEMBER(demanded_hits, SHOWN),
    MEMBER(prefetched, SHOWN),
    MEMBER(prefetched_used, SHOWN),
    MEMBER(prefetched_useless, SHOWN),
    MEMBER(sample_rounds, SHOWN),
    MEMBER(sample_ns, SHOWN),
    MEMBER(tracker_bytes, SHOWN),
    MEMBER(faults, INNER),
    MEMBER(bytes_in, INNER),
    MEMBER(bytes_out, INNER),
    MEMBER(time_ps, INNER),
    MEMBER(table_bytes, INNER),
    MEMBER(kernels, INNER),
    MEMBER(kernels_faulted, INNER),
    MEMBER(repetitions, INNER),
    MEMBER(repetitions_ps, INNER),
    MEMBER(repetitions_from_ps, INNER),
    MEMBER(last_iteration.time_ns, INNER),
    MEMBER(last_iteration.time_ps, INNER),
    MEMBER(last_iteration.faults, INNER),
    MEMBER(last_iteration.duplicates, INNER),
    MEMBER(last_iteration.pages_in, INNER),
    MEMBER(last_iteration.pages_out, INNER),
#undef MEMBER
};

#define COUNTERS (sizeof counters / sizeof counters[0])
_Static_assert(COUNTERS * sizeof(uint64_t) + sizeof(struct ff_stats) ==
                   sizeof(struct ff__sim_result),
               "every counter of a result has a row");

const struct ff__counter *ff__counter_at(unsigned index) {
    return index < COUNTERS ? &counters[index] : NULL;
}

/* ---- to JSON ---- */

static json_t *result_json(const struct ff__sim_result *result) {
    json_t *all = ff__must(json_object());
    for (size_t i = 0; i < COUNTERS; i++)
        ff__json_set(all, counters[i].name,
                     ff__json_count(ff__counter_value(&counters[i], result)));
    return all;
}

static json_t *text_or_null(const char *text) {
    return text[0] ? ff__json_text(text) : json_null();
}

json_t *ff__findings_json(const struct ff__simulated *simulated) {
    json_t *list = ff__must(json_array());
    for (unsigned i = 0; i < simulated->finding_count; i++) {
        const struct ff__finding_text *found = &simulated->findings[i];
        json_t *object = ff__must(json_object());
        ff__json_set(object, "kernel", text_or_null(found->kernel));
        ff__json_set(object, "range", text_or_null(found->range));
        ff__json_set(object, "text", ff__json_text(found->text));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *ff__simulated_json(const struct ff__simulated *simulated) {
    json_t *all = result_json(&simulated->result), *beside = ff__must(json_array());
    for (unsigned i = 0; i < simulated->beside_count; i++)
        json_array_append_new(beside, result_json(&simulated->beside[i]));
    ff__json_set(all, "footprint", ff__json_count(simulated->footprint));
    ff__json_set(all, "cannot", json_boolean(simulated->cannot));
    ff__json_set(all, "reason", simulated->good ? json_null() : ff__json_text(simulated->reason));
    ff__json_set(all, "beside", beside);
    ff__json_set(all, "findings", ff__findings_json(simulated));
    return all;
}

/* ---- from JSON ---- */

static bool read_result(const json_t *all, struct ff__sim_result *out) {
    for (size_t i = 0; i < COUNTERS; i++) {
        const json_t *value = json_object_get(all, counters[i].name);
        if (!json_is_integer(value))
            return false;
        *(uint64_t *)(void *)((char *)out + counters[i].offset) =
            (uint64_t)json_integer_value(value);
    }
    return true;
}

static void read_text(const json_t *object, const char *name, char *out, size_t size) {
    snprintf(out, size, "%s", ff__json_text_of(object, name));
}

static void read_findings(const json_t *list, struct ff__simulated *out) {
    out->finding_count = (unsigned)json_array_size(list);
    out->findings = ff__must(calloc(out->finding_count + 1, sizeof *out->findings));
    for (unsigned i = 0; i < out->finding_count; i++) {
        struct ff__finding_text *found = &out->findings[i];
        const json_t *object = json_array_get(list, i);
        read_text(object, "kernel", found->kernel, sizeof found->kernel);
        read_text(object, "range", found->range, sizeof found->range);
        read_text(object, "text", found->text, sizeof found->text);
    }
}

bool ff__simulated_read(const json_t *all, struct ff__simulated *out) {
    const json_t *beside = json_object_get(all, "beside");
    *out = (struct ff__simulated){.beside_count = (unsigned)json_array_size(beside)};
    bool good = read_result(all, &out->result);
    out->footprint = ff__json_count_of(all, "footprint");
    out->cannot = json_is_true(json_object_get(all, "cannot"));
    out->good = json_is_null(json_object_get(all, "reason"));
    read_text(all, "reason", out->reason, sizeof out->reason);
    out->beside = ff__must(calloc(out->beside_count + 1, sizeof *out->beside));
    for (unsigned i = 0; i < out->beside_count; i++)
        good = read_result(json_array_get(beside, i), &out->beside[i]) && good;
    read_findings(json_object_get(all, "findings"), out);
    if (!good)
        ff__simulated_free(out);
    return good;
}

void ff__simulated_free(struct ff__simulated *simulated) {
    free(simulated->findings);
    free(simulated->beside);
    *simulated = (struct ff__simulated){0};
}
