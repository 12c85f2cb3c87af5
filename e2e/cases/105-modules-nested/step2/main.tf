module "outer" {
  source = "./outer"
  for_each = { one = 2, three = 1 }
  size   = each.value
  name   = each.key
}
output "all" { value = { for k, m in module.outer : k => m.inner } }
