variable "greeting" {
  type    = string
  default = "hello"
}

variable "password" {
  type      = string
  sensitive = true
  default   = "correct horse battery staple"
}

resource "terraform_data" "one" {
  input = { text = var.greeting, list = [1, 2.5, true, null], secret = var.password }
}

resource "terraform_data" "each" {
  for_each = toset(["a", "b/c", "d.e"])
  input    = "${each.key} ${terraform_data.one.id}"
}

module "child" {
  source = "./m"
  name   = var.greeting
}

output "greeting" {
  value = terraform_data.one.output.text
}

output "secret" {
  value     = terraform_data.one.output.secret
  sensitive = true
}

output "names" {
  value = module.child.names
}
