/* Bar charts as SVG: one group of bars beside the other, as papers print them. */
#ifndef FF_REPORT_PLOT_H
#define FF_REPORT_PLOT_H

/* All texts and arrays are borrowed. */
struct ff__plot_series {
    const char *name;
    const double *values; /* one a group; NaN: no bar */
};

struct ff__plot {
    const char *title, *axis; /* above it; what the height of a bar is */
    const char *const *groups;
    const struct ff__plot_series *series;
    unsigned group_count, series_count;
};

/* Bars begin at 0, and so does the axis; negative values have no bar. Replaces the file. 0 or a
 * negative errno. */
int ff__plot_write(const struct ff__plot *plot, const char *path);

#endif
