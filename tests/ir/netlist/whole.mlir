// RUN: ttc opt %s -p nn,tile,netlist --target n150 | filecheck %s

// CHECK: netlist.queue() {
// CHECK-SAME: kind = "input"
// CHECK: netlist.graph
// CHECK: netlist.op
// CHECK-SAME: place = #netlist.grid
// CHECK-SAME: type = "matmul"
// CHECK: netlist.program
module attributes {ttc.seed = 0} {
  func.func @forward(%0: tensor<32x64xf32> {ttc.name = "x"}) -> (tensor<32x16xf32> {ttc.name = "y"}) {
    %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<64x16xf32>>} : () -> tensor<64x16xf32>
    %1 = nn.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
    func.return %1 : tensor<32x16xf32>
  }
}
