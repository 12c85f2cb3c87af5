resource "terraform_data" "a" {
  input = data.terraform_remote_state.nope.outputs
}
