// RUN: ttc opt %s -p cancel-tms --target n150 | filecheck %s

// CHECK:      tile.hslice(%0) {n = 4}
// CHECK-NEXT: func.return
// CHECK-NOT:  tile.transpose
func.func @forward(%0: !tile.tensor<"1x64x128xFloat32", "tiles(32, 32)"> {ttc.name = "x"})
    -> (!tile.tensor<"1x4x64x32xFloat32", "tiles(32, 32)"> {ttc.name = "y"}) {
  %1 = tile.reshape(%0) {shape = [1, 64, 4, 32]} : (!tile.tensor<"1x64x128xFloat32", "tiles(32, 32)">) -> !tile.tensor<"1x64x4x32xFloat32", "tiles(32, 32)">
  %2 = tile.transpose(%1) {perm = [0, 2, 1, 3]} : (!tile.tensor<"1x64x4x32xFloat32", "tiles(32, 32)">) -> !tile.tensor<"1x4x64x32xFloat32", "tiles(32, 32)">
  func.return %2 : !tile.tensor<"1x4x64x32xFloat32", "tiles(32, 32)">
}
