variable "name" { type = string }
variable "sizes" { type = object({ min = number, max = number, desired = optional(number) }) }
variable "mixed" {
  type    = any
  default = null
}
variable "schedules" {
  type    = map(any)
  default = {}
}
resource "aws_launch_template" "this" {
  name_prefix   = "${var.name}-"
  image_id      = "ami-12c6146b"
  instance_type = var.mixed == null ? "t3.micro" : null
  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_size = 8
      encrypted   = true
    }
  }
  dynamic "tag_specifications" {
    for_each = toset(["instance", "volume"])
    content {
      resource_type = tag_specifications.key
      tags          = { Name = var.name }
    }
  }
}
resource "aws_autoscaling_group" "this" {
  name               = var.name
  min_size           = var.sizes.min
  max_size           = var.sizes.max
  desired_capacity   = var.sizes.desired
  availability_zones = ["eu-west-1a"]
  dynamic "launch_template" {
    for_each = var.mixed == null ? [1] : []
    content {
      id      = aws_launch_template.this.id
      version = "$Latest"
    }
  }
  dynamic "mixed_instances_policy" {
    for_each = var.mixed == null ? [] : [var.mixed]
    content {
      instances_distribution {
        on_demand_base_capacity = try(mixed_instances_policy.value.on_demand, null)
      }
      launch_template {
        launch_template_specification {
          launch_template_id = aws_launch_template.this.id
          version            = "$Latest"
        }
        dynamic "override" {
          for_each = try(mixed_instances_policy.value.types, [])
          content {
            instance_type = override.value
          }
        }
      }
    }
  }
  dynamic "tag" {
    for_each = merge({ Name = var.name }, { Team = "a" })
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = true
    }
  }
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [load_balancers]
  }
}
resource "aws_autoscaling_schedule" "this" {
  for_each               = var.schedules
  scheduled_action_name  = each.key
  autoscaling_group_name = aws_autoscaling_group.this.name
  min_size               = try(each.value.min, null)
  max_size               = try(each.value.max, null)
  recurrence             = each.value.recurrence
}
output "name" { value = aws_autoscaling_group.this.name }
