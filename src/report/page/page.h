/* One HTML page about a run, which is whole in itself: data/report/ has its parts, which are in
 * this program, and the data stands in it as JSON. docs/report.md says what it shows. */
#ifndef FF_REPORT_PAGE_PAGE_H
#define FF_REPORT_PAGE_PAGE_H

#include "trace/model/history.h"

#include <jansson.h>
#include <stdio.h>

/* Whether this build has what the page needs: D3. */
bool ff__page_available(void);

/* What the page shows of a recorded run. `file`: its name. The caller owns the result. */
json_t *ff__page_of_trace(const struct ff__run_history *history, const char *file);

/* What it shows of the results of a command with runs (data/schema/results.json). NULL: they are
 * none, and `why` says what is wrong with them. The caller owns the result. */
json_t *ff__page_of_results(const json_t *results, const char *file, const char **why);

/* An array of what the history supports: {"number", "title", "text"}, the number being that of a
 * section of docs/report.md. */
json_t *ff__page_tips(const struct ff__run_history *history);

/* Adds to each of the results' runs what it is of its lower bound, and to `tips` what all of them
 * support. `bounds`: those of compare, or NULL. */
void ff__page_compare(const json_t *bounds, json_t *runs, json_t *tips);

/* The same for a terminal: figures, tips, tables. */
void ff__page_print(const json_t *data, FILE *out);

/* Writes the page; `path` "-" is standard output. 0 or a negative errno. */
int ff__page_write(const json_t *data, const char *path);

#endif
