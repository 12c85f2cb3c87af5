variable "size" { type = number }
variable "name" { type = string }
module "inner" {
  source = "../inner"
  count  = var.size
  label  = "${var.name}-${count.index}"
}
output "inner" { value = module.inner[*].label }
