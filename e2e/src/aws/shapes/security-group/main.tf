module "web" {
  source = "./module"
  name   = "web"
  rules = {
    https = { from = 443, cidrs = ["0.0.0.0/0"] }
    admin = { from = 22, to = 23, cidrs = ["10.0.0.0/8"], description = "administration" }
    self  = { from = 8080, self = true }
  }
}

module "none" {
  source = "./module"
  create = false
  name   = "none"
}

output "ids" {
  value = [module.web.rule_names, module.none.id]
}
