variable "v" {
  type    = string
  default = "base"
}
resource "terraform_data" "a" {
  input            = "base"
  triggers_replace = "base"
  lifecycle { create_before_destroy = true }
}
locals { x = "base" }
output "x" { value = local.x }
output "v" { value = var.v }
