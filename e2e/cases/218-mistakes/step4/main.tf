terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local = { source = "hashicorp/local" }
  }
}

resource "local_file" "good" {
  filename = "../files/good"
  content  = "good"
}
resource "local_file" "bad" {
  filename = "../files/good/bad"
  content  = local_file.good.id
}
resource "random_pet" "after" {
  prefix = local_file.bad.id
}
