terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local = { source = "hashicorp/local" }
  }
}

resource "random_integer" "bad" {
  min = 5
  max = 1
}
resource "local_file" "unknown" {
  filename = "../files/a"
  contents = "misspelt"
}
