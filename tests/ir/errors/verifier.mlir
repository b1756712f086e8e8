// RUN: ttc opt %s --split-input-file --verify-diagnostics
// RUN: not ttc opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error[E0412]: verifier.mlir:8: axis 7 is outside rank 2

func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
  // expected-error @+1 {{axis 7 is outside rank 2}}
  %1 = nn.softmax(%0) {axis = 7} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
// -----
func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x4xf32> {ttc.name = "y"}) {
  // expected-error @below {{E0302}}
  %1 = nn.relu(%0) : (tensor<2x3xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
// -----
func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
  %1 = nn.no_such_op(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> // expected-error-re {{no_such_op {{.*}}not registered}}
  func.return %1 : tensor<2x3xf32>
}
// -----
func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
  %1 = nn.add(%0, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> // expected-error {{E0303}}
  %2 = nn.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
// -----
func.func @forward(%0: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
  // expected-error @+1 {{axis 7}} expected-error @+2 {{axis 8}}
  %1 = nn.softmax(%0) {axis = 7} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = nn.softmax(%1) {axis = 8} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
