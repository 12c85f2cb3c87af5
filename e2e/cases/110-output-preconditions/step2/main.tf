variable "secret" {
  type      = string
  default   = "abc"
  sensitive = true
}
resource "terraform_data" "x" { input = var.secret }
output "shown" {
  value = nonsensitive(length(var.secret))
  precondition {
    condition     = length(var.secret) > 3
    error_message = "too short"
  }
}
