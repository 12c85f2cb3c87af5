resource "terraform_data" "after" {
  input = "none"
}
