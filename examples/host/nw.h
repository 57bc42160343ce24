/* The data and the check of nw. */
#ifndef EXAMPLES_HOST_NW_H
#define EXAMPLES_HOST_NW_H

#include "work.h"

HOST_BEGIN

extern const struct problem nw_problem;

#define TILE 32
#define GAP  10

enum { RESIDUES = 24 };

struct alignment {
    size_t side; /* length of both sequences, whole tiles */
    size_t pitch;
    uint8_t *down, *across; /* the sequences along the rows and along the columns */
    int table[RESIDUES][RESIDUES];
};

/* Two sequences for this size; nw_close() releases them. */
void nw_open(struct alignment *alignment, const struct work *work);
void nw_close(struct alignment *alignment);
/* A fresh array of side x side similarities. */
int32_t *nw_similarities(const struct alignment *alignment);
void nw_check(struct work *work, const int32_t *got, const struct alignment *alignment);

HOST_END

#endif
