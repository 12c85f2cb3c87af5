resource "terraform_data" "first" {
  input = "x"
}
resource "terraform_data" "last" {
  input = terraform_data.first.output
}
