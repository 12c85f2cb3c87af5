resource "terraform_data" "a" {
  input = "changed"
  triggers_replace = 1
}
