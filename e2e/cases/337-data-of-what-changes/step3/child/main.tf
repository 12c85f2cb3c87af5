variable "path" {}
resource "terraform_data" "inner" {
  input = var.path
}
data "terraform_remote_state" "inner" {
  backend = "local"
  config  = { path = var.path }
}
data "terraform_remote_state" "conditions" {
  backend = "local"
  config  = { path = var.path }
  lifecycle {
    precondition {
      condition     = var.path != ""
      error_message = "no path"
    }
  }
}
output "greeting" {
  value = "${data.terraform_remote_state.inner.outputs.greeting} ${data.terraform_remote_state.conditions.outputs.greeting}"
}
