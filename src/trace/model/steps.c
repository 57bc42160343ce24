#include "trace/model/steps.h"

#include "base/grow.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ff__steps_fini(struct ff__steps *steps) {
    free(steps->pages);
    free(steps->steps);
    free(steps->streams);
    free(steps->ctas);
    free(steps->launches);
    memset(steps, 0, sizeof *steps);
}

/* ---- sorting ---- */

/* A warp of the launch that is being added. */
struct sorted_warp {
    uint32_t cta, warp;
    uint32_t found; /* as the how manieth */
    uint32_t count; /* accesses; then where the next goes */
};

struct sorting {
    struct ff__map by_number; /* CTA and warp -> warp */
    struct sorted_warp *warps;
    size_t warp_count;
    uint32_t *warp_of; /* [access] */
    uint32_t *order;   /* [position] access, warp by warp */
    uint32_t *place;   /* [warp as found] its position */
};

static int by_number(const void *a, const void *b) {
    const struct sorted_warp *x = a, *y = b;
    if (x->cta != y->cta)
        return x->cta < y->cta ? -1 : 1;
    return (x->warp > y->warp) - (x->warp < y->warp);
}

static int find_warp(struct sorting *sorting, const struct ff__step_access *access,
                     uint32_t *found) {
    uint64_t key = (uint64_t)access->cta << 32 | access->warp;
    if (ff__map_get(&sorting->by_number, key, found))
        return 0;
    if (ff__grow(&sorting->warps, sorting->warp_count, sizeof *sorting->warps))
        return -ENOMEM;
    *found = (uint32_t)sorting->warp_count;
    sorting->warps[sorting->warp_count++] =
        (struct sorted_warp){access->cta, access->warp, *found, 0};
    return ff__map_put(&sorting->by_number, key, *found);
}

static int find_warps(struct sorting *sorting, const struct ff__step_access *accesses,
                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && accesses[i].cta == accesses[i - 1].cta &&
            accesses[i].warp == accesses[i - 1].warp)
            sorting->warp_of[i] = sorting->warp_of[i - 1];
        else if (find_warp(sorting, &accesses[i], &sorting->warp_of[i]))
            return -ENOMEM;
        sorting->warps[sorting->warp_of[i]].count++;
    }
    return 0;
}

static int put_in_order(struct sorting *sorting, size_t count) {
    if (sorting->warp_count > 0)
        qsort(sorting->warps, sorting->warp_count, sizeof *sorting->warps, by_number);
    sorting->place = malloc((sorting->warp_count + 1) * sizeof *sorting->place);
    if (!sorting->place)
        return -ENOMEM;
    uint32_t at = 0;
    for (size_t i = 0; i < sorting->warp_count; i++) {
        sorting->place[sorting->warps[i].found] = at;
        at += sorting->warps[i].count;
    }
    for (size_t i = 0; i < count; i++)
        sorting->order[sorting->place[sorting->warp_of[i]]++] = (uint32_t)i;
    return 0;
}

static void fini_sorting(struct sorting *sorting) {
    ff__map_fini(&sorting->by_number);
    free(sorting->warps);
    free(sorting->warp_of);
    free(sorting->order);
    free(sorting->place);
}

/* ---- adding ---- */

/* Whether the access is another page of the stream's last step. */
static bool continues(const struct ff__steps *steps, const struct ff__warp_stream *stream,
                      const struct ff__step_access *access) {
    if (access->instructions > 0 || stream->count == 0 || access->page == FF__ACCESS_NONE)
        return false;
    const struct ff__stored_step *last = &steps->steps[steps->step_count - 1];
    return last->pc == access->pc && last->write == access->write &&
           last->page_count < FF__STEP_PAGES;
}

static int add_page(struct ff__steps *steps, const struct ff__step_access *access) {
    struct ff__stored_step *last = &steps->steps[steps->step_count - 1];
    uint32_t sectors = last->sectors + (uint32_t)access->sectors;
    last->sectors = (uint16_t)(sectors < UINT16_MAX ? sectors : UINT16_MAX);
    for (uint32_t i = 0; i < last->page_count; i++)
        if (steps->pages[last->first + i] == access->page)
            return 0; /* pages of a step are distinct */
    if (ff__grow(&steps->pages, steps->page_count, sizeof *steps->pages))
        return -ENOMEM;
    steps->pages[steps->page_count++] = access->page;
    last->page_count++;
    return 0;
}

static int add_access(struct ff__steps *steps, struct ff__warp_stream *stream,
                      const struct ff__step_access *access) {
    if (continues(steps, stream, access))
        return add_page(steps, access);
    if (steps->page_count >= UINT32_MAX)
        return -EFBIG;
    if (ff__grow(&steps->steps, steps->step_count, sizeof *steps->steps))
        return -ENOMEM;
    steps->steps[steps->step_count++] = (struct ff__stored_step){
        .first = (uint32_t)steps->page_count,
        .pc = access->pc,
        .instructions = access->instructions ? access->instructions : 1,
        .write = access->write,
    };
    stream->count++;
    return access->page == FF__ACCESS_NONE ? 0 : add_page(steps, access);
}

static int add_stream(struct ff__steps *steps, struct ff__stored_launch *launch,
                      const struct sorted_warp *warp) {
    bool new_cta = launch->cta_count == 0 || steps->ctas[steps->cta_count - 1].cta != warp->cta;
    if (new_cta && ff__grow(&steps->ctas, steps->cta_count, sizeof *steps->ctas))
        return -ENOMEM;
    if (ff__grow(&steps->streams, steps->stream_count, sizeof *steps->streams))
        return -ENOMEM;
    if (new_cta) {
        steps->ctas[steps->cta_count++] =
            (struct ff__cta){warp->cta, (uint32_t)steps->stream_count, 0};
        launch->cta_count++;
    }
    steps->ctas[steps->cta_count - 1].count++;
    steps->streams[steps->stream_count++] =
        (struct ff__warp_stream){warp->warp, (uint32_t)steps->step_count, 0};
    return 0;
}

static int add_streams(struct ff__steps *steps, struct ff__stored_launch *launch,
                       const struct sorting *sorting, const struct ff__step_access *accesses) {
    const uint32_t *next = sorting->order;
    for (size_t i = 0; i < sorting->warp_count; i++) {
        int status = add_stream(steps, launch, &sorting->warps[i]);
        for (uint32_t j = 0; j < sorting->warps[i].count && !status; j++)
            status =
                add_access(steps, &steps->streams[steps->stream_count - 1], &accesses[*next++]);
        if (status)
            return status;
    }
    return 0;
}

int ff__steps_add_launch(struct ff__steps *steps, const struct ff__step_access *accesses,
                         size_t count) {
    struct sorting sorting = {.warp_of = malloc((count + 1) * sizeof(uint32_t)),
                              .order = malloc((count + 1) * sizeof(uint32_t))};
    struct ff__stored_launch launch = {(uint32_t)steps->cta_count, 0};
    int status = sorting.warp_of && sorting.order ? 0 : -ENOMEM;
    if (!status && count >= UINT32_MAX)
        status = -EFBIG;
    if (!status)
        status = find_warps(&sorting, accesses, count);
    if (!status)
        status = put_in_order(&sorting, count);
    if (!status)
        status = ff__grow(&steps->launches, steps->launch_count, sizeof *steps->launches);
    if (!status)
        status = add_streams(steps, &launch, &sorting, accesses);
    if (!status)
        steps->launches[steps->launch_count++] = launch;
    fini_sorting(&sorting);
    return status;
}

/* ---- looking up ---- */

static const struct ff__cta *find_cta(const struct ff__steps *steps, uint32_t launch,
                                      enum ff__numbering numbering, uint32_t cta) {
    const struct ff__stored_launch *in = &steps->launches[launch];
    if (in->cta_count == 0)
        return NULL; /* then there may be no array either */
    const struct ff__cta *ctas = steps->ctas + in->first_cta;
    if (cta < in->cta_count && (numbering == FF__DENSE || ctas[cta].cta == cta))
        return &ctas[cta]; /* nearly always: every CTA does something */
    uint32_t low = 0, high = numbering == FF__DENSE ? 0 : in->cta_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ctas[middle].cta == cta)
            return &ctas[middle];
        if (ctas[middle].cta < cta)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static const struct ff__warp_stream *find_stream(const struct ff__steps *steps,
                                                 const struct ff__cta *cta,
                                                 enum ff__numbering numbering, uint32_t warp) {
    const struct ff__warp_stream *streams = steps->streams + cta->first;
    if (warp < cta->count && (numbering == FF__DENSE || streams[warp].warp == warp))
        return &streams[warp];
    for (uint32_t i = 0; numbering == FF__NUMBERED && i < cta->count; i++)
        if (streams[i].warp == warp)
            return &streams[i];
    return NULL;
}

bool ff__steps_get(const struct ff__steps *steps, uint32_t launch, enum ff__numbering numbering,
                   uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__cta *in = find_cta(steps, launch, numbering, cta);
    const struct ff__warp_stream *stream = in ? find_stream(steps, in, numbering, warp) : NULL;
    if (!stream || index >= stream->count)
        return false;
    const struct ff__stored_step *step = &steps->steps[stream->first + index];
    out->instructions = step->instructions;
    out->pc = step->pc;
    out->sectors = step->sectors;
    out->write = step->write;
    out->goes_on = step->write && !steps->waits;
    out->page_count = step->page_count;
    memcpy(out->page, steps->pages + step->first, step->page_count * sizeof *out->page);
    return true;
}

struct ff__grid_extent ff__steps_extent(const struct ff__steps *steps, uint32_t launch) {
    const struct ff__stored_launch *in = &steps->launches[launch];
    struct ff__grid_extent extent = {0, 0, 0, 0};
    for (uint32_t i = 0; i < in->cta_count; i++) {
        const struct ff__cta *cta = &steps->ctas[in->first_cta + i];
        uint32_t last = steps->streams[cta->first + cta->count - 1].warp;
        extent.last_cta = cta->cta; /* they are in order, and warps in a CTA too */
        if (last > extent.last_warp)
            extent.last_warp = last;
        if (cta->count > extent.warps)
            extent.warps = cta->count;
        extent.streams += cta->count;
    }
    return extent;
}
