variable "secret" {
  type      = string
  default   = "hunter2"
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
output "hidden" {
  value     = var.secret
  sensitive = true
}
output "described" {
  description = "with a description"
  value       = { a = [1, 2, 3] }
}
