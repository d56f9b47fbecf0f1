// An optimizer step: every element with all of its state, once. The program defines T, M, LOAD and
// STORE, what the kernel takes (LISTS, NUMBERS), how state is read and all is written, and EACH,
// the text of a row of core/optim_formulas.h.
#define detach(x) (x)
KERNEL update(LISTS i64 n NUMBERS) {
  const i64 i = GLOBAL_ID;
  if (i >= n) return;
  T p = LOAD(p_row, p_at + i), g = sign_of_g * LOAD(g_row, g_at + i);
  if (added != 0) g += added * p;
  p *= left;
  READ EACH WRITE
}
