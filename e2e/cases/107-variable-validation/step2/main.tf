variable "size" {
  type = number
  validation {
    condition     = var.size > 0
    error_message = "The size must be positive, not ${var.size}."
  }
}
variable "name" {
  type = string
  validation {
    condition     = can(regex("^[a-z]+$", var.name))
    error_message = "The name may have small letters only."
  }
}
resource "terraform_data" "x" { input = "${var.name}-${var.size}" }
