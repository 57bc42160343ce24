/* The C++ library's, which has an attribute of the name that CUDA has for a macro. */
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
