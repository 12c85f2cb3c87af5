variable "name" { type = string }
variable "services" {
  type = map(object({
    image = string
    port  = optional(number)
    count = optional(number, 1)
    env   = optional(map(string), {})
    cpu   = optional(number, 256)
  }))
}
resource "aws_ecs_cluster" "this" {
  name = var.name
  dynamic "setting" {
    for_each = flatten([{ name = "containerInsights", value = "enabled" }])
    content {
      name  = setting.value.name
      value = setting.value.value
    }
  }
}
resource "aws_ecs_task_definition" "this" {
  for_each     = var.services
  family       = "${var.name}-${each.key}"
  cpu          = each.value.cpu
  memory       = each.value.cpu * 2
  network_mode = "bridge"
  container_definitions = jsonencode([
    {
      name         = each.key
      image        = each.value.image
      essential    = true
      environment  = [for key, value in each.value.env : { name = key, value = value }]
      portMappings = each.value.port == null ? [] : [{ containerPort = each.value.port, hostPort = 0, protocol = "tcp" }]
      mountPoints  = []
      volumesFrom  = []
    }
  ])
}
resource "aws_ecs_service" "this" {
  for_each        = { for name, service in var.services : name => service if service.port != null }
  name            = each.key
  cluster         = aws_ecs_cluster.this.id
  task_definition = aws_ecs_task_definition.this[each.key].arn
  desired_count   = each.value.count
  dynamic "deployment_circuit_breaker" {
    for_each = [true]
    content {
      enable   = deployment_circuit_breaker.value
      rollback = true
    }
  }
  lifecycle { ignore_changes = [desired_count] }
}
output "families" { value = { for key, task in aws_ecs_task_definition.this : key => task.family } }
