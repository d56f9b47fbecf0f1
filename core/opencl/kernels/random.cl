// Random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011). Element i takes words of the block that its place gives, whatever the work-groups are. The
// program defines R (float or double, or i64 for integers), PER (elements per block), M_OUT, STORE
// and VALUES, which fills R v[PER] from the words w[4].
#if defined(__OPENCL_VERSION__)
#define HIGH32(a, b) mul_hi((u32)(a), (u32)(b))
#else
#define HIGH32(a, b) __umulhi(a, b)
#endif

typedef struct {
  u32 w[4];
} Words;

DEVICE Words philox(u64 block, u32 key0, u32 key1) {
  u32 a = (u32)block, b = (u32)(block >> 32), c = 0, d = 0;
  for (int round_ = 0; round_ < 10; round_++) {
    u32 high0 = HIGH32(0xD2511F53u, a), low0 = 0xD2511F53u * a;
    u32 high1 = HIGH32(0xCD9E8D57u, c), low1 = 0xCD9E8D57u * c;
    a = high1 ^ b ^ key0;
    b = low1;
    c = high0 ^ d ^ key1;
    d = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  Words made;
  made.w[0] = a;
  made.w[1] = b;
  made.w[2] = c;
  made.w[3] = d;
  return made;
}

#define WORD64(w, i) (((u64)(w)[2 * (i)] << 32) | (w)[2 * (i) + 1])
#ifdef WIDE
// In [0, 1), and in (0, 1).
#define UNIT(w, i) ((R)(WORD64(w, i) >> 11) * (R)1.1102230246251565e-16)
#define OPEN(w, i) (((R)(WORD64(w, i) >> 12) + (R)0.5) * (R)2.220446049250313e-16)
#else
// DIGITS: the bits that the element type holds, so that nothing rounds up to 1.
#define UNIT(w, i) ((R)((w)[i] >> (32 - DIGITS)) / (R)(1u << DIGITS))
#define OPEN(w, i) fmin(((R)(w)[i] + (R)0.5) * (R)2.3283064365386963e-10, (R)0.99999994)
#endif
#define TAU ((R)6.28318530717958647693)
// Normal numbers come in pairs (Box and Muller).
#define NORMAL(to)                                                     \
  for (int i = 0; i < PER; i += 2) {                                   \
    R size = sqrt(2 * -log(OPEN(w, i))), angle = TAU * OPEN(w, i + 1); \
    to[i] = a + b * size * cos(angle);                                 \
    to[i + 1] = a + b * size * sin(angle);                             \
  }
#define EACH(value) \
  for (int i = 0; i < PER; i++) v[i] = value

KERNEL random_fill(GLOBAL M_OUT* out, i64 at, i64 n, u32 key0, u32 key1, SCALAR a, SCALAR b,
                   i64 low, u64 width) {
  i64 first = GLOBAL_ID * PER;
  if (first >= n) return;
  Words words = philox((u64)GLOBAL_ID, key0, key1);
  u32* w = words.w;
  R v[PER];
  VALUES;
  for (int i = 0; i < PER; i++)
    if (first + i < n) STORE(out, at + first + i, v[i]);
}
