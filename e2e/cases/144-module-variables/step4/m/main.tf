variable "v" {
  type     = number
  default  = 5
  nullable = false
}
output "v" {
  value = var.v
}
