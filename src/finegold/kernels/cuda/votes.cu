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
