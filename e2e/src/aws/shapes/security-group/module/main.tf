variable "create" {
  type    = bool
  default = true
}
variable "name" { type = string }
variable "rules" {
  type = map(object({
    from        = number
    to          = optional(number)
    protocol    = optional(string, "tcp")
    cidrs       = optional(list(string), [])
    self        = optional(bool, false)
    description = optional(string)
  }))
  default = {}
}
variable "egress" {
  type    = list(map(string))
  default = [{ protocol = "-1" }]
}

locals {
  rules = var.create ? var.rules : {}
  flat = merge([
    for name, rule in local.rules : {
      for index, cidr in rule.cidrs : "${name}-${index}" => merge(rule, { cidr = cidr })
    }
  ]...)
}

resource "aws_vpc" "this" {
  count      = var.create ? 1 : 0
  cidr_block = "10.1.0.0/16"
}

resource "aws_security_group" "this" {
  count                  = var.create ? 1 : 0
  name_prefix            = "${var.name}-"
  description            = "Rules of ${var.name}"
  vpc_id                 = aws_vpc.this[0].id
  revoke_rules_on_delete = false
  tags                   = { Name = format("%s", var.name) }

  dynamic "egress" {
    for_each = var.egress
    content {
      protocol    = lookup(egress.value, "protocol", "tcp")
      from_port   = lookup(egress.value, "from", 0)
      to_port     = lookup(egress.value, "to", 0)
      cidr_blocks = split(",", lookup(egress.value, "cidrs", "0.0.0.0/0"))
    }
  }

  lifecycle { create_before_destroy = true }
}

resource "aws_vpc_security_group_ingress_rule" "cidr" {
  for_each          = local.flat
  security_group_id = aws_security_group.this[0].id
  cidr_ipv4         = each.value.cidr
  from_port         = each.value.from
  to_port           = coalesce(each.value.to, each.value.from)
  ip_protocol       = each.value.protocol
  description       = try(each.value.description, null)
}

resource "aws_vpc_security_group_ingress_rule" "own" {
  for_each                     = { for name, rule in local.rules : name => rule if rule.self }
  security_group_id            = aws_security_group.this[0].id
  referenced_security_group_id = aws_security_group.this[0].id
  from_port                    = each.value.from
  to_port                      = each.value.from
  ip_protocol                  = each.value.protocol
}

output "id" { value = try(aws_security_group.this[0].id, null) }
output "rule_names" { value = sort(concat(keys(local.flat), keys(aws_vpc_security_group_ingress_rule.own))) }
