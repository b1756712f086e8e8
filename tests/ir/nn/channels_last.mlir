// RUN: ttc opt %s -p channels-last --target n150 | filecheck %s

// CHECK:      nn.transpose(%0) {perm = [0, 2, 3, 1]}
// CHECK:      nn.conv2d({{.*}}layout = "nhwc"
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.reduce_mean({{%.*}}) {axes = [1, 2]
// CHECK-NEXT: func.return
module attributes {ttc.seed = 0} {
  func.func @forward(%0: tensor<1x3x8x8xf32> {ttc.name = "x"}) -> (tensor<1x4xf32> {ttc.name = "y"}) {
    %w = ttc.constant() {value = #ttc.weight<"w", tensor<4x3x1x1xf32>>} : () -> tensor<4x3x1x1xf32>
    %1 = nn.conv2d(%0, %w, _) {dilations = [1, 1], groups = 1, layout = "nchw", pads = [0, 0, 0, 0], strides = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
    %2 = nn.relu(%1) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
    %3 = nn.reduce_mean(%2) {axes = [2, 3], keepdims = false} : (tensor<1x4x8x8xf32>) -> tensor<1x4xf32>
    func.return %3 : tensor<1x4xf32>
  }
}
