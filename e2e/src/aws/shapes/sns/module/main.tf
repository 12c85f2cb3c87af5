variable "name" { type = string }
variable "fifo" {
  type    = bool
  default = false
}
variable "subscriptions" {
  type    = any
  default = {}
}
resource "aws_sns_topic" "this" {
  name              = try(trimsuffix(var.name, ".fifo"), null)
  fifo_topic        = var.fifo ? true : null
  kms_master_key_id = null
  tags              = merge({ Name = var.name }, var.fifo ? { Fifo = "yes" } : {})
}
data "aws_iam_policy_document" "this" {
  statement {
    sid       = "own"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.this.arn]
    principals {
      type        = "AWS"
      identifiers = ["*"]
    }
    dynamic "condition" {
      for_each = { owner = "123456789012" }
      content {
        test     = "StringEquals"
        variable = "AWS:SourceOwner"
        values   = [condition.value]
      }
    }
  }
}
resource "aws_sns_topic_policy" "this" {
  arn    = aws_sns_topic.this.arn
  policy = data.aws_iam_policy_document.this.json
}
resource "aws_sns_topic_subscription" "this" {
  for_each             = { for key, value in var.subscriptions : key => value }
  topic_arn            = aws_sns_topic.this.arn
  protocol             = each.value.protocol
  endpoint             = each.value.endpoint
  raw_message_delivery = try(each.value.raw, null)
  filter_policy        = try(jsonencode(each.value.filter), null)
}
output "name" { value = aws_sns_topic.this.name }
