/* The figures of a paper, drawn from the tables that a repro has made. */
#ifndef FF_STUDY_REPRO_PLOT_H
#define FF_STUDY_REPRO_PLOT_H

#include <jansson.h>
#include <stdbool.h>

/* Makes the folder if it is missing, which a command does before hours of work. Returns 0 or, with
 * one line on stderr, an exit status. */
int ff__repro_plot_folder(const char *folder);

/* Draws each figure of the published file in the folder, a file ID.svg each; those of which there
 * is no table are left out. `shows`: a line on stdout for each. Returns likewise. */
int ff__repro_plot(const json_t *published, const json_t *tables, const char *folder, bool shows);

#endif
