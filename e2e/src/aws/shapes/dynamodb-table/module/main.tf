variable "name" { type = string }
variable "attributes" { type = list(map(string)) }
variable "hash_key" { type = string }
variable "range_key" {
  type    = string
  default = null
}
variable "indexes" {
  type    = any
  default = []
}
variable "ttl" {
  type    = string
  default = ""
}
variable "billing" {
  type    = string
  default = "PAY_PER_REQUEST"
}
variable "capacity" {
  type    = object({ read = optional(number), write = optional(number) })
  default = {}
}
resource "aws_dynamodb_table" "this" {
  name           = var.name
  billing_mode   = var.billing
  hash_key       = var.hash_key
  range_key      = var.range_key
  read_capacity  = var.capacity.read
  write_capacity = var.capacity.write
  dynamic "attribute" {
    for_each = var.attributes
    content {
      name = attribute.value.name
      type = attribute.value["type"]
    }
  }
  dynamic "global_secondary_index" {
    for_each = var.indexes
    iterator = index
    content {
      name               = index.value.name
      hash_key           = index.value.hash_key
      range_key          = lookup(index.value, "range_key", null)
      projection_type    = index.value.projection_type
      non_key_attributes = lookup(index.value, "non_key_attributes", null)
    }
  }
  dynamic "ttl" {
    for_each = compact([var.ttl])
    content {
      enabled        = true
      attribute_name = ttl.value
    }
  }
  point_in_time_recovery {
    enabled = var.ttl != ""
  }
  timeouts {
    create = "10m"
  }
}
output "name" { value = aws_dynamodb_table.this.name }
