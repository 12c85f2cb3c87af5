module "database" {
  source     = "./module"
  identifier = "orders"
  parameters = [{ name = "log_connections", value = "1" }, { name = "shared_buffers", value = "1024", method = "pending-reboot" }]
  options    = { storage = 20, password = "not-a-real-one", multi = true }
}
output "identifier" { value = module.database.identifier }
