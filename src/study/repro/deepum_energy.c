/* The paper measures the whole host with a power meter (section 6.1). Here its parts have powers
 * that their data sheets give, or that are assumed; docs/results/deepum-energy.md says what the
 * ratios owe to the assumptions. */
#include "study/repro/deepum_energy.h"

/* W that the host takes all the time */
static const double idle_watts =
    2 * 65   /* two EPYC 7452 without work. Assumed; AMD gives 155 W at most */
    + 16 * 3 /* 512 GB as 16 modules of DDR4. Assumed */
    + 40     /* a V100 PCIe with a context, while all its warps wait. Assumed */
    + 60;    /* board, fans, disks. Assumed */

/* W beside these while kernels run: 250 W is the most that NVIDIA's data sheet gives for V100 PCIe
 */
static const double kernel_watts = 250 - 40;

/* W of the cores that are busy all the time, the program's and the driver's: of 32 cores each has
 * its part of what AMD gives for all of them under load, beside idle */
static const double core_watts = 2 * (155.0 - 65) / 32;

/* J of a byte that moves between host and device: 10 pJ a bit for PCIe 3.0 at both ends, 20 for
 * DDR4 and 4 for HBM2. Assumed */
static const double byte_joules = 8 * (10 + 20 + 4) * 1e-12;

double ff__deepum_joules(const struct ff__simulated *simulated,
                         const struct ff__simulated *resident) {
    const struct ff__sim_result *result = &simulated->result;
    double more = (double)(FF__DEEPUM_ITERATIONS - result->iterations);
    double bytes = (double)(result->bytes_in + result->bytes_out) +
                   more * (double)FF_PAGE_SIZE *
                       (double)(result->last_iteration.pages_in + result->last_iteration.pages_out);
    return (idle_watts + core_watts) * ff__deepum_seconds(simulated) +
           kernel_watts * ff__deepum_seconds(resident) + byte_joules * bytes;
}
