resource "terraform_data" "a" {
  count = 2
  input = "x"
  lifecycle {
    create_before_destroy = true
  }
}
