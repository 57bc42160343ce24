/* How ranks find each other, and start again when they die. */
#include "report/complain.h"
#include "report/text.h"
#include "study/jobs/ranks.h"
#include "study/jobs/ranks_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEATHS_MAX 100u /* of a rank: then it is not the cells' fault alone */

struct ff__ranks_state ff__ranks_state;

/* ---- as the environment says ---- */

/* Of Open MPI's mpirun; of MPICH's and Intel's, and Slurm's with PMI; of srun. */
static const struct {
    const char *number, *count;
} starters[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                {"PMI_RANK", "PMI_SIZE"},
                {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

static unsigned number_of(const char *variable, unsigned fallback) {
    const char *text = getenv(variable);
    unsigned number;
    return text && sscanf(text, "%9u", &number) == 1 ? number : fallback;
}

unsigned ff__ranks_count(void) {
    unsigned count = 1;
    for (size_t i = 0; i < sizeof starters / sizeof starters[0] && count == 1; i++)
        count = number_of(starters[i].count, 1);
    return count > 1 ? count : 1;
}

unsigned ff__ranks_number(void) {
    for (size_t i = 0; i < sizeof starters / sizeof starters[0]; i++)
        if (number_of(starters[i].count, 1) > 1)
            return number_of(starters[i].number, 0);
    return 0;
}

/* ---- through MPI ---- */

/* Runs the program on `text`; what it writes, of malloc(). NULL: it could not. */
static char *run_helper(const char *helper, const char *text) {
    int in[2], out[2];
    if (pipe(in) || pipe(out))
        return NULL;
    pid_t child = fork();
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        execl(helper, helper, (char *)NULL);
        _exit(FF__EXIT_NOT_FOUND);
    }
    close(in[0]);
    close(out[1]);
    FILE *to = ff__must(fdopen(in[1], "w")), *from = ff__must(fdopen(out[0], "r"));
    fputs(text, to);
    fclose(to);
    char *answer = ff__must(calloc(FF__WIRE_ADDRESS_MAX + 64, 1));
    fread(answer, 1, FF__WIRE_ADDRESS_MAX + 63, from);
    fclose(from);
    int end = 0;
    if (child > 0 && waitpid(child, &end, 0) == child && WIFEXITED(end) && WEXITSTATUS(end) == 0)
        return answer;
    free(answer);
    return NULL;
}

/* The address of rank 0, which it gives, and the others get. */
static int exchange(const char *helper, char address[FF__WIRE_ADDRESS_MAX]) {
    char *answer = run_helper(helper, address);
    const char *rest = answer ? strchr(answer, '\n') : NULL;
    unsigned number, count = 0;
    if (!rest || sscanf(answer, "%u %u", &number, &count) != 2)
        count = 0;
    if (count == ff__ranks_count() && number == ff__ranks_number())
        snprintf(address, FF__WIRE_ADDRESS_MAX, "%s", rest + 1);
    free(answer);
    if (count == 0)
        return ff__complain(FF__EXIT_FAILURE, "the ranks did not find each other: %s failed",
                            helper);
    if (count != ff__ranks_count())
        return ff__complain(FF__EXIT_FAILURE,
                            "started as one of %u processes, but MPI knows %u: start farfault by "
                            "the mpirun of the MPI that it is built with, or by srun --mpi=pmix",
                            ff__ranks_count(), count);
    return 0;
}

/* ---- a rank, and who starts it again ---- */

/* Returns in the process that does the work, as often as one has died before. */
static int supervise(void) {
    for (unsigned deaths = 0; deaths < DEATHS_MAX; deaths++) {
        int end;
        pid_t parent = getpid(), child = fork();
        if (child < 0)
            return ff__complain(FF__EXIT_FAILURE, "cannot start a process: %s", strerror(errno));
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(FF__EXIT_FAILURE);
            return 0;
        }
        while (waitpid(child, &end, 0) < 0)
            if (errno != EINTR)
                _exit(FF__EXIT_FAILURE);
        if (WIFEXITED(end))
            _exit(WEXITSTATUS(end));
        ff__complaints_hide(false);
        ff__complain(0, "rank %u has died of signal %d, and begins again", ff__ranks_number(),
                     WTERMSIG(end));
        ff__complaints_hide(true);
    }
    _exit(FF__EXIT_FAILURE);
}

int ff__ranks_join(const char *helper) {
    unsigned char token[16];
    char *address = ff__ranks_state.address;
    bool leads = ff__ranks_number() == 0;
    int listener = leads ? ff__wire_listen(address, token) : -1;
    if (leads && listener < 0)
        return ff__complain(FF__EXIT_FAILURE, "cannot listen for the other ranks: %s",
                            strerror(-listener));
    int status = exchange(helper, address);
    if (status || !leads)
        return status ? status : supervise();
    status = ff__ranks_lead(listener, token);
    return status ? ff__complain(FF__EXIT_FAILURE, "cannot start a thread: %s", strerror(-status))
                  : 0;
}
