// Scans: what lies up to each element of a line, folded by JOIN(a, b), a before b. The program
// defines ACC, READ, STORE, M_IN, M_OUT; with FINDS, GOES_ON(a, b) instead of JOIN says whether b
// takes the place of a, and places are written too. Operands of the geometry (whose line dimension
// has size 1): 0 and 2 are written (values and places), 1 is read.
#define GROUP 64
#define ITEMS 16  // of one work-item, next to each other
#define CHUNK (GROUP * ITEMS)

typedef struct {
  ACC v;
#ifdef FINDS
  i64 at;
#endif
} Item;

DEVICE Item item(ACC v, i64 at) {
  Item made;
  made.v = v;
#ifdef FINDS
  made.at = at;
#endif
  return made;
}
DEVICE Item join(Item left, Item right) {
#ifdef FINDS
  return GOES_ON(left.v, right.v) ? right : left;
#else
  ACC a = left.v, b = right.v;
  left.v = JOIN(a, b);
  return left;
#endif
}
#ifdef FINDS
#define AT(places, where, i) (has_places ? (places)[where] : (i))
#define PUT_PLACE(where, made) \
  if (wants) indices[where] = (made).at
#else
#define AT(places, where, i) (i)
#define PUT_PLACE(where, made)
#endif

// One work-item per line, for short lines and many of them.
KERNEL scan_lines(GLOBAL M_OUT* out, GLOBAL i64* indices, GLOBAL const M_IN* x, Geometry g, i64 n,
                  i64 step0, i64 step1, i64 step2, i32 wants) {
  i64 line = GLOBAL_ID;
  if (line >= g.n) return;
  i64 at0 = line_at(&g, 0, line), at1 = line_at(&g, 1, line), at2 = line_at(&g, 2, line);
  Item a = item(READ(x, at1), 0);
  for (i64 i = 0; i < n; i++) {
    if (i > 0) a = join(a, item(READ(x, at1 + i * step1), i));
    STORE(out, at0 + i * step0, a.v);
    PUT_PLACE(at2 + i * step2, a);
  }
}

// Inclusive over the work-items of a group. Those without elements come last and change no other.
DEVICE Item scan_group(LOCAL Item* shared, Item mine) {
  int t = LOCAL_ID;
  shared[t] = mine;
  BARRIER();
  for (int reach = 1; reach < GROUP; reach *= 2) {
    Item left = shared[t >= reach ? t - reach : t];
    BARRIER();
    if (t >= reach) {
      mine = join(left, mine);
      shared[t] = mine;
    }
    BARRIER();
  }
  return mine;
}

// One work-group per chunk of a line. Without `ends`, the folded chunk goes to `totals`; with it,
// every element is written, after the fold of the chunks before (`totals`, scanned by now).
KERNEL scan_chunks(GLOBAL M_OUT* out, GLOBAL i64* indices, GLOBAL const M_IN* x, Geometry g, i64 n,
                   i64 step0, i64 step1, i64 step2, i32 wants, GLOBAL ACC* totals,
                   GLOBAL i64* places, i64 chunks, i32 ends, GLOBAL const i64* sources,
                   i32 has_places) {
  LOCAL Item shared[GROUP];
  i64 line = GROUP_ID / chunks, chunk = GROUP_ID - line * chunks;
  i64 at1 = line_at(&g, 1, line), first = chunk * CHUNK + (i64)LOCAL_ID * ITEMS;
  i64 last = first + ITEMS < n ? first + ITEMS : n;
  Item a = item(READ(x, at1), 0);  // replaced if there is an element
  for (i64 i = first; i < last; i++) {
    i64 at = at1 + i * step1;
    Item b = item(READ(x, at), AT(sources, at, i));
    a = i == first ? b : join(a, b);
  }
  a = scan_group(shared, a);
  if (!ends) {
    i64 count = n - chunk * CHUNK < CHUNK ? n - chunk * CHUNK : CHUNK;
    if (LOCAL_ID == (int)((count - 1) / ITEMS)) {
      totals[GROUP_ID] = a.v;
#ifdef FINDS
      places[GROUP_ID] = a.at;
#endif
    }
    return;
  }
  int has = 0;
  if (LOCAL_ID > 0) {
    a = shared[LOCAL_ID - 1];
    has = 1;
  }
  if (chunk > 0) {
    Item before = item(totals[GROUP_ID - 1], 0);
#ifdef FINDS
    before.at = places[GROUP_ID - 1];
#endif
    a = has ? join(before, a) : before;
    has = 1;
  }
  i64 at0 = line_at(&g, 0, line), at2 = line_at(&g, 2, line);
  for (i64 i = first; i < last; i++) {
    i64 at = at1 + i * step1;
    Item b = item(READ(x, at), AT(sources, at, i));
    a = has ? join(a, b) : b;
    has = 1;
    STORE(out, at0 + i * step0, a.v);
    PUT_PLACE(at2 + i * step2, a);
  }
}
