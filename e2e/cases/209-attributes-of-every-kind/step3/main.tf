terraform {
  required_providers {
    lab = { source = "example.test/lab/lab" }
  }
}

provider "lab" {
  directory = "../lab"
}
resource "lab_object" "all" {
  name   = "all"
  size   = 2
  ratio  = 1234567890.123456789012345678901
  tags   = { a = "1", b = "2" }
  labels = ["b", "a"]
  network = { cidr = "10.0.0.0/8", secret = "hush" }
  rules   = [{ port = 80 }, { port = 53, protocol = "udp" }]
  peers   = [{ host = "b" }, { host = "a", port = 1 }]
  members = { one = { role = "admin" } }
  payload = { any = ["thing", 1, true] }
  
}
resource "lab_object" "plain" {
  name = "plain"
}
resource "terraform_data" "after" {
  input = [lab_object.all.id, lab_object.plain.size, lab_object.all.rules[1].protocol]
}
output "handles" {
  value = [for key, member in lab_object.all.members : key]
}
