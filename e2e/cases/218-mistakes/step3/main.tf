terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local = { source = "hashicorp/local" }
  }
}

resource "local_file" "a" {
  filename       = "../files/a"
  content        = "a"
  content_base64 = "YQ=="
}
