terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    null = { source = "hashicorp/null" }
  }
}

resource "random_id" "set" {
  for_each    = toset(["b", "c", "d"])
  byte_length = 12
}
resource "null_resource" "each" {
  for_each = random_id.set
  triggers = { id = each.value.hex }
}
resource "null_resource" "counted" {
  count    = length(random_id.set)
  triggers = { index = count.index }
}
output "ids" { value = { for key, one in random_id.set : key => one.hex } }
