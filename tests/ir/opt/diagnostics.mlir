// RUN: not ttc opt %s --verify-diagnostics 2>&1 | filecheck %s

// CHECK: {{error\[E[0-9]+\]}}: diagnostics.mlir
// CHECK: no such words
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  // expected-error @+1 {{no such words}}
  %1 = nn.softmax(%0) {axis = 3} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
