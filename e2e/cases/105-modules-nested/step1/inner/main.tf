variable "label" { type = string }
resource "terraform_data" "leaf" { input = var.label }
output "label" { value = terraform_data.leaf.output }
