// RUN: ttc opt %s -p "nn,lower-to-tile,assign-formats{format=Bfp8_b}" --target n150 | filecheck %s
// RUN: ttc opt %s -p "nn,lower-to-tile,assign-formats{format=Bfp8_b}" --target host | filecheck %s --check-prefix=HOST

// CHECK: tile.matmul
// CHECK-SAME: "32x16xBfp8_b", "tiles(32, 32)"
// HOST: tile.matmul
// HOST-SAME: "rows"
module attributes {ttc.seed = 0} {
  func.func @forward(%0: tensor<32x64xf32> {ttc.name = "x"}) -> (tensor<32x16xf32> {ttc.name = "y"}) {
    %w = ttc.param() {sym = "w", value = #ttc.weight<"w", tensor<64x16xf32>>} : () -> tensor<64x16xf32>
    %1 = nn.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
    func.return %1 : tensor<32x16xf32>
  }
}
