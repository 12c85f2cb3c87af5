variable "n" {
  default = 1
  validation {
    condition     = var.n > 5 || terraform_data.a.output == "never"
    error_message = "no good"
  }
}
resource "terraform_data" "a" {
  input            = "always"
  triggers_replace = "always"
}
resource "terraform_data" "counted" {
  count = var.n
}
resource "terraform_data" "keyed" {
  for_each = toset([for one in range(var.n) : tostring(one)])
}
resource "terraform_data" "argument" {
  input = var.n
}
resource "terraform_data" "asked" {
  lifecycle {
    precondition {
      condition     = var.n == 1
      error_message = "not one"
    }
  }
}
module "argument" {
  source = "./m"
  n      = var.n
}
module "counted" {
  count  = var.n
  source = "./m"
  n      = 3
}
output "n" {
  value = var.n
}
