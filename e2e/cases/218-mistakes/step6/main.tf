terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local = { source = "hashicorp/local" }
  }
}

data "local_file" "missing" {
  filename = "../files/nowhere"
}
