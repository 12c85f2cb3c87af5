module "bus" {
  source = "./module"
  bus    = "orders"
  rules  = { created = { pattern = { source = ["shop"], detail = { state = ["new"] } } }, hourly = { schedule = "rate(1 hour)", enabled = false } }
  targets = {
    created = [{ name = "queue", arn = "arn:aws:sqs:eu-west-1:123456789012:q" }, { name = "log", arn = "arn:aws:logs:eu-west-1:123456789012:log-group:x", input = { a = 1 } }]
  }
}
output "rules" { value = module.bus.rules }
