#include "report/plot.h"

#include "base/new_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Units of the drawing. */
#define LEFT      88.0
#define RIGHT     16.0
#define TOP       64.0
#define HEIGHT    240.0
#define TURNED    0.71 /* of its length is how far a text at 45 degrees goes to each side */
#define BAR       9.0
#define GAP       12.0 /* between groups */
#define LETTER    6.5
#define SWATCH    10.0
#define NARROWEST 420.0
#define TICKS     5u

/* Okabe and Ito's colours, which people who are colour-blind tell apart, and greys. */
static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
                                      "#d55e00", "#f0e442", "#000000", "#555555", "#888888",
                                      "#aaaaaa", "#cccccc", "#e5e5e5"};

static const char *colour_of(unsigned series) {
    return colours[series % (sizeof colours / sizeof colours[0])];
}

static void put_text(FILE *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc(*text, out);
        }
}

/* `turn`: degrees; `anchor`: start, middle or end of the text is at x. */
static void put_label(FILE *out, double x, double y, double turn, const char *anchor,
                      const char *text) {
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
    if (turn != 0)
        fprintf(out, " transform=\"rotate(%.0f %.1f %.1f)\"", turn, x, y);
    fputc('>', out);
    put_text(out, text);
    fputs("</text>\n", out);
}

/* What the names of groups, which are turned, need below the axis, and to its left. */
static double room_of_names(const struct ff__plot *plot) {
    size_t longest = 0;
    for (unsigned g = 0; g < plot->group_count; g++)
        if (strlen(plot->groups[g]) > longest)
            longest = strlen(plot->groups[g]);
    return TURNED * LETTER * (double)longest;
}

static double left_of(const struct ff__plot *plot) {
    return fmax(LEFT, room_of_names(plot));
}

static double group_width(const struct ff__plot *plot) {
    return plot->series_count * BAR + GAP;
}

static double legend_width(const struct ff__plot *plot) {
    double width = 0;
    for (unsigned s = 0; s < plot->series_count; s++)
        width += SWATCH + LETTER * (double)strlen(plot->series[s].name) + 2 * LETTER;
    return width;
}

static double inner_width(const struct ff__plot *plot) {
    double width = fmax(plot->group_count * group_width(plot), legend_width(plot));
    return fmax(fmax(width, LETTER * (double)strlen(plot->title)), NARROWEST);
}

/* A step of 1, 2 or 5 times a power of ten, so that few steps reach the highest bar. */
static double step_of(const struct ff__plot *plot) {
    double most = 0;
    for (unsigned s = 0; s < plot->series_count; s++)
        for (unsigned g = 0; g < plot->group_count; g++)
            if (plot->series[s].values[g] > most)
                most = plot->series[s].values[g];
    if (!(most > 0) || isinf(most))
        return 1;
    double power = pow(10, floor(log10(most / TICKS)));
    double steps = most / TICKS / power;
    return power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
}

static double top_of(const struct ff__plot *plot, double step) {
    double most = step;
    for (unsigned s = 0; s < plot->series_count; s++)
        for (unsigned g = 0; g < plot->group_count; g++)
            if (isfinite(plot->series[s].values[g]))
                most = fmax(most, plot->series[s].values[g]);
    return ceil(most / step - 1e-9) * step;
}

static void put_axis(FILE *out, const struct ff__plot *plot, double step, double top) {
    double left = left_of(plot), width = inner_width(plot);
    char number[32];
    for (unsigned t = 0; t * step <= top * (1 + 1e-9); t++) {
        double y = TOP + HEIGHT * (1 - t * step / top);
        fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n",
                left, y, left + width, y);
        snprintf(number, sizeof number, "%g", t * step);
        put_label(out, left - 6, y + 4, 0, "end", number);
    }
    put_label(out, 14, TOP + HEIGHT / 2, -90, "middle", plot->axis);
}

static void put_bars(FILE *out, const struct ff__plot *plot, double top) {
    for (unsigned g = 0; g < plot->group_count; g++) {
        double x = left_of(plot) + g * group_width(plot) + GAP / 2;
        for (unsigned s = 0; s < plot->series_count; s++) {
            double value = plot->series[s].values[g];
            if (!isfinite(value) || value < 0)
                continue;
            double height = HEIGHT * value / top;
            fprintf(out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\">"
                    "<title>%.4g</title></rect>\n",
                    x + s * BAR, TOP + HEIGHT - height, BAR, height, colour_of(s), value);
        }
        put_label(out, x + plot->series_count * BAR / 2, TOP + HEIGHT + 12, -45, "end",
                  plot->groups[g]);
    }
}

static void put_legend(FILE *out, const struct ff__plot *plot) {
    double x = left_of(plot);
    for (unsigned s = 0; s < plot->series_count; s++) {
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                x, TOP - 24, SWATCH, SWATCH, colour_of(s));
        put_label(out, x + SWATCH + 3, TOP - 15, 0, "start", plot->series[s].name);
        x += SWATCH + LETTER * (double)strlen(plot->series[s].name) + 2 * LETTER;
    }
}

static int print(FILE *out, const void *self) {
    const struct ff__plot *plot = self;
    double step = step_of(plot), top = top_of(plot, step);
    double width = left_of(plot) + inner_width(plot) + RIGHT,
           height = TOP + HEIGHT + room_of_names(plot) + 2 * GAP;
    errno = 0;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            width, height);
    put_label(out, left_of(plot), 20, 0, "start", plot->title);
    put_axis(out, plot, step, top);
    put_bars(out, plot, top);
    put_legend(out, plot);
    fputs("</svg>\n", out);
    return !ferror(out) ? 0 : errno ? -errno : -EIO;
}

int ff__plot_write(const struct ff__plot *plot, const char *path) {
    return ff__file_write(path, print, plot);
}
