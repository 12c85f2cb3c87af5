variable "password" {
  type      = string
  default   = "pw2"
  sensitive = true
}
resource "terraform_data" "direct" { input = var.password }
resource "terraform_data" "nested" { input = { user = "u2", password = var.password } }
resource "terraform_data" "list" { input = ["a", var.password, "c"] }
resource "terraform_data" "derived" { input = terraform_data.nested.output.user }
resource "terraform_data" "open" { input = "pw" }
