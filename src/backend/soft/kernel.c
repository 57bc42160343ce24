#include "backend/soft/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The first mended release of a series; later series are mended from the beginning. */
struct mended {
    unsigned major, minor, patch;
};

struct defect {
    const char *warning;
    struct mended in[5]; /* in rising order; the last one with content has the patch 0 */
};

#define ADVICE "; unless the distribution has mended it, update the kernel or use mechanism=copy"

/* All since UFFDIO_MOVE came with Linux 6.8; the worst that a kernel has comes first. Not here:
 * that Linux 6.16 to 6.18.19 and 6.19 to 6.19.9 move the huge zero page wrongly (fae654083bfa). No
 * area that pages are moved from can have one: where pages are absent a read is a fault of ours, or
 * memory is populated by writing. */
static const struct defect defects[] = {
    {"this kernel's UFFDIO_MOVE can lose data where the machine swaps, and crash while it migrates "
     "huge pages "
     "(mended in Linux 6.12.43, 6.15.11, 6.16.2 and 6.17)" ADVICE,
     {{6, 12, 37}, {6, 15, 6}, {6, 16, 0}}},
    {"this kernel can crash in UFFDIO_MOVE while it migrates huge pages (mended in Linux 6.12.43, "
     "6.15.11, 6.16.2 and 6.17)" ADVICE,
     {{6, 12, 43}, {6, 15, 11}, {6, 16, 2}, {6, 17, 0}}},
};

static bool is_mended(const struct defect *defect, unsigned major, unsigned minor, unsigned patch) {
    const struct mended *in = defect->in;
    while (in->patch > 0 && (in->major != major || in->minor != minor))
        in++;
    if (in->major == major && in->minor == minor)
        return patch >= in->patch;
    return major > in->major || (major == in->major && minor > in->minor);
}

const char *ff__kernel_move_warning(const char *release) {
    unsigned major = 0, minor = 0, patch = 0;
    if (sscanf(release, "%u.%u.%u", &major, &minor, &patch) < 2)
        return NULL;
    if (major < 6 || (major == 6 && minor < 8))
        return NULL;
    for (size_t i = 0; i < sizeof defects / sizeof defects[0]; i++)
        if (!is_mended(&defects[i], major, minor, patch))
            return defects[i].warning;
    return NULL;
}
