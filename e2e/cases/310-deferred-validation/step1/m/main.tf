variable "x" {
  type = string
  validation {
    condition     = var.x == "good"
    error_message = "x must be good"
  }
}
resource "terraform_data" "uses" {
  input = var.x
}
resource "terraform_data" "unrelated" {
  input = 1
}
output "out" {
  value = var.x
}
output "const" {
  value = 1
}
