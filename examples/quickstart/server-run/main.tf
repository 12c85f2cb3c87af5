# Planned and applied by the server: `npm start` uploads this folder and requests a run.

variable "greeting" {
  type    = string
  default = "hello"
}

resource "terraform_data" "greeting" {
  input = var.greeting
}

resource "terraform_data" "reader" {
  count = 2
  input = "reader ${count.index + 1} says ${terraform_data.greeting.output}"
}

output "greeting" {
  value = terraform_data.greeting.output
}
