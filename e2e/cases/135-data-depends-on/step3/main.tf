resource "terraform_data" "first" { input = "b" }
data "terraform_remote_state" "other" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [terraform_data.first]
}
output "greeting" { value = data.terraform_remote_state.other.outputs.greeting }
