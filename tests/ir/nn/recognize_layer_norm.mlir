// RUN: ttc opt %s -p recognize-layer-norm --target host | filecheck %s
// RUN: ttc opt %s -p recognize-layer-norm --target host --rewrite-limit 0 2>&1 | filecheck %s --check-prefix=NONE

// CHECK:      nn.layer_norm(%0, {{%.*}}, {{%.*}}) {axis = 1, eps = 0.0009765625}
// CHECK-NEXT: func.return
// NONE-NOT: nn.layer_norm
// NONE: nn.sqrt
module attributes {ttc.seed = 0} {
  func.func @forward(%0: tensor<2x8xf32> {ttc.name = "x"}) -> (tensor<2x8xf32> {ttc.name = "y"}) {
    %s = ttc.constant() {value = #ttc.weight<"s", tensor<8xf32>>} : () -> tensor<8xf32>
    %b = ttc.constant() {value = #ttc.weight<"b", tensor<8xf32>>} : () -> tensor<8xf32>
    %e = ttc.constant() {value = #ttc.literal<[0.0009765625], tensor<f32>>} : () -> tensor<f32>
    %1 = nn.reduce_mean(%0) {axes = [1], keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
    %2 = nn.sub(%0, %1) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
    %3 = nn.mul(%2, %2) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %4 = nn.reduce_mean(%3) {axes = [1], keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
    %5 = nn.add(%4, %e) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
    %6 = nn.sqrt(%5) : (tensor<2x1xf32>) -> tensor<2x1xf32>
    %7 = nn.div(%2, %6) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
    %8 = nn.mul(%7, %s) : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    %9 = nn.add(%8, %b) : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    func.return %9 : tensor<2x8xf32>
  }
}
