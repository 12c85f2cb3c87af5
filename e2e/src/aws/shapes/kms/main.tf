module "key" {
  source   = "./module"
  aliases  = ["app", "data"]
  computed = { named = { name = "alias/extra" } }
  users    = ["arn:aws:iam::123456789012:root"]
}
output "aliases" { value = module.key.aliases }
