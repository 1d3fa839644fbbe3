// What both kernels of PTBCC compute for each vote.

#define OTHERS (D > 0 ? D : 1)  // arrays must not have zero length

__device__ float weigh(const float *log_odds, const float *q, float *share) {
    // (11): the shares of the prototypes in one vote. Returns the log of the sum of the odds (the first is 1). Annotators
    // come in no order, so their odds stay out of the first cache, which tasks next to each other share.
    float x[OTHERS], largest = 0.0f, total;
    for (int d = 0; d < D; ++d) {
        x[d] = __ldcg(log_odds + d) + q[d];
        largest = fmaxf(largest, x[d]);
    }
    total = __expf(-largest);
    for (int d = 0; d < D; ++d) total += share[d] = __expf(x[d] - largest);
    for (int d = 0; d < D; ++d) share[d] = __fdividef(share[d], total);
    return largest + __logf(total);
}

__device__ float first_theta(const float *p, const float *v, float *theta) {
    // theta_s = sum_k phi_ik v_skl. Returns their sum.
    float total = 0.0f;
    for (int s = 0; s <= D; ++s) {
        theta[s] = 0.0f;
        for (int k = 0; k < K; ++k) theta[s] += p[k] * v[s * K + k];
        total += theta[s];
    }
    return total;
}
