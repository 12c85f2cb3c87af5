variable "on" {
  type    = bool
  default = false
}
resource "terraform_data" "maybe" {
  count = var.on ? 1 : 0
  input = "here"
}
output "one" { value = one(terraform_data.maybe[*].output) }
output "try" { value = try(terraform_data.maybe[0].output, "absent") }
