variable "word" {
  default = "one"
}
resource "terraform_data" "a" {
  input            = "other.tfstate"
  triggers_replace = "always"
}
resource "terraform_data" "many" {
  count = 2
  input = count.index == 1 ? var.word : "other.tfstate"
}
locals {
  path = terraform_data.many[0].output
}
data "terraform_remote_state" "direct" {
  backend = "local"
  config  = { path = terraform_data.many[0].output }
}
data "terraform_remote_state" "local" {
  backend = "local"
  config  = { path = local.path }
}
data "terraform_remote_state" "conditions" {
  backend = "local"
  config  = { path = local.path }
  lifecycle {
    postcondition {
      condition     = self.outputs.greeting != ""
      error_message = "no greeting"
    }
  }
}
data "terraform_remote_state" "counted" {
  count   = length(terraform_data.many)
  backend = "local"
  config  = { path = "other.tfstate" }
}
data "terraform_remote_state" "apart" {
  backend = "local"
  config  = { path = terraform_data.a.output }
}
module "child" {
  source = "./child"
  path   = terraform_data.many[0].output
}
output "greetings" {
  value = [
    data.terraform_remote_state.direct.outputs.greeting,
    data.terraform_remote_state.local.outputs.greeting,
    data.terraform_remote_state.conditions.outputs.greeting,
    data.terraform_remote_state.counted[0].outputs.greeting,
    data.terraform_remote_state.apart.outputs.greeting,
    module.child.greeting,
  ]
}
