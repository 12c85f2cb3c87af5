resource "terraform_data" "a" {
  triggers_replace = [1, "a"]
}
