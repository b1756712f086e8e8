// RUN: ttc opt %s -p canonicalize --target host | filecheck %s

// CHECK-LABEL: func.func @forward
// CHECK-NOT:   nn.identity
// CHECK:       [[T:%\d+]] = nn.transpose(%0) {perm = [2, 0, 1]}
// CHECK-NEXT:  func.return [[T]]
func.func @forward(%0: tensor<2x3x4xf32> {ttc.name = "x"}) -> (tensor<4x2x3xf32> {ttc.name = "y"}) {
  %1 = nn.identity(%0) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %2 = nn.transpose(%1) {perm = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %3 = nn.transpose(%2) {perm = [1, 2, 0]} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  func.return %3 : tensor<4x2x3xf32>
}
