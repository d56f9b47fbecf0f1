// Folds over the items of a work-group, as a tree in local memory, and over the LANES of an item.
// All counts are powers of two. The program defines GROUP, the items of a group.
#if GROUP > 1
#define SHARED(type, name) LOCAL type name[GROUP]
#else
#define SHARED(type, name) type name[1]  // local memory that nobody uses may still cost
#endif
#define ADD(a, b) ((a) + (b))
#define MOST_OF(a, b) ((a) > (b) ? (a) : (b))

// `count` rows of `step` items have left something in local memory, before a barrier. `action`
// joins what item `other` has left to that of item `me`, until row 0 has it all. Pairs such as a
// value and its place are two arrays: as structs they are slower.
#define TREE(count, step, action)                                          \
  for (int reach_ = (count) / 2 * (step); reach_ >= (step); reach_ /= 2) { \
    if (LOCAL_ID < reach_) {                                               \
      const int me = LOCAL_ID, other = LOCAL_ID + reach_;                  \
      action                                                               \
    }                                                                      \
    BARRIER();                                                             \
  }
// Each item gets the fold of `value` over its column of `count` rows. SYNC is the first barrier:
// BARRIER_GLOBAL puts accesses to global memory in order, too.
#define FOLD_ROWS(shared, value, count, step, JOIN, SYNC)            \
  if ((count) > 1) {                                                 \
    shared[LOCAL_ID] = value;                                        \
    SYNC();                                                          \
    TREE(count, step, shared[me] = JOIN(shared[me], shared[other]);) \
    value = shared[LOCAL_ID % (step)];                               \
    BARRIER();                                                       \
  }
// Every item gets the fold over the whole group.
#define FOLD_GROUP(shared, value, JOIN) FOLD_ROWS(shared, value, GROUP, 1, JOIN, BARRIER)
// acc[0] becomes the fold of acc.
#define FOLD_LANES(acc, JOIN)                           \
  for (int reach_ = LANES / 2; reach_ > 0; reach_ /= 2) \
    for (int l_ = 0; l_ < reach_; l_++) acc[l_] = JOIN(acc[l_], acc[l_ + reach_]);
