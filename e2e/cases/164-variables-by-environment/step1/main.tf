variable "a" {
  type = string
}
variable "b" {
  type = list(number)
}
variable "c" {
  default = "default"
}
output "all" {
  value = [var.a, var.b, var.c]
}
