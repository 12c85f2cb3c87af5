module "outer" {
  source = "./outer"
  for_each = { one = 1, two = 2 }
  size   = each.value
  name   = each.key
}
output "all" { value = { for k, m in module.outer : k => m.inner } }
output "first" { value = module.outer["one"].inner[0] }
