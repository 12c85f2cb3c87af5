resource "terraform_data" "a" {
  count = 1
  input = "x"
}
resource "terraform_data" "user" {
  input = "y"
}
