resource "terraform_data" "a" {
  input = 2
}
resource "terraform_data" "b" {
  count = terraform_data.a.output
}
