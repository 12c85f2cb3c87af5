variable "bus" { type = string }
variable "rules" { type = any }
variable "targets" {
  type    = any
  default = {}
}
locals {
  targets = flatten([for rule, list in var.targets : [for target in list : merge(target, { rule = rule })]])
}
resource "aws_cloudwatch_event_bus" "this" { name = var.bus }
resource "aws_cloudwatch_event_rule" "this" {
  for_each            = { for name, rule in var.rules : name => rule }
  name                = replace("${each.key}-rule", "_", "-")
  event_bus_name      = can(each.value.schedule) ? "default" : aws_cloudwatch_event_bus.this.name
  event_pattern       = try(jsonencode(each.value.pattern), null)
  schedule_expression = lookup(each.value, "schedule", null)
  state               = try(each.value.enabled ? "ENABLED" : "DISABLED", "ENABLED")
}
resource "aws_cloudwatch_event_target" "this" {
  for_each       = { for target in local.targets : target.name => target }
  event_bus_name = aws_cloudwatch_event_rule.this[each.value.rule].event_bus_name
  rule           = aws_cloudwatch_event_rule.this[each.value.rule].name
  arn            = each.value.arn
  input          = try(jsonencode(each.value.input), null)
  dynamic "input_transformer" {
    for_each = lookup(each.value, "transformer", null) != null ? [each.value.transformer] : []
    content {
      input_paths    = input_transformer.value.paths
      input_template = chomp(input_transformer.value.template)
    }
  }
}
output "rules" { value = { for key, rule in aws_cloudwatch_event_rule.this : key => rule.name } }
