// The GPU version of finegold/kernels/anchored.py, with posteriors in float64. by_annotator.cu counts the votes.

extern "C" __global__ void __launch_bounds__(THREADS)
start(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      double *sums) {
    // sums: for each block, the two numbers of `pairs`
    double agreement = 0.0, tasks = 0.0;
    for EACH_TASK(i, n_tasks) {
        unsigned first = task_ptr[i], end = task_ptr[i + 1];
        double votes = cell_ptr[end] - cell_ptr[first], agreeing = 0.0;
        if (votes < 2.0) continue;
        for (unsigned c = first; c < end; ++c) {
            double size = cell_ptr[c + 1] - cell_ptr[c];
            agreeing += size * (size - 1.0);
        }
        agreement += agreeing / (votes * (votes - 1.0));
        tasks += 1.0;
    }
    add_up(agreement, sums + blockIdx.x * 2);
    add_up(tasks, sums + blockIdx.x * 2 + 1);
}

struct Totals {  // over the votes of a task: weights, probabilities of being right, their squares, deviations, squares
    double weights, chances, squares, deviations, variances;
};

__device__ Totals add_votes(const unsigned *cell_ptr, const CLASS *cell_class, const unsigned *annotator, unsigned c,
                            unsigned end, const double *log_v, const double *people, double *size, double *share,
                            double *score, double *right) {
    Totals totals = {};
    EACH_CLASS(k) size[k] = share[k] = score[k] = right[k] = 0.0;
    EACH_CLASS(l) {
        if (c < end && cell_class[c] == l) {
            unsigned vote = cell_ptr[c], last = cell_ptr[++c];
            size[l] = last - vote;
            for (; vote < last; ++vote) {
                const double *person = people + (size_t)annotator[vote] * 3;
                const double *log_row = log_v + ((size_t)annotator[vote] * K + l) * K;
                double weight = person[0], chance = person[1], deviation = person[2];
                share[l] += weight;
                right[l] += chance;
                totals.weights += weight;
                totals.chances += chance;
                totals.squares += chance * chance;
                totals.deviations += deviation;
                totals.variances += deviation * deviation;
                EACH_CLASS(k) score[k] += log_row[k];
            }
        }
    }
    return totals;
}

__device__ void softmax(const double *size, const double *log_prior, double *score) {
    double largest = -1e300, total = 0.0;
    EACH_CLASS(k) if (size[k] > 0.0) largest = fmax(largest, score[k] += log_prior[k]);
    EACH_CLASS(k) total += score[k] = size[k] > 0.0 ? exp(score[k] - largest) : 0.0;
    EACH_CLASS(k) score[k] /= total;
}

__device__ double residuals(int known, Totals totals, const double *size, const double *right, const double *p) {
    double found = 0.0;
    EACH_CLASS(k) if (size[k] > 0.0) {
        double total = size[k] - totals.chances, weight = known < 0 ? p[k] : known == k;
        found += weight * (total * total - (size[k] - 2.0 * right[k] + totals.squares));
    }
    return found;
}

__device__ float write(double votes, const double *settings, const double *q, double *phi) {
    // Writes the calibrated q to phi and returns the largest difference between q and the previous phi.
    double design = 1.0 + (votes - 1.0) * settings[1], pseudo = settings[2] * design;
    double power = design == 1.0 ? 1.0 : pow(design, -settings[3]), sharp[K], total = 0.0, change = 0.0;
    EACH_CLASS(k) total += sharp[k] = q[k] > 0.0 && power != 1.0 ? pow(q[k], power) : q[k];
    EACH_CLASS(k) {
        change = fmax(change, fabs(q[k] - phi[k]));
        phi[k] = (votes * (sharp[k] / total) + pseudo / K) / (votes + pseudo);
    }
    return change;
}

extern "C" __global__ void __launch_bounds__(THREADS)
sweep(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
      const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const int *__restrict__ known,
      const double *__restrict__ log_prior, const double *__restrict__ log_v, const double *__restrict__ people,
      const double *__restrict__ settings, double *__restrict__ phi, double *__restrict__ shares, unsigned *change,
      double *sums) {
    // shares: q, or the known truth; sums: for each block, tau [K] and the two numbers of `excess`
    float moved = 0.0f;
    double size[K], share[K], score[K], right[K], tau[K] = {}, found = 0.0, most = 0.0;
    for EACH_TASK(i, n_tasks) {
        unsigned first = task_ptr[i], end = task_ptr[i + 1];
        int truth = known[i];
        Totals totals = add_votes(cell_ptr, cell_class, annotator, first, end, log_v, people, size, share, score, right);
        softmax(size, log_prior, score);
        found += residuals(truth, totals, size, right, score);
        most += totals.deviations * totals.deviations - totals.variances;
        double *q = share;
        EACH_CLASS(k) q[k] = settings[0] * share[k] / totals.weights + (1.0 - settings[0]) * score[k];
        if (truth < 0)
            moved = fmaxf(moved, write(cell_ptr[end] - cell_ptr[first], settings, q, phi + (size_t)i * K));
        EACH_CLASS(k) {
            double p = truth < 0 ? q[k] : k == truth;
            shares[(size_t)i * K + k] = p;
            tau[k] += p;
        }
    }
    double *of_block = sums + (size_t)blockIdx.x * (K + 2);
    for (int k = 0; k < K; ++k) add_up(tau[k], of_block + k);
    add_up(found, of_block + K);
    add_up(most, of_block + K + 1);
    keep_largest(moved, change);
}
