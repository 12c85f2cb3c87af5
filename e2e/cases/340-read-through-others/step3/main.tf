resource "terraform_data" "a" {
  count = 1
  input = "x"
}
locals {
  word = terraform_data.a[0].output
}
resource "terraform_data" "b" {
  input = local.word
}
data "terraform_remote_state" "first" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [terraform_data.b]
}
data "terraform_remote_state" "second" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [data.terraform_remote_state.first]
}
output "greeting" {
  value = data.terraform_remote_state.second.outputs.greeting
}
