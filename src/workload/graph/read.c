#include "workload/graph/graph.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A text, line by line. */
struct line_reader {
    const char *at, *end;
    const char *line, *line_end; /* the current one, without its line break */
    uint64_t number;
    const char *name;
    struct ff_error *error;
};

/* Edges whose ends are still the file's own numbers. */
struct list {
    uint64_t *ends; /* from, to, from, to, ... */
    uint64_t count, capacity;
};

static int bad_line(struct line_reader *reader, const char *what) {
    int shown = (int)(reader->line_end - reader->line);
    return ff__fail(reader->error, -EINVAL, "%s:%llu: %s: '%.*s'", reader->name,
                    (unsigned long long)reader->number, what, shown > 40 ? 40 : shown,
                    reader->line);
}

static bool next_line(struct line_reader *reader) {
    if (reader->at == reader->end)
        return false;
    const char *stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->line = reader->at;
    reader->line_end = stop ? stop : reader->end;
    reader->at = stop ? stop + 1 : reader->end;
    reader->number++;
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at))
        at++;
    return at;
}

static bool is_comment(const struct line_reader *reader) {
    const char *at = skip_blanks(reader->line, reader->line_end);
    return at == reader->line_end || *at == '#' || *at == '%';
}

/* Reads a whole number and what blanks follow; false: there is none, or it has 20 digits. */
static bool read_number(const char **at, const char *end, uint64_t *out) {
    const char *digit = skip_blanks(*at, end), *first = digit;
    uint64_t value = 0;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
        if (digit - first == 18)
            return false;
        value = value * 10 + (uint64_t)(*digit - '0');
    }
    if (digit == first || (digit < end && !is_blank(*digit)))
        return false;
    *at = skip_blanks(digit, end);
    *out = value;
    return true;
}

static int add_edge(struct line_reader *reader, struct list *list, uint64_t from, uint64_t to) {
    if (list->count == list->capacity) {
        if (list->count >= FF__GRAPH_EDGES_MAX)
            return bad_line(reader, "too many edges");
        uint64_t capacity = list->capacity ? list->capacity * 2 : 1024;
        uint64_t *ends = realloc(list->ends, capacity * 2 * sizeof *ends);
        if (!ends)
            return ff__fail(reader->error, -ENOMEM, "no memory for the edges of %s", reader->name);
        list->ends = ends;
        list->capacity = capacity;
    }
    list->ends[2 * list->count] = from;
    list->ends[2 * list->count + 1] = to;
    list->count++;
    return 0;
}

/* ---- edge lists ---- */

static int read_edges(struct line_reader *reader, struct list *list) {
    int status = 0;
    while (!status && next_line(reader)) {
        if (is_comment(reader))
            continue;
        const char *at = reader->line;
        uint64_t from, to;
        if (!read_number(&at, reader->line_end, &from) || !read_number(&at, reader->line_end, &to))
            return bad_line(reader, "not two node numbers");
        status = add_edge(reader, list, from, to);
    }
    if (!status && list->count == 0)
        return ff__fail(reader->error, -EINVAL, "%s: no edges in it", reader->name);
    return status;
}

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t rank_of(const uint64_t *sorted, uint64_t count, uint64_t value) {
    uint64_t low = 0, high = count;
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        if (sorted[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Replaces the numbers by their rank among all numbers. */
static int close_gaps(struct line_reader *reader, struct list *list, uint64_t *nodes) {
    uint64_t ends = 2 * list->count, count = 0;
    uint64_t *sorted = malloc(ends * sizeof *sorted);
    if (!sorted)
        return ff__fail(reader->error, -ENOMEM, "no memory for the nodes of %s", reader->name);
    memcpy(sorted, list->ends, ends * sizeof *sorted);
    qsort(sorted, ends, sizeof *sorted, compare_numbers);
    for (uint64_t i = 0; i < ends; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[count++] = sorted[i];
    for (uint64_t i = 0; i < ends; i++)
        list->ends[i] = rank_of(sorted, count, list->ends[i]);
    free(sorted);
    *nodes = count;
    return 0;
}

/* Numbers that fill at least an eighth of their range are indices already, and sorting is spared.
 */
static int number_nodes(struct line_reader *reader, struct list *list, uint64_t *nodes) {
    uint64_t most = 0;
    for (uint64_t i = 0; i < 2 * list->count; i++)
        most = list->ends[i] > most ? list->ends[i] : most;
    *nodes = most + 1;
    return most / 8 > list->count ? close_gaps(reader, list, nodes) : 0;
}

/* ---- Matrix Market ---- */

static const char matrix_banner[] = "%%MatrixMarket";

struct matrix_header {
    uint64_t rows, columns, entries;
    bool symmetric;
};

static bool has_word(const struct line_reader *reader, const char *word) {
    size_t length = strlen(word);
    const char *at = reader->line, *end = reader->line_end;
    while ((at = skip_blanks(at, end)) < end) {
        const char *stop = at;
        while (stop < end && !is_blank(*stop))
            stop++;
        if ((size_t)(stop - at) == length && strncasecmp(at, word, length) == 0)
            return true;
        at = stop;
    }
    return false;
}

static int read_matrix_head(struct line_reader *reader, struct matrix_header *matrix) {
    next_line(reader);
    if (!has_word(reader, "matrix") || !has_word(reader, "coordinate"))
        return bad_line(reader, "must be a 'matrix coordinate'");
    matrix->symmetric = !has_word(reader, "general");
    if (matrix->symmetric && !has_word(reader, "symmetric") &&
        !has_word(reader, "skew-symmetric") && !has_word(reader, "hermitian"))
        return bad_line(reader, "must be general, symmetric, skew-symmetric or hermitian");
    do {
        if (!next_line(reader))
            return ff__fail(reader->error, -EINVAL, "%s:%llu: the line with its size is missing",
                            reader->name, (unsigned long long)reader->number);
    } while (is_comment(reader));
    const char *at = reader->line, *end = reader->line_end;
    if (!read_number(&at, end, &matrix->rows) || !read_number(&at, end, &matrix->columns) ||
        !read_number(&at, end, &matrix->entries) || at != end)
        return bad_line(reader, "must be rows, columns, entries");
    /* A line takes at least 4 bytes; and a matrix of almost only zeros is no graph, but could ask
     * for any amount of memory in one line. */
    uint64_t side = matrix->rows > matrix->columns ? matrix->rows : matrix->columns;
    if (matrix->entries == 0 || matrix->entries > (uint64_t)(reader->end - reader->at) / 4 + 1)
        return bad_line(reader, "not as many entries in the file");
    if (side > FF__GRAPH_NODES_MAX || side / 1024 > matrix->entries)
        return bad_line(reader, "too large, or too empty for a graph");
    return 0;
}

static int read_matrix(struct line_reader *reader, struct list *list, uint64_t *nodes) {
    struct matrix_header matrix;
    int status = read_matrix_head(reader, &matrix);
    uint64_t read = 0;
    while (!status && next_line(reader)) {
        if (is_comment(reader))
            continue;
        const char *at = reader->line;
        uint64_t row, column;
        if (!read_number(&at, reader->line_end, &row) ||
            !read_number(&at, reader->line_end, &column))
            return bad_line(reader, "not a row and a column");
        if (row == 0 || row > matrix.rows || column == 0 || column > matrix.columns)
            return bad_line(reader, "outside of the matrix");
        if (read++ == matrix.entries)
            return bad_line(reader, "more entries than announced");
        status = add_edge(reader, list, row - 1, column - 1);
        if (!status && matrix.symmetric && row != column)
            status = add_edge(reader, list, column - 1, row - 1);
    }
    if (!status && read < matrix.entries)
        return ff__fail(reader->error, -EINVAL, "%s:%llu: ends after %llu of %llu entries",
                        reader->name, (unsigned long long)reader->number, (unsigned long long)read,
                        (unsigned long long)matrix.entries);
    *nodes = matrix.rows > matrix.columns ? matrix.rows : matrix.columns;
    return status;
}

/* ---- both ---- */

/* Two 64-bit numbers become two of 32 bits. NULL: no memory. */
static struct ff__graph_edge *narrow(struct list *list) {
    struct ff__graph_edge *edges = malloc(list->count * sizeof *edges);
    for (uint64_t i = 0; edges && i < list->count; i++)
        edges[i] =
            (struct ff__graph_edge){(uint32_t)list->ends[2 * i], (uint32_t)list->ends[2 * i + 1]};
    return edges;
}

static int build(struct line_reader *reader, struct list *list, uint64_t nodes, bool both,
                 struct ff__graph *out) {
    if (nodes > FF__GRAPH_NODES_MAX || (both ? 2 : 1) * list->count > FF__GRAPH_EDGES_MAX)
        return ff__fail(reader->error, -EINVAL, "%s: %llu nodes, %llu edges: at most %u and %llu",
                        reader->name, (unsigned long long)nodes, (unsigned long long)list->count,
                        FF__GRAPH_NODES_MAX, (unsigned long long)FF__GRAPH_EDGES_MAX);
    struct ff__graph_edge *edges = narrow(list);
    if (!edges)
        return ff__fail(reader->error, -ENOMEM, "no memory for the edges of %s", reader->name);
    int status = ff__graph_build((uint32_t)nodes, edges, list->count, both, out, reader->error);
    free(edges);
    return status;
}

int ff__graph_parse(const char *text, size_t length, const char *name, bool both,
                    struct ff__graph *out, struct ff_error *error) {
    struct line_reader reader = {.at = text,
                                 .end = text + length,
                                 .line = text,
                                 .line_end = text,
                                 .name = name,
                                 .error = error};
    struct list list = {0};
    size_t banner = sizeof matrix_banner - 1;
    uint64_t nodes = 0;
    int status;
    memset(out, 0, sizeof *out);
    if (length >= banner && strncasecmp(text, matrix_banner, banner) == 0) {
        status = read_matrix(&reader, &list, &nodes);
    } else {
        status = read_edges(&reader, &list);
        if (!status)
            status = number_nodes(&reader, &list, &nodes);
    }
    if (!status)
        status = build(&reader, &list, nodes, both, out);
    free(list.ends);
    return status;
}

int ff__graph_read(const char *path, bool both, struct ff__graph *out, struct ff_error *error) {
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    memset(out, 0, sizeof *out);
    if (file < 0)
        return ff__fail(error, -errno, "graph %s: %s", path, strerror(errno));
    int status = 0;
    void *text = MAP_FAILED;
    if (fstat(file, &info) || !S_ISREG(info.st_mode))
        status = ff__fail(error, -EINVAL, "graph %s: not a regular file", path);
    else if (info.st_size == 0)
        status = ff__fail(error, -EINVAL, "graph %s: empty", path);
    else if ((text = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0)) ==
             MAP_FAILED)
        status = ff__fail(error, -errno, "graph %s: %s", path, strerror(errno));
    close(file);
    if (status)
        return status;
    status = ff__graph_parse(text, (size_t)info.st_size, path, both, out, error);
    munmap(text, (size_t)info.st_size);
    return status;
}
