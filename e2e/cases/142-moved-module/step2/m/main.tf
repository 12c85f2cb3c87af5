resource "terraform_data" "x" {
  input = path.module
}
