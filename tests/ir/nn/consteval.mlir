// RUN: ttc opt %s -p consteval --target host | filecheck %s

// Parameters stay what they are: what is computed from them is a function of its own, which can be run again.
// CHECK:      func.func @forward
// CHECK:      [[W:%\w+]] = ttc.constant() {value = #ttc.weight<
// CHECK-NEXT: nn.matmul(%0, [[W]], _)
// CHECK:      func.func private @
// CHECK-SAME: ttc.derived =
// CHECK:      ttc.param() {sym = "w"
// CHECK:      nn.neg
module attributes {ttc.seed = 0} {
  func.func @forward(%0: tensor<4x8xf32> {ttc.name = "x"}) -> (tensor<4x3xf32> {ttc.name = "y"}) {
    %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<8x3xf32>>} : () -> tensor<8x3xf32>
    %n = nn.neg(%w) : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %1 = nn.matmul(%0, %n, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    func.return %1 : tensor<4x3xf32>
  }
}
