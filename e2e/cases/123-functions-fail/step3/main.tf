resource "terraform_data" "a" {
  input = { a = 1 }.b
}
