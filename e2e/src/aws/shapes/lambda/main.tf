module "api" {
  source      = "./module"
  name        = "api"
  environment = { LEVEL = "info" }
  schedules   = { nightly = "rate(1 day)" }
  tracing     = "Active"
}

module "off" {
  source = "./module"
  create = false
  name   = "off"
}

output "names" { value = compact([module.api.name, module.off.name]) }
