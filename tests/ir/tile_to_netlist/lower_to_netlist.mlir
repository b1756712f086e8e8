// RUN: ttc opt %s -p lower-to-netlist --target n150 | filecheck %s
// RUN: ttc opt %s -p lower-to-netlist,assign-chips,balance --target n150 | filecheck %s --check-prefix=PLACED
// RUN: ttc opt %s -p netlist --target n150 | filecheck %s --check-prefix=WHOLE

// An op has its work and what it reads; where it runs, and where its queues lie, later passes say.
// CHECK-DAG: netlist.queue() {kind = "input"
// CHECK-DAG: netlist.queue() {kind = "output"
// CHECK: netlist.op(
// CHECK-NOT: place =
// CHECK: tile.map({{.*}}) {fn = "relu"}
// PLACED: place = #netlist.grid<
// PLACED-NOT: #netlist.addresses
// WHOLE: buffers = #netlist.addresses<
// WHOLE: place = #netlist.grid<
module attributes {ttc.stage = "tile"} {
  func.func @forward(%0: !tile.tensor<"64x64xFloat32", "tiles(32, 32)"> {ttc.dtype = f32, ttc.name = "x"})
      -> (!tile.tensor<"64x64xFloat32", "tiles(32, 32)"> {ttc.dtype = f32, ttc.name = "y"}) {
    %1 = tile.map(%0) {fn = "relu"} : (!tile.tensor<"64x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"64x64xFloat32", "tiles(32, 32)"> loc("relu")
    func.return %1 : !tile.tensor<"64x64xFloat32", "tiles(32, 32)">
  }
}
