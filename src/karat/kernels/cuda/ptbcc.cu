// PTBCC on the GPU: the twin of karat/kernels/ptbcc.py, whose equations and names it uses. One thread takes one task
// at a time. Compiled for a number of classes K and of prototypes but the first D, so that everything that belongs to
// a task stays in registers: cells are sorted by class, so a loop over the classes meets them with constant indices.
//
// Arithmetic is float32. Sums over tasks are kept in float32 by each thread, added up in float64 by each block in a
// fixed order, and by the host over the blocks; sums by annotator are fixed-point integers, whose order does not
// matter. So the same data give the same bits.

typedef unsigned long long Fixed;
__device__ const float ONE = 4294967296.0f;  // of the fixed-point numbers: 2^32

__device__ float weigh(const float *log_odds, const float *q, float *share) {
    // (11): the shares of the prototypes in one vote. -> log of the sum of the odds, 1 for the first prototype.
    float x[D > 0 ? D : 1], largest = 0.0f, total;
    for (int d = 0; d < D; ++d) {
        x[d] = log_odds[d] + q[d];
        largest = fmaxf(largest, x[d]);
    }
    total = __expf(-largest);
    for (int d = 0; d < D; ++d) total += share[d] = __expf(x[d] - largest);
    for (int d = 0; d < D; ++d) share[d] = __fdividef(share[d], total);
    return largest + __logf(total);
}

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

extern "C" __global__ void __launch_bounds__(THREADS)
sweep(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const int *__restrict__ known,
      const float *__restrict__ log_tau, const float *__restrict__ log_odds_pi, const float *__restrict__ base,
      const float *__restrict__ diff, float *__restrict__ phi, Fixed *__restrict__ pi, unsigned *change, double *sums) {
    // sums: for each block tau [K], total [K, K], confusion [K, D, K], log_norm, entropy
    __shared__ float base_of[K * K], diff_of[K * (D > 0 ? D : 1) * K], tau_of[K];
    for (int n = threadIdx.x; n < K * K; n += THREADS) base_of[n] = base[n];
    for (int n = threadIdx.x; n < K * D * K; n += THREADS) diff_of[n] = diff[n];
    for (int n = threadIdx.x; n < K; n += THREADS) tau_of[n] = log_tau[n];
    __syncthreads();

    float tau_sum[K] = {}, total_sum[K * K] = {}, confusion_sum[K * (D > 0 ? D : 1) * K] = {}, moved = 0.0f;
    double norm_sum = 0.0, entropy_sum = 0.0;
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n_tasks; i += gridDim.x * THREADS) {
        float p[K], score[K], votes[K], theta[K * (D > 0 ? D : 1)], task_entropy = 0.0f;
#pragma unroll
        for (int k = 0; k < K; ++k) p[k] = phi[(size_t)i * K + k], score[k] = tau_of[k];
        unsigned c = task_ptr[i], end = task_ptr[i + 1];
#pragma unroll
        for (int l = 0; l < K; ++l) {
            votes[l] = 0.0f;
#pragma unroll
            for (int d = 0; d < D; ++d) theta[l * D + d] = 0.0f;
            if (c < end && cell_class[c] == l) {
                float q[D > 0 ? D : 1], share[D > 0 ? D : 1];
#pragma unroll
                for (int d = 0; d < D; ++d) {
                    q[d] = 0.0f;
#pragma unroll
                    for (int k = 0; k < K; ++k) q[d] += p[k] * diff_of[(l * D + d) * K + k];
                }
                unsigned vote = cell_ptr[c], last = cell_ptr[c + 1];
                votes[l] = last - vote;
                ++c;
                for (; vote < last; ++vote) {
                    size_t j = annotator[vote];
                    task_entropy += weigh(log_odds_pi + j * D, q, share);
#pragma unroll
                    for (int d = 0; d < D; ++d) {
                        theta[l * D + d] += share[d];
                        atomicAdd(pi + j * D + d, (Fixed)(share[d] * ONE));
                    }
                }
#pragma unroll
                for (int d = 0; d < D; ++d) task_entropy -= theta[l * D + d] * q[d];
#pragma unroll
                for (int k = 0; k < K; ++k) {
                    score[k] += votes[l] * base_of[l * K + k];
#pragma unroll
                    for (int d = 0; d < D; ++d) score[k] += theta[l * D + d] * diff_of[(l * D + d) * K + k];
                }
            }
        }
        entropy_sum += task_entropy;

        // (12): the posterior, unless the truth is known.
        int truth = known ? known[i] : -1;
        if (truth < 0) {
            float largest = score[0], sum = 0.0f;
#pragma unroll
            for (int k = 1; k < K; ++k) largest = fmaxf(largest, score[k]);
            float weight[K];
#pragma unroll
            for (int k = 0; k < K; ++k) sum += weight[k] = __expf(score[k] - largest);
            norm_sum += (double)largest + __logf(sum);
            float scale = 1.0f / sum;
#pragma unroll
            for (int k = 0; k < K; ++k) {
                float new_p = weight[k] * scale;
                moved = fmaxf(moved, fabsf(new_p - p[k]));
                p[k] = new_p;
                phi[(size_t)i * K + k] = new_p;
            }
        } else {
#pragma unroll
            for (int k = 0; k < K; ++k) norm_sum += k == truth ? score[k] : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < K; ++k) {
            tau_sum[k] += p[k];
#pragma unroll
            for (int l = 0; l < K; ++l) {
                total_sum[l * K + k] += votes[l] * p[k];
#pragma unroll
                for (int d = 0; d < D; ++d) confusion_sum[(l * D + d) * K + k] += theta[l * D + d] * p[k];
            }
        }
    }
    sums += blockIdx.x * (K + K * K + K * D * K + 2);
    for (int k = 0; k < K; ++k) add_up(tau_sum[k], sums++);
    for (int n = 0; n < K * K; ++n) add_up(total_sum[n], sums++);
    for (int n = 0; n < K * D * K; ++n) add_up(confusion_sum[n], sums++);
    add_up(norm_sum, sums++);
    add_up(entropy_sum, sums++);
    for (int lanes = 16; lanes > 0; lanes /= 2) moved = fmaxf(moved, __shfl_down_sync(~0u, moved, lanes));
    if (threadIdx.x % 32 == 0) atomicMax(change, __float_as_uint(moved));  // not negative: ordered like integers
}
