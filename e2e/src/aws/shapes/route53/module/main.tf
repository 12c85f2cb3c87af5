variable "zones" { type = any }
variable "records" { type = any }
locals {
  records = { for record in var.records : join(" ", compact([record.name, record.type, lookup(record, "key", "")])) => record }
}
resource "aws_route53_zone" "this" {
  for_each      = { for name, zone in var.zones : name => zone }
  name          = lookup(each.value, "domain_name", each.key)
  comment       = lookup(each.value, "comment", null)
  force_destroy = lookup(each.value, "force_destroy", false)
}
resource "aws_route53_record" "this" {
  for_each       = local.records
  zone_id        = aws_route53_zone.this[each.value.zone].zone_id
  name           = each.value.name != "" ? "${each.value.name}.${each.value.zone}" : each.value.zone
  type           = each.value.type
  ttl            = lookup(each.value, "ttl", 60)
  records        = jsondecode(try(jsonencode(each.value.records), "null"))
  set_identifier = lookup(each.value, "key", null)
  dynamic "weighted_routing_policy" {
    for_each = length(keys(each.value)) == 0 ? [] : try([each.value.weight], [])
    content {
      weight = weighted_routing_policy.value
    }
  }
}
output "names" { value = sort(keys(aws_route53_record.this)) }
