terraform {
  required_providers {
    random = {
      source  = "huawei.com/private-provider/random"
      version = "3.9.0"
    }
  }
}

resource "random_pet" "name" {
  length = 2
}

# Sensitive: encrypted in the store, and never in the output of a plan.
resource "random_password" "database" {
  length  = 20
  keepers = { owner = random_pet.name.id }
}

output "name" {
  value = random_pet.name.id
}

output "password" {
  value     = random_password.database.result
  sensitive = true
}
