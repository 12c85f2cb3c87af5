data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "nowhere.tfstate" }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.other.outputs.greeting }
