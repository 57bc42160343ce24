/* farfault-mpi: what the processes that MPI has started learn through it. Each process of farfault
 * runs one; rank 0's reads a text, and all write it, after a line with their rank and how many
 * there are. So farfault itself links no MPI, and outlives the death of a rank. */
#include <mpi.h>
#include <stdio.h>

#define TEXT_MAX 4096

int main(void) {
    char text[TEXT_MAX];
    int rank, count, size = (int)fread(text, 1, sizeof text, stdin);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(text, size, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    printf("%d %d\n%.*s", rank, count, size, text);
    return fflush(stdout) == EOF;
}
