/* farfault sim and replay: programs' models, and traces, on modelled devices. */
#include "cli/cli.h"
#include "cli/sweep.h"

#include <stdio.h>

static const char sim_help[] =
    "Runs models of programs on modelled devices under several systems, in virtual time: the same "
    "engine and policies as on real memory, with the costs of a GPU.\n"
    "\n"
    "Examples:\n"
    "  farfault sim bfs,hotspot --memory 66%\n"
    "  farfault sim bfs:size=64M --systems nvidia,keep --oversubscribe 110%,150%\n"
    "  farfault sim atax --gpu gtx1080ti,v100-16g --memory 50% --json=out.json\n"
    "\n"
    "A program of your own: farfault record it, then farfault replay the trace.\v"
    "A WORKLOAD (see farfault list workloads) may have parameters: bfs:size=64M. Every combination "
    "of the listed workloads, systems, memory sizes and devices is run. The first line of each "
    "table, in-memory, is the fully resident run. Every option can also be set in the environment, "
    "--memory as FARFAULT_MEMORY and so on; the command line wins.\n"
    "\n"
    "The exit status is 1 if any run failed.\n"
    "\n"
    "More examples:\n"
    "  farfault sim atax --systems nvidia --memory 50% --trace atax.trace\n"
    "  farfault sim pagerank --machine p3.8xlarge --beside wcc,idle -s memharvester\n"
    "  farfault sim zipf --untimed --memory 10%,25% --systems nvidia,belady\n"
    "  farfault sim zipf --curve --csv=zipf.csv";

static const char replay_help[] =
    "Simulates a program of which farfault record has written a trace, on modelled devices under "
    "several systems, in virtual time.\n"
    "\n"
    "Examples:\n"
    "  farfault record --touches --memory 32M --output run.trace ./program\n"
    "  farfault replay run.trace --memory 66%\n"
    "  farfault replay run.trace --systems nvidia,oracle --memory 50%,75%\v"
    "Options are those of farfault sim. A trace of faults only, as farfault record writes it "
    "without --touches, shows less than one of all accesses: what never faulted is not in it.\n"
    "\n"
    "The exit status is 1 if any run failed.";

static int run(struct ff__options *options) {
    struct ff__sweep sweep;
    int status = ff__sweep_read(options, options->command == FF__COMMAND_REPLAY, &sweep);
    if (!status)
        status = sweep.curve ? ff__sweep_run_curves(&sweep) : ff__sweep_run(&sweep);
    ff__sweep_free(&sweep);
    return status;
}

const struct ff__command ff__command_sim = {FF__COMMAND_SIM, "WORKLOAD[,WORKLOAD...]", sim_help,
                                            run, 0};
const struct ff__command ff__command_replay = {FF__COMMAND_REPLAY, "TRACE...", replay_help, run, 0};
