resource "terraform_data" "a" {
  count = 1
  input = "x"
}
resource "terraform_data" "user" {
  input = data.terraform_remote_state.d.outputs.greeting
}
data "terraform_remote_state" "d" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [terraform_data.a]
}
