// Sums by annotator and class of a vote ("slot"): for every vote, a row of K numbers between 0 and 1 is added to its slot.
// Votes are sorted by slot once per fit, so a sweep needs no atomic additions. A warp adds up to CHUNK votes of a slot.
// Threads sort the votes of a slot in no fixed order, so the last bits of sums may differ from run to run.

extern "C" __global__ void __launch_bounds__(THREADS)
slots_of(unsigned n_tasks, const unsigned *__restrict__ task_ptr, const unsigned *__restrict__ cell_ptr,
         const CLASS *__restrict__ cell_class, const unsigned *__restrict__ annotator, unsigned *__restrict__ slot,
         unsigned *__restrict__ task) {
    for EACH_TASK(i, n_tasks)
        for (unsigned c = task_ptr[i]; c < task_ptr[i + 1]; ++c)
            for (unsigned vote = cell_ptr[c]; vote < cell_ptr[c + 1]; ++vote) {
                slot[vote] = annotator[vote] * K + cell_class[c];
                task[vote] = i;
            }
}

extern "C" __global__ void __launch_bounds__(THREADS)
count_votes(unsigned n_votes, const unsigned *__restrict__ slot, unsigned *__restrict__ counts) {
    for EACH_TASK(vote, n_votes) atomicAdd(counts + slot[vote], 1u);
}

extern "C" __global__ void __launch_bounds__(THREADS)
sort_votes(unsigned n_votes, const unsigned *__restrict__ slot, const unsigned *__restrict__ row,
           unsigned *__restrict__ next, unsigned *__restrict__ rows) {
    // next: the next free place of each slot in rows
    for EACH_TASK(vote, n_votes) rows[atomicAdd(next + slot[vote], 1u)] = row[vote];
}

extern "C" __global__ void __launch_bounds__(THREADS)
name_chunks(unsigned n_slots, const unsigned *__restrict__ first_chunk, unsigned *__restrict__ slot_of) {
    for EACH_TASK(slot, n_slots)
        for (unsigned chunk = first_chunk[slot]; chunk < first_chunk[slot + 1]; ++chunk) slot_of[chunk] = slot;
}

__device__ double of_warp(double value) {
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0u, value, lanes);
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
sum_chunks(unsigned n_chunks, const unsigned *__restrict__ slot_of, const unsigned *__restrict__ first_chunk,
           const unsigned *__restrict__ first_vote, const unsigned *__restrict__ rows, const REAL *__restrict__ values,
           double *__restrict__ partial) {
    constexpr int TILE = K < 8 ? K : 8;
    const unsigned lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
    for (unsigned chunk = (blockIdx.x * THREADS + threadIdx.x) / 32; chunk < n_chunks; chunk += warps) {
        unsigned slot = slot_of[chunk], first = first_vote[slot] + (chunk - first_chunk[slot]) * CHUNK;
        unsigned end = min(first + CHUNK, first_vote[slot + 1]);
        for (int tile = 0; tile < K; tile += TILE) {
            double sum[TILE] = {};
            for (unsigned vote = first + lane; vote < end; vote += 32) {
                const REAL *row = values + (size_t)rows[vote] * K + tile;
#pragma unroll
                for (int k = 0; k < TILE; ++k)
                    if (tile + k < K) sum[k] += row[k];
            }
#pragma unroll
            for (int k = 0; k < TILE; ++k) {
                double total = of_warp(sum[k]);
                if (lane == 0 && tile + k < K) partial[(size_t)chunk * K + tile + k] = total;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
sum_slots(unsigned n_sums, const unsigned *__restrict__ first_chunk, const double *__restrict__ partial,
          double *__restrict__ n) {
    for EACH_TASK(i, n_sums) {
        double sum = 0.0;
        for (unsigned chunk = first_chunk[i / K]; chunk < first_chunk[i / K + 1]; ++chunk)
            sum += partial[(size_t)chunk * K + i % K];
        n[i] = sum;
    }
}
