/* The live backends: those that programs run on. Every context has one. */
#ifndef FF_BACKEND_LIVE_H
#define FF_BACKEND_LIVE_H

#include "engine/backend.h"

extern const struct ff__backend ff__soft_backend;

#endif
