// The GPU version of finegold/kernels/confusion.py. Scores are sums of logs in float64. by_annotator.cu counts the votes.

__device__ const double IMPOSSIBLE = -1e300;  // replaces -inf, so that the difference of two of them is 0

extern "C" __global__ void __launch_bounds__(THREADS)
sweep(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const int *__restrict__ known,
      const double *__restrict__ log_tau, const double *__restrict__ log_v, REAL *__restrict__ phi,
      unsigned *change, double *sums) {
    // sums: for each block, tau [K] and the log-normalisers
    float moved = 0.0f;
    double log_norm = 0.0, score[K], tau[K] = {};
    for EACH_TASK(i, n_tasks) {
        REAL *row = phi + (size_t)i * K;
        unsigned first = task_ptr[i], end = task_ptr[i + 1];
        EACH_CLASS(k) score[k] = log_tau[k];
        for (unsigned c = first; c < end; ++c)
            for (unsigned vote = cell_ptr[c]; vote < cell_ptr[c + 1]; ++vote) {
                const double *log_row = log_v + ((size_t)annotator[vote] * K + cell_class[c]) * K;
                EACH_CLASS(k) score[k] += log_row[k];
            }
        double largest = IMPOSSIBLE, total = 0.0;
        EACH_CLASS(k) largest = fmax(largest, score[k] = fmax(score[k], IMPOSSIBLE));
        if (known[i] < 0) {
            EACH_CLASS(k) total += score[k] = exp(score[k] - largest);
            log_norm += largest + log(total);
            EACH_CLASS(k) {
                REAL p = score[k] / total;
                moved = fmaxf(moved, fabs((double)p - row[k]));
                row[k] = p;
                tau[k] += p;
            }
        } else
            EACH_CLASS(k) if (k == known[i]) log_norm += score[k], tau[k] += 1.0;
    }
    sums += (size_t)blockIdx.x * (K + 1);
    for (int k = 0; k < K; ++k) add_up(tau[k], sums + k);
    add_up(log_norm, sums + K);
    keep_largest(moved, change);
}
