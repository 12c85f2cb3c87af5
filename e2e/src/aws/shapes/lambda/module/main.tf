variable "create" {
  type    = bool
  default = true
}
variable "name" { type = string }
variable "environment" {
  type    = map(string)
  default = {}
}
variable "schedules" {
  type    = map(string)
  default = {}
}
variable "tracing" {
  type    = string
  default = null
}
variable "subnets" {
  type    = list(string)
  default = null
}

locals { create = var.create && length(var.name) > 0 }

resource "aws_iam_role" "this" {
  count = local.create ? 1 : 0
  name  = "${var.name}-lambda"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_cloudwatch_log_group" "this" {
  count             = local.create ? 1 : 0
  name              = "/aws/lambda/${var.name}"
  retention_in_days = 14
}

resource "aws_lambda_function" "this" {
  count         = local.create ? 1 : 0
  function_name = var.name
  role          = aws_iam_role.this[0].arn
  handler       = "index.handler"
  runtime       = "nodejs20.x"
  s3_bucket     = "acme-artifacts"
  s3_key        = "${var.name}.zip"
  architectures = ["arm64"]

  dynamic "environment" {
    for_each = length(keys(var.environment)) == 0 ? [] : [true]
    content {
      variables = var.environment
    }
  }
  dynamic "tracing_config" {
    for_each = var.tracing == null ? [] : [var.tracing]
    content {
      mode = tracing_config.value
    }
  }
  dynamic "vpc_config" {
    for_each = var.subnets != null ? [true] : []
    content {
      subnet_ids         = var.subnets
      security_group_ids = []
    }
  }
  depends_on = [aws_cloudwatch_log_group.this]
}

resource "aws_cloudwatch_event_rule" "this" {
  for_each            = { for name, rate in var.schedules : name => rate if local.create }
  name                = "${var.name}-${each.key}"
  schedule_expression = each.value
}

resource "aws_cloudwatch_event_target" "this" {
  for_each = aws_cloudwatch_event_rule.this
  rule     = each.value.name
  arn      = aws_lambda_function.this[0].arn
}

resource "aws_lambda_permission" "this" {
  for_each      = aws_cloudwatch_event_rule.this
  statement_id  = "events-${each.key}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this[0].function_name
  principal     = "events.amazonaws.com"
  source_arn    = each.value.arn
}

output "name" { value = try(aws_lambda_function.this[0].function_name, "") }
