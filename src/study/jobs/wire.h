/* What the ranks say to each other, over TCP. All are the same program on the same architecture. */
#ifndef FF_STUDY_JOBS_WIRE_H
#define FF_STUDY_JOBS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FF__WIRE_OVER    UINT32_MAX       /* in place of a cell: there are no more */
#define FF__WIRE_REFUSED (UINT32_MAX - 1) /* the rank has other cells */

/* The first that a rank says; then it gets cells, each of which it answers by a text. */
struct ff__hello {
    unsigned char token[16]; /* that only these processes know */
    uint32_t rank, experiment, sum;
};

/* Where rank 0 is: everything that the others must know, as text. */
#define FF__WIRE_ADDRESS_MAX 2048u

/* Listens on a free port, and writes the address. Returns the socket or a negative errno. */
int ff__wire_listen(char address[FF__WIRE_ADDRESS_MAX], unsigned char token[16]);

/* Fills in `token`. Returns the socket or a negative errno. */
int ff__wire_connect(const char *address, unsigned char token[16]);

/* The peer may have died without a word, then reading from it fails after half a minute. */
void ff__wire_watch(int socket);

bool ff__wire_write(int socket, const void *bytes, size_t size);
bool ff__wire_read(int socket, void *bytes, size_t size);
bool ff__wire_write_text(int socket, const char *text);
char *ff__wire_read_text(int socket); /* NULL: the peer has gone; else of malloc() */

#endif
