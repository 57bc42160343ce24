#include "policy/forest/classify.h"

#include <farfault/mask.h>

#define LINE_MIN 3u /* samples */

/* Exact, so that the order of samples is of no account. */
__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 wide_signed;

/* Of the points (x, y) = (page, rank). */
struct sums {
    uint64_t count, x, y;
    wide xx, xy, yy;
};

/* What was used of the range, in pages. */
struct extent {
    uint64_t lowest, highest, used;
};

static uint64_t page_in(const struct ff__class_range *range, const struct ff_sample *sample) {
    uint64_t block = sample->block - range->first_block;
    return block * FF_BLOCK_PAGES + sample->page - (block > 0 ? range->lead : 0);
}

static void add_point(struct sums *sums, uint64_t x, uint64_t y) {
    sums->count++;
    sums->x += x;
    sums->y += y;
    sums->xx += (wide)x * x;
    sums->xy += (wide)x * y;
    sums->yy += (wide)y * y;
}

static void add_pages(struct extent *extent, uint64_t first, uint32_t count) {
    extent->lowest = first < extent->lowest ? first : extent->lowest;
    extent->highest = first + count - 1 > extent->highest ? first + count - 1 : extent->highest;
    extent->used += count;
}

/* R^2 = cov(x, y)^2 / (var(x) var(y)), each times the square of the count. */
static bool is_linear(const struct sums *sums, uint32_t percent) {
    const wide count = sums->count;
    wide_signed both = (wide_signed)(count * sums->xy) - (wide_signed)((wide)sums->x * sums->y);
    double covariance = (double)both;
    double x_variance = (double)(count * sums->xx - (wide)sums->x * sums->x);
    double y_variance = (double)(count * sums->yy - (wide)sums->y * sums->y);
    return sums->count >= LINE_MIN &&
           covariance * covariance * 100 > x_variance * y_variance * percent;
}

enum ff__class ff__classify(const struct ff__class_limits *limits,
                            const struct ff__class_range *range, const struct ff_sample *samples,
                            uint32_t count) {
    struct sums sums = {0};
    struct extent extent = {.lowest = UINT64_MAX};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t page = page_in(range, &samples[i]);
        add_point(&sums, page, samples[i].rank);
        add_pages(&extent, page, samples[i].page_count);
    }
    if (count == 0)
        return FF__CLASS_LOW_COVERAGE;
    if (is_linear(&sums, limits->linear))
        return FF__CLASS_LINEAR;
    if ((extent.highest - extent.lowest) * 100 < range->page_count * limits->coverage)
        return FF__CLASS_LOW_COVERAGE;
    uint64_t pages = limits->within ? extent.highest - extent.lowest + 1 : range->page_count;
    uint64_t used = limits->accesses && range->accesses ? range->accesses : extent.used;
    return used * 100 >= pages * limits->intensity ? FF__CLASS_HIGH_INTENSITY
                                                   : FF__CLASS_LOW_INTENSITY;
}
