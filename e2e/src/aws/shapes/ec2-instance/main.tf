module "hosts" {
  source   = "./module"
  for_each = { one = { type = "t3.micro" }, two = { type = "t3.small", volumes = [{ size = 8, type = "gp3" }], imds = "required" } }
  name     = each.key
  settings = each.value
}
module "none" {
  source = "./module"
  create = false
  name   = "none"
}
output "types" { value = merge({ for key, host in module.hosts : key => host.type }, { none = module.none.type }) }
