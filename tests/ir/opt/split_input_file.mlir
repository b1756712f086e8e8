// RUN: ttc opt %s -p canonicalize --target host --split-input-file | filecheck %s

// CHECK-LABEL: func.func @first
// CHECK-NEXT:  func.return %0
// CHECK:       // -----
// CHECK-LABEL: func.func @second
// CHECK-NEXT:  nn.relu(%0)
// CHECK-NEXT:  func.return
func.func @first(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.identity(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
// -----
func.func @second(%0: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
  %1 = nn.relu(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = nn.relu(%1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
