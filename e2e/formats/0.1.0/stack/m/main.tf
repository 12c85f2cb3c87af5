variable "name" {
  type = string
}

resource "terraform_data" "counted" {
  count            = 2
  input            = "${var.name}-${count.index}"
  triggers_replace = var.name
}

output "names" {
  value = terraform_data.counted[*].output
}
