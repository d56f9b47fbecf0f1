// The ops that extensions call by name, by what they return. Arguments are found at run time, by
// PyTorch's order; an op that is not listed is `at::call("name", ...)`.
#pragma once

// clang-format off
// Functions and methods that return a tensor.
#define EMBER_OPS(F)                                                                              \
  F(abs) F(acos) F(add) F(addbmm) F(addcdiv) F(addcmul) F(addmm) F(addmv) F(addr) F(all)          \
  F(amax) F(amin) F(angle) F(any) F(argmax) F(argmin) F(argsort) F(as_strided) F(asin) F(atan)    \
  F(atan2) F(baddbmm) F(          \
          bernoulli) F(bincount) F(bitwise_and)               \
  F(bitwise_not) F(bitwise_or) F(bitwise_xor) F(bmm) F(broadcast_to) F(ceil) F(cholesky)          \
  F(clamp) F(clamp_max) F(clamp_min) F(clone) F(       \
              conj) F(cos) F(cosh)       \
  F(cross) F(cumprod) F(cumsum) F(det) F(detach) F(diag) F(diag_embed) F(diagonal) F(diff)        \
  F(digamma) F(dist) F(div) F(dot) F(eq) F(erf) F(   \
                  erfc) F(erfinv) F(exp)   \
  F(exp2) F(expand_as) F(expm1) F(flatten) F(flip) F(floor) F(floor_divide) F(fmod) F(frac)       \
  F(gather) F(ge) F(gt) F(heaviside) F(histc) F(   \
                      hypot) F(imag)         \
  F(index_add) F(index_copy) F(index_fill) F(index_select) F(inverse) F(isfinite) F(isinf)        \
  F(             \
                          isnan) F(kron) F(le) F(lerp) F(lgamma) F(log)        \
  F(log10) F(log1p) F(log2) F(log_softmax) F(logaddexp) F(logcumsumexp)                           \
  F( \
                              logical_and) F(logical_not) F(logical_or) F(logical_xor)     \
  F(logit) F(logsumexp) F(lt) F(          \
                                  masked_fill)        \
  F(masked_scatter) F(masked_select) F(matmul) F(matrix_exp) F(maximum) F(mean)                   \
  F(                              \
                                      minimum) F(mm)          \
  F(movedim) F(mul) F(multinomial) F(mv) F(mvlgamma) F(nan_to_num) F(nansum)                      \
  F(  \
                                          narrow) F(ne) F(neg) F(nonzero) F(norm)         \
  F(outer) F(permute) F(         \
                                              polygamma)       \
  F(pow) F(prelu) F(prod) F(quantile) F(reciprocal) F(relu) F(remainder) F(renorm)                \
  F(repeat_interleave) F(   \
                                                      reshape)      \
  F(roll) F(rot90) F(round) F(rsqrt) F(scatter) F(scatter_add) F(select) F(sigmoid) F(sign)       \
  F(sin) F(   \
                                                              sinc) F(sinh)       \
  F(softmax) F(sqrt) F(square) F(squeeze) F(std)                                                  \
  F(       \
                                                                  sub) F(sum) F(t)   \
  F(take) F(take_along_dim) F(tan)                                                                \
  F(      \
                                                                      tanh) F(tile)   \
  F(trace) F(transpose)                                                                           \
  F(     \
                                                                          tril)        \
  F(triu) F(true_divide) F(trunc) F(unfold)                                                       \
  F(         \
                                                                                  unflatten)\
  F(unsqueeze)                                                                                    \
  F(  \
                                                                                      var)\
  F(vdot) F(view_as) F(xlogy)

// Methods only.
#define EMBER_METHODS(F)                                                                          \
  F(abs_) F(add_) F(addcdiv_) F(addcmul_) F(addmm_) F(bernoulli_) F(clamp_) F(clamp_max_)         \
  F(clamp_min_) F(contiguous) F(copy_) F(cos_) F(detach_) F(div_) F(exp_) F(expand) F(fill_)      \
  F(fill_diagonal_) F(floor_) F(index_add_) F(index_copy_) F(index_fill_) F(lerp_) F(log_)        \
  F(masked_fill_) F(masked_scatter_) F(mul_) F(neg_) F(new_empty) F(new_full) F(new_ones)         \
  F(new_zeros) F(normal_) F(pow_) F(reciprocal_) F(relu_) F(repeat) F(requires_grad_)             \
  F(resize_) F(retain_grad) F(round_) F(rsqrt_) F(scatter_) F(scatter_add_) F(sigmoid_) F(sin_)   \
  F(sqrt_) F(squeeze_) F(sub_) F(t_) F(tanh_) F(transpose_) F(type_as) F(uniform_)                \
  F(unsqueeze_) F(view) F(zero_)

// Functions only.
#define EMBER_FUNCTIONS(F)                                                                        \
  F(adaptive_avg_pool2d) F(arange) F(avg_pool2d) F(batch_norm) F(bilinear)                        \
  F(binary_cross_entropy) F(block_diag) F(cat) F(cdist) F(complex) F(concat) F(conv1d)            \
  F(conv2d) F(conv3d) F(conv_transpose2d) F(cosine_similarity) F(dropout) F(einsum) F(elu)        \
  F(embedding) F(empty) F(empty_like) F(empty_strided) F(eye) F(full) F(full_like) F(gelu)        \
  F(group_norm) F(hardtanh) F(hstack) F(instance_norm) F(isclose) F(kl_div) F(l1_loss)            \
  F(layer_norm) F(leaky_relu) F(linalg_inv) F(linalg_norm) F(linalg_solve)                        \
  F(linalg_vector_norm) F(linear) F(linspace) F(log_sigmoid) F(logspace) F(max_pool2d) F(mish)    \
  F(mse_loss) F(nll_loss) F(normal) F(ones) F(ones_like) F(pad) F(polar) F(rand) F(rand_like)     \
  F(randint) F(randn) F(randn_like) F(randperm) F(rms_norm) F(scalar_tensor)                      \
  F(scaled_dot_product_attention) F(selu) F(silu) F(smooth_l1_loss) F(softplus) F(stack)          \
  F(tensordot) F(tril_indices) F(triu_indices) F(vander) F(vstack) F(where) F(zeros)              \
  F(zeros_like)

// Functions and methods that return several tensors.
#define EMBER_TUPLES(F)                                                                           \
  F(aminmax, TensorPair) F(cummax, TensorPair) F(cummin, TensorPair) F(frexp, TensorPair)         \
  F(geqrf, TensorPair) F(kthvalue, TensorPair) F(mode, TensorPair) F(slogdet, TensorPair)         \
  F(sort, TensorPair) F(topk, TensorPair) F(svd, TensorTriple) F(qr, TensorPair)

// Functions and methods that return a list.
#define EMBER_LISTS(F)                                                                            \
  F(chunk) F(split) F(split_with_sizes) F(tensor_split) F(unbind) F(unsafe_chunk)
// clang-format on
