variable "roles" {
  type = map(object({
    services    = list(string)
    actions     = optional(set(string), [])
    policies    = optional(list(string), [])
    max_session = optional(number, 3600)
  }))
}
variable "users" { type = set(string) }
variable "groups" { type = map(list(string)) }

locals {
  attachments = merge([
    for name, role in var.roles : { for arn in role.policies : "${name}/${basename(arn)}" => { role = name, arn = arn } }
  ]...)
}

data "aws_iam_policy_document" "trust" {
  for_each = var.roles
  statement {
    actions = ["sts:AssumeRole"]
    dynamic "principals" {
      for_each = each.value.services
      content {
        type        = "Service"
        identifiers = [principals.value]
      }
    }
  }
}

resource "aws_iam_role" "this" {
  for_each             = var.roles
  name                 = each.key
  assume_role_policy   = data.aws_iam_policy_document.trust[each.key].json
  max_session_duration = each.value.max_session
}

resource "aws_iam_policy" "this" {
  for_each = { for name, role in var.roles : name => role if length(role.actions) > 0 }
  name     = "${each.key}-own"
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = sort(each.value.actions), Resource = "*" }]
  })
}

resource "aws_iam_role_policy_attachment" "own" {
  for_each   = aws_iam_policy.this
  role       = aws_iam_role.this[each.key].name
  policy_arn = each.value.arn
}

resource "aws_iam_role_policy_attachment" "given" {
  for_each   = local.attachments
  role       = aws_iam_role.this[each.value.role].name
  policy_arn = each.value.arn
}

resource "aws_iam_user" "this" {
  for_each = var.users
  name     = each.value
  path     = "/people/"
}

resource "aws_iam_group" "this" {
  for_each = var.groups
  name     = each.key
}

resource "aws_iam_group_membership" "this" {
  for_each = var.groups
  name     = each.key
  group    = aws_iam_group.this[each.key].name
  users    = [for user in each.value : aws_iam_user.this[user].name]
}

output "names" { value = { for key, role in aws_iam_role.this : key => role.name } }
