// Stable sorting of lines: blocks in local memory (bitonic), then merges of runs that double in
// length. Keys go with their places; equal keys are told apart by these. The program defines KEY,
// READ, STORE, M_IN, M_OUT, DESCENDING and BLOCK, a power of two.
DEVICE int goes_after(KEY a, i64 i, KEY b, i64 j) {
  if (i < 0 || j < 0) return i < 0 && j >= 0;  // a place of -1 is padding and comes last
  int a_nan = a != a, b_nan = b != b;
  if (a_nan | b_nan) {
    if (a_nan & b_nan) return i > j;
    return DESCENDING ? b_nan : a_nan;
  }
  if (a == b) return i > j;
  return DESCENDING ? a < b : a > b;
}

// One work-group of BLOCK / 2 items per block; `kept` elements of each go on, to lines of `room`.
// They come from x or, in a later round of topk, from lines of keys and places.
KERNEL sort_blocks(GLOBAL KEY* keys, GLOBAL i64* places, GLOBAL const M_IN* x,
                   GLOBAL const KEY* old_keys, GLOBAL const i64* old_places, Geometry g, i64 n,
                   i64 blocks, i64 kept, i64 room, i64 step1, i32 again) {
  LOCAL KEY key[BLOCK];
  LOCAL i64 place[BLOCK];
  i64 line = GROUP_ID / blocks, first = (GROUP_ID - line * blocks) * BLOCK;
  i64 from = line_at(&g, 1, line);
  int t = LOCAL_ID;
  for (int k = t; k < BLOCK; k += BLOCK / 2) {
    i64 i = first + k;
    i64 safe = i < n ? i : 0;
    place[k] = i < n ? (again ? old_places[line * n + i] : i) : -1;
    key[k] = again ? old_keys[line * n + safe] : READ(x, from + safe * step1);
  }
  BARRIER();
  for (int size = 2; size <= BLOCK; size *= 2)
    for (int reach = size / 2; reach > 0; reach /= 2) {
      int i = t / reach * 2 * reach + t % reach, j = i + reach;
      KEY a = key[i], b = key[j];
      i64 p = place[i], q = place[j];
      int up = (i & size) == 0;
      if (up ? goes_after(a, p, b, q) : goes_after(b, q, a, p)) {
        key[i] = b;
        key[j] = a;
        place[i] = q;
        place[j] = p;
      }
      BARRIER();
    }
  i64 to = line * room + (GROUP_ID - line * blocks) * kept;
  for (int k = t; k < kept; k += BLOCK / 2)
    if (first + k < n) {
      keys[to + k] = key[k];
      places[to + k] = place[k];
    }
}

// Each element finds its place: as many before it as in its own run, and in the other one.
KERNEL sort_merge(GLOBAL KEY* keys, GLOBAL i64* places, GLOBAL const KEY* old_keys,
                  GLOBAL const i64* old_places, i64 total, i64 n, i64 width) {
  i64 i = GLOBAL_ID;
  if (i >= total) return;
  i64 line = i / n, base = line * n, j = i - base;
  i64 pair = j / (2 * width) * 2 * width, middle = pair + width;
  i64 end = pair + 2 * width < n ? pair + 2 * width : n;
  KEY a = old_keys[i];
  i64 p = old_places[i], to = j;
  if (middle < n) {
    int first = j < middle;
    i64 low = first ? middle : pair, high = first ? end : middle, start = low;
    while (low < high) {
      i64 m = low + (high - low) / 2;
      if (goes_after(a, p, old_keys[base + m], old_places[base + m]))
        low = m + 1;
      else
        high = m;
    }
    to = pair + (j - (first ? pair : middle)) + (low - start);
  }
  keys[base + to] = a;
  places[base + to] = p;
}

KERNEL sort_store(GLOBAL M_OUT* values, GLOBAL i64* indices, GLOBAL const KEY* keys,
                  GLOBAL const i64* places, Geometry g, i64 n, i64 kept, i64 step0, i64 step2,
                  i32 wants) {
  i64 i = GLOBAL_ID;
  if (i >= g.n * kept) return;
  i64 line = i / kept, j = i - line * kept, from = line * n + j;
  KEY v = keys[from];
  if (wants & 1) STORE(values, line_at(&g, 0, line) + j * step0, v);
  if (wants & 2) indices[line_at(&g, 2, line) + j * step2] = places[from];
}
