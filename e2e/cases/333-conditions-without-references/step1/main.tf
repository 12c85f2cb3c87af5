variable "y" { default = 1 }
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = true
      error_message = "no"
    }
    postcondition {
      condition     = 1 == 1
      error_message = "no"
    }
    precondition {
      condition     = path.module == "."
      error_message = "no"
    }
    precondition {
      condition     = terraform.workspace == "default"
      error_message = "no"
    }
  }
}
output "o" {
  value = 1
  precondition {
    condition     = true
    error_message = "no"
  }
}
data "terraform_remote_state" "x" {
  backend = "local"
  lifecycle {
    postcondition {
      condition     = length("x") == 1
      error_message = "x"
    }
  }
}
