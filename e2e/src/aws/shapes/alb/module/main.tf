variable "name" { type = string }
variable "targets" {
  type    = any
  default = {}
}
variable "listeners" {
  type    = any
  default = {}
}

locals {
  rules = flatten([
    for name, listener in var.listeners : [
      for rule, value in lookup(listener, "rules", {}) : merge(value, { listener = name, rule = rule })
    ]
  ])
}

resource "aws_vpc" "this" { cidr_block = "10.2.0.0/16" }

resource "aws_subnet" "this" {
  count             = 2
  vpc_id            = aws_vpc.this.id
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 8, count.index)
  availability_zone = "eu-west-1${element(["a", "b"], count.index)}"
}

resource "aws_lb" "this" {
  name                       = var.name
  internal                   = true
  load_balancer_type         = "application"
  subnets                    = aws_subnet.this[*].id
  enable_deletion_protection = false
}

resource "aws_lb_target_group" "this" {
  for_each    = var.targets
  name        = "${var.name}-${each.key}"
  port        = each.value.port
  protocol    = try(each.value.protocol, "HTTP")
  vpc_id      = aws_vpc.this.id
  target_type = try(each.value.target_type, "ip")

  dynamic "health_check" {
    for_each = try([each.value.health], [])
    content {
      path     = try(health_check.value.path, null)
      interval = try(health_check.value.interval, null)
      matcher  = try(health_check.value.matcher, "200-299")
    }
  }
}

resource "aws_lb_listener" "this" {
  for_each          = var.listeners
  load_balancer_arn = aws_lb.this.arn
  port              = each.value.port
  protocol          = try(each.value.protocol, "HTTP")

  dynamic "default_action" {
    for_each = can(each.value.forward) ? [each.value.forward] : []
    content {
      type             = "forward"
      target_group_arn = aws_lb_target_group.this[default_action.value].arn
    }
  }
  dynamic "default_action" {
    for_each = try([each.value.redirect], [])
    content {
      type = "redirect"
      redirect {
        port        = default_action.value.port
        protocol    = default_action.value.protocol
        status_code = try(default_action.value.code, "HTTP_301")
      }
    }
  }
}

resource "aws_lb_listener_rule" "this" {
  for_each     = { for rule in local.rules : "${rule.listener}/${rule.rule}" => rule }
  listener_arn = aws_lb_listener.this[each.value.listener].arn
  priority     = try(each.value.priority, null)
  action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.this[each.value.target].arn
  }
  condition {
    path_pattern {
      values = each.value.paths
    }
  }
}

output "targets" { value = { for key, group in aws_lb_target_group.this : key => group.name } }
