/* Which translator this is: modules that another one translated are not used. */
#ifndef FF_PTX_IDENTITY_H
#define FF_PTX_IDENTITY_H

extern const char ff__ptx_identity[]; /* a digest of its sources, device/ included */

#endif
