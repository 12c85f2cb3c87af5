locals {
  name = "adopted"
  tags = { Team = "platform", Stage = terraform.workspace }

  subnets = merge([
    for tier, cidrs in var.tiers : {
      for at, cidr in cidrs : "${tier}-${at}" => { tier = tier, cidr = cidr, zone = var.zones[at] }
    }
  ]...)

  rules = flatten([
    for name, group in var.groups : [
      for rule in group.ingress : merge({ protocol = "tcp", group = name }, rule)
    ]
  ])
}

variable "zones" {
  type    = list(string)
  default = ["eu-west-1a", "eu-west-1b"]
}

variable "tiers" {
  type    = map(list(string))
  default = { public = ["10.7.0.0/24", "10.7.1.0/24"], private = ["10.7.10.0/24"] }
}

variable "groups" {
  type = map(object({
    description = optional(string, "by configuration")
    ingress     = optional(list(object({ from = number, to = optional(number), cidr = optional(string, "10.7.0.0/16") })), [])
    egress      = optional(bool, true)
  }))
  default = {
    web = { ingress = [{ from = 80 }, { from = 443, cidr = "0.0.0.0/0" }] }
    db  = { description = "database", ingress = [{ from = 5432, to = 5433 }], egress = false }
  }
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com", "ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "access" {
  statement {
    sid       = "Objects"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["${aws_s3_bucket.this.arn}/*"]
  }
  dynamic "statement" {
    for_each = [aws_sqs_queue.main.arn]
    content {
      sid       = "Queue"
      actions   = ["sqs:SendMessage"]
      resources = [statement.value]
      condition {
        test     = "ArnEquals"
        variable = "aws:SourceArn"
        values   = [aws_sns_topic.this.arn]
      }
    }
  }
}

resource "aws_vpc" "this" {
  cidr_block           = "10.7.0.0/16"
  enable_dns_hostnames = true
  tags                 = merge(local.tags, { Name = local.name })
}

resource "aws_subnet" "this" {
  for_each                = local.subnets
  vpc_id                  = aws_vpc.this.id
  cidr_block              = each.value.cidr
  availability_zone       = each.value.zone
  map_public_ip_on_launch = each.value.tier == "public"
  tags                    = merge(local.tags, { Name = "${local.name}-${each.key}" })
}

resource "aws_internet_gateway" "this" {
  count  = length(lookup(var.tiers, "public", [])) > 0 ? 1 : 0
  vpc_id = aws_vpc.this.id
}

resource "aws_route_table" "public" {
  count  = length(aws_internet_gateway.this)
  vpc_id = aws_vpc.this.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = one(aws_internet_gateway.this[*].id)
  }
}

resource "aws_route_table_association" "public" {
  for_each       = { for key, subnet in local.subnets : key => subnet if subnet.tier == "public" }
  subnet_id      = aws_subnet.this[each.key].id
  route_table_id = aws_route_table.public[0].id
}

resource "aws_security_group" "this" {
  for_each    = var.groups
  name        = "${local.name}-${each.key}"
  description = each.value.description
  vpc_id      = aws_vpc.this.id
  dynamic "egress" {
    for_each = each.value.egress ? [1] : []
    content {
      from_port   = 0
      to_port     = 0
      protocol    = "-1"
      cidr_blocks = ["0.0.0.0/0"]
    }
  }
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group_rule" "ingress" {
  for_each          = { for rule in local.rules : "${rule.group}-${rule.from}" => rule }
  type              = "ingress"
  security_group_id = aws_security_group.this[each.value.group].id
  from_port         = each.value.from
  to_port           = coalesce(each.value.to, each.value.from)
  protocol          = each.value.protocol
  cidr_blocks       = [each.value.cidr]
}

resource "aws_iam_role" "this" {
  name               = local.name
  assume_role_policy = data.aws_iam_policy_document.assume.json
  tags               = local.tags
}

resource "aws_iam_policy" "access" {
  name_prefix = "${local.name}-"
  policy      = data.aws_iam_policy_document.access.json
}

resource "aws_iam_role_policy_attachment" "access" {
  role       = aws_iam_role.this.name
  policy_arn = aws_iam_policy.access.arn
}

resource "aws_iam_instance_profile" "this" {
  name = local.name
  role = aws_iam_role.this.name
}

resource "aws_s3_bucket" "this" {
  bucket        = "${local.name}-bucket"
  force_destroy = true
  tags          = local.tags
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id
  rule {
    bucket_key_enabled = true
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.this.arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket                  = aws_s3_bucket.this.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_kms_key" "this" {
  description             = local.name
  deletion_window_in_days = 7
}

resource "aws_kms_alias" "this" {
  name          = "alias/${local.name}"
  target_key_id = aws_kms_key.this.key_id
}

resource "aws_dynamodb_table" "this" {
  name         = local.name
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  range_key    = "at"
  dynamic "attribute" {
    for_each = { id = "S", at = "N", owner = "S" }
    content {
      name = attribute.key
      type = attribute.value
    }
  }
  global_secondary_index {
    name            = "owners"
    hash_key        = "owner"
    projection_type = "ALL"
  }
  ttl {
    enabled        = true
    attribute_name = "expires"
  }
}

resource "aws_sqs_queue" "main" {
  name                       = local.name
  visibility_timeout_seconds = 45
}

resource "aws_sns_topic" "this" {
  name = local.name
}

resource "aws_sns_topic_subscription" "this" {
  topic_arn            = aws_sns_topic.this.arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.main.arn
  raw_message_delivery = true
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/${local.name}"
  retention_in_days = 14
}

resource "aws_ssm_parameter" "this" {
  for_each = { table = "by the table", secret = "hidden" }
  name     = "/${local.name}/${each.key}"
  type     = each.key == "secret" ? "SecureString" : "String"
  value    = each.value
}

output "subnets" {
  value = { for key, subnet in aws_subnet.this : key => subnet.id }
}

output "queue" {
  value = { url = aws_sqs_queue.main.url, arn = aws_sqs_queue.main.arn }
}

output "secret" {
  value     = aws_ssm_parameter.this["secret"].value
  sensitive = true
}
