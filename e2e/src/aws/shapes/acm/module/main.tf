variable "domain" { type = string }
variable "names" { type = list(string) }
variable "validate" {
  type    = bool
  default = false
}
locals {
  distinct = distinct([for name in concat([var.domain], var.names) : replace(name, "*.", "")])
  options  = var.validate ? distinct([for option in aws_acm_certificate.this.domain_validation_options : merge(tomap(option), { domain_name = replace(option.domain_name, "*.", "") })]) : []
}
resource "aws_acm_certificate" "this" {
  domain_name               = var.domain
  subject_alternative_names = var.names
  validation_method         = "DNS"
  options {
    certificate_transparency_logging_preference = "ENABLED"
  }
  lifecycle { create_before_destroy = true }
}
output "domains" { value = { distinct = local.distinct, options = length(local.options) } }
