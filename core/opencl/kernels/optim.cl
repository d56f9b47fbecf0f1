// Optimizer steps: every element with all of its state, once. The order of operations is that of
// the CPU's loops. The program defines ACC, M, LOAD, STORE and which parts of a step are wanted.
#define NUMBERS ACC lr, ACC eps, ACC decay, ACC sign, ACC a, ACC b, ACC c, ACC d
#define BEGIN                                  \
  const i64 i = GLOBAL_ID;                     \
  if (i >= n) return;                          \
  ACC was = (ACC)LOAD(p, p_at + i);            \
  ACC g = sign * (ACC)LOAD(grad, grad_at + i); \
  if (DECAY) g += decay * was;

DEVICE ACC blend_to(ACC from, ACC to, ACC weight) {
  return weight < (ACC)0.5 ? from + weight * (to - from) : to - (to - from) * (1 - weight);
}

#ifdef SGD
// a: momentum, b: 1 - dampening
KERNEL sgd(GLOBAL M* p, i64 p_at, GLOBAL const M* grad, i64 grad_at, GLOBAL M* buffer,
           i64 buffer_at, i64 n, NUMBERS) {
  BEGIN
#if MOMENTUM
  ACC kept = FIRST ? g : a * (ACC)LOAD(buffer, buffer_at + i) + b * g;
  STORE(buffer, buffer_at + i, kept);
  g = NESTEROV ? g + a * kept : kept;
#endif
  was = was - lr * g;
  STORE(p, p_at + i, was);
}
#endif

#ifdef ADAM
// a: 1 - beta1, b: beta2, c: what the root of the square is divided by, d: what the parameter keeps
KERNEL adam(GLOBAL M* p, i64 p_at, GLOBAL const M* grad, i64 grad_at, GLOBAL M* mean, i64 mean_at,
            GLOBAL M* square, i64 square_at, GLOBAL M* largest, i64 largest_at, ACC fresh, i64 n,
            NUMBERS) {
  BEGIN
  ACC m = blend_to((ACC)LOAD(mean, mean_at + i), g, a);
  ACC v = (ACC)LOAD(square, square_at + i) * b + fresh * g * g;
  STORE(mean, mean_at + i, m);
  STORE(square, square_at + i, v);
#if AMSGRAD
  ACC most = (ACC)LOAD(largest, largest_at + i);
  v = most > v || most != most ? most : v;
  STORE(largest, largest_at + i, v);
#endif
  was = was * d - lr * m / (sqrt(v) / c + eps);
  STORE(p, p_at + i, was);
}
#endif

#ifdef RMSPROP
// a: alpha, b: 1 - alpha, c: momentum
KERNEL rmsprop(GLOBAL M* p, i64 p_at, GLOBAL const M* grad, i64 grad_at, GLOBAL M* square,
               i64 square_at, GLOBAL M* mean, i64 mean_at, GLOBAL M* buffer, i64 buffer_at, i64 n,
               NUMBERS) {
  BEGIN
  ACC v = (ACC)LOAD(square, square_at + i) * a + b * g * g;
  STORE(square, square_at + i, v);
#if CENTERED
  ACC m = blend_to((ACC)LOAD(mean, mean_at + i), g, b);
  STORE(mean, mean_at + i, m);
  v -= m * m;
#endif
  ACC ratio = g / (sqrt(v) + eps);
#if MOMENTUM
  ratio += c * (ACC)LOAD(buffer, buffer_at + i);
  STORE(buffer, buffer_at + i, ratio);
#endif
  was = was - lr * ratio;
  STORE(p, p_at + i, was);
}
#endif

#ifdef ADAGRAD
KERNEL adagrad(GLOBAL M* p, i64 p_at, GLOBAL const M* grad, i64 grad_at, GLOBAL M* sum, i64 sum_at,
               i64 n, NUMBERS) {
  BEGIN
  ACC v = (ACC)LOAD(sum, sum_at + i) + g * g;
  STORE(sum, sum_at + i, v);
  was = was - lr * g / (sqrt(v) + eps);
  STORE(p, p_at + i, was);
}
#endif
