terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
resource "terraform_data" "x" {
  input = {
    enc  = provider::terraform::encode_tfvars({ a = 1, b = ["x", { c = true }] })
    dec  = provider::terraform::decode_tfvars("a = 1\nb = [2, \"x\"]\n")
    expr = provider::terraform::encode_expr({ a = [1, "two"], b = null })
  }
}
output "x" { value = terraform_data.x.output }
