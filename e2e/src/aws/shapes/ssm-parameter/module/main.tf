variable "prefix" { type = string }
variable "values" { type = any }
locals {
  all = {
    for name, given in var.values : name => {
      value = try(tostring(given), tostring(given.value), join(",", given), jsonencode(given))
      type  = try(given.secure, false) ? "SecureString" : can(tolist(given)) ? "StringList" : "String"
    }
  }
}
resource "aws_ssm_parameter" "this" {
  for_each = local.all
  name     = "${var.prefix}/${each.key}"
  type     = each.value.type
  value    = each.value.value
  tier     = length(each.value.value) > 4096 ? "Advanced" : "Standard"
}
output "names" { value = [for parameter in values(aws_ssm_parameter.this) : "${parameter.name}:${parameter.type}"] }
