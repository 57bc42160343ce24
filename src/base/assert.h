/* What must hold where it stands, and what otherwise only a comment says. Checked in builds with
 * sanitizers, for which CMakeLists.txt defines FF__ASSERTS; nothing in all others. */
#ifndef FF_BASE_ASSERT_H
#define FF_BASE_ASSERT_H

#ifdef FF__ASSERTS
#include <assert.h>
#define FF__ASSERT(what) assert(what)
#else
#define FF__ASSERT(what) ((void)0)
#endif

#endif
