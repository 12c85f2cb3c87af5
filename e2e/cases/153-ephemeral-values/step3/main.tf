variable "token" {
  type      = string
  ephemeral = true
  default   = "t"
}
output "o" {
  value = var.token
}
