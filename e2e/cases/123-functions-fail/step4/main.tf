resource "terraform_data" "a" {
  input = nosuch("x")
}
