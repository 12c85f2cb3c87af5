module "table" {
  source     = "./module"
  name       = "orders"
  attributes = [{ name = "id", type = "S" }, { name = "at", type = "N" }, { name = "who", type = "S" }]
  hash_key   = "id"
  range_key  = "at"
  indexes    = [{ name = "by-who", hash_key = "who", projection_type = "INCLUDE", non_key_attributes = ["at"] }]
  ttl        = "expires"
}
module "billed" {
  source     = "./module"
  name       = "small"
  attributes = [{ name = "id", type = "S" }]
  hash_key   = "id"
  billing    = "PROVISIONED"
  capacity   = { read = 2, write = 1 }
}
output "names" { value = [module.table.name, module.billed.name] }
