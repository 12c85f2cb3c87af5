module "alerts" {
  source        = "./module"
  name          = "alerts"
  subscriptions = { mail = { protocol = "email", endpoint = "a@example.com" }, queue = { protocol = "sqs", endpoint = "arn:aws:sqs:eu-west-1:123456789012:q", raw = true, filter = { kind = ["disk"] } } }
}
output "name" { value = module.alerts.name }
