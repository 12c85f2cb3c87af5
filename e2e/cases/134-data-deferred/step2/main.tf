resource "terraform_data" "first" { input = "./other.tfstate" }
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = terraform_data.first.output }
}
resource "terraform_data" "after" { input = data.terraform_remote_state.other.outputs.greeting }
output "greeting" { value = data.terraform_remote_state.other.outputs.greeting }
