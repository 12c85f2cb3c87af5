resource "terraform_data" "a" {
  input = ["x"]
}
resource "terraform_data" "b" {
  for_each = toset(terraform_data.a.output)
}
