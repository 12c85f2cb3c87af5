variable "n" {}
resource "terraform_data" "in" {
  input = var.n
}
resource "terraform_data" "bare" {}
