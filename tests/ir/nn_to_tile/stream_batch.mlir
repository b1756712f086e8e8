// RUN: ttc opt %s -p stream-batch --target n150 | filecheck %s
// RUN: ttc opt %s -p "stream-batch{samples=16}" --target n150 | filecheck %s --check-prefix=ASKED
// RUN: ttc opt %s -p stream-batch,lower-to-tile --target n150 | filecheck %s --check-prefix=TILE
// RUN: ttc opt %s -p stream-batch --target host | filecheck %s --check-prefix=HOST

// CHECK: %0: tensor<32x10xf32> {ttc.name = "x", ttc.streamed}
// CHECK: attributes {ttc.input_count = 2 : i64}
// ASKED: tensor<16x10xf32>
// ASKED: ttc.input_count = 4 : i64
// TILE: tile.map({{.*}}) {fn = "relu"} : (!tile.tensor<"32x10xFloat32", "tiles(32, 32)">)
// HOST-NOT: ttc.streamed
func.func @forward(%0: tensor<64x10xf32> {ttc.name = "x"}) -> (tensor<64x10xf32> {ttc.name = "y"}) {
  %1 = nn.relu(%0) : (tensor<64x10xf32>) -> tensor<64x10xf32>
  func.return %1 : tensor<64x10xf32>
}
