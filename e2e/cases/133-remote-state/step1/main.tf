data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "other.tfstate" }
  defaults = { missing = "default" }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.other.outputs.greeting }
output "n" { value = data.terraform_remote_state.other.outputs.n }
output "missing" { value = data.terraform_remote_state.other.outputs.missing }
