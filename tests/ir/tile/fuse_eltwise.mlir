// RUN: ttc opt %s -p fuse-eltwise --target host | filecheck %s

// CHECK:      [[Y:%\d+]] = tile.eltwise(%0, %1)
// CHECK-NEXT: ^bb0([[A:%\w+]]: {{.*}}, [[B:%\w+]]:
// CHECK-NEXT: [[S:%\d+]] = tile.map([[A]], [[B]]) {fn = "add"} {{.*}} -> !tile.tensor<"4x8xFloat32", "rows">
// CHECK-NEXT: [[R:%\d+]] = tile.map([[S]]) {fn = "relu"}
// CHECK-NEXT: tile.yield([[R]])
// CHECK:      func.return [[Y]]
func.func @forward(%0: !tile.tensor<"4x8xFloat16_b", "rows"> {ttc.name = "x"}, %1: !tile.tensor<"4x8xFloat16_b", "rows"> {ttc.name = "r"})
    -> (!tile.tensor<"4x8xFloat16_b", "rows"> {ttc.name = "y"}) {
  %2 = tile.map(%0, %1) {fn = "add"} : (!tile.tensor<"4x8xFloat16_b", "rows">, !tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat16_b", "rows">
  %3 = tile.map(%2) {fn = "relu"} : (!tile.tensor<"4x8xFloat16_b", "rows">) -> !tile.tensor<"4x8xFloat16_b", "rows">
  func.return %3 : !tile.tensor<"4x8xFloat16_b", "rows">
}
