terraform {
  required_providers {
    ipam = {
      source  = "huawei.com/private-provider/ipam"
      version = "1.0.0"
    }
  }
}

variable "hosts" {
  type    = set(string)
  default = ["db-1", "web-1", "web-2"]
}

provider "ipam" {
  pool = "10.20.0.0/28"
}

resource "ipam_address" "host" {
  for_each = var.hosts
  host     = each.key
}

# What depends on a private provider is like anything else: here a table of hosts.
resource "terraform_data" "table" {
  input = { for name, address in ipam_address.host : name => address.ip }
}

output "hosts" {
  value = terraform_data.table.output
}
