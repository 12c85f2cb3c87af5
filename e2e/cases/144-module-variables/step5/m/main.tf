variable "v" {
  type     = number
}
output "v" {
  value = var.v
}
output "secret" {
  value     = "s"
  sensitive = true
}
