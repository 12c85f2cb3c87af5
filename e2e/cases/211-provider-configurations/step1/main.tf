terraform {
  required_providers {
    lab = { source = "example.test/lab/lab" }
  }
}

variable "token" {
  default   = "good"
  sensitive = true
}
provider "lab" {
  directory = "../lab"
  token     = var.token
}
provider "lab" {
  alias     = "other"
  directory = "../other"
}
resource "lab_object" "first" {
  name = "first"
}
module "inner" {
  source = "./inner"
  providers = {
    lab      = lab.other
    lab.more = lab
  }
}
output "count" { value = module.inner.found }
