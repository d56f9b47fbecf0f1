"""Operators that torchvision's extension would bring."""

import pytest

import ember
from ember._compat import torchvision_images as images, torchvision_ops as ops


def test_load_library_registers_ours_in_place_of_torchvisions():
    ember.ops.load_library("somewhere/torchvision/_C.so")
    boxes = ember.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
    kept = ember.ops.torchvision.nms(boxes, ember.tensor([0.5, 0.9, 0.1]), 0.5)
    assert kept.tolist() == [1, 2]
    with pytest.raises(OSError, match="libtorch"):
        ember.ops.load_library("nowhere/other.so")


def test_nms_without_boxes_and_with_wrong_ones():
    assert ops.nms(ember.empty(0, 4), ember.empty(0), 0.5).shape == (0,)
    with pytest.raises(RuntimeError, match="4 elements in dimension 1, got 3"):
        ops.nms(ember.ones(2, 3), ember.ones(2), 0.5)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align_of_a_slope_is_the_slope(aligned, ratio):
    x = ember.arange(8.0).expand(1, 1, 8, 8).clone().requires_grad_()
    rois = ember.tensor([[0.0, 2, 2, 6, 6]])
    out = ops.roi_align(x, rois, 1.0, 2, 2, ratio, aligned)
    shift = 0.5 if aligned else 0.0
    assert ember.allclose(out, ember.tensor([3.0, 5.0]).expand(1, 1, 2, 2) - shift)
    out.sum().backward()
    assert abs(x.grad.sum().item() - 4) < 1e-5


def test_roi_pool_takes_the_largest_and_says_where():
    x = ember.arange(16.0).reshape(1, 1, 4, 4)
    out, at = ops.roi_pool(x, ember.tensor([[0.0, 0, 0, 3, 3]]), 1.0, 2, 2)
    assert out.flatten().tolist() == [5, 7, 13, 15] == at.flatten().tolist()


def test_pooling_by_position_reads_a_channel_for_each_bin():
    x = ember.arange(4.0)[:, None, None].expand(1, 4, 4, 4)
    rois = ember.tensor([[0.0, 0, 0, 3, 3]])
    for pool in (
        ops.ps_roi_pool(x, rois, 1.0, 2, 2),
        ops.ps_roi_align(x, rois, 1.0, 2, 2, 2),
    ):
        assert ember.allclose(pool[0].flatten(), ember.arange(4.0))
        assert pool[1].flatten().tolist() == [0, 1, 2, 3]


def test_ps_roi_pool_leaves_out_the_last_row_and_column_as_torchvision_does():
    x = ember.arange(16.0).reshape(1, 1, 4, 4)
    out, _ = ops.ps_roi_pool(x, ember.tensor([[0.0, 0, 0, 4, 4]]), 1.0, 1, 1)
    assert out.item() == x[0, 0, :3, :3].mean().item()
    # Corners are scaled, then rounded; a region is at least one row high.
    out, _ = ops.ps_roi_pool(x, ember.tensor([[0.0, 3, 3, 3, 3]]), 0.5, 1, 1)
    assert out.item() == x[0, 0, 2, 2].item()


def test_ps_roi_align_of_no_samples_is_the_mean_of_nothing():
    x = ember.ones(1, 1, 4, 4, requires_grad=True)
    rois = ember.tensor([[0.0, 2, 2, 2, 2], [0, 0, 0, 3, 3]])
    out, _ = ops.ps_roi_align(x, rois, 1.0, 1, 1, -1)
    assert out[0].isnan().item() and out[1].item() == 1
    out[1].sum().backward()
    assert x.grad.isfinite().all()


def test_deform_conv_without_offsets_is_a_convolution():
    ember.manual_seed(0)
    x, w = ember.randn(2, 4, 6, 7), ember.randn(6, 2, 3, 3)
    offset = ember.zeros(2, 2 * 2 * 9, 6, 7)
    mask = ember.full((2, 2 * 9, 6, 7), 0.5)
    bias = ember.randn(6)
    out = ops.deform_conv2d(x, w, offset, mask, bias, 1, 1, 1, 1, 1, 1, 2, 2, True)
    expected = ember.nn.functional.conv2d(x, w * 0.5, bias, padding=1, groups=2)
    assert ember.allclose(out, expected, atol=1e-5)


def test_images_survive_png():
    pytest.importorskip("PIL")
    image = (ember.arange(3 * 4 * 5) * 4).reshape(3, 4, 5).to(ember.uint8)
    data = images.encode_png(image, 6)
    assert ember.equal(images.decode_image(data), image)
    assert images.decode_image(data, 1).shape == (1, 4, 5)
    with pytest.raises(RuntimeError, match="decode"):
        images.decode_image(ember.zeros(4, dtype=ember.uint8))


def test_libraries_register_symbolics_as_they_are_imported():
    """torchvision's `_register_custom_op`, which `import torchvision` runs."""
    onnx = ember.onnx
    assert onnx.register_custom_op_symbolic("torchvision::nms", abs, 11) is None
    assert onnx.unregister_custom_op_symbolic("::abs", 11) is None
    for name in ("nms", "torchvision::", "a::b::c"):
        with pytest.raises(onnx.OnnxExporterError, match="names no operator"):
            onnx.register_custom_op_symbolic(name, abs, 11)
