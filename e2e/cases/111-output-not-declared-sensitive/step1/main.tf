variable "secret" {
  type      = string
  default   = "abc"
  sensitive = true
}
output "leak" {
  value = "x${var.secret}"
}
