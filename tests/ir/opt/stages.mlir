// RUN: ttc opt %s -p nn --target host | filecheck %s --check-prefix=NN
// RUN: ttc opt %s -p nn,tile --target host | filecheck %s --check-prefix=TILE
// RUN: ttc opt %s -p nn,tile,netlist --target host | filecheck %s --check-prefix=NETLIST
// RUN: ttc opt %s -p nn,tile --target n150 --kernels buda | filecheck %s --check-prefix=BUDA
// RUN: ttc opt %s -p nn --target host --print-after consteval@2 --print-unchanged 2>&1 | filecheck %s --check-prefix=THIRD
// RUN: ttc opt %s -p nn --target host --print-before "fuse-*" --remarks "fuse-*" 2>&1 | filecheck %s --check-prefix=GLOB

// NN: nn.softmax(%0)
// TILE: tile.softmax(
// TILE-SAME: "rows"
// NETLIST: netlist.queue() {
// NETLIST: netlist.program
// BUDA-NOT: tile.softmax(
// BUDA: fn = "exp"
// THIRD: // ---- after consteval@2 (stage nn)
// THIRD-NOT: // ---- after
// GLOB: // ---- before fuse-bias@1 (stage nn)
// GLOB: // ---- before fuse-bias@2 (stage nn)
// GLOB: // ---- before fuse-activation@1 (stage nn)
func.func @forward(%0: tensor<8x16xf32> {ttc.name = "x"}) -> (tensor<8x16xf32> {ttc.name = "y"}) {
  %1 = nn.softmax(%0) {axis = 1} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %1 : tensor<8x16xf32>
}
