// RUN: ttc opt %s --split-input-file --verify-diagnostics
// RUN: not ttc opt %s --split-input-file 2>&1 | filecheck %s

// CHECK:      error[E0301]: parser.mlir:8:19: ')' expected
// CHECK-NEXT: %1 = nn.relu(%0 : (tensor<2xf32>) -> tensor<2xf32>
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  // expected-error @+1 {{E0301}}
  %1 = nn.relu(%0 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
// -----
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.softmax(%0) {axes = 0} : (tensor<2xf32>) -> tensor<2xf32> // expected-error {{nn.softmax has no attribute 'axes'}}
  func.return %1 : tensor<2xf32>
}
// -----
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.add(%0) : (tensor<2xf32>) -> tensor<2xf32> // expected-error {{nn.add lacks operand 2}}
  func.return %1 : tensor<2xf32>
}
// -----
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.softmax(%0) {axis = 0, axis = 0} : (tensor<2xf32>) -> tensor<2xf32> // expected-error {{'axis' is given twice}}
  func.return %1 : tensor<2xf32>
}
// -----
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.add(%0, %0) : (tensor<2xf32>) -> tensor<2xf32> // expected-error {{2 operands but 1 operand types}}
  func.return %1 : tensor<2xf32>
}
// -----
func.func @forward(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.relu(%2) : (tensor<2xf32>) -> tensor<2xf32> // expected-error {{%2 is used but nowhere defined}}
  func.return %1 : tensor<2xf32>
}
