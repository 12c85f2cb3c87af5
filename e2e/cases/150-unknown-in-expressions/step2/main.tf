resource "terraform_data" "u" { input = "u2" }
locals {
  unknown = terraform_data.u.id
}
resource "terraform_data" "x" {
  input = {
    template = "pre-${terraform_data.u.output}"
    id       = local.unknown
  }
}
