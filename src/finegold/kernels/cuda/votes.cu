// The GPU version of finegold/kernels/votes.py.

extern "C" __global__ void __launch_bounds__(THREADS)
vote_shares(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
            const CLASS *__restrict__ cell_class, const int *__restrict__ gold, REAL *__restrict__ phi) {
    for EACH_TASK(i, n_tasks) {
        REAL *row = phi + (size_t)i * K;
        unsigned first = task_ptr[i], end = task_ptr[i + 1];
        REAL votes = cell_ptr[end] - cell_ptr[first];
        for (int k = 0; k < K; ++k) row[k] = k == gold[i];
        if (gold[i] < 0)
            for (unsigned c = first; c < end; ++c) row[cell_class[c]] = (cell_ptr[c + 1] - cell_ptr[c]) / votes;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
decide(unsigned n_tasks, const REAL *__restrict__ phi, const int *__restrict__ preference, double near,
       int *__restrict__ label, bool *__restrict__ tied) {
    for EACH_TASK(i, n_tasks) {
        const REAL *row = phi + (size_t)i * K;
        REAL highest = row[0];
        for (int k = 1; k < K; ++k) highest = row[k] > highest ? row[k] : highest;
        double least = highest * (1.0 - near);
        int best = -1, candidates = 0;
        for (int rank = 0; rank < K; ++rank)
            if (row[preference[rank]] >= least && candidates++ == 0) best = preference[rank];
        label[i] = best;
        tied[i] = candidates > 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
agreement(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
          const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, const REAL *__restrict__ phi,
          const int *__restrict__ label, unsigned *__restrict__ counts, Fixed *__restrict__ expected) {
    // counts [W, 2]: votes cast, and votes for the label; expected [W] in fixed point, so that no order matters
    for EACH_TASK(i, n_tasks)
        for (unsigned c = task_ptr[i]; c < task_ptr[i + 1]; ++c) {
            bool right = cell_class[c] == label[i];
            Fixed probability = (Fixed)((double)phi[(size_t)i * K + cell_class[c]] * ONE);
            for (unsigned vote = cell_ptr[c]; vote < cell_ptr[c + 1]; ++vote) {
                size_t j = annotator[vote];
                atomicAdd(counts + 2 * j, 1u);
                if (right) atomicAdd(counts + 2 * j + 1, 1u);
                atomicAdd(expected + j, probability);
            }
        }
}
