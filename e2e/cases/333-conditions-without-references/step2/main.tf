variable "x" {
  default = 1

  validation {
    condition     = true
    error_message = "no"
  }
}
