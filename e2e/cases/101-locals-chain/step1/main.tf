locals {
  c = "${local.b}-c"
  a = "a"
  b = "${local.a}-b"
  all = { for k in ["a", "b"] : k => upper(k) }
}
resource "terraform_data" "x" {
  input = [local.a, local.b, local.c, local.all]
}
output "c" { value = local.c }
output "all" { value = local.all }
