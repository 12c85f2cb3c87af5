module "queues" {
  source   = "./module"
  for_each = { orders = { fifo = true, dead = { max = 3 } }, mail = { delay = 5 } }
  name     = each.key
  settings = each.value
}
output "names" { value = { for key, queue in module.queues : key => queue.name } }
