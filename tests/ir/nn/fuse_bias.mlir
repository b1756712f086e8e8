// RUN: ttc opt %s -p fuse-bias --target host | filecheck %s
// RUN: ttc opt %s -p fuse-bias,fuse-activation --target host --stats 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: ttc opt %s -p fuse-bias,fuse-activation --target host --rewrite-limit 1 2>&1 | filecheck %s --check-prefix=LIMIT
// RUN: ttc opt %s -p fuse-bias,fuse-activation --target host --print-after fuse-activation 2>&1 | filecheck %s --check-prefix=PRINT
// RUN: ttc opt %s -p fuse-bias --target host --print-locations | filecheck %s --check-prefix=LOC

// CHECK:      [[Y:%\d+]] = nn.matmul(%0, %w, %b) {transpose_a = false, transpose_b = false}
// CHECK-NEXT: nn.relu([[Y]])
// CHECK-NOT:  nn.add

// BOTH-DAG: nn.matmul(%0, %w, %b) {activation = "relu"
// BOTH-DAG: {{fuse-activation .* 1}}

// LIMIT:      [[Y:%\d+]] = nn.matmul(%0, %w, %b) {transpose_a = false
// LIMIT-NEXT: nn.relu([[Y]])
// LIMIT:      last rewrite 1: fuse-bias@1

// PRINT: // ---- after fuse-activation@1
// PRINT: activation = "relu"

// LOC: nn.matmul(%0, %w, %b) {{.*}} loc(fused["product", "sum"])
module attributes {ttc.seed = 0} {
  func.func @forward(%0: tensor<4x8xf32> {ttc.name = "x"}) -> (tensor<4x3xf32> {ttc.name = "y"}) {
    %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3xf32>>} : () -> tensor<8x3xf32>
    %b = ttc.constant() {value = #ttc.weight<"b", tensor<3xf32>>} : () -> tensor<3xf32>
    %1 = nn.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32> loc("product")
    %2 = nn.add(%1, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32> loc("sum")
    %3 = nn.relu(%2) : (tensor<4x3xf32>) -> tensor<4x3xf32>
    func.return %3 : tensor<4x3xf32>
  }
}
