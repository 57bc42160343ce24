/* A kernel whose userfaultfd has read-write protection (RWP), made of one whose has not: the
 * library's ioctls come here (--wrap; see CMakeLists.txt), and RWP becomes asynchronous write
 * protection (Linux 6.7), which the kernel carries out, and tells of, in the same way. So a write
 * is an access, and a read is none. As of RWP, it is refused for an area that may not be accessed,
 * cannot be taken back from an area that stays registered, concerns pages that are there, and pages
 * that come by UFFDIO_MOVE have it from the start. */
#ifndef FF_TESTS_SOFT_RWP_H
#define FF_TESTS_SOFT_RWP_H

/* What the kernel does otherwise than it should. */
enum rwp_lie {
    RWP_TRUE,
    RWP_FINDS_NOTHING,    /* nothing was accessed */
    RWP_FINDS_ALL,        /* everything was */
    RWP_FINDS_ELSEWHERE,  /* runs outside of what it was asked for */
    RWP_PROTECTS_NOTHING, /* and says that it has */
    RWP_WAITS,            /* with each access, for us to let it pass */
    RWP_LIES,
};

/* From now on, until rwp_off(). Context that are open have what they had. */
void rwp_on(enum rwp_lie lie);
void rwp_off(void);

/* Call number `at` of those that only RWP needs fails with this error. Counting begins anew;
 * negative: none fails. */
void rwp_fail(long at, int error);

/* Since then: such calls. */
long rwp_calls(void);

#endif
