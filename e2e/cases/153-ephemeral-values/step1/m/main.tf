variable "token" {
  type      = string
  ephemeral = true
}
output "token" {
  value     = var.token
  ephemeral = true
}
