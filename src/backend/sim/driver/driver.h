/* The driver: batches of faults (driver.c), how a group of them is served (serve.c), and prefetches
 * and pre-evictions (prefetch.c). */
#ifndef FF_BACKEND_SIM_DRIVER_DRIVER_H
#define FF_BACKEND_SIM_DRIVER_DRIVER_H

#include "backend/sim/driver/transfer.h"

/* ---- driver.c ---- */

/* There may be something new in the device's fault buffer. */
void ff__driver_look(struct sim *sim, struct device *device, uint64_t time);
/* When the driver, which handles no batch, will take the first fault of the buffer: it may have
 * fallen asleep. */
uint64_t ff__driver_awake_at(const struct sim *sim, const struct device *device);
/* On to the next block of the batch. */
void ff__driver_go_on(struct sim *sim, struct device *device, uint64_t time);
void ff__driver_replay(struct sim *sim, struct device *device, uint64_t time);
/* The driver's time for a transfer, in ps. */
uint64_t ff__driver_cost(const struct sim *sim, const struct transfer *transfer);
/* The part of it for what leaves. */
uint64_t ff__driver_evict_cost(const struct sim *sim, const struct transfer *transfer);
/* Whether nothing moves for the device's job, or waits to be moved. */
bool ff__driver_links_idle(const struct sim *sim, const struct device *device, uint64_t time);
/* A transfer has ended. */
void ff__driver_ended(struct sim *sim, struct device *device, enum transfer_cause cause,
                      uint64_t time);

/* ---- serve.c ---- */

/* One group of faults. Returns the transfer that is to be started, or NULL. */
struct transfer *ff__serve(struct sim *sim, struct ff_fault_group *group, uint64_t time);
/* The faults that a transfer was made for to come back. */
void ff__serve_retry(struct sim *sim, struct transfer *transfer, uint64_t time);
/* Faults that came while their pages were leaving, and those of the job that found no room. */
void ff__serve_late(struct sim *sim, struct job *job, uint64_t time);

/* ---- prefetch.c ---- */

/* Lets the policies learn from what has happened, and plan. */
void ff__prefetch_learn(struct sim *sim, uint64_t time);
/* Gives advice to be carried out, when it is known. */
void ff__prefetch_advise(struct sim *sim, const struct ff_advice *advice, uint64_t time);
/* The transfer's advice is known now. */
void ff__prefetch_due(struct sim *sim, struct transfer *transfer, uint64_t time);
/* Starts prefetches and pre-evictions, as many as may be under way at a time; all that there are.
 */
void ff__prefetch_ahead(struct sim *sim, struct device *device, uint64_t time);
void ff__prefetch_all(struct sim *sim, struct device *device, uint64_t time);

#endif
