// The GPU version of finegold/kernels/ibcc.py, in float64. by_annotator.cu adds up the messages.

extern "C" __global__ void __launch_bounds__(THREADS)
index_votes(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
            const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, unsigned *__restrict__ slot,
            unsigned *__restrict__ first_vote) {
    for EACH_TASK(i, n_tasks) {
        first_vote[i] = cell_ptr[task_ptr[i]];
        if (i + 1 == n_tasks) first_vote[n_tasks] = cell_ptr[task_ptr[n_tasks]];
        for (unsigned c = task_ptr[i]; c < task_ptr[i + 1]; ++c)
            for (unsigned vote = cell_ptr[c]; vote < cell_ptr[c + 1]; ++vote)
                slot[vote] = annotator[vote] * K + cell_class[c];
    }
}

__device__ void to_one(double *p) {
    // Divide by the largest: only ratios matter, and a product of many votes must not underflow.
    double largest = 0.0;
    for (int k = 0; k < K; ++k) largest = fmax(largest, p[k]);
    for (int k = 0; k < K; ++k) p[k] /= largest;
}

extern "C" __global__ void __launch_bounds__(THREADS)
sweep(unsigned n_tasks, const unsigned *__restrict__ first_vote, const unsigned *__restrict__ slot,
      const int *__restrict__ known, const double *__restrict__ g, const double *__restrict__ a,
      const double *__restrict__ A, double *__restrict__ delta, double *__restrict__ eps, REAL *__restrict__ phi,
      unsigned *change, double *sums) {
    // sums: for each block, eps [K]
    float moved = 0.0f;
    double lik[K], prior[K], p[K], eps_sum[K] = {};
    for EACH_TASK(i, n_tasks) {
        unsigned first = first_vote[i], end = first_vote[i + 1];
        for (int k = 0; k < K; ++k) lik[k] = 1.0;
        for (unsigned n = first; n < end; ++n) {
            size_t s = (size_t)slot[n] * K, sent = (size_t)n * K;
            for (int k = 0; k < K; ++k) lik[k] *= (a[s + k] - delta[sent + k]) / (A[s + k] - delta[sent + k]);
            if ((n - first) % 16 == 15) to_one(lik);
        }
        REAL *row = phi + (size_t)i * K;
        double *task_message = eps + (size_t)i * K;
        if (known[i] < 0) {
            double total = 0.0;
            int least = 0;
            for (int k = 0; k < K; ++k) {
                total += p[k] = (prior[k] = g[k] - task_message[k]) * lik[k];
                least = lik[k] < lik[least] ? k : least;
            }
            for (int k = 0; k < K; ++k) {
                p[k] /= total;
                moved = fmaxf(moved, fabs(p[k] - row[k]));
                row[k] = p[k];
            }
            // The pseudo-count of the least likely class is not changed.
            double scale = 1.0 / (prior[least] + p[least]);
            for (int k = 0; k < K; ++k) {
                task_message[k] = fmax((prior[least] * p[k] - prior[k] * p[least]) * scale, 0.0);
                eps_sum[k] += task_message[k];
            }
        } else
            for (int k = 0; k < K; ++k) p[k] = row[k], eps_sum[k] += k == known[i];
        for (unsigned n = first; n < end; ++n) {
            size_t s = (size_t)slot[n] * K, sent = (size_t)n * K;
            for (int k = 0; k < K; ++k) {
                double others = A[s + k] - delta[sent + k];
                delta[sent + k] = p[k] * others / (others + (1.0 - p[k]));
            }
        }
    }
    for (int k = 0; k < K; ++k) add_up(eps_sum[k], sums + blockIdx.x * K + k);
    keep_largest(moved, change);
}
