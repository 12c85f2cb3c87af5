terraform {
  required_providers {
    time = { source = "hashicorp/time" }
  }
}

resource "time_static" "begin" {
  rfc3339  = "2024-02-10T10:00:00Z"
}
resource "time_offset" "later" {
  base_rfc3339 = time_static.begin.rfc3339
  offset_days  = 3
}
resource "time_sleep" "short" {
  create_duration = "1100ms"
  triggers        = { until = time_offset.later.rfc3339 }
}
locals {
  parsed = provider::time::rfc3339_parse(time_static.begin.rfc3339)
}
resource "terraform_data" "after" {
  input      = time_offset.later.unix
  depends_on = [time_sleep.short]
}
output "year" { value = local.parsed.year }
output "duration" { value = provider::time::duration_parse("1h30m").minutes }
