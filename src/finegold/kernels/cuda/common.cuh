// Functions that all kernels use. Compiled for K classes; CLASS is the type of a class (8 or 16 bits), REAL that of the
// posteriors. One thread processes one task at a time.

typedef unsigned long long Fixed;
__device__ const float ONE = 4294967296.0f;  // one in fixed-point numbers: 2^32

#define EACH_TASK(i, n) (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)

// Loops over the classes are unrolled if there are few, so that all data of a task stay in registers.
#if K <= 16
#define EACH_CLASS(k) _Pragma("unroll") for (int k = 0; k < K; ++k)
#else
#define EACH_CLASS(k) for (int k = 0; k < K; ++k)
#endif

__device__ void add_up(double value, double *sum) {
    // The sum over the threads of this block, always in the same order.
    __shared__ double of_warp[THREADS / 32];
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0u, value, lanes);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < THREADS / 32; ++warp) value += of_warp[warp];
        *sum = value;
    }
}

__device__ void keep_largest(float moved, unsigned *change) {
    for (int lanes = 16; lanes > 0; lanes /= 2) moved = fmaxf(moved, __shfl_down_sync(~0u, moved, lanes));
    if (threadIdx.x % 32 == 0) atomicMax(change, __float_as_uint(moved));  // not negative: ordered like integers
}
