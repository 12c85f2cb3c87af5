resource "terraform_data" "a" {
  input = "a"
  triggers_replace = 1
  lifecycle { prevent_destroy = true }
}
resource "terraform_data" "b" {
  input = "b"
  lifecycle { prevent_destroy = true }
}
