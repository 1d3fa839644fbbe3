// PTBCC with many classes: like ptbcc.cu, but without K x K work per task. What does not fit into registers is added to
// memory in float64. The order of the threads is not fixed, so the last bits may differ from run to run.

extern "C" __global__ void __launch_bounds__(THREADS)
start(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const float *__restrict__ phi,
      const float *__restrict__ v, Fixed *__restrict__ raw_pi, Fixed *__restrict__ pi, double *sums) {
    // sums: raw_v [K, S, K], confusion [K, S, K]
    constexpr int S = D + 1, N = K * S * K;
    float theta[S];
    for EACH_TASK(i, n_tasks)
        for (unsigned c = task_ptr[i]; c < task_ptr[i + 1]; ++c) {
            const float *p = phi + (size_t)i * K;
            float total = first_theta(p, v + cell_class[c] * S * K, theta), votes = cell_ptr[c + 1] - cell_ptr[c];
            for (int s = 0; s < S; ++s) {
                float share = total > 0.0f ? theta[s] / total : 1.0f / S;
                double *row = sums + (cell_class[c] * S + s) * K;
                for (int k = 0; k < K; ++k)
                    if (p[k] > 0.0f) {
                        atomicAdd(row + k, (double)(votes * theta[s] * p[k]));
                        atomicAdd(row + N + k, (double)(votes * share * p[k]));
                    }
                for (unsigned vote = cell_ptr[c]; vote < cell_ptr[c + 1]; ++vote) {
                    atomicAdd(raw_pi + (size_t)annotator[vote] * S + s, (Fixed)(theta[s] * ONE));
                    atomicAdd(pi + (size_t)annotator[vote] * S + s, (Fixed)(share * ONE));
                }
            }
        }
}

extern "C" __global__ void __launch_bounds__(THREADS)
sweep(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const int *__restrict__ known,
      const float *__restrict__ log_tau, const float *__restrict__ log_odds_pi, const float *__restrict__ base,
      const float *__restrict__ diff, float *__restrict__ phi, Fixed *__restrict__ pi, unsigned *change, double *sums,
      float *__restrict__ theta) {
    // sums: tau [K], total [K, K], confusion [K, D, K], log_norm, entropy; theta: scratch of [cells, D]
    double *totals = sums + K, *confusion = totals + K * K, *numbers = confusion + K * D * K;
    double norm_sum = 0.0, entropy_sum = 0.0;
    float moved = 0.0f, score[K];
    for EACH_TASK(i, n_tasks) {
        float *p = phi + (size_t)i * K, task_entropy = 0.0f;
        for (int k = 0; k < K; ++k) score[k] = log_tau[k];
        for (unsigned c = task_ptr[i]; c < task_ptr[i + 1]; ++c) {
            float q[OTHERS], share[OTHERS], votes = cell_ptr[c + 1] - cell_ptr[c], *of_cell = theta + (size_t)c * D;
            const float *of_base = base + cell_class[c] * K, *of_diff = diff + cell_class[c] * D * K;
            for (int d = 0; d < D; ++d) {
                q[d] = of_cell[d] = 0.0f;
                for (int k = 0; k < K; ++k) q[d] += p[k] * of_diff[d * K + k];
            }
            for (unsigned vote = cell_ptr[c]; vote < cell_ptr[c + 1]; ++vote) {
                size_t j = annotator[vote];
                task_entropy += weigh(log_odds_pi + j * D, q, share);
                for (int d = 0; d < D; ++d) {
                    of_cell[d] += share[d];
                    atomicAdd(pi + j * D + d, (Fixed)(share[d] * ONE));
                }
            }
            for (int d = 0; d < D; ++d) task_entropy -= of_cell[d] * q[d];
            for (int k = 0; k < K; ++k) {
                score[k] += votes * of_base[k];
                for (int d = 0; d < D; ++d) score[k] += of_cell[d] * of_diff[d * K + k];
            }
        }
        entropy_sum += task_entropy;
        if (known[i] < 0) {
            float largest = score[0], sum = 0.0f;
            for (int k = 1; k < K; ++k) largest = fmaxf(largest, score[k]);
            for (int k = 0; k < K; ++k) sum += score[k] = __expf(score[k] - largest);
            norm_sum += (double)largest + __logf(sum);
            for (int k = 0; k < K; ++k) {
                moved = fmaxf(moved, fabsf(score[k] / sum - p[k]));
                p[k] = score[k] / sum;
            }
        } else
            norm_sum += score[known[i]];
        for (int k = 0; k < K; ++k)
            if (p[k] > 0.0f) atomicAdd(sums + k, (double)p[k]);
        for (unsigned c = task_ptr[i]; c < task_ptr[i + 1]; ++c) {
            float votes = cell_ptr[c + 1] - cell_ptr[c];
            for (int k = 0; k < K; ++k)
                if (p[k] > 0.0f) {
                    atomicAdd(totals + cell_class[c] * K + k, (double)(votes * p[k]));
                    for (int d = 0; d < D; ++d)
                        atomicAdd(confusion + (cell_class[c] * D + d) * K + k, (double)(theta[(size_t)c * D + d] * p[k]));
                }
        }
    }
    atomicAdd(numbers, norm_sum);
    atomicAdd(numbers + 1, entropy_sum);
    keep_largest(moved, change);
}
