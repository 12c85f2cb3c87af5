resource "terraform_data" "a" {
  input = "changed"
  triggers_replace = 1
  lifecycle { prevent_destroy = true }
}
resource "terraform_data" "b" {
  input = "b"
}
