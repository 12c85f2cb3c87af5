locals {
  c = "${local.b}-C"
  a = "A"
  b = "${local.a}-b"
}
resource "terraform_data" "x" {
  input = [local.a, local.b, local.c]
}
output "c" { value = local.c }
