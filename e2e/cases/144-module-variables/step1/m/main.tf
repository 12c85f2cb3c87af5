variable "v" {
  type = number
}
