/* Textures and surfaces of one, two and three dimensions, through objects. */
#ifndef FF_CUDA_TEXTURES_H
#define FF_CUDA_TEXTURES_H

/* ---- four numbers of an element ---- */

#define FF_CUDA_TEXTURE(number, kind, as)                                                          \
    FF_CUDA_DEVICE void ff_cuda_texture(number *v, cudaTextureObject_t t, int x) {                 \
        asm volatile("tex.1d.v4." #kind ".s32 {%0, %1, %2, %3}, [%4, {%5}];"                       \
                     : as(v[0]), as(v[1]), as(v[2]), as(v[3])                                      \
                     : "l"(t), "r"(x));                                                            \
    }                                                                                              \
    FF_CUDA_DEVICE void ff_cuda_texture(number *v, cudaTextureObject_t t, float x) {               \
        asm volatile("tex.1d.v4." #kind ".f32 {%0, %1, %2, %3}, [%4, {%5}];"                       \
                     : as(v[0]), as(v[1]), as(v[2]), as(v[3])                                      \
                     : "l"(t), "f"(x));                                                            \
    }                                                                                              \
    FF_CUDA_DEVICE void ff_cuda_texture(number *v, cudaTextureObject_t t, float x, float y) {      \
        asm volatile("tex.2d.v4." #kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"                   \
                     : as(v[0]), as(v[1]), as(v[2]), as(v[3])                                      \
                     : "l"(t), "f"(x), "f"(y));                                                    \
    }                                                                                              \
    FF_CUDA_DEVICE void ff_cuda_texture(number *v, cudaTextureObject_t t, float x, float y,        \
                                        float z) {                                                 \
        asm volatile("tex.3d.v4." #kind ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"           \
                     : as(v[0]), as(v[1]), as(v[2]), as(v[3])                                      \
                     : "l"(t), "f"(x), "f"(y), "f"(z));                                            \
    }
FF_CUDA_TEXTURE(float, f32, "=f")
FF_CUDA_TEXTURE(int, s32, "=r")
FF_CUDA_TEXTURE(unsigned, u32, "=r")
#undef FF_CUDA_TEXTURE

/* What T is made of: numbers of 32 bits, and how the first ones become it. */
template <class T> struct ff_cuda_element;
#define FF_CUDA_ELEMENT(name, type, wide)                                                          \
    template <> struct ff_cuda_element<type> {                                                     \
        typedef wide number;                                                                       \
        static __device__ type of(const wide *v) { return (type)v[0]; }                            \
    };                                                                                             \
    template <> struct ff_cuda_element<name##1> {                                                  \
        typedef wide number;                                                                       \
        static __device__ name##1 of(const wide *v) { return make_##name##1((type)v[0]); }         \
    };                                                                                             \
    template <> struct ff_cuda_element<name##2> {                                                  \
        typedef wide number;                                                                       \
        static __device__ name##2 of(const wide *v) {                                              \
            return make_##name##2((type)v[0], (type)v[1]);                                         \
        }                                                                                          \
    };                                                                                             \
    template <> struct ff_cuda_element<name##4> {                                                  \
        typedef wide number;                                                                       \
        static __device__ name##4 of(const wide *v) {                                              \
            return make_##name##4((type)v[0], (type)v[1], (type)v[2], (type)v[3]);                 \
        }                                                                                          \
    };
FF_CUDA_ELEMENT(char, signed char, int)
FF_CUDA_ELEMENT(uchar, unsigned char, unsigned)
FF_CUDA_ELEMENT(short, short, int)
FF_CUDA_ELEMENT(ushort, unsigned short, unsigned)
FF_CUDA_ELEMENT(int, int, int)
FF_CUDA_ELEMENT(uint, unsigned, unsigned)
FF_CUDA_ELEMENT(float, float, float)
#undef FF_CUDA_ELEMENT

template <class T, class... Places>
static inline __device__ T ff_cuda_fetch(cudaTextureObject_t texture, Places... places) {
    typename ff_cuda_element<T>::number v[4];
    ff_cuda_texture(v, texture, places...);
    return ff_cuda_element<T>::of(v);
}

/* Both forms of each function: what is fetched is returned, or stored. */
#define FF_CUDA_FETCH(name, parameters, ...)                                                       \
    template <class T>                                                                             \
    static inline __device__ T name(cudaTextureObject_t texture, FF_CUDA_LIST parameters) {        \
        return ff_cuda_fetch<T>(texture, __VA_ARGS__);                                             \
    }                                                                                              \
    template <class T>                                                                             \
    static inline __device__ void name(T *out, cudaTextureObject_t texture,                        \
                                       FF_CUDA_LIST parameters) {                                  \
        *out = ff_cuda_fetch<T>(texture, __VA_ARGS__);                                             \
    }
#define FF_CUDA_LIST(...) __VA_ARGS__
FF_CUDA_FETCH(tex1Dfetch, (int x), x)
FF_CUDA_FETCH(tex1D, (float x), x)
FF_CUDA_FETCH(tex2D, (float x, float y), x, y)
FF_CUDA_FETCH(tex3D, (float x, float y, float z), x, y, z)
#undef FF_CUDA_FETCH
#undef FF_CUDA_LIST

/* ---- surfaces: x in bytes; an element outside ends the kernel, whatever the mode, of which this
 * is the default ---- */

template <int size> struct ff_cuda_surface;
#define FF_CUDA_SURFACE(size, type, kind, as)                                                      \
    template <> struct ff_cuda_surface<size> {                                                     \
        typedef type bits;                                                                         \
        static __device__ void load(bits &v, cudaSurfaceObject_t s, int x, int y) {                \
            asm volatile("suld.b.2d." #kind ".trap {%0}, [%1, {%2, %3}];"                          \
                         : "=" as(v)                                                               \
                         : "l"(s), "r"(x), "r"(y)                                                  \
                         : "memory");                                                              \
        }                                                                                          \
        static __device__ void store(bits v, cudaSurfaceObject_t s, int x, int y) {                \
            asm volatile("sust.b.2d." #kind ".trap [%0, {%1, %2}], {%3};"                          \
                         :                                                                         \
                         : "l"(s), "r"(x), "r"(y), as(v)                                           \
                         : "memory");                                                              \
        }                                                                                          \
    };
FF_CUDA_SURFACE(1, unsigned short, b8, "h")
FF_CUDA_SURFACE(2, unsigned short, b16, "h")
FF_CUDA_SURFACE(4, unsigned, b32, "r")
FF_CUDA_SURFACE(8, unsigned long long, b64, "l")
#undef FF_CUDA_SURFACE

template <class T>
static inline __device__ T
surf2Dread(cudaSurfaceObject_t surface, int x, int y,
           enum cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) {
    typename ff_cuda_surface<sizeof(T)>::bits bits;
    T value;
    ff_cuda_surface<sizeof(T)>::load(bits, surface, x, y);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T>
static inline __device__ void
surf2Dread(T *out, cudaSurfaceObject_t surface, int x, int y,
           enum cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) {
    *out = surf2Dread<T>(surface, x, y);
}
template <class T>
static inline __device__ void
surf2Dwrite(T value, cudaSurfaceObject_t surface, int x, int y,
            enum cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) {
    typename ff_cuda_surface<sizeof(T)>::bits bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    ff_cuda_surface<sizeof(T)>::store(bits, surface, x, y);
}

#endif
