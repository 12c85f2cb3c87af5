variable "x" {
  type = string
}
resource "terraform_data" "uses" {
  input = var.x
}
output "out" {
  value = var.x
  precondition {
    condition = var.x == "good"
    error_message = "out not good"
  }
}
output "const" {
  value = 1
}
