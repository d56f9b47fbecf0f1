#include "cpu/planes.h"

#include <algorithm>

namespace ember::cpu {

Planes::Planes(const Slide& s, int64_t lanes, bool turned) {
  int64_t reach[3], first[3], apart[3], step[3], height[3];
  const int64_t *from = turned ? s.out : s.in, *to = turned ? s.in : s.out;
  for (int i = 0; i < 3; i++) {
    reach[i] = s.dilation[i] * (s.kernel[i] - 1);
    first[i] = turned ? reach[i] - s.pad[i] : s.pad[i];
    apart[i] = turned ? s.stride[i] : 1;
    step[i] = turned ? 1 : s.stride[i];
    height[i] = (to[i] - 1) * step[i] + reach[i] + 1;
  }
  in_rows = from[0] * from[1];
  in_cols = from[2];
  left = first[2];
  spread = apart[2];
  phases = step[2];
  rows = to[0] * to[1];
  cols = to[2];
  vectors = (cols + lanes - 1) / lanes;
  width = vectors * lanes + reach[2] / phases + 1;
  part = height[0] * height[1] * width;
  taps = s.taps();
  for (int64_t i0 = 0; i0 < from[0]; i0++)
    for (int64_t i1 = 0; i1 < from[1]; i1++) {
      const int64_t r0 = first[0] + i0 * apart[0], r1 = first[1] + i1 * apart[1];
      const bool inside = r0 < height[0] && r1 < height[1];
      in_places_.push_back(inside ? (r0 * height[1] + r1) * width : -1);
    }
  for (int64_t o0 = 0; o0 < to[0]; o0++)
    for (int64_t o1 = 0; o1 < to[1]; o1++)
      starts_.push_back((o0 * step[0] * height[1] + o1 * step[1]) * width);
  for (int64_t k0 = 0; k0 < s.kernel[0]; k0++)
    for (int64_t k1 = 0; k1 < s.kernel[1]; k1++)
      for (int64_t k2 = 0; k2 < s.kernel[2]; k2++) {
        const int64_t column = k2 * s.dilation[2];
        const int64_t row = k0 * s.dilation[0] * height[1] + k1 * s.dilation[1];
        offsets_.push_back(column % phases * part + row * width + column / phases);
      }
  if (turned) std::reverse(offsets_.begin(), offsets_.end());
  in_places = in_places_.data();
  starts = starts_.data();
  offsets = offsets_.data();
}

}  // namespace ember::cpu
