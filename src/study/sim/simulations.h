/* Cells that are simulations: what most experiments are made of. */
#ifndef FF_STUDY_SIM_SIMULATIONS_H
#define FF_STUDY_SIM_SIMULATIONS_H

#include "study/cells.h"
#include "study/sim/simulate.h"

struct ff__simulations {
    struct ff__simulation_cell {
        struct ff__simulation what;
        struct ff__simulated found;
    } * items;
    unsigned count;
};

/* Adds a simulation, whose names are copied, and returns its number. The second looks for one of
 * the same workload, device, memory and system first: the devices are the same if they are the same
 * objects. */
unsigned ff__simulations_append(struct ff__simulations *list, const struct ff__simulation *what);
unsigned ff__simulations_add(struct ff__simulations *list, const struct ff__simulation *what);

/* What decides its result, for a cell's key: texts stay the simulation's, but `options` is to be
 * freed. */
void ff__simulation_key(const struct ff__simulation *what, struct ff__store_key *out);

/* What a simulation has found. */
static inline const struct ff__simulated *ff__simulations_at(const struct ff__simulations *list,
                                                             unsigned number) {
    return &list->items[number].found;
}

/* The cells; `done` and `self` may be changed, if `self` begins with the list. */
struct ff__cells ff__simulations_cells(struct ff__simulations *list);

/* Runs all of them. 0 or an exit status, as ff__cells_run(). */
int ff__simulations_run(const struct ff__study *study, struct ff__simulations *list);

void ff__simulations_free(struct ff__simulations *list);

#endif
