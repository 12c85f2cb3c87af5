variable "aliases" { type = list(string) }
variable "computed" {
  type    = any
  default = {}
}
variable "users" { type = list(string) }
data "aws_iam_policy_document" "this" {
  dynamic "statement" {
    for_each = length(var.users) > 0 ? [1] : []
    content {
      sid       = "Users"
      actions   = ["kms:*"]
      resources = ["*"]
      principals {
        type        = "AWS"
        identifiers = var.users
      }
    }
  }
}
resource "aws_kms_key" "this" {
  description             = join(", ", var.aliases)
  deletion_window_in_days = 7
  enable_key_rotation     = true
  policy                  = data.aws_iam_policy_document.this.json
}
resource "aws_kms_alias" "this" {
  for_each      = { for key, value in merge({ for name in toset(var.aliases) : name => { name = "alias/${name}" } }, var.computed) : key => value }
  name          = each.value.name
  target_key_id = aws_kms_key.this.key_id
}
output "aliases" { value = sort([for alias in aws_kms_alias.this : alias.name]) }
