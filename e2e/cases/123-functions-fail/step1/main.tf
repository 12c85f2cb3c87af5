resource "terraform_data" "a" {
  input = tonumber("x")
}
