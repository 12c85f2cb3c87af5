module "group" {
  source    = "./module"
  name      = "workers"
  sizes     = { min = 1, max = 3 }
  mixed     = { on_demand = 1, types = ["t3.micro", "t3.small"] }
  schedules = { night = { recurrence = "0 22 * * *", min = 0, max = 1 } }
}
output "name" { value = module.group.name }
