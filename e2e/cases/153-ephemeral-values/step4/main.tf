resource "terraform_data" "x" {
  input = null
}
