resource "terraform_data" "a" {
  count = 2
  input = "x"
}
resource "terraform_data" "user" {
  input = terraform_data.a[1].output
}
