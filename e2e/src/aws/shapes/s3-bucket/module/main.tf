variable "bucket" { type = string }
variable "public" {
  type    = bool
  default = false
}
variable "versioning" {
  type    = map(string)
  default = {}
}
variable "encryption" {
  type    = object({ algorithm = optional(string, "AES256"), key = optional(string) })
  default = {}
}
variable "lifecycle_rules" {
  type    = any
  default = []
}
variable "cors" {
  type    = any
  default = []
}

resource "aws_s3_bucket" "this" {
  bucket        = var.bucket
  force_destroy = true
}

resource "aws_s3_bucket_versioning" "this" {
  count  = length(keys(var.versioning)) > 0 ? 1 : 0
  bucket = aws_s3_bucket.this.id
  versioning_configuration {
    status     = try(var.versioning["enabled"] ? "Enabled" : "Suspended", tobool(var.versioning["status"]) ? "Enabled" : "Suspended", title(lower(var.versioning["status"])))
    mfa_delete = try(tobool(var.versioning["mfa_delete"]) ? "Enabled" : "Disabled", null)
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  count  = var.encryption == null ? 0 : 1
  bucket = aws_s3_bucket.this.id
  dynamic "rule" {
    for_each = try(flatten([var.encryption]), [])
    content {
      bucket_key_enabled = try(rule.value.key, null) != null
      apply_server_side_encryption_by_default {
        sse_algorithm     = rule.value.algorithm
        kms_master_key_id = try(rule.value.key, null)
      }
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count  = length(var.lifecycle_rules) > 0 ? 1 : 0
  bucket = aws_s3_bucket.this.id
  dynamic "rule" {
    for_each = var.lifecycle_rules
    content {
      id     = try(rule.value.id, null)
      status = try(rule.value.enabled, true) ? "Enabled" : "Disabled"
      filter {
        prefix = try(rule.value.prefix, "")
      }
      dynamic "abort_incomplete_multipart_upload" {
        for_each = try([rule.value.abort_days], [])
        content {
          days_after_initiation = abort_incomplete_multipart_upload.value
        }
      }
      dynamic "expiration" {
        for_each = try(flatten([rule.value.expiration]), [])
        content {
          days = try(expiration.value.days, null)
        }
      }
      dynamic "transition" {
        for_each = try(flatten([rule.value.transitions]), [])
        content {
          days          = try(transition.value.days, null)
          storage_class = transition.value.storage_class
        }
      }
    }
  }
  depends_on = [aws_s3_bucket_versioning.this]
}

resource "aws_s3_bucket_cors_configuration" "this" {
  count  = length(var.cors) > 0 ? 1 : 0
  bucket = aws_s3_bucket.this.id
  dynamic "cors_rule" {
    for_each = var.cors
    content {
      allowed_methods = cors_rule.value.methods
      allowed_origins = cors_rule.value.origins
      allowed_headers = try(cors_rule.value.headers, null)
      max_age_seconds = try(cors_rule.value.max_age, null)
    }
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  count                   = var.public ? 0 : 1
  bucket                  = aws_s3_bucket.this.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

output "versioned" { value = try(aws_s3_bucket_versioning.this[0].versioning_configuration[0].status, "") }
