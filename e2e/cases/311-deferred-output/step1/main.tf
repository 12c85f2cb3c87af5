resource "terraform_data" "src" {
  input = "bad"
}
module "m" {
  source = "./m"
  x      = terraform_data.src.output
}
resource "terraform_data" "after" {
  input = module.m.out
}
resource "terraform_data" "after_other" {
  input = module.m.const
}
locals {
  z = tonumber(terraform_data.src.output)
}
resource "terraform_data" "loc" {
  input = local.z
}

output "root" {
  value = "r-${terraform_data.src.output}"

  precondition {
    condition     = terraform_data.src.output != "bad"
    error_message = "the root output is bad"
  }
}

output "fine" {
  value = terraform_data.src.output
}
