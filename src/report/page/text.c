/* The report for a terminal: the same data as on the page, without what needs colours. */
#include "report/json.h"
#include "report/page/page.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define WIDTH     72u /* columns of running text */
#define BAR       24u
#define SPARKS    60u
#define ROWS      10u /* of a table by kernel or buffer */
#define NAME_SIZE 40u /* bytes of a kernel's name */

static const char *text_of(const json_t *object, const char *name, const char *otherwise) {
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : otherwise;
}

/* ---- text ---- */

/* Broken at spaces, each line `indent` columns from the left. */
static void print_lines(FILE *out, const char *text, unsigned indent) {
    unsigned column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > 0 && column + 1 + length > WIDTH - indent) {
            putc('\n', out);
            column = 0;
        }
        if (column == 0)
            fprintf(out, "%*s", (int)indent, "");
        else
            putc(' ', out);
        column += (unsigned)length + (column > 0);
        fwrite(text, 1, length, out);
        text += length;
        text += strspn(text, " ");
    }
    putc('\n', out);
}

static void print_tips(FILE *out, const json_t *tips) {
    const json_t *tip;
    size_t i;
    json_array_foreach(tips, i, tip) {
        fprintf(out, "\n  R%.0f %s\n", ff__json_number_of(tip, "number"),
                text_of(tip, "title", ""));
        print_lines(out, text_of(tip, "text", ""), 5);
    }
}

/* ---- cells ---- */

static void size_cell(struct ff__table *table, double bytes) {
    char text[FF__QUANTITY];
    ff__table_cell(table, "%s", bytes >= 0 ? ff__size_text(text, (uint64_t)bytes) : "-");
}

static void name_cell(struct ff__table *table, const json_t *row, const char *member,
                      const char *kind) {
    const char *name = text_of(row, member, NULL);
    double number = ff__json_number_of(row, member), count = ff__json_number_of(row, "count");
    if (name)
        ff__table_cell(table, "%.*s%s", (int)NAME_SIZE, name,
                       strlen(name) > NAME_SIZE ? "..." : "");
    else if (isfinite(number))
        ff__table_cell(table, "%s %.0f", kind, number);
    else
        ff__table_cell(table, "%.0f others", count);
}

/* ---- a recorded run ---- */

static double most_of(const json_t *column) {
    double most = 0;
    const json_t *value;
    size_t i;
    json_array_foreach(column, i, value) {
        if (json_number_value(value) > most)
            most = json_number_value(value);
    }
    return most;
}

/* A block for each of SPARKS parts of the run, as high as the most in it. */
static void print_sparks(FILE *out, const char *name, const json_t *column, const char *most) {
    static const char blocks[] = "▁▂▃▄▅▆▇█"; /* three bytes each */
    double all = most_of(column);
    size_t count = json_array_size(column);
    fprintf(out, "  %-10s", name);
    for (size_t i = 0; i < SPARKS; i++) {
        double high = 0;
        for (size_t j = i * count / SPARKS; j < (i + 1) * count / SPARKS; j++)
            high = fmax(high, json_number_value(json_array_get(column, j)));
        if (high > 0)
            fwrite(blocks + 3 * ((size_t)ceil(8 * high / all) - 1), 1, 3, out);
        else
            putc(' ', out);
    }
    fprintf(out, "  at most %s\n", most);
}

static void print_slices(FILE *out, const json_t *slices) {
    static const struct {
        const char *member, *name;
        bool bytes;
    } rows[] = {{"faults", "faults", false},
                {"bytes_in", "in", true},
                {"bytes_out", "out", true},
                {"held", "resident", true},
                {"used", "used", true}};
    putc('\n', out);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *column = json_object_get(slices, rows[i].member);
        double most = most_of(column);
        char text[FF__QUANTITY];
        if (rows[i].bytes)
            ff__size_text(text, (uint64_t)most);
        else
            snprintf(text, sizeof text, "%.0f", most);
        print_sparks(out, rows[i].name, column, text);
    }
}

static void print_head(FILE *out, const json_t *head) {
    char footprint[FF__QUANTITY], memory[FF__QUANTITY], in[FF__QUANTITY], back[FF__QUANTITY],
        left[FF__QUANTITY];
    double of = ff__json_number_of(head, "memory");
    fprintf(out, "%s: %.3g s, %.0f launches, footprint %s, device memory %s\n",
            text_of(head, "subject", "a run"), ff__json_number_of(head, "ns") / 1e9,
            ff__json_number_of(head, "launches"),
            ff__size_text(footprint, (uint64_t)ff__json_number_of(head, "footprint")),
            of > 0 ? ff__size_text(memory, (uint64_t)of) : "not known");
    fprintf(out, "%.0f faults (%.0f again), %s in (%s came back), %s out\n",
            ff__json_number_of(head, "faults"), ff__json_number_of(head, "refaults"),
            ff__size_text(in, (uint64_t)ff__json_number_of(head, "bytes_in")),
            ff__size_text(back, (uint64_t)ff__json_number_of(head, "bytes_back")),
            ff__size_text(left, (uint64_t)ff__json_number_of(head, "bytes_out")));
}

/* By kernel or by buffer: both have these members. */
static void print_moved(FILE *out, const char *title, const char *member, const char *kind,
                        const json_t *rows) {
    struct ff__table table;
    const json_t *row;
    size_t i;
    if (json_array_size(rows) == 0)
        return;
    fprintf(out, "\n%s\n", title);
    ff__table_init(&table, "lrrrrrr");
    ff__table_cells(&table, "", "launches", "faults", "again", "in", "came back", "out", NULL);
    json_array_foreach(rows, i, row) {
        if (i >= ROWS)
            break;
        name_cell(&table, row, member, kind);
        ff__table_value(&table, 0, ff__json_number_of(row, "launches"), "");
        ff__table_value(&table, 0, ff__json_number_of(row, "faults"), "");
        ff__table_value(&table, 0, ff__json_number_of(row, "refaults"), "");
        size_cell(&table, ff__json_number_of(row, "bytes_in"));
        size_cell(&table, ff__json_number_of(row, "bytes_back"));
        size_cell(&table, ff__json_number_of(row, "bytes_out"));
    }
    ff__table_print(&table, out, 2);
    ff__table_fini(&table);
    if (json_array_size(rows) > ROWS)
        fprintf(out, "  and %zu more\n", json_array_size(rows) - ROWS);
}

static void print_trace(FILE *out, const json_t *data) {
    print_head(out, json_object_get(data, "head"));
    print_slices(out, json_object_get(data, "slices"));
    print_tips(out, json_object_get(data, "tips"));
    print_moved(out, "By kernel", "name", "kernel", json_object_get(data, "kernels"));
    print_moved(out, "By buffer", "buffer", "buffer", json_object_get(data, "buffers"));
}

/* ---- results ---- */

static bool is_beside(const json_t *a, const json_t *b) {
    return strcmp(text_of(a, "subject", ""), text_of(b, "subject", "")) == 0 &&
           strcmp(text_of(a, "device", ""), text_of(b, "device", "")) == 0;
}

static double slowest_beside(const json_t *runs, const json_t *run) {
    double slowest = 0;
    const json_t *other;
    size_t i;
    json_array_foreach(runs, i, other) {
        if (is_beside(other, run))
            slowest = fmax(slowest, ff__json_number_of(other, "seconds"));
    }
    return slowest;
}

static void bar_cell(struct ff__table *table, double part) {
    static const char full[] = "########################";
    size_t length = isfinite(part) ? (size_t)ceil(BAR * part) : 0;
    ff__table_cell(table, "%.*s", (int)length, full);
}

static void run_cells(struct ff__table *table, const json_t *run, double slowest) {
    double seconds = ff__json_number_of(run, "seconds"), low = ff__json_number_of(run, "min");
    ff__table_cells(table, text_of(run, "system", "-"), text_of(run, "share", "-"), NULL);
    ff__table_value(table, 4, seconds, "");
    bar_cell(table, seconds / slowest);
    if (isfinite(low))
        ff__table_cell(table, "%.4f-%.4f", low, ff__json_number_of(run, "max"));
    else
        ff__table_cell(table, "-");
    ff__table_value(table, 2, ff__json_number_of(run, "slowdown"), "x");
    ff__table_value(table, 0, 100 * ff__json_number_of(run, "of_bound"), " %");
    ff__table_value(table, 0, ff__json_number_of(run, "faults"), "");
    size_cell(table, ff__json_number_of(run, "bytes_in"));
    size_cell(table, ff__json_number_of(run, "bytes_out"));
    ff__table_cell(table, "%s", text_of(run, "reason", ""));
}

/* The runs of one subject on one device. */
static void print_group(FILE *out, const json_t *runs, const json_t *first) {
    struct ff__table table;
    const json_t *run;
    size_t i;
    fprintf(out, "\n%s%s%s\n", text_of(first, "subject", ""),
            json_object_get(first, "device") ? ", " : "", text_of(first, "device", ""));
    ff__table_init(&table, "lrrlrrrrrrl");
    ff__table_cells(&table, "system", "memory", "seconds", "", "min-max", "in memory", "of bound",
                    "faults", "in", "out", "", NULL);
    json_array_foreach(runs, i, run) {
        if (is_beside(run, first))
            run_cells(&table, run, slowest_beside(runs, first));
    }
    ff__table_print(&table, out, 2);
    ff__table_fini(&table);
}

static void print_results(FILE *out, const json_t *data) {
    const json_t *runs = json_object_get(data, "runs"), *run;
    size_t i;
    fprintf(out, "farfault %s: %zu runs\n", text_of(data, "command", ""), json_array_size(runs));
    print_tips(out, json_object_get(data, "tips"));
    json_array_foreach(runs, i, run) {
        size_t before = 0;
        while (!is_beside(json_array_get(runs, before), run))
            before++;
        if (before == i)
            print_group(out, runs, run);
    }
    if (json_array_size(runs) == 1) {
        run = json_array_get(runs, 0);
        print_moved(out, "By kernel", "name", "kernel", json_object_get(run, "kernels"));
        print_moved(out, "By buffer", "name", "buffer", json_object_get(run, "buffers"));
    }
}

void ff__page_print(const json_t *data, FILE *out) {
    if (strcmp(text_of(data, "kind", ""), "trace") == 0)
        print_trace(out, data);
    else
        print_results(out, data);
}
