/* What the correlation tables cost: ns a look-up (of the successors of a block in one of many
 * kernels' tables) and ns an update (a fault behind another one), beside the same from a plain
 * array that knows every kernel and block by its number. */
#ifndef FF_BENCH_TABLES_H
#define FF_BENCH_TABLES_H

#include <stdbool.h>

struct tables_bench;

/* NULL: no memory. */
struct tables_bench *tables_bench_open(void);
void tables_bench_close(struct tables_bench *bench);

double tables_lookup_ns(struct tables_bench *bench, double *bound);
double tables_update_ns(struct tables_bench *bench, double *bound);

#endif
