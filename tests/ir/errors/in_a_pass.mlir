// RUN: not ttc opt %s -p legalize-tile --target n150 2>&1 | filecheck %s
// RUN: ttc opt %s --verify-diagnostics -p cancel-tms --target n150
// RUN: not ttc opt %s -p legalise-tile --target n150 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not ttc opt %s -p "assign-formats{fromat=Bfp8_b}" --target n150 2>&1 | filecheck %s --check-prefix=OPTION

// CHECK:      error[E0503]: heads: tile.hslice needs rank 6; n150 computes up to rank 4
// CHECK-NEXT: %0 = tile.hslice(
// CHECK-NEXT: {{     \^\^\^\^\^\^\^\^\^\^\^$}}
// CHECK-NEXT: func.return
// CHECK-NEXT: in pass legalize-tile

// NAME: error[E0101]: {{.*}}legalise-tile
// NAME: legalize-tile

// OPTION: error[E0101]: {{.*}}fromat
func.func @forward(%0: !tile.tensor<"1x2x3x4x8xFloat32", "tiles(32, 32)"> {ttc.name = "x"})
    -> (!tile.tensor<"1x2x3x2x4x4xFloat32", "tiles(32, 32)"> {ttc.name = "y"}) {
  %1 = tile.hslice(%0) {n = 2} : (!tile.tensor<"1x2x3x4x8xFloat32", "tiles(32, 32)">) -> !tile.tensor<"1x2x3x2x4x4xFloat32", "tiles(32, 32)"> loc("heads")
  func.return %1 : !tile.tensor<"1x2x3x2x4x4xFloat32", "tiles(32, 32)">
}
