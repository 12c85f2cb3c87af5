terraform {
  required_providers {
    local = { source = "hashicorp/local" }
  }
}
resource "local_file" "a" {
  count    = 2
  filename = "../files/a${count.index}.txt"
  content  = "text"
}
data "local_file" "last" {
  filename   = "../files/a1.txt"
  depends_on = [local_file.a]
}
output "text" {
  value = data.local_file.last.content
}
