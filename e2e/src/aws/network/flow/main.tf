variable "name" { type = string }
variable "tags" { type = map(string) }

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["vpc-flow-logs.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "write" {
  statement {
    sid       = "Write"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = [aws_cloudwatch_log_group.this.arn]
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name_prefix       = "/aws/vpc/${var.name}"
  retention_in_days = 7
  tags              = var.tags
}

resource "aws_iam_role" "this" {
  name_prefix        = "flow-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
  tags               = var.tags
}

resource "aws_iam_role_policy" "this" {
  role   = aws_iam_role.this.name
  policy = data.aws_iam_policy_document.write.json
}

resource "aws_s3_bucket" "this" {
  bucket_prefix = "flow-"
  force_destroy = true
  tags          = var.tags
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_object" "note" {
  bucket  = aws_s3_bucket.this.id
  key     = "note"
  content = "hello"
  depends_on = [aws_s3_bucket_versioning.this]
}

output "role_arn" { value = aws_iam_role.this.arn }
