resource "terraform_data" "a" {
  count = 1
  input = "x"
  lifecycle {
    create_before_destroy = true
  }
}
data "terraform_remote_state" "d" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [terraform_data.a]
}
