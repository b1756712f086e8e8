// RUN: ttc opt %s -p "stream-batch{samples=32}" --target n150 | filecheck %s
// RUN: ttc opt %s -p "stream-batch{samples=32},lower-to-tile" --target n150 | filecheck %s --check-prefix=TILE

// CHECK: %0: tensor<2x32x16xf32> {ttc.name = "x", ttc.streamed = array<i64: 1, 1>}
// CHECK: -> (tensor<64x16xf32> {ttc.name = "y", ttc.streamed = array<i64: 0, 2>})
// CHECK: attributes {ttc.input_count = 2 : i64}
// CHECK: {shape = [64, 16]} : (tensor<2x32x16xf32>) -> tensor<64x16xf32>
// TILE: ttc.streamed = array<i64: 0, 2>
func.func @forward(%0: tensor<2x64x16xf32> {ttc.name = "x"}) -> (tensor<128x16xf32> {ttc.name = "y"}) {
  %1 = nn.cumsum(%0) {axis = 0, exclusive = false, reverse = false} : (tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
  %2 = nn.reshape(%1) {shape = [128, 16]} : (tensor<2x64x16xf32>) -> tensor<128x16xf32>
  func.return %2 : tensor<128x16xf32>
}
