variable "aliases" {
  type    = list(string)
  default = null
}
variable "origins" { type = any }
variable "behaviors" {
  type    = any
  default = []
}
resource "aws_cloudfront_distribution" "this" {
  enabled         = true
  aliases         = var.aliases
  is_ipv6_enabled = true
  price_class     = "PriceClass_100"
  dynamic "origin" {
    for_each = var.origins
    content {
      origin_id   = lookup(origin.value, "origin_id", origin.key)
      domain_name = origin.value.domain
      origin_path = lookup(origin.value, "path", "")
      dynamic "custom_origin_config" {
        for_each = length(lookup(origin.value, "custom", "")) == 0 ? [] : [lookup(origin.value, "custom", "")]
        content {
          http_port              = custom_origin_config.value.http_port
          https_port             = lookup(custom_origin_config.value, "https_port", 443)
          origin_protocol_policy = lookup(custom_origin_config.value, "policy", "https-only")
          origin_ssl_protocols   = custom_origin_config.value.protocols
        }
      }
    }
  }
  default_cache_behavior {
    target_origin_id       = keys(var.origins)[0]
    viewer_protocol_policy = "redirect-to-https"
    allowed_methods        = ["GET", "HEAD"]
    cached_methods         = ["GET", "HEAD"]
    forwarded_values {
      query_string = false
      cookies {
        forward = "none"
      }
    }
  }
  dynamic "ordered_cache_behavior" {
    for_each = var.behaviors
    iterator = each
    content {
      path_pattern           = each.value.path
      target_origin_id       = each.value.origin
      viewer_protocol_policy = "allow-all"
      allowed_methods        = lookup(each.value, "methods", ["GET", "HEAD"])
      cached_methods         = ["GET", "HEAD"]
      default_ttl            = lookup(each.value, "ttl", null)
      forwarded_values {
        query_string = true
        cookies {
          forward = "none"
        }
      }
    }
  }
  restrictions {
    geo_restriction {
      restriction_type = "none"
    }
  }
  viewer_certificate {
    cloudfront_default_certificate = true
  }
}
output "origins" { value = sort([for origin in aws_cloudfront_distribution.this.origin : origin.origin_id]) }
