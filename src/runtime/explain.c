/* What policies have found out, by the names of kernels and the sizes of ranges. */
#include "runtime/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- noting ---- */

/* Makes room for item `at` of an array; NULL: there is no memory for it. */
static void *grow(void *array, uint32_t *count, uint32_t at, size_t size) {
    uint32_t wanted = 2 * at + 64;
    char *grown = at < *count ? array : realloc(array, wanted * size);
    if (grown && at >= *count) {
        memset(grown + *count * size, 0, (wanted - *count) * size);
        *count = wanted;
    }
    return grown;
}

static void note_kernel(struct ff__names *names, uint32_t launch, const char *name) {
    uint32_t slot = ff_launch_slot(launch);
    char(*kernels)[64] = grow(names->kernels, &names->kernel_count, slot, sizeof *kernels);
    if (!kernels)
        return;
    names->kernels = kernels;
    snprintf(kernels[slot], sizeof kernels[slot], "%s", name);
}

static void note_size(struct ff__names *names, uint32_t range, uint64_t size) {
    uint64_t *sizes = grow(names->sizes, &names->size_count, range, sizeof *sizes);
    if (!sizes)
        return;
    names->sizes = sizes;
    sizes[range] = size;
}

void ff__explain_launch(struct ff_context *context, const struct ff__launch *launch,
                        const char *name) {
    if (!context->config.explain)
        return;
    pthread_mutex_lock(&context->pipeline.lock);
    uint32_t id = ff__launch_ids_find(&context->engine.launches, launch->identity);
    if (id != FF_NONE && name)
        note_kernel(&context->names, id, name);
    for (uint32_t i = 0; launch->operands && i < launch->operand_count; i++) {
        uint32_t range = launch->operands[i].range;
        note_size(&context->names, range,
                  context->engine.space.ranges[range].page_count * FF_PAGE_SIZE);
    }
    pthread_mutex_unlock(&context->pipeline.lock);
}

/* ---- telling ---- */

static void put_names(const struct ff__names *names, const struct ff_finding *finding,
                      struct ff_found *out) {
    uint32_t slot = ff_launch_slot(finding->launch);
    if (finding->launch != FF_NONE && slot < names->kernel_count)
        memcpy(out->kernel, names->kernels[slot], sizeof out->kernel);
    if (finding->range != FF_NONE && finding->range < names->size_count)
        out->size = (size_t)names->sizes[finding->range];
}

bool ff_finding_read(struct ff_context *context, uint32_t index, struct ff_found *out) {
    struct ff_finding finding;
    *out = (struct ff_found){.has_range = false};
    pthread_mutex_lock(&context->pipeline.lock);
    bool found = ff__engine_finding(&context->engine, index, &finding);
    if (found) {
        put_names(&context->names, &finding, out);
        out->has_range = finding.range != FF_NONE;
        out->range = finding.range;
        memcpy(out->text, finding.text, sizeof out->text);
    }
    pthread_mutex_unlock(&context->pipeline.lock);
    return found;
}
