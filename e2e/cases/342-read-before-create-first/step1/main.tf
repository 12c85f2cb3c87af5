resource "terraform_data" "a" {
  count = 1
  input = "x"
  lifecycle {
    create_before_destroy = true
  }
}
