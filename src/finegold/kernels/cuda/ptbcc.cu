// PTBCC with few classes: the GPU version of finegold/kernels/ptbcc.py, with its equations and names. Compiled for K
// classes and D prototypes besides the first, so that the sums of a thread stay in registers, and what it keeps for the
// class of a vote in shared memory.
//
// Arithmetic is float32. Each thread sums over its tasks in float32, each block sums these in float64 in a fixed
// order, and the host sums over the blocks. Sums by annotator are fixed-point integers, for which the order does not
// matter. So the same data give the same bits.

extern "C" __global__ void __launch_bounds__(THREADS)
start(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const float *__restrict__ phi,
      const float *__restrict__ v, Fixed *__restrict__ raw_pi, Fixed *__restrict__ pi, double *sums) {
    // sums: for each block, raw_v [K, S, K], confusion [K, S, K]
    constexpr int S = D + 1, N = K * S * K;
    float raw_sum[N] = {}, share_sum[N] = {}, theta[S];
    for EACH_TASK(i, n_tasks)
        for (unsigned c = task_ptr[i]; c < task_ptr[i + 1]; ++c) {
            const float *p = phi + (size_t)i * K;
            float total = first_theta(p, v + cell_class[c] * S * K, theta), votes = cell_ptr[c + 1] - cell_ptr[c];
            for (int s = 0; s < S; ++s) {
                float share = total > 0.0f ? theta[s] / total : 1.0f / S;
                for (int k = 0; k < K; ++k) {
                    raw_sum[(cell_class[c] * S + s) * K + k] += votes * theta[s] * p[k];
                    share_sum[(cell_class[c] * S + s) * K + k] += votes * share * p[k];
                }
                for (unsigned vote = cell_ptr[c]; vote < cell_ptr[c + 1]; ++vote) {
                    atomicAdd(raw_pi + (size_t)annotator[vote] * S + s, (Fixed)(theta[s] * ONE));
                    atomicAdd(pi + (size_t)annotator[vote] * S + s, (Fixed)(share * ONE));
                }
            }
        }
    sums += blockIdx.x * 2 * N;
    for (int n = 0; n < N; ++n) add_up(raw_sum[n], sums++);
    for (int n = 0; n < N; ++n) add_up(share_sum[n], sums++);
}

// A processor has registers for four blocks if a thread needs 128, which is enough for five classes.
extern "C" __global__ void __launch_bounds__(THREADS, K <= 5 ? 4 : 1)
sweep(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const int *__restrict__ known,
      const float *__restrict__ log_tau, const float *__restrict__ log_odds_pi, const float *__restrict__ base,
      const float *__restrict__ diff, float *__restrict__ phi, Fixed *__restrict__ pi, unsigned *change, double *sums) {
    // sums: for each block, tau [K], total [K, K], confusion [K, D, K], log_norm, entropy
    __shared__ float base_of[K * K], diff_of[K * OTHERS * K], tau_of[K];
    for (int n = threadIdx.x; n < K * K; n += THREADS) base_of[n] = base[n];
    for (int n = threadIdx.x; n < K * D * K; n += THREADS) diff_of[n] = diff[n];
    for (int n = threadIdx.x; n < K; n += THREADS) tau_of[n] = log_tau[n];
    __syncthreads();

    // Per thread, since the class of a vote is no constant: q and the sum of theta for each class, and its votes.
    __shared__ float q_of[K * OTHERS][THREADS], theta_of[K * OTHERS][THREADS], votes_of[K][THREADS];
    const unsigned me = threadIdx.x;

    float tau_sum[K] = {}, total_sum[K * K] = {}, confusion_sum[K * OTHERS * K] = {}, moved = 0.0f;
    double norm_sum = 0.0, entropy_sum = 0.0;
    for EACH_TASK(i, n_tasks) {
        float p[K], score[K], task_entropy = 0.0f;
#pragma unroll
        for (int k = 0; k < K; ++k) p[k] = phi[(size_t)i * K + k], score[k] = tau_of[k];
#pragma unroll
        for (int l = 0; l < K; ++l) {
            votes_of[l][me] = 0.0f;
#pragma unroll
            for (int d = 0; d < D; ++d) {
                float q = 0.0f;
#pragma unroll
                for (int k = 0; k < K; ++k) q += p[k] * diff_of[(l * D + d) * K + k];
                q_of[l * D + d][me] = q;
                theta_of[l * D + d][me] = 0.0f;
            }
        }
        unsigned c = task_ptr[i], vote = cell_ptr[c], last = cell_ptr[task_ptr[i + 1]], next = vote;
        for (int l = 0; vote < last; ++vote) {  // one loop, so that all threads of a warp are at a vote
            if (vote == next) {
                l = cell_class[c];
                next = cell_ptr[++c];
                votes_of[l][me] = next - vote;
            }
            float q[OTHERS], share[OTHERS];
            size_t j = annotator[vote];
#pragma unroll
            for (int d = 0; d < D; ++d) q[d] = q_of[l * D + d][me];
            task_entropy += weigh(log_odds_pi + j * D, q, share);
#pragma unroll
            for (int d = 0; d < D; ++d) {
                theta_of[l * D + d][me] += share[d];
                atomicAdd(pi + j * D + d, (Fixed)(share[d] * ONE));
            }
        }
        float votes[K], theta[K * OTHERS];
#pragma unroll
        for (int l = 0; l < K; ++l) {
            votes[l] = votes_of[l][me];
#pragma unroll
            for (int d = 0; d < D; ++d) {
                theta[l * D + d] = theta_of[l * D + d][me];
                task_entropy -= theta[l * D + d] * q_of[l * D + d][me];
            }
#pragma unroll
            for (int k = 0; k < K; ++k) {
                score[k] += votes[l] * base_of[l * K + k];
#pragma unroll
                for (int d = 0; d < D; ++d) score[k] += theta[l * D + d] * diff_of[(l * D + d) * K + k];
            }
        }
        entropy_sum += task_entropy;

        // (12): the posterior, unless the truth is known.
        int truth = known[i];
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
    keep_largest(moved, change);
}
