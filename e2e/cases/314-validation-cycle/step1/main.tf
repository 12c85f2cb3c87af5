variable "x" {
  type    = string
  default = "a"
  validation {
    condition     = var.x == terraform_data.a.output
    error_message = "x must be a"
  }
}
resource "terraform_data" "a" {
  input = "b${var.x}"
}
resource "terraform_data" "b" {
  input = var.x
}
