resource "terraform_data" "a" {
  input = "unclosed
}
