variable "name" { type = string }
variable "settings" {
  type = object({
    fifo  = optional(bool, false)
    delay = optional(number)
    dead  = optional(object({ max = optional(number, 5), retention = optional(number) }))
  })
}
locals {
  suffix = var.settings.fifo ? ".fifo" : ""
  name   = "${trimsuffix(var.name, ".fifo")}${local.suffix}"
}
resource "aws_sqs_queue" "dead" {
  count                     = var.settings.dead == null ? 0 : 1
  name                      = "${var.name}-dead${local.suffix}"
  fifo_queue                = var.settings.fifo ? true : null
  message_retention_seconds = try(coalesce(var.settings.dead.retention, 1209600), 1209600)
}
resource "aws_sqs_queue" "this" {
  name          = local.name
  fifo_queue    = var.settings.fifo ? true : null
  delay_seconds = var.settings.delay
}
resource "aws_sqs_queue_redrive_policy" "this" {
  count          = length(aws_sqs_queue.dead)
  queue_url      = aws_sqs_queue.this.url
  redrive_policy = jsonencode({ deadLetterTargetArn = one(aws_sqs_queue.dead[*].arn), maxReceiveCount = var.settings.dead.max })
}
output "name" { value = aws_sqs_queue.this.name }
