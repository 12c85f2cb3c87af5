resource "terraform_data" "attr" {
  input = "three"
  triggers_replace = "t3"
  lifecycle { ignore_changes = [input] }
}
resource "terraform_data" "all" {
  input = "three"
}
