variable "identifier" { type = string }
variable "parameters" {
  type    = list(map(string))
  default = []
}
variable "options" {
  type = object({
    engine   = optional(string, "postgres")
    version  = optional(string, "16.3")
    storage  = number
    password = string
    multi    = optional(bool)
    logs     = optional(list(string), [])
  })
}
locals { family = "${var.options.engine}${split(".", var.options.version)[0]}" }
resource "aws_db_parameter_group" "this" {
  count       = length(var.parameters) > 0 ? 1 : 0
  name_prefix = "${var.identifier}-"
  family      = local.family
  dynamic "parameter" {
    for_each = var.parameters
    content {
      name         = parameter.value.name
      value        = parameter.value.value
      apply_method = lookup(parameter.value, "method", null)
    }
  }
  lifecycle { create_before_destroy = true }
}
resource "aws_db_instance" "this" {
  identifier                      = var.identifier
  engine                          = var.options.engine
  engine_version                  = var.options.version
  instance_class                  = "db.t3.micro"
  allocated_storage               = var.options.storage
  username                        = "app"
  password                        = var.options.password
  multi_az                        = coalesce(var.options.multi, false)
  parameter_group_name            = try(aws_db_parameter_group.this[0].name, null)
  enabled_cloudwatch_logs_exports = length(var.options.logs) > 0 ? var.options.logs : null
  skip_final_snapshot             = true
  dynamic "restore_to_point_in_time" {
    for_each = []
    content {
      use_latest_restorable_time = true
    }
  }
  timeouts {}
}
output "identifier" { value = aws_db_instance.this.identifier }
