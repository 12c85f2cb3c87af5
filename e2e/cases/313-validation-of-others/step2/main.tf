variable "x" {
  type    = string
  default = "a"

  validation {
    condition     = var.x == terraform_data.a.output
    error_message = "x must be the output of a"
  }
}

resource "terraform_data" "a" {
  input = "b"
}

locals {
  through = "l-${var.x}"
}

resource "terraform_data" "b" {
  input = local.through
}

resource "terraform_data" "c" {
  input = "c"
}

resource "terraform_data" "d" {
  count = var.x == "a" ? 1 : 0
  input = "d"
}

output "x" {
  value = var.x
}
