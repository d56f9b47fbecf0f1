// Losses over classes; follows fold.cl. With log-probabilities p, weights w, target t and smoothing
// s over C classes, the loss of a line is -(1 - s) w_t p_t - s / C * sum(w p). GROUP items share a
// line, or, if that is 1, each has its own. The program defines ACC, GROUP, M, LOAD and STORE.
typedef struct {
  i64 lines, classes, step;  // classes of a line are `step` elements apart, lines `step` a sample
  i64 x_at, dx_at, target_at, weight_at, loss_at, count_at, sums_at;
  i64 g_at, g_sample, g_step, ignored;
  i32 logits, has_weight;
} ClassLoss;

#if GROUP == 1
#define LINE GLOBAL_ID
#define ITEM 0
#else
#define LINE GROUP_ID
#define ITEM LOCAL_ID
#endif

// 1 without weights. Reads in any case, and only what is there: compilers may read before they ask.
DEVICE ACC weight_of(GLOBAL const ACC* weight, const ClassLoss* s, i64 c) {
  const ACC w = weight[s->has_weight ? s->weight_at + c : 0];
  return s->has_weight ? w : (ACC)1;
}

// A target that is no class is a fault, and counts for nothing.
KERNEL class_loss(GLOBAL ACC* loss, GLOBAL ACC* count, GLOBAL ACC* sums, GLOBAL const M* x,
                  GLOBAL const i64* targets, GLOBAL const ACC* weight, FAULTS, ClassLoss s,
                  ACC smoothing) {
  SHARED(ACC, shared);
  const i64 line = LINE;
  if (line >= s.lines) return;
  const i64 sample = line / s.step;
  GLOBAL const M* from = x + s.x_at + sample * s.classes * s.step + (line - sample * s.step);
  ACC top = 0, rest = 0;
  if (s.logits) {
    ACC sum = 0;
    top = -(ACC)INFINITY;
    for (i64 c = ITEM; c < s.classes; c += GROUP) {
      ACC a = (ACC)LOAD(from, c * s.step);
      top = MOST_OF(a, top);
    }
    FOLD_GROUP(shared, top, MOST_OF)
    for (i64 c = ITEM; c < s.classes; c += GROUP) sum += exp((ACC)LOAD(from, c * s.step) - top);
    FOLD_GROUP(shared, sum, ADD)
    rest = log(sum);
  }
  ACC every = 0, total = (ACC)s.classes;
  if (smoothing != 0) {
    total = 0;
    for (i64 c = ITEM; c < s.classes; c += GROUP) {
      ACC w = weight_of(weight, &s, c);
      every += w * (ACC)LOAD(from, c * s.step);
      total += w;
    }
    FOLD_GROUP(shared, every, ADD)
    FOLD_GROUP(shared, total, ADD)
  }
  if (ITEM != 0) return;
  if (s.logits) {
    sums[s.sums_at + line] = top;
    sums[s.sums_at + s.lines + line] = rest;
  }
  const i64 target = targets[s.target_at + line];
  const i64 known = target < 0 || target >= s.classes ? 0 : target;
  ACC value = 0, counted = 0;
  if (target != s.ignored) {
    if (target < 0 || target >= s.classes) {
      FAULT(target, 1, s.classes);
    } else {
      counted = weight_of(weight, &s, known);
      value = (1 - smoothing) * counted * (rest - ((ACC)LOAD(from, known * s.step) - top));
      if (smoothing != 0) value += smoothing / (ACC)s.classes * ((top + rest) * total - every);
    }
  }
  loss[s.loss_at + line] = value;
  count[s.count_at + line] = counted;
}

KERNEL class_loss_grad(GLOBAL M* dx, GLOBAL const ACC* g, GLOBAL const ACC* sums, GLOBAL const M* x,
                       GLOBAL const i64* targets, GLOBAL const ACC* weight, ClassLoss s,
                       ACC smoothing) {
  SHARED(ACC, shared);
  const i64 line = LINE;
  if (line >= s.lines) return;
  const i64 sample = line / s.step, at = line - sample * s.step;
  GLOBAL const M* from = x + s.x_at + sample * s.classes * s.step + at;
  GLOBAL M* to = dx + s.dx_at + sample * s.classes * s.step + at;
  const i64 target = targets[s.target_at + line];
  const ACC up = g[s.g_at + sample * s.g_sample + at * s.g_step];
  if (target < 0 || target >= s.classes || target == s.ignored || up == 0) {
    for (i64 c = ITEM; c < s.classes; c += GROUP) STORE(to, c * s.step, (ACC)0);
    return;
  }
  const i64 known = target < 0 || target >= s.classes ? 0 : target;
  const ACC hit = (1 - smoothing) * up * weight_of(weight, &s, known);
  const ACC spread = smoothing / (ACC)s.classes * up;
  ACC by = hit, top = 0, rest = 0;
  if (s.logits) {
    top = sums[s.sums_at + line];
    rest = sums[s.sums_at + s.lines + line];
    if (smoothing != 0) {
      ACC total = (ACC)s.classes;
      if (s.has_weight) {
        total = 0;
        for (i64 c = ITEM; c < s.classes; c += GROUP) total += weight[s.weight_at + c];
        FOLD_GROUP(shared, total, ADD)
      }
      by += spread * total;
    }
  }
  for (i64 c = ITEM; c < s.classes; c += GROUP) {
    ACC v = s.logits ? exp((ACC)LOAD(from, c * s.step) - top - rest) * by : (ACC)0;
    if (smoothing != 0) v -= spread * weight_of(weight, &s, c);
    if (c == target) v -= hit;
    STORE(to, c * s.step, v);
  }
}
