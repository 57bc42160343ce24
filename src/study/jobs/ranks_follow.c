/* The ranks that take cells from rank 0. */
#include "report/complain.h"
#include "report/text.h"
#include "study/jobs/ranks.h"
#include "study/jobs/ranks_state.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct service {
    struct ff__hello hello;
    char *(*run)(void *self, uint32_t cell);
    void *self;
};

/* Negative: rank 0 has ended, or cannot be reached. */
static int call(struct ff__hello hello) {
    int socket = ff__wire_connect(ff__ranks_state.address, hello.token);
    if (socket < 0 && socket != -ECONNREFUSED && socket != -ECONNRESET) {
        ff__complaints_hide(false);
        ff__complain(0, "rank %u cannot reach rank 0: %s", hello.rank, strerror(-socket));
        ff__complaints_hide(true);
    }
    if (socket >= 0 && ff__wire_write(socket, &hello, sizeof hello))
        return socket;
    if (socket >= 0)
        close(socket);
    return -EPIPE;
}

/* Whether there may be another experiment. */
static void *take_cells(void *argument) {
    const struct service *service = argument;
    uint32_t cell = FF__WIRE_REFUSED;
    int socket = call(service->hello);
    while (socket >= 0 && ff__wire_read(socket, &cell, sizeof cell) && cell < FF__WIRE_REFUSED) {
        char *result = service->run(service->self, cell);
        bool sent = ff__wire_write_text(socket, result);
        free(result);
        if (!sent)
            break;
    }
    if (socket >= 0)
        close(socket);
    return cell == FF__WIRE_OVER ? argument : NULL;
}

void ff__ranks_serve(uint32_t sum, unsigned threads, char *(*run)(void *self, uint32_t cell),
                     void *self) {
    static uint32_t experiments;
    struct service service = {
        {.rank = ff__ranks_number(), .experiment = experiments++, .sum = sum}, run, self};
    pthread_t *others = ff__must(calloc(threads + 1, sizeof *others));
    unsigned started = 0;
    while (started + 1 < threads &&
           pthread_create(&others[started], NULL, take_cells, &service) == 0)
        started++;
    bool over = take_cells(&service) != NULL;
    for (unsigned i = 0; i < started; i++)
        pthread_join(others[i], NULL);
    free(others);
    if (!over)
        exit(0);
}
