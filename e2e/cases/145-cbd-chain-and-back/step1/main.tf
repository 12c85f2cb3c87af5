resource "terraform_data" "a" { triggers_replace = 1 }
resource "terraform_data" "b" {
  input            = terraform_data.a.id
  triggers_replace = terraform_data.a.id
}
