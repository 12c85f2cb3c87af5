resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "b" {
  count = 2
  input = terraform_data.a.id
}
