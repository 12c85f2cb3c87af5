terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}

resource "local_file" "source" {
  filename = "../files/source.txt"
  content  = "second"
}
data "local_file" "read" {
  filename   = local_file.source.filename
  depends_on = [local_file.source]
}
data "local_file" "self" {
  filename = "note.txt"
}
resource "local_file" "copy" {
  filename = "../files/copy.txt"
  content  = upper(data.local_file.read.content)
}
output "note" { value = trimspace(data.local_file.self.content) }
output "read" { value = data.local_file.read.content }
