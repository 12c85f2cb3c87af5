resource "terraform_data" "a" {
  input = terraform_data.b.nope
}
resource "terraform_data" "b" {}
